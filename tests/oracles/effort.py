"""`auto` with further experts in its stack, and with missing values: an event at a time, with dictionaries.

The experts of `oracles.experts` enter the stack with weight 0, in the order of the table there, however they are named.
Their scores are clipped at 8 as all are; each moves by the error of its own score, which with squared loss is that of
the clipped one. `bayes` is for log-loss only and is left out with squared loss. The layer above mixes {stack, own,
pooled} as before.

Missing values. A value that is NaN is explicitly missing. In a column that was dense before the event it counts as the
mean of the column's present values: its scaled value is 0, the column still counts in |D|, and `miss` counts the event,
which is left out of the column's density, mean and variance: they divide by t - miss. In any other column it is absent.

Further. `least` is a floor of the largest gradient L in betting: L becomes max(L, |h|, least) at the first bet that
moves anything. `stored(name, key, number)` is what a table keeps of a number that is written to it: see `single`.
"""

import math
from collections import namedtuple

import numpy as np

from oracles.adaptive import BIAS, SMAX, ZMAX, Auto, View, Zeros, clip
from oracles.experts import EXPERTS, FACTORS, RESERVOIR, SECOND_SEATS, SIZES, Event

Make = namedtuple("Make", "binary table draw place factors")
Seen = namedtuple("Seen", [*View._fields, "event"])


def exact(name, key, number):
    return number


def single(*names):
    """Rounds the named tables to 32 bits, but for biases: keys that end with BIAS."""

    def stored(name, key, number):
        last = key[-1] if isinstance(key, tuple) else key
        return float(np.float32(number)) if name in names and last is not BIAS else number

    return stored


def never(column, n):
    """A place for no value: reservoirs keep their first 256."""
    return RESERVOIR


class Table(Zeros):
    def __init__(self, name, stored):
        self.name, self.stored = name, stored

    def __setitem__(self, key, number):
        super().__setitem__(key, self.stored(self.name, key, number))


class Effort(Auto):
    def __init__(
        self, loss="logistic", experts=(), *, draw=None, place=never, stored=exact, factors=FACTORS, least=0.0
    ):
        super().__init__(loss)
        unknown = set(experts) - set(EXPERTS)
        if unknown:
            raise ValueError(f"no expert has the name {sorted(unknown)[0]!r}: the names are {', '.join(EXPERTS)}.")
        make = Make(self.binary, lambda name: Table(name, stored), draw, place, factors)
        names = [name for name in EXPERTS if name in experts and (self.binary or name != "bayes")]
        self.experts = {name: EXPERTS[name](make) for name in names}
        more = sum(SIZES[name] for name in names)
        self.V, self.H = [*self.V, *[0.0] * more], [*self.H, *[1.0] * more]
        self.miss, self.columns, self.least = Zeros(), [], least

    def row(self, row):
        """The values that count, by number; then, as NaN, the missing ones of dense columns."""
        present = super().row({j: x for j, x in row.items() if not math.isnan(x)})
        return present | {j: math.nan for j, x in row.items() if math.isnan(x) and j in self.dense_list}

    def scale(self, row):
        here = {j: x for j, x in row.items() if not math.isnan(x)}
        t = self.t + 1
        thr = 0.5 if self.nnz + len(here) >= 0.1 * t * max(1, len(self.cnt)) else 0.9
        others = [j for j in self.dense_list if j not in here]  # absent or missing
        seen = {j: t - self.miss[j] - (j in row and j not in here) for j in [*here, *others]}
        D = {j for j in seen if self.cnt[j] + (j in here) >= thr * seen[j]}
        z, q = {}, 0.0
        for j in [*here, *(j for j in others if j in D)]:
            x = row.get(j, 0.0)
            if math.isnan(x):
                z[j] = 0.0
                continue
            cnt, s1, s2 = self.cnt[j] + (j in here), self.s1[j] + x, self.s2[j] + x * x
            m = s1 / seen[j]
            v = s2 / seen[j] - m * m
            if j not in D:
                z[j] = math.copysign(math.sqrt(min(self.ratio(x, s2, cnt), ZMAX * ZMAX)), x)
                q += z[j] * z[j]
            elif v > 1e-12 * s2 / seen[j]:
                z[j] = clip((x - m) / math.sqrt(v), -ZMAX, ZMAX)
        q += len(D)
        return {j: value / math.sqrt(q) for j, value in z.items()} | {BIAS: 1.0}, D

    def commit_row(self, row, D):
        for j, x in row.items():
            self.miss[j] += math.isnan(x)
        super().commit_row({j: x for j, x in row.items() if not math.isnan(x)}, D)

    def event(self, row, k, z, D, ready):
        values = {j: row.get(j, 0.0) for j in self.columns}
        return Event(
            task=k,
            n=self.n[k],
            z=z,
            sparse=[j for j, x in row.items() if j not in D and not math.isnan(x)],
            seats=list(self.columns),
            values={j: None if math.isnan(x) else x for j, x in values.items()},
            means={j: self.s1[j] / (self.t - self.miss[j]) for j in self.columns},
            ready=ready,
        )

    def view(self, row, k):
        z, D = self.scale(row)
        parts, frame = {j: self.parts(k, j) for j in z}, self.frame(k)
        event = self.event(row, k, z, D, frame.ready)
        e = [sum((parts[j][0][i] + parts[j][1][i]) * value for j, value in z.items()) for i in range(4)]
        for expert in self.experts.values():
            e += expert.scores(event)
        c = [clip(x, -SMAX, SMAX) for x in e]
        s = sum(v * x for v, x in zip(self.V, c, strict=True))
        f, w, p = self.mix(s, c, k)
        return Seen(z, D, parts, e, c, s, f, w, p, frame, event)

    def learn(self, row, y, task):
        score = super().learn(row, y, task)
        for j in self.row(row):  # columns that are dense now have a seat from the next event on
            if j in self.dense_list and j not in self.columns and len(self.columns) < SECOND_SEATS:
                self.columns.append(j)
        return score

    def judge(self, k, view, u):
        super().judge(k, view, u)
        self.u = u

    def move(self, k, view, g):
        super().move(k, view, g)
        at = 4
        for name, expert in self.experts.items():
            expert.learn(view.event, g[at : at + SIZES[name]], self.u)
            at += SIZES[name]

    def stake(self, th, G, L, R, key, b, h):
        super().stake(th, G, L, R, key, b, h)
        if h != 0.0:
            L[key] = max(L[key], self.least)
