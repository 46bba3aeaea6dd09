"""What a state in a file must satisfy: numbers that follow from the parameters and from counts are those that follow.

Compiled code reads them as if it had computed them itself, so a file that contradicts its parameters is refused.
"""

from collections.abc import Mapping, Sequence

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learners.descent import cliques_ball, dual_growth, table
from weft.learners.descent.mirror_rule import MirrorRule
from weft.learners.descent.positions import CliqueScalar, Count, DualScalar, TableScalar
from weft.learners.descent.rule import Rule

Arrays = Mapping[str, Array]
Sizes = Mapping[str, int]

ROUNDING = 1e-9
"""How far apart two processors may be: logarithms and powers differ in their last bits."""
SCALE = 0
"""Position of the factor s in the scalars of cliques and graphs."""


def check_cliques(rule: Rule, arrays: Arrays, sizes: Sizes) -> None:
    """Of `cliques`."""
    S, scalars, N = CliqueScalar, arrays["scalars"], _tuned(arrays["counts"])
    wanted = cliques_ball.numbers_for(rule, N) if N else (0.0,) * 5
    _expect(scalars[[S.ETA, S.B, S.OWN, S.SHARED, S.LIMIT]], wanted)
    _expect_factor(scalars[S.SCALE])


def check_factor(arrays: Arrays, sizes: Sizes) -> None:
    """Of `graph`, where nothing else follows from the parameters."""
    _expect_factor(arrays["scalars"][SCALE])


def check_table(rule: Rule, arrays: Arrays, sizes: Sizes) -> None:
    """Of `table`."""
    S, scalars, N = TableScalar, arrays["scalars"], _tuned(arrays["counts"])
    _expect(scalars[[S.ETA, S.B, S.OWN, S.SHARED]], table.numbers_for(rule, N) if N else (0.0,) * 4)
    _expect_positive(scalars[S.LARGEST], N)
    if not np.all(np.abs(arrays["X"]) <= (1.0 + ROUNDING) * rule.D):  # searches for a projection would not end soon
        raise ValueError(f"the state has models beyond their balls of radius {rule.D:g}")


def check_dual(rule: MirrorRule, arrays: Arrays, sizes: Sizes) -> None:
    """Of `dual_table`."""
    S, scalars, counts = DualScalar, arrays["scalars"], arrays["counts"]
    N, d = _tuned(counts), int(counts[Count.FEATURES])
    if d != int(arrays["known"].sum()):
        raise ValueError("the state's count of features is not that of the features that count")
    which: list[int] = [S.ETA, S.B, S.OWN, S.SHARED, S.LARGEST, S.P]
    wanted: tuple[float, ...] = (0.0,) * 6
    if N:
        root = np.eye(N) if rule.graph else np.zeros((0, 0))
        wanted = dual_growth.numbers_for(rule, root, N, d)
    if rule.graph:  # the rate and max A^-1_ii follow from the graph, which is not in the arrays
        which, wanted = [S.B, S.OWN, S.SHARED, S.P], (*wanted[1:4], wanted[5])
        _expect_positive(scalars[S.LARGEST], N)
    _expect(scalars[which], wanted)
    _expect_factor(scalars[S.SCALE])


def check_tables(rules: Sequence[Rule], arrays: Arrays, sizes: Sizes) -> None:
    """Of Hedge over tables, an expert per rule."""
    _expect_equal(arrays["counts"])
    for k, rule in enumerate(rules):
        check_table(rule, {name: arrays[name][k] for name in ("counts", "scalars", "X")}, sizes)


def check_duals(rules: Sequence[MirrorRule], arrays: Arrays, sizes: Sizes) -> None:
    """Of Hedge over tables of dual vectors, an expert per rule."""
    _expect_equal(arrays["counts"])
    for k, rule in enumerate(rules):
        check_dual(rule, {name: arrays[name][k] for name in ("counts", "scalars", "known")}, sizes)


def _tuned(counts: Ints) -> int:
    """For how many tasks the scalars hold: all of them, or none yet."""
    if counts[Count.TUNED] not in (0, counts[Count.TASKS]):
        raise ValueError("the state's scalars are those of another number of tasks")
    return int(counts[Count.TUNED])


def _expect(found: Floats, wanted: Sequence[float]) -> None:
    if not np.allclose(found, wanted, rtol=ROUNDING, atol=0.0, equal_nan=True):
        raise ValueError(f"the state's scalars {found.tolist()} do not follow from the parameters: {list(wanted)}")


def _expect_factor(found: float) -> None:
    if not 0.0 < found <= 1.0:
        raise ValueError(f"the state's factor is {found:g}, not a number above 0 and up to 1")


def _expect_positive(found: float, N: int) -> None:
    if not 0.0 < found < np.inf and not (N == 0 and found == 0.0):
        raise ValueError(f"the state's largest entry of A^-1 is {found:g}, not a positive number")


def _expect_equal(counts: Ints) -> None:
    if np.any(counts != counts[:1]):
        raise ValueError("the state's experts have counted different things")
