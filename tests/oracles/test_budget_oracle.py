"""The oracles of the budgeted multitask classifiers against what the paper says that they do."""

import math

import numpy as np
import pytest

from oracles.budget import Item, Mtbprj, Mtbprj2, Mtforg, MtPerceptron, Mtrbp, oldest_least
from oracles.multitask_kernel import Base, edges_of

N, D = 4, 3
GAUSSIAN, POLY, LINEAR = Base("gaussian", gamma=0.2), Base("poly"), Base("linear", normalize=False)
BASES = {"gaussian": GAUSSIAN, "poly": POLY, "linear": LINEAR}
GRAPHS = {"complete": "complete", "none": "none", "cliques": [[0, 2], [1, 3]], "path": [(0, 1), (1, 2), (2, 3)]}
SPD = np.eye(N) + np.cov(np.random.default_rng(5).normal(size=(N, 9)))
LEARNERS = {
    "mt-perceptron": MtPerceptron,
    "mtbprj": lambda *given: Mtbprj(*given, B=6),
    "mtbprj-2": lambda *given: Mtbprj2(*given, B=6),
    "mtrbp": lambda *given: Mtrbp(*given, B=6, seed=3),
    "mtforg": lambda *given: Mtforg(*given, B=6),
}
ROOMY = {
    "mtbprj": lambda *given: Mtbprj(*given, B=120, eta=0.0),
    "mtbprj-2": lambda *given: Mtbprj2(*given, B=120, eta=0.0),
    "mtrbp": lambda *given: Mtrbp(*given, B=120),
    "mtforg": lambda *given: Mtforg(*given, B=120),
}

all_graphs = pytest.mark.parametrize("graph", GRAPHS)
all_bases = pytest.mark.parametrize("base", BASES)


def stream(seed, T=250, d=D, noise=0.25):
    """Rows of noisy teachers that are somewhat alike; tasks count from 0 in the order of their first row."""
    rng = np.random.default_rng(seed)
    task = np.concatenate([np.arange(N), rng.integers(N, size=T - N)])
    X, U = rng.normal(size=(T, d)), rng.normal(size=d) + 0.6 * rng.normal(size=(N, d))
    s = np.sum(U[task] * X, axis=1) + X[:, 0] * X[:, -1]
    return X, np.where((s >= 0) ^ (rng.random(T) < noise), 1.0, -1.0), task


def parts(learner):
    """Items by arrival with the coefficient of K(s,.), or of every task's K'(s,.)."""
    return {s.arrival: (s, c) for s, c in zip(learner.S, learner.coefficients, strict=True)}


def change(before, after, t, weight):
    """Items and coefficients of f_after - (f_before + weight K(t,.))."""
    before = {**before, t.arrival: (t, weight)}
    items = [before[a][0] for a in before]
    zero = np.zeros_like(np.asarray(weight, float))
    return items, np.array([after.get(a, (None, zero))[1] - before[a][1] for a in before])


def watch_evictions(learner, X, y, task, weight_of, norm):
    """Learn, and hold every eviction to its damage, to the norm of the change, and to the least possible change."""
    for x, label, i in zip(X, y, task, strict=True):
        before, count = parts(learner), len(learner.evictions)
        t = Item(int(i), x, float(label), learner.clock)
        learner.learn_one(x, label, i)
        if len(learner.evictions) == count:
            continue
        assert len(learner.S) == learner.B
        eviction = learner.evictions[-1]
        assert eviction.time == t.arrival
        assert eviction.arrival in before
        items, c = change(before, parts(learner), t, weight_of(t))
        assert norm(items, c) == pytest.approx(eviction.damage, rel=1e-6, abs=1e-12)
        # The squared distance to the span of the others is 1 / (G^-1)_jj.
        sizes = np.array([np.linalg.norm(before[s.arrival][1]) for s in items[:-1]])
        inverse = np.linalg.inv(learner.projection_gram(items))
        assert eviction.damage == pytest.approx(np.min(sizes / np.sqrt(inverse.diagonal()[:-1])), rel=1e-6)


# ---------------------------------------------------------------------------------------------------- projections


@all_graphs
@all_bases
def test_mtbprj_loses_just_the_part_outside_the_span(base, graph):
    learner = Mtbprj(BASES[base], GRAPHS[graph], N, B=6, eta=0.02)

    def norm(items, c):
        return math.sqrt(max(0.0, c @ learner.gram(items, items) @ c))

    watch_evictions(learner, *stream(1), lambda t: t.label, norm)
    assert len(learner.evictions) > 20


@all_graphs
@all_bases
def test_mtbprj2_loses_just_the_part_outside_the_span(base, graph):
    learner = Mtbprj2(BASES[base], GRAPHS[graph], N, B=2 if base == "linear" else 6, eta=0.02)

    def norm(items, c):
        G = learner.base_gram(items, items)
        return math.sqrt(max(0.0, sum(f @ G @ f for f in c.T)))  # over the tasks' functions

    watch_evictions(learner, *stream(1), lambda t: t.label * learner.relations.inverse[:, t.task], norm)
    assert len(learner.evictions) > 20


@all_graphs
@pytest.mark.parametrize("learner", [Mtbprj, Mtbprj2])
def test_without_a_budget_and_a_threshold_it_is_the_perceptron(learner, graph):
    """With a linear kernel, of which the span is soon full: instances are absorbed, and nothing is lost."""
    X, y, task = stream(2)
    for base in (LINEAR, Base("linear")):
        free = MtPerceptron(base, GRAPHS[graph], N)
        held = learner(base, GRAPHS[graph], N, B=math.inf, eta=0.0)
        np.testing.assert_allclose(held.learn(X, y, task), free.learn(X, y, task), rtol=0, atol=1e-9)
        assert len(held.S) <= (D if learner is Mtbprj2 else N * D) < len(free.S)
        assert not held.evictions


def test_a_distance_below_the_threshold_is_absorbed():
    """delta^2 = 1 - k^2 with one kept instance; on the complete graph of two tasks K(t,t) = 2/3."""
    base, x, z = Base("gaussian", gamma=1.0), np.array([0.0]), np.array([0.1])
    k = math.exp(-0.01)
    delta = math.sqrt(2 / 3 * (1 - k * k))
    for eta, kept in ((delta + 1e-9, 1), (delta - 1e-9, 2)):
        learner = Mtbprj(base, "complete", 2, B=5, eta=eta)
        learner.learn_one(x, 1.0, 0)
        learner.learn_one(z, -1.0, 0)
        assert len(learner.S) == kept
        assert learner.b[0] == pytest.approx(1 - k if kept == 1 else 1)
    other = Mtbprj(base, "complete", 2, B=5, eta=delta + 1e-9)  # the same instance of another task is farther away
    other.learn_one(x, 1.0, 0)
    other.learn_one(z, -1.0, 1)
    assert len(other.S) == 2
    blind = Mtbprj2(base, "complete", 2, B=5, eta=math.sqrt(1 - k * k) + 1e-9)  # and this one ignores the tasks
    blind.learn_one(x, 1.0, 0)
    blind.learn_one(z, -1.0, 1)
    assert len(blind.S) == 1
    np.testing.assert_allclose(blind.beta[:, 0], [2 / 3 - k / 3, 1 / 3 - 2 * k / 3], rtol=0, atol=1e-12)


def test_the_oldest_of_equals_leaves():
    assert oldest_least(np.array([2.0, 1.0 + 5e-10, 1.0])) == 1
    assert oldest_least(np.array([2.0, 1.0 + 5e-9, 1.0])) == 2
    learner = Mtbprj(GAUSSIAN, "none", 5, B=4)
    for i in range(4):  # alone in their tasks: all distances are 1
        learner.learn_one(np.array([float(i), 1.0]), 1.0, i)
    learner.learn_one(np.array([9.0, 9.0]), -1.0, 4)
    assert [s.arrival for s in learner.S] == [1, 2, 3, 4]
    assert learner.evictions == [(4, 0, 1.0)]


# -------------------------------------------------------------------------------------------------- other reductions


@all_bases
def test_no_edges_are_independent_perceptrons(base):
    X, y, task = stream(3)
    scores = MtPerceptron(BASES[base], "none", N).learn(X, y, task)
    for i in range(N):
        mine = task == i
        alone = MtPerceptron(BASES[base], "complete", 1).learn(X[mine], y[mine], np.zeros(mine.sum(), int))
        np.testing.assert_allclose(scores[mine], alone, rtol=0, atol=1e-12)
    if base == "linear":
        W = np.zeros((N, D))
        for r, i in enumerate(task):
            assert W[i] @ X[r] == pytest.approx(scores[r], abs=1e-12)
            W[i] += y[r] * X[r] * (y[r] * scores[r] <= 0)


@pytest.mark.parametrize("graph", ["complete", "cliques", "path", "matrix"])
def test_a_linear_kernel_moves_every_tasks_weights(graph):
    """w_j += y (A^-1)_ij x for all j."""
    X, y, task = stream(4)
    learner = MtPerceptron(LINEAR, SPD if graph == "matrix" else GRAPHS[graph], N)
    scores, inverse, W = learner.learn(X, y, task), learner.relations.inverse, np.zeros((N, D))
    for r, i in enumerate(task):
        assert W[i] @ X[r] == pytest.approx(scores[r], abs=1e-12)
        if y[r] * (W[i] @ X[r]) <= 0:
            W += y[r] * np.outer(inverse[:, i], X[r])


@all_graphs
@pytest.mark.parametrize("name", ["mt-perceptron", "mtbprj", "mtrbp", "mtforg"])
def test_the_norm_of_a_function(name, graph):
    """|f|^2 = b'Gb = sum |f_i|^2 + sum over edges |f_i - f_j|^2."""
    learner = LEARNERS[name](GAUSSIAN, GRAPHS[graph], N)
    learner.learn(*stream(5))
    F = learner.relations.inverse[:, [s.task for s in learner.S]] * learner.b  # of each task's K'(s,.)
    G = learner.base_gram(learner.S, learner.S)
    expected = sum(f @ G @ f for f in F)
    expected += sum((F[i] - F[j]) @ G @ (F[i] - F[j]) for i, j in edges_of(GRAPHS[graph], N))
    assert learner.b @ learner.gram(learner.S, learner.S) @ learner.b == pytest.approx(expected, rel=1e-10)


@pytest.mark.parametrize("name", ROOMY)
def test_a_large_budget_is_the_perceptron(name):
    X, y, task = stream(6, T=120)
    learner = ROOMY[name](POLY, "complete", N)
    expected = MtPerceptron(POLY, "complete", N).learn(X, y, task)
    np.testing.assert_allclose(learner.learn(X, y, task), expected, rtol=0, atol=1e-8)


# -------------------------------------------------------------------------------------------- random and forgetful


def test_mtrbp_draws_uniform_places():
    X, y, task = stream(7)
    learner, rng = Mtrbp(GAUSSIAN, "complete", N, B=5, seed=11), np.random.default_rng(11)
    scores = learner.learn(X, y, task)
    places = []
    for r in np.flatnonzero(y * scores <= 0).tolist():
        if len(places) < 5:
            places.append(r)
        else:
            places[int(rng.integers(5))] = r
    assert [s.arrival for s in learner.S] == places
    assert [item.arrival for item in learner.active] == sorted(places)
    assert all(item.coefficient == y[item.arrival] for item in learner.active)


@pytest.mark.parametrize("B", [1, 4, 30])
@pytest.mark.parametrize("graph", ["complete", "none", "cliques", "path", "matrix"])
def test_mtforg_shrinks_no_more_than_it_must(graph, B):
    """Q <= (15/32) c^2 M after every mistake, in units of c_G^2, and phi is the largest that keeps it."""
    X, y, task = stream(8, T=300)
    R = 1.0 if B < 30 else float(np.linalg.norm(X, axis=1).max())
    base = GAUSSIAN if B < 30 else LINEAR
    learner = Mtforg(base, SPD if graph == "matrix" else GRAPHS[graph], N, B=B, R=R)
    M = 0
    for x, label, i in zip(X, y, task, strict=True):
        M += label * learner.learn_one(x, label, i) <= 0
        assert M == learner.M
        assert learner.Q <= 15 / 32 * R**2 * M * (1 + 1e-12)
        assert len(learner.S) <= B
        assert np.all(np.abs(learner.b) <= 1)
        assert all(b * s.label > 0 for b, s in zip(learner.b, learner.S, strict=True))
    grid = np.linspace(0.0, 1.0, 5001)[1:]
    for sigma, m, Q, count, phi in learner.shrinks:
        assert 0 < sigma <= 1
        limit = 15 / 32 * R**2 * count
        assert learner.psi(sigma * phi, phi * m) + Q <= limit * (1 + 1e-12)
        allowed = grid[learner.psi(sigma * grid, grid * m) + Q <= limit * (1 + 1e-12)]
        assert 0 < phi <= 1
        assert allowed.max(initial=0.0) == pytest.approx(phi, abs=2.1e-4)
    phis = np.array([shrink.phi for shrink in learner.shrinks])
    assert B == 1 or (phis == 1).any()
    assert B == 30 or (phis < 0.999).any()


def test_mtforg_forgets_the_oldest():
    X, y, task = stream(9)
    learner = Mtforg(GAUSSIAN, "complete", N, B=7)
    wrong = np.flatnonzero(y * learner.learn(X, y, task) <= 0)
    assert [s.arrival for s in learner.S] == wrong[-7:].tolist()
    assert [e.arrival for e in learner.evictions] == wrong[:-7].tolist()
    assert [e.time for e in learner.evictions] == wrong[7:].tolist()


# --------------------------------------------------------------------------------------------------- the protocol


@pytest.mark.parametrize("name", ["mt-perceptron", "mtbprj", "mtrbp", "mtforg"])
def test_growing_tasks_only_scale_the_scores(name):
    """(A^-1)_ij of the complete graph is (1 + [i=j])/(N+1): the order of all things stays, if eta is 0."""
    X, y, task = stream(10)
    task = np.minimum(task, np.arange(len(task)) // 50)  # one task more every 50 rows
    make = LEARNERS[name] if name != "mtbprj" else lambda *given: Mtbprj(*given, B=6, eta=0.0)
    grown, fixed = make(GAUSSIAN, "complete"), make(GAUSSIAN, "complete", N)
    known = np.maximum.accumulate(task) + 1
    expected = fixed.learn(X, y, task) * (N + 1) / (known + 1)
    np.testing.assert_allclose(grown.learn(X, y, task), expected, rtol=0, atol=1e-9)
    assert [e[:2] for e in grown.evictions] == [e[:2] for e in fixed.evictions]
    np.testing.assert_allclose(grown.b, fixed.b, rtol=0, atol=1e-9)


def test_growing_tasks_in_the_second_projectron():
    """beta = A^-1 C with the same C: the rows of all tasks shrink, the newcomer's is the mean of C / (N+1)."""
    X, y, task = stream(11)
    learner = Mtbprj2(GAUSSIAN, "complete", B=6)
    learner.learn(X, y, np.minimum(task, 1))
    before, total = learner.beta, learner.beta.sum(axis=0)
    newcomer = learner.score(X[0], 2)
    assert learner.relations.N == 2
    learner.meet(2)
    np.testing.assert_allclose(learner.beta, np.vstack([before * 3 / 4, total / 4]), rtol=0, atol=1e-12)
    assert learner.score(X[0], 2) == newcomer


@pytest.mark.parametrize("name", LEARNERS)
def test_rows_of_a_round_are_scored_together_and_learned_in_turn(name):
    x, z = np.array([1.0, 0.0]), np.array([0.9, 0.1])
    learner = LEARNERS[name](GAUSSIAN, "complete")
    assert learner.learn_round([x, z, z], [1.0, 1.0, math.nan], [0, 1, 2]) == [0.0, 0.0, 0.0]
    assert [(item.task, item.arrival) for item in learner.active] == [(0, 0)]  # z was no mistake any more
    assert learner.clock == 3
    assert learner.score(x, 0) == pytest.approx(2 / 4)  # three tasks are known, the dormant one too


@pytest.mark.parametrize("name", LEARNERS)
def test_an_instance_of_length_zero_changes_nothing(name):
    X, y, task = stream(12, T=80)
    with_zeros, without = (LEARNERS[name](Base("linear"), "complete", N) for _ in range(2))
    for r, i in enumerate(task):
        assert with_zeros.learn_one(np.zeros(D), -y[r], (i + 1) % N) == 0.0
        assert with_zeros.learn_one(X[r], y[r], i) == without.learn_one(X[r], y[r], i)
    assert with_zeros.M == without.M
    assert [item.arrival for item in with_zeros.active] == [2 * item.arrival + 1 for item in without.active]


@pytest.mark.parametrize("name", LEARNERS)
def test_scoring_changes_nothing(name):
    X, y, task = stream(13, T=80)
    learner = LEARNERS[name](POLY, "complete")
    learner.learn(X, y, task)
    before = [(item.arrival, np.array(item.coefficient)) for item in learner.active]
    for i in range(N + 1):
        assert learner.score(X[0], i) == learner.score(X[0], i)
    assert learner.relations.N == N
    for (arrival, coefficient), item in zip(before, learner.active, strict=True):
        assert arrival == item.arrival
        np.testing.assert_array_equal(coefficient, item.coefficient)
