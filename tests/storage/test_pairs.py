"""The index of (task, feature) pairs against a dict."""

import numpy as np
import pytest

from batches import batch_of, event, find, open_pairs
from weft.learners.shared_loss import shared_rows
from weft.storage import arena, own, pair_rows, pairs, regions

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


def grown(index, batch, features=1 << 32):
    """Regions with room for the batch's round."""
    moves = arena.make_room(index, batch, 0, features)
    return index if moves is None else moves.pairs


def no_pairs(tasks, pooled=False):
    return arena.hashed(np.zeros(0, np.int64), tasks, pooled)[0]


@pytest.mark.parametrize("case", KEYS)
def test_regions_against_a_dict(case):
    """Open pairs in random order, look all of them and others up, over several growths."""
    rng = np.random.default_rng(1)
    numbers = {task: number for number, task in enumerate(sorted({task for task, _ in KEYS[case]}))}
    keys = [(numbers[KEYS[case][i][0]], KEYS[case][i][1]) for i in rng.permutation(len(KEYS[case]))]
    index, known = no_pairs(len(numbers) + 1), {}
    for task, feature in [*keys, *keys[::3]]:
        batch = event([feature], [1.0], task)
        was_known = find(index, task, batch)[0] >= 0
        assert was_known == ((task, feature) in known)
        index = grown(index, batch)
        # A task's pairs are numbered as they come, wherever its region lies.
        known.setdefault((task, feature), sum(t == task for t, _ in known))
        slot = int(open_pairs(index, task, batch)[0])
        assert slot - pairs.first_slot(int(index.table[task, pairs.BASE])) == known[task, feature]
    assert index.layout[pairs.USED] == len(known)
    listed, slots = arena.sorted_keys(index)
    assert list(zip(*(part.tolist() for part in pairs.unpack(listed)), strict=True)) == sorted(known)
    assert len(set(slots.tolist())) == len(known)
    assert 0 <= slots.min() <= slots.max() < arena.slots_of(index)
    for task, feature in [(t + 1, f) for t, f in keys] + [(t, f ^ 1) for t, f in keys]:
        assert (find(index, task, event([feature], [1.0], task))[0] >= 0) == ((task, feature) in known)


def test_regions_do_not_overlap():
    rng = np.random.default_rng(5)
    index = no_pairs(30)
    for _ in range(400):
        task = int(rng.integers(30))
        batch = event(np.sort(rng.permutation(300)[:7]).tolist(), [1.0] * 7, task)
        index = grown(index, batch)
        open_pairs(index, task, batch)
        held = index.table[index.table[:, pairs.SIZE] > 0]
        held = held[np.argsort(held[:, pairs.BASE])]
        ends = held[:, pairs.BASE] + held[:, pairs.SIZE]
        assert held[0, pairs.BASE] >= 8
        assert np.all(ends[:-1] <= held[1:, pairs.BASE])
        assert ends[-1] <= index.layout[pairs.END] <= len(index.keys)
        assert np.all(held[:, pairs.COUNT] <= held[:, pairs.SIZE] * 3 // 4)
        assert not index.keys[:8].any()
        assert not index.table[:, pairs.WANTED].any()


def test_a_search_goes_round_the_end_of_a_region():
    """Features that all begin at the last key of a region of eight, and one that begins at the first."""
    chosen, size = [], np.uint64(8)
    first = next(f for f in range(1000) if pairs.first_place(f, size) == 0)
    chosen = [f for f in range(1000) if pairs.first_place(f, size) == 7][:3]
    index = no_pairs(2)
    index = grown(index, event([0, 1, 2, 3], [1.0] * 4, 0))
    assert index.table[0, pairs.SIZE] == 8
    slots = {f: int(open_pairs(index, 0, event([f], [1.0], 0))[0]) for f in [*chosen, first]}
    assert len(set(slots.values())) == 4
    base = int(index.table[0, pairs.BASE])
    assert [int(key >> np.uint64(32)) for key in index.keys[base : base + 3]] == [*chosen[1:], first]
    assert int(index.keys[base + 7] >> np.uint64(32)) == chosen[0]
    for f, slot in slots.items():
        assert find(index, 0, event([f], [1.0], 0)).tolist() == [slot]
    assert find(index, 1, event([first], [1.0], 1)).tolist() == [-1]


def test_holes_are_filled_again():
    """One task grows and grows: its old regions do not pile up, and other tasks keep their pairs."""
    index = no_pairs(3)
    for task in (0, 2):
        index = grown(index, event([5, 9], [1.0, 1.0], task))
        open_pairs(index, task, event([5, 9], [1.0, 1.0], task))
    copies, before = 0, index
    for feature in range(3000):
        batch = event([feature], [1.0], 1)
        index = grown(index, batch)
        copies += index is not before
        before = index
        open_pairs(index, 1, batch)
    assert copies < 40
    assert len(index.keys) < 4 * 3000 * 5 // 4
    assert index.table[:, pairs.COUNT].tolist() == [2, 3000, 2]
    assert arena.sorted_keys(index)[0].tolist() == [5, 9, *((1 << 32) + np.arange(3000)), (2 << 32) + 5, (2 << 32) + 9]


def test_room_is_made_for_many_rounds_at_once():
    rng = np.random.default_rng(6)
    n, tasks = 2000, 150
    columns = np.sort(rng.integers(0, 100_000, (n, 4)) * 4 + np.arange(4), axis=1).ravel()
    task = rng.integers(0, tasks, n)
    batch = batch_of(np.ones((1, 1)))._replace(
        task=task,
        label=np.ones(n),
        row=np.arange(n),
        indptr=np.arange(0, 4 * n + 1, 4),
        indices=columns,
        values=np.ones(4 * n),
        rounds=np.arange(n + 1),
    )
    index, asked = no_pairs(tasks), 0
    for i in range(n):
        moves = arena.make_room(index, batch, i, 1 << 20)
        asked += moves is not None
        index = index if moves is None else moves.pairs
        row = batch.indices, 4 * i, 4 * i + 4
        slots = np.empty(4, np.int64)
        pairs.find_row(index.keys, index.table, np.zeros(1), task[i], *row, slots)
        pairs.open_row(*index, task[i], *row, slots)
    assert asked < 10
    assert index.layout[pairs.USED] == len(set(zip(np.repeat(task, 4).tolist(), columns.tolist(), strict=True)))


def test_rows_of_zeros_want_nothing():
    """A region that is more than half full, behind rows of zeros of its task, is moved once."""
    index = arena.hashed(pairs.pack(np.zeros(4, np.int64), np.arange(4)), 2)[0]
    open_pairs(index, 0, event([4, 5], [1.0] * 2, 0))
    batch = batch_of([[0.0] * 9, [0.0] * 9, [1.0] * 9, [0.0] * 9])._replace(
        task=np.array([0, 0, 1, 0]), rounds=np.arange(5)
    )
    assert arena.make_room(index, batch, 0, 9) is None
    moves = arena.make_room(index, batch, 2, 9)
    assert moves.pairs.table[:, pairs.SIZE].tolist() == [8, 24]
    batch = batch._replace(task=np.zeros(4, np.int64))
    moves = arena.make_room(index, batch, 2, 9)
    assert moves.pairs.table[:, pairs.SIZE].tolist() == [24, 0]
    assert arena.sorted_keys(moves.pairs)[0].tolist() == list(range(6))


def test_rows_that_come_again_need_no_room():
    batch = event(list(range(20)), [1.0] * 20, 1)
    index = grown(no_pairs(3), batch)
    open_pairs(index, 1, batch)
    assert arena.make_room(index, batch, 0, 1 << 32) is None
    assert not pairs.fits(index, event(list(range(20, 40)), [1.0] * 20, 1), 0, 1)


def test_pooled_tasks_share_the_first_region():
    index = no_pairs(3, pooled=True)
    batch = batch_of(np.ones((3, 4)))
    assert not pairs.fits(index, batch, 0, 3)
    index = grown(index, batch, features=4)
    assert pairs.fits(index, batch, 0, 3)
    assert (index.table[:, pairs.SIZE] > 0).tolist() == [True, False, False]


def test_pack_and_unpack():
    tasks, features = np.array([0, 1, 2**30, 7]), np.array([0, 2**32 - 1, 5, 2**31])
    keys = pairs.pack(tasks, features)
    assert len(set(keys.tolist())) == 4
    assert np.all(keys >= 0)
    back = pairs.unpack(keys)
    assert np.array_equal(back[0], tasks)
    assert np.array_equal(back[1], features)


def test_a_region_is_half_full_when_it_is_made():
    for count in [0, 1, 2, 3, 4, 5, 8, 100, 1025]:
        size = regions.region_size(count)
        assert size >= 2 * count
        assert size % 8 == 0
        assert size < 2 * count + 8


def test_fits_counts_every_pair_that_could_be_opened():
    batch = batch_of([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0] * 7])
    index = arena.hashed(pairs.pack(np.array([0, 1, 2]), np.array([7, 8, 9])), 3)[0]
    assert index.table[:, pairs.SIZE].tolist() == [8, 8, 8]  # six pairs each
    assert pairs.fits(index, batch, 0, 2)
    assert not pairs.fits(index, batch, 0, 3)
    assert pairs.fits(index, batch, 2, 2)


LAYOUTS = {
    "task-major": lambda tasks, features: (pairs.dense(features, 1), np.zeros(tasks * features)),
    "feature-major": lambda tasks, features: (pairs.dense(1, tasks), np.zeros(tasks * features)),
    "hashed": lambda tasks, features: roomy(tasks, features),
}


def roomy(tasks, features):
    """Regions with room for every pair, and their weights."""
    index = no_pairs(tasks)
    batch = batch_of(np.ones((1, features)), [0] * tasks)
    index = arena.make_room(index, batch, 0, features).pairs
    return index, np.zeros(arena.slots_of(index))


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
