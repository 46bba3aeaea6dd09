"""`auto` with further experts in its stack, and with missing values: an event at a time, with dictionaries.

The experts of `oracles.experts` enter the stack with weight 0, in the order of the table there, however they are named.
Their scores are clipped at 8 as all are; each moves by the error of its own score, which with squared loss is that of
the clipped one. `bayes` and `fading` are for log-loss only and are left out with squared loss. The layer above mixes
{stack, own, pooled} as before.

Two stacks. Where there is any expert beyond the first four, these have a stack of their own too, with V = 1/2, 1/2, 0,
0 at first, that learns from the error of its own score. The stack's score s comes from the scores s_0 of all experts
and s_1 of the first four, weighed by q_0 and q_1 for all tasks. Log-loss: s = ln p/(1 - p), p = q_0 sigma(s_0) + q_1
sigma(s_1); q starts at 1/2, 1/2, becomes q_i (likelihood of the label by s_i), made to add up to 1, then (1 - a) q_i +
a/2 with a = 1/4 / (n + 1) after event n of the stream. Squared loss: both scores are clipped to the labels' range, s =
q_0 s_0 + q_1 s_1, q_i ~ exp(-eta L_i), L_i the sum of (s_i - u)^2 / 2 while labels vary, eta = min(1, ln 2 / gap), 1
while gap = 0, and gap grows by the excess of (s - u)^2 / 2 over -1/eta ln sum q_i exp(-eta (s_i - u)^2 / 2).

Missing values. A value that is NaN is explicitly missing. In a column that was dense before the event it counts as the
mean of the column's present values: its scaled value is 0, the column still counts in |D|, and `miss` counts the event,
which is left out of the column's density, mean and variance: they divide by t - miss. In any other column it is absent.

Further. `least` is a floor of the largest gradient L in betting: L becomes max(L, |h|, least) at the first bet that
moves anything. With `rests` betting learns nothing from an event whose label its own log-odds had right, beyond 14.
`stored(name, key, number)` is what a table keeps of a number that is written to it: see `single`.
"""

import math
from collections import namedtuple

import numpy as np

from oracles.adaptive import BIAS, ETA_S, QMAX, SMAX, ZMAX, Auto, View, Zeros, clip, sigma
from oracles.experts import CLASSIFY, EXPERTS, FACTORS, RESERVOIR, SECOND_SEATS, SIZES, Event

Make = namedtuple("Make", "binary table draw place factors")
Seen = namedtuple("Seen", [*View._fields, "event", "both"])


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
        self,
        loss="logistic",
        experts=(),
        *,
        draw=None,
        place=never,
        stored=exact,
        factors=FACTORS,
        least=0.0,
        rests=False,
    ):
        super().__init__(loss)
        unknown = set(experts) - set(EXPERTS)
        if unknown:
            raise ValueError(f"no expert has the name {sorted(unknown)[0]!r}: the names are {', '.join(EXPERTS)}.")
        make = Make(self.binary, lambda name: Table(name, stored), draw, place, factors)
        names = [name for name in EXPERTS if name in experts and (self.binary or name not in CLASSIFY)]
        self.experts = {name: EXPERTS[name](make) for name in names}
        more = sum(SIZES[name] for name in names)
        self.first = ([*self.V], [*self.H])
        self.V, self.H = [*self.V, *[0.0] * more], [*self.H, *[1.0] * more]
        self.q, self.L_of, self.gap_of = [0.5, 0.5], [0.0, 0.0], 0.0
        self.miss, self.columns, self.least, self.rests = Zeros(), [], least, rests

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
        both = [s, sum(v * x for v, x in zip(self.first[0], c[:4], strict=True))]
        if self.experts:
            s = self.join(both)
        f, w, p = self.mix(s, c, k)
        return Seen(z, D, parts, e, c, s, f, w, p, frame, event, both)

    def shares(self):
        """q."""
        if self.binary:
            return self.q
        eta = self.rate()
        q = [math.exp(-eta * (L - min(self.L_of))) for L in self.L_of]
        return [x / sum(q) for x in q]

    def rate(self):
        return min(1.0, math.log(2) / self.gap_of) if self.gap_of > 0 else 1.0

    def join(self, both):
        """s."""
        if self.binary:
            p = sum(q * sigma(s) for q, s in zip(self.q, both, strict=True))
            return math.log(p / (1.0 - p))
        return sum(q * clip(s, self.ulo, self.uhi) for q, s in zip(self.shares(), both, strict=True))

    def blend(self):
        """What an expert counts in all."""
        q, first = self.shares(), [*self.first[0], *[0.0] * (len(self.V) - 4)]
        return [q[0] * v + q[1] * w for v, w in zip(self.V, first, strict=True)] if self.experts else self.V

    def stack_error(self, view, u):
        return self.error(view.both[0], u, view.frame.ready)

    def stacked(self, part):
        return sum(v * x for v, x in zip(self.blend(), part, strict=False))

    def learn(self, row, y, task):
        score = super().learn(row, y, task)
        for j in self.row(row):  # columns that are dense now have a seat from the next event on
            if j in self.dense_list and j not in self.columns and len(self.columns) < SECOND_SEATS:
                self.columns.append(j)
        return score

    def judge(self, k, view, u):
        super().judge(k, view, u)
        self.u = u
        if self.experts:  # with squared loss, where labels do not vary, u is the prediction
            self.judge_stacks(view, u)

    def judge_stacks(self, view, u):
        V, H = self.first
        g = self.error(view.both[1], u, view.frame.ready)
        for i in range(4):
            h = g * view.c[i]
            if h != 0.0:
                H[i] += h * h
                V[i] -= ETA_S * h / math.sqrt(H[i])
        if self.binary:
            a = 0.25 / (self.t + 1)
            joint = [q * (sigma(s) if u else 1.0 - sigma(s)) for q, s in zip(self.q, view.both, strict=True)]
            self.q = [(1.0 - a) * x / sum(joint) + a / 2 for x in joint]
        elif view.frame.ready:
            eta, losses = self.rate(), [(clip(s, self.ulo, self.uhi) - u) ** 2 / 2 for s in view.both]
            ideal = -math.log(sum(q * math.exp(-eta * l) for q, l in zip(self.shares(), losses, strict=True))) / eta
            self.gap_of += max((view.s - u) ** 2 / 2 - ideal, 0.0)
            self.L_of = [L + l for L, l in zip(self.L_of, losses, strict=True)]

    def move(self, k, view, g):
        if self.rests and self.binary and view.e[1] * (2.0 * self.u - 1.0) > QMAX:
            g = [g[0], 0.0, *g[2:]]
        super().move(k, view, g)
        at = 4
        for name, expert in self.experts.items():
            expert.learn(view.event, g[at : at + SIZES[name]], self.u)
            at += SIZES[name]

    def stake(self, th, G, L, R, key, b, h):
        super().stake(th, G, L, R, key, b, h)
        if h != 0.0:
            L[key] = max(L[key], self.least)
