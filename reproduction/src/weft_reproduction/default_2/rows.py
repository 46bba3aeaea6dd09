"""Rows and labels as the experts see them: scaled as they arrive, with what each expert needs beside the values.

Scaling depends on no expert, and no expert on another, so a stream is scaled once, every expert's scores are computed
once, and any stack of experts is a matter of milliseconds. These are prototypes for experiments, with arrays of all
tasks x all features; `weft.Model` has the learner itself.
"""

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar, cast

import numba
import numpy as np
from scipy import sparse

from weft.compiled.arrays import Array, Floats, Ints

Function = TypeVar("Function", bound=Callable[..., Any])


def prototype(function: Function) -> Function:
    """Compiled once in every process that runs it; nothing is kept on disk."""
    return cast(Function, numba.njit(nogil=True, error_model="numpy")(function))


class Rows(NamedTuple):
    """Scaled rows, one after the other; the last entry of each is the bias, number `features`.

    ptr     where each row begins
    idx, z, raw   feature, scaled value, value as given (the mean of the column where it is missing)
    rare    whether the feature is not dense
    gone    whether the value is missing
    seat    feature -> its place among the dense columns in the order of joining, -1 if it was never dense
    since   feature -> the event in which it became dense
    """

    ptr: Ints
    idx: Ints
    z: Floats
    raw: Floats
    rare: Array
    gone: Array
    seat: Ints
    since: Ints


class Labels(NamedTuple):
    """What is to be predicted: u, in the task's frame; `ready` where an expert may learn from it."""

    task: Ints
    u: Floats
    ready: Array
    logistic: bool
    mu: Floats
    sd: Floats
    low: Floats
    high: Floats
    y: Floats


def scaled(X: Any) -> Rows:
    """Dense arrays and CSR; NaN is a missing value, zeros are absent."""
    csr = sparse.csr_array(X, copy=True)
    csr.sort_indices()
    kept = ~(np.abs(csr.data) < 1e-150)  # NaN stays
    ptr = np.concatenate([[0], np.cumsum(kept)])[csr.indptr].astype(np.int64)
    out = _scaled(ptr, csr.indices[kept].astype(np.int64), csr.data[kept].astype(np.float64), csr.shape[1])
    return Rows(*out)


class _Sums(NamedTuple):
    """Of the present values of every feature: number, sum, sum of squares; and how often it was missing."""

    cnt: Floats
    s1: Floats
    s2: Floats
    miss: Floats


@prototype
def _standard(S: _Sums, j: int, x: float, t: float) -> float:
    """The value of a dense column, centred and divided by its standard deviation; 0 if it does not vary."""
    seen = t - S.miss[j]
    m = S.s1[j] / seen
    v = S.s2[j] / seen - m * m
    if v > 1e-12 * S.s2[j] / seen:
        return float(min(max((x - m) / np.sqrt(v), -5.0), 5.0))
    return 0.0


@prototype
def _count(S: _Sums, j: int, x: float, t: float, thr: float) -> bool:
    """Count a value; is its column dense now?"""
    S.cnt[j] += 1.0
    S.s1[j] += x
    S.s2[j] += x * x
    return bool(S.cnt[j] >= thr * (t - S.miss[j]))


@prototype
def _leave(dense: Ints, many: int, listed: Array, S: _Sums, least: Floats) -> int:
    """Columns that are too rare leave the list, the last one taking their place; how many stay. least: thr, t."""
    a = 0
    while a < many:
        j = dense[a]
        if S.cnt[j] >= least[0] * (least[1] - S.miss[j]):
            a += 1
        else:
            listed[j] = False
            many -= 1
            dense[a] = dense[many]
    return many


@prototype
def _threshold(val: Floats, first: int, end: int, nnz: int, t: float, known: int) -> float:
    """The density from which a column is dense."""
    length = 0
    for a in range(first, end):
        length += not np.isnan(val[a])
    return 0.5 if nnz + length >= 0.1 * t * max(1, known) else 0.9


@prototype
def _scaled(ptr: Ints, idx: Ints, val: Floats, d: int) -> Any:
    n, cap = len(ptr) - 1, len(idx) * 2 + len(ptr) * 2 + 64
    starts, out, z, raw = np.zeros(n + 1, np.int64), np.zeros(cap, np.int64), np.zeros(cap), np.zeros(cap)
    rare, gone, listed = np.zeros(cap, np.bool_), np.zeros(cap, np.bool_), np.zeros(d, np.bool_)
    S = _Sums(np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d))
    seat, since, here, dense = np.full(d, -1), np.full(d, -1), np.full(d, -1), np.zeros(d, np.int64)
    many, seats, known, nnz, o = 0, 0, 0, 0, 0
    for i in range(n):
        t, first, q, size = i + 1.0, o, 0.0, 0
        if o + (ptr[i + 1] - ptr[i]) + many + 2 > cap:
            cap *= 2
            out, z, raw = _wider(out, cap), _wider(z, cap), _wider(raw, cap)
            rare, gone = _wider(rare, cap), _wider(gone, cap)
        thr = _threshold(val, ptr[i], ptr[i + 1], nnz, t, known)
        for a in range(ptr[i], ptr[i + 1]):
            j, x = idx[a], val[a]
            lost = bool(np.isnan(x))
            if lost and not listed[j]:
                continue
            here[j] = i
            if lost:
                S.miss[j] += 1.0
                if S.cnt[j] < thr * (t - S.miss[j]):
                    continue
                rare[o], z[o], raw[o] = False, 0.0, S.s1[j] / (t - S.miss[j])
            else:
                nnz += 1
                known += S.cnt[j] == 0.0
                rare[o], raw[o] = not _count(S, j, x, t, thr), x
                if rare[o]:
                    z[o] = np.sign(x) * np.sqrt(min(abs(x) / np.sqrt(S.s2[j] / S.cnt[j]), 25.0))
                    q += z[o] * z[o]
                else:
                    z[o] = _standard(S, j, x, t)
            out[o], gone[o] = j, lost
            size += not rare[o]
            o += 1
        for a in range(many):
            j = dense[a]
            if here[j] != i and S.cnt[j] >= thr * (t - S.miss[j]):
                out[o], z[o], raw[o], rare[o], gone[o] = j, _standard(S, j, 0.0, t), 0.0, False, False
                size += 1
                o += 1
        z[first:o] /= np.sqrt(max(q + size, 1e-300))
        many = _leave(dense, many, listed, S, np.array([thr, t]))
        for a in range(first, o):
            j = out[a]
            if not rare[a] and not listed[j]:
                listed[j], dense[many] = True, j
                many += 1
                if seat[j] < 0:
                    seat[j], since[j] = seats, i
                    seats += 1
        out[o], z[o], raw[o], rare[o], gone[o] = d, 1.0, 1.0, False, False
        o += 1
        starts[i + 1] = o
    return starts, out[:o], z[:o], raw[:o], rare[:o], gone[:o], seat, since


@prototype
def _wider(a: Array, cap: int) -> Array:
    b = np.zeros(cap, a.dtype)
    b[: len(a)] = a
    return b


def framed(y: Floats, task: Ints, logistic: bool) -> Labels:
    """Targets of all events: 0 and 1, or the label in the frame that its task has before the event."""
    task, y = np.asarray(task, np.int64), np.asarray(y, np.float64)
    n = len(y)
    if logistic:
        one = np.ones(n)
        return Labels(task, np.where(y > 0, 1.0, 0.0), one > 0, True, 0 * one, one, 0 * one, one, y)
    return Labels(task, *_framed(y, task, int(task.max()) + 1))


@prototype
def _framed(y: Floats, task: Ints, tasks: int) -> Any:
    n = len(y)
    u, ready, mus, sds = np.zeros(n), np.zeros(n, np.bool_), np.zeros(n), np.ones(n)
    low, high = np.zeros(n), np.zeros(n)
    count, ysum, dev = np.zeros(tasks), np.zeros(tasks), np.zeros(tasks)
    Y, YY, DEV, W, wc, y0, lo, hi, ulo, uhi = 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0, 0.0
    for t in range(n):
        k, mk = task[t], 0.0
        if t > 0:
            m = Y / t
            tv = max(YY / t - m * m, 0.0)
            n0 = 1.0
            if wc >= 1:
                within = W / wc
                between = max(tv - within, 0.01 * tv)
                if between > 0:
                    n0 = min(max(within / between, 0.01), 100.0)
            mk = (ysum[k] + n0 * m) / (count[k] + n0)
            if count[k] == 0:
                mu, sd = m, np.sqrt(tv)
            else:
                mu, sd = mk, np.sqrt((dev[k] + 3 * DEV / t) / (count[k] + 3))
            ready[t] = sd > 1e-12 * (abs(lo) + abs(hi))
            mus[t], sds[t] = y0 + mu, sd if ready[t] else 1.0
            if ready[t]:
                u[t] = min(max((y[t] - mus[t]) / sds[t], -5.0), 5.0)
        low[t], high[t] = ulo, uhi
        if t == 0:
            y0 = lo = hi = y[0]
        else:
            dev[k] += (y[t] - (y0 + mk)) ** 2
            DEV += (y[t] - (y0 + mk)) ** 2
        shifted = y[t] - y0
        if count[k] > 0:
            W += (shifted - ysum[k] / count[k]) ** 2 * count[k] / (count[k] + 1)
            wc += 1
        count[k] += 1
        ysum[k] += shifted
        Y += shifted
        YY += shifted * shifted
        lo, hi = min(lo, y[t]), max(hi, y[t])
        ulo, uhi = min(ulo, u[t]), max(uhi, u[t])
    return u, ready, False, mus, sds, low, high, y
