"""Mistake bounds for budget learners: the theorems of their paper, evaluated on a run.

Cavallanti and Cesa-Bianchi (2012), Memory constraint online multitask classification, Theorem 1 (`mtrbp`) and
Theorem 2 (`mtforg`). A comparator g is a `KernelComparator`, or an array of weights (tasks, features) for the linear
kernel; L is its hinge loss. Its radius U must fit the budget B: U <= eps sqrt(B) / (2 c) for `mtrbp`, and
U <= sqrt((B + 1) / ln(B + 1)) / (4 c) for `mtforg`, where c = c_G R, and R^2 is the largest K'(x, x) of the run or, for
`mtforg`, the R that the learner was given.

`mtrbp` evicts at random, and its bounds are about the expected number E M of mistakes. It is estimated by the mean
over several runs of one stream with different seeds. Without eps the bounds take the least that U allows,
2 c U / sqrt(B).

Interpretation. As printed, Theorem 2 needs B > 83; it holds from 83 on. Theorem 1 needs B >= 3, so that its last term
is not negative. For a fixed comparator a sharper bound than Theorem 1 holds, `mtrbp_tight`:

Let w be the function before a mistake and phi the row, |phi| <= c. If the budget is full, every row is evicted with the
same probability, so that E<g, evicted> = <g, w>/B, and E|w'|^2 <= (1 - 2/B)|w|^2 + 2 c^2 because y <w, phi> <= 0. Let F
be the number of mistakes with a full budget. Before the first of them |w|^2 <= B c^2, and with sums over them

    E M <= L + U E|w_end| + (U/B) E sum |w|   and   E sum |w|^2 <= B/2 (B c^2 + 2 c^2 E F - E|w_end|^2).

By Cauchy's inequality E sum |w| <= c sqrt(B) (E F + B/4 - E|w_end|^2 / (4 c^2)), after which the terms in w_end are at
most U c sqrt(B). Whether the budget ever overflows does not depend on chance. If it does, F = M - B, and
E M <= L + (c U / sqrt(B)) (E M + B/4). If not, M <= L + c U sqrt(M), which is not larger.

>>> import weft
>>> from weft.evaluation import record_budget
>>> rng = np.random.default_rng(0)
>>> W = np.array([1.0, 1.0, 0.0]) + 0.3 * rng.normal(size=(4, 3))
>>> X, task = rng.normal(size=(2000, 3)), rng.integers(0, 4, 2000)
>>> stream = weft.Stream(X, np.sign(np.sum(W[task] * X, axis=1)), task)
>>> runs = [record_budget(weft.Model("mtrbp", B=50, seed=seed, tasks=4), stream) for seed in range(10)]
>>> g = KernelComparator(W).scaled_to(runs[0], 4.0)
>>> for bound in (mtrbp_theorem1, mtrbp_sharper, mtrbp_tight):
...     print(f"{bound(runs, g).left:.1f} <= {bound(runs, g).right:.1f}")
134.8 <= 2604.8
134.8 <= 1121.5
134.8 <= 924.6
"""

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from weft.guarantees.budget_record import BudgetRun, KernelComparator
from weft.guarantees.measures import Floats, csr
from weft.guarantees.shared_loss import TOLERANCE, Bound

LEAST_FORGETRON = 83

Comparator = KernelComparator | Floats
"""Functions g_1, ..., g_N; an array holds their weights, for the linear kernel."""
Shifting = list[tuple[Comparator, int]]
"""Comparators, each with the first row to which it applies; the first of them starts at row 0."""


def largest_radius(run: BudgetRun, eps: float | None = None) -> float:
    """The largest comparator radius that the theorem allows: for `mtrbp` with an eps from 0 to 1, or for `mtforg`."""
    B = _budget(run, "mtrbp", "mtforg")
    if run.learner.name == "mtforg":
        if eps is not None:
            raise ValueError("Theorem 2, about mtforg, has no eps.")
        return math.sqrt((B + 1) / math.log(B + 1)) / (4 * _given_c(run))
    if eps is None:
        raise ValueError("Theorem 1, about mtrbp, needs eps, from 0 to 1.")
    return _allowed(run, B, eps)


def mtrbp_theorem1(
    runs: BudgetRun | Sequence[BudgetRun], comparator: Comparator | Shifting, eps: float | None = None
) -> Bound:
    """E M <= (L + c S sqrt(B) + eps B^1.5 / 2 + eps B/4 ln(B/3)) / (1 - eps), for an eps below 1.

    Cavallanti and Cesa-Bianchi (2012), Theorem 1. The comparator may shift: a list of pairs (comparator, first row).
    S is then the sum of the radii of its changes; it is 0 for a fixed one.
    """
    run, mistakes = _expected(runs)
    B = _budget(run, "mtrbp")
    if B < 3:
        raise ValueError(f"Theorem 1 needs a budget of 3 rows or more; B = {B:g}.")
    sequence = _sequence(run, comparator)
    functions = [g for g, _ in sequence]
    eps = _eps(run, B, max(g.radius(run) for g in functions), eps, 1.0)
    bounds = [*(first for _, first in sequence), len(run.y)]
    loss = sum(float(np.sum(g.losses(run)[a:b])) for g, (a, b) in zip(functions, pairwise(bounds), strict=True))
    shift = sum(later.minus(earlier).radius(run) for earlier, later in pairwise(functions))
    noise = eps * B**1.5 / 2 + eps * B / 4 * math.log(B / 3)
    return Bound(mistakes, (loss + run.c * shift * math.sqrt(B) + noise) / (1 - eps))


def mtrbp_sharper(runs: BudgetRun | Sequence[BudgetRun], comparator: Comparator, eps: float | None = None) -> Bound:
    """E M <= (L + eps B^1.5 / 2 + eps B/8) / (1 - eps/2), for an eps below 2 and any B."""
    run, mistakes = _expected(runs)
    B = _budget(run, "mtrbp")
    g = _comparator(comparator)
    eps = _eps(run, B, g.radius(run), eps, 2.0)
    return Bound(mistakes, (float(np.sum(g.losses(run))) + eps * B**1.5 / 2 + eps * B / 8) / (1 - eps / 2))


def mtrbp_tight(runs: BudgetRun | Sequence[BudgetRun], comparator: Comparator, eps: float | None = None) -> Bound:
    """E M <= (L + eps B/8) / (1 - eps/2), for an eps below 2 and any B.

    With the least eps this is (L + c U sqrt(B)/4) / (1 - c U / sqrt(B)), for a comparator of radius U < sqrt(B)/c.
    """
    run, mistakes = _expected(runs)
    B = _budget(run, "mtrbp")
    g = _comparator(comparator)
    eps = _eps(run, B, g.radius(run), eps, 2.0)
    return Bound(mistakes, (float(np.sum(g.losses(run))) + eps * B / 8) / (1 - eps / 2))


def mtforg_theorem2(run: BudgetRun, comparator: Comparator) -> Bound:
    """M <= 4 L + (B + 1) / (2 ln(B + 1)), for B >= 83.

    Cavallanti and Cesa-Bianchi (2012), Theorem 2.
    """
    B = _budget(run, "mtforg")
    if B < LEAST_FORGETRON:
        raise ValueError(f"Theorem 2 needs a budget of {LEAST_FORGETRON} rows or more; B = {B:g}.")
    g = _comparator(comparator)
    radius, largest = g.radius(run), largest_radius(run)
    if radius > largest * (1 + TOLERANCE):
        raise ValueError(f"The comparator has radius {radius:g}; Theorem 2 allows at most {largest:g} here.")
    right = 4 * float(np.sum(g.losses(run))) + (B + 1) / (2 * math.log(B + 1))
    return Bound(float(np.count_nonzero(run.erred)), right)


# --- premises ---


def _budget(run: BudgetRun, *algorithms: str) -> float:
    if run.learner.name not in algorithms:
        raise ValueError(f"This bound is about {' and '.join(algorithms)}, not about {run.learner.name}.")
    if run.learner.budget is not None:
        raise ValueError("The budget was given in bytes, and the theorems are about a number of rows: give B.")
    B = float(run.learner.B)
    if math.isinf(B):
        raise ValueError("The run had no budget, B = inf, and the theorems are about a finite one.")
    return B


def _given_c(run: BudgetRun) -> float:
    """c_G R with the R that the Forgetron was given, which no row may exceed."""
    given, found = float(run.learner.R), run.R
    if found > given * (1 + TOLERANCE):
        raise ValueError(f"Theorem 2 needs K'(x,x) <= R^2; the run has a row with {found**2:g} where R = {given:g}.")
    return given * math.sqrt(run.A.largest_diagonal)


def _allowed(run: BudgetRun, B: float, eps: float) -> float:
    c = run.c
    return eps * math.sqrt(B) / (2 * c) if c > 0 else math.inf


def _eps(run: BudgetRun, B: float, radius: float, eps: float | None, limit: float) -> float:
    """The given eps, or the least that the radius allows."""
    least = 2 * run.c * radius / math.sqrt(B)
    if eps is not None and not 0 <= eps < limit:
        raise ValueError(f"eps = {eps:g} must be at least 0 and below {limit:g}.")
    if least >= limit:
        largest = _allowed(run, B, limit)
        raise ValueError(f"The comparator has radius {radius:g}; with B = {B:g} it must be below {largest:g}.")
    if eps is not None and least > eps * (1 + TOLERANCE):
        largest = _allowed(run, B, eps)
        raise ValueError(f"The comparator has radius {radius:g}; eps = {eps:g} allows at most {largest:g}.")
    return least if eps is None else eps


def _expected(runs: BudgetRun | Sequence[BudgetRun]) -> tuple[BudgetRun, float]:
    """The first run, and the mean number of mistakes of all runs, which may differ in their seeds only."""
    several = [runs] if isinstance(runs, BudgetRun) else list(runs)
    if not several:
        raise ValueError("There is no run to average over; give one per seed.")
    first = several[0]
    for run in several[1:]:
        if not _same_settings(first, run):
            raise ValueError("The runs differ in more than their seeds: record one stream with the same settings.")
    return first, float(np.mean([np.count_nonzero(run.erred) for run in several]))


def _same_settings(one: BudgetRun, other: BudgetRun) -> bool:
    X, Z = csr(one.X), csr(other.X)
    return (
        (one.learner.name, one.learner.B, one.kernel, one.A.N)
        == (other.learner.name, other.learner.B, other.kernel, other.A.N)
        and np.array_equal(one.y, other.y, equal_nan=True)
        and np.array_equal(one.task, other.task)
        and X.shape == Z.shape
        and all(np.array_equal(getattr(X, name), getattr(Z, name)) for name in ("indptr", "indices", "data"))
        and np.array_equal(one.A.diagonal(), other.A.diagonal())
    )


def _comparator(comparator: Any) -> KernelComparator:
    if isinstance(comparator, KernelComparator):
        return comparator
    if isinstance(comparator, np.ndarray):
        return KernelComparator(comparator)
    raise ValueError(f"A comparator is a KernelComparator or an array of weights, not a {type(comparator).__name__}.")


def _sequence(run: BudgetRun, comparator: Any) -> list[tuple[KernelComparator, int]]:
    if not isinstance(comparator, list):
        return [(_comparator(comparator), 0)]
    if not comparator or not all(isinstance(pair, tuple) and len(pair) == 2 for pair in comparator):
        raise ValueError(
            "A shifting comparator is a list of pairs: a comparator, and the first row to which it applies."
        )
    firsts = [first for _, first in comparator]
    if firsts[0] != 0 or any(not a < b for a, b in pairwise([*firsts, len(run.y)])):
        raise ValueError(
            f"The first rows of a shifting comparator must start with 0 and increase, below {len(run.y)}: {firsts}."
        )
    return [(_comparator(g), int(first)) for g, first in comparator]
