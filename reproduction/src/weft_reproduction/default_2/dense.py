"""Prototypes of the experts of dense columns: filters with a matrix, and grids of hats over pairs of columns."""

import math
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft_reproduction.default_2.linear import error
from weft_reproduction.default_2.rows import Labels, Rows, prototype


@prototype
def _filtered(w: Floats, P: Floats, x: Floats, e: float, u: float, logistic: bool) -> None:
    d = len(x)
    r = error(e, u, True, logistic)
    p = r + u
    variance = 1.0 / max(p * (1.0 - p), 1e-4) if logistic else 0.3
    Px = np.zeros(d)
    for a in range(d):
        if x[a] != 0.0:
            for b in range(d):
                Px[b] += P[a, b] * x[a]
    total = variance
    for a in range(d):
        total += x[a] * Px[a]
    for a in range(d):
        w[a] -= Px[a] / total * (r * variance if logistic else r)
        for b in range(d):
            P[a, b] -= Px[a] * Px[b] / total


@prototype
def _since(R: Rows, most: int) -> Ints:
    """Seat -> the event in which its column became dense."""
    found = np.zeros(most, np.int64)
    many = 0
    for j in range(len(R.seat)):
        if 0 <= R.seat[j] < most:
            found[R.seat[j]] = R.since[j]
            many += 1
    return found[:many]


@prototype
def second(R: Rows, L: Labels, most: int, from_pooled: bool) -> Floats:
    """Own and pooled; a task's matrix is made at 2 d events, its weights at zero or at those of the pooled filter."""
    n, tasks = len(L.u), L.task.max() + 1
    since = _since(R, most)
    size = len(since) + 1
    out = np.zeros((n, 2))
    if size == 1:
        return out
    w, P = np.zeros(size), 10.0 * np.eye(size)
    own, PP, made = np.zeros((tasks, size)), np.zeros((tasks, size, size)), np.zeros(tasks, np.bool_)
    count, x, d = np.zeros(tasks), np.zeros(size), 1
    for i in range(n):
        k = L.task[i]
        x[:] = 0.0
        x[0] = 1.0
        for a in range(R.ptr[i], R.ptr[i + 1] - 1):
            j = R.idx[a]
            if 0 <= R.seat[j] < most and R.since[j] < i:
                x[R.seat[j] + 1] = R.z[a]
        while d < size and since[d - 1] < i:
            d += 1
        for a in range(size):
            out[i, 1] += w[a] * x[a]
            if made[k]:
                out[i, 0] += own[k, a] * x[a]
        if L.ready[i]:
            if made[k]:
                _filtered(own[k], PP[k], x, out[i, 0], L.u[i], L.logistic)
            _filtered(w, P, x, out[i, 1], L.u[i], L.logistic)
        count[k] += 1
        if not made[k] and count[k] >= 2 * d:
            made[k] = True
            if from_pooled:
                own[k] = w
            PP[k] = 10.0 * np.eye(size)
    return out


def grid(R: Rows, L: Labels, most: int = 16, seed: int = 0) -> Floats:
    """Hats over the ranks of pairs of dense columns, shared weights by AdaGrad."""
    found: Any = _grid(R, L, most, np.random.default_rng(seed).random(1 << 16))
    return np.asarray(found)


@prototype
def _ranked(kept: Floats, many: int, x: float) -> float:
    less, equal = 0, 1
    for a in range(many):
        less += kept[a] < x
        equal += kept[a] == x
    return (less + 0.5 * equal) / (many + 1)


@prototype
def _grid(R: Rows, L: Labels, most: int, chance: Floats) -> Floats:
    n = len(L.u)
    out = np.zeros(n)
    kept, met = np.zeros((most, 256)), np.zeros(most, np.int64)
    w, g = np.zeros((most, most, 5, 5)), np.zeros((most, most, 5, 5))
    left, part = np.zeros(most, np.int64), np.zeros(most)
    rate, drawn = 0.4 if L.logistic else 0.2, 0
    since, d = _since(R, most), 0
    x, gone = np.zeros(most), np.zeros(most, np.bool_)
    for i in range(n):
        while d < len(since) and since[d] < i:
            d += 1
        x[:] = 0.0
        gone[:] = False
        for a in range(R.ptr[i], R.ptr[i + 1] - 1):
            s = R.seat[R.idx[a]]
            if 0 <= s < d:
                x[s], gone[s] = R.raw[a], R.gone[a]
        for s in range(d):
            rank = _ranked(kept[s], min(met[s], 256), x[s])
            left[s] = min(int(rank * 4), 3)
            part[s] = rank * 4 - left[s]
        scale = 1.0 / math.sqrt(max(d * (d - 1) / 2, 1.0))
        out[i] = _gridded(w, g, left, part, d, scale, 0.0, 0.0)
        r = error(out[i], L.u[i], L.ready[i], L.logistic)
        _gridded(w, g, left, part, d, scale, r, rate)
        for s in range(d):
            if not gone[s]:
                at = met[s]
                if at >= 256:
                    at = int(chance[drawn % 65536] * (met[s] + 1))
                    drawn += 1
                if at < 256:
                    kept[s, at] = x[s]
                met[s] += 1
    return out


@prototype
def _gridded(
    w: Floats, g: Floats, left: Ints, part: Floats, d: int, scale: float, r: float, rate: float
) -> float:
    """The score; with a rate, the step."""
    e = 0.0
    for i in range(d):
        for j in range(i + 1, d):
            for a in range(2):
                for b in range(2):
                    x = (part[i] if a else 1.0 - part[i]) * (part[j] if b else 1.0 - part[j]) * scale
                    if rate == 0.0:
                        e += w[i, j, left[i] + a, left[j] + b] * x
                    elif r * x != 0.0:
                        g[i, j, left[i] + a, left[j] + b] += (r * x) ** 2
                        w[i, j, left[i] + a, left[j] + b] -= (
                            rate * r * x / math.sqrt(g[i, j, left[i] + a, left[j] + b] + 1e-8)
                        )
    return e
