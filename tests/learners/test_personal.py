"""Personal parts against group soft thresholding of all columns."""

import numpy as np
import pytest

from weft.learners.low_rank.personal import LENGTH, NOW, Personal, lengthen, shorten, vectors
from weft.maths.proximal import group_soft
from weft.storage.sparse_rows import Row


@pytest.mark.parametrize("tau", [0.0, 1e-9, 1e-3, 0.05, 0.3])
def test_equals_thresholding_of_all_columns(tau):
    rng = np.random.default_rng(1)
    d, m = 20, 5
    personal, W = Personal(np.zeros((m, d)), np.zeros((m, 2))), np.zeros((d, m))
    was_zero = 0
    for _ in range(1500):
        k, indices = int(rng.integers(m)), np.sort(rng.choice(d, rng.integers(1, 8), replace=False))
        values, a = rng.normal(size=len(indices)), 0.2 * rng.choice([-1.0, 1.0])
        if rng.random() < 0.2 and W[:, k].any():  # almost undo what is there
            indices, values, a = np.arange(d), W[:, k] * (1 + 1e-7 * rng.normal(size=d)), -1.0
        lengthen(personal, k, Row(indices, values, 0, len(indices)), a, float(values @ values))
        W[indices, k] += a * values
        total = shorten(personal, tau)
        W = group_soft(W, tau)
        np.testing.assert_allclose(vectors(personal).T, W, atol=1e-11)
        assert total == pytest.approx(np.linalg.norm(W, axis=0).sum(), abs=1e-10)
        was_zero += int((~W.any(axis=0)).sum())
    assert np.abs(W).max() > 0.05
    assert (was_zero > 100) == (tau > 0.0)


def test_numbers_stay_in_range_for_ever():
    """Shrinking without end, and a row now and then: V would grow by the inverse of all factors."""
    personal = Personal(np.zeros((1, 2)), np.zeros((1, 2)))
    x = Row(np.array([0]), np.array([1.0]), 0, 1)
    v = 0.0
    for _ in range(4000):
        lengthen(personal, 0, x, 1.0, 1.0)
        shorten(personal, 0.9)
        v = max(v + 1.0 - 0.9, 0.0)
        lengthen(personal, 0, x, -0.95 * v, 1.0)
        v *= 0.05
        assert vectors(personal)[0, 0] == pytest.approx(v, rel=1e-6)
    assert np.abs(personal.V).max() < 1e100


def test_the_stretch_is_taken_back():
    personal = Personal(np.array([[1.0, 0.0]]), np.array([[1e-70, 1.0]]))
    lengthen(personal, 0, Row(np.array([1]), np.array([1e-70]), 0, 1), 1.0, 1e-140)
    np.testing.assert_allclose(vectors(personal), [[1e-70, 1e-70]], rtol=1e-12)
    assert personal.lengths[0, LENGTH] == personal.lengths[0, NOW]
    assert np.abs(personal.V).max() == pytest.approx(1e-70)


def test_a_vector_of_length_zero_is_forgotten():
    personal = Personal(np.array([[3.0, 4.0]]), np.array([[2.5, 5.0]]))
    assert vectors(personal).tolist() == [[1.5, 2.0]]
    assert shorten(personal, 2.5) == 0.0
    assert vectors(personal).tolist() == [[0.0, 0.0]]
    lengthen(personal, 0, Row(np.array([1]), np.array([2.0]), 0, 1), 0.5, 4.0)
    assert vectors(personal).tolist() == [[0.0, 1.0]]
