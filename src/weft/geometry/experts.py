r"""One weight of an expert: AdaGrad steps and coin betting.

AdaGrad (Duchi, Hazan and Singer 2011) divides a gradient h by the root of all squares so far, its own included. Betting
(COCOB; Orabona and Tommasi 2017, Alg. 2) has no rate: a coordinate bets part of what it has won, b, on the sign of the
next gradient. th is the sum of all -h, G that of |h|, L the largest |h|, and R what was won:

    b = th / max(G + L, ALPHA L) (L + R) / L

A row of an array holds the numbers of one coordinate from column `at` on: w, its squares; th, G, L, R.
"""

import math

from weft.batch import Floats
from weft.jit import inner

EPS = 1e-8
"""Within AdaGrad's root."""
ALPHA = 5.0
"""Caps the first bets."""
TH, G, L, R = range(4)


@inner
def descend(parts: Floats, row: int, at: int, h: float, eta: float) -> None:
    """w -= eta h / sqrt(squares + EPS)."""
    parts[row, at + 1] += h * h
    parts[row, at] -= eta * h / math.sqrt(parts[row, at + 1] + EPS)


@inner
def bet(parts: Floats, row: int, at: int) -> float:
    """The weight that a coordinate bets; divided before it is multiplied, or a product could underflow."""
    largest = parts[row, at + L]
    if largest == 0.0:
        return 0.0
    share = parts[row, at + TH] / max(parts[row, at + G] + largest, ALPHA * largest)
    return float(share * ((largest + parts[row, at + R]) / largest))


@inner
def settle(parts: Floats, row: int, at: int, h: float, b: float) -> None:
    """The bet b is lost or won by the gradient h."""
    parts[row, at + R] = max(parts[row, at + R] - h * b, 0.0)
    parts[row, at + TH] -= h
    parts[row, at + G] += abs(h)
    parts[row, at + L] = max(parts[row, at + L], abs(h))
