"""A batch cut by tasks, and pieces of regions for every part: nothing is lost, and no two parts have the same place."""

from itertools import pairwise

import numpy as np
import pytest

import weft
from weft.storage import pairs, shards
from weft.storage.batch import Batch
from weft.storage.pairs import BASE, CLASSES, COUNT, END, FREE, ROOM, ROWS, SIZE, USED
from weft.threads import parallel


def batch(tasks, lengths, weight=()):
    indptr = np.concatenate([[0], np.cumsum(lengths)])
    count = len(tasks)
    return Batch(
        task=np.array(tasks),
        label=np.arange(float(count)),
        row=np.arange(count),
        indptr=indptr,
        indices=np.arange(indptr[-1]),
        values=np.ones(indptr[-1]),
        rounds=np.arange(count + 1),
        weight=np.array(weight, float),
    )


def no_trace():
    return np.zeros((0, 4))


def test_shards_hold_every_example_once_in_order_and_no_task_twice():
    rng = np.random.default_rng(0)
    whole = batch(rng.integers(0, 30, 500), rng.integers(0, 9, 500))
    found = shards.by_task(whole, 4, no_trace())
    assert len(found) == 4
    assert sorted(np.concatenate([shard.examples for shard in found])) == list(range(500))
    owners = [set(shard.batch.task.tolist()) for shard in found]
    assert sum(map(len, owners)) == len(set.union(*owners))
    for shard in found:
        assert np.all(np.diff(shard.examples) > 0)
        assert np.array_equal(shard.batch.label, whole.label[shard.examples])
        assert np.array_equal(shard.batch.row, whole.row[shard.examples])
    sizes = [int(np.sum(np.diff(whole.indptr)[shard.batch.row])) for shard in found]
    assert max(sizes) < 1.5 * min(sizes)


def test_one_task_is_one_shard():
    assert len(shards.by_task(batch([3] * 20, [2] * 20), 3, no_trace())) == 1


@pytest.mark.parametrize("window", [1, 3, 100])
def test_weights_of_examples_go_along(window):
    whole = batch([0, 1] * 10, [1] * 20, weight=np.arange(20) / 4)
    for shard in shards.by_task(whole, 2, no_trace()):
        assert np.array_equal(shard.batch.weight, whole.weight[shard.examples])
        parts = [parallel._part(shard.batch, lo, min(lo + window, 10)) for lo in range(0, 10, window)]
        assert np.array_equal(np.concatenate([part.weight for part in parts]), shard.batch.weight)
    assert all(len(shard.batch.weight) == 0 for shard in shards.by_task(batch([0, 1], [1, 1]), 2, no_trace()))


def free_regions(state):
    """The first key and the size of every free region."""
    found = []
    for number, first in enumerate(state.pairs.layout[FREE:].tolist()):
        while first:
            found.append((first, shards.size_of(number)))
            first = int(state.pairs.keys[first])
    return found


def test_free_regions_of_another_layout_come_first():
    """Chains of several, of one and of none, before chains of several and of none."""
    layout, other, keys = (
        np.zeros(FREE + CLASSES, np.int64),
        np.zeros(FREE + CLASSES, np.int64),
        np.zeros(99, np.uint64),
    )
    chains = {0: ([10, 20, 30], [40, 50]), 1: ([60], []), 2: ([], [70, 80]), 3: ([12, 14], [16])}
    for number, both in chains.items():
        for heads, chain in zip((other, layout), both, strict=True):
            heads[FREE + number] = chain[0] if chain else 0
            for first, second in pairwise(chain):
                keys[first] = second
    shards.join_free(layout, keys, other)
    for number, (new, old) in chains.items():
        found, first = [], int(layout[FREE + number])
        while first:
            found.append(first)
            first = int(keys[first])
        assert found == new + old
    assert keys[0] == 0


def test_regions_stay_apart(monkeypatch):
    """No key belongs to two regions, no row to two pairs, and nothing lies behind the ends."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 100)
    monkeypatch.setattr(parallel, "LEAST_NONZEROS", 8)
    monkeypatch.setenv(parallel.VARIABLE, "3")
    rng, model = np.random.default_rng(1), weft.Model("arow")
    for _ in range(6):
        rows = [{f"f{j}": 1.0 for j in rng.integers(0, 400, 12)} for _ in range(600)]
        model.learn(weft.Stream(rows, rng.choice([-1, 1], 600), [f"t{k}" for k in rng.integers(0, 50, 600)]))
        layout, keys, table = model.state.pairs
        assert layout[pairs.HASHED]
        taken = [(int(row[BASE]), int(row[SIZE])) for row in table if row[SIZE]] + free_regions(model.state)
        places = np.concatenate([np.arange(first, first + size) for first, size in taken])
        assert len(np.unique(places)) == len(places)
        assert places.max() < layout[END]
        assert not np.any(keys[layout[END] :])
        used = np.concatenate([keys[row[BASE] : row[BASE] + row[SIZE]] for row in table])
        rows_of = used[used != 0] & np.uint64(0xFFFFFFFF)
        assert len(np.unique(rows_of)) == len(rows_of) == layout[USED] == table[:, COUNT].sum()
        assert 0 < rows_of.min() <= rows_of.max() < layout[ROWS] <= layout[ROOM] <= len(model.state.weights)
        assert not np.any(model.state.weights[layout[ROWS] :])
