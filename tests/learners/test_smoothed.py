"""The adaptive smoothed learners against the dense oracle, and what only they have: attention, neighbours, limits."""

import math
import warnings

import numpy as np
import pytest

import weft
from learners.smoothed_runs import FEATURES, events, named, stream_of
from oracles.smoothed import Osmtl
from weft.store.codec import FileError, decode, encode

SETTINGS = {
    "by theory, doubling": {},
    "restart": {"restart": True},
    "T": {"T": 40},
    "parameters": {"alpha": 0.6, "C": 0.7, "lam": 0.5},
    "C only": {"C": 0.5},
    "mistake": {"alpha": 0.8, "C": 1.0, "condition": "mistake"},
    "active": {"alpha": 0.5, "C": 0.4, "lam": 0.7, "condition": "active"},
    "floor": {"alpha": 0.4, "C": 1.0, "lam": 0.1, "p_min": 0.08},
    "no room above the floor": {"alpha": 0.4, "C": 1.0, "lam": 0.1, "p_min": 0.3},
    "frozen": {"alpha": 0.4, "C": 1.0, "lam": math.inf},
    "all ears": {"alpha": 0.0, "C": 1.0, "lam": 2.0},
}


@pytest.mark.parametrize("single", [False, True], ids=["rounds", "single"])
@pytest.mark.parametrize("declared", [False, True], ids=["late", "declared"])
@pytest.mark.parametrize("variant", ["e", "t"])
@pytest.mark.parametrize("setting", SETTINGS)
def test_oracle(setting, variant, declared, single):
    parameters = SETTINGS[setting]
    for seed in range(3):
        X, y, task, bounds = events(seed, single=single, late=not declared)
        tasks = 5 if declared else 0
        oracle = Osmtl(FEATURES, tasks, variant, **parameters)
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            model = weft.Model(f"osmtl-{variant}", tasks=range(tasks) if tasks else None, **parameters)
            scores = model.learn(stream_of(X, y, task, bounds))
        np.testing.assert_allclose(scores, oracle.learn(X, y, task, bounds), atol=1e-10)
        order = [int(name) for name in model.tasks]
        np.testing.assert_allclose(named(order, model.weights())[:, : X.shape[1]], oracle.W, atol=1e-10)
        P = named(order, named(order, model.learner.attention(model.state, len(order))).T).T
        np.testing.assert_allclose(P, oracle.P, atol=1e-10)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
        assert named(order, model.state.updates[: len(order)]).tolist() == oracle.updates.tolist()
        alpha = oracle.parameters[0]
        eta = named(order, named(order, model.relations()).T).T
        np.testing.assert_allclose(eta, alpha * np.eye(len(order)) + (1 - alpha) * oracle.P, atol=1e-10)


def test_one_row_for_all_tasks():
    """Labels of one document: the same as rounds of equal rows."""
    rng = np.random.default_rng(5)
    X, Y = rng.normal(size=(50, FEATURES)), np.sign(rng.normal(size=(50, 4)))
    Y[rng.random(Y.shape) < 0.1] = math.nan
    one, other = (weft.Model("osmtl-e", alpha=0.6, C=0.5, lam=0.3) for _ in range(2))
    shared = one.learn(weft.Stream.shared(X, Y, ["a", "b", "c", "d"]))
    apart = other.learn(weft.Stream(np.repeat(X, 4, 0), Y.ravel(), ["a", "b", "c", "d"] * 50, np.repeat(range(50), 4)))
    np.testing.assert_allclose(shared.ravel(), apart, atol=1e-12)
    np.testing.assert_allclose(one.relations(), other.relations(), atol=1e-12)


@pytest.mark.parametrize("variant", ["e", "t"])
def test_alpha_one_is_independent(variant):
    """Every task is a hinge Perceptron with step C."""
    X, y, task, bounds = events(7, dormant=0.0)
    model = weft.Model(f"osmtl-{variant}", alpha=1.0, C=0.5)
    model.learn(stream_of(X, y, task, bounds))
    W = np.zeros((5, FEATURES))
    for x, label, k in zip(X, y, task, strict=True):
        if label * (W[k] @ x) < 1:
            W[k] += 0.5 * label * x
    np.testing.assert_allclose(named([int(k) for k in model.tasks], model.weights()), W, atol=1e-12)


@pytest.mark.parametrize("variant", ["e", "t"])
@pytest.mark.parametrize("declared", [False, True])
def test_enough_neighbours_are_exact(variant, declared):
    X, y, task, bounds = events(8)
    parameters = {"alpha": 0.4, "C": 1.0, "lam": 1.5, "tasks": range(5) if declared else None}
    whole, near = (weft.Model(f"osmtl-{variant}", neighbours=m, **parameters) for m in (None, 4))
    stream = stream_of(X, y, task, bounds)
    np.testing.assert_allclose(near.learn(stream), whole.learn(stream), atol=1e-12)
    np.testing.assert_allclose(near.relations(), whole.relations(), atol=1e-12)


def test_few_neighbours_keep_the_nearest():
    """Two groups that contradict each other: two neighbours are enough to find the own group of three."""
    rng = np.random.default_rng(9)
    model = weft.Model("osmtl-e", alpha=0.5, C=0.5, lam=0.2, neighbours=2)
    for _ in range(80):
        x = rng.normal(size=4)
        y = 1 if x[0] > 0 else -1
        X = np.tile(x / np.linalg.norm(x), (6, 1)) + 0.01 * rng.normal(size=(6, 4))
        model.learn(weft.Stream(X, [y, y, y, -y, -y, -y], list("abcdef"), rounds=[0] * 6))
    P = model.learner.attention(model.state, 6)
    np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-9)
    assert P.min() >= 0
    for k in range(6):
        friends = [j for j in range(6) if j // 3 == k // 3]
        assert P[k, friends].sum() > 0.9
        assert sorted(model.state.ids[k].tolist()) == sorted(j + 1 for j in friends if j != k)


def test_a_neighbour_gives_way_to_a_larger_entry_only():
    """All losses are alike, and so are all entries: who came first stays, for every task."""
    model = weft.Model("osmtl-e", neighbours=1, tasks=list("abcd"))
    for pair in ("ab", "ac", "ad", "cd"):
        model.learn(weft.Stream([{"x": 1.0}] * 2, [1, 1], list(pair), rounds=[0, 0]))
    assert [model.tasks[int(ids[0]) - 1] for ids in model.state.ids[:4]] == ["b", "a", "a", "a"]


def test_memory_of_neighbours_grows_with_tasks_only():
    model = weft.Model("osmtl-e", neighbours=3, tasks=20_000, alpha=0.9, C=1.0)
    model.learn(weft.Stream(np.eye(2), [1, -1], [0, 19_999], rounds=[0, 0]))
    assert model.state.P.shape[1] == 5
    assert model.state.tasks[0] == 20_000


def test_too_many_tasks():
    with pytest.raises(ValueError, match=r"osmtl-e .* 20,000 x 20,000 numbers.*3\.0 GiB.*neighbours=50"):
        weft.Model("osmtl-e", tasks=20_000)
    model = weft.Model("osmtl-t", matrix_limit=8 * 9)
    model.learn(weft.Stream(np.eye(3), [1, -1, 1], ["a", "b", "c"], rounds=[0, 0, 0]))
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"4 x 4 numbers.*128 bytes, more than matrix_limit=72"):
        model.learn(weft.Stream(np.eye(3)[:2], [1, -1], ["a", "d"]))
    assert model.to_bytes() == before


def test_a_threshold_that_nothing_passes_is_remarked():
    rng = np.random.default_rng(3)
    X, y = 0.01 * rng.normal(size=(300, 3)), np.sign(rng.normal(size=300))  # all losses stay near 1
    stream = weft.Stream(X, y, ["a", "b"] * 150, rounds=np.repeat(range(150), 2))
    with pytest.warns(UserWarning, match=r"attention did not move.*larger lam"):
        weft.Model("osmtl-t", alpha=0.9, C=1.0, lam=0.5).learn(stream)


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"alpha": 1.5}, "alpha=1.5 must be a finite number >= 0 and <= 1 or None"),
        ({"alpha": -0.1}, "alpha"),
        ({"C": 0}, "C=0 must be a finite number > 0 or None"),
        ({"lam": 0}, "lam=0 must be a finite number > 0 or inf or None"),
        ({"lam": math.nan}, "lam"),
        ({"condition": "passive"}, 'condition=.passive. must be one of "margin", "mistake", "active"'),
        ({"T": -1}, "T=-1"),
        ({"neighbours": 0}, "neighbours=0 must be an integer >= 1 or None"),
        ({"neighbours": 3, "p_min": 0.1}, "leave neighbours out"),
        ({"restart": True, "T": 9.0}, "restart belongs to doubling epochs"),
        ({"p_min": 2}, "p_min=2"),
    ],
)
def test_refused_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        weft.Model("osmtl-e", **parameters)


def test_a_file_whose_neighbours_are_not_different_tasks():
    model = weft.Model("osmtl-e", neighbours=2, alpha=0.5, C=0.5, lam=0.2)
    model.learn(weft.Stream(np.eye(4), [1, -1, 1, -1], list("abcd"), rounds=[0] * 4))
    header, arrays = decode(model.to_bytes())
    ids = arrays["state.ids"]
    for wrong in ([3, 3], [1, 2]):  # task 0 twice the same neighbour, or itself
        other = ids.copy()
        other[0] = wrong
        with pytest.raises(FileError, match="neighbours are not different tasks"):
            weft.Model.from_bytes(encode(header, {**arrays, "state.ids": other}))
