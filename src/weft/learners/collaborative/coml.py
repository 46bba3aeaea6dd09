r"""COML: personal Passive-Aggressive models that are drawn to a global one.

Li, Hoi, Chang, Liu and Jain (2014): a global PA-I model w, and for every task a model u_k. An event with y u_k.x < 1
takes u_k to the least of e1/2 |u - u_k|^2 + e2/2 |u - w|^2 + C max(0, 1 - y u.x), which is

    m = (e1 u_k + e2 w)/(e1 + e2),    u_k <- m + min(C/(e1 + e2), l(m)/|x|^2) y x

and then w takes a step of PA-I by itself; u_k meets w as it was before the event.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import Handle, compiled, inlined_only
from weft.learner import Kernels
from weft.learners.collaborative.scores import record, score
from weft.storage.batch import Batch, learn_single, predict_single, squared_norm
from weft.storage.sparse_rows import add, product_in_order, product_with_row, row_of


class Models(NamedTuple):
    """Personal and global weights."""

    u: Floats
    w: Floats


class Hyper(NamedTuple):
    C: float
    e1: float
    e2: float


@inlined_only
def learn_event(hyper: Hyper, state: Models, batch: Batch, i: int, score: float, trace: Floats) -> None:
    """One example, which has been scored."""
    (C, e1, e2), (u, w), k, y = hyper, state, batch.task[i], batch.label[i]
    x = row_of(batch, i)
    if np.isnan(y):
        return
    n2 = squared_norm(x.values, x.begin, x.end)
    record(trace, i, score, y, n2, C)
    if n2 == 0.0:
        return
    s = product_in_order(w, x)
    if y * score < 1.0:
        if e2 > 0.0:  # without it nothing is mixed
            for f in range(u.shape[1]):
                u[k, f] = (e1 * u[k, f] + e2 * w[f]) / (e1 + e2)
        l = max(0.0, 1.0 - y * product_with_row(u, k, x))
        tau = min(C / (e1 + e2), l / n2)
        for e in range(x.begin, x.end):
            u[k, x.indices[e]] += tau * y * x.values[e]
    tau = min(C, max(0.0, 1.0 - y * s) / n2)
    add(w, x, tau * y)


@compiled
def learn(hyper: Hyper, state: Models, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    u, rounds = state.u, batch.rounds
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        for i in range(lo, hi):
            scores[i] = score(u, batch, i)
        for i in range(lo, hi):
            learn_event(hyper, state, batch, i, scores[i], trace)
    return len(rounds) - 1


@compiled
def predict(hyper: Hyper, state: Models, batch: Batch, scores: Floats) -> None:
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
