"""States grow without losing anything, in both layouts, and come back from their live part."""

import math
from dataclasses import replace
from typing import NamedTuple

import numpy as np
import pytest
from scipy import sparse

import weft
from batches import batch_of, event, open_pairs
from weft.storage import pairs
from weft.storage.growth import make_room_for_names, make_room_for_round, reserve
from weft.storage.saving import live, restore
from weft.storage.state import NONZERO, SUPPORT, Plan, Sizes
from weft.store.codec import decode, encode
from weft.store.digests import FileError


class Toy(NamedTuple):
    """One array of each kind of axis."""

    pairs: pairs.Pairs
    weights: np.ndarray
    moments: np.ndarray
    per_task: np.ndarray
    grid: np.ndarray
    owner: np.ndarray
    kept: np.ndarray
    used: np.ndarray
    scalars: np.ndarray


def plan_of(task_major, always_dense=False, check=None):
    axes = {
        "weights": ("pair",),
        "moments": ("pair", 3),
        "per_task": ("task",),
        "grid": ("task", "feature"),
        "owner": ("support",),
        "kept": ("nonzero",),
        "used": (2,),
        "scalars": (4,),
    }
    return Plan(axes=axes, names={"owner": "task"}, task_major=task_major, always_dense=always_dense, check=check)


def blank(plan):
    index = pairs.dense(0, 1) if plan.task_major else pairs.dense(1, 0)
    return Toy(
        index,
        np.zeros(0),
        np.zeros((0, 3)),
        np.zeros(0),
        np.zeros((0, 0)),
        np.zeros(0, np.int64),
        np.zeros(0),
        np.zeros(2, np.int64),
        np.arange(4.0),
    )


def place(state, task, feature):
    """The slot of a pair, opened if need be."""
    if not state.pairs.layout[pairs.HASHED]:
        return task * int(state.pairs.layout[0]) + feature * int(state.pairs.layout[1])
    return int(open_pairs(state.pairs, task, event([feature], [1.0], task))[0])


@pytest.fixture(params=[True, False], ids=["task-major", "feature-major"])
def plan(request):
    return plan_of(request.param)


@pytest.mark.parametrize("limit", [1 << 23, 0, 30], ids=["dense", "hashed", "switching"])
def test_growth_keeps_everything(plan, limit, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    rng = np.random.default_rng(0)
    state, known, grid = blank(plan), {}, {}
    tasks = features = 0
    for _ in range(40):
        tasks, features = tasks + int(rng.integers(0, 3)), features + int(rng.integers(0, 4))
        state = make_room_for_names(state, plan, tasks, features)
        assert len(state.per_task) >= tasks + 1
        assert state.grid.shape[0] >= tasks + 1
        if tasks and features:
            task, feature, value = int(rng.integers(tasks)), int(rng.integers(features)), float(rng.normal())
            state = make_room_for_round(state, plan, tasks, features, event([feature], [1.0], task), 0)
            at = place(state, task, feature)
            state.weights[at], state.moments[at] = value, [value, 0.0, 1.0]
            state.grid[task, feature], state.per_task[task] = value, value
            known[task, feature] = value
            grid[task] = value
        found = live(state, plan, tasks, features)
        assert found["pairs"].tolist() == [list(key) for key in sorted(known)]
        assert found["weights"].tolist() == [known[key] for key in sorted(known)]
        assert found["moments"][:, 0].tolist() == found["weights"].tolist()
        assert found["grid"].shape == (tasks, features)
        assert found["per_task"].tolist() == [grid.get(task, 0.0) for task in range(tasks)]
        again = restore(blank(plan), plan, found, tasks, features)
        for name, array in live(again, plan, tasks, features).items():
            assert np.array_equal(array, found[name]), name
    assert bool(state.pairs.layout[pairs.HASHED]) == (limit < tasks * features)


def test_pairs_that_come_one_by_one_are_seldom_copied(plan, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 0)
    rng = np.random.default_rng(1)
    state, known, copies = make_room_for_names(blank(plan), plan, 20, 400), {}, 0
    for _ in range(4000):
        task, feature, value = int(rng.integers(20)), int(rng.integers(400)), float(rng.normal())
        grown = make_room_for_round(state, plan, 20, 400, event([feature], [1.0], task), 0)
        copies, state = copies + (grown is not state), grown
        at = place(state, task, feature)
        assert state.weights[at] == known.get((task, feature), 0.0)
        state.weights[at], state.moments[at], known[task, feature] = value, [0.0, value, 1.0], value
    found = live(state, plan, 20, 400)
    assert copies < 40
    assert found["weights"].tolist() == [known[key] for key in sorted(known)]
    assert found["moments"][:, 1].tolist() == found["weights"].tolist()
    assert len(state.weights) == len(state.moments) < 6 * len(known)


def test_pooled_pairs_grow_in_one_region(plan, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 0)
    state = make_room_for_names(blank(plan), plan, 3, 90)
    for feature in range(90):
        state = make_room_for_round(state, plan, 3, 90, event([feature], [1.0], feature % 3), 0, True)
        state.weights[place(state, 0, feature)] = feature + 1.0
    found = live(state, plan, 3, 90)
    assert found["pairs"].tolist() == [[0, feature] for feature in range(90)]
    assert found["weights"].tolist() == [feature + 1.0 for feature in range(90)]


def test_capacities_double(plan):
    state, changes = blank(plan), 0
    for tasks in range(1, 200):
        grown = reserve(state, plan, Sizes(tasks + 1, 3, support=tasks, nonzero=2 * tasks))
        changes += grown is not state
        state = grown
    assert changes < 25
    assert reserve(state, plan, Sizes(5, 3)) is state


def test_a_table_that_may_not_be_hashed(monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 4)
    plan = plan_of(True, always_dense=True)
    state = make_room_for_names(blank(plan), plan, 9, 10)
    assert state.pairs.layout[pairs.HASHED] == 0
    assert len(state.weights) >= 100


def test_pairs_that_hold_zeros_are_not_live(plan):
    state = make_room_for_names(blank(plan), plan, 2, 4)
    state.moments[place(state, 1, 2), 1] = 5.0  # one number of several is enough
    found = live(state, plan, 2, 4)
    assert found["pairs"].tolist() == [[1, 2]]
    assert found["weights"].tolist() == [0.0]


def test_live_is_a_copy(plan):
    state = make_room_for_names(blank(plan), plan, 2, 4)
    state.weights[place(state, 1, 2)] = 1.0
    found = live(state, plan, 2, 4)
    for array in found.values():
        array[...] = 9
    assert live(state, plan, 2, 4)["weights"].tolist() == [1.0]
    assert state.scalars.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_restored_arrays_are_not_those_of_the_file(plan):
    found = live(make_room_for_names(blank(plan), plan, 2, 4), plan, 2, 4)
    state = restore(blank(plan), plan, found, 2, 4)
    for array in found.values():
        array[...] = 9
    assert state.scalars.tolist() == [0.0, 1.0, 2.0, 3.0]


def test_room_for_the_next_round(plan):
    batch = batch_of([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    state = make_room_for_names(blank(plan), plan, 2, 4)
    state.used[SUPPORT], state.used[NONZERO] = 7, 20
    grown = make_room_for_round(state, plan, 2, 3, batch, 0)
    assert len(grown.per_task) >= 3
    assert len(grown.owner) >= 9
    assert len(grown.kept) >= 23
    assert len(make_room_for_round(state, plan, 2, 3, batch, 1).owner) == 0  # no round is left


BAD = {
    "missing": lambda a: a.pop("weights"),
    "extra": lambda a: a.update(other=np.zeros(1)),
    "shape": lambda a: a.update(per_task=np.zeros(3)),
    "type": lambda a: a.update(per_task=np.zeros(2, np.int64)),
    "dimensions": lambda a: a.update(moments=np.zeros(0)),
    "owner outside": lambda a: a.update(owner=np.array([2]), used=np.array([1, 0])),
    "owner negative": lambda a: a.update(owner=np.array([-1]), used=np.array([1, 0])),
    "used negative": lambda a: a.update(used=np.array([-1, 0])),
    "used float": lambda a: a.update(used=np.zeros(2)),
    "used long": lambda a: a.update(used=np.zeros(3, np.int64)),
    "used too large": lambda a: a.update(used=np.array([5, 0])),
    "pairs outside": lambda a: a.update(pairs=np.array([[0, 4]]), weights=np.ones(1), moments=np.ones((1, 3))),
    "pairs negative": lambda a: a.update(pairs=np.array([[-1, 0]]), weights=np.ones(1), moments=np.ones((1, 3))),
    "pairs twice": lambda a: a.update(pairs=np.array([[0, 1]] * 2), weights=np.ones(2), moments=np.ones((2, 3))),
    "pairs flat": lambda a: a.update(pairs=np.zeros(2, np.int64)),
    "pairs float": lambda a: a.update(pairs=np.zeros((0, 2))),
}


@pytest.mark.parametrize("case", BAD)
def test_what_does_not_fit_is_refused(case, plan):
    found = live(make_room_for_names(blank(plan), plan, 2, 4), plan, 2, 4)
    BAD[case](found)
    with pytest.raises(ValueError, match="the state"):
        restore(blank(plan), plan, found, 2, 4)


def test_a_learner_may_check_more():
    def check(arrays, sizes):
        assert (sizes["task"], sizes["feature"]) == (2, 4)
        if arrays["scalars"][0] < 0:
            raise ValueError("no such scalar")

    plan = plan_of(True, check=check)
    found = live(make_room_for_names(blank(plan), plan, 2, 4), plan, 2, 4)
    restore(blank(plan), plan, found, 2, 4)
    found["scalars"][0] = -1.0
    with pytest.raises(ValueError, match="no such scalar"):
        restore(blank(plan), plan, found, 2, 4)


@pytest.mark.parametrize("value", [-1.0, 0.5, math.nan, math.inf, 2.0**53])
def test_counters_are_integers_from_zero(value):
    plan = replace(plan_of(True), counters={"scalars": (1, 3)})
    found = live(make_room_for_names(blank(plan), plan, 2, 4), plan, 2, 4)
    found["scalars"][[0, 2]] = value  # no counters
    restore(blank(plan), plan, found, 2, 4)
    found["scalars"][3] = value
    with pytest.raises(ValueError, match="the scalars of the file count in numbers that are not integers"):
        restore(blank(plan), plan, found, 2, 4)
    with pytest.raises(ValueError, match="the scalars of the file count"):
        restore(blank(plan), replace(plan, counters={"scalars": ()}), found, 2, 4)


@pytest.mark.parametrize("size", [10, 600], ids=["in pieces", "at once"])
@pytest.mark.parametrize("name", ["pa", "mt-ogd", "adaptive", "auto"])
def test_regions_become_a_table(name, size, monkeypatch):
    """Where half of all pairs are there, and back where there are many more: nobody sees it."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 0)
    rng = np.random.default_rng(5)
    X, y, task = rng.normal(size=(600, 40)), rng.choice([-1.0, 1.0], 600), rng.integers(0, 4, 600)
    more = np.zeros((1, 900))
    more[0, ::100] = 1.0
    found = []
    for limit in (0, 1 << 60):
        monkeypatch.setattr(pairs, "FULL_LIMIT", limit)
        model = weft.Model(name)
        scores = [
            model.learn(weft.Stream(X[at : at + size], y[at : at + size], task[at : at + size]))
            for at in range(0, 600, size)
        ]
        assert bool(model.state.pairs.layout[pairs.HASHED]) == (limit > 0)
        learned = model.to_bytes()
        scores.append(model.learn(weft.Stream(sparse.csr_array(more), [1.0], [9])))
        assert model.state.pairs.layout[pairs.HASHED]
        scores.append(model.score(X, task))
        found.append((np.concatenate(scores).tobytes(), learned, model.to_bytes()))
    assert found[0] == found[1]


def test_padding_is_not_saved(monkeypatch):
    for limit in (1 << 23, 0):
        monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
        model = weft.Model("adaptive")
        model.learn(weft.Stream(np.eye(5), [1, -1, 1, -1, 1], list("abcab")))
        assert model.state.own.shape[1] == model.state.features.shape[1] == 8
        assert model.state.own.ctypes.data % 64 == model.state.features.ctypes.data % 64 == 0
        parts = live(model.state, model.learner.plan, 3, 5)
        assert parts["own"].shape == (5, 6)
        assert parts["pooled"].shape == (0, 2)
        again = restore(model.learner.init(), model.learner.plan, parts, 3, 5)
        assert again.own.shape[1] == 8
        assert all(np.array_equal(parts[n], array) for n, array in live(again, model.learner.plan, 3, 5).items())


@pytest.mark.parametrize("wrong", [[1, 1, 0], [1], [[1], [1]], [1.0, 1.0], [1, -1]], ids=str)
def test_counts_of_what_is_kept_have_their_own_refusal(wrong):
    """Everything else is measured by them, so that they are looked at first."""
    model = weft.Model("mtrbp", B=3)
    model.learn_one({"a": 1.0}, 1, "ann")
    header, arrays = decode(model.to_bytes())
    assert arrays["state.used"].tolist() == [1, 1]
    with pytest.raises(FileError, match="counts of what is kept are not"):
        weft.Model.from_bytes(encode(header, {**arrays, "state.used": np.array(wrong)}))
