r"""CW-COL: personal confidence-weighted models that are drawn to a global one.

Models are Gaussians with a variance per feature, N(u_k, S_k) and N(w, S), from variance 1 on. The prior of a step mixes
both by their precisions, with the weights `mix` and 1 - `mix`, and the step is AROW's (Crammer, Kulesza and Dredze
2009): with l = max(0, 1 - y m.x),

    u_k <- m + y l/(x'S x + r) S x,    S^-1 <- S^-1 + x x'/r  on the diagonal

and then w takes such a step by itself; u_k meets w as it was before the event.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import Handle, compiled, inlined_only
from weft.learner import Kernels
from weft.learners.collaborative.scores import record, score
from weft.maths.limits import LONGEST
from weft.storage.batch import Batch, learn_single, predict_single, squared_norm
from weft.storage.sparse_rows import Row, product_in_order, product_with_row, row_of

MOST_PRECISE = 1e150
"""No precision grows beyond this: its product with a weight stays finite."""


class Gaussians(NamedTuple):
    """Means of the personal models and of the global one, and their precisions less 1."""

    u: Floats
    w: Floats
    personal: Floats
    shared: Floats


class Hyper(NamedTuple):
    r: float
    mix: float


@inlined_only
def learn_event(hyper: Hyper, state: Gaussians, batch: Batch, i: int, score: float, trace: Floats) -> None:
    """One example, which has been scored."""
    (r, mix), (u, w, personal, shared), k, y = hyper, state, batch.task[i], batch.label[i]
    x = row_of(batch, i)
    if np.isnan(y):
        return
    n2 = squared_norm(x.values, x.begin, x.end)
    record(trace, i, score, y, n2, r)
    if n2 == 0.0:
        return
    if y * score < 1.0:
        for f in range(u.shape[1]):
            own, other = mix * (1.0 + personal[k, f]), (1.0 - mix) * (1.0 + shared[f])
            u[k, f] = (own * u[k, f] + other * w[f]) / (own + other)
            personal[k, f] = mix * personal[k, f] + (1.0 - mix) * shared[f]
        _arow(u[k], personal[k], x, y, 1.0 - y * product_with_row(u, k, x), r)
    _arow(w, shared, x, y, 1.0 - y * product_in_order(w, x), r)


@inlined_only
def _arow(mean: Floats, precision: Floats, x: Row, y: float, l: float, r: float) -> None:
    """A step of AROW with the loss l; precisions are those less 1."""
    if not l > 0.0:
        return
    l = min(l, LONGEST)
    indices, values, begin, end = x
    spread = r
    for e in range(begin, end):
        spread += values[e] * values[e] / (1.0 + precision[indices[e]])
    for e in range(begin, end):
        f = indices[e]
        mean[f] += y * l / spread * values[e] / (1.0 + precision[f])
        precision[f] = min(precision[f] + values[e] * values[e] / r, MOST_PRECISE)


@compiled
def learn(hyper: Hyper, state: Gaussians, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    u, rounds = state.u, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        for i in range(lo, hi):
            scores[i] = score(u, batch, i)
        for i in range(lo, hi):
            learn_event(hyper, state, batch, i, scores[i], trace)
    return len(rounds) - 1


@compiled
def predict(hyper: Hyper, state: Gaussians, batch: Batch, scores: Floats) -> None:
    u = state.u
    for i in range(len(scores)):
        scores[i] = score(u, batch, i)


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)


KERNELS = Kernels(predict, learn, predict_one, learn_one)
