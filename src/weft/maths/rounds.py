"""One round of a shared-loss learner: which rule, how aggressive (Dekel, Long and Singer 2007, Sec. 3 to 5)."""

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import helper
from weft.maths.norms import NormCode, remoteness
from weft.maths.steps import finite_horizon, implicit, infinite_horizon

FINITE_HORIZON, INFINITE_HORIZON, IMPLICIT = 0, 1, 2


@helper
def widest_round(rounds: Ints) -> int:
    """The most examples in a round: the size of a kernel's scratch space."""
    widest = 0
    for t in range(len(rounds) - 1):
        widest = max(widest, rounds[t + 1] - rounds[t])
    return widest


@helper
def first_aggressiveness(norm: NormCode, n2: Floats, R: float) -> float:
    """C = 1/(R^2 rho^2) from a round's rows, with their longest in place of R = 0; 0 if all rows are zero."""
    longest = 0.0
    for j in range(n2.shape[0]):
        longest = max(longest, n2[j])
    if longest == 0.0:
        return 0.0
    rho = remoteness(norm, n2.shape[0])
    return 1.0 / ((R * R if R > 0.0 else longest) * rho * rho)


@helper
def step_weights(rule: int, norm: NormCode, l: Floats, n2: Floats, C: float, R: float, tau: Floats) -> None:
    """Fill tau by the rule; a C that is not known yet (0) moves nothing."""
    if C <= 0.0:
        tau[:] = 0.0
    elif rule == FINITE_HORIZON:
        finite_horizon(norm, l, C, tau)
    elif rule == INFINITE_HORIZON:
        infinite_horizon(norm, l, n2, C, R, tau)
    else:
        implicit(norm, l, n2, C, tau)
