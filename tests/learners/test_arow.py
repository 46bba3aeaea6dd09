"""AROW against dense matrices, against a solver of its objective, and in its special cases."""

import numpy as np
import pytest
from scipy.optimize import minimize

import weft
from weft.storage import pairs

LAYOUTS = {"table": pairs.DENSE_LIMIT, "hashed": 0}


def problem(seed, events=150, tasks=4, features=9, round_size=1):
    """Rows, labels, tasks and rounds; rows have gaps, some are zero, some labels are noise."""
    rng = np.random.default_rng(seed)
    X = np.where(rng.random((events, features)) < 0.6, rng.normal(size=(events, features)), 0.0)
    X[rng.random(events) < 0.05] = 0.0
    task = np.concatenate([rng.permutation(tasks)[:round_size] for _ in range(events // round_size)])
    U = rng.normal(size=(tasks, features))
    y = np.where(np.sum(X * U[task], axis=1) + 0.5 * rng.normal(size=events) >= 0.0, 1.0, -1.0)
    return X, y, task, np.repeat(np.arange(events // round_size), round_size)


def step(mu, S, x, y, r):
    """The paper's step, with a diagonal matrix S: its inverse gains the diagonal of x x' / r."""
    m, v = mu @ x, x @ S @ x
    if y * m >= 1.0:
        return mu, S
    beta = 1.0 / (v + r)
    alpha = max(0.0, 1.0 - y * m) * beta
    return mu + alpha * y * S @ x, np.linalg.inv(np.linalg.inv(S) + np.diag(x**2) / r)


def oracle(X, y, task, rounds, r):
    """Scores, and the mean and the matrix of every task; all of a round is scored first."""
    tasks, features = task.max() + 1, X.shape[1]
    mu, S = np.zeros((tasks, features)), np.tile(np.eye(features), (tasks, 1, 1))
    scores = np.empty(len(y))
    for t in np.unique(rounds):
        at = np.flatnonzero(rounds == t)
        scores[at] = np.sum(mu[task[at]] * X[at], axis=1)
        for i in at:
            if not np.isnan(y[i]):
                mu[task[i]], S[task[i]] = step(mu[task[i]], S[task[i]], X[i], y[i], r)
    return scores, mu, S


def learned(X, y, task, rounds=None, **parameters):
    model = weft.Model("arow", tasks=int(task.max()) + 1, features=X.shape[1], **parameters)
    return model, model.learn(weft.Stream(X, y, task, rounds=rounds))


def variances(model):
    """S_jj of every task, from the state."""
    tasks, features = np.arange(len(model.tasks)), np.arange(len(model.features))
    q = np.array([pairs.read_row(model.state.pairs, model.state.squares, k, features) for k in tasks])
    return model.learner.r / (model.learner.r + q)


# --- the rule ---


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("round_size", [1, 3])
@pytest.mark.parametrize("r", [0.05, 1.0, 30.0])
def test_against_dense_matrices(monkeypatch, layout, round_size, r):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", LAYOUTS[layout])
    X, y, task, rounds = problem(1, round_size=round_size)
    if round_size > 1:
        y[::7] = np.nan  # dormant: scored, not learned
    scores, mu, S = oracle(X, y, task, rounds, r)
    model, found = learned(X, y, task, rounds, r=r)
    assert bool(model.state.pairs.layout[pairs.HASHED]) == (layout == "hashed")
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.weights(), mu, rtol=0, atol=1e-10)
    np.testing.assert_allclose(variances(model), [np.diag(matrix) for matrix in S], rtol=1e-10)
    assert np.all(variances(model) < 1.0)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_rows_without_gaps(monkeypatch, layout):
    """Dense rows take another path through a table."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", LAYOUTS[layout])
    X, y, task, rounds = problem(2, features=7)
    X[X == 0.0] = 0.25
    scores, mu, _ = oracle(X, y, task, rounds, 0.7)
    model, found = learned(X, y, task, r=0.7)
    np.testing.assert_allclose(found, scores, rtol=0, atol=1e-10)
    np.testing.assert_allclose(model.weights(), mu, rtol=0, atol=1e-10)


def test_both_layouts_have_the_same_bits(monkeypatch):
    X, y, task, rounds = problem(3, round_size=2)
    table = learned(X, y, task, rounds)[1]
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 0)
    assert np.array_equal(learned(X, y, task, rounds)[1], table)


def objective(mu_new, S_new, mu, S, x, y, r):
    """The paper's objective for Gaussians with diagonal matrices, given by their diagonals."""
    away = mu_new - mu
    kl = 0.5 * np.sum(np.log(S / S_new) + S_new / S + away**2 / S - 1.0)
    return kl + max(0.0, 1.0 - y * mu_new @ x) ** 2 / (2.0 * r) + np.sum(S_new * x**2) / (2.0 * r)


@pytest.mark.parametrize("seed", range(12))
def test_the_step_minimises_the_objective_among_diagonal_gaussians(seed):
    """The last step of the learner, against a solver that starts elsewhere, and against points nearby."""
    rng = np.random.default_rng(seed)
    features, r = int(rng.integers(1, 6)), float(10.0 ** rng.uniform(-1.0, 1.0))
    X, y, task, _ = problem(seed, events=20, tasks=1, features=features)
    x, label = rng.normal(size=features), 1.0
    model, _ = learned(X, y, task, r=r)
    mu, S = model.weights()[0], variances(model)[0]
    if mu @ x >= 1.0:
        x = -x
    assert mu @ x < 1.0
    model.learn_one(x, label, 0)
    mine = (model.weights()[0], variances(model)[0])

    def value(point):
        return objective(point[:features], np.exp(point[features:]), mu, S, x, label, r)

    start = np.concatenate([mu, np.log(S)]) + 0.1 * rng.normal(size=2 * features)
    found = minimize(value, start, method="BFGS", options={"gtol": 1e-9, "maxiter": 5000})
    np.testing.assert_allclose(mine[0], found.x[:features], atol=1e-4)
    np.testing.assert_allclose(mine[1], np.exp(found.x[features:]), atol=1e-4)
    least = objective(*mine, mu, S, x, label, r)
    assert least <= found.fun + 1e-9
    assert least < objective(mu, S, mu, S, x, label, r)
    for _ in range(50):
        shift = 10.0 ** rng.uniform(-4, 0) * rng.normal(size=2 * features)
        assert least <= objective(mine[0] + shift[:features], mine[1] * np.exp(shift[features:]), mu, S, x, label, r)


# --- laws ---


@pytest.mark.parametrize("power", [-9, -1, 3, 20])
def test_scaling_rows_by_c_and_r_by_c_squared_changes_no_score(power):
    """1/S_jj grows by x_j^2/r as before, mu by 1/c of it; with powers of two to the last bit."""
    X, y, task, rounds = problem(4, round_size=2)
    c = 2.0**power
    model, scores = learned(X, y, task, rounds, r=0.5)
    other, same = learned(c * X, y, task, rounds, r=0.5 * c * c)
    assert np.array_equal(scores, same)
    assert np.array_equal(other.weights(), model.weights() / c)


def test_the_signs_of_features_and_labels_are_arbitrary():
    X, y, task, rounds = problem(5)
    signs = np.where(np.arange(X.shape[1]) % 2, 1.0, -1.0)
    model, scores = learned(X, y, task, rounds)
    turned, same = learned(X * signs, y, task, rounds)
    assert np.array_equal(scores, same)
    assert np.array_equal(turned.weights(), model.weights() * signs)
    assert np.array_equal(learned(X, -y, task, rounds)[1], -scores)


def test_with_a_large_r_it_adds_up_y_x():
    """r mu tends to the sum of y x: every margin is small, and variances stay 1."""
    X, y, task, _ = problem(6)
    total = np.array([(y * (task == k)) @ X for k in range(4)])
    gaps = [np.abs(r * learned(X, y, task, r=r)[0].weights() - total).max() for r in (1e4, 1e6, 1e8)]
    assert gaps[0] < 0.1 * np.abs(total).max()
    assert gaps[1] < 0.02 * gaps[0]
    assert gaps[2] < 0.02 * gaps[1]


@pytest.mark.parametrize("r", [0.1, 1.0, 8.0])
def test_while_features_are_new_it_is_pa_ii(r):
    """No feature of a task comes twice: S x = x, and r is 1 / (2 C)."""
    rng = np.random.default_rng(7)
    X = np.kron(np.eye(20), np.ones(3)) * rng.normal(size=60)
    X = np.concatenate([X, X])
    y, task = np.where(rng.random(40) < 0.5, 1.0, -1.0), np.repeat([0, 1], 20)
    model, _ = learned(X, y, task, r=r)
    other = weft.Model("pa", variant="pa-ii", C=1.0 / (2.0 * r))
    other.learn(weft.Stream(X, y, task))
    np.testing.assert_allclose(model.weights(), other.weights(), rtol=1e-13)


@pytest.mark.parametrize("r", [0.2, 1.0])
def test_it_is_cw_col_without_the_global_model(r):
    X, y, task, rounds = problem(8, round_size=2)
    other = weft.Model("cw-col", mix=1.0, r=r)
    scores = other.learn(weft.Stream(X, y, task, rounds=rounds))
    np.testing.assert_allclose(learned(X, y, task, rounds, r=r)[1], scores, rtol=0, atol=1e-11)


# --- what else it says of itself ---


def test_no_loss_no_change():
    model = weft.Model("arow", r=0.1)
    for _ in range(50):
        model.learn_one({"a": 2.0, "b": -1.0}, 1, "ann")
    model.learn_one({"a": 1.0}, -1, "bob")
    x = {"a": 3.0, "b": -1.0}
    assert model.predict_one(x, "ann") > 1.0
    before = [array.copy() for array in (model.state.weights, model.state.squares)]
    model.learn_one(x, 1, "ann")
    model.learn_one({}, -1, "ann")
    assert np.array_equal(before, [model.state.weights, model.state.squares])


def test_explanations_relations_and_trace():
    X, y, task, _ = problem(9)
    model = weft.Model("arow", r=2.0, features=X.shape[1])
    trace = np.zeros((len(y), 4))
    scores = model.learn(weft.Stream(X, y, task), trace=trace)
    losses = np.maximum(0.0, 1.0 - y * scores)
    np.testing.assert_allclose(trace[:, 0], losses, rtol=1e-14)
    np.testing.assert_allclose(trace[:, 2], np.sum(X**2, axis=1), rtol=1e-14)
    assert np.all(trace[:, 3] == 2.0)
    learns = (losses > 0.0) & np.any(X, axis=1)
    assert np.array_equal(trace[:, 1] > 0.0, learns)
    # alpha lies between those of the variances 0 and 1.
    assert np.all(trace[learns, 1] <= losses[learns] / 2.0)
    assert np.all(trace[learns, 1] >= losses[learns] / (trace[learns, 2] + 2.0) * (1.0 - 1e-14))
    assert np.array_equal(model.relations(), np.eye(4))
    shares = model.learner.explain(model.state, 1, 4, np.arange(X.shape[1]))
    assert np.array_equal(shares.own, model.weights()[1])
    assert not np.any(shares.shared)
    assert len(shares.slots) == 0


def test_one_known_figure():
    """Lower than that of PA on the same stream."""
    model, other = weft.Model("arow"), weft.Model("pa")
    for one in (model, other):
        one.learn(weft.streams.related_tasks(30, 3000, round_size=5))
    assert model.tally.total["error"] == 0.249
    assert other.tally.total["error"] > 0.249


@pytest.mark.parametrize("r", [0, -1.0, float("nan"), float("inf"), "1"])
def test_refused_parameters(r):
    with pytest.raises(ValueError, match=f"arow: r={r!r} must be a finite number > 0"):
        weft.Model("arow", r=r)
