"""What linear learners with one weight per (task, feature) pair have in common besides their rule."""

from typing import NamedTuple

import numpy as np

from weft.batch import Floats
from weft.pairs import Pairs, dense
from weft.state import Array, Plan, live

PLAN = Plan(axes={"weights": ("pair",)})


class OwnParts(NamedTuple):
    """One weight per pair, zero until it is touched."""

    pairs: Pairs
    weights: Floats


def blank() -> OwnParts:
    """No task, no feature, no weight."""
    return OwnParts(dense(0, 1), np.zeros(0))


def weight_matrix(state: OwnParts, plan: Plan, tasks: int, features: int, pooled: bool = False) -> Array:
    """(tasks, features); pooled learners keep one row, which every task reads."""
    parts = live(state, plan, tasks, features)
    matrix = np.zeros((max(tasks, 1), features))
    matrix[parts["pairs"][:, 0], parts["pairs"][:, 1]] = parts["weights"]
    return np.repeat(matrix[:1], tasks, axis=0) if pooled else matrix[:tasks]


def relation_matrix(tasks: int, pooled: bool = False) -> Array:
    """Tasks that keep to themselves, or that are all one."""
    return np.ones((tasks, tasks)) if pooled else np.eye(tasks)
