"""The state and the parameters of `romco-nucl` and `romco-logd`, as files have them and as compiled code takes them."""

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.learners.low_rank.personal import LENGTHS, Personal
from weft.learners.low_rank.pieces import COUNTS, NONZEROS, ROOM, USED, LowRank
from weft.storage.state import Plan

SCHEDULES = ("constant", "sqrt", "geometric")
CONSTANT, SQRT, GEOMETRIC = range(3)
SCALARS = 3
T, NUCLEAR, LENGTH_SUM = range(SCALARS)
"""Positions in `scalars`: labelled rounds, the sum of U's singular values, the sum of the lengths of V's columns."""

TRACE = ("loss", "moved", "n2", "penalty")


def _check_rows(arrays: Mapping[str, Any], sizes: Mapping[str, int]) -> None:
    """Rows of X begin one after the other, and none of them is empty."""
    begins, (rows, numbers) = arrays["begins"], arrays["used"].tolist()
    ends = np.append(begins[1:], numbers)
    if (rows == 0) != (numbers == 0) or (rows and begins[0] != 0) or np.any(ends <= begins):
        raise ValueError("the state's begins are not where rows can begin")


PLAN = Plan(
    axes={
        "B": ("feature", "task"),
        "S": ("task", "task"),
        "C": ("support", "task"),
        "G": ("task", "task"),
        "begins": ("support",),
        "indices": ("nonzero",),
        "values": ("nonzero",),
        "used": (USED,),
        "counts": (COUNTS,),
        "V": ("task", "feature"),
        "lengths": ("task", LENGTHS),
        "scalars": (SCALARS,),
    },
    names={"indices": "feature"},
    counts={"counts": ("feature", "task", 1)},
    counters={"scalars": (T,)},
    scratch={"space": ("feature",)},
    most={"support": ROOM, "nonzero": NONZEROS},
    check=_check_rows,
)


class Model(NamedTuple):
    """What the rounds change."""

    U: LowRank
    V: Personal
    scalars: Floats


class Parts(NamedTuple):
    """The state: U as the arrays of a `LowRank`, V as those of `Personal`, and the scalars."""

    B: Floats
    S: Floats
    C: Floats
    G: Floats
    begins: Ints
    indices: Ints
    values: Floats
    used: Ints
    counts: Ints
    V: Floats
    lengths: Floats
    scalars: Floats
    space: Floats

    @property
    def U(self) -> LowRank:
        """The low-rank part."""
        return LowRank(*self[:9])

    @property
    def personal(self) -> Personal:
        """The personal part."""
        return Personal(self.V, self.lengths)

    @property
    def model(self) -> Model:
        """All of it, as compiled code takes it."""
        return Model(self.U, self.personal, self.scalars)


class Hyper(NamedTuple):
    eta1: float
    eta2: float
    rho: float
    tau: float
    lam1: float
    lam2: float
    schedule: int
    kappa: float
    rho_only: bool
    always_prox: bool
    logd: bool
