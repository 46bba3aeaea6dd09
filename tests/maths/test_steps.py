"""The three steps: against convex programmes, bisection in long double, duality, and each other."""

import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.maths import losses, norm_codes, steps
from weft.maths.norms import Interpolation, Lp, RMax, parse
from weft.maths.vectors import sort

PLAIN_NORMS = ["l1", "l1.2", "l1.5", "l2", "l3", "l7", "linf", "2-max", "3-max", "2.5-max"]
K_NORMS = ["k(1,inf,2.5)", "k(1,inf,0.5)", "k(1.5,3,1.3)", "k(1,2,1.5)", "k(1,3,1.2)", "k(2,inf,1.5)"]
K_NORMS += [
    "k(1.2,inf,2)",
    "k(3,inf,1.1)",
    "k(3,1.5,0.7)",
    "k(2,6,1.2)",
    "k(4,9,1.05)",
    "k(1.1,1.7,1.3)",
    "k(2,2,0.5)",
]
NAMES = PLAIN_NORMS + K_NORMS


def call(step, name, l, *rest):
    tau = np.full(len(l), np.nan)
    step(parse(name).code, l, *rest, tau)
    return tau


def implicit(name, l, n2, C):
    return call(steps.implicit, name, l, n2, float(C))


def a_round(rng, k, zeros=True):
    l, n2 = rng.exponential(size=k), rng.exponential(size=k) + 0.01
    if zeros:
        l[rng.random(k) < 0.15] = 0.0
        n2[rng.random(k) < 0.15] = 0.0
    return l, n2, float(np.exp(rng.normal()))


@st.composite
def rounds(draw):
    k = draw(st.integers(1, 9))
    entry = st.one_of(st.sampled_from([0.0, 0.5, 1.0, 2.0]), st.floats(1e-4, 10.0))
    l = draw(st.lists(entry, min_size=k, max_size=k))
    n2 = draw(st.lists(entry, min_size=k, max_size=k))
    scale = draw(st.sampled_from([1e-8, 1e-4, 1.0, 1.0, 1.0, 1e4, 1e8]))
    return (
        np.array(l) * draw(st.sampled_from([1.0, scale])),
        np.array(n2) * scale,
        draw(st.floats(1e-3, 20.0)),
    )


def gap(name, l, n2, C, tau):
    """Primal minus dual objective: an upper bound on half the squared distance to the optimal weights."""
    xi = np.maximum(l - tau * n2, 0.0)
    return C * parse(name).value(xi) - tau @ xi


def check_invariants(name, l, n2, C, tau):
    assert (tau >= 0.0).all()
    assert (tau[l == 0.0] == 0.0).all()
    assert parse(name).dual(tau) <= C * (1 + 1e-9)


@pytest.mark.parametrize("name", NAMES)
@given(case=rounds())
@settings(deadline=None, max_examples=100)
def test_implicit_is_optimal(name, case):
    l, n2, C = case
    tau = implicit(name, l, n2, C)
    check_invariants(name, l, n2, C, tau)
    xi = l - tau * n2
    assert (xi >= -1e-12 * max(1.0, l.max())).all()
    assert (xi <= l).all()
    # sum n2 (tau - tau*)^2 <= 2 gap: weights within 1e-6 relative to sqrt(C ||l||)
    assert gap(name, l, n2, C, tau) <= 5e-13 * C * parse(name).value(l)


def test_most_tasks_at_their_cap():
    """|tau|_inf and |tau|_q are both tight: tasks at the cap do not move when the multiplier of the other ball does."""
    rng = np.random.default_rng(0)
    for _ in range(60):
        capped, free = rng.integers(5, 60), rng.integers(1, 4)
        l = np.concatenate([rng.uniform(0.9, 1.0, capped), rng.uniform(0.2, 0.9, free)])
        n2 = np.concatenate([rng.uniform(0.0, 0.2, capped), rng.uniform(0.5, 3.0, free)])
        name = f"k(1,2,{rng.uniform(0.9 * np.sqrt(capped), np.sqrt(capped + free))!r})"
        tau = implicit(name, l, n2, 1.0)
        check_invariants(name, l, n2, 1.0, tau)
        assert gap(name, l, n2, 1.0, tau) <= 5e-13 * parse(name).value(l)


def bisect(function, low, high):
    """The root of a decreasing function of an array, entry by entry."""
    for _ in range(90):
        middle = (low + high) / 2
        above = function(middle) > 0
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return (low + high) / 2


def exact(norm, l, n2, C):
    """tau by nested bisection in long double; a p-norm with p < inf, or r-max."""
    l, n2, C = l.astype(np.longdouble), n2.astype(np.longdouble), np.longdouble(C)
    zero, one = np.zeros_like(l), np.ones_like(l)
    if isinstance(norm, RMax) or norm.p in (1.0, np.inf):
        r = len(l) if norm == Lp(1) else 1.0 if norm == Lp(np.inf) else norm.r

        def weights(theta):
            free = np.where(n2 > 0, (l - theta) / np.where(n2 > 0, n2, 1), np.where(l > theta, C, 0))
            return np.clip(free, 0, C)

        if weights(0).sum() <= r * C:
            return weights(0)
        return weights(bisect(lambda theta: weights(theta).sum() - r * C, zero[:1], l.max() + zero[:1]))
    p = np.longdouble(norm.p)
    q = p / (p - 1)

    def shares(mu):  # s in [0, 1], or u = s^(q-1) where that is the flatter variable
        if p < 2:
            return bisect(lambda s: l - mu * s ** (q - 1) - n2 * C * s, zero, one)
        return bisect(lambda u: l - mu * u - n2 * C * u ** (p - 1), zero, one) ** (p - 1)

    if (n2 > 0).all() and ((l / n2 / C) ** q).sum() <= 1:
        return l / n2
    top = (l**p).sum() ** (1 / p)
    return C * shares(bisect(lambda mu: (shares(mu) ** q).sum() - 1, zero[:1], top + zero[:1]))


@pytest.mark.parametrize("name", PLAIN_NORMS)
def test_weights_are_exact(name):
    rng = np.random.default_rng(7)
    for trial in range(6):
        l, n2, C = a_round(rng, 2 + trial, zeros=trial % 2 == 0)
        move = (implicit(name, l, n2, C) - exact(parse(name), l, n2, C)) * np.sqrt(n2)
        assert np.abs(move).max() <= 1e-12 * max(1.0, C)


@pytest.mark.parametrize("name", NAMES)
def test_the_objective_is_a_convex_solvers(name):
    import cvxpy as cp

    def expression(norm, xi):
        if isinstance(norm, RMax):
            norm = Interpolation(1, np.inf, norm.r)
        if isinstance(norm, Lp):
            return cp.pnorm(xi, norm.p, approx=False)
        w = cp.Variable(xi.shape[0])
        return cp.pnorm(w, norm.p1, approx=False) + norm.alpha * cp.pnorm(xi - w, norm.p2, approx=False)

    rng = np.random.default_rng(8)
    for k in (2, 5, 8):
        l, n2, C = a_round(rng, k)
        free = np.flatnonzero((n2 > 0.0) & (l > 0.0))
        cut = cp.Variable(len(free))  # xi = l - cut
        xi = l - np.eye(k)[:, free] @ cut
        pull = cp.sum(cp.multiply(0.5 / n2[free], cp.square(cut)))
        limits = [cut >= 0, cut <= l[free]]
        problem = cp.Problem(cp.Minimize(pull + C * expression(parse(name), xi)), limits)
        best = problem.solve(solver=cp.CLARABEL)
        tau = implicit(name, l, n2, C)
        after = l - tau * n2
        assert (tau * tau * n2).sum() / 2 + C * parse(name).value(after) == pytest.approx(best, rel=1e-7, abs=1e-7)


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("unit", [1e-8, 1e-3, 1e3, 1e8])
def test_implicit_scales(name, unit):
    rng = np.random.default_rng(9)
    l, n2, C = a_round(rng, 8)
    tau = implicit(name, l, n2, C)
    moved = n2 > 0.0
    assert implicit(name, unit * l, unit * n2, C)[moved] == pytest.approx(tau[moved], rel=1e-8, abs=1e-10)
    assert implicit(name, l, n2 / unit, C * unit)[moved] == pytest.approx(unit * tau[moved], rel=1e-8, abs=1e-10 * unit)


def test_instances_of_very_different_lengths():
    l = np.array([1.0, 1.0, 0.9, 1.0 + 1e-9])
    n2 = np.array([1e-13, 1e8, 1.0, 1e-8])
    for name in PLAIN_NORMS:
        tau = implicit(name, l, n2, 0.7)
        move = (tau - exact(parse(name), l, n2, 0.7)) * np.sqrt(n2)
        assert np.abs(move).max() <= 1e-8


@pytest.mark.parametrize("name", ["linf", "1.5-max", "2-max", "k(1.5,inf,0.8)"])
def test_an_instance_whose_range_is_within_the_rounding_of_the_threshold(name):
    l = np.array([0.5, 0.0, 1.0, 1.0, 1.0])
    for C in np.geomspace(2e-4, 5e-4, 40):
        n2 = np.array([0.11481430440541150, 2e-6, 2.799e-9, 8927.05, 3.1e-9])
        assert gap(name, l, n2, C, implicit(name, l, n2, C)) <= 1e-14 * C


@pytest.mark.parametrize("name", NAMES)
def test_one_task_is_passive_aggressive(name):
    norm = parse(name)
    factor = min(1.0, norm.alpha) if isinstance(norm, Interpolation) else 1.0
    for l, n2, C in [(1.0, 4.0, 0.1), (1.0, 4.0, 10.0), (0.7, 0.0, 0.3), (0.0, 2.0, 1.0), (1e-8, 1e8, 1.0)]:
        expected = 0.0 if l == 0.0 else min(C * factor, l / n2 if n2 > 0 else math.inf)
        tau = implicit(name, np.array([l]), np.array([n2]), C)
        assert tau == pytest.approx([expected], rel=1e-15)
        among = implicit(name, np.array([0.0, l, 0.0]), np.array([1.0, n2, 0.0]), C)
        assert among.tolist() == [0.0, tau[0], 0.0]


def test_a_zero_instance_holds_the_others_up():
    l, n2 = np.array([0.85, 1.0, 0.9, 0.5]), np.array([0.0, 1.0, 2.0, 1.0])
    for name in ("linf", "1-max"):
        assert l - implicit(name, l, n2, 100.0) * n2 == pytest.approx([0.85, 0.85, 0.85, 0.5])
        assert implicit(name, np.array([1.05, 1.0, 0.9, 0.5]), n2, 5.0).tolist() == [5.0, 0.0, 0.0, 0.0]
    tied = implicit("linf", np.ones(4), np.zeros(4), 1.0)
    assert tied.sum() == 1.0
    assert implicit("l1", l, n2, 0.25).tolist() == [0.25, 0.25, 0.25, 0.25]
    negligible = implicit("l2", l, np.array([1e-17, 1.0, 2.0, 1.0]), 0.5)
    assert negligible.tolist() == implicit("l2", l, n2, 0.5).tolist()


@pytest.mark.parametrize("C", [0.1, 0.5, 3.0, 100.0])
def test_equal_instances_under_l2_have_a_closed_form(C):
    l, n2 = np.array([1.0, 0.0, 2.0, 0.5]), np.full(4, 3.0)  # Eq. 28
    size = np.linalg.norm(l)
    expected = l / 3.0 if size <= 3.0 * C else C * l / size
    assert implicit("l2", l, n2, C) == pytest.approx(expected, rel=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_equal_losses_and_instances(name):
    l, n2 = np.ones(6), np.full(6, 0.5)
    for C in (0.01, 0.3, 1.0, 5.0):
        tau = implicit(name, l, n2, C)
        assert tau == pytest.approx(np.full(6, tau[0]), rel=1e-9)
        assert gap(name, l, n2, C, tau) <= 1e-13 * C


@pytest.mark.parametrize("name", NAMES)
@given(case=rounds())
@settings(deadline=None, max_examples=50)
def test_explicit_steps(name, case):
    l, n2, C = case
    norm = parse(name)
    g, rho = norm.value(l), norm.remoteness(len(l))
    tau = call(steps.finite_horizon, name, l, C)
    check_invariants(name, l, n2, C, tau)
    assert tau @ l == pytest.approx(C * g, rel=1e-9)  # Eq. 10
    for R, reach in ((2.0, 4.0), (0.0, n2.max()), (math.nan, n2.max())):
        tau = call(steps.infinite_horizon, name, l, n2, C, R)
        check_invariants(name, l, n2, C, tau)
        step = min(C, g / (reach * rho * rho)) if reach > 0.0 else 0.0
        assert tau @ l == pytest.approx(step * g, rel=1e-9)  # Eq. 17


@given(rounds())
@settings(deadline=None, max_examples=150)
def test_r_max_ends_are_linf_and_l1_to_the_bit(case):
    l, n2, C = case
    for r, name in ((1, "linf"), (len(l), "l1"), (len(l) + 0.5, "l1")):
        for step, rest in (
            (steps.finite_horizon, (C,)),
            (steps.infinite_horizon, (n2, C, 1.5)),
            (steps.infinite_horizon, (n2, C, 0.0)),
            (steps.implicit, (n2, C)),
        ):
            assert call(step, f"{r}-max", l, *rest).tobytes() == call(step, name, l, *rest).tobytes()


@pytest.mark.parametrize("name", NAMES)
def test_a_dormant_task_is_a_deleted_one(name):
    rng = np.random.default_rng(10)
    for _ in range(10):
        l, n2, C = a_round(rng, 9)
        live = l > 0.0
        assert (
            call(steps.finite_horizon, name, l, C)[live].tolist()
            == call(steps.finite_horizon, name, l[live], C).tolist()
        )
        assert implicit(name, l, n2, C)[live].tolist() == implicit(name, l[live], n2[live], C).tolist()


@pytest.mark.parametrize("name", NAMES)
def test_no_loss_and_no_task(name):
    for k in (0, 1, 5):
        l = np.zeros(k)
        for tau in (
            call(steps.finite_horizon, name, l, 1.0),
            call(steps.infinite_horizon, name, l, l + 1.0, 1.0, 0.0),
            implicit(name, l, l + 1.0, 1.0),
            implicit(name, l, l, 1.0),
        ):
            assert not tau.any()


def test_inputs_are_left_alone():
    rng = np.random.default_rng(11)
    l, n2, C = a_round(rng, 9)
    before = l.tobytes() + n2.tobytes()
    for name in NAMES:
        implicit(name, l, n2, C)
        call(steps.infinite_horizon, name, l, n2, C, 0.0)
        parse(name).value(l)
        parse(name).implicit(l, n2, C)
    assert l.tobytes() + n2.tobytes() == before


@given(st.lists(st.floats(-10, 10), max_size=40), st.integers(0, 40))
@settings(deadline=None, max_examples=100)
def test_sort(values, count):
    count = min(count, len(values))
    array = np.array(values, dtype=float)
    sort(array, count)
    assert array.tolist() == sorted(values[:count]) + values[count:]


def fingerprint() -> bytes:
    """Every kernel on the same random cases, as bytes."""
    rng = np.random.default_rng(12)
    out = []
    for code in losses.CODES.values():
        for score, label in rng.normal(size=(20, 2)):
            out += [losses.loss_value(code, score, label, 0.1), losses.direction(code, score, label)]
    for name in [*NAMES, "k(1.37,2.91,1.4)", "l1.83", "l2.71"]:
        norm = parse(name)
        for k in (1, 2, 3, 7, 30):
            l, n2, C = a_round(rng, k, zeros=k != 7)
            if k == 30:
                l = np.round(l, 1)
            out += [
                norm.value(l),
                norm.dual(l),
                norm.remoteness(k),
                *norm.maximizer(l),
                *norm.implicit(l, n2, C),
            ]
            out += [
                *call(steps.finite_horizon, name, l, C),
                *call(steps.infinite_horizon, name, l, n2, C, 0.0),
            ]
            out += [norm_codes.norm_value(norm.code, l - 1.0), *norm.implicit(l * 1e8, n2 * 1e-8, C)]
    return np.array(out).tobytes()


def test_compiled_equals_plain():
    environment = {**os.environ, "WEFT_PLAIN": "1", "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    plain = subprocess.run(
        [sys.executable, "-W", "error::RuntimeWarning", __file__],
        env=environment,
        capture_output=True,
        check=True,
    )
    compiled = np.frombuffer(fingerprint())
    assert np.isfinite(compiled).all()
    assert np.frombuffer(plain.stdout).tobytes() == compiled.tobytes()


if __name__ == "__main__":
    sys.stdout.buffer.write(fingerprint())
