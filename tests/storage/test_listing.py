"""The pairs of a state in ascending order, block by block, against what a dict says."""

import numpy as np
import pytest

from weft.storage import arena, listing, memory
from weft.storage.listing import RegionListing, TableListing


def listed(found, names):
    """All blocks; no block is longer than allowed, and their lengths add up."""
    pairs = list(found.pairs())
    numbers = {name: list(found.numbers(name)) for name in names}
    assert sum(map(len, pairs)) == found.count
    assert all([len(block) for block in blocks] == [len(block) for block in pairs] for blocks in numbers.values())
    return np.concatenate([np.zeros((0, 2), np.int64), *pairs]), {
        name: np.concatenate(blocks) if blocks else None for name, blocks in numbers.items()
    }


def random_pairs(rng, tasks, features, count):
    """Different pairs in any order; most belong to the first task, so that it goes on over several blocks."""
    task = np.where(rng.random(count) < 0.6, 0, rng.integers(0, tasks, count))
    return rng.permutation(np.unique(np.stack((task, rng.integers(0, features, count)), axis=1), axis=0))


@pytest.mark.parametrize("features", [40, 3000, 1 << 20, 1 << 32])
@pytest.mark.parametrize("block", [1, 7, 1 << 15])
def test_regions_are_listed_in_ascending_order(features, block, monkeypatch):
    monkeypatch.setattr(listing, "BLOCK", block)
    rng = np.random.default_rng(features % 1009 + block)
    pairs = random_pairs(rng, 9, features, 300)
    index = arena.hashed(pairs, 12)
    arrays = {
        "one": memory.zeros((len(pairs) + 5,), np.float64),
        "few": memory.zeros((len(pairs) + 5, 2, 3), np.float64),
        "small": memory.zeros((len(pairs) + 5, 8), np.float32),
        "whole": memory.zeros((len(pairs) + 5,), np.int64),
    }
    empty = rng.random(len(pairs)) < 0.3
    for array in arrays.values():
        array[1 : len(pairs) + 1] = rng.integers(1, 9, (len(pairs), *array.shape[1:]))
        array[1 : len(pairs) + 1][empty] = 0
    arrays["one"][1 : len(pairs) + 1][empty] = -0.0  # is not worth a pair
    held = ~empty
    held[np.flatnonzero(empty)[:3]] = True  # one number of one array is enough
    for at, (name, value) in zip(
        np.flatnonzero(empty)[:3] + 1, [("whole", 1 << 40), ("small", np.nan), ("one", 5e-324)], strict=True
    ):
        arrays[name][at] = value
    found, numbers = listed(RegionListing(index, arrays), arrays)
    order = np.lexsort((pairs[held][:, 1], pairs[held][:, 0]))
    assert np.array_equal(found, pairs[held][order])
    for name, array in arrays.items():
        assert numbers[name].dtype == array.dtype
        assert numbers[name].tobytes() == array[1 : len(pairs) + 1][held][order].tobytes()


@pytest.mark.parametrize("block", [1, 50, 1 << 15])
def test_tables_are_listed_in_ascending_order(block, monkeypatch):
    monkeypatch.setattr(listing, "BLOCK", block)
    rng = np.random.default_rng(block)
    table = rng.integers(-1, 2, (20, 11)).astype(float)
    wide = np.zeros((20, 11, 2))
    wide[3, 4, 1], table[3, 4] = 2.0, -0.0
    found, numbers = listed(TableListing({"table": table, "wide": wide}), ["table", "wide"])
    at = np.nonzero((table != 0) | (wide != 0).any(axis=2))
    assert np.array_equal(found, np.stack(at, axis=1))
    assert numbers["table"].tobytes() == table[at].tobytes()
    assert numbers["wide"].tobytes() == wide[at].tobytes()


def test_nothing_is_listed_of_nothing():
    for shape in ((0, 0), (3, 0), (0, 3)):
        assert len(listed(TableListing({"x": np.zeros(shape)}), ["x"])[0]) == 0
    index = arena.hashed(np.zeros((0, 2), np.int64), 3)
    assert len(listed(RegionListing(index, {"x": np.zeros(1)}), ["x"])[0]) == 0
