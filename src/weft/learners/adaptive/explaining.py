"""The stack as a linear model: the weights that a feature has, for explanations and `Model.weights`.

They multiply scaled values (`row_scaling`). What clipping and the do-no-harm layer of `auto` change of a score are
amounts of their own (`amounts`).
"""

from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.learners.adaptive.experts import ALPHA
from weft.learners.adaptive.stacking import SMAX
from weft.learners.adaptive.state import Expert, Hyper, Part, Pooled, State, Total
from weft.learners.adaptive.two_stacks import weights_of_stack
from weft.storage.pairs import HASHED, find_row


class Scales(NamedTuple):
    """From the stack to the answer: the prediction, that of the stack, and the scale of labels."""

    p: float
    stack: float  # its score, clipped to the range of labels with squared loss
    mu: float
    sd: float
    answer: float


NAMED = {
    "counts": (Expert.BAYES,),
    "low rank": (Expert.LOW_RANK,),
    "recent level": (Expert.LEVEL, Expert.LEVEL + 1, Expert.LEVEL + 2),
    "own correlations": (Expert.SECOND_OWN,),
    "shared correlations": (Expert.SECOND_POOLED,),
    "interactions": (Expert.GRID,),
    "recent correlations": (Expert.FADING,),
}
"""Experts that are neither own nor shared parts, by what they add to a score."""


def amounts(hyper: Hyper, state: State, e: Floats, scales: Scales, parts: tuple[float, float]) -> dict[str, float]:
    """What adds up to the answer: own and shared parts of the stack, other experts, clipping, mixing, and the mean."""
    v, unit = weights_of_stack(state.stack, hyper.square), scales.sd
    found = {"own": unit * parts[0], "shared": unit * parts[1]}
    for name, experts in NAMED.items():
        if max(experts) < len(v) and np.any(e[list(experts)]):
            found[name] = unit * float(v[list(experts)] @ e[list(experts)])
    s = float(v @ np.clip(e, -SMAX, SMAX))
    found["clipping"] = unit * (s - float(v @ e))
    if hyper.square:
        found["mean of labels"] = scales.mu
        found["clipping"] += unit * (scales.stack - s)
        found["mixing"] = unit * (scales.p - scales.stack)
        found["clipping"] += scales.answer - (scales.mu + unit * scales.p)
    else:
        found["mixing"] = scales.answer - s
    return found


def shared_weights(hyper: Hyper, state: State, features: Any) -> Floats:
    """The shared weights of some features."""
    v = weights_of_stack(state.stack, hyper.square)
    found = _part_weights(hyper, state, state.features[features])
    if hyper.auto:
        found += v[Expert.POOLED] * state.pooled[features, Pooled.WEIGHT]
    if hyper.forget:
        found += v[Expert.FORGET] * state.pooled[features, Pooled.FORGET]
    if hyper.second_order:
        seats = state.seat[features]
        found += np.where(seats > 0, v[Expert.SECOND_ORDER] * state.seated[seats], 0.0)
    return found


def own_weights(hyper: Hyper, state: State, parts: Floats) -> Floats:
    """Own weights, from rows of own parts."""
    v = weights_of_stack(state.stack, hyper.square)
    found = _part_weights(hyper, state, parts)
    if hyper.auto:
        found += v[Expert.OWN] * parts[:, Part.OTHER]
    if hyper.forget:
        found += v[Expert.FORGET] * parts[:, Part.FORGET]
    return found


def further_weights(hyper: Hyper, state: State, tasks: int, features: int) -> Floats:
    """(tasks, features): the weights of experts that are linear, and neither own nor shared."""
    v, found = weights_of_stack(state.stack, hyper.square), np.zeros((tasks, features))
    if hyper.low_rank:
        found += state.pooled[:features, Pooled.FACTOR]
        for f in range(hyper.rank):  # not by BLAS, whose bits depend on where a task stands
            found += state.task_factors[:tasks, f, None] * state.factors[:features, f].astype(np.float64)
        found *= v[Expert.LOW_RANK]
    if hyper.second:
        seats, m = state.seat[:features], state.matrix_of[:tasks]
        own = np.where(m[:, None] > 0, state.matrix_weights[m], 0.0)[:, seats]
        seated = v[Expert.SECOND_OWN] * own + v[Expert.SECOND_POOLED] * state.matrix_weights[0, seats]
        found += np.where(seats > 0, seated, 0.0)
    if hyper.fading:
        seats = state.seat[:features]
        found += np.where(seats > 0, v[Expert.FADING] * state.fading_weights[seats], 0.0)
    return found


def biases(hyper: Hyper, state: State, slot: int) -> tuple[float, float]:
    """The own bias of a task, and the shared bias."""
    v = weights_of_stack(state.stack, hyper.square)
    own = own_weights(hyper, state, state.own_bias[slot : slot + 1])
    shared = _part_weights(hyper, state, state.bias)
    if hyper.auto:
        shared += v[Expert.POOLED] * state.bias[:, Part.OTHER]
    if hyper.forget:
        shared += v[Expert.FORGET] * state.bias[:, Part.FORGET]
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


def _part_weights(hyper: Hyper, state: State, parts: Floats) -> Floats:
    """What the stack makes of the gradient and the betting expert, from rows of parts."""
    v = weights_of_stack(state.stack, hyper.square)
    bets = _bets(parts, state.totals[Total.WEIGHT], hyper.floor)
    found: Floats = v[Expert.GRADIENT] * parts[:, Part.GRADIENT] + v[Expert.BETTING] * bets
    return found


def _bets(parts: Floats, weight: float, floor: float) -> Floats:
    """`experts.bet` of many rows."""
    theta, g, largest, reward = (parts[:, column] for column in (Part.THETA, Part.G, Part.L, Part.REWARD))
    largest = np.maximum(weight * largest, weight * floor)
    largest = np.where(largest > 0.0, largest, 1.0)
    found: Floats = theta / np.maximum(g + largest, ALPHA * largest) * ((largest + reward) / largest)
    return found
