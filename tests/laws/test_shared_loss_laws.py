"""Reductions and theorems of Dekel, Long and Singer (2007), through the public API."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from oracles import shared_loss as oracle
from weft.guarantees import shared_loss as bounds

ALGORITHMS = ("finite-horizon", "infinite-horizon", "implicit")
LOSSES = ("hinge", "epsilon-insensitive", "uniclass")
seeds = st.integers(0, 2**32 - 1)
algorithms, losses, norms = (
    st.sampled_from(ALGORITHMS),
    st.sampled_from(LOSSES),
    st.sampled_from(oracle.NORMS),
)
# These have more than one maximiser, or a unit vector of norm other than 1.
wide = st.sampled_from((*oracle.NORMS, "k(2,inf,1.3)", "k(inf,1,0.4)", "k(3,1.5,0.7)", "k(1,inf,0.6)", "l20"))
rates = st.sampled_from([0.01, 0.1, 0.5, 3.0])
law = settings(deadline=None, max_examples=60)


def learn(algorithm, X, y, task, rounds, **parameters):
    model = weft.Model(algorithm, **parameters)
    trace = np.zeros((len(task), 4))
    scores = model.learn(weft.Stream(X, y, task, rounds=rounds), trace=trace)
    return model, scores, trace


# ------------------------------------------------------------------------------------------------ reductions


@law
@given(algorithms, losses, seeds, rates)
def test_one_max_is_linf_and_k_max_is_l1(algorithm, loss, seed, C):
    X, y, task, rounds, _ = oracle.problem(seed, rounds=10, loss=loss)
    for one, other in (("1-max", "linf"), ("4-max", "l1"), ("9-max", "l1")):
        for parameters in ({"C": C}, {}):
            first = learn(algorithm, X, y, task, rounds, norm=one, loss=loss, **parameters)
            second = learn(algorithm, X, y, task, rounds, norm=other, loss=loss, **parameters)
            np.testing.assert_array_equal(first[1], second[1])
            np.testing.assert_array_equal(first[0].weights(), second[0].weights())


@law
@given(norms, st.sampled_from(LOSSES[:2]), seeds, rates)
def test_with_one_task_the_implicit_update_is_pa_i(norm, loss, seed, C):
    X, y, task, rounds, _ = oracle.problem(seed, tasks=1, rounds=12, loss=loss)
    model, scores, _ = learn("implicit", X, y, task, rounds, norm=norm, C=C, loss=loss)
    single = weft.Model("pa", variant="pa-i", C=C, loss=loss)
    np.testing.assert_allclose(scores, single.learn(weft.Stream(X, y, task, rounds=rounds)), rtol=0, atol=1e-9)
    np.testing.assert_allclose(model.weights(), single.weights(), rtol=0, atol=1e-9)


@law
@given(algorithms, st.sampled_from(oracle.NORMS), seeds)
def test_one_row_per_round_is_the_single_task_learner(algorithm, norm, seed):
    X, y, task, _, _ = oracle.problem(seed, rounds=6, marked=0.0)
    keep = y != 0
    X, y, task = X[keep], y[keep], [name for name, on in zip(task, keep, strict=True) if on]
    scores = learn(algorithm, X, y, task, None, norm=norm, C=0.3)[1]
    alone = np.zeros(len(y))
    for name in set(task):
        rows = np.array([other == name for other in task])
        alone[rows] = learn(algorithm, X[rows], y[rows], [name] * rows.sum(), None, norm="l1", C=0.3)[1]
    np.testing.assert_allclose(scores, alone, rtol=0, atol=1e-9)


@law
@given(seeds, rates)
def test_finite_horizon_l1_is_the_aggressive_perceptron(seed, C):
    X, y, task, rounds, _ = oracle.problem(seed, rounds=15)
    model, scores, _ = learn("finite-horizon", X, y, task, rounds, norm="l1", C=C)
    w = {name: np.zeros(3) for name in task}
    for i, name in enumerate(task):
        assert scores[i] == pytest.approx(w[name] @ X[i], abs=1e-9)
        if 1 - y[i] * (w[name] @ X[i]) > 0:
            w[name] = w[name] + C * y[i] * X[i]
    np.testing.assert_allclose(model.weights(), [w[name] for name in model.tasks], rtol=0, atol=1e-9)


@law
@given(algorithms, norms, st.sampled_from(LOSSES[:2]), seeds)
def test_the_linear_kernel_is_the_primal_form(algorithm, norm, loss, seed):
    X, y, task, rounds, _ = oracle.problem(seed, rounds=8, loss=loss)
    for parameters in ({"C": 0.2}, {}):
        _, primal, trace = learn(algorithm, X, y, task, rounds, norm=norm, loss=loss, **parameters)
        _, dual, again = learn(algorithm, X, y, task, rounds, norm=norm, loss=loss, kernel="linear", **parameters)
        size = max(1.0, np.abs(primal).max())
        np.testing.assert_allclose(dual, primal, rtol=0, atol=1e-9 * size)
        np.testing.assert_allclose(again[:, [0, 2, 3]], trace[:, [0, 2, 3]], rtol=0, atol=1e-9 * size)


@law
@given(algorithms, norms, st.sampled_from(LOSSES[:2]), seeds)
def test_dormancy_is_the_deletion_of_a_coordinate(algorithm, norm, loss, seed):
    X, y, task, rounds, _ = oracle.problem(seed, rounds=10, loss=loss, marked=0.3)
    awake = ~(np.isnan(y) | ((y == 0) & (loss == "hinge")))
    task = np.array(task)
    for parameters in ({"C": 0.2}, {}):
        model, scores, _ = learn(algorithm, X, y, list(task), rounds, norm=norm, loss=loss, **parameters)
        fewer, again, _ = learn(
            algorithm,
            X[awake],
            y[awake],
            list(task[awake]),
            rounds[awake],
            norm=norm,
            loss=loss,
            **parameters,
        )
        np.testing.assert_array_equal(scores[awake], again)
        np.testing.assert_array_equal(model.weights(), fewer.weights())


@law
@given(algorithms, norms, seeds)
def test_a_tasks_own_features_may_differ(algorithm, norm, seed):
    # Each task has its own instance space: moving a task's columns elsewhere changes nothing.
    X, y, task, rounds, _ = oracle.problem(seed, rounds=8)
    wide = np.zeros((len(X), 12))
    for i, name in enumerate(task):
        wide[i, 3 * int(name[5:]) : 3 * int(name[5:]) + 3] = X[i]
    narrow_scores = learn(algorithm, X, y, task, rounds, norm=norm, C=0.2)[1]
    np.testing.assert_allclose(
        learn(algorithm, wide, y, task, rounds, norm=norm, C=0.2)[1], narrow_scores, rtol=0, atol=1e-9
    )


# ------------------------------------------------------------------------------------------------- invariants


@law
@given(algorithms, wide, losses, seeds, rates)
def test_steps_are_bounded_non_negative_and_conservative(algorithm, norm, loss, seed, C):
    X, y, task, rounds, _ = oracle.problem(seed, rounds=12, loss=loss)
    _, _, trace = learn(algorithm, X, y, task, rounds, norm=norm, C=C, loss=loss)
    l, tau, n2, used = trace.T
    assert np.all(tau >= 0)
    assert np.all(tau[l == 0] == 0)
    assert np.all((used == C) | (used == 0))
    edges = oracle.bounds_of_rounds(len(task), rounds)
    for a, b in pairwise(edges):
        size = oracle.norm_dual(norm, tau[a:b])
        g, k = oracle.norm_value(norm, l[a:b]), int((used[a:b] > 0).sum())
        assert size <= C * (1 + 1e-9)
        if algorithm == "finite-horizon":  # Eq. 10
            assert tau[a:b] @ l[a:b] == pytest.approx(C * g if k else 0.0, rel=1e-6, abs=1e-12)
        if algorithm == "infinite-horizon" and n2[a:b].max() > 0:  # Eq. 17
            limit = min(C, g / (n2[a:b].max() * oracle.remoteness(norm, k) ** 2))
            assert tau[a:b] @ l[a:b] == pytest.approx(limit * g, rel=1e-6, abs=1e-12)


@law
@given(wide, losses, seeds, rates)
def test_an_implicit_update_raises_no_loss_of_its_round(norm, loss, seed, C):
    X, y, task, rounds, _ = oracle.problem(seed, rounds=8, loss=loss)
    model = weft.Model("implicit", norm=norm, C=C, loss=loss, epsilon=0.1)
    for t in np.unique(rounds):
        rows = rounds == t
        names = [name for name, on in zip(task, rows, strict=True) if on]
        labels = None if y is None else y[rows]
        before = loss_of(loss, model.learn(weft.Stream(X[rows], labels, names, rounds=rounds[rows])), labels)
        after = loss_of(loss, model.score(X[rows], names), labels)
        assert np.all(after <= before + 1e-9)


def loss_of(loss, scores, y):
    if loss == "uniclass":
        return np.maximum(0, scores - 0.1)
    if loss == "hinge":
        return np.where(y == 0, 0, np.maximum(0, 1 - y * scores))
    return np.where(np.isnan(y), 0, np.maximum(0, np.abs(y - scores) - 0.1))


@law
@given(algorithms, norms, seeds)
def test_a_round_without_loss_changes_nothing(algorithm, norm, seed):
    X, y, task, rounds, _ = oracle.problem(seed, rounds=6, zero=0.0)
    model = learn(algorithm, X, y, task, rounds, norm=norm, C=0.3)[0]
    names = list(model.tasks)
    rows = np.random.default_rng(seed).normal(size=(len(names), 3))
    s = model.score(rows, names)
    if np.abs(s).min() == 0:
        return
    before = model.weights()
    model.learn(weft.Stream(2 * rows / np.abs(s)[:, None], np.sign(s), names, rounds=np.zeros(len(names), int)))
    np.testing.assert_array_equal(model.weights(), before)


# --------------------------------------------------------------------------------------------------- theorems


def adversarial(algorithm, seed, rounds=16, tasks=3, **parameters):
    """Labels opposite to the current score, on few directions that repeat."""
    rng = np.random.default_rng(seed)
    pool = rng.normal(size=(4, 3)) * 10 ** rng.uniform(-0.5, 0.5, size=(4, 1))
    names = [f"task {j}" for j in range(tasks)]
    model = weft.Model(algorithm, **parameters)
    X, y = [], []
    for t in range(rounds):
        rows = pool[rng.integers(4, size=tasks)]
        labels = np.where((model.score(rows, names) if t else np.zeros(tasks)) >= 0, -1.0, 1.0)
        model.learn(weft.Stream(rows, labels, names, rounds=[t] * tasks))
        X.append(rows)
        y.append(labels)
    return np.concatenate(X), np.concatenate(y), names * rounds, np.repeat(np.arange(rounds), tasks)


def comparators(X, y, task, loss, U):
    """Zero, the generating vectors, and the best in hindsight: least squares, or the mean point."""
    names = list(dict.fromkeys(task))
    yield np.zeros((len(names), X.shape[1]))
    yield U
    best = []
    for name in names:
        rows = np.array([other == name for other in task])
        if y is None:
            best.append(X[rows].mean(axis=0))
        else:
            rows &= ~np.isnan(y)
            best.append(np.linalg.lstsq(X[rows], y[rows], rcond=None)[0])
    yield np.array(best)


THEOREMS = {
    "finite-horizon": (bounds.lemma1, bounds.theorem4),
    "infinite-horizon": (bounds.lemma1, bounds.theorem6),
    "implicit": (bounds.lemma1, bounds.theorem4, bounds.theorem6, bounds.theorem9),
}


@settings(deadline=None, max_examples=120)
@given(algorithms, wide, losses, seeds, st.sampled_from([None, 0.01, 0.2, 2.0]))
def test_the_theorems_hold_on_random_streams(algorithm, norm, loss, seed, C):
    X, y, task, rounds, U = oracle.problem(seed, rounds=15, loss=loss)
    stream = weft.Stream(X, y, task, rounds=rounds)
    run = bounds.record(weft.Model(algorithm, norm=norm, C=C, loss=loss), stream)
    for comparator in comparators(X, y, task, loss, U):
        for theorem in THEOREMS[algorithm]:
            assert theorem(run, comparator).holds, theorem.__name__


@law
@given(algorithms, wide, seeds, st.sampled_from([0.05, 0.5, 2.0]))
def test_the_theorems_hold_on_adversarial_streams(algorithm, norm, seed, C):
    X, y, task, rounds = adversarial(algorithm, seed, norm=norm, C=C)
    run = bounds.record(weft.Model(algorithm, norm=norm, C=C), weft.Stream(X, y, task, rounds=rounds))
    U = np.random.default_rng(seed).normal(size=(3, 3))
    for comparator in comparators(X, y, task, "hinge", U):
        for theorem in THEOREMS[algorithm]:
            assert theorem(run, comparator).holds, theorem.__name__


@law
@given(st.sampled_from(["finite-horizon", "implicit"]), wide, losses, seeds, st.booleans())
def test_corollary_5(algorithm, norm, loss, seed, adversary):
    R = 1.0 if loss == "uniclass" else 12.0
    parameters = {"norm": norm, "T": 16, "R": R, "loss": loss}
    if adversary and loss == "hinge":
        X, y, task, rounds = adversarial(algorithm, seed, **parameters)
        U = np.random.default_rng(seed).normal(size=(3, 3))
    else:
        X, y, task, rounds, U = oracle.problem(seed, rounds=16, loss=loss)
        X = X if loss == "uniclass" else X * min(1.0, 11.9 / np.sqrt((X**2).sum(axis=1).max()))
    run = bounds.record(weft.Model(algorithm, **parameters), weft.Stream(X, y, task, rounds=rounds))
    for comparator in comparators(X, y, task, loss, U):
        assert bounds.corollary5(run, comparator).holds


@law
@given(st.sampled_from(["infinite-horizon", "implicit"]), wide, losses, seeds)
def test_corollary_7_for_every_prefix(algorithm, norm, loss, seed):
    R = 1.0 if loss == "uniclass" else 12.0
    X, y, task, rounds, U = oracle.problem(seed, rounds=16, loss=loss, marked=0.0)
    X = X if loss == "uniclass" else X * min(1.0, 11.9 / np.sqrt((X**2).sum(axis=1).max()))
    if loss == "hinge":
        y[y == 0] = 1.0
    run = bounds.record(weft.Model(algorithm, norm=norm, R=R, loss=loss), weft.Stream(X, y, task, rounds=rounds))
    for comparator in comparators(X, y, task, loss, U):
        bound = bounds.corollary7(run, comparator)
        assert len(bound.left) == 16
        assert bound.holds


def test_theorem_4_is_tight_and_false_as_printed():
    # One constant row of length R, alternating labels, the L_1 norm, and the comparator zero.
    k, T, R, C = 3, 10, 2.0, 0.25
    X, y = np.tile([R, 0.0], (k * T, 1)), np.repeat([1.0, -1.0] * (T // 2), k)
    stream = weft.Stream(X, y, list(range(k)) * T, rounds=np.repeat(np.arange(T), k))
    run = bounds.record(weft.Model("finite-horizon", norm="l1", C=C), stream)
    bound = bounds.theorem4(run, np.zeros((k, 2)))
    assert bound.left == bound.right == k * T + T * R**2 * C * k / 2
    # Theorem 4 prints the remoteness of the norm, 1 for L_1, where the proof has that of the dual, sqrt(k).
    printed = bound.right - T * R**2 * C * (k - 1) / 2
    assert bound.left > printed


@pytest.mark.parametrize("k", [2, 3, 5])
def test_independent_perceptrons_have_regret_in_the_largest_loss(k):
    """Section 3: no multiple below (k+1)/2 of the comparator's loss is enough for the L_1 algorithm."""
    C, T = 2.0**-4, 2**8  # C = 1/sqrt(T), R = 1; a power of two, so that rounding causes no loss
    first, second = np.array([1.0, 0.0]), np.array([0.0, 1.0])
    rows = [first] * (k * 16)
    cycles = (T - 16) // (k + 1)
    for _ in range(cycles):
        for j in range(k):
            rows += [second if i == j else first for i in range(k)]
        rows += [-second] * k
    X = np.array(rows)
    rounds = np.repeat(np.arange(len(X) // k), k)
    stream = weft.Stream(X, np.ones(len(X)), list(range(k)) * (len(X) // k), rounds=rounds)
    comparator = np.ones((k, 2))

    def largest(run):
        return run.loss.reshape(-1, k).max(axis=1).sum()

    best = 2.0 * cycles
    alone = largest(bounds.record(weft.Model("finite-horizon", norm="l1", C=C), stream))
    assert alone >= (k + 1) / 2 * best
    for algorithm in ("finite-horizon", "implicit"):
        run = bounds.record(weft.Model(algorithm, norm="linf", T=T, R=1.0), stream)
        bound = bounds.corollary5(run, comparator)
        assert bound.right == pytest.approx(best + 8 * (2 * k + 1), rel=1e-12)
        assert bound.holds
        assert largest(run) == pytest.approx(bound.left, rel=1e-12)
        assert largest(run) < alone
