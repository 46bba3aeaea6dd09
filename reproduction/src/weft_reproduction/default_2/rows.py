"""Rows and labels as the experts see them: scaled as they arrive, with what each expert needs beside the values.

Scaling depends on no expert, and no expert on another, so a stream is scaled once, every expert's scores are computed
once, and any stack of experts is a matter of milliseconds. These are prototypes for experiments, with arrays of all
tasks x all features; `weft.Model` has the learner itself.
"""

from typing import Any, NamedTuple

import numba
import numpy as np
from scipy import sparse

from weft.compiled.arrays import Array, Floats, Ints

prototype: Any = numba.njit(cache=True, nogil=True, error_model="numpy")


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


@prototype
def _scaled(ptr, idx, val, d):  # type: ignore[no-untyped-def]
    n = len(ptr) - 1
    cap = len(idx) * 2 + n * 2 + 64
    out_ptr, out_idx = np.zeros(n + 1, np.int64), np.zeros(cap, np.int64)
    out_z, out_raw = np.zeros(cap), np.zeros(cap)
    rare, gone = np.zeros(cap, np.bool_), np.zeros(cap, np.bool_)
    cnt, s1, s2, miss = np.zeros(d), np.zeros(d), np.zeros(d), np.zeros(d)
    seat, since = np.full(d, -1, np.int64), np.full(d, -1, np.int64)
    dense, listed, here = np.zeros(d, np.int64), np.zeros(d, np.bool_), np.full(d, -1, np.int64)
    many, seats, known, nnz, o = 0, 0, 0, 0, 0
    for i in range(n):
        t = i + 1.0
        if o + (ptr[i + 1] - ptr[i]) + many + 2 > cap:
            cap *= 2
            out_idx, out_z, out_raw = _wider(out_idx, cap), _wider(out_z, cap), _wider(out_raw, cap)
            rare, gone = _wider(rare, cap), _wider(gone, cap)
        length = 0
        for a in range(ptr[i], ptr[i + 1]):
            if not np.isnan(val[a]):
                length += 1
        thr = 0.5 if nnz + length >= 0.1 * t * max(1, known) else 0.9
        first, q, size = o, 0.0, 0
        for a in range(ptr[i], ptr[i + 1]):
            j, x = idx[a], val[a]
            if np.isnan(x):
                if listed[j]:
                    here[j] = i
                    miss[j] += 1.0
                    if cnt[j] >= thr * (t - miss[j]):
                        size += 1
                        out_idx[o], out_z[o], out_raw[o] = j, 0.0, s1[j] / (t - miss[j])
                        rare[o], gone[o] = False, True
                        o += 1
                continue
            here[j] = i
            nnz += 1
            known += cnt[j] == 0.0
            cnt[j] += 1.0
            s1[j] += x
            s2[j] += x * x
            seen = t - miss[j]
            z = np.nan
            if cnt[j] >= thr * seen:
                size += 1
                m = s1[j] / seen
                v = s2[j] / seen - m * m
                if v > 1e-12 * s2[j] / seen:
                    z = min(max((x - m) / np.sqrt(v), -5.0), 5.0)
                rare[o] = False
            else:
                z = np.sign(x) * np.sqrt(min(abs(x) / np.sqrt(s2[j] / cnt[j]), 25.0))
                q += z * z
                rare[o] = True
            gone[o] = False
            out_idx[o], out_z[o], out_raw[o] = j, z if not np.isnan(z) else 0.0, x
            o += 1
        for a in range(many):
            j = dense[a]
            if here[j] != i and cnt[j] >= thr * (t - miss[j]):
                seen = t - miss[j]
                m = s1[j] / seen
                v = s2[j] / seen - m * m
                size += 1
                z = min(max(-m / np.sqrt(v), -5.0), 5.0) if v > 1e-12 * s2[j] / seen else 0.0
                out_idx[o], out_z[o], out_raw[o], rare[o], gone[o] = j, z, 0.0, False, False
                o += 1
        q += size
        for a in range(first, o):
            out_z[a] /= np.sqrt(q)
        a = 0
        while a < many:
            j = dense[a]
            if cnt[j] >= thr * (t - miss[j]):
                a += 1
            else:
                listed[j] = False
                many -= 1
                dense[a] = dense[many]
        for a in range(first, o):
            j = out_idx[a]
            if not rare[a] and not listed[j]:
                listed[j] = True
                dense[many] = j
                many += 1
                if seat[j] < 0:
                    seat[j], since[j] = seats, i
                    seats += 1
        out_idx[o], out_z[o], out_raw[o], rare[o], gone[o] = d, 1.0, 1.0, False, False
        o += 1
        out_ptr[i + 1] = o
    return out_ptr, out_idx[:o], out_z[:o], out_raw[:o], rare[:o], gone[:o], seat, since


@prototype
def _wider(a, cap):  # type: ignore[no-untyped-def]
    b = np.zeros(cap, a.dtype)
    b[: len(a)] = a
    return b


def framed(y: Floats, task: Ints, logistic: bool) -> Labels:
    """Targets of all events: 0 and 1, or the label in the frame that its task has before the event."""
    task, y = np.asarray(task, np.int64), np.asarray(y, np.float64)
    n = len(y)
    if logistic:
        one = np.ones(n)
        return Labels(task, (y > 0) * 1.0, one > 0, True, 0 * one, one, 0 * one, one, y)
    return Labels(task, *_framed(y, task, int(task.max()) + 1))


@prototype
def _framed(y, task, tasks):  # type: ignore[no-untyped-def]
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
