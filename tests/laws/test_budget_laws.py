"""Laws of the budget learners: special cases without a limit, and invariants."""

import math

import numpy as np
import pytest
from scipy import sparse

import weft
from weft.learners.budget.active_set import EVICTIONS, FACTOR, MISTAKES, NONZEROS, ROW_BYTES, TOO_LARGE, Q
from weft.storage.state import UPDATED_TASK

BUDGETED = ("mtbprj", "mtbprj-2", "mtrbp", "mtforg")
LEARNERS = ("mt-perceptron", *BUDGETED)
NAMES = ["ann", "bob", "cat", "dan", "eve"]
PLAIN = {"name": "linear", "normalize": False}


def events(seed, n=600, d=4, tasks=5, noise=0.25):
    """Dense rows with true weights per task, and labels that are often wrong."""
    rng = np.random.default_rng(seed)
    teacher = rng.normal(size=(tasks, d)) + rng.normal(size=d)
    X, task = rng.normal(size=(n, d)), rng.integers(tasks, size=n)
    y = np.where((X * teacher[task]).sum(1) >= 0, 1.0, -1.0)
    return X, np.where(rng.random(n) < noise, -y, y), task


def stream(X, y, task):
    return weft.Stream(X, y, [NAMES[i] for i in task])


def bytes_kept(model):
    """The bytes that a budget counts, from the rows themselves."""
    state, name = model.state, model.learner.name
    rows = model.support()
    movers = int(state.used[UPDATED_TASK]) if len(state.used) > UPDATED_TASK else 0
    square = 16 * len(rows) ** 2 if name.startswith("mtbprj") else 0
    return sum(16 * len(row.row) for row in rows) + len(rows) * (ROW_BYTES + 8 * movers) + square


# --- reductions ---


@pytest.mark.parametrize("kernel", ["gaussian", "poly", PLAIN], ids=str)
def test_without_edges_tasks_are_alone(kernel):
    """mt-perceptron with graph="none" is a kernel Perceptron per task, each learned from its own events only."""
    X, y, task = events(0)
    scores = weft.Model("mt-perceptron", kernel=kernel, graph="none").learn(stream(X, y, task))
    for i in range(len(NAMES)):
        own = task == i
        alone = weft.Model("mt-perceptron", kernel=kernel).learn(stream(X[own], y[own], task[own]))
        np.testing.assert_allclose(scores[own], alone, rtol=1e-12, atol=1e-12)


def test_a_linear_kernel_without_edges_is_the_perceptron():
    X, y, task = events(1)
    found = weft.Model("mt-perceptron", kernel=PLAIN, graph="none").learn(stream(X, y, task))
    np.testing.assert_allclose(found, weft.Model("perceptron").learn(stream(X, y, task)), atol=1e-10)


def test_a_linear_kernel_on_the_complete_graph_moves_all_weights():
    """w_j += y (A^-1)_ij x for every task j: the rule of Cavallanti, Cesa-Bianchi and Gentile (2010)."""
    X, y, task = events(2)
    model = weft.Model("mt-perceptron", kernel=PLAIN, tasks=NAMES)
    scores, W = model.learn(stream(X, y, task)), np.zeros((len(NAMES), X.shape[1]))
    inverse = model.relations()
    np.testing.assert_allclose(inverse, (np.eye(5) + 1) / 6)
    for x, label, i, score in zip(X, y, task, scores, strict=True):
        np.testing.assert_allclose(score, W[i] @ x, atol=1e-9)
        if label * (W[i] @ x) <= 0:
            W += label * np.outer(inverse[:, i], x)


@pytest.mark.parametrize(
    "graph", ["complete", "none", [NAMES[:2], NAMES[2:]], [("ann", "bob"), ("cat", "dan")]], ids=str
)
@pytest.mark.parametrize("name", BUDGETED)
def test_a_budget_that_never_binds(name, graph):
    X, y, task = events(3, n=150)
    if isinstance(graph, list) and isinstance(graph[0], tuple):
        graph = {"edges": [list(edge) for edge in graph], "tasks": NAMES}
    parameters = {"eta": 0.0} if name.startswith("mtbprj") else {}
    free = weft.Model("mt-perceptron", kernel="gaussian", graph=graph).learn(stream(X, y, task))
    for limit in ({"B": math.inf}, {"B": 150}, {"budget": "100 MB"}):
        held = weft.Model(name, kernel="gaussian", graph=graph, **parameters, **limit)
        np.testing.assert_allclose(held.learn(stream(X, y, task)), free, rtol=1e-7, atol=1e-7)
        assert held.state.scalars[EVICTIONS] == 0


# --- budgets ---


@pytest.mark.parametrize("name", BUDGETED)
def test_never_more_rows_than_the_budget(name):
    X, y, task = events(4)
    model, most = weft.Model(name, B=7, kernel="gaussian"), 0
    for at in range(0, 600, 3):
        model.learn(stream(X[at : at + 3], y[at : at + 3], task[at : at + 3]))
        most = max(most, len(model.support()))
        assert len(model.state.marks) <= 7
    assert most == 7


@pytest.mark.parametrize("graph", ["complete", "none"])
@pytest.mark.parametrize("name", BUDGETED)
def test_bytes_for_rows_of_one_length_are_a_number_of_rows(name, graph):
    """With equal rows a budget in bytes is one in rows, to the bit."""
    X, y, task = events(5)
    by_rows = weft.Model(name, B=9, kernel="gaussian", graph=graph)
    by_rows.learn(stream(X[:50], y[:50], task[:50]))
    movers = len(NAMES) if name == "mtbprj-2" else 0
    size = 9 * (16 * X.shape[1] + ROW_BYTES + 8 * movers) + (16 * 81 if name.startswith("mtbprj") else 0)
    by_rows = weft.Model(name, B=9, kernel="gaussian", graph=graph)
    by_bytes = weft.Model(name, budget=size, kernel="gaussian", graph=graph)
    if name == "mtbprj-2":  # the size of its coefficients grows with the tasks that err: let all err first
        first = [int(np.flatnonzero(task == i)[0]) for i in range(len(NAMES))]
        for model in (by_rows, by_bytes):
            model.learn(stream(X[first], y[first], task[first]))
    assert np.array_equal(by_rows.learn(stream(X, y, task)), by_bytes.learn(stream(X, y, task)))
    assert bytes_kept(by_bytes) == size
    assert by_rows.state.scalars[EVICTIONS] > 100


@pytest.mark.parametrize("graph", ["complete", "none", [NAMES[:3], NAMES[3:]]], ids=str)
@pytest.mark.parametrize("name", BUDGETED)
def test_never_more_bytes_than_the_budget(name, graph):
    """Rows of all lengths; a long one evicts several, and one larger than the whole budget is not added."""
    rng = np.random.default_rng(6)
    X = sparse.random_array((800, 300), density=0.03, rng=rng, format="lil")
    X[::20] = sparse.random_array((40, 300), density=0.3, rng=rng)
    task, y = rng.integers(len(NAMES), size=800), np.where(rng.random(800) < 0.5, -1.0, 1.0)
    model, sizes, rows = weft.Model(name, budget="4.5 kB", graph=graph), [], []
    for at in range(0, 800, 10):
        part = slice(at, at + 10)
        assert np.isfinite(model.learn(stream(X[part].tocsr(), y[part], task[part]))).all()
        sizes.append(bytes_kept(model))
        rows.append(len(model.support()))
        live = sum(len(row.row) for row in model.support())
        assert model.state.counts[NONZEROS] == live
    assert max(sizes) <= 4500
    assert max(sizes) > 0.9 * 4500
    assert min(rows[20:]) < max(rows[20:])  # their number follows their sizes
    whole, before = dict.fromkeys(range(300), 1.0), model.support()
    model.learn_one(whole, -1 if model.predict_one(whole, "ann") >= 0 else 1, "ann")
    assert model.state.scalars[TOO_LARGE] == 1
    assert [row._replace(age=0) for row in before] == [row._replace(age=0) for row in model.support()]


def test_holes_are_closed():
    """Memory of evicted rows is reused: the values never take much more than twice the live size."""
    rng = np.random.default_rng(7)
    model = weft.Model("mtrbp", B=20)
    for _ in range(60):
        X = sparse.random_array((50, 2000), density=rng.uniform(0.005, 0.1), rng=rng, format="csr")
        model.learn(weft.Stream(X, np.where(rng.random(50) < 0.5, -1.0, 1.0), ["ann"] * 50))
        live = sum(len(row.row) for row in model.support())
        assert model.state.used[1] <= 2 * live + 1024 + 200
    assert len(model.state.values) < 40_000


# --- the Forgetron ---


@pytest.mark.parametrize("graph", ["complete", "none", [NAMES[:3], NAMES[3:]]], ids=str)
@pytest.mark.parametrize("budget", [{"B": 1}, {"B": 6}, {"B": 90}, {"budget": 900}], ids=str)
def test_the_damage_stays_within_its_bound(budget, graph):
    """Q <= (15/32) c^2 M after every mistake, in units of c_G^2, and weights only ever shrink."""
    X, y, task = events(8, noise=0.4)
    model, before = weft.Model("mtforg", kernel="gaussian", graph=graph, **budget), 1.0
    for at in range(600):
        model.learn(stream(X[at : at + 1], y[at : at + 1], task[at : at + 1]))
        scalars = model.state.scalars
        assert scalars[Q] <= 15 / 32 * scalars[MISTAKES] * (1 + 1e-12)
        assert 0 < scalars[FACTOR] <= max(before, 1.0)
        before = scalars[FACTOR]
        assert all(abs(row.coefficient) <= 1 + 1e-12 for row in model.support())
    assert scalars[EVICTIONS] > 100


def test_the_common_factor_is_folded_in():
    """phi < 1 at most mistakes: the factor would run out of digits after some hundred thousand."""
    rng = np.random.default_rng(9)
    model = weft.Model("mtforg", B=2, kernel="gaussian")
    X, y = rng.normal(size=(4000, 2)), np.where(rng.random(4000) < 0.5, -1.0, 1.0)
    assert np.isfinite(model.learn(weft.Stream(X, y, ["ann"] * 4000))).all()
    assert model.state.scalars[FACTOR] > 1e-100
    assert max(abs(row.coefficient) for row in model.support()) > 0.01


# --- graphs ---


@pytest.mark.parametrize("name", LEARNERS)
def test_a_component_too_large_for_a_dense_inverse(name, monkeypatch, tmp_path):
    """Rows of A^-1 are then computed when their task appears, also after a model was loaded."""
    from weft.graphs import relation

    rng = np.random.default_rng(10)
    names = [f"t{i}" for i in range(40)]
    graph = {"edges": [[names[i], names[j]] for i in range(40) for j in (i + 1, i + 7) if j < 40]}
    X, task = rng.normal(size=(300, 3)), rng.integers(40, size=300)
    y = np.where(rng.random(300) < 0.3, -1.0, 1.0) * np.sign(X[:, 0])
    parameters = {} if name == "mt-perceptron" else {"B": 12}
    expected = weft.Model(name, kernel="gaussian", graph=graph, **parameters)
    scores = expected.learn(weft.Stream(X, y, [names[i] for i in task]))
    monkeypatch.setattr(relation, "MOST_DENSE", 5)
    model = weft.Model(name, kernel="gaussian", graph=graph, **parameters)
    assert np.all(model.state.relation.start == -1)
    found = [model.learn(weft.Stream(X[:100], y[:100], [names[i] for i in task[:100]]))]
    model.save(tmp_path / "a.weft")
    model = weft.load(tmp_path / "a.weft")
    assert np.all(model.state.relation.start == -1)
    for at in range(100, 200):
        row = {f: float(value) for f, value in enumerate(X[at])}
        before = model.predict_one(row, names[task[at]])
        found.append([model.learn_one(row, y[at], names[task[at]])])
        assert before == found[-1][0]
    found.append(model.learn(weft.Stream(X[200:], y[200:], [names[i] for i in task[200:]])))
    np.testing.assert_allclose(np.concatenate(found), scores, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("name", LEARNERS)
def test_many_tasks_cost_no_matrix(name):
    """A hundred thousand tasks on the complete graph: what is kept depends on the rows, not on the tasks."""
    rng = np.random.default_rng(11)
    X, n = rng.normal(size=(2000, 5)), 100_000
    y = np.where(rng.random(2000) < 0.3, -1.0, 1.0) * np.sign(X[:, 0])
    parameters = {} if name == "mt-perceptron" else {"B": 10}
    model = weft.Model(name, tasks=n, **parameters)
    model.learn(weft.Stream(X, y, rng.integers(n, size=2000).tolist()))
    held = sum(np.asarray(array).nbytes for array in model.state if isinstance(array, np.ndarray))
    assert held < (8 << 20)
