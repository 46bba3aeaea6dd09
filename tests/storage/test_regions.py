"""Regions of hashed pairs: lookups against a dict, growth within and between kernel calls, free regions."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from batches import batch_of, event, find, open_pairs
from weft.compiled import lines
from weft.storage import arena, memory, pairs, regions
from weft.storage.listing import RegionListing

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


def no_pairs(tasks, pooled=False):
    return arena.hashed(np.zeros((0, 2), np.int64), tasks, pooled)


def grown(index, batch, features=1 << 32):
    """Regions with room for the batch's round."""
    return arena.make_room(index, batch, 0, features)


def held(index):
    """The regions in use and the free ones, as (first key, size), in the order of their keys."""
    used = [(int(base), int(size)) for base, size in index.table[:, : pairs.COUNT] if size > 0]
    return sorted(used), sorted(free_regions(index))


def free_regions(index):
    found = []
    for number in range(pairs.CLASSES):
        at = int(index.layout[pairs.FREE + number])
        while at:
            found.append((at, regions.size_of(number)))
            at = int(index.keys[at])
    return found


def check(index, known):
    """Everything that holds between two calls; `known` maps (task, feature) to its slot."""
    layout, keys, table = index
    used, free = held(index)
    every = sorted(used + free)
    ends = [base + size for base, size in every]
    assert not keys[:8].any()
    assert every == [] or every[0][0] == 8
    assert [base for base, _ in every[1:]] == ends[:-1]  # no hole, no overlap
    assert layout[pairs.END] == max(ends, default=8) <= len(keys)
    assert not keys[layout[pairs.END] :].any()
    assert all(count <= regions.limit_of(int(size)) for size, count in table[:, [pairs.SIZE, pairs.COUNT]])
    assert layout[pairs.USED] == table[:, pairs.COUNT].sum() == len(known)
    assert layout[pairs.ROWS] <= layout[pairs.ROOM]
    listed, slots = ascending(index)
    assert [tuple(pair) for pair in listed] == sorted(known)
    assert slots == [known[key] for key in sorted(known)]


def ascending(index):
    """All pairs and their slots, as a file lists them."""
    found = RegionListing(index, {"slot": np.arange(float(index.layout[pairs.ROWS]))})
    return np.concatenate([np.zeros((0, 2), np.int64), *found.pairs()]).tolist(), [
        int(slot) for block in found.numbers("slot") for slot in block
    ]


@pytest.mark.parametrize("case", KEYS)
def test_regions_against_a_dict(case):
    """Open pairs in random order, look all of them and others up, over several growths."""
    rng = np.random.default_rng(1)
    numbers = {task: number for number, task in enumerate(sorted({task for task, _ in KEYS[case]}))}
    keys = [(numbers[KEYS[case][i][0]], KEYS[case][i][1]) for i in rng.permutation(len(KEYS[case]))]
    index, known = no_pairs(len(numbers) + 1), {}
    for task, feature in [*keys, *keys[::3]]:
        batch = event([feature], [1.0], task)
        assert (find(index, task, batch)[0] >= 0) == ((task, feature) in known)
        index = grown(index, batch)
        # Rows are numbered as pairs come, and never again.
        known.setdefault((task, feature), len(known) + 1)
        assert int(open_pairs(index, task, batch)[0]) == known[task, feature]
    check(index, known)
    for task, feature in [(t + 1, f) for t, f in keys] + [(t, f ^ 1) for t, f in keys]:
        slot = known.get((task, feature), -1)
        assert find(index, task, event([feature], [1.0], task)).tolist() == [slot]


@given(
    st.lists(st.tuples(st.integers(0, 3), st.sets(st.integers(0, 60), min_size=1, max_size=12), st.booleans())),
)
@settings(deadline=None, max_examples=60)
def test_pairs_come_and_tasks_go(steps):
    """Whatever comes in whatever order, with tasks whose pairs are all taken away in between."""
    index, known, rows = no_pairs(5), {}, 0
    for task, features, close in steps:
        if close:
            closed = arena.close_task(index, task)
            gone = {key: slot for key, slot in known.items() if key[0] == task}
            assert dict(zip(closed.features.tolist(), closed.slots.tolist(), strict=True)) == {
                feature: slot for (_, feature), slot in gone.items()
            }
            known = {key: slot for key, slot in known.items() if key[0] != task}
            assert index.table[task].tolist() == [0, 0, 0, 0]
        batch = event(sorted(features), [1.0] * len(features), task)
        index = grown(index, batch)
        for feature in sorted(features):
            if (task, feature) not in known:
                rows += 1
                known[task, feature] = rows
        assert open_pairs(index, task, batch).tolist() == [known[task, feature] for feature in sorted(features)]
        check(index, known)


def test_sizes():
    sizes = [regions.size_of(number) for number in range(10)]
    assert sizes == [8, 16, 24, 32, 48, 64, 96, 128, 192, 256]
    assert regions.limit_of(regions.size_of(pairs.CLASSES - 1)) > 2 * (1 << 32)  # every feature, and as many to spare
    for count in [0, 1, 7, 8, 14, 15, 21, 22, 28, 29, 42, 43, 1000]:
        number = regions.class_of(count)
        assert regions.limit_of(regions.size_of(number)) >= count
        assert number == 0 or regions.limit_of(regions.size_of(number - 1)) < count
    for number in range(12):
        assert regions.class_of(regions.limit_of(regions.size_of(number))) == number


def test_a_line_is_matched_at_once():
    keys = np.zeros(24, np.uint64)
    keys[8:16] = [5 << 32 | 1, 0, 7 << 32 | 2, (1 << 32) - 1 << 32 | 3, 0 << 32 | 9, 0, 5, 0]
    for wanted, hits in [(5, 1), (7, 4), ((1 << 32) - 1, 8), (0, 0b1010000), (6, 0)]:
        assert int(_match(keys, 8, wanted)) == hits | 0b10100010 << 8
    assert int(_match(keys, 16, 0)) == 0b11111111 << 8


def _match(keys, at, wanted):
    return _compiled_match(keys, np.uint64(at), np.uint64(wanted))


def test_the_lowest_bit():
    assert [int(_compiled_lowest(np.uint64(bits))) for bits in (1, 2, 12, 1 << 15, 0b1010000)] == [0, 1, 2, 15, 4]


if lines.PLAIN:
    _compiled_match, _compiled_lowest = lines.match_line, lines.lowest_bit
else:
    import numba

    @numba.njit
    def _compiled_match(keys, at, wanted):
        return lines.match_line(keys, at, wanted)

    @numba.njit
    def _compiled_lowest(bits):
        return lines.lowest_bit(bits)


def test_a_search_goes_round_the_end_of_a_region():
    """Features that all begin in the last line of a region, more than a line has places for."""
    size = np.uint64(24)
    last = [f for f in range(1000) if pairs.first_place(f, size) == 16][:10]
    first = [f for f in range(1000) if pairs.first_place(f, size) == 0][:3]
    index = grown(no_pairs(2), event(list(range(17)), [1.0] * 17, 0))
    assert index.table[0, pairs.SIZE] == 24
    slots = {f: int(open_pairs(index, 0, event([f], [1.0], 0))[0]) for f in [*last, *first]}
    base = int(index.table[0, pairs.BASE])
    line = [int(key >> np.uint64(32)) for key in index.keys[base : base + 24]]
    assert line[16:] == last[:8]
    assert line[:5] == [*last[8:], *first]
    for f, slot in slots.items():
        assert find(index, 0, event([f], [1.0], 0)).tolist() == [slot]
    assert find(index, 1, event([first[0]], [1.0], 1)).tolist() == [-1]


def test_a_task_that_grows_moves_its_keys_alone():
    """One task grows and grows: its old regions go to others, whose keys and rows stay where they are."""
    index = no_pairs(3)
    for task in (0, 2):
        index = grown(index, event([5, 9], [1.0, 1.0], task))
        open_pairs(index, task, event([5, 9], [1.0, 1.0], task))
    others, moves, longer, before = index.table[[0, 2]].tolist(), 0, 0, 0
    for feature in range(3000):
        batch = event([feature], [1.0], 1)
        found = grown(index, batch)
        longer += found is not index
        index = found
        moves += int(index.table[1, pairs.BASE]) != before
        before = int(index.table[1, pairs.BASE])
        assert open_pairs(index, 1, batch).tolist() == [5 + feature]
    assert index.table[[0, 2]].tolist() == others
    assert moves < 14
    assert longer < 14
    assert len(index.keys) < 8 * 3000
    assert ascending(index)[0] == [[0, 5], [0, 9], *([1, feature] for feature in range(3000)), [2, 5], [2, 9]]


def test_free_regions_are_used_again():
    """The region that one task has outgrown is the next one of its size, cleared."""
    index = no_pairs(3)
    index = grown(index, event(list(range(7)), [1.0] * 7, 0))
    open_pairs(index, 0, event(list(range(7)), [1.0] * 7, 0))
    small = int(index.table[0, pairs.BASE])
    index = grown(index, event([7], [1.0], 0))
    assert free_regions(index) == [(small, 8)]
    index = grown(index, event([3, 4], [1.0, 1.0], 2))
    assert index.table[2].tolist() == [small, 8, 0, 0]
    assert free_regions(index) == []
    assert not index.keys[small : small + 8].any()
    assert find(index, 2, event([3], [1.0], 2)).tolist() == [-1]


def test_how_much_a_region_grows():
    """The first one is for the pairs that come, the next ones for twice as many."""
    index = no_pairs(1)
    index = grown(index, event(list(range(7)), [1.0] * 7, 0))
    assert index.table[0, pairs.SIZE] == 8
    open_pairs(index, 0, event(list(range(7)), [1.0] * 7, 0))
    index = grown(index, event([10, 11, 12, 13], [1.0] * 4, 0))
    assert index.table[0, pairs.SIZE] == 32


def test_rows_that_come_again_need_no_room():
    batch = event(list(range(5)), [1.0] * 5, 1)
    index = grown(no_pairs(3), batch)
    open_pairs(index, 1, batch)
    before = index.table.copy()
    assert grown(index, batch) is index
    assert np.array_equal(index.table, before)
    assert regions.fits(index, event(list(range(5, 10)), [1.0] * 5, 1), 0, 1)
    assert index.table[1, pairs.SIZE] > before[1, pairs.SIZE]


def test_arrays_that_are_too_short():
    """Kernels say so, and change nothing that counts; afterwards there is room, and the old layout is as it was."""
    index = no_pairs(40)
    wide = batch_of(np.ones((30, 5)))
    assert not regions.fits(index, wide, 0, 30)
    found = arena.make_room(index, wide, 0, 5)
    assert found is not index
    assert index.layout[pairs.ROOM] == arena.LEAST_ROOM < 150 <= found.layout[pairs.ROOM]
    assert len(index.keys) == arena.LEAST_ROOM < 240 <= len(found.keys)
    assert regions.fits(found, wide, 0, 30)
    long = event(list(range(1000)), [1.0] * 1000, 7)
    assert not regions.has_room(found, long, 0, 1, 3, 5000)
    found = arena.make_room(found, long, 0, 5000, 3)
    assert regions.has_room(found, long, 0, 1, 3, 5000)
    assert found.table[7, pairs.SIZE] * 7 // 8 >= 1003


def test_no_task_has_more_pairs_than_there_are_features():
    index = no_pairs(1)
    index = arena.make_room(index, event([0, 1], [1.0, 1.0], 0), 0, 5, extra=1000)
    assert index.table[0, pairs.SIZE] == 8
    assert index.layout[pairs.ROOM] == arena.LEAST_ROOM


def test_pooled_tasks_share_the_first_region():
    index = no_pairs(3, pooled=True)
    batch = batch_of(np.ones((3, 4)))
    index = grown(index, batch, features=4)
    assert regions.fits(index, batch, 0, 3)
    assert (index.table[:, pairs.SIZE] > 0).tolist() == [True, False, False]


def test_fits_counts_every_pair_that_could_be_opened():
    batch = batch_of([[1.0, 1.0, 0.0], [1.0, 1.0, 1.0], [1.0] * 7])
    index = arena.hashed(np.array([[0, 7], [1, 8], [2, 9]]), 3)
    assert index.table[:, pairs.SIZE].tolist() == [8, 8, 8]  # seven pairs each
    assert regions.fits(index, batch, 0, 2)
    assert index.table[:, pairs.SIZE].tolist() == [8, 8, 8]
    assert regions.fits(index, batch, 0, 3)
    assert index.table[:, pairs.SIZE].tolist() == [8, 8, 24]
    assert regions.fits(index, batch, 2, 2)


def test_pairs_are_listed_in_the_order_in_which_they_are_given():
    keys = np.array([[3, 4], [0, 4], [3, 1], [1, 0], [0, 2]])
    index = arena.hashed(keys, 5)
    check(index, {(3, 4): 1, (0, 4): 2, (3, 1): 3, (1, 0): 4, (0, 2): 5})
    task, feature, slots = arena.all_slots(index)
    assert np.array_equal(np.stack((task, feature), axis=1)[np.argsort(slots)], keys)


def test_more_tasks_keep_their_regions():
    index = arena.hashed(np.array([[0, 4], [1, 5]]), 2)
    more = arena.for_tasks(index, 3)
    assert len(more.table) == 4
    assert more.table[:2].tolist() == index.table.tolist()
    assert not more.table[2:].any()
    assert arena.for_tasks(more, 4) is more


def test_keys_in_reserved_memory_do_not_move(monkeypatch):
    monkeypatch.setattr(memory, "RESERVE_FROM", 1)
    index = no_pairs(3)
    where = index.keys.ctypes.data
    for feature in range(2000):
        batch = event([feature], [1.0], feature % 3)
        index = grown(index, batch)
        assert open_pairs(index, feature % 3, batch).tolist() == [feature + 1]
    assert len(index.keys) > 2000
    assert (index.keys.ctypes.data == where) == memory.is_reserved(index.keys)
    check(index, {(f % 3, f): f + 1 for f in range(2000)})
