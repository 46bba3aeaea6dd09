"""The inverse of a Gram matrix under changes, against dense algebra."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import weft
from triangles import SIZES, a_gram, dense, extended, gaussian, lower, near
from weft.learners.budget import inverse, symmetric
from weft.learners.budget.inverse import Gram, Vectors


def test_no_members():
    empty, nothing = np.full((4, 4), np.nan), np.empty(0)
    symmetric.symmetric_times(empty, 0, nothing, nothing)
    assert inverse.coefficients(Gram(empty, empty), 0, nothing, Vectors(*[nothing] * 4)) == 0.0
    assert inverse.rebuild(Gram(empty, empty), 0, empty.copy()) == 0.0
    inverse.append(empty, 0, nothing, 0.25)
    assert dense(empty, 1).tolist() == [[4.0]]


# --------------------------------------------------------------------------------------------------- coefficients


@pytest.mark.parametrize("n", SIZES)
def test_coefficients(n):
    H, Q, k, _, exact, _ = extended(n)
    gram, v, again = Gram(lower(H), lower(Q)), Vectors(*np.full((4, n), np.nan)), Vectors(*np.full((4, n), np.nan))
    off = inverse.coefficients(gram, n, k, v)
    near(v.a, exact)
    assert off < 1e-10
    error = inverse.inverse_error(gram, n, n // 2, v)
    assert error < 1e-10
    both = inverse.checked_coefficients(gram, n, n // 2, k, again)
    assert both == (off, error)
    np.testing.assert_array_equal(again.a, v.a)


def test_a_refined_inverse_is_twice_as_good():
    n = 40
    H, Q, k, _, exact, _ = extended(n)
    rng = np.random.default_rng(1)
    noise = rng.normal(size=(n, n)) * 1e-6
    bad = Q + noise + noise.T
    gram, v = Gram(lower(H), lower(bad)), Vectors(*np.empty((4, n)))
    off = inverse.coefficients(gram, n, k, v)
    assert off == pytest.approx(np.abs(k - H @ (bad @ k)).max() / k.max(), rel=1e-6)
    assert np.abs(bad @ k - exact).max() > 1e-7
    assert np.abs(v.a - exact).max() < 1e-9
    for j in (0, 7, n - 1):
        error = inverse.inverse_error(gram, n, j, v)
        assert error == pytest.approx(np.abs(H @ bad[:, j] - np.eye(n)[j]).max(), rel=1e-6)


def test_a_broken_inverse_is_seen():
    n = 20
    H, Q, k, *_ = extended(n)
    v = Vectors(*np.empty((4, n)))
    Q[11, 3] = np.nan
    gram = Gram(lower(H), lower(Q))
    assert inverse.checked_coefficients(gram, n, 3, k, v) == (np.inf, np.inf)
    assert inverse.coefficients(gram, n, np.zeros(n), v) == np.inf
    assert inverse.coefficients(Gram(lower(H), lower(np.linalg.inv(H))), n, np.zeros(n), v) == 0.0
    assert not v.a.any()


# -------------------------------------------------------------------------------------------------------- changes


@pytest.mark.parametrize("n", SIZES)
def test_appending(n):
    H, Q, k, top, a, delta2 = extended(n)
    bordered = np.block([[H, k[:, None]], [k[None], np.array([[top]])]])
    found, G = lower(Q), lower(H)
    inverse.append(found, n, a, delta2)
    symmetric.set_member(G, n, n, k, top)
    np.testing.assert_array_equal(dense(G, n + 1), bordered)
    near(dense(found, n + 1), np.linalg.inv(bordered))


@pytest.mark.parametrize("n", SIZES)
def test_removing(n):
    H, Q, *_ = extended(n)
    for r in {0, n // 3, n - 1}:
        kept = [i for i in range(n) if i != r]
        if r < n - 1:  # the last one takes the slot
            kept = [*kept[:r], n - 1, *kept[r:-1]]
        found, G, column = lower(Q), lower(H), np.empty(n)
        assert inverse.remove(found, n, r, column)
        symmetric.move_last(G, n, r)
        found[n - 1], G[n - 1] = np.nan, np.nan
        exact = H[np.ix_(kept, kept)]
        np.testing.assert_array_equal(dense(G, n - 1), exact)
        if n > 1:
            near(dense(found, n - 1), np.linalg.inv(exact))


@pytest.mark.parametrize("n", SIZES)
def test_replacing(n):
    """One pass equals adding the new member and removing the old one, whose slot it takes."""
    H, Q, k, top, a, delta2 = extended(n)
    for r in {0, n // 3, n - 1}:
        found, G, column = lower(Q), lower(H), np.empty(n)
        before = a.copy()
        assert inverse.replace(found, n, r, a, delta2, column)
        np.testing.assert_array_equal(a, before)
        symmetric.set_member(G, n, r, k, top)
        exact = H.copy()
        exact[r], exact[:, r], exact[r, r] = k, k, top
        np.testing.assert_array_equal(dense(G, n), exact)
        near(dense(found, n), np.linalg.inv(exact))
        steps = lower(Q)
        inverse.append(steps, n, a, delta2)
        assert inverse.remove(steps, n + 1, r, np.empty(n + 1))
        steps[n] = np.nan
        near(dense(found, n), dense(steps, n))


@pytest.mark.parametrize("n", SIZES)
def test_projecting(n):
    """Distances and coefficients of old members on the others are those of least squares."""
    H, Q, k, top, a, delta2 = extended(n)
    G = np.block([[H, k[:, None]], [k[None], np.array([[top]])]])
    diagonal, g = np.empty(n), np.empty(n)
    inverse.extended_diagonal(lower(Q), n, a, delta2, diagonal)
    for r in {0, n // 2, n - 1}:
        others = [i for i in range(n + 1) if i != r]
        exact = np.linalg.solve(G[np.ix_(others, others)], G[others, r])
        assert diagonal[r] ** -0.5 == pytest.approx(np.sqrt(G[r, r] - G[r, others] @ exact), rel=1e-8)
        assert inverse.projection(lower(Q), n, r, a, delta2, g)
        near(g, [*exact[:r], exact[-1], *exact[r:-1]])  # the new member has the slot of r


def test_what_cannot_be_removed():
    n = 6
    _, Q, _, _, a, delta2 = extended(n)
    scratch = np.empty(n)
    for pivot in (0.0, -1.0, np.nan):
        Q[2, 2] = pivot
        found = lower(Q)
        assert not inverse.remove(found, n, 2, scratch)
        assert not inverse.replace(found, n, 2, a, delta2, scratch)
        assert not inverse.projection(found, n, 2, a, delta2, scratch)
        np.testing.assert_array_equal(found, lower(Q))
    Q[2, 2] = 1.0
    a[2] = 0.0  # a copy of another member cannot replace this one
    assert not inverse.replace(lower(Q), n, 2, a, 0.0, scratch)


# ----------------------------------------------------------------------------------------------------------- walks


class Walk:
    """Members that come and go, as a learner keeps them; `slots` says which point is in which slot."""

    def __init__(self, points, gamma, capacity):
        self.G = gaussian(points, points, gamma)
        self.H, self.Q, self.U = np.full((3, capacity, capacity), np.nan)
        self.slots, self.evictions = [], 0
        self.gram, self.v = Gram(self.H, self.Q), Vectors(*np.full((4, capacity), np.nan))

    def measure(self, t):
        """The coefficients of point t, and its squared distance."""
        n = len(self.slots)
        k = self.G[self.slots, t]
        off, error = inverse.checked_coefficients(self.gram, n, t % n, k, self.v) if n else (0.0, 0.0)
        assert off < 1e-8
        assert error < 1e-8
        return k, self.G[t, t] - k @ self.v.a[:n]

    def append(self, t):
        n = len(self.slots)
        k, delta2 = self.measure(t)
        inverse.append(self.Q, n, self.v.a, delta2)
        symmetric.set_member(self.H, n, n, k, self.G[t, t])
        self.slots.append(t)

    def remove(self, r):
        n = len(self.slots)
        assert inverse.remove(self.Q, n, r, self.v.column)
        symmetric.move_last(self.H, n, r)
        self.H[n - 1], self.Q[n - 1] = np.nan, np.nan
        last = self.slots.pop()
        if r < n - 1:
            self.slots[r] = last
        self.evicted()

    def replace(self, r, t):
        n = len(self.slots)
        k, delta2 = self.measure(t)
        assert inverse.replace(self.Q, n, r, self.v.a, delta2, self.v.column)
        symmetric.set_member(self.H, n, r, k, self.G[t, t])
        self.slots[r] = t
        self.evicted()

    def evicted(self):
        self.evictions += 1
        if self.evictions >= len(self.slots):
            self.evictions = 0
            assert inverse.rebuild(self.gram, len(self.slots), self.U) == 0.0

    def error(self):
        """How far Q is from the inverse, as a part of its largest entry, and the condition number of H."""
        n = len(self.slots)
        exact = self.G[np.ix_(self.slots, self.slots)]
        np.testing.assert_array_equal(dense(self.H, n), exact)
        inverted = np.linalg.inv(exact)
        return np.abs(dense(self.Q, n) - inverted).max() / np.abs(inverted).max(), np.linalg.cond(exact)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_a_long_walk(seed):
    """600 changes at a condition number of about 1e4; the largest errors are 1e-12."""
    rng = np.random.default_rng(seed)
    walk = Walk(rng.normal(size=(700, 5)), 0.12, 60)
    errors, conditions = [], []
    for t in range(600):
        n = len(walk.slots)
        change = rng.random()
        if n < 40 or (n < 60 and change < 0.15):
            walk.append(t)
        elif n > 40 and change < 0.3:
            walk.remove(rng.integers(n))
        else:
            walk.replace(rng.integers(n), t)
        error, condition = walk.error()
        errors.append(error)
        conditions.append(condition)
    assert 3e3 < np.median(conditions[40:]) < 3e4
    assert max(errors) < 1e-9


def test_near_doubles():
    """A point 1e-5 from a member, in its place: the inverse stays as good as the others make it."""
    rng = np.random.default_rng(3)
    points = rng.normal(size=(30, 5))
    points[20:] = points[:10] + 1e-5 * rng.normal(size=(10, 5))
    walk = Walk(points, 0.3, 40)
    for t in range(20):
        walk.append(t)
    before = walk.error()[0]
    for t in range(20, 30):
        walk.replace(t - 20, t)
        assert walk.error()[0] < 1e-10
    assert before < 1e-12
    # Both together are singular but for 1e-10; what is left of the digits is left after they part, too.
    walk.append(0)
    error, condition = walk.error()
    assert 1e9 < condition < 1e13
    assert error < 1e-4
    walk.remove(0)
    assert walk.error()[0] < 1e-4
    inverse.rebuild(walk.gram, 20, walk.U)
    assert walk.error()[0] < 1e-12


# -------------------------------------------------------------------------------------------------------- rebuild


@pytest.mark.parametrize("n", SIZES)
def test_rebuilding(n):
    H, *_ = a_gram(n)
    found = np.full((n + 3, n + 3), np.nan)
    assert inverse.rebuild(Gram(lower(H), found), n, np.full((n + 3, n + 3), np.nan)) == 0.0
    near(dense(found, n), np.linalg.inv(H))


@pytest.mark.parametrize("scale", [1e-200, 1.0, 1e200])
def test_singular_matrices(scale):
    """A member twice, or more members than dimensions: a small ridge, and the inverse with that ridge."""
    rng = np.random.default_rng(5)
    X = rng.normal(size=(12, 4))
    twice = gaussian(X[[*range(12), 3]], X[[*range(12), 3]], 0.5)
    for H in (twice, X @ X.T, np.ones((9, 9))):
        n = len(H)
        found = np.full((n + 1, n + 1), np.nan)
        ridge = inverse.rebuild(Gram(lower(scale * H, n + 1), found), n, np.empty((n + 1, n + 1))) / scale
        assert ridge == pytest.approx(1e-9 * np.trace(H) / n)
        Q = dense(found, n) * scale
        near(Q @ (H + ridge * np.eye(n)), np.eye(n), 1e-5)
        v = Vectors(*np.empty((4, n)))
        k = H @ rng.normal(size=n)  # the kernel column of something that the members span
        assert inverse.coefficients(Gram(lower(scale * H), found), n, scale * k, v) < 1e-5
        near(H @ v.a, k, 1e-9)


def test_matrices_without_an_inverse():
    found, scratch = np.full((5, 5), np.nan), np.empty((5, 5))
    assert inverse.rebuild(Gram(lower(np.zeros((4, 4)), 5), found), 4, scratch) == 1e-9
    near(dense(found, 4), 1e9 * np.eye(4))
    before = found.copy()
    H = np.eye(4)
    H[2, 1] = np.nan
    assert inverse.rebuild(Gram(lower(H, 5), found), 4, scratch) == np.inf
    np.testing.assert_array_equal(found, before)
    H = np.diag([1.0, 2.0, -3.0, 1.0])
    ridge = inverse.rebuild(Gram(lower(H, 5), found), 4, scratch)
    assert ridge > 3.0
    near(dense(found, 4), np.linalg.inv(H + ridge * np.eye(4)))


# ---------------------------------------------------------------------------------------------------------- plain


def fingerprint() -> bytes:
    """Every kernel on the same cases, as bytes."""
    out = []
    for n in (1, 2, 3, 17, 38):
        H, k, top = a_gram(n)
        M, Q, U = lower(H), np.full((n + 3, n + 3), np.nan), np.zeros((n + 3, n + 3))
        gram, v = Gram(M, Q), Vectors(*np.zeros((4, n + 1)))
        a, rest, column, product = v
        out.append(inverse.rebuild(gram, n, U))
        out += inverse.checked_coefficients(gram, n, n // 2, k, v)
        out += [inverse.coefficients(gram, n, k, v), inverse.inverse_error(gram, n, 0, v)]
        delta2 = max(top - float(k @ a[:n]), 1e-3)
        inverse.extended_diagonal(Q, n, a, delta2, column)
        out += [*a, *rest, *column, *product, inverse.projection(Q, n, n // 3, a, delta2, column), *column]
        out.append(inverse.replace(Q, n, n // 3, a, delta2, column))
        symmetric.set_member(M, n, n // 3, k, top)
        inverse.append(Q, n, 0.5 * a, delta2)
        symmetric.set_member(M, n, n, k, top)
        out.append(inverse.remove(Q, n + 1, 0, column))
        symmetric.move_last(M, n + 1, 0)
        out += [*dense(M[:n, :n], n).ravel(), *dense(Q[:n, :n], n).ravel()]
    U = np.empty((9, 9))
    out += [inverse.rebuild(Gram(lower(np.ones((9, 9)), 9), Q[:9, :9].copy()), 9, U)]
    return np.array(out, dtype=float).tobytes()


def test_compiled_equals_plain():
    folders = [str(Path(weft.__file__).parents[1]), str(Path(__file__).parents[1])]
    environment = {**os.environ, "WEFT_PLAIN": "1", "PYTHONPATH": os.pathsep.join(folders)}
    plain = subprocess.run([sys.executable, "-W", "error", __file__], env=environment, capture_output=True)
    assert plain.returncode == 0, plain.stderr.decode()
    compiled = fingerprint()
    assert np.isfinite(np.frombuffer(compiled)).all()
    assert plain.stdout == b"plain" + compiled


if __name__ == "__main__":
    from weft.compiled.jit import PLAIN

    sys.stdout.buffer.write((b"plain" if PLAIN else b"compiled") + fingerprint())
