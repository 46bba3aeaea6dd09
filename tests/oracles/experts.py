"""Further experts of `auto`, each with dictionaries: a score of an event, and a move by the error of that score alone.

`scores(event)` gives one score or several; `learn(event, errors, u)` moves what they were made of. Experts that need
dense columns see `event.seats`: the columns in the order in which they became dense, for good, each from the event
after the one in which it became so.

Every table of numbers is made by `table(name)`, so that whoever stores some of them in fewer bits can round here too.
The names: `forget` wF GF, wF0 GF0; `bayes` C T, C0 T0; `low_rank` b a, P aP, Q aQ; `level` m; `grid` wG gG.
The matrices of `second` are arrays and are not rounded.
"""

import math
from collections import namedtuple

import numpy as np

EPS = 1e-8
BIAS = None
FORGETTING = 0.95
FACTORS, RATE, EPS_FACTORS = 16, 0.2, 1e-3
SECOND_SEATS, SPREAD, NOISE, LEAST_VARIANCE = 32, 10.0, 0.3, 1e-4
FADING = 0.995
GRID_SEATS, KNOTS, RESERVOIR = 16, 5, 256
LEVELS = (0.5, 0.1, 0.02)

# task; n: its events before this one; z: feature -> scaled value, the bias last; sparse: the row's features that are
# not dense; seats: the dense columns; values: column -> raw value, or None where it is missing; means: column -> mean
# of its present values; ready: False while labels do not vary, when nothing moves
Event = namedtuple("Event", "task n z sparse seats values means ready")


def sigma(q):
    return 1.0 / (1.0 + math.exp(-min(max(q, -14.0), 14.0)))


def descend(w, acc, key, h, rate, eps=EPS, keep=1.0):
    """One step of AdaGrad; `keep` below 1 forgets at the coordinate's own clock."""
    if h != 0.0:
        squares = keep * acc[key] + h * h
        w[key] = w[key] - rate * h / math.sqrt(squares + eps)
        acc[key] = squares


class Forget:
    """Own + shared part and biases by AdaGrad; an update keeps 0.95 of the sum of squares of its coordinate."""

    def __init__(self, make):
        self.eta = 0.4 if make.binary else 0.2
        self.wF, self.GF, self.wF0, self.GF0 = map(make.table, ("wF", "GF", "wF0", "GF0"))

    def scores(self, event):
        return [sum((self.wF[event.task, j] + self.wF0[j]) * value for j, value in event.z.items())]

    def learn(self, event, errors, u):
        for j, value in event.z.items():
            h = errors[0] * value
            descend(self.wF, self.GF, (event.task, j), h, self.eta, keep=FORGETTING)
            descend(self.wF0, self.GF0, j, h, self.eta, keep=FORGETTING)


class Bayes:
    """Naive Bayes of presence: log-ratios of rates, own ones shrunk towards those of all tasks; log-loss only.

    C[c, k, j] events of class c of task k that have feature j, T[c, k] events of that class; C0, T0 of all tasks. An
    event without sparse features has the score 0 and moves nothing.
    """

    def __init__(self, make):
        self.C, self.T, self.C0, self.T0 = map(make.table, ("C", "T", "C0", "T0"))
        self.line, self.sums = [0.3, 0.0], [1.0, 1.0]  # a and b

    def ratio(self, k, j):
        if self.C0[0, j] + self.C0[1, j] == 0.0:
            return 0.0
        logs = []
        for c in (0, 1):
            prior = (self.C0[c, j] + 0.5) / (self.T0[c] + 1.0)
            logs.append(math.log((self.C[c, k, j] + 2.0 * prior) / (self.T[c, k] + 2.0)))
        return logs[1] - logs[0]

    def evidence(self, event):
        if not event.sparse:
            return 0.0
        total = sum(self.ratio(event.task, j) for j in event.sparse)
        return min(max(total / math.sqrt(len(event.sparse)), -10.0), 10.0)

    def scores(self, event):
        return [self.line[0] * self.evidence(event) + self.line[1] if event.sparse else 0.0]

    def learn(self, event, errors, u):
        if not event.sparse:
            return
        for i, factor in enumerate((self.evidence(event), 1.0)):
            h = errors[0] * factor
            self.sums[i] += h * h
            self.line[i] -= RATE * h / math.sqrt(self.sums[i])
        c, k = int(u), event.task
        self.T[c, k] += 1.0
        self.T0[c] += 1.0
        for j in event.sparse:
            self.C[c, k, j] += 1.0
            self.C0[c, j] += 1.0


class LowRank:
    """Biases of all, of the task and of every feature, and a product of 16 numbers of the task and 16 of the features.

    `draw(kind, name, f)` gives the first value of number f of a task (kind "P") or of a feature (kind "Q").
    """

    def __init__(self, make):
        self.draw, self.count = make.draw, make.factors
        self.b, self.a, self.P, self.aP, self.Q, self.aQ = map(make.table, ("b", "a", "P", "aP", "Q", "aQ"))

    def number(self, kind, name, f):
        table = self.P if kind == "P" else self.Q
        return table[name, f] if (name, f) in table else self.draw(kind, name, f)

    def factors(self, event):
        """h, and the task's numbers."""
        features = [j for j in event.z if j is not BIAS]
        h = [sum(event.z[j] * self.number("Q", j, f) for j in features) for f in range(self.count)]
        return h, [self.number("P", event.task, f) for f in range(self.count)]

    def biases(self, event):
        """Of all, of the task, and of the features, each with the value it is multiplied by."""
        return {("all",): 1.0, ("task", event.task): 1.0} | {("of", j): x for j, x in event.z.items() if j is not BIAS}

    def scores(self, event):
        h, P = self.factors(event)
        linear = sum(self.b[key] * value for key, value in self.biases(event).items())
        return [linear + sum(x * y for x, y in zip(P, h, strict=True))]

    def learn(self, event, errors, u):
        if errors[0] == 0.0:
            return
        h, P = self.factors(event)
        for key, value in self.biases(event).items():
            descend(self.b, self.a, key, errors[0] * value, RATE)
        for j, value in event.z.items():
            for f in range(self.count) if j is not BIAS else ():
                self.Q[j, f] = self.number("Q", j, f)
                descend(self.Q, self.aQ, (j, f), errors[0] * value * P[f], RATE, EPS_FACTORS)
        for f in range(self.count):
            self.P[event.task, f] = P[f]
            descend(self.P, self.aP, (event.task, f), errors[0] * h[f], RATE, EPS_FACTORS)


class Filter:
    """Recursive least squares with noise 0.3, or a Kalman filter of log-odds; grows with the seats."""

    def __init__(self, binary):
        self.binary, self.w, self.P = binary, np.zeros(0), np.zeros((0, 0))

    def grow(self, size):
        more = size - len(self.w)
        if more > 0:
            P = SPREAD * np.eye(size)
            P[: len(self.w), : len(self.w)] = self.P
            self.P, self.w = P, np.append(self.w, np.zeros(more))

    def score(self, x):
        self.grow(len(x))
        return float(self.w @ x)

    def learn(self, x, error, u):
        p = error + u  # the filter's own
        variance = 1.0 / max(p * (1.0 - p), LEAST_VARIANCE) if self.binary else NOISE
        Px = self.P @ x
        gain = Px / (variance + float(x @ Px))
        self.w = self.w - gain * (error * variance if self.binary else error)
        self.P = self.P - np.outer(gain, Px)


class Second:
    """One filter for all tasks, and one per task from its event number 2 d on; d counts the columns and the bias."""

    def __init__(self, make):
        self.binary, self.pooled, self.own = make.binary, Filter(make.binary), {}

    def x(self, event):
        return np.array([1.0, *(event.z.get(j, 0.0) for j in event.seats[:SECOND_SEATS])])

    def scores(self, event):
        """Own, pooled."""
        x, own = self.x(event), self.own.get(event.task)
        return [own.score(x) if own else 0.0, self.pooled.score(x)]

    def learn(self, event, errors, u):
        x = self.x(event)
        if event.ready:
            if event.task in self.own:
                self.own[event.task].learn(x, errors[0], u)
            self.pooled.learn(x, errors[1], u)
        if event.task not in self.own and event.n + 1 >= 2 * len(x):
            self.own[event.task] = Filter(self.binary)


class Fading:
    """One filter for all tasks that trusts the past less and less: P is divided by 0.995 after an event.

    That is not done where the trace of P would exceed that of the first P. x has the columns that are dense in the
    event, 0 for the others; an event without any has the score 0 and moves nothing. Log-loss only.
    """

    def __init__(self, make):
        self.filter = Filter(True)

    def is_seen(self, event):
        return any(j in event.z and j not in event.sparse for j in event.seats[:SECOND_SEATS])

    def x(self, event):
        seats = event.seats[:SECOND_SEATS]
        return np.array([1.0, *(0.0 if j in event.sparse else event.z.get(j, 0.0) for j in seats)])

    def scores(self, event):
        return [self.filter.score(self.x(event)) if self.is_seen(event) else 0.0]

    def learn(self, event, errors, u):
        if event.ready and self.is_seen(event):
            self.filter.learn(self.x(event), errors[0], u)
            if np.trace(self.filter.P) <= FADING * SPREAD * len(self.filter.P):
                self.filter.P = self.filter.P / FADING


class Grid:
    """For every pair of dense columns a 5 x 5 grid of products of hats over their ranks; one set of weights for all.

    `place(column, n)` says where the n-th value of a column goes: below 256 it replaces the value there.
    """

    def __init__(self, make):
        self.eta, self.place = 0.4 if make.binary else 0.2, make.place
        self.wG, self.gG = map(make.table, ("wG", "gG"))
        self.kept, self.met = {}, {}  # column -> its reservoir, its values so far

    def value(self, event, j):
        return event.means[j] if event.values[j] is None else event.values[j]

    def hats(self, event, j):
        """The two knots around the rank of the row's value and their hats; the value counts among those kept."""
        x, kept = self.value(event, j), self.kept.get(j, [])
        rank = (sum(y < x for y in kept) + 0.5 * (1 + sum(y == x for y in kept))) / (len(kept) + 1)
        left = min(int(rank * (KNOTS - 1)), KNOTS - 2)
        part = rank * (KNOTS - 1) - left
        return (left, 1.0 - part), (left + 1, part)

    def inputs(self, event):
        """(column, column, knot, knot) -> input."""
        columns = event.seats[:GRID_SEATS]
        pairs = len(columns) * (len(columns) - 1) / 2
        hats = {j: self.hats(event, j) for j in columns}
        return {
            (i, j, a, b): x * y / math.sqrt(pairs)
            for at, i in enumerate(columns)
            for j in columns[at + 1 :]
            for a, x in hats[i]
            for b, y in hats[j]
        }

    def scores(self, event):
        return [sum(self.wG[key] * value for key, value in self.inputs(event).items())]

    def learn(self, event, errors, u):
        for key, value in self.inputs(event).items():
            descend(self.wG, self.gG, key, errors[0] * value, self.eta)
        for j in event.seats[:GRID_SEATS]:
            if event.values[j] is not None:
                self.keep(j, event.values[j])

    def keep(self, j, x):
        kept = self.kept.setdefault(j, [])
        self.met[j] = self.met.get(j, 0) + 1
        if len(kept) < RESERVOIR:
            kept.append(x)
        else:
            at = self.place(j, self.met[j])
            if at < RESERVOIR:
                kept[at] = x


class Level:
    """Running means of the task's targets at three rates, none below 1/n."""

    def __init__(self, make):
        self.binary, self.m = make.binary, make.table("m")

    def scores(self, event):
        return [self.score(event, i, rate) for i, rate in enumerate(LEVELS)]

    def score(self, event, i, rate):
        m, q = self.m[event.task, i], min(event.n, 1.0 / rate)
        return math.log((m * q + 0.5) / ((1.0 - m) * q + 0.5)) if self.binary else m

    def learn(self, event, errors, u):
        for i, rate in enumerate(LEVELS):
            if event.ready:
                self.m[event.task, i] += max(rate, 1.0 / (event.n + 1)) * (u - self.m[event.task, i])


EXPERTS = {"forget": Forget, "bayes": Bayes, "low_rank": LowRank, "second": Second, "grid": Grid, "level": Level}
EXPERTS["fading"] = Fading
SIZES = {"forget": 1, "bayes": 1, "low_rank": 1, "second": 2, "grid": 1, "level": 3, "fading": 1}
CLASSIFY = ("bayes", "fading")
