r"""One weight of an expert: AdaGrad steps and coin betting.

AdaGrad (Duchi, Hazan and Singer 2011) divides a gradient h by the root of all squares so far, its own included. Betting
(COCOB; Orabona and Tommasi 2017, Alg. 2) has no rate: a coordinate bets part of what it has won, b, on the sign of the
next gradient. th is the sum of all -h, G that of |h|, L the largest |h|, and R what was won:

    b = th / max(G + L, ALPHA L) (L + R) / L

A row of an array holds the numbers of one coordinate from column `at` on: w, its squares; th, G, L, R.

**Forgetting.** Sums in which the past counts less and less are kept without touching what does not occur: instead of
making the past lighter, every event is heavier than the one before, by a growing weight a. Squares and th, G and R are
sums of a h^2, a h, a |h| ...; divided by the present a they are what they should be. Without forgetting a = 1.
"""

import math

import numpy as np

from weft.batch import Floats
from weft.jit import inner

EPS = 1e-8
"""Within AdaGrad's root."""
ALPHA = 5.0
"""Caps the first bets."""
TH, G, L, R = range(4)

Row = int | np.uint64
"""Without a sign compiled code need not look whether an index counts from the end."""


@inner
def descend(parts: Floats, row: Row, at: int, h: float, eps: float, eta: float) -> None:
    """w -= eta h / sqrt(squares + eps); h and eps are times sqrt(a) and a."""
    squares = parts[row, at + 1] + h * h
    parts[row, at + 1] = squares
    parts[row, at] -= eta * h / math.sqrt(squares + eps)


@inner
def bet(parts: Floats, row: Row, at: int, a: float) -> float:
    """The weight that a coordinate bets; divided before it is multiplied, or a product could underflow."""
    largest = a * parts[row, at + L]
    if largest == 0.0:  # then th is 0, too
        largest = 1.0
    share = parts[row, at + TH] / max(parts[row, at + G] + largest, ALPHA * largest)
    return float(share * ((largest + parts[row, at + R]) / largest))


@inner
def settle(parts: Floats, row: Row, at: int, h: float, b: float, a: float) -> None:
    """The bet b is lost or won by the gradient h."""
    size, heavy = abs(h), a * h
    parts[row, at + R] = max(parts[row, at + R] - heavy * b, 0.0)
    parts[row, at + TH] -= heavy
    parts[row, at + G] += abs(heavy)
    if size > parts[row, at + L]:
        parts[row, at + L] = size
