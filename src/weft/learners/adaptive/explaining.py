"""The stack as a linear model: the weights that a feature has, for explanations and `Model.weights`.

They multiply scaled values (`row_scaling`). Clipping, and the do-no-harm layer of `auto`, are left out.
"""

from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.learners.adaptive.experts import ALPHA
from weft.learners.adaptive.state import Expert, Hyper, Part, Pooled, Stack, State, Total
from weft.storage.pairs import HASHED, find_row


def shared_weights(hyper: Hyper, state: State, features: Any) -> Floats:
    """The shared weights of some features."""
    v = state.stack[Stack.WEIGHT]
    found = _part_weights(state, state.features[features])
    if hyper.auto:
        found += v[Expert.POOLED] * state.pooled[features, Pooled.WEIGHT]
    if hyper.second_order:
        seats = state.seat[features]
        found += np.where(seats > 0, v[Expert.SECOND_ORDER] * state.seated[seats], 0.0)
    return found


def own_weights(hyper: Hyper, state: State, parts: Floats) -> Floats:
    """Own weights, from rows of own parts."""
    found = _part_weights(state, parts)
    return found + state.stack[Stack.WEIGHT, Expert.OWN] * parts[:, Part.OTHER] if hyper.auto else found


def biases(hyper: Hyper, state: State, slot: int) -> tuple[float, float]:
    """The own bias of a task, and the shared bias."""
    v = state.stack[Stack.WEIGHT]
    own = own_weights(hyper, state, state.own_bias[slot : slot + 1])
    shared = _part_weights(state, state.bias)
    if hyper.auto:
        shared += v[Expert.POOLED] * state.bias[:, Part.OTHER]
    if hyper.second_order:
        shared += v[Expert.SECOND_ORDER] * state.seated[0]
    return float(own[0]), float(shared[0])


def own_parts(state: State, slot: int, indices: Ints) -> Floats:
    """Own parts of a task for some features, zeros where a pair was never opened."""
    found = np.zeros((len(indices), state.own.shape[1]))
    layout = state.pairs.layout
    slots = np.full(len(indices), -1, np.int64)
    if layout[HASHED]:
        find_row(state.pairs.keys, state.pairs.table, state.own, slot, indices, 0, len(indices), slots)
    else:
        slots = slot * layout[0] + indices
    found[slots >= 0] = state.own[slots[slots >= 0]]
    return found


def _part_weights(state: State, parts: Floats) -> Floats:
    """What the stack makes of the gradient and the betting expert, from rows of parts."""
    v = state.stack[Stack.WEIGHT]
    bets = _bets(parts, state.totals[Total.WEIGHT])
    found: Floats = v[Expert.GRADIENT] * parts[:, Part.GRADIENT] + v[Expert.BETTING] * bets
    return found


def _bets(parts: Floats, weight: float) -> Floats:
    """`experts.bet` of many rows."""
    theta, g, largest, reward = (parts[:, column] for column in (Part.THETA, Part.G, Part.L, Part.REWARD))
    largest = np.where(largest > 0.0, weight * largest, 1.0)
    found: Floats = theta / np.maximum(g + largest, ALPHA * largest) * ((largest + reward) / largest)
    return found
