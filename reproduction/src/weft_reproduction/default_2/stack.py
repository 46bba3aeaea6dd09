"""The stack of any experts' scores, mixed with that of the first four, and the layer above that does no harm."""

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


def stacked(E: Floats, L: Labels, start: Floats, allowed: Floats | None = None) -> Stacked:
    """Columns of E: gradient, betting, own, pooled, and further experts; `start` their first weights.

    `allowed` multiplies the gradients of these weights, event by event.
    """
    found: Any = _stacked(E, L, np.asarray(start, np.float64), np.ones(len(E)) if allowed is None else allowed)
    return Stacked(*found)


@prototype
def _sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -14.0), 14.0)))


@prototype
def _clipped(x: float, low: float, high: float) -> float:
    return min(max(x, low), high)


@prototype
def _mixed(s: Floats, q: Floats, L: Labels, i: int) -> float:
    """The score of the stack, from those of all experts and of the first four, weighed by q."""
    if not L.logistic:
        return float(q[0] * _clipped(s[0], L.low[i], L.high[i]) + q[1] * _clipped(s[1], L.low[i], L.high[i]))
    p = q[0] * _sigma(s[0]) + q[1] * _sigma(s[1])
    return math.log(p / (1.0 - p))


@prototype
def _judge_stacks(s: Floats, mixed: float, q: Floats, sums: Floats, L: Labels, i: int) -> None:
    """The weights q of both stacks after event i; sums: their losses and the gap of AdaHedge, with squared loss."""
    u = L.u[i]
    if L.logistic:
        back = 0.25 / (i + 2.0)
        q *= np.array([_sigma(x) if u > 0 else 1.0 - _sigma(x) for x in s])
        q[:] = (1.0 - back) * q / q.sum() + back / 2.0
        return
    if L.ready[i]:
        eta = min(1.0, math.log(2.0) / sums[2]) if sums[2] > 0 else 1.0
        l = np.array([(_clipped(x, L.low[i], L.high[i]) - u) ** 2 / 2 for x in s])
        ideal = l.min() - math.log(np.sum(q * np.exp(-eta * (l - l.min())))) / eta
        sums[2] += max((mixed - u) ** 2 / 2 - ideal, 0.0)
        sums[:2] += l
    eta = min(1.0, math.log(2.0) / sums[2]) if sums[2] > 0 else 1.0
    q[:] = np.exp(-eta * (sums[:2] - sums[:2].min()))
    q /= q.sum()


@prototype
def _move(V: Floats, H: Floats, c: Floats, error: float) -> None:
    """A stack's step; its first weights, if c is shorter."""
    for a in range(len(c)):
        h = error * c[a]
        if h != 0.0:
            H[a] += h * h
            V[a] -= 0.1 * h / math.sqrt(H[a])


@prototype
def _stacked(E: Floats, L: Labels, start: Floats, allowed: Floats) -> tuple[Floats, Floats, Floats]:
    n, m = E.shape
    tasks, prior = L.task.max() + 1, np.array([0.8, 0.1, 0.1])
    w, Lk, eta, gap = np.zeros((tasks, 3)), np.zeros((tasks, 3)), np.ones(tasks), np.zeros(tasks)
    w[:] = prior
    V, H, c, f, both = np.vstack((start, start)), np.ones((2, m)), np.zeros(m), np.zeros(3), np.zeros(2)
    q, sums = np.full(2, 0.5), np.zeros(3)
    count, losses, answer = np.zeros(tasks), np.zeros((n, 4)), np.zeros(n)
    for i in range(n):
        k, both[:] = L.task[i], 0.0
        for a in range(m):
            c[a] = min(max(E[i, a], -8.0), 8.0)
            both[0] += V[0, a] * c[a]
            both[1] += V[1, a] * c[a] if a < 4 else 0.0
        s = _mixed(both, q, L, i) if m > 4 else both[0]
        f[0], f[1], f[2], p = s, c[2], c[3], 0.0
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
        if m > 4:
            _judge_stacks(both, s, q, sums, L, i)
        for b in range(2 if m > 4 else 1):
            r = (_sigma(both[b]) - u) if L.logistic else ((both[b] - u) if L.ready[i] else 0.0)
            _move(V[b], H[b], c[: m if b == 0 else 4], allowed[i] * r)
    return losses, answer, V[0]
