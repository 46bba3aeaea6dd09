"""Operations on rows of sixteen numbers against NumPy's, one after the other; in plain mode as well."""

import os
import subprocess
import sys

import numpy as np
import pytest

from weft.compiled import jit
from weft.compiled.jit import compiled
from weft.learners.low_rank.vector_rows import WIDE, add_listed, rotate, subtract, sum_listed, sum_rows


@compiled
def _sum_rows(a, M, first, last, width, out):
    sum_rows(a, M, first, last, width, out)


@compiled
def _sum_listed(a, indices, begin, end, M, width, out):
    sum_listed(a, indices, begin, end, M, width, out)


@compiled
def _add_listed(a, indices, begin, end, M, width, out):
    add_listed(a, indices, begin, end, M, width, out)


@compiled
def _subtract(M, first, last, x, y):
    subtract(M, first, last, x, y)


@compiled
def _rotate(M, i, c, s, sign, other):
    rotate(M, i, c, s, sign, other)


def summed(factors, rows, width, begin):
    total = begin.copy()
    for factor, row in zip(factors, rows, strict=True):
        for j in range(width):
            total[j] += factor * row[j]
    return total


@pytest.mark.parametrize("width", [0, 1, 4, 11, 12, 15, 16])
@pytest.mark.parametrize("count", [0, 1, 7])
def test_sums(width, count):
    """Nothing after a row is read, be it the end of the array or not a number; a column is summed over as well."""
    rng = np.random.default_rng(width)
    M, a = rng.normal(size=(7, width)), rng.normal(size=30)
    zeros, some = np.zeros(WIDE), rng.normal(size=WIDE)
    out = np.full(WIDE + 3, 7.0)
    for first in (0, 7 - count):
        for factors in (a, rng.normal(size=(7, 5))[:, 3]):
            _sum_rows(factors, M, first, first + count, width, out[1:])
            expected = summed(factors[first : first + count], M[first : first + count], width, zeros)
            np.testing.assert_array_equal(out[1:-2], expected)
            assert out[[0, -2, -1]].tolist() == [7.0, 7.0, 7.0]
    indices = rng.integers(7, size=30)
    for kernel, begin in ((_sum_listed, zeros), (_add_listed, some)):
        out[1:-2] = some
        kernel(a, indices, 5, 5 + count, M, width, out[1:])
        np.testing.assert_array_equal(out[1:-2], summed(a[5 : 5 + count], M[indices[5 : 5 + count]], width, begin))
        assert out[[0, -2, -1]].tolist() == [7.0, 7.0, 7.0]
    beside = np.full((3, WIDE), np.nan)
    beside[:, :width] = 1.0
    _sum_rows(np.ones(3), beside, 0, 3, width, out)
    assert out[:WIDE].tolist() == [3.0] * width + [0.0] * (WIDE - width)


def test_products_and_rotations():
    rng = np.random.default_rng(0)
    M, x, y = rng.normal(size=(6, WIDE)), rng.normal(size=6), rng.normal(size=WIDE)
    expected = M.copy()
    for i in range(2, 5):
        expected[i] = expected[i] - x[i] * y
    _subtract(M, 2, 5, x, y)
    np.testing.assert_array_equal(M, expected)
    cos, sin = -np.sqrt(0.3), np.sqrt(0.7)
    expected[1], expected[2] = cos * M[1] - sin * M[2], sin * M[1] + cos * M[2]
    _rotate(M, 1, 0.3, 0.7, -1.0, 1.0)
    np.testing.assert_array_equal(M, expected)


@pytest.mark.skipif(jit.PLAIN, reason="is what this test starts")
def test_plain_mode():
    environment = {**os.environ, "WEFT_PLAIN": "1"}
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout
    assert "......." in done.stdout
