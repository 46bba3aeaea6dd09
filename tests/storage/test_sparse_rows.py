"""Loops over the entries of a sparse row, for rows of every length up to a few times four."""

import numpy as np
import pytest

from weft.compiled.jit import compiled
from weft.storage.sparse_rows import Row, add, clear, dot, dot_in_order, product_in_order, spread_out


@compiled
def products(vector, x):
    return dot(vector, x), dot_in_order(vector, x), product_in_order(vector, x)


@compiled
def moved(vector, x, step):
    add(vector, x, step)


@compiled
def spread_and_cleared(wide, x, seen):
    spread_out(wide, x)
    seen[:] = wide
    clear(wide, x)


@pytest.mark.parametrize("length", range(14))
def test_a_row_among_others_is_its_dense_row(length):
    rng = np.random.default_rng(length)
    indices = np.concatenate([[3, 7], np.sort(rng.choice(30, length, replace=False)), [1, 2]]).astype(np.int64)
    values, vector = rng.normal(size=length + 4), rng.normal(size=30)
    x, dense = Row(indices, values, 2, 2 + length), np.zeros(30)
    dense[indices[2:-2]] = values[2:-2]
    by_four, in_order, product = products(vector, x)
    for found in (by_four, in_order):
        assert found == pytest.approx((vector @ dense, dense @ dense), rel=1e-13, abs=1e-13)
    assert product == pytest.approx(vector @ dense, rel=1e-13, abs=1e-13)
    after, wide, seen = vector.copy(), np.zeros(30), np.empty(30)
    moved(after, x, 0.5)
    np.testing.assert_allclose(after, vector + 0.5 * dense, rtol=1e-14)
    spread_and_cleared(wide, x, seen)
    assert seen.tolist() == dense.tolist()
    assert not wide.any()
