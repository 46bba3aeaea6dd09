"""The index of (task, feature) pairs against a dict."""

import numpy as np
import pytest

from batches import batch_of, event
from weft import pairs

KEYS = {
    "small": [(t, f) for t in range(8) for f in range(8)],
    "one task": [(0, f) for f in range(64)],
    "one feature": [(t, 0) for t in range(64)],
    "powers of two": [(1 << t, 1 << f) for t in range(0, 30, 4) for f in range(0, 32, 4)],
    "last features": [(t, (1 << 32) - 1 - f) for t in range(8) for f in range(8)],
    "last tasks": [((1 << 30) - t, f) for t in range(8) for f in range(8)],
    "multiples": [(t * 1024, f * 65536) for t in range(8) for f in range(8)],
    "mirrored": [(f, t) for t in range(3) for f in (0, 1, 2, 1 << 20, (1 << 30) + 1)],
}


@pytest.mark.parametrize("case", KEYS)
def test_the_index_against_a_dict(case):
    """Open pairs in random order, look all of them and others up, over several growths."""
    rng = np.random.default_rng(1)
    keys = [KEYS[case][i] for i in rng.permutation(len(KEYS[case]))]
    index, known = pairs.hashed(np.zeros(0, np.int64), 0, 4), {}
    for task, feature in [*keys, *keys[::3]]:
        batch, slots = event([feature], [1.0], task), np.empty(1, np.int64)
        if not pairs.fits(index, batch, 0, 1):
            index = pairs.hashed(index.keys, len(known), 2 * len(index.keys))
        pairs.find_row(index, task, batch, 0, slots)
        assert slots[0] == known.get((task, feature), -1)
        pairs.open_row(index, task, batch, 0, slots)
        known.setdefault((task, feature), len(known))
        assert slots[0] == known[task, feature]
    assert index.layout[pairs.USED] == len(known)
    tasks, features = pairs.unpack(index.keys[: len(known)])
    assert list(zip(tasks.tolist(), features.tolist(), strict=True)) == list(known)
    for task, feature in [(t + 1, f) for t, f in keys] + [(t, f ^ 1) for t, f in keys]:
        slots = np.empty(1, np.int64)
        pairs.find_row(index, task, event([feature], [1.0], task), 0, slots)
        assert slots[0] == known.get((task, feature), -1)


def test_pack_and_unpack():
    tasks, features = np.array([0, 1, 2**30, 7]), np.array([0, 2**32 - 1, 5, 2**31])
    keys = pairs.pack(tasks, features)
    assert len(set(keys.tolist())) == 4
    assert np.all(keys >= 0)
    back = pairs.unpack(keys)
    assert np.array_equal(back[0], tasks)
    assert np.array_equal(back[1], features)


def test_a_table_is_never_more_than_half_full():
    for capacity in [0, 1, 2, 3, 7, 8, 9, 100, 1024, 1025]:
        size = len(pairs.hashed(np.zeros(0, np.int64), 0, capacity).table)
        assert size >= 2 * capacity
        assert size & (size - 1) == 0


def test_fits_counts_every_pair_that_could_be_opened():
    index = pairs.hashed(np.zeros(0, np.int64), 0, 5)
    batch = batch_of([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0, 0.0, 0.0]])
    assert pairs.fits(index, batch, 0, 2)
    assert not pairs.fits(index, batch, 0, 3)
    assert pairs.fits(index, batch, 2, 2)
    assert pairs.fits(pairs.dense(3, 1), batch, 0, 3)  # a table has room for all


LAYOUTS = {
    "task-major": lambda tasks, features: (pairs.dense(features, 1), np.zeros(tasks * features)),
    "feature-major": lambda tasks, features: (pairs.dense(1, tasks), np.zeros(tasks * features)),
    "hashed": lambda tasks, features: (
        pairs.hashed(np.zeros(0, np.int64), 0, tasks * features),
        np.zeros(tasks * features),
    ),
}


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dot_and_add_against_a_matrix(layout):
    rng = np.random.default_rng(2)
    tasks, features = 5, 9
    index, weights = LAYOUTS[layout](tasks, features)
    W = np.zeros((tasks, features))
    for step in range(60):
        x = np.where(rng.random(features) < 0.5, rng.integers(-3, 4, features), 0).astype(float)
        batch, task, scale = batch_of([x]), int(rng.integers(tasks)), float(rng.integers(-2, 3))
        slots = pairs.slot_space(index, batch)
        assert pairs.dot(index, weights, task, batch, 0, slots) == W[task] @ x
        fresh = bool(step % 2)
        if not fresh and len(slots):
            slots[:] = 12345  # what `dot` left there may be gone
        pairs.add(index, weights, task, batch, 0, scale, slots, fresh)
        W[task] += scale * x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", [[0, 0, 0, 0], [0, 1, 2, 3], [1, 1, 0, 2]], ids=["shared", "own", "some shared"])
def test_rounds_against_a_matrix(layout, row):
    rng = np.random.default_rng(3)
    tasks, features = 4, 6
    index, weights = LAYOUTS[layout](tasks, features)
    W = np.zeros((tasks, features))
    for _ in range(12):
        X = np.where(rng.random((4, features)) < 0.6, rng.integers(-3, 4, (4, features)), 0).astype(float)
        batch = batch_of(X, row)._replace(task=rng.permutation(4))
        scores, slots = np.full(4, np.nan), pairs.slot_space(index, batch)
        expected = [W[batch.task[i]] @ X[row[i]] for i in range(4)]
        pairs.dot_round(index, weights, batch, 0, 4, scores, slots)
        assert scores.tolist() == expected
        pairs.dot_rows(index, weights, False, batch, 0, 4, scores)
        assert scores.tolist() == expected
        pairs.dot_rows(index, weights, True, batch, 0, 4, scores)
        assert scores.tolist() == [W[0] @ X[row[i]] for i in range(4)]
        for i in (1, 3):
            pairs.add(index, weights, batch.task[i], batch, batch.row[i], 2.0, slots, False)
            W[batch.task[i]] += 2.0 * X[row[i]]


def test_a_row_of_zeros():
    for make in LAYOUTS.values():
        index, weights = make(2, 3)
        batch = batch_of([[0.0, 0.0, 0.0]])
        slots = pairs.slot_space(index, batch)
        assert pairs.dot(index, weights, 1, batch, 0, slots) == 0.0
        pairs.add(index, weights, 1, batch, 0, 5.0, slots, False)
        assert not weights.any()
        assert index.layout[pairs.USED] == 0
