r"""How the numbers of several shards become one: the arithmetic of `weft.exchange.Merge`, in the order of shards.

With x the number that all began with, x_s that of shard s after its block, and the sums of squared gradients H,

    SUM    x + sum_s (x_s - x)              STEP   x + sum_s (x_s - x) sqrt(H_s / H'),   H' the merged sum
    MEAN   x + sum_s (x_s - x) / n          LARGEST, LEAST   of all x_s
    TURN   x_s of shard s = v mod n, v the number of the version

over the n shards that touched it. What one shard alone has touched is taken as it is. A step of AdaGrad is a gradient
over sqrt(H), with H what its shard had seen: with sqrt(H') it is about as long as in one process.
"""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.exchange import Exchanged, Merge

FROM_0 = (Merge.GAIN, Merge.MEAN_FROM_0)


class ShardRows(NamedTuple):
    """The rows of a shard, which of the rows that are merged they are, and H_s / H' where all numbers have one."""

    at: Ints
    rows: Array
    share: float = 1.0


def merged(item: Exchanged, base: Array, shards: list[ShardRows], turn: int = 0) -> Array:
    """The merged rows, from those that all began with; `base` and those of the shards have the columns of `item`."""
    start = np.array(base, np.float64)
    found, touches = start.copy(), np.zeros((len(base), 1))
    for shard in shards:
        touches[shard.at] += 1.0
    afters = [_everywhere(start, shard) for shard in shards]
    added = _columns(item, Merge.SUM, Merge.GAIN)
    for how, columns in [(None, added), *((how, _columns(item, how)) for how in (Merge.LARGEST, Merge.LEAST))]:
        for after in afters if len(columns) else ():
            if how is None:
                found[:, columns] += after[:, columns] - start[:, columns]
            else:
                bound = np.maximum if how is Merge.LARGEST else np.minimum
                found[:, columns] = bound(found[:, columns], after[:, columns])
    means, steps = _columns(item, Merge.MEAN, Merge.MEAN_FROM_0), _columns(item, Merge.STEP)
    for shard, after in zip(shards, afters, strict=True):
        if len(means):
            found[:, means] += (after[:, means] - start[:, means]) / np.maximum(touches, 1.0)
        if len(steps):
            found[:, steps] += (after[:, steps] - start[:, steps]) * _shares(item, steps, shard, after, found)
    taken = _columns(item, Merge.TURN)
    if len(taken) and shards:
        at = shards[turn % len(shards)].at
        found[np.ix_(at, taken)] = shards[turn % len(shards)].rows[:, taken]
    floored = _columns(item, *FROM_0)
    found[:, floored] = np.maximum(found[:, floored], 0.0)
    for shard in shards:
        alone = touches[shard.at, 0] == 1.0
        found[shard.at[alone]] = shard.rows[alone]
    return found.astype(base.dtype)


def _columns(item: Exchanged, *hows: Merge) -> Ints:
    """The columns that are merged in one of these ways."""
    return np.array([at for at, how in enumerate(item.columns) if how in hows], np.int64)


def _everywhere(start: Floats, shard: ShardRows) -> Floats:
    """The rows of a shard among all that are merged: those that it did not touch are as they were."""
    after = start.copy()
    after[shard.at] = shard.rows
    return after


def _shares(item: Exchanged, steps: Ints, shard: ShardRows, after: Floats, found: Floats) -> Floats | float:
    """sqrt(H_s / H') of steps; the sums of squares are merged already."""
    if item.all_squares is not None:
        return math.sqrt(shard.share)
    squares = [item.squares[at] for at in steps.tolist()]
    own, total = after[:, squares], found[:, squares]
    shares: Floats = np.sqrt(np.divide(own, total, out=np.ones(own.shape), where=total > 0.0))
    return shares


def rebased(item: Exchanged, base: Array, before: Array, after: Array) -> Array:
    """What a shard would have after a block that it had begun with `base` and not with `before`."""
    found = np.array(base, np.float64)
    for column, how in enumerate(item.columns):
        if how is Merge.LARGEST:
            found[:, column] = np.maximum(base[:, column], after[:, column])
        elif how is Merge.LEAST:
            found[:, column] = np.minimum(base[:, column], after[:, column])
        elif how is Merge.TURN:
            found[:, column] = after[:, column]
        elif how is not None:
            found[:, column] += after[:, column].astype(np.float64) - before[:, column]
            if how in FROM_0:
                found[:, column] = np.maximum(found[:, column], 0.0)
    return found.astype(base.dtype)
