"""Hedge: a mixture of experts, weighted by what each of them has lost so far.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Sec. 3.4: p_k ~ exp(-eta_h sum of the losses of expert k).
"""

import math

from weft.compiled.arrays import Floats
from weft.compiled.jit import helper_no_alloc

LEAST = 1e-290
"""A bound B on losses that is no larger counts as 0."""

MOST_LOST = 1e200
"""What an expert loses in one event at most: sums of losses stay finite, so that they can be compared."""


@helper_no_alloc
def hedge_rate(eta_h: float, K: int, T: float, t: float, B: float) -> float:
    """eta_h as given, or sqrt(8 ln K / T) / B, with t instead of an unknown T; 0 as long as B <= LEAST."""
    if not math.isnan(eta_h):
        return eta_h
    if B <= LEAST:
        return 0.0
    return math.sqrt(8.0 * math.log(K) / (t if math.isnan(T) else T)) / B


@helper_no_alloc
def hedge_weights(eta_h: float, losses: Floats, weights: Floats) -> None:
    """p_k, from the smallest loss up, so that nothing underflows but what is negligible."""
    least, total = losses[0], 0.0
    for k in range(len(losses)):
        least = min(least, losses[k])
    for k in range(len(losses)):
        weights[k] = math.exp(-eta_h * (losses[k] - least))
        total += weights[k]
    for k in range(len(losses)):
        weights[k] /= total
