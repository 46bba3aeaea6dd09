"""The incremental form against full proximal steps."""

import numpy as np
import pytest

from weft.learners.low_rank import lapack_steps, pieces
from weft.maths.proximal import log_shrink, logdet_prox, nuclear_prox, soft


def sparse_rows(rng, count, d, m, nonzeros=8):
    """Rows of unit length, one task each; some are empty, some come for two tasks at once."""
    for _ in range(count):
        indices = np.sort(rng.choice(d, rng.integers(0, nonzeros + 1), replace=False))
        values = rng.normal(size=len(indices))
        values /= max(np.linalg.norm(values), 1e-9)
        a = np.zeros(m)
        a[rng.integers(m)] = 0.3 * rng.choice([-1, 1])
        if rng.random() < 0.1:
            a[rng.integers(m)] = 0.2
        yield indices, values, a


PENALTIES = {
    "nuclear": (soft, nuclear_prox, 0.01),
    "nuclear, strong": (soft, nuclear_prox, 0.08),
    "logdet": (log_shrink, logdet_prox, 0.005),
    "logdet, strong": (log_shrink, logdet_prox, 0.5),
}


@pytest.mark.parametrize("name", PENALTIES)
@pytest.mark.parametrize(("room", "count"), [(1, 300), (64, 2000)])
def test_equals_full_steps(name, room, count):
    rule, full, strength = PENALTIES[name]
    d, m = 60, 7
    U, W = pieces.zeros(d, m, room=room), np.zeros((d, m))
    for t, (indices, values, a) in enumerate(sparse_rows(np.random.default_rng(1), count, d, m)):
        c = pieces.dots(U, indices, values)
        assert np.abs(c - W[indices].T @ values).max() < 1e-7
        lapack_steps.add(U, indices, values, a, c)
        W[indices] += np.outer(values, a)
        found, expected = lapack_steps.shrink(U, lambda s: rule(s, strength)), full(W, strength)
        W = expected.matrix
        assert np.abs(found.values - expected.values).max() < 1e-7
        if t % 50 == 0 or t > count - 10:
            np.testing.assert_allclose(pieces.matrix(U), W, atol=1e-7)
            np.testing.assert_allclose(U.G, W.T @ W, atol=1e-7)
            np.testing.assert_allclose(pieces.column(U, t % m), W[:, t % m], atol=1e-7)
            # Squares of singular values end where a Gram matrix sees nothing; the full form sees further.
            assert found.rank == expected.rank if rule is soft else found.rank <= expected.rank
    assert np.abs(W).max() > 0.05


def test_rank_falls_with_the_nuclear_norm():
    """Only two directions are ever taken: the penalty keeps no more, whatever rounding adds."""
    rng = np.random.default_rng(2)
    U = pieces.zeros(40, 9)
    rows = rng.normal(size=(2, 40))
    for _ in range(300):
        a = rng.normal(size=9) * 0.1
        lapack_steps.add(U, np.arange(40), rows[rng.integers(2)], a)
        assert lapack_steps.shrink(U, lambda s: soft(s, 1e-4)).rank <= 2
    assert np.linalg.matrix_rank(pieces.matrix(U), tol=1e-7) == 2


def test_a_penalty_below_what_the_gram_matrix_resolves_forgets_nothing():
    """Steps far smaller than the rounding of a direction that all tasks share survive a shrinkage smaller still."""
    d, m = 30, 4
    U, W = pieces.zeros(d, m), np.zeros((d, m))
    rng = np.random.default_rng(3)
    for t in range(500):
        a = np.ones(m) if t < 250 else 1e-7 * np.eye(m)[t % m]
        x = np.ones(d) if t < 250 else rng.normal(size=d)
        lapack_steps.add(U, np.arange(d), x, a)
        W += np.outer(x, a)
        lapack_steps.shrink(U, lambda s: soft(s, 1e-12))
        W = nuclear_prox(W, 1e-12).matrix
    assert np.linalg.svd(W, compute_uv=False)[1] < pieces.FLOOR * np.linalg.norm(W, 2)
    personal = W - W.mean(axis=1, keepdims=True)
    assert np.abs(personal).max() > 1e-6
    found = pieces.matrix(U)
    np.testing.assert_allclose(found - found.mean(axis=1, keepdims=True), personal, atol=1e-9)


def test_rows_larger_than_the_store():
    rng = np.random.default_rng(4)
    U, W = pieces.zeros(50, 3, room=5, nonzeros=10), np.zeros((50, 3))
    for indices, values, a in sparse_rows(rng, 300, 50, 3, nonzeros=25):
        lapack_steps.add(U, indices, values, a)
        lapack_steps.shrink(U, lambda s: log_shrink(s, 0.02))
        W[indices] += np.outer(values, a)
        W = logdet_prox(W, 0.02).matrix
    np.testing.assert_allclose(pieces.matrix(U), W, atol=1e-10)


def test_no_penalty_and_a_huge_one():
    rng = np.random.default_rng(5)
    U, W = pieces.zeros(20, 4), np.zeros((20, 4))
    for indices, values, a in sparse_rows(rng, 200, 20, 4):
        lapack_steps.add(U, indices, values, a)
        W[indices] += np.outer(values, a)
        lapack_steps.shrink(U, lambda s: s)
    np.testing.assert_allclose(pieces.matrix(U), W, atol=1e-13)
    spectrum = lapack_steps.shrink(U, lambda s: soft(s, 1e9))
    np.testing.assert_array_equal(pieces.matrix(U), 0.0)
    np.testing.assert_array_equal(pieces.dots(U, np.arange(20), np.ones(20)), 0.0)
    assert spectrum.rank == 0
    assert lapack_steps.shrink(U, lambda s: soft(s, 1.0)).values.tolist() == [0.0] * 4


def learn(U, rows, from_row=0):
    scores = []
    for indices, values, a in rows[from_row:]:
        c = pieces.dots(U, indices, values)
        padded = np.zeros(len(U.G))
        padded[: len(a)] = a
        lapack_steps.add(U, indices, values, padded, c)
        lapack_steps.shrink(U, lambda s: soft(s, 0.01))
        scores.append(c[:6])
    return np.array(scores)


def test_padding_and_copies_change_no_bit():
    """Room for features and tasks that never come, given at once or in mid-stream, and reading in between."""
    d, m = 40, 6
    rows = list(sparse_rows(np.random.default_rng(6), 400, d, m))
    exact, roomy = pieces.zeros(d, m, room=16), pieces.zeros(1003, 37, room=16)
    scores = learn(exact, rows)
    np.testing.assert_array_equal(learn(roomy, rows), scores)
    np.testing.assert_array_equal(pieces.matrix(roomy)[:d, :m], pieces.matrix(exact))

    U = pieces.zeros(d, m, room=16)
    first = learn(U, rows[:203])
    pieces.matrix(U), pieces.column(U, 1)
    grown = pieces.zeros(64, 9, room=16)
    for old, new in zip(U, grown, strict=True):
        new[tuple(map(slice, old.shape))] = old
    np.testing.assert_array_equal(np.concatenate([first, learn(grown, rows, 203)]), scores)


def test_an_absent_task_has_scores_of_exactly_zero():
    U = pieces.zeros(30, 5, room=8)
    rng = np.random.default_rng(7)
    for indices, values, a in sparse_rows(rng, 200, 30, 5):
        a[2] = 0.0
        lapack_steps.add(U, indices, values, a)
        lapack_steps.shrink(U, lambda s: log_shrink(s, 0.1))
        assert pieces.dots(U, indices, values)[2] == 0.0
    np.testing.assert_array_equal(pieces.column(U, 2), 0.0)
