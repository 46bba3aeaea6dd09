"""Theorems 1 and 2 on a budget: their algebra on records made by hand, what they refuse, and that they hold."""

import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy import sparse

from guarantees.budget_runs import comparators
from weft.evaluation import (
    BudgetRun,
    KernelComparator,
    budget_cost,
    largest_radius,
    mtforg_theorem2,
    mtrbp_sharper,
    mtrbp_theorem1,
    mtrbp_tight,
)
from weft.graphs.interaction import clique, cliques, laplacian
from weft.guarantees.task_kernel import gram, multitask_gram
from weft.maths.kernels import Kernel

pytestmark = pytest.mark.xdist_group("budget-bounds")

N, D = 4, 6
KERNELS = [
    {"name": "linear", "normalize": False},
    {"name": "poly", "degree": 2, "normalize": True},
    {"name": "gaussian", "gamma": 0.5},
]


def by_hand(name="mtrbp", B=100, X=None, y=None, task=None, erred=None, A=None, kernel=None, R=1.0):
    """A record of three rows, or of the given ones."""
    X = np.array([[1.0, 0.0], [0.0, 2.0], [0.6, 0.8]]) if X is None else X
    y = np.array([1.0, -1.0, 1.0]) if y is None else y
    n = len(y)
    return BudgetRun(
        learner=SimpleNamespace(name=name, B=B, R=R, budget=None),
        kernel=Kernel() if kernel is None else kernel,
        A=clique(2, 2.0) if A is None else A,
        X=X,
        y=y,
        task=np.arange(n) % 2 if task is None else task,
        scores=np.zeros(n),
        erred=np.ones(n, bool) if erred is None else erred,
        kept=np.minimum(np.arange(1.0, n + 1), B),
        evicted=(np.arange(n) >= B).astype(float),
        damage=np.where(np.arange(n) >= B, 0.5, 0.0),
    )


# --- what is measured ---


def test_a_record_by_hand():
    run = by_hand(B=2)
    assert run.mistake.tolist() == [True] * 3  # a score of 0 is a mistake
    assert run._replace(scores=np.array([1.0, 1.0, -1.0])).mistake.tolist() == [False, True, True]
    assert run._replace(y=np.array([1.0, np.nan, 1.0])).mistake.tolist() == [True, False, True]
    assert run.R == 2.0
    assert run.c == pytest.approx(2 * math.sqrt(2 / 3))
    shorter = run._replace(y=np.array([1.0, np.nan, 1.0]))
    assert shorter.c == pytest.approx(math.sqrt(2 / 3))  # the long row has no label
    cost = budget_cost(run)
    assert (cost.kept.tolist(), cost.evictions.tolist(), cost.damage.tolist()) == ([1, 2, 2], [0, 0, 1], [0, 0, 0.5])


@pytest.mark.parametrize("kernel", [Kernel(**parameters) for parameters in KERNELS], ids=lambda k: k.name)
def test_radius_and_losses_of_a_comparator(kernel):
    rng = np.random.default_rng(0)
    graphs = (clique(N, 4.0), clique(N, 0.0), cliques([0, 1, 0, 0]), laplacian(np.ones((N, N)) - np.eye(N)))
    for A, m in zip(graphs, (3, 6, 7, 2), strict=True):  # fewer rows than tasks, and more
        X, Z, C = rng.normal(size=(9, D)), rng.normal(size=(m, D)), rng.normal(size=(N, m))
        y, task = rng.choice([-1.0, 1.0, np.nan], 9), rng.integers(0, N, 9)
        run = by_hand(X=sparse.csr_array(X), y=y, task=task, A=A, kernel=kernel)
        g = KernelComparator(C, Z)
        K = gram(kernel, Z)
        size = sum(A.dense(1.0)[i, j] * (C[i] @ K @ C[j]) for i in range(N) for j in range(N))
        assert g.radius(run) == pytest.approx(math.sqrt(size), rel=1e-10)
        s = np.array([C[i] @ gram(kernel, Z, x[None])[:, 0] for x, i in zip(X, task, strict=True)])
        np.testing.assert_allclose(g.scores(run), s, rtol=1e-10, atol=1e-12)
        np.testing.assert_allclose(g.losses(run), np.where(np.isnan(y), 0, np.maximum(0, 1 - y * s)), atol=1e-12)
        assert g.scaled_to(run, 0.3).radius(run) == pytest.approx(0.3, rel=1e-10)
        np.testing.assert_allclose(g.scaled_to(run, 0.3).scores(run) / s, 0.3 / math.sqrt(size), rtol=1e-9)
        other = KernelComparator(rng.normal(size=(N, 2)), sparse.csr_array(Z[:2]))
        np.testing.assert_allclose(g.minus(other).scores(run), s - other.scores(run), atol=1e-12)
        assert g.minus(g).radius(run) <= 1e-6 * math.sqrt(size)


@pytest.mark.parametrize("normalize", [False, True])
def test_weights_are_a_comparator_of_the_linear_kernel(normalize):
    rng = np.random.default_rng(1)
    X, W = rng.normal(size=(9, D)), rng.normal(size=(N, D))
    X[2] = 0.0
    run = by_hand(X=X, y=np.ones(9), task=rng.integers(0, N, 9), A=clique(N, 4.0), kernel=Kernel(normalize=normalize))
    weights, rows = KernelComparator(W), KernelComparator(W, np.eye(D))
    assert weights.radius(run) == pytest.approx(rows.radius(run), rel=1e-12)
    np.testing.assert_allclose(weights.scores(run), rows.scores(run), rtol=0, atol=1e-12)
    assert weights.minus(KernelComparator(W / 2)).radius(run) == pytest.approx(rows.radius(run) / 2)
    assert mtrbp_tight(run, W / 9) == pytest.approx(mtrbp_tight(run, KernelComparator(W / 9, np.eye(D))))
    zero = KernelComparator(0 * W)
    assert zero.scaled_to(run, 0.0).radius(run) == 0.0
    with pytest.raises(ValueError, match="no multiple of it has radius 1"):
        zero.scaled_to(run, 1.0)
    with pytest.raises(ValueError, match="give both in the same form"):
        weights.minus(rows)


# --- both sides ---


def test_both_sides_by_hand():
    """Three rows, c_G^2 = 2/3, R = 2, so that c^2 = 8/3; |g|_A^2 = 2 * 0.01 + 0.04 = 0.06 where g_1 = -g_0."""
    run, W = by_hand(), np.array([[0.1, 0.0], [-0.1, 0.0]])
    L = 0.9 + 1.0 + 0.94
    c, U = math.sqrt(8 / 3), math.sqrt(0.06)
    eps = 2 * c * U / 10
    assert largest_radius(run, eps) == pytest.approx(U)
    printed = (L + eps * 500 + eps * 25 * math.log(100 / 3)) / (1 - eps)
    assert mtrbp_theorem1(run, W) == pytest.approx((3.0, printed), rel=1e-12)
    assert mtrbp_sharper(run, W) == pytest.approx((3.0, (L + eps * 500 + eps * 12.5) / (1 - eps / 2)), rel=1e-12)
    tight = (L + c * U * 10 / 4) / (1 - c * U / 10)
    assert mtrbp_tight(run, W) == pytest.approx((3.0, tight), rel=1e-12)
    for bound, right in (
        (mtrbp_theorem1, (L + 250 + 12.5 * math.log(100 / 3)) / 0.5),
        (mtrbp_sharper, (L + 250 + 6.25) / 0.75),
        (mtrbp_tight, (L + 6.25) / 0.75),
    ):
        assert bound(run, W, eps=0.5).right == pytest.approx(right, rel=1e-12)
        assert bound(run, 0 * W).right == pytest.approx(3.0)  # g = 0 loses 1 on every row
        assert bound(run, W).right <= bound(run, W, eps=0.5).right
    assert mtrbp_tight(run, W, eps=1.5).right == pytest.approx((L + 18.75) / 0.25)
    some = run._replace(erred=np.array([True, False, False]))
    assert mtrbp_theorem1([run, some], W) == pytest.approx((2.0, printed), rel=1e-12)


def test_theorem2_by_hand():
    run, W = by_hand("mtforg", R=2.0), np.array([[0.1, 0.0], [-0.1, 0.0]])
    most = math.sqrt(101 / math.log(101)) / (4 * math.sqrt(8 / 3))
    assert largest_radius(run) == pytest.approx(most)
    assert largest_radius(by_hand("mtforg", R=4.0)) == pytest.approx(most / 2)
    assert mtforg_theorem2(run, W) == pytest.approx((3.0, 4 * 2.84 + 101 / (2 * math.log(101))), rel=1e-12)
    edge = KernelComparator(W).scaled_to(run, most)
    assert mtforg_theorem2(run, edge).left == 3.0
    with pytest.raises(ValueError, match=r"Theorem 2 allows at most 0\.7"):
        mtforg_theorem2(run, edge.scaled_to(run, most * 1.001))


def test_the_bounds_of_the_randomised_perceptron_are_in_order():
    run = by_hand()
    for B in (3, 10, 1000):
        run = by_hand(B=B)
        for radius in (0.0, 0.1, 0.4):
            g = KernelComparator(np.array([[1.0, 0.0], [0.0, 1.0]])).scaled_to(run, radius)
            assert mtrbp_tight(run, g).right <= mtrbp_sharper(run, g).right <= mtrbp_theorem1(run, g).right + 1e-12


def test_shifting_comparators():
    run = by_hand(B=400)
    g, h = np.array([[0.1, 0.0], [0.1, 0.0]]), np.array([[0.0, 0.3], [0.1, 0.0]])
    shift = KernelComparator(h - g).radius(run)
    assert shift**2 == pytest.approx(2 * (0.1**2 + 0.3**2))  # |a|^2 + |a - 0|^2
    eps = 2 * run.c * KernelComparator(h).radius(run) / 20
    L = (1 - 0.1) + (1 + 0.0) + (1 - 0.8 * 0.3)
    noise = eps * 4000 + eps * 100 * math.log(400 / 3)
    found = mtrbp_theorem1(run, [(g, 0), (h, 2)])
    assert found.right == pytest.approx((L + run.c * shift * 20 + noise) / (1 - eps), rel=1e-12)
    assert mtrbp_theorem1(run, [(g, 0)]) == mtrbp_theorem1(run, g)
    assert mtrbp_theorem1(run, [(g, 0), (g, 1)]).right == pytest.approx(mtrbp_theorem1(run, g).right)
    rows = [(KernelComparator(part, np.eye(2)), first) for part, first in ((g, 0), (h, 2))]
    assert mtrbp_theorem1(run, rows).right == pytest.approx(found.right, rel=1e-9)
    for wrong in ([], [(g, 1)], [(g, 0), (h, 0)], [(g, 0), (h, 3)]):
        with pytest.raises(ValueError, match="shifting comparator"):
            mtrbp_theorem1(run, wrong)


# --- refusals ---


def test_premises_that_do_not_hold_are_refused():
    W = np.array([[0.1, 0.0], [-0.1, 0.0]])
    for name in ("mt-perceptron", "mtbprj", "mtbprj-2", "mtforg"):
        for bound in (mtrbp_theorem1, mtrbp_sharper, mtrbp_tight):
            with pytest.raises(ValueError, match=f"about mtrbp, not about {name}"):
                bound(by_hand(name), W)
    with pytest.raises(ValueError, match="about mtforg, not about mtrbp"):
        mtforg_theorem2(by_hand(), W)
    with pytest.raises(ValueError, match="no budget, B = inf"):
        mtrbp_tight(by_hand(B=math.inf), W)
    in_bytes = by_hand()._replace(learner=SimpleNamespace(name="mtrbp", B=200, budget=10_000))
    with pytest.raises(ValueError, match="in bytes"):
        mtrbp_tight(in_bytes, W)
    with pytest.raises(ValueError, match="3 rows or more; B = 2"):
        mtrbp_theorem1(by_hand(B=2), 0 * W)
    assert mtrbp_tight(by_hand(B=1), 0 * W).holds
    with pytest.raises(ValueError, match="83 rows or more; B = 82"):
        mtforg_theorem2(by_hand("mtforg", B=82, R=2.0), W)
    assert mtforg_theorem2(by_hand("mtforg", B=83, R=2.0), W).holds
    with pytest.raises(ValueError, match="a row with 4 where R = 1"):
        mtforg_theorem2(by_hand("mtforg"), W)
    with pytest.raises(ValueError, match="has no eps"):
        largest_radius(by_hand("mtforg", R=2.0), 0.5)
    with pytest.raises(ValueError, match="needs eps"):
        largest_radius(by_hand())


def test_a_comparator_that_does_not_fit_is_refused():
    run, W = by_hand(), np.array([[0.1, 0.0], [-0.1, 0.0]])
    far = KernelComparator(W).scaled_to(run, largest_radius(run, 1.0))
    with pytest.raises(ValueError, match=r"with B = 100 it must be below 3\.06"):
        mtrbp_theorem1(run, far)
    with pytest.raises(ValueError, match=r"it must be below 3\.06"):
        mtrbp_theorem1(run, [(W, 0), (far, 1)])
    assert mtrbp_tight(run, far).holds  # there eps may be anything below 2
    with pytest.raises(ValueError, match=r"it must be below 6\.12"):
        mtrbp_tight(run, far.scaled_to(run, 6.2))
    with pytest.raises(ValueError, match=r"eps = 0\.5 allows at most 1\.53"):
        mtrbp_tight(run, far, eps=0.5)
    for eps in (-0.1, 1.0, math.nan):
        with pytest.raises(ValueError, match="at least 0 and below 1"):
            mtrbp_theorem1(run, W, eps=eps)
    for wrong in (W[:1], W[:, :1], W * np.nan):
        with pytest.raises(ValueError, match=r"needs \(2, 2\), one row of finite numbers per task"):
            mtrbp_tight(run, wrong)
    with pytest.raises(ValueError, match="rows have 3 features, those of the run have 2"):
        mtrbp_tight(run, KernelComparator(W, np.ones((2, 3))))
    with pytest.raises(ValueError, match="the gaussian kernel needs rows"):
        mtrbp_tight(by_hand(kernel=Kernel("gaussian")), W)
    with pytest.raises(ValueError, match="not a list"):
        mtrbp_tight(run, W.tolist())


def test_runs_that_differ_in_more_than_the_seed_are_refused():
    W, run = np.array([[0.1, 0.0], [-0.1, 0.0]]), by_hand()
    others = [by_hand(B=99), by_hand(A=clique(2, 0.0)), by_hand(kernel=Kernel("poly")), run._replace(y=-run.y)]
    others += [run._replace(task=1 - run.task), run._replace(X=2 * run.X), by_hand(A=clique(3, 3.0))]
    for other in others:
        with pytest.raises(ValueError, match="more than their seeds"):
            mtrbp_tight([run, other], W)
    with pytest.raises(ValueError, match="no run"):
        mtrbp_tight([], W)


# --- what is true of the randomised Perceptron, without chance ---


def expected_mistakes(G, y, B):
    """E M by following every choice of an eviction with its probability."""
    states, total = {(): 1.0}, 0.0
    for t, label in enumerate(y):
        after = {}
        for kept, p in states.items():
            if label * sum(y[j] * G[j, t] for j in kept) > 1e-12:
                followers = [(kept, p)]
            elif len(kept) < B:
                total += p
                followers = [((*kept, t), p)]
            else:
                total += p
                followers = [((*kept[:r], *kept[r + 1 :], t), p / B) for r in range(B)]
            for state, share in followers:
                after[state] = after.get(state, 0.0) + share
        states = after
    return total


@pytest.mark.parametrize("seed", range(12))
def test_the_expected_mistakes_obey_the_bounds(seed):
    rng = np.random.default_rng(seed)
    B, n = int(rng.integers(1, 5)), 10
    A = [clique(3, 3.0), clique(3, 0.0), cliques([0, 0, 1])][seed % 3]
    X, task = rng.normal(size=(n, 3)), rng.integers(0, 3, n)
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    truth = rng.normal(size=3) + 0.3 * rng.normal(size=(3, 3))
    y = np.where(np.sum(truth[task] * X, axis=1) > 0, 1.0, -1.0) * np.where(rng.random(n) < 0.15, -1, 1)
    run = by_hand(B=B, X=X, y=y, task=task, A=A)
    M = expected_mistakes(multitask_gram(run.kernel, A, X, task), y, B)
    for g in comparators(run, KernelComparator(truth)):
        for share in (0.0, 0.1, 0.3, 0.6, 0.9):
            scaled = g.scaled_to(run, share * largest_radius(run, 2.0))
            assert mtrbp_tight(run, scaled).right >= M - 1e-9
            if B >= 3 and share < 0.5:
                assert mtrbp_theorem1(run, scaled).right >= M - 1e-9
