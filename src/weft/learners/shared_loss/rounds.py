"""A round of a shared-loss learner (Dekel, Long and Singer 2007, Fig. 1), apart from how scores are computed.

The losses of the active tasks, those with a label, make the steps tau_j of all of them; the three learners differ in
this choice alone (Sec. 3 to 5).
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import opened
from weft.compiled.jit import helper, helper_no_alloc
from weft.maths.kernels import KernelCode
from weft.maths.losses import direction, loss_value
from weft.maths.norm_codes import NormCode, remoteness
from weft.maths.steps import finite_horizon, implicit, infinite_horizon
from weft.storage.batch import Batch, record

FINITE_HORIZON, INFINITE_HORIZON, IMPLICIT = range(3)

AGGRESSIVENESS, LONGEST = range(2)
"""Positions in `scalars`: C once it is known, and the largest |v_j|^2 of a row that moved its task."""


class Hyper(NamedTuple):
    """The parameters as compiled code takes them; R = 0 means the largest row of each round."""

    rule: int
    R: float
    loss: int
    epsilon: float
    norm: NormCode
    kernel: KernelCode


class Active(NamedTuple):
    """The active tasks of a round, and all of its examples: scratch of the widest round."""

    example: Ints  # of every active task: the number of its example in the batch
    l: Floats
    n2: Floats  # |v_j|^2
    tau: Floats
    squares: Floats  # of every example of the round: |v_j|^2
    steps: Floats  # of every example of the round: tau_j times the sign of v_j, 0 if it moves nothing


class Work(NamedTuple):
    """What a call of `learn` works on, besides the weights or the kept rows."""

    hyper: Hyper
    scalars: Floats
    batch: Batch
    scores: Floats
    trace: Floats
    active: Active


@helper
def space_for(most: int) -> Active:
    """Scratch for rounds of so many examples."""
    example, space = np.empty(most, np.int64), np.empty((5, most))
    return Active(example, space[0], space[1], space[2], space[3], space[4])


@helper_no_alloc
def suffer(work: Work, lo: int, hi: int) -> int:
    """List the active tasks of a round with their losses l_j; returns their number."""
    hyper, _, batch, scores, _, active = opened(work)
    k = lo - lo  # a bare 0 would compile helpers once more
    for i in range(lo, hi):
        if not np.isnan(batch.label[i]):
            active.example[k], active.n2[k] = i, active.squares[i - lo]
            active.l[k] = loss_value(hyper.loss, scores[i], batch.label[i], hyper.epsilon)
            k += 1
    return k


@helper
def choose_tau(hyper: Hyper, scalars: Floats, l: Floats, n2: Floats, tau: Floats) -> None:
    """tau_j of the active tasks (Sec. 3 to 5); C is fixed by the first round that has a row other than zero."""
    if scalars[AGGRESSIVENESS] == 0.0:
        scalars[AGGRESSIVENESS] = _first_aggressiveness(hyper.norm, n2, hyper.R)
    C = scalars[AGGRESSIVENESS]
    if C <= 0.0:  # not known yet
        tau[:] = 0.0
    elif hyper.rule == FINITE_HORIZON:
        finite_horizon(hyper.norm, l, C, tau)
    elif hyper.rule == INFINITE_HORIZON:
        infinite_horizon(hyper.norm, l, n2, C, hyper.R, tau)
    else:
        implicit(hyper.norm, l, n2, C, tau)


@helper_no_alloc
def set_steps(work: Work, lo: int, hi: int, k: int) -> None:
    """The steps of all examples of a round from tau_j of its k active tasks."""
    hyper, scalars, batch, scores, trace, active = opened(work)
    for i in range(lo, hi):
        active.steps[i - lo] = 0.0
    for a in range(k):
        i, tau, n2 = active.example[a], active.tau[a], active.n2[a]
        record(trace, i, active.l[a], tau, n2, scalars[AGGRESSIVENESS])
        if tau > 0.0 and n2 > 0.0:
            scalars[LONGEST] = max(scalars[LONGEST], n2)
            active.steps[i - lo] = tau * direction(hyper.loss, scores[i], batch.label[i])


@helper
def _first_aggressiveness(norm: NormCode, n2: Floats, R: float) -> float:
    """C = 1/(R^2 rho^2) from a round's rows, with their longest in place of R = 0; 0 if all rows are zero."""
    longest = 0.0
    for j in range(n2.shape[0]):
        longest = max(longest, n2[j])
    if longest == 0.0:
        return 0.0
    rho = remoteness(norm, n2.shape[0])
    return 1.0 / ((R * R if R > 0.0 else longest) * rho * rho)
