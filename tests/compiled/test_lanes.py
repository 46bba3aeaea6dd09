"""Four numbers at a time give the same bits as one at a time."""

import math

import numpy as np
import pytest

from weft.compiled import lanes
from weft.compiled.jit import compiled

EXTREME = [0.0, -0.0, 1.0, -1.5, 1e-310, 1e300, 3.0, 1 / 3]


@compiled
def each(a, b, out):
    """All functions of two Fours, in rows of `out`."""
    x, y = lanes.load_four(a, np.uint64(0)), lanes.load_four(b, np.uint64(0))
    found = (
        x + y,
        x - y,
        x * y,
        x / lanes.zeros_as_ones(y),
        lanes.sqrt(lanes.absolute(x)),
        lanes.maximum(x, y),
        lanes.minimum(x, y),
        lanes.copysign(lanes.broadcast(2.0), x),
    )
    for n in range(len(found)):
        lanes.store_four(out, np.uint64(4 * n), found[n])
    return lanes.horizontal_sum(x), lanes.any_at_least(x, y)


@compiled
def transpose_two(array, a, b, c, d, target):
    """Pairs of numbers transposed, and transposed back to other positions."""
    columns = lanes.load_two_columns(array, a, b, c, d)
    for n in range(2):
        lanes.store_four(target, np.uint64(4 * n), columns[n])
    lanes.store_two_columns(target, np.uint64(8), np.uint64(10), np.uint64(12), np.uint64(14), columns)


@compiled
def transpose_four(array, a, b, c, d, target):
    """Four rows transposed, and transposed back to other positions."""
    columns = lanes.load_columns(array, a, b, c, d)
    for n in range(4):
        lanes.store_four(target, np.uint64(4 * n), columns[n])
    lanes.store_columns(target, np.uint64(16), np.uint64(20), np.uint64(24), np.uint64(28), columns)


@pytest.mark.parametrize("seed", range(8))
def test_operations(seed):
    rng = np.random.default_rng(seed)
    a, b = rng.choice(EXTREME, 4) / 2.0, rng.choice(EXTREME, 4) / 2.0
    out = np.full((8, 4), np.nan)
    with np.errstate(over="ignore"):  # in plain mode NumPy warns of infinite quotients
        total, at_least = each(a, b, out)
    x, y = a.tolist(), b.tolist()
    pairs = list(zip(x, y, strict=True))
    expected = [
        [p + q for p, q in pairs],
        [p - q for p, q in pairs],
        [p * q for p, q in pairs],
        [p / (q if q else 1.0) for p, q in pairs],
        [math.sqrt(abs(p)) for p in x],
        [p if p > q else q for p, q in pairs],
        [p if p < q else q for p, q in pairs],
        [math.copysign(2.0, p) for p in x],
    ]
    assert out.view(np.int64).tolist() == np.array(expected).view(np.int64).tolist()
    assert total == (x[0] + x[2]) + (x[1] + x[3])
    assert at_least == any(p >= q for p, q in pairs)
    assert not each(np.zeros(4), np.array([1.0, 2.0, 1e-300, 3.0]), out)[1]


def test_two_columns():
    array, target = np.arange(60.0).reshape(6, 10), np.zeros(16)
    transpose_two(array, np.uint64(3), np.uint64(58), np.uint64(21), np.uint64(10), target)
    rows = [array.ravel()[at : at + 2] for at in (3, 58, 21, 10)]
    assert target[:8].reshape(2, 4).T.tolist() == target[8:].reshape(4, 2).tolist() == np.array(rows).tolist()


def test_four_columns():
    array, target = np.arange(60.0).reshape(6, 10), np.zeros(32)
    transpose_four(array, np.uint64(3), np.uint64(50), np.uint64(21), np.uint64(10), target)
    rows = [array.ravel()[at : at + 4] for at in (3, 50, 21, 10)]
    assert target[:16].reshape(4, 4).T.tolist() == np.array(rows).tolist()
    assert target[16:].reshape(4, 4).tolist() == np.array(rows).tolist()


def test_numbers_of_32_bits():
    """They are read exactly, and rounded to the nearest when they are stored; none becomes infinite."""
    numbers = np.array([0.1, -0.0, 3.5e38, -1e300, 1e-46, 1.0 + 2.0**-24, 1.0 + 3 * 2.0**-24, 1e-40] * 2)
    rounded = np.clip(numbers, -lanes.LARGEST_32, lanes.LARGEST_32).astype(np.float32)
    out, back = np.full(32, np.nan, np.float32), np.full(32, np.nan)
    ints = [np.uint64(at) for at in (0, 4, 8, 12)]
    transpose_four(numbers, *ints, out)
    assert out[16:].tobytes() == rounded.tobytes()
    transpose_four(rounded, *ints, back)
    assert back[16:].tobytes() == rounded.astype(np.float64).tobytes()
    assert np.isfinite(back).all()
    ints = [np.uint64(at) for at in (0, 2, 4, 6)]
    transpose_two(numbers, *ints, out)
    assert out[8:16].tobytes() == rounded[:8].tobytes()
    transpose_two(rounded, *ints, back)
    assert back[8:16].tobytes() == rounded[:8].astype(np.float64).tobytes()
