"""Relations arranged to be drawn, their colours, and their print in a terminal."""

import io

import numpy as np
import pytest
from rich.console import Console

import weft
from weft.cli.blocks import print_relations
from weft.cli.colour_scale import Scale, scale_of
from weft.cli.relations import Relations, arranged, fence_of, read_relations, similarity


def made(values, apart=None, names=None):
    values = np.asarray(values, float)
    names = names or [f"t{i}" for i in range(len(values))]
    fence = np.inf if apart is None else fence_of(apart)
    return Relations("test", [[name] for name in names], values, apart, "length" if apart is not None else "", fence)


def blocks_of(label, inside=0.8, outside=0.1):
    """Relations of tasks with these groups."""
    label = np.asarray(label)
    values = np.where(label[:, None] == label, inside, outside)
    np.fill_diagonal(values, 1.0)
    return values


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
    assert np.array_equal(found.apart, model.learner.distances(model.state, 3, 1).apart, equal_nan=True)


def test_personal_parts_come_before_distances(monkeypatch):
    model = weft.Model("mt-ogd", graph=[("ann", "bob")], eta=0.5)
    monkeypatch.setattr(type(model.learner), "outliers", lambda *_: [3.0, 4.0], raising=False)
    found = read_relations(model)
    assert (found.apart.tolist(), found.measure) == ([3.0, 4.0], "length of the personal part")


@pytest.fixture
def alone(monkeypatch):
    """A learner with personal parts and without relations."""
    cls = type(weft.Model("pa").learner)

    def none(*_):
        raise ValueError("no task is related to another")

    monkeypatch.setattr(cls, "relations", none)
    monkeypatch.setattr(cls, "outliers", lambda _, state, tasks, features: np.arange(tasks) % 7.0, raising=False)


def test_personal_parts_alone(alone):
    relations = read_relations(weft.Model("pa", tasks=30))
    assert not relations.has_matrix
    found = arranged(relations, 30)
    assert found.apart.tolist() == sorted(relations.apart.tolist(), reverse=True)
    assert found.names[:2] == ["6", "13"]
    assert found.note == "no task is related to another"
    assert arranged(relations, 5).note == "the 5 of 30 tasks that stand farthest apart; no task is related to another"
    lines = printed(relations)
    assert lines[:4] == [
        "How far tasks stand apart",
        "the 20 of 30 tasks that stand farthest apart; no task is related to another",
        "length of the personal part",
        " 6   ************ 6",
    ]
    assert len(lines) == 23


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


# --- colours ---


def lightness(colour):
    """Relative luminance of #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize(("values", "signed"), [([0.2, 0.9], False), ([-0.3, 2.0], True), ([0.0, 1e-300], False)])
def test_colours_darken_with_the_size(values, signed):
    scale = scale_of(np.array(values))
    assert scale.is_signed == signed
    sides = [np.linspace(scale.low, scale.high, 200)]
    if signed:
        sides = [np.linspace(0.0, scale.high, 200), np.linspace(0.0, scale.low, 200)]
        assert scale.low == -scale.high
    for side in sides:
        assert np.all(np.diff([lightness(scale.colour(value)) for value in side]) <= 0)
        assert lightness(scale.colour(side[0])) > 0.8
        assert lightness(scale.colour(side[-1])) < 0.06


def test_either_side_of_zero_has_its_hue():
    scale = Scale(-1.0, 1.0)
    for size in (0.3, 0.6, 1.0):
        red, _, blue = (int(scale.colour(size)[at : at + 2], 16) for at in (1, 3, 5))
        assert blue > red
        red, _, blue = (int(scale.colour(-size)[at : at + 2], 16) for at in (1, 3, 5))
        assert red > blue


def test_scales_of_odd_numbers():
    assert scale_of(np.array([])) == Scale(0.0, 1.0)
    assert scale_of(np.array([np.nan, np.inf])) == Scale(0.0, 1.0)
    assert scale_of(np.zeros(3)) == Scale(0.0, 1.0)
    assert scale_of(np.array([0.0, -1e-15, 1.0])) == Scale(0.0, 1.0)  # rounding makes no negative relation
    assert scale_of(np.array([-2.0, -2.0])) == Scale(-2.0, 2.0)


# --- terminal ---


def printed(relations, width=80, **options):
    screen = io.StringIO()
    print_relations(Console(file=screen, width=width, highlight=False, markup=False, emoji=False, **options), relations)
    return screen.getvalue().splitlines()


def test_digits_without_colours():
    values = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.45], [0.0, 0.45, 2.0]]
    lines = printed(made(values, np.array([1.0, 2.0, np.nan]), ["ann", "[red]", "eve"]))
    assert lines == [
        "How tasks are related",
        "          1 2 3  length",
        " 1 ann    . 9 0  ****** 1",
        " 2 [red]  9 . 4  ************ 2",
        " 3 eve    0 4 .   -",
        "0 is 0, 9 is 0.9, . a task with itself: 1 to 2",
    ]


def test_negative_relations_have_a_sign():
    lines = printed(made([[1.0, -0.5], [np.nan, 1.0]]))
    assert lines[2:] == [" 1 t0  .-9", " 2 t1  ? .", "-9 is -0.5, 0 is 0, 9 is 0.5, . a task with itself: 1"]


def test_blocks_of_colour():
    values = blocks_of([0, 0, 1])
    lines = printed(made(values), force_terminal=True, color_system="truecolor")
    assert "\x1b[48;2;4;36;82m  \x1b[0m" in lines[2]  # the strongest
    assert "\x1b[48;2;140;149;159m  \x1b[0m" in lines[2]  # itself
    assert "\x1b[48;2;246;246;246m  \x1b[0m" in lines[2]  # the weakest
    assert "0.1 " in lines[-1]
    assert " 0.8" in lines[-1]
    for options in ({"color_system": "standard"}, {"color_system": "truecolor", "no_color": True}):
        assert "48;" not in "\n".join(printed(made(values), force_terminal=True, **options))


@pytest.mark.parametrize("width", [30, 60, 100, 400])
def test_lines_fit_the_width(width):
    rng = np.random.default_rng(0)
    values = rng.random((150, 150))
    names = [f"{i} 東京の長い名前のタスクの名前" if i % 2 else f"task {i}\x1b\n" for i in range(150)]
    for apart in (None, rng.random(150)):
        lines = printed(made(values, apart, names), width)
        rows = [line for line in lines if line[:2].strip().isdigit() and line[2] == " "]
        if width > 60:
            assert max(map(len, rows)) <= width
        assert len(rows) <= 99
        assert any("150 tasks in " in line for line in lines)
        assert "\x1b" not in "".join(lines)
