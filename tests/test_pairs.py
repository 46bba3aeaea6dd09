"""The index of (task, feature) pairs against a dict."""

import numpy as np
import pytest

from batches import batch_of, event, find, open_pairs
from weft import pairs
from weft.geometry import shared_rows

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
        batch = event([feature], [1.0], task)
        if not pairs.fits(index, batch, 0, 1):
            index = pairs.hashed(index.keys, len(known), 2 * len(index.keys))
        assert find(index, task, batch).tolist() == [known.get((task, feature), -1)]
        known.setdefault((task, feature), len(known))
        assert open_pairs(index, task, batch).tolist() == [known[task, feature]]
    assert index.layout[pairs.USED] == len(known)
    tasks, features = pairs.unpack(index.keys[: len(known)])
    assert list(zip(tasks.tolist(), features.tolist(), strict=True)) == list(known)
    for task, feature in [(t + 1, f) for t, f in keys] + [(t, f ^ 1) for t, f in keys]:
        assert find(index, task, event([feature], [1.0], task)).tolist() == [known.get((task, feature), -1)]


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


LAYOUTS = {
    "task-major": lambda tasks, features: (pairs.dense(features, 1), np.zeros(tasks * features)),
    "feature-major": lambda tasks, features: (pairs.dense(1, tasks), np.zeros(tasks * features)),
    "hashed": lambda tasks, features: (
        pairs.hashed(np.zeros(0, np.int64), 0, tasks * features),
        np.zeros(tasks * features),
    ),
}


def dot(index, weights, task, batch, i, slots):
    """w_task . x(i) and |x(i)|^2 as a kernel asks for them."""
    row = batch.indices, batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if index.layout[pairs.HASHED]:
        pairs.find_row(index.table, weights, task, row[0], *row[2:], slots)
        return pairs.dot_hashed(weights, *row[1:], slots)
    return pairs.dot_table(index.layout, weights, task, *row)


def add(index, weights, task, batch, i, scale, slots):
    """w_task += scale x(i) as a kernel asks for it."""
    row = batch.indices, batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if index.layout[pairs.HASHED]:
        pairs.find_row(index.table, weights, task, row[0], *row[2:], slots)
        pairs.add_hashed(*index, weights, task, *row, scale, slots)
    else:
        pairs.add_table(index.layout, weights, task, *row, scale)


def random_rows(rng, shape):
    return np.where(rng.random(shape) < 0.6, rng.integers(-3, 4, shape), 0).astype(float)


@pytest.mark.parametrize("layout", LAYOUTS)
def test_dot_and_add_against_a_matrix(layout):
    rng = np.random.default_rng(2)
    tasks, features = 5, 9
    index, weights = LAYOUTS[layout](tasks, features)
    W = np.zeros((tasks, features))
    for _ in range(60):
        x = random_rows(rng, features)
        batch, task, scale = batch_of([x]), int(rng.integers(tasks)), float(rng.integers(-2, 3))
        slots = pairs.slot_space(index, batch)
        assert dot(index, weights, task, batch, 0, slots) == (W[task] @ x, x @ x)
        add(index, weights, task, batch, 0, scale, slots)
        W[task] += scale * x


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("row", [[0, 0, 0, 0], [0, 1, 2, 3], [1, 1, 0, 2]], ids=["shared", "own", "some shared"])
def test_rounds_against_a_matrix(layout, row):
    rng = np.random.default_rng(3)
    tasks, features = 4, 6
    index, weights = LAYOUTS[layout](tasks, features)
    W = np.zeros((tasks, features))
    for _ in range(12):
        X = random_rows(rng, (4, features))
        batch = batch_of(X, row)._replace(task=rng.permutation(4))
        scores, slots = np.full(4, np.nan), pairs.slot_space(index, batch)
        pairs.dot_rows(index, weights, False, batch, 0, 4, scores)
        assert scores.tolist() == [W[batch.task[i]] @ X[row[i]] for i in range(4)]
        pairs.dot_rows(index, weights, True, batch, 0, 4, scores)
        assert scores.tolist() == [W[0] @ X[row[i]] for i in range(4)]
        for i in (1, 3):
            add(index, weights, batch.task[i], batch, i, 2.0, slots)
            W[batch.task[i]] += 2.0 * X[row[i]]


@pytest.mark.parametrize("layout", ["task-major", "feature-major"])
@pytest.mark.parametrize("order", ["side by side", "some of them", "mixed"])
def test_rounds_over_one_row_against_a_matrix(layout, order):
    rng = np.random.default_rng(4)
    tasks, features = 9, 6
    index, weights = LAYOUTS[layout](tasks, features)
    W = np.zeros((tasks, features))
    for _ in range(20):
        chosen = {"side by side": np.arange(2, 8), "some of them": np.array([0, 1, 3, 8]), "mixed": rng.permutation(9)}[
            order
        ]
        n, x = len(chosen), random_rows(rng, features)
        lo = int(rng.integers(2))
        batch = batch_of([random_rows(rng, features), x], [0] * lo + [1] * n + [0])
        batch = batch._replace(task=np.concatenate([[7] * lo, chosen, [8]]).astype(np.int64))
        scores = np.full(lo + n + 1, np.nan)
        shared_rows.dot_shared(index, weights, batch, lo, lo + n, scores)
        assert scores[lo : lo + n].tolist() == (W[chosen] @ x).tolist()
        assert np.all(np.isnan(scores[:lo]))
        assert np.isnan(scores[-1])
        steps = np.where(rng.random(n) < rng.random(), rng.integers(-2, 3, n), 0).astype(float)
        shared_rows.add_shared(index, weights, batch, lo, lo + n, steps)
        W[chosen] += steps[:, None] * x
    table = weights.reshape(tasks, features) if layout == "task-major" else weights.reshape(features, tasks).T
    assert np.array_equal(table, W)


def test_a_row_of_zeros():
    for make in LAYOUTS.values():
        index, weights = make(2, 3)
        batch = batch_of([[0.0, 0.0, 0.0]])
        slots = pairs.slot_space(index, batch)
        assert dot(index, weights, 1, batch, 0, slots) == (0.0, 0.0)
        add(index, weights, 1, batch, 0, 5.0, slots)
        assert not weights.any()
        assert index.layout[pairs.USED] == 0
