"""Special cases and theorems of the low-rank and the collaborative learners."""

import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

import weft
from learners.robust_runs import KINDS, events
from oracles.robust import arow
from weft.evaluation import record_romco, romco_theorem3
from weft.learners.low_rank import rounds as romco_rounds

pytestmark = pytest.mark.xdist_group("robust-laws")

ROMCO = ("romco-nucl", "romco-logd")
FEW = settings(max_examples=25, deadline=None)
streams = st.builds(
    events,
    st.sampled_from(KINDS),
    rounds=st.integers(2, 40),
    m=st.integers(1, 5),
    d=st.integers(1, 8),
    seed=st.integers(0, 10**6),
    noise=st.sampled_from([0.0, 0.3]),
)
rates = st.floats(1e-3, 1.0)


# --- ROMCO -----------------------------------------------------------------------------------------------------------


def descent(found, step):
    """Subgradient descent with the step of round t."""
    Z, scores, t = np.zeros((found.task.max() + 1, found.X.shape[1])), np.zeros(len(found.y)), 0
    for r in np.unique(found.rounds):
        at = np.flatnonzero(found.rounds == r)
        scores[at] = (found.X[at] * Z[found.task[at]]).sum(axis=1)
        t += not np.isnan(found.y[at]).all()
        for i in at:
            if found.y[i] * scores[i] < 1.0:
                Z[found.task[i]] += step(t) * found.y[i] * found.X[i]
    return scores, Z


@FEW
@given(streams, rates, rates, st.sampled_from(["constant", "sqrt", "geometric"]), st.sampled_from(ROMCO), st.booleans())
def test_without_penalties_romco_is_subgradient_descent(found, eta1, eta2, schedule, name, large):
    parameters = {"lam1": 0.0, "lam2": 0.0, "schedule": schedule, "kappa": 0.9}
    model = weft.Model(name, eta1=eta1, eta2=eta2, tasks=int(found.task.max()) + 1, **parameters)
    before, romco_rounds.SMALL = romco_rounds.SMALL, 0 if large else romco_rounds.SMALL
    try:
        scores = model.learn(found.stream)
    finally:
        romco_rounds.SMALL = before
    factor = {"constant": lambda t: 1.0, "sqrt": lambda t: t**-0.5, "geometric": lambda t: 0.9 ** (t - 1)}[schedule]
    expected, Z = descent(found, lambda t: (eta1 + eta2) * factor(t))
    np.testing.assert_allclose(scores, expected, atol=1e-9)
    np.testing.assert_allclose(model.weights(), Z, atol=1e-9)


@FEW
@given(streams, st.floats(1e4, 1e12))
def test_huge_penalties_leave_nothing_of_the_nuclear_norm(found, lam):
    model = weft.Model("romco-nucl", lam1=lam, lam2=lam)
    np.testing.assert_array_equal(model.learn(found.stream), 0.0)
    np.testing.assert_array_equal(model.weights(), 0.0)
    assert model.learner.rank(model.state) == 0


@pytest.mark.filterwarnings("ignore:romco-logd. rho")
@FEW
@given(st.sampled_from(KINDS), st.integers(0, 10**6), st.floats(1e4, 1e12))
def test_a_huge_log_determinant_divides(kind, seed, lam):
    """No value becomes 0: a step maps h to h / (1 + 2 rho), two steps to h / (1 + 2 rho)^2."""
    found = events(kind, rounds=20, seed=seed)
    model = weft.Model("romco-logd", lam1=lam, lam2=lam, tasks=5, features=9)
    model.learn(found.stream)
    low, personal = model.learner.parts(model.state, 5, 9)
    np.testing.assert_array_equal(personal, 0.0)
    last = max(t for t in found.rounds if np.isfinite(found.y[found.rounds == t]).any())
    g = np.zeros((5, 9))
    for i in np.flatnonzero((found.rounds == last) & np.isfinite(found.y)):
        g[found.task[i]] = 0.1 * found.y[i] * found.X[i]
    np.testing.assert_allclose(low, g / (1.0 + 0.2 * lam), rtol=1e-6, atol=(1.0 + 0.2 * lam) ** -2)
    assert low.any()


def random_comparators(rng, run, model):
    shape = (run.tasks, run.X.shape[1])
    yield np.zeros(shape), np.zeros(shape)
    yield model.learner.parts(model.state, *shape)
    for scale in 10.0 ** rng.uniform(-2, 0.7, 12):
        low = scale * np.outer(rng.normal(size=shape[0]), rng.normal(size=shape[1]))
        personal = scale * rng.normal(size=shape) * (rng.random((shape[0], 1)) < 0.3)
        yield low, personal
        yield low + 0.1 * scale * rng.normal(size=shape), np.zeros(shape)


@FEW
@given(streams, rates, rates, st.floats(1e-4, 1.0), st.floats(1e-4, 1.0), st.booleans())
def test_theorem_3(found, eta1, eta2, lam1, lam2, always):
    model = weft.Model("romco-nucl", eta1=eta1, eta2=eta2, lam1=lam1, lam2=lam2, always_prox=always)
    run = record_romco(model, found.stream)
    rng = np.random.default_rng(0)
    for U, V in random_comparators(rng, run, model):
        assert romco_theorem3(run, U, V).holds


@pytest.mark.skipif("WEFT_DATA" not in os.environ, reason="needs real data")
@pytest.mark.parametrize("parameters", [{}, {"lam1": 0.05, "lam2": 0.02, "eta1": 0.5, "eta2": 0.2}, {"rho0": 1e-3}])
def test_theorem_3_on_mails(parameters):
    with np.load(Path(os.environ["WEFT_DATA"]) / "pu_spam.npz", allow_pickle=False) as data:
        X = sparse.csr_array((data["data"].astype(float), data["indices"], data["indptr"]), shape=tuple(data["shape"]))
        y, task = data["y"], data["task"]
    at = np.random.default_rng(1).permutation(len(y))[:600]
    X = sparse.csr_array(X[at][:, :400])
    X = sparse.csr_array(sparse.diags_array(1.0 / np.sqrt(1.0 + X.multiply(X).sum(axis=1))) @ X)
    stream = weft.Stream(X, y[at], task[at])
    model = weft.Model("romco-nucl", **parameters)
    run = record_romco(model, stream)
    assert run.moved.sum() > 100
    rng = np.random.default_rng(2)
    slack = [romco_theorem3(run, U, V) for U, V in random_comparators(rng, run, model)]
    assert all(bound.holds for bound in slack)
    assert min(bound.right / bound.left for bound in slack) < 3.0  # the bound is not vacuous


def test_the_record_is_what_happened():
    found = events("some", rounds=30)
    model = weft.Model("romco-nucl", lam1=0.2, lam2=0.3, tasks=5, features=9)
    run = record_romco(model, found.stream)
    twin = weft.Model("romco-nucl", lam1=0.2, lam2=0.3, tasks=5, features=9)
    bounds = found.stream.rounds
    for t, (lo, hi) in enumerate(pairwise(bounds)):
        low, personal = twin.learner.parts(twin.state, 5, 9)
        penalty = 0.2 * np.linalg.norm(low, "nuc") + 0.3 * np.linalg.norm(personal, axis=1).sum()
        before = twin.weights()
        scores = twin.learn(found.stream.cut(t, t + 1))
        awake = ~np.isnan(found.y[lo:hi])
        active = awake & (found.y[lo:hi] * scores < 1.0)
        np.testing.assert_array_equal(run.moved[lo:hi], awake & active.any())
        np.testing.assert_allclose(run.penalty[lo:hi], penalty * awake, atol=1e-7)
        np.testing.assert_allclose(run.n2[lo:hi], np.square(found.X[lo:hi]).sum(axis=1) * active)
        np.testing.assert_allclose(
            run.loss[lo:hi], np.where(awake, np.maximum(0, 1 - np.nan_to_num(found.y[lo:hi]) * scores), 0)
        )
        assert active.any() or np.array_equal(before, twin.weights())


def test_what_theorem_3_is_not_about():
    stream = events("single", rounds=5).stream
    with pytest.raises(ValueError, match="romco-logd has no such bound"):
        record_romco(weft.Model("romco-logd"), stream)
    with pytest.raises(ValueError, match="constant steps"):
        record_romco(weft.Model("romco-nucl", schedule="sqrt"), stream)
    used = weft.Model("romco-nucl")
    used.learn(stream)
    with pytest.raises(ValueError, match="new model"):
        record_romco(used, stream)
    run = record_romco(weft.Model("romco-nucl"), stream)
    with pytest.raises(ValueError, match=r"V has shape \(1, 1\)"):
        romco_theorem3(run, np.zeros((run.tasks, run.X.shape[1])), [[0.0]])


# --- COML and CW-COL -------------------------------------------------------------------------------------------------


@FEW
@given(streams, st.floats(0.01, 10.0), st.floats(0.1, 10.0))
def test_without_a_pull_coml_is_passive_aggressive(found, C, e1):
    """e2 = 0: the scores of `pa` with C/e1."""
    coml, pa = weft.Model("coml", C=C * e1, e1=e1, e2=0.0), weft.Model("pa", C=C)
    np.testing.assert_allclose(coml.learn(found.stream), pa.learn(found.stream), rtol=1e-10, atol=1e-12)
    np.testing.assert_allclose(coml.weights(), pa.weights(), rtol=1e-10, atol=1e-12)


@FEW
@given(st.integers(0, 10**6), st.floats(0.05, 5.0))
def test_an_endless_pull_makes_the_personal_model_the_global_one(seed, C):
    """e2 and C tend to infinity: a personal step starts at w, and corrects its error as PA does."""
    found = events("single", rounds=60, seed=seed)
    huge, pooled = weft.Model("coml", C=C, e2=1e9), weft.Model("pa", C=C, pooled=True)
    for i in range(60):
        x, y, k = found.X[i], found.y[i], int(found.task[i])
        before = pooled.predict_one(x, k)
        score = huge.learn_one(x, y, k)
        pooled.learn_one(x, y, k)
        if y * score < 1.0 and x.any():
            assert huge.predict_one(x, k) == pytest.approx(before, abs=1e-6)
    np.testing.assert_allclose(huge.state.w[:9], pooled.weights()[0], atol=1e-12)


@FEW
@given(streams, st.floats(0.05, 20.0))
def test_without_the_global_model_cw_col_is_arow_per_task(found, r):
    model = weft.Model("cw-col", mix=1.0, r=r)
    scores = model.learn(found.stream)
    m, d = int(found.task.max()) + 1, found.X.shape[1]
    u, variance = np.zeros((m, d)), np.ones((m, d))
    for t in np.unique(found.rounds):
        at = np.flatnonzero(found.rounds == t)
        np.testing.assert_allclose(scores[at], (found.X[at] * u[found.task[at]]).sum(axis=1), atol=1e-9)
        for i in at[~np.isnan(found.y[at])]:
            k = found.task[i]
            if found.X[i].any():
                u[k], variance[k] = arow(u[k], variance[k], found.X[i], found.y[i], r)


# --- limits of the range ---------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", [*ROMCO, "coml", "cw-col"])
def test_one_task_one_feature_zero_rows_and_rounds_without_labels(name):
    model = weft.Model(name)
    nan = float("nan")
    quiet = weft.Stream([[1.0], [2.0]], [nan, nan], ["ann", "bob"], rounds=[0, 0])
    assert model.learn(quiet).tolist() == [0.0, 0.0]
    blank = model.to_bytes()
    assert model.learn(quiet).tolist() == [0.0, 0.0]
    assert model.to_bytes() == blank
    first = model.learn_one([0.0], 1, "ann")
    assert first == 0.0
    np.testing.assert_array_equal(model.weights(), 0.0)
    scores = [model.learn_one([1.0], 1, "ann") for _ in range(30)]
    assert scores[0] == 0.0
    assert all(a <= b + 1e-3 for a, b in pairwise(scores))
    assert scores[-1] > 0.9
    assert model.predict_one([1.0], "bob") == 0.0
    assert np.isfinite(model.weights()).all()


@FEW
@given(st.integers(0, 10**6), st.floats(0.01, 1.0), st.floats(0.0, 0.5), st.floats(0.0, 0.5))
def test_one_task_has_one_singular_value(seed, eta, lam1, lam2):
    """K = 1: both proximal steps shorten one vector, by eta lam1 and by eta lam2."""
    found = events("all", rounds=40, m=1, seed=seed)
    model = weft.Model("romco-nucl", eta1=eta, eta2=eta, lam1=lam1, lam2=lam2)
    u, v = np.zeros(9), np.zeros(9)
    scores = []
    for x, y in zip(found.X, found.y, strict=True):
        scores.append((u + v) @ x)
        if y * scores[-1] < 1.0:
            u, v = (shortened(w + eta * y * x, eta * lam) for w, lam in ((u, lam1), (v, lam2)))
    np.testing.assert_allclose(model.learn(found.stream), scores, atol=1e-9)


def shortened(v, tau):
    n = np.linalg.norm(v)
    return (1.0 - tau / n) * v if n > tau else np.zeros_like(v)
