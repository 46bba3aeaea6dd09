"""Rows against the numbers of pairs, in tables and in regions, against matrices."""

import numpy as np
import pytest

from batches import batch_of, open_pairs
from weft.learners.shared_loss import shared_rows
from weft.storage import arena, own, pair_rows, pairs, regions


def test_pack_and_unpack():
    tasks, features = np.array([0, 1, 2**30, 7]), np.array([0, 2**32 - 1, 5, 2**31])
    keys = pairs.pack(tasks, features)
    assert len(set(keys.tolist())) == 4
    assert np.all(keys >= 0)
    back = pairs.unpack(keys)
    assert np.array_equal(back[0], tasks)
    assert np.array_equal(back[1], features)


LAYOUTS = {
    "task-major": lambda tasks, features: (pairs.dense(features, 1), np.zeros(tasks * features)),
    "feature-major": lambda tasks, features: (pairs.dense(1, tasks), np.zeros(tasks * features)),
    "hashed": lambda tasks, features: roomy(tasks, features),
}


def roomy(tasks, features):
    """Regions with room for every pair, and their weights."""
    index = arena.hashed(np.zeros((0, 2), np.int64), tasks)
    batch = batch_of(np.ones((1, features)), [0] * tasks)
    index = arena.make_room(index, batch, 0, features)
    assert regions.fits(index, batch, 0, tasks)
    return index, np.zeros(index.layout[pairs.ROOM])


def dot(index, weights, task, batch, i, slots):
    """w_task . x(i) and |x(i)|^2 as a kernel asks for them."""
    row = batch.indices, batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if index.layout[pairs.HASHED]:
        pairs.find_row(*index[1:], weights, task, row[0], *row[2:], slots)
        return pair_rows.dot_hashed(weights, *row[1:], slots)
    return pair_rows.dot_table(index.layout, weights, task, *row)


def add(index, weights, task, batch, i, scale, slots):
    """w_task += scale x(i) as a kernel asks for it."""
    row = batch.indices, batch.values, batch.indptr[batch.row[i]], batch.indptr[batch.row[i] + 1]
    if index.layout[pairs.HASHED]:
        pairs.find_row(*index[1:], weights, task, row[0], *row[2:], slots)
        pairs.open_row(*index, task, row[0], *row[2:], slots)
        pair_rows.add_slots(weights, *row[1:], scale, slots)
    else:
        pair_rows.add_table(index.layout, weights, task, *row, scale)


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


@pytest.mark.parametrize("runs", [True, False])
@pytest.mark.parametrize("layout", LAYOUTS)
def test_several_numbers_per_pair_against_matrices(layout, runs):
    """Read, add and add squares in two arrays over the same pairs, for rows with and without gaps."""
    rng = np.random.default_rng(7)
    tasks, features = 5, 11
    index, first = LAYOUTS[layout](tasks, features)
    second = np.zeros_like(first)
    A, B = np.zeros((tasks, features)), np.zeros((tasks, features))
    for _ in range(60):
        task, a, b = int(rng.integers(tasks)), *sorted(rng.integers(0, features + 1, 2))
        x = random_rows(rng, features)
        if runs:
            x = np.where((np.arange(features) >= a) & (np.arange(features) < b), rng.integers(1, 4, features), 0.0)
        batch, at, table = batch_of([x]), np.flatnonzero(x), index.layout
        n, found, changes = len(at), np.full(features, np.nan), rng.integers(-3, 4, len(at)).astype(float)
        if index.layout[pairs.HASHED]:
            slots = open_pairs(index, task, batch)
            pair_rows.read_slots(second, n, slots, found)
            pair_rows.add_slots(first, changes, 0, n, 2.0, slots)
            pair_rows.square_slots(second, batch.values, 0, n, slots)
        else:
            pair_rows.read_table(table, second, task, batch.indices, 0, n, found)
            pair_rows.add_table_changes(table, first, task, batch.indices, 0, n, changes, 2.0)
            pair_rows.square_table(table, second, task, batch.indices, batch.values, 0, n)
        assert found[:n].tolist() == B[task, at].tolist()
        assert np.all(np.isnan(found[n:]))
        assert pair_rows.dot_changes(changes, batch.values, 0, n) == changes @ x[at]
        A[task, at] += 2.0 * changes
        B[task, at] += x[at] ** 2
    for numbers, expected in ((first, A), (second, B)):
        read = [pairs.read_row(index, numbers, task, np.arange(features)) for task in range(tasks)]
        assert np.array_equal(read, expected)


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
        own.score_batch(index, weights, batch, False, scores)
        assert scores.tolist() == [W[batch.task[i]] @ X[row[i]] for i in range(4)]
        own.score_batch(index, weights, batch, True, scores)
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
