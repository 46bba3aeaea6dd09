"""The arithmetic of merging, against what its table says, number by number."""

import math

import numpy as np
import pytest

from weft.cluster.merging import ShardRows, merged, rebased
from weft.exchange import Exchanged, Merge

COLUMNS = (
    Merge.SUM,
    Merge.GAIN,
    Merge.STEP,
    Merge.SUM,
    Merge.MEAN,
    Merge.MEAN_FROM_0,
    Merge.LARGEST,
    Merge.LEAST,
    None,
)
ITEM = Exchanged("x", COLUMNS, {2: 3})


def one(how, x, found, squares=None, total=None):
    """One number, by the definition."""
    moves = [value - x for value in found]
    return {
        Merge.SUM: x + sum(moves),
        Merge.GAIN: max(x + sum(moves), 0.0),
        Merge.MEAN: x + sum(moves) / len(moves),
        Merge.MEAN_FROM_0: max(x + sum(moves) / len(moves), 0.0),
        Merge.LARGEST: max(x, *found),
        Merge.LEAST: min(x, *found),
        None: x,
        Merge.STEP: x + sum(m * math.sqrt(h / total) for m, h in zip(moves, squares or [1.0] * 9, strict=False))
        if total
        else 0,
    }[how]


@pytest.mark.parametrize("kind", [np.float64, np.float32])
def test_every_number_is_merged_as_its_column_says(kind):
    rng = np.random.default_rng(4)
    base = rng.normal(size=(12, 9)).astype(kind)
    base[:, [1, 3, 5]] **= 2  # never below 0
    where = [np.array([0, 1, 2, 5, 7]), np.array([1, 2, 3, 7]), np.array([2, 7, 9])]
    shards = [ShardRows(at, (base[at] + rng.normal(size=(len(at), 9))).astype(kind)) for at in where]
    for shard in shards:
        shard.rows[:, 3] = base[shard.at, 3] + rng.random(len(shard.at))
    found = merged(ITEM, base, shards)
    assert found.dtype == kind
    for row in range(12):
        having = [shard.rows[shard.at == row][0].astype(np.float64) for shard in shards if row in shard.at]
        if not having:
            np.testing.assert_array_equal(found[row], base[row])
        elif len(having) == 1:
            np.testing.assert_array_equal(found[row], having[0])
        else:
            x = base[row].astype(np.float64)
            total = one(Merge.SUM, x[3], [rows[3] for rows in having])
            for at, how in enumerate(COLUMNS):
                expected = one(how, x[at], [rows[at] for rows in having], [rows[3] for rows in having], total)
                assert found[row, at] == pytest.approx(expected, rel=1e-6 if kind == np.float32 else 1e-12)


def test_a_block_on_another_base_changes_as_much():
    before, after = np.array([[1.0] * 9]), np.array([[3.0] * 9])
    found = rebased(ITEM, np.array([[-5.0] * 9]), before, after)
    assert found.tolist() == [[-3.0, 0.0, -3.0, -3.0, -3.0, 0.0, 3.0, -5.0, -5.0]]
