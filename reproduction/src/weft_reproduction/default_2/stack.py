"""The stack of any experts' scores, and the layer above it that does no harm."""

import math
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats
from weft_reproduction.default_2.rows import Labels, prototype


class Stacked(NamedTuple):
    """losses: of every event, those of stack, own, pooled and auto; answer: log-odds or label; V: the last weights."""

    losses: Floats
    answer: Floats
    V: Floats


def stacked(E: Floats, L: Labels, start: Floats) -> Stacked:
    """Columns of E: gradient, betting, own, pooled, and further experts; `start` their first weights."""
    found: Any = _stacked(E, L, np.asarray(start, np.float64))
    return Stacked(*found)


@prototype
def _sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -14.0), 14.0)))


@prototype
def _stacked(E: Floats, L: Labels, start: Floats) -> tuple[Floats, Floats, Floats]:
    n, m = E.shape
    tasks = L.task.max() + 1
    prior = np.array([0.8, 0.1, 0.1])
    w, Lk, eta, gap = np.zeros((tasks, 3)), np.zeros((tasks, 3)), np.ones(tasks), np.zeros(tasks)
    w[:] = prior
    V, H, c, f = start.copy(), np.ones(m), np.zeros(m), np.zeros(3)
    count, losses, answer = np.zeros(tasks), np.zeros((n, 4)), np.zeros(n)
    for i in range(n):
        k, s = L.task[i], 0.0
        for a in range(m):
            c[a] = min(max(E[i, a], -8.0), 8.0)
            s += V[a] * c[a]
        f[0], f[1], f[2] = s, c[2], c[3]
        p = 0.0
        if not L.logistic:
            total = 0.0
            for a in range(3):
                f[a] = min(max(f[a], L.low[i]), L.high[i])
                w[k, a] = prior[a] * math.exp(-eta[k] * (Lk[k, a] - Lk[k].min()))
                total += w[k, a]
            w[k] /= total
        for a in range(3):
            p += w[k, a] * (_sigma(f[a]) if L.logistic else f[a])
        count[k] += 1
        u = L.u[i]
        if L.logistic:
            total, back = 0.0, 0.25 / (count[k] + 1)
            for a in range(3):
                like = _sigma(f[a]) if u > 0 else 1.0 - _sigma(f[a])
                losses[i, a] = -math.log(like)
                w[k, a] *= like
                total += w[k, a]
            for a in range(3):
                w[k, a] = (1 - back) * w[k, a] / total + back * prior[a]
            losses[i, 3] = -math.log(p if u > 0 else 1.0 - p)
            answer[i] = math.log(p / (1.0 - p))
        else:
            if not L.ready[i]:
                u = p
            mass, least = 0.0, np.inf
            for a in range(3):
                losses[i, a] = (f[a] - u) ** 2 / 2
                least = min(least, losses[i, a])
            for a in range(3):
                mass += w[k, a] * math.exp(-eta[k] * (losses[i, a] - least))
                Lk[k, a] += losses[i, a]
            losses[i, 3] = (p - u) ** 2 / 2
            gap[k] += max(losses[i, 3] - (least - math.log(mass) / eta[k]), 0.0)
            eta[k] = min(1.0, math.log(10.0) / gap[k]) if gap[k] > 0 else 1.0
            answer[i] = L.mu[i] + L.sd[i] * p
        r = (_sigma(s) - u) if L.logistic else ((s - u) if L.ready[i] else 0.0)
        for a in range(m):
            h = r * c[a]
            if h != 0.0:
                H[a] += h * h
                V[a] -= 0.1 * h / math.sqrt(H[a])
    return losses, answer, V
