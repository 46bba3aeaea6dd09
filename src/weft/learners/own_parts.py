"""What linear learners with one weight per (task, feature) pair have in common besides their rule."""

from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.learner import Shares
from weft.storage.pairs import read_row
from weft.storage.saving import live
from weft.storage.state import Plan


def weight_matrix(state: Any, plan: Plan, tasks: int, features: int, pooled: bool = False) -> Array:
    """(tasks, features); pooled learners keep one row, which every task reads."""
    parts = live(state, plan, tasks, features)
    matrix = np.zeros((max(tasks, 1), features))
    matrix[parts["pairs"][:, 0], parts["pairs"][:, 1]] = parts["weights"]
    return np.repeat(matrix[:1], tasks, axis=0) if pooled else matrix[:tasks]


def relation_matrix(tasks: int, pooled: bool = False) -> Array:
    """Tasks that keep to themselves, or that are all one."""
    return np.ones((tasks, tasks)) if pooled else np.eye(tasks)


def shares(state: Any, slot: int, indices: Ints, pooled: bool = False) -> Shares:
    """Weights of a task that keeps to itself, or of one that has nothing but what all have."""
    weights = read_row(state.pairs, state.weights, 0 if pooled else slot, indices)
    nothing, nobody = np.zeros(len(indices)), (np.zeros(0, np.int64), np.zeros((0, len(indices))))
    return Shares(nothing, weights, *nobody) if pooled else Shares(weights, nothing, *nobody)
