"""One weight per (task, feature) pair: the state of linear learners that keep nothing else."""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.storage.pairs import Pairs, dense
from weft.storage.state import Plan

PLAN = Plan(axes={"weights": ("pair",)})


class OwnParts(NamedTuple):
    """One weight per pair, zero until it is touched."""

    pairs: Pairs
    weights: Floats


def blank() -> OwnParts:
    """No task, no feature, no weight."""
    return OwnParts(dense(0, 1), np.zeros(0))
