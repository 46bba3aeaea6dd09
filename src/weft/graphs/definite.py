"""Powers -1, -1/2 and 1/2 of a symmetric positive definite matrix, as a dense block or behind sparse factors.

A block of up to `MOST_DENSE` rows is inverted by Cholesky's method, and its roots come from the eigenvectors. A larger
one is factored sparsely; columns of its powers are solved for on demand and kept. The inverse root is then a sum of
shifted inverses, 1/sqrt(x) = sum_k w_k / (x + t_k), the trapezoidal rule on a contour mapped by an elliptic function
(Hale, Higham and Trefethen 2008, Computing A^alpha, log(A), and related matrix functions by contour integrals, Sec. 4).
"""

import math
from typing import Any

import numpy as np
import scipy

from weft.compiled.arrays import Floats, Ints

MOST_DENSE = 2000
MOST_KEPT = 1 << 26
"""Most numbers in the columns that a sparse block keeps (512 MB); the oldest go first."""
AT_ONCE = 64
POWERS = (1.0, -1.0, 0.5, -0.5)


def check_power(power: float) -> None:
    """Refuse a power that general matrices do not offer."""
    if power not in POWERS:
        raise ValueError(f"power={power!r} must be one of 1, -1, 0.5, -0.5 for a general matrix")


class DenseBlock:
    """Powers of a small positive definite matrix, each computed when it is first needed."""

    def __init__(self, A: Floats) -> None:
        self.n = len(A)
        self._powers: dict[float, Floats] = {1.0: A}
        rounding = self.n * np.finfo(float).eps * float(np.abs(np.diagonal(A)).max())
        try:
            scipy.linalg.cholesky(A - rounding * np.eye(self.n), lower=True, check_finite=False)
        except scipy.linalg.LinAlgError:
            least = float(scipy.linalg.eigvalsh(A, check_finite=False)[0])
            raise ValueError(f"is not positive definite: its smallest eigenvalue is {least:.6g}") from None

    def power(self, power: float) -> Floats:
        """The whole matrix."""
        if power not in self._powers:
            A = self._powers[1.0]
            if power == -1.0:
                inverse = np.asarray(scipy.linalg.cho_solve(scipy.linalg.cho_factor(A), np.eye(self.n)))
                self._powers[power] = 0.5 * (inverse + inverse.T)
            else:
                values, vectors = scipy.linalg.eigh(A)
                for sign in (0.5, -0.5):
                    half = vectors * values ** (0.5 * sign)
                    self._powers[sign] = half @ half.T
        return self._powers[power]

    def columns(self, slots: Ints, power: float) -> Floats:
        """Some columns of a power."""
        return self.power(power)[:, slots]

    def column(self, slot: int, power: float) -> Floats:
        """One column of a power."""
        return self.power(power)[:, slot].copy()

    def diagonal(self, power: float) -> Floats:
        """The diagonal of a power."""
        return np.diagonal(self.power(power)).copy()

    def solve(self, G: Floats) -> Floats:
        """A^-1 G."""
        return self.power(-1.0) @ G


class SparseBlock:
    """Powers of a large positive definite matrix, column by column; `least` bounds its eigenvalues from below."""

    def __init__(self, A: Any, least: float | None = None) -> None:
        self.n = A.shape[0]
        self._A = scipy.sparse.csc_array(A)
        self._least = least
        self._kept: dict[tuple[int, float], Floats] = {}
        self._diagonals: dict[float, Floats] = {}
        self._roots: list[tuple[float, Any]] | None = None
        self._inverse = _factor(self._A)

    def columns(self, slots: Ints, power: float) -> Floats:
        """Some columns of a power."""
        units = np.zeros((self.n, len(slots)))
        units[slots, np.arange(len(slots))] = 1.0
        if power == 1.0:
            return np.asarray(self._A @ units)
        if power == -1.0:
            return self.solve(units)
        root = np.zeros_like(units)
        for weight, factor in self._shifted():
            root += weight * factor.solve(units)
        return root if power == -0.5 else np.asarray(self._A @ root)

    def column(self, slot: int, power: float) -> Floats:
        """One column of a power, kept for the next time."""
        key = (slot, power)
        if key not in self._kept:
            while self._kept and (len(self._kept) + 1) * self.n > MOST_KEPT:
                del self._kept[next(iter(self._kept))]
            self._kept[key] = self.columns(np.array([slot]), power)[:, 0]
        return self._kept[key].copy()

    def diagonal(self, power: float) -> Floats:
        """The diagonal of a power: as many solutions as there are rows, once."""
        if power not in self._diagonals:
            found = np.empty(self.n)
            for first in range(0, self.n, AT_ONCE):
                slots = np.arange(first, min(first + AT_ONCE, self.n))
                found[slots] = self.columns(slots, power)[slots, np.arange(len(slots))]
            self._diagonals[power] = found
        return self._diagonals[power].copy()

    def solve(self, G: Floats) -> Floats:
        """A^-1 G."""
        return np.asarray(self._inverse.solve(np.ascontiguousarray(G)))

    def _shifted(self) -> list[tuple[float, Any]]:
        """The weights and factors of the shifted matrices whose inverses add up to A^-1/2."""
        if self._roots is None:
            weights, shifts = inverse_root(*self._spectrum())
            eye = scipy.sparse.eye_array(self.n, format="csc")
            self._roots = [
                (float(w), _factor(scipy.sparse.csc_array(self._A + t * eye)))
                for w, t in zip(weights, shifts, strict=True)
            ]
        return self._roots

    def _spectrum(self) -> tuple[float, float]:
        """Bounds on the eigenvalues: Gershgorin's, or Lanczos' method on the inverse where that says nothing."""
        diagonal = self._A.diagonal()
        others = np.asarray(abs(self._A).sum(axis=1)).ravel() - np.abs(diagonal)
        high = float((diagonal + others).max())
        low = float((diagonal - others).min()) if self._least is None else self._least
        if low < 1e-3 * high / self.n and self._least is None:
            inverse = scipy.sparse.linalg.LinearOperator(self._A.shape, matvec=self._inverse.solve, dtype=np.float64)
            start = np.random.default_rng(0).normal(size=self.n)
            largest = scipy.sparse.linalg.eigsh(inverse, k=1, v0=start, tol=1e-4, return_eigenvectors=False)
            low = max(low, 0.99 / float(largest[0]))
        return low, high


def _factor(A: Any) -> Any:
    """Sparse factors without row exchanges: then the pivots of U are positive exactly for definite matrices."""
    refusal = "is not positive definite: elimination meets a pivot that is not positive"
    try:
        factor = scipy.sparse.linalg.splu(
            A, permc_spec="MMD_AT_PLUS_A", diag_pivot_thresh=0.0, options={"SymmetricMode": True}
        )
    except RuntimeError:  # a pivot of 0
        raise ValueError(refusal) from None
    rounding = A.shape[0] * np.finfo(float).eps * float(abs(A.diagonal()).max())
    if (factor.perm_r != factor.perm_c).any() or not factor.U.diagonal().min() > rounding:
        raise ValueError(refusal)
    return factor


def inverse_root(low: float, high: float) -> tuple[Floats, Floats]:
    """Weights w and shifts t with 1/sqrt(x) = sum_k w_k / (x + t_k) for low <= x <= high, to a relative 1e-13.

    The number of terms grows with log(high / low): some 10 for 10, 30 for 1e6.

    >>> w, t = inverse_root(1.0, 100.0)
    >>> abs(float((w / (49.0 + t)).sum()) - 1 / 7) < 1e-14
    True
    """
    parameter = 1.0 - low / high
    rest = math.sqrt(1.0 - parameter)
    quarter = float(scipy.special.ellipkm1(1.0 - parameter))
    x = np.geomspace(low, high, 200)
    best = math.inf
    answer: tuple[Floats, Floats] = (np.empty(0), np.empty(0))
    for terms in range(4, 200, 2):
        sn, cn, dn, _ = scipy.special.ellipj((np.arange(terms // 2) + 0.5) * quarter / terms, parameter)
        # The later half by sn(K-u) = cn/dn, cn(K-u) = k' sn/dn, dn(K-u) = k'/dn, for there cn has lost its digits.
        slopes = np.concatenate([dn / (cn * cn), dn / (rest * sn * sn)])
        tangents = np.concatenate([sn / cn, cn / (rest * sn)])
        weights = 2.0 * quarter * math.sqrt(low) / (math.pi * terms) * slopes.astype(np.float64)
        shifts = low * np.square(tangents).astype(np.float64)
        sums = (weights / (x[:, None] + shifts)).sum(axis=1)
        error = float(np.abs(sums * np.sqrt(x) - 1.0).max())
        if error < best:
            best, answer = error, (weights, shifts)
        if best < 1e-13:
            return answer
    if best > 1e-12:
        raise ValueError(f"is too close to singular for a square root: eigenvalues from {low:.6g} to {high:.6g}")
    return answer
