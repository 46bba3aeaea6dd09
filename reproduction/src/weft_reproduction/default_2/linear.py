"""Prototypes of the linear experts: AdaGrad, with forgetting or without, betting, levels, low rank, and counts."""

import math
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft_reproduction.default_2.rows import Labels, Rows, prototype


@prototype
def error(e: float, u: float, ready: bool, logistic: bool) -> float:
    """Of a score: sigma(e) - u, or clip(e, 8) - u."""
    if logistic:
        return 1.0 / (1.0 + math.exp(-min(max(e, -14.0), 14.0))) - u
    return (min(max(e, -8.0), 8.0) - u) if ready else 0.0


@prototype
def adagrad(R: Rows, L: Labels, own: bool, shared: bool, rate: float, keep: float) -> Floats:
    """Own part, shared part or both; `keep` of a coordinate's sum of squares survives its update."""
    n, d = len(L.u), len(R.seat) + 1
    tasks = L.task.max() + 1
    w, g = np.zeros((tasks if own else 1, d)), np.zeros((tasks if own else 1, d))
    w0, g0 = np.zeros(d), np.zeros(d)
    out = np.zeros(n)
    for i in range(n):
        k = L.task[i] if own else 0
        e = 0.0
        for a in range(R.ptr[i], R.ptr[i + 1]):
            e += (w[k, R.idx[a]] + w0[R.idx[a]]) * R.z[a]
        out[i] = e
        r = error(e, L.u[i], L.ready[i], L.logistic)
        for a in range(R.ptr[i], R.ptr[i + 1]):
            h, j = r * R.z[a], R.idx[a]
            if h != 0.0:
                if own:
                    g[k, j] = keep * g[k, j] + h * h
                    w[k, j] -= rate * h / math.sqrt(g[k, j] + 1e-8)
                if shared:
                    g0[j] = keep * g0[j] + h * h
                    w0[j] -= rate * h / math.sqrt(g0[j] + 1e-8)
    return out


@prototype
def _bet(s: Floats) -> float:
    th, G, L, R = s[0], s[1], s[2], s[3]
    return (th / max(G + L, 5.0 * L)) * ((L + R) / L) if L > 0.0 else 0.0


@prototype
def _stake(s: Floats, h: float, least: float) -> None:
    s[3] = max(s[3] - h * _bet(s), 0.0)
    s[0] -= h
    s[1] += abs(h)
    s[2] = max(s[2], abs(h), least)


@prototype
def betting(R: Rows, L: Labels, least: float) -> tuple[Floats, float]:
    """Own + shared part by coin betting; `least` is the floor of L. Also the largest weight at the end."""
    n, d = len(L.u), len(R.seat) + 1
    own, shared = np.zeros((L.task.max() + 1, d, 4)), np.zeros((d, 4))
    out, largest = np.zeros(n), 0.0
    for i in range(n):
        k, e = L.task[i], 0.0
        for a in range(R.ptr[i], R.ptr[i + 1]):
            b, b0 = _bet(own[k, R.idx[a]]), _bet(shared[R.idx[a]])
            largest = max(largest, abs(b), abs(b0))
            e += (b + b0) * R.z[a]
        out[i] = e
        r = error(e, L.u[i], L.ready[i], L.logistic)
        for a in range(R.ptr[i], R.ptr[i + 1]):
            h = r * R.z[a]
            if h != 0.0:
                _stake(own[k, R.idx[a]], h, least)
                _stake(shared[R.idx[a]], h, least)
    return out, largest


@prototype
def level(R: Rows, L: Labels) -> Floats:
    """Running means of the task's targets at three rates."""
    n = len(L.u)
    rates = np.array([0.5, 0.1, 0.02])
    m, count, out = np.zeros((L.task.max() + 1, 3)), np.zeros(L.task.max() + 1), np.zeros((n, 3))
    for i in range(n):
        k = L.task[i]
        for a in range(3):
            q = min(count[k], 1.0 / rates[a])
            out[i, a] = math.log((m[k, a] * q + 0.5) / ((1.0 - m[k, a]) * q + 0.5)) if L.logistic else m[k, a]
        count[k] += 1.0
        if L.ready[i]:
            for a in range(3):
                m[k, a] += max(rates[a], 1.0 / count[k]) * (L.u[i] - m[k, a])
    return out


def low_rank(R: Rows, L: Labels, factors: int = 16, seed: int = 0) -> Floats:
    """Biases and a product of numbers of task and features, drawn N(0, 0.05^2)."""
    rng = np.random.default_rng(seed)
    P = 0.05 * rng.standard_normal((int(L.task.max()) + 1, factors))
    Q = 0.05 * rng.standard_normal((len(R.seat), factors))
    found: Any = _low_rank(R, L, P, Q)
    return np.asarray(found)


@prototype
def _low_rank(R: Rows, L: Labels, P: Floats, Q: Floats) -> Floats:
    n, d, F = len(L.u), len(R.seat), P.shape[1]
    aP, aQ = np.zeros(P.shape), np.zeros(Q.shape)
    b, ab = np.zeros(d + 1), np.zeros(d + 1)
    bk, abk = np.zeros(len(P)), np.zeros(len(P))
    out, h, old = np.zeros(n), np.zeros(F), np.zeros(F)
    for i in range(n):
        k = L.task[i]
        e = bk[k]
        h[:] = 0.0
        for a in range(R.ptr[i], R.ptr[i + 1]):
            j = R.idx[a]
            e += b[j] * R.z[a]  # the last one is the bias of all
            if j < d:
                for f in range(F):
                    h[f] += R.z[a] * Q[j, f]
        for f in range(F):
            old[f] = P[k, f]
            e += old[f] * h[f]
        out[i] = e
        r = error(e, L.u[i], L.ready[i], L.logistic)
        if r == 0.0:
            continue
        abk[k] += r * r
        bk[k] -= 0.2 * r / math.sqrt(abk[k] + 1e-8)
        for a in range(R.ptr[i], R.ptr[i + 1]):
            j, x = R.idx[a], r * R.z[a]
            if x != 0.0:
                ab[j] += x * x
                b[j] -= 0.2 * x / math.sqrt(ab[j] + 1e-8)
                if j < d:
                    for f in range(F):
                        s = x * old[f]
                        aQ[j, f] += s * s
                        Q[j, f] -= 0.2 * s / math.sqrt(aQ[j, f] + 1e-3)
        for f in range(F):
            s = r * h[f]
            aP[k, f] += s * s
            P[k, f] -= 0.2 * s / math.sqrt(aP[k, f] + 1e-3)
    return out


@prototype
def bayes(R: Rows, L: Labels) -> Floats:
    """Naive Bayes of the presence of sparse features."""
    n, d = len(L.u), len(R.seat)
    tasks = L.task.max() + 1
    C, T, C0, T0 = np.zeros((tasks, d, 2)), np.zeros((tasks, 2)), np.zeros((d, 2)), np.zeros(2)
    a, b, Ha, Hb = 0.3, 0.0, 1.0, 1.0
    out = np.zeros(n)
    for i in range(n):
        k, v, many = L.task[i], 0.0, 0
        for at in range(R.ptr[i], R.ptr[i + 1] - 1):
            if R.rare[at]:
                j = R.idx[at]
                many += 1
                if C0[j, 0] + C0[j, 1] > 0.0:
                    one = (C[k, j, 1] + 2.0 * (C0[j, 1] + 0.5) / (T0[1] + 1.0)) / (T[k, 1] + 2.0)
                    v += math.log(one / ((C[k, j, 0] + 2.0 * (C0[j, 0] + 0.5) / (T0[0] + 1.0)) / (T[k, 0] + 2.0)))
        if many > 0:
            v = min(max(v / math.sqrt(many), -10.0), 10.0)
        out[i] = a * v + b
        r = error(out[i], L.u[i], True, True)
        Ha += (r * v) ** 2
        a -= 0.2 * r * v / math.sqrt(Ha)
        Hb += r * r
        b -= 0.2 * r / math.sqrt(Hb)
        c = int(L.u[i])
        T[k, c] += 1.0
        T0[c] += 1.0
        for at in range(R.ptr[i], R.ptr[i + 1] - 1):
            if R.rare[at]:
                C[k, R.idx[at], c] += 1.0
                C0[R.idx[at], c] += 1.0
    return out
