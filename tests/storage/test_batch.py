"""Batches: the norms, lengths and buffers of rows."""

from itertools import pairwise

import numpy as np
import pytest

from batches import batch_of
from weft.storage.batch import empty_batch, longest_row, set_single, shares_row, single_batch, squared_norm


def test_squared_norm_and_longest_row():
    batch = batch_of([[3.0, 0.0, 4.0], [0.0, 0.0, 0.0], [0.0, -2.0, 0.0]])
    assert [squared_norm(batch.values, a, b) for a, b in pairwise(batch.indptr)] == [25.0, 0.0, 4.0]
    assert longest_row(batch) == 2
    assert longest_row(empty_batch()) == 0


@pytest.mark.parametrize(
    ("row", "shared"), [([0], False), ([0, 0], True), ([0, 1], False), ([1, 1, 1], True), ([1, 1, 0], False)]
)
def test_shares_row(row, shared):
    assert shares_row(batch_of([[1.0], [2.0]], row), 0, len(row)) is shared


def test_an_empty_batch_has_no_rounds():
    batch = empty_batch()
    assert len(batch.rounds) == 1
    assert len({id(array) for array in batch}) == len(batch)


def fill(batch, entries):
    for at, (feature, value) in enumerate(entries):
        batch.indices[at], batch.values[at] = feature, value
    return set_single(batch, 5, -1.0, len(entries))


def test_set_single_sorts_and_drops_zeros():
    rng = np.random.default_rng(0)
    batch = single_batch(40)
    for count in [0, 1, 2, 5, 40, 3, 0, 17]:
        features = rng.permutation(100)[:count]
        values = np.where(rng.random(count) < 0.3, 0.0, rng.normal(size=count))
        assert fill(batch, list(zip(features, values, strict=True))) == -1
        kept = sorted((f, v) for f, v in zip(features.tolist(), values.tolist(), strict=True) if v != 0.0)
        assert batch.indptr.tolist() == [0, len(kept)]
        found = zip(batch.indices[: len(kept)].tolist(), batch.values[: len(kept)].tolist(), strict=True)
        assert list(found) == kept
        assert (batch.task[0], batch.label[0]) == (5, -1.0)


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_set_single_reports_the_first_value_that_is_not_finite(bad):
    batch = single_batch(8)
    fill(batch, [(1, 1.0)])
    batch.indices[:3], batch.values[:3] = [4, 2, 9], [1.0, bad, np.nan]
    assert set_single(batch, 0, 1.0, 3) == 1
    assert batch.indptr.tolist() == [0, 1]  # the event before is still there
    assert batch.indices[:3].tolist() == [4, 2, 9]
