"""Relations of a model, and how they are arranged to be drawn."""

from dataclasses import dataclass

import numpy as np
import pytest

import weft
from inspection.made_relations import blocks_of, made
from weft.inspection.relations import arranged, read_relations, similarity
from weft.learners.descent.mt_ogd import MtOgd
from weft.learners.single_task.passive_aggressive import PassiveAggressive


def groups_in_order(found, label):
    """The runs of equal groups along the drawing."""
    run = [label[int(tasks[0][1:])] for tasks in found.members]
    return [group for at, group in enumerate(run) if at == 0 or run[at - 1] != group]


# --- order ---


@pytest.mark.parametrize("bend", ["as it is", "another diagonal", "asymmetric"])
def test_groups_stand_together(bend):
    label = np.array([0, 1, 2, 0, 1, 2, 1, 0, 2, 2, 1, 0])
    values = blocks_of(label)
    if bend == "another diagonal":  # like A^-1 of tasks with few and many neighbours
        d = np.linspace(0.2, 4.0, 12)
        values = np.sqrt(np.outer(d, d)) * values
    if bend == "asymmetric":  # like alpha I + (1 - alpha) P: all of the relation in one direction
        values = np.triu(values, 1) * 2 + np.diag(np.diag(values))
    apart = np.arange(12.0)
    found = arranged(made(values, apart), 20)
    assert len(groups_in_order(found, label)) == 3
    order = [int(tasks[0][1:]) for tasks in found.members]
    assert sorted(order) == list(range(12))
    assert np.array_equal(found.values, values[np.ix_(order, order)])
    assert np.array_equal(found.apart, apart[order])
    assert order[0] < order[-1]


def test_neighbours_are_as_alike_as_the_tree_allows():
    place = np.array([5, 1, 4, 0, 3, 2])
    values = np.exp(-np.abs(place[:, None] - place) / 2.0)
    order = [int(tasks[0][1:]) for tasks in arranged(made(values), 6).members]
    assert place[order].tolist() in ([0, 1, 2, 3, 4, 5], [5, 4, 3, 2, 1, 0])


def test_equal_relations_keep_the_order_of_the_tasks():
    found = arranged(made(blocks_of(range(7))), 7)
    assert found.names == [f"t{i}" for i in range(7)]
    assert found.note == "all pairs of tasks are related alike: 0.1"


def test_similarity():
    values = np.array([[4.0, 1.0], [3.0, 9.0]])
    assert similarity(values) == pytest.approx(np.array([[1, 1 / 3], [1 / 3, 1]]))
    values[1, 1] = 0.0  # no diagonal to divide by
    values[0, 1] = np.nan
    assert similarity(values).tolist() == [[4.0, 0.0], [0.0, 0.0]]


def test_more_tasks_than_fit_become_clusters_with_means():
    rng = np.random.default_rng(0)
    label = np.arange(30) % 3
    values = blocks_of(label) + 0.01 * rng.random((30, 30))
    values[4, 7] = np.nan
    apart = np.where(label == 1, np.nan, 1.0 + label)
    found = arranged(made(values, apart), 3)
    assert sorted(map(len, found.members)) == [10, 10, 10]
    assert sorted(task for tasks in found.members for task in tasks) == sorted(f"t{i}" for i in range(30))
    assert found.tasks == 30
    assert found.note == "30 tasks in 3 clusters; a cell is the mean over its pairs of tasks"
    for i, rows in enumerate(found.members):
        own = [int(task[1:]) for task in rows]
        assert len({label[t] for t in own}) == 1
        assert found.names[i] == f"{rows[0]} +9"
        expected = {0: 1.0, 1: np.nan, 2: 3.0}[label[own[0]]]
        assert found.apart[i] == pytest.approx(expected, nan_ok=True)
        for j, columns in enumerate(found.members):
            pairs = [values[a, int(b[1:])] for a in own for b in columns if a != int(b[1:])]
            assert found.values[i, j] == pytest.approx(np.nanmean(pairs))


def test_the_member_in_the_middle_names_its_cluster():
    values = blocks_of([0, 0, 0, 0, 1, 1, 1], inside=0.5, outside=0.0)
    for middle, others in ((2, [0, 1, 3]), (6, [4, 5])):
        values[middle, others] = values[others, middle] = 0.9
    found = arranged(made(values), 2)
    assert sorted(found.names) == ["t2 +3", "t6 +2"]
    assert sorted(found.members) == [["t2", "t0", "t1", "t3"], ["t6", "t4", "t5"]]


def test_single_tasks_among_clusters_keep_their_diagonal():
    values = blocks_of([0, 0, 0, 0, 1], inside=0.9, outside=0.0)
    found = arranged(made(values), 2)
    assert found.is_single == [False, True]
    assert found.values == pytest.approx(np.array([[0.9, 0.0], [0.0, 1.0]]))
    assert sorted(found.between.tolist()) == pytest.approx([0.0, 0.0, 0.9])


def test_who_stands_apart():
    apart = np.array([1.0, 1.1, 0.9, 1.0, 5.0, np.nan])
    assert made(np.eye(6), apart).far == [False] * 4 + [True, False]
    assert made(np.eye(6), apart).fence == pytest.approx(1.1 + 1.5 * 0.1)
    assert made(np.eye(3), np.array([1.0, 1.0, 9.0])).far == [False] * 3  # too few to tell
    assert made(np.eye(3)).far == [False] * 3


# --- of models ---


def test_relations_and_distances_of_a_model():
    model = weft.Model("mt-ogd", graph=[("ann", "bob"), ("bob", ("eu", 1), 2.0)], eta=0.5)
    model.learn_one({"x": 1.0}, 1, "ann")
    found = read_relations(model)
    assert np.array_equal(found.values, model.relations())
    assert found.names == ["ann", "bob", '["eu", 1]']
    assert found.measure == "distance from neighbours"
    assert np.array_equal(found.apart, model.distances().apart, equal_nan=True)


@dataclass(frozen=True)
class Personal(MtOgd):
    """With distances and personal parts."""

    def outliers(self, state, tasks, features):
        return np.array([3.0, 4.0])


def test_personal_parts_come_before_distances():
    found = read_relations(weft.Model(Personal(graph=[("ann", "bob")], eta=0.5)))
    assert (found.apart.tolist(), found.measure) == ([3.0, 4.0], "length of the personal part")


@dataclass(frozen=True)
class Alone(PassiveAggressive):
    """With personal parts and without relations."""

    def outliers(self, state, tasks, features):
        return np.arange(tasks) % 7.0

    def relations(self, state, tasks):
        raise ValueError("no task is related to another")


def test_personal_parts_alone():
    relations = read_relations(weft.Model(Alone(), tasks=30))
    assert not relations.has_matrix
    assert relations.values.shape == (0, 0)
    found = arranged(relations, 30)
    assert found.apart.tolist() == sorted(relations.apart.tolist(), reverse=True)
    assert found.names[:2] == ["6", "13"]
    assert found.note == "no task is related to another"
    assert arranged(relations, 5).note == "the 5 of 30 tasks that stand farthest apart; no task is related to another"


def test_learners_without_bars():
    assert read_relations(weft.Model("mtbprj", tasks=["a", "b"])).apart is None


@pytest.mark.parametrize(
    ("model", "reason"),
    [
        (weft.Model("mt-ogd"), "the model knows no tasks yet"),
        (weft.Model("mt-ogd", tasks=["a"]), "the model knows one task"),
        (weft.Model("pa", tasks=3), "with pa an event moves its own task's weights only"),
        (weft.Model("mt-ogd", b=0, tasks=3), "with mt-ogd an event moves its own task's weights only"),
        (weft.Model("pa", tasks=5000), "the relations of 5,000 tasks are too many to draw; at most 4,472 are"),
    ],
)
def test_nothing_to_draw(model, reason):
    with pytest.raises(ValueError, match=reason):
        read_relations(model)


def test_a_learner_that_has_none_says_why(monkeypatch):
    model = weft.Model("pa", tasks=2)

    def none(*_):
        raise ValueError("pa has nothing of the kind")

    monkeypatch.setattr(type(model.learner), "relations", none)
    with pytest.raises(ValueError, match="there are no relations to draw: pa has nothing of the kind"):
        read_relations(model)


def test_the_task_in_the_middle_stands_for_its_cluster():
    values = blocks_of(np.array([0, 0, 0, 1, 1, 1]))
    values[0, 1] = values[1, 0] = values[1, 2] = values[2, 1] = 0.99  # t1 is nearest to both others
    values[3, 5] = values[5, 3] = values[4, 5] = values[5, 4] = 0.99
    assert sorted(tasks[0] for tasks in arranged(made(values), 2).members) == ["t1", "t5"]


def test_too_many_tasks_are_refused(monkeypatch):
    model = weft.Model("mt-ogd")
    model.learn(weft.Stream(np.ones((4, 1)), [1, -1, 1, -1], ["a", "b", "c", "d"]))
    monkeypatch.setattr("weft.inspection.relations.LARGEST_MATRIX", 9.0)
    with pytest.raises(ValueError, match="the relations of 4 tasks are too many to draw; at most 3 are"):
        read_relations(model)
    monkeypatch.setattr("weft.inspection.relations.LARGEST_MATRIX", 16.0)
    assert len(read_relations(model).members) == 4
