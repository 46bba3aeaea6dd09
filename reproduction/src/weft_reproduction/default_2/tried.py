"""Prototypes of experts beyond those that `auto` has: what was tried for change, for tasks that oppose each other, for
heavy tails and for wrong labels. Each is judged as a further expert in the stack, which enters with weight 0.
"""

import math

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft_reproduction.default_2 import dense, linear
from weft_reproduction.default_2.linear import error
from weft_reproduction.default_2.rows import Labels, Rows, prototype

filtered = dense.filtered
since_of = dense.since_of


@prototype
def diagonal(R: Rows, L: Labels, own: bool, spread: float) -> Floats:
    """A Kalman filter with a variance per coordinate, of the task's own weights or of one model for all."""
    n, d = len(L.u), len(R.seat) + 1
    tasks = L.task.max() + 1 if own else 1
    w, v, out = np.zeros((tasks, d)), np.full((tasks, d), spread), np.zeros(n)
    for i in range(n):
        k = L.task[i] if own else 0
        e, s = 0.0, 0.0
        for a in range(R.ptr[i], R.ptr[i + 1]):
            e += w[k, R.idx[a]] * R.z[a]
            s += v[k, R.idx[a]] * R.z[a] * R.z[a]
        out[i] = e
        r = error(e, L.u[i], L.ready[i], L.logistic)
        if r == 0.0:
            continue
        p = r + L.u[i]
        variance = 1.0 / max(p * (1.0 - p), 1e-4) if L.logistic else 0.3
        for a in range(R.ptr[i], R.ptr[i + 1]):
            gain = v[k, R.idx[a]] * R.z[a]
            w[k, R.idx[a]] -= gain / (variance + s) * (r * variance if L.logistic else r)
            v[k, R.idx[a]] -= gain * gain / (variance + s)
    return out


@prototype
def seated(R: Rows, i: int, most: int, x: Floats) -> None:
    """The scaled values of event i in the order of the seats, behind the bias."""
    x[:] = 0.0
    x[0] = 1.0
    for a in range(R.ptr[i], R.ptr[i + 1] - 1):
        j = R.idx[a]
        if 0 <= R.seat[j] < most and R.since[j] < i:
            x[R.seat[j] + 1] = R.z[a]


@prototype
def fading_filter(R: Rows, L: Labels, most: int, keep: float) -> Floats:
    """The pooled filter, its matrix divided by `keep` after every event, as long as its trace is at most the first.

    A column that is not dense in an event counts as 0; rows without a dense column are left alone.
    """
    n, size = len(L.u), len(since_of(R, most)) + 1
    out, x = np.zeros(n), np.zeros(size)
    if size == 1:
        return out
    w, P = np.zeros(size), 10.0 * np.eye(size)
    for i in range(n):
        seated(R, i, most, x)
        dense_here = False
        for a in range(R.ptr[i], R.ptr[i + 1] - 1):
            j = R.idx[a]
            if 0 <= R.seat[j] < most and R.since[j] < i:
                dense_here = dense_here or not R.rare[a]
                if R.rare[a]:
                    x[R.seat[j] + 1] = 0.0
        if not dense_here:
            continue
        for a in range(size):
            out[i] += w[a] * x[a]
        if L.ready[i]:
            filtered(w, P, x, out[i], L.u[i], L.logistic)
            trace = 0.0
            for a in range(size):
                trace += P[a, a]
            if trace <= 10.0 * size * keep:
                P /= keep
    return out


@prototype
def second_from_pooled(R: Rows, L: Labels, most: int) -> Floats:
    """Own and pooled filter; a task's is made at its first event, with the weights that the pooled one has then."""
    n, tasks, size = len(L.u), L.task.max() + 1, len(since_of(R, most)) + 1
    out, x = np.zeros((n, 2)), np.zeros(size)
    if size == 1:
        return out
    w, P, made = np.zeros(size), 10.0 * np.eye(size), np.zeros(tasks, np.bool_)
    own, matrices = np.zeros((tasks, size)), np.zeros((tasks, size, size))
    for i in range(n):
        k = L.task[i]
        seated(R, i, most, x)
        if not made[k]:
            made[k] = True
            own[k] = w
            matrices[k] = 10.0 * np.eye(size)
        for a in range(size):
            out[i, 0] += own[k, a] * x[a]
            out[i, 1] += w[a] * x[a]
        if L.ready[i]:
            filtered(own[k], matrices[k], x, out[i, 0], L.u[i], L.logistic)
            filtered(w, P, x, out[i, 1], L.u[i], L.logistic)
    return out


@prototype
def half_betting(R: Rows, L: Labels, own: bool) -> Floats:
    """Betting with own parts alone, or with shared ones alone."""
    n, d = len(L.u), len(R.seat) + 1
    parts, out = np.zeros((L.task.max() + 1 if own else 1, d, 4)), np.zeros(n)
    for i in range(n):
        k, e = (L.task[i] if own else 0), 0.0
        for a in range(R.ptr[i], R.ptr[i + 1]):
            e += linear.bet(parts[k, R.idx[a]]) * R.z[a]
        out[i] = e
        r = error(e, L.u[i], L.ready[i], L.logistic)
        for a in range(R.ptr[i], R.ptr[i + 1]):
            if r * R.z[a] != 0.0:
                linear.stake(parts[k, R.idx[a]], r * R.z[a], 0.0)
    return out


@prototype
def rank_values(R: Rows, most: int, chance: Floats) -> Floats:
    """Scaled values, those of seated columns that are dense replaced by their rank, centred, with the same spread."""
    z, n, drawn = R.z.copy(), len(R.ptr) - 1, 0
    kept, met = np.zeros((most, 256)), np.zeros(most, np.int64)
    for i in range(n):
        many = 0
        for a in range(R.ptr[i], R.ptr[i + 1] - 1):
            many += not R.rare[a]
        for a in range(R.ptr[i], R.ptr[i + 1] - 1):
            s = R.seat[R.idx[a]]
            if R.rare[a] or s < 0 or s >= most or R.gone[a]:
                continue
            rank = dense.ranked(kept[s], min(met[s], 256), R.raw[a])
            z[a] = (2.0 * rank - 1.0) * math.sqrt(3.0 / many)
            at = met[s]
            if at >= 256:
                at = int(chance[drawn % len(chance)] * (met[s] + 1))
                drawn += 1
            if at < 256:
                kept[s, at] = R.raw[a]
            met[s] += 1
    return z


def ranks(R: Rows, L: Labels) -> Array:
    """Own + shared part by AdaGrad on ranks."""
    chance = np.random.default_rng(1).random(1 << 16)
    rate = 0.4 if L.logistic else 0.2
    return np.asarray(linear.adagrad(R._replace(z=rank_values(R, 64, chance)), L, True, True, rate, 1.0))
