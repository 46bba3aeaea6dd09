"""Norms: definitions, identities, duals, maximisers, remoteness, names."""

import math

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.maths.norms import Interpolation, Lp, RMax, parse

NAMES = ["l1", "l1.2", "l2", "l3", "linf", "1-max", "2-max", "2.5-max", "k(1,inf,2.5)", "k(1,inf,0.5)"]
NAMES += ["k(1.5,3,1.3)", "k(1,2,1.5)", "k(2,inf,1.5)", "k(1.2,inf,2)", "k(3,1.5,0.7)", "k(2,6,1.2)"]
NAMES += ["k(1.1,1.7,1.3)", "k(inf,1,0.4)", "k(2,2,0.5)", "k(2,2,3)", "k(1,2,0.5)", "k(1,2,100)"]

vectors = st.lists(st.one_of(st.just(0.0), st.just(1.0), st.floats(1e-6, 10.0)), min_size=1, max_size=8).map(np.array)


def by_definition(norm, v):
    """The norm as a convex programme (K), or in NumPy."""
    if isinstance(norm, Lp):
        return np.linalg.norm(v, norm.p)
    if isinstance(norm, RMax):
        size = np.append(np.sort(np.abs(v))[::-1], 0.0)
        whole = min(int(norm.r), len(v))
        return size[:whole].sum() + (norm.r - whole if norm.r < len(v) else 0.0) * size[whole]
    w = cp.Variable(len(v))
    parts = [cp.pnorm(w, norm.p1, approx=False), norm.alpha * cp.pnorm(v - w, norm.p2, approx=False)]
    problem = cp.Problem(cp.Minimize(parts[0] + parts[1]))
    return problem.solve(solver=cp.CLARABEL)


@pytest.mark.parametrize("name", NAMES)
def test_value_is_the_definition(name):
    rng = np.random.default_rng(1)
    for k in (1, 2, 7):
        v = rng.normal(size=k)
        assert parse(name).value(v) == pytest.approx(by_definition(parse(name), v), rel=2e-7)


@pytest.mark.parametrize("name", NAMES)
@given(v=vectors)
@settings(deadline=None, max_examples=60)
def test_the_maximizer_attains_hoelder(name, v):
    norm = parse(name)
    tau = norm.maximizer(v)
    assert (tau >= 0.0).all()
    assert (tau[v == 0.0] == 0.0).all()
    assert tau @ v == pytest.approx(norm.value(v), rel=1e-9)
    if v.any():
        assert norm.dual(tau) == pytest.approx(1.0, rel=1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_the_dual_is_never_exceeded(name):
    norm = parse(name)
    rng = np.random.default_rng(2)
    for k in (1, 3, 8):
        for u in rng.normal(size=(10, k)):
            ratios = [u @ v / norm.value(v) for v in rng.normal(size=(20, k))]
            assert max(ratios) <= norm.dual(u) * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
def test_it_is_an_absolute_norm(name):
    norm = parse(name)
    rng = np.random.default_rng(3)
    for v, w in rng.normal(size=(30, 2, 6)):
        assert norm.value(v + w) <= (norm.value(v) + norm.value(w)) * (1 + 1e-9)
        assert norm.value(-3.0 * v) == pytest.approx(3.0 * norm.value(v), rel=1e-9)
        assert norm.value(np.abs(v)) == norm.value(v)
        assert norm.value(np.append(v, 0.0)) == pytest.approx(norm.value(v), rel=1e-9)
    assert norm.value(np.zeros(4)) == 0.0


@given(vectors, st.floats(1.0, 9.0))
@settings(deadline=None, max_examples=100)
def test_k_of_1_and_inf_is_r_max(v, r):
    assert Interpolation(1, np.inf, r).value(v) == RMax(r).value(v)


@given(vectors, st.floats(1.0, 6.0), st.floats(1.0, 6.0), st.floats(0.2, 5.0))
@settings(deadline=None, max_examples=100)
def test_k_swaps(v, p1, p2, alpha):
    one, other = Interpolation(p1, p2, alpha), Interpolation(p2, p1, 1.0 / alpha)
    assert one.value(v) == pytest.approx(alpha * other.value(v), rel=1e-8)
    bound = min(Lp(p1).value(v), alpha * Lp(p2).value(v))
    assert one.value(v) <= bound * (1 + 1e-9)


@given(vectors, st.floats(1.0, 3.0), st.floats(0.0, 4.0))
@settings(deadline=None, max_examples=100)
def test_k_has_p_norms_as_limits(v, p1, more):
    p2 = p1 + more
    assert Interpolation(p1, p2, 0.7).value(v) == pytest.approx(0.7 * Lp(p2).value(v), rel=1e-12)
    enough = len(v) ** (1 / p1 - 1 / p2)
    assert Interpolation(p1, p2, enough * 1.0001).value(v) == pytest.approx(Lp(p1).value(v), rel=1e-12)
    assert Interpolation(p1, p2, enough * 0.999999).value(v) == pytest.approx(Lp(p1).value(v), rel=1e-5)


def test_r_max_between_its_ends_is_exact():
    rng = np.random.default_rng(4)
    for v in rng.normal(size=(50, 7)):
        l = np.abs(v)
        for r, p in ((1, np.inf), (7, 1), (9, 1)):
            assert RMax(r).value(v) == Lp(p).value(v)
            assert RMax(r).dual(v) == Lp(p).dual(v)
            assert RMax(r).maximizer(l).tobytes() == Lp(p).maximizer(l).tobytes()
            assert RMax(r).remoteness(7) == Lp(p).remoteness(7)


def test_ties_go_to_the_lowest_index():
    l = np.array([0.0, 2.0, 1.0, 2.0, 1.0, 1.0])
    assert Lp(np.inf).maximizer(l).tolist() == [0, 1, 0, 0, 0, 0]
    assert RMax(3).maximizer(l).tolist() == [0, 1, 1, 1, 0, 0]
    assert RMax(3.5).maximizer(l).tolist() == [0, 1, 1, 1, 0.5, 0]


def test_with_ties_an_interpolation_may_have_one_slack_ball_though_neither_maximizer_fits():
    # K(2,inf,1.5): the L2 maximiser breaks |tau|_1 <= 1.5, the argmax breaks |tau|_2 <= 1; the even one fits.
    norm, l = Interpolation(2, np.inf, 1.5), np.ones(4)
    assert Lp(2).maximizer(l).sum() > 1.5
    assert np.linalg.norm(1.5 * Lp(np.inf).maximizer(l)) > 1.0
    tau = norm.maximizer(l)
    assert tau.sum() == pytest.approx(1.5, rel=1e-14)
    assert np.linalg.norm(tau) < 0.8
    assert norm.value(l) == pytest.approx(1.5, rel=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_remoteness_bounds_the_dual_ball(name):
    norm = parse(name)
    rng = np.random.default_rng(5)
    for k in (1, 2, 5, 12):
        rho = norm.remoteness(k)
        for m in range(1, k + 1):  # m equal entries, with and without a fraction of another
            for rest in (0.0, 0.5, 0.9):
                u = np.zeros(k)
                u[:m] = 1.0
                u[-1] = max(u[-1], rest)
                assert np.linalg.norm(u) <= rho * norm.dual(u) * (1 + 1e-9)
        for u in rng.exponential(size=(50, k)) ** 3:
            assert np.linalg.norm(u) <= rho * norm.dual(u) * (1 + 1e-9)


@pytest.mark.parametrize(("p", "k"), [(1, 4), (1.5, 5), (2, 6), (3, 6), (math.inf, 3)])
def test_remoteness_of_p_norms_is_attained(p, k):
    candidates = [np.ones(k), np.eye(k)[0]]
    best = max(np.linalg.norm(u) / Lp(p).dual(u) for u in candidates)
    assert Lp(p).remoteness(k) == pytest.approx(best, rel=1e-12)


@pytest.mark.parametrize("r", [1, 2, 3, 5, 1.5, 2.25, 4.9])
def test_remoteness_of_r_max(r):
    # The dual ball's corners hold floor(r) ones and the fraction: exact for whole r, below sqrt(r) otherwise.
    whole, fraction = int(r), r - int(r)
    corner = math.sqrt(whole + fraction**2)
    rho = RMax(r).remoteness(6)
    assert rho == math.sqrt(r)
    assert corner <= rho * (1 + 1e-15)
    assert corner >= rho * (1.0 if fraction == 0.0 else 0.91)
    assert RMax(r).remoteness(1) == 1.0


def test_the_third_term_of_remoteness_is_below_the_papers_two():
    norm = Interpolation(1.2, 5, 1.4)
    assert norm.remoteness(50) < min(Lp(1.2).remoteness(50), 1.4 * Lp(5).remoteness(50))


@pytest.mark.parametrize("scale", [1e-150, 1e-8, 1e8, 1e150])
@pytest.mark.parametrize("name", NAMES)
def test_scales(name, scale):
    norm = parse(name)
    l = np.array([0.3, 0.0, 1.7, 0.3, 1.2, 0.01])
    assert norm.value(scale * l) == pytest.approx(scale * norm.value(l), rel=1e-9)
    assert norm.dual(scale * l) == pytest.approx(scale * norm.dual(l), rel=1e-9)


@given(st.floats(1.0, 1e6), st.floats(1.0, 1e6), st.floats(1e-6, 1e6))
@settings(deadline=None, max_examples=100)
def test_names_round_trip(p, r, alpha):
    for norm in (Lp(p), RMax(r), Interpolation(p, r, alpha), Interpolation(p, np.inf, alpha), Lp(np.inf)):
        assert parse(str(norm)) == norm
        assert parse(f" {str(norm).upper()} ") == norm
        assert parse(norm) is norm


def test_canonical_names():
    given_names = ["L1", "l 2", "L1.50", "linf", "3-MAX", "2.5 - max", "K(1, inf, 2.5)"]
    expected = ["l1", "l2", "l1.5", "linf", "3-max", "2.5-max", "k(1,inf,2.5)"]
    assert [str(parse(name)) for name in given_names] == expected
    assert Lp(2) == Lp(2.0)


@pytest.mark.parametrize(
    "wrong",
    [
        "",
        "l",
        "l0.5",
        "l-1",
        "0.5-max",
        "inf-max",
        "max",
        "k(1,2)",
        "k(1,2,0)",
        "k(1,2,inf)",
        "l1..5",
        3,
        None,
    ],
)
def test_a_wrong_norm_is_refused_with_examples(wrong):
    with pytest.raises(ValueError, match=r'is not a norm: a norm is "l1".*"3-max".*"k\(1,inf,2.5\)"'):
        parse(wrong)


@pytest.mark.parametrize(
    "make", [lambda: Lp(0.5), lambda: RMax(np.nan), lambda: Interpolation(1, 2, -1), lambda: Lp(True)]
)
def test_a_wrong_parameter_is_refused(make):
    with pytest.raises(ValueError, match="which is not allowed: a norm is"):
        make()
