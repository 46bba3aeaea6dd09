"""Perceptrons with fixed and with learned relations against the dense oracles; steps of relations as argmins."""

import math

import numpy as np
import pytest
from scipy import linalg

import weft
from learners.smoothed_runs import FEATURES, events, named, stream_of
from oracles.smoothed import Foml, Omtrl, clique_inverse
from weft.graphs.interaction import interaction
from weft.learners.relations.eigen import exponential, jacobi

FOML = {
    "b = N": {},
    "b": {"b": 2.5},
    "independent": {"b": 0.0},
    "margin": {"condition": "margin", "C": 0.3},
}
EDGES = [(0, 1), (1, 2), (3, 4), (0, 4)]
CLIQUES = [[0, 2], [1, 3, 4]]


def both(table, order):
    return named(order, named(order, table).T).T


@pytest.mark.parametrize("single", [False, True], ids=["rounds", "single"])
@pytest.mark.parametrize("declared", [False, True], ids=["late", "declared"])
@pytest.mark.parametrize("setting", FOML)
def test_foml(setting, declared, single):
    for seed in range(3):
        X, y, task, bounds = events(seed, single=single, late=not declared)
        tasks = 5 if declared else 0
        oracle = Foml(FEATURES, tasks, **FOML[setting])
        model = weft.Model("foml", tasks=range(tasks) if tasks else None, **FOML[setting])
        scores = model.learn(stream_of(X, y, task, bounds))
        np.testing.assert_allclose(scores, oracle.learn(X, y, task, bounds), atol=1e-11)
        order = [int(name) for name in model.tasks]
        np.testing.assert_allclose(named(order, model.weights()), oracle.W, atol=1e-11)
        np.testing.assert_allclose(model.relations(), oracle.inverse, atol=1e-12)


@pytest.mark.parametrize("graph", [EDGES, CLIQUES], ids=["edges", "cliques"])
@pytest.mark.parametrize("condition", ["mistake", "margin"])
def test_foml_on_a_graph(graph, condition):
    for seed in range(3):
        X, y, task, bounds = events(seed, late=False)
        model = weft.Model("foml", graph=graph, condition=condition)
        names = list(model.learner.graph.names)
        inverse = interaction(model.learner.graph, names).dense(-1.0)
        where = [names.index(k) for k in range(5)]
        oracle = Foml(FEATURES, inverse=inverse[np.ix_(where, where)], condition=condition)
        scores = model.learn(stream_of(X, y, task, bounds))
        np.testing.assert_allclose(scores, oracle.learn(X, y, task, bounds), atol=1e-11)
        order = [int(name) for name in model.tasks]
        np.testing.assert_allclose(both(model.relations(), order), oracle.fixed, atol=1e-12)
        np.testing.assert_allclose(named(order, model.weights()), oracle.W, atol=1e-11)


def test_foml_is_the_kernel_perceptron():
    """With b = N it is `mt-perceptron`, linear kernel, complete graph."""
    X, y, task, bounds = events(11, late=True)
    stream = stream_of(X, y, task, bounds)
    linear = {"name": "linear", "normalize": False}
    one, other = weft.Model("foml"), weft.Model("mt-perceptron", kernel=linear)
    np.testing.assert_allclose(one.learn(stream), other.learn(stream), atol=1e-11)


def test_foml_without_ties_is_the_perceptron_and_with_all_ties_the_pooled_one():
    X, y, task, bounds = events(12, single=True)
    stream = stream_of(X, y, task, bounds)
    alone, perceptrons = weft.Model("foml", b=0.0), weft.Model("perceptron")
    np.testing.assert_allclose(alone.learn(stream), perceptrons.learn(stream), atol=1e-12)
    together = weft.Model("foml", b=math.inf, tasks=range(5), C=5.0)  # every step is C/N
    pooled = weft.Model("perceptron", pooled=True)
    np.testing.assert_allclose(together.learn(stream), pooled.learn(stream), atol=1e-12)


OMTRL = {
    "at once": {"rate": 0.2, "warmup": 0},
    "after a while": {"rate": 0.1, "warmup": 40},
    "margin": {"rate": 0.05, "warmup": 10, "condition": "margin", "C": 0.3},
}


@pytest.mark.parametrize("single", [False, True], ids=["rounds", "single"])
@pytest.mark.parametrize("declared", [False, True], ids=["late", "declared"])
@pytest.mark.parametrize("kind", ["logdet", "vonneumann", "cov"])
@pytest.mark.parametrize("setting", OMTRL)
def test_omtrl(setting, kind, declared, single):
    parameters = dict(OMTRL[setting])
    if kind == "vonneumann" and setting == "at once":  # LAPACK has 1e-18 for some zeros: no ties
        parameters |= {"condition": "margin", "C": 0.3}
    for seed in range(3):
        X, y, task, bounds = events(seed, single=single, late=not declared)
        tasks = 5 if declared else 0
        oracle = Omtrl(FEATURES, tasks, kind, **parameters)
        model = weft.Model(f"omtrl-{kind}", tasks=range(tasks) if tasks else None, features=FEATURES, **parameters)
        scores = model.learn(stream_of(X, y, task, bounds))
        np.testing.assert_allclose(scores, oracle.learn(X, y, task, bounds), atol=1e-9)
        order = [int(name) for name in model.tasks]
        np.testing.assert_allclose(named(order, model.weights()), oracle.W, atol=1e-9)
        found = both(model.relations(), order)
        np.testing.assert_allclose(found, oracle.inverse, atol=1e-9)
        assert math.isclose(np.trace(found), 5, rel_tol=1e-9)
        assert np.linalg.eigvalsh(found).min() > -1e-12


def test_omtrl_before_the_warmup_is_the_perceptron():
    X, y, task, bounds = events(13, single=True)
    stream = stream_of(X, y, task, bounds)
    perceptrons = weft.Model("perceptron").learn(stream)
    for kind in ("logdet", "vonneumann", "cov"):
        np.testing.assert_array_equal(weft.Model(f"omtrl-{kind}", warmup=len(y)).learn(stream), perceptrons)


def test_omtrl_finds_who_agrees():
    rng = np.random.default_rng(14)
    w, X = rng.normal(size=8), rng.normal(size=(600, 8))
    task = np.arange(600) % 6
    y = np.sign(X @ w) * np.where(task < 3, 1, -1)
    for kind in ("logdet", "cov"):
        model = weft.Model(f"omtrl-{kind}", warmup=100)
        model.learn(weft.Stream(X, y, task))
        relations = model.relations()
        same = (np.arange(6)[:, None] < 3) == (np.arange(6)[None, :] < 3)
        assert relations[same].min() > 0 > relations[~same].max()


@pytest.mark.parametrize("n", [1, 2, 3, 7, 20])
def test_eigenvalues(n):
    rng = np.random.default_rng(n)
    for scale in (1e-8, 1.0, 1e6):
        root = rng.normal(size=(n, n)) * np.logspace(0, -6, n)
        A = scale * (root @ root.T if n % 2 else root + root.T)
        work, V = A.copy(), np.empty((n, n))
        jacobi(work, n, V)
        values = np.diagonal(work)
        np.testing.assert_allclose(np.sort(values), np.linalg.eigvalsh(A), atol=1e-14 * n * scale)
        np.testing.assert_allclose((V * values) @ V.T, A, atol=1e-14 * n * scale)
        np.testing.assert_allclose(V.T @ V, np.eye(n), atol=1e-14 * n)


def test_exponential_of_large_numbers():
    """Eigenvalues far beyond what exp can take, and multiples of I."""
    rng = np.random.default_rng(15)
    L = rng.normal(size=(6, 6))
    L = L + L.T
    out = np.empty((6, 6))
    for more in (0.0, 2000.0, -2000.0):
        shift = exponential(L + more * np.eye(6), 6, out)
        expected = linalg.expm(L)
        np.testing.assert_allclose(out, expected * 6 / np.trace(expected), rtol=1e-10, atol=1e-13)
        assert math.isclose(shift, more + math.log(np.trace(expected) / 6), rel_tol=1e-12)
    exponential(1e5 * np.outer(L[0], L[0]), 6, out)
    assert np.isfinite(out).all()
    assert math.isclose(np.trace(out), 6, rel_tol=1e-12)


def test_clique_inverse_is_what_b_says():
    model = weft.Model("foml", b=3.0, tasks=4)
    np.testing.assert_allclose(model.relations(), clique_inverse(4, 3.0), atol=1e-14)


@pytest.mark.parametrize(
    ("name", "parameters", "message"),
    [
        ("foml", {"b": -1}, "b=-1 must be a finite number >= 0 or inf or None"),
        ("foml", {"b": 1.0, "graph": CLIQUES}, "b=1 and graph are both given"),
        ("foml", {"condition": "active"}, 'must be one of "mistake", "margin"'),
        ("foml", {"C": 0}, "C=0"),
        ("omtrl-logdet", {"rate": 0}, "rate=0 must be a finite number > 0"),
        ("omtrl-cov", {"warmup": -1}, "warmup=-1 must be an integer >= 0"),
        ("omtrl-cov", {"warmup": 0.5}, "warmup=0.5"),
        ("omtrl-vonneumann", {"condition": "always"}, "condition"),
        ("omtrl-vonneumann", {"tasks": 10_000}, r"3 tables of 10,000 x 10,000 numbers.*2\.2 GiB.*matrix_limit"),
    ],
)
def test_refused_parameters(name, parameters, message):
    with pytest.raises(ValueError, match=message):
        weft.Model(name, **parameters)


def test_a_graph_refuses_other_tasks():
    model = weft.Model("foml", graph=CLIQUES)
    with pytest.raises(ValueError, match="does not name the task 9"):
        model.learn_one({"a": 1.0}, 1, 9)


def test_the_trace_has_the_step_of_rows_that_moved_something():
    X, y, task, bounds = events(0, single=True)
    model = weft.Model("foml", C=0.3, condition="mistake")
    trace = np.full((len(y), 4), np.nan)
    scores = model.learn(stream_of(X, y, task, bounds), trace=trace)
    moved = (y * scores <= 0.0) & np.any(X != 0.0, axis=1)
    assert moved.any()
    assert not moved.all()
    np.testing.assert_array_equal(trace[:, 1], np.where(moved, 0.3, 0.0))
    np.testing.assert_allclose(trace[:, 0], np.maximum(0.0, 1.0 - y * scores), rtol=1e-12)
