"""Tasks that predict a point: the uniclass loss, where the row itself is to be predicted (Dekel et al. 2007, Sec. 2).

A point has all coordinates, so that its weights are always a table that goes task by task.
"""

import math

from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import inlined_only
from weft.storage.own import OwnWeights
from weft.storage.pairs import TASK_STRIDE


@inlined_only
def distance(own: Bundle[OwnWeights], i: int) -> float:
    """|z - w|, the score of a task that predicts the point z."""
    (layout, _, _), weights, _, batch, _ = opened(own)
    width, e, end, total = layout[TASK_STRIDE], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1], 0.0
    base = batch.task[i] * width
    for f in range(width):
        gap = -weights[base + f]
        if e < end and batch.indices[e] == f:
            gap += batch.values[e]
            e += 1
        total += gap * gap
    return math.sqrt(total)


@inlined_only
def approach(own: Bundle[OwnWeights], i: int, share: float) -> None:
    """w += share (z - w): the step tau along (z - w)/|z - w|, with share = tau/|z - w|."""
    (layout, _, _), weights, _, batch, _ = opened(own)
    width, e, end = layout[TASK_STRIDE], batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    base = batch.task[i] * width
    for f in range(width):
        gap = -weights[base + f]
        if e < end and batch.indices[e] == f:
            gap += batch.values[e]
            e += 1
        weights[base + f] += share * gap
