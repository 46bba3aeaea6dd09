"""A round of a shared-loss learner (Dekel, Long and Singer 2007, Fig. 1), apart from how scores are computed.

The losses of the active tasks, those with a label, make the steps tau_j of all of them; the three learners differ in
this choice alone (Sec. 3 to 5).
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper, inlined_only
from weft.maths.kernels import KernelCode
from weft.maths.limits import cut
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
    """The active tasks of a round: scratch of the widest round."""

    example: Ints  # the number of the task's example in the batch
    l: Floats
    n2: Floats  # |v_j|^2
    tau: Floats


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
    return Active(np.empty(most, np.int64), np.empty(most), np.empty(most), np.empty(most))


@inlined_only
def suffer(work: Bundle[Work], i: int, n2: float, k: int) -> int:
    """Add the task of example i to the k active ones, with its loss l_j, if it has a label; returns their number."""
    hyper, _, batch, scores, _, active = opened(work)
    if np.isnan(batch.label[i]):
        return k
    active.example[k], active.n2[k] = i, n2
    active.l[k] = loss_value(hyper.loss, scores[i], batch.label[i], hyper.epsilon)
    return k + 1


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


@inlined_only
def step_of(work: Bundle[Work], a: int) -> float:
    """The step of the a-th active task: tau_j and the sign of v_j; 0 if nothing moves."""
    hyper, scalars, batch, scores, trace, active = opened(work)
    i, n2 = active.example[a], active.n2[a]
    tau = cut(active.tau[a], n2)
    record(trace, i, active.l[a], tau, n2, scalars[AGGRESSIVENESS])
    if tau <= 0.0 or n2 <= 0.0:
        return 0.0
    scalars[LONGEST] = max(scalars[LONGEST], n2)
    step: float = tau * direction(hyper.loss, scores[i], batch.label[i])
    return step


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
