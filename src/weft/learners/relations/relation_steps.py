"""Steps of a learned interaction matrix A between tasks (Saha, Rai, Daume and Venkatasubramanian 2011).

After an update of the weights W (tasks x features), A takes the step that minimises a Bregman divergence from the A
before plus rate tr(A W W'); or A^-1 becomes the covariance of the tasks. All A^-1 are brought to trace N, as I has it:

    LogDet        A^-1 <- A^-1 + rate W W'
    von Neumann   log A^-1 <- log A^-1 + rate W W'
    covariance    A^-1 <- cov(W) + 1e-3 I

W W' is kept as a Gram matrix G: W + a x' has G + a s' + s a' + |x|^2 a a', with s = W x, the scores of all tasks.
"""

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper
from weft.learners.relations.eigen import exponential

FIXED, LOGDET, VONNEUMANN, COVARIANCE = range(4)
RIDGE = 1e-3
"""On the diagonal of a covariance, which may be singular."""


@helper
def move_gram(G: Floats, N: int, a: Floats, s: Floats, square: float) -> None:
    """The Gram matrix after W += a x', with s = W x before, and `square` = |x|^2."""
    for i in range(N):
        for j in range(N):
            G[i, j] += a[i] * s[j] + s[i] * a[j] + square * (a[i] * a[j])


@helper
def _to_trace(inverse: Floats, N: int) -> None:
    trace = 0.0
    for i in range(N):
        trace += inverse[i, i]
    for i in range(N):
        for j in range(N):
            inverse[i, j] *= N / trace


@helper
def relation_step(
    kind: int, rate: float, inverse: Floats, logarithm: Floats, G: Floats, sums: Floats, N: int, features: int
) -> None:
    """A^-1 of N tasks after an update; `sums` are the sums of the weights of every task over its features."""
    if kind == LOGDET:
        for i in range(N):
            for j in range(N):
                inverse[i, j] += rate * G[i, j]
        _to_trace(inverse, N)
    elif kind == COVARIANCE:
        for i in range(N):
            for j in range(N):
                inverse[i, j] = (G[i, j] - sums[i] * sums[j] / features) / max(features - 1, 1)
            inverse[i, i] += RIDGE
        _to_trace(inverse, N)
    elif kind == VONNEUMANN:
        for i in range(N):
            for j in range(N):
                logarithm[i, j] += rate * G[i, j]
        shift = exponential(logarithm, N, inverse)
        for i in range(N):  # a factor of A^-1 is a multiple of I in its logarithm
            logarithm[i, i] -= shift
