"""The learners `adaptive` and `auto` with dictionaries: one event, one pass, every number under its name.

`adaptive` keeps a model own + shared twice, moved by AdaGrad steps (Duchi, Hazan and Singer 2011) and by coin betting
(COCOB; Orabona and Tommasi 2017, Algorithm 2), and adds the two scores with two learned weights. `auto` adds an own
and a pooled model to that stack; above it every task mixes {stack, own, pooled}: by Bayes with a shrinking share
returned to the prior (log-loss), or by AdaHedge (squared loss; de Rooij, van Erven, Grunwald and Koolen 2014).

State: per (task, feature) own `wO gO`, gradient `wA gA`, betting `th G L R`; per feature `wP gP`, `wA0 gA0`,
`th0 G0 L0 R0`, and `cnt s1 s2` of its non-zero values; per task `n logw cost loss`, or `n Lk gap eta_k ysum dev loss`.
What is absent reads as its start value. With `short` the numbers of (task, feature) are stored in 32 bits, as the
kernels store them: see `Short`.

Interpretation. Features are numbered as learning first meets them with a value that counts; the sums run by number,
then over `dense_list` as it stood before the event, then the bias. `dense_list` is scanned from the front: a feature
that leaves is replaced by the last one, which is looked at next. Labels are shifted back before they are subtracted:
y - mk is y - (mk + y0). Rows of a round are numbered together, scored together, then learned one after the other.

Options. `own_prior` is added to the own AdaGrad accumulators `gA gO` wherever their root is taken; like EPS it is not
forgotten. `half_life`: after every learned event the accumulators, the stack's `H` (with the 1 it starts at) and the
sums `th G R` are multiplied by 2^(-1/half_life); L is a maximum and stays, and so do the statistics of rows and labels,
the mixtures and the matrix of `second_order`. `second_order` adds one expert with one model for all tasks: recursive
least squares, or one step of an extended Kalman filter for log-odds. It is written in information form: A starts at
1/10 on its diagonal; A += r x x^T, w += A^-1 x (u - p), with r = 1 or p (1 - p). x has the bias and the first 32
features that were dense, in the order of joining, from the event after the one in which they joined; they stay.
"""

import math
from collections import namedtuple

import numpy as np

EPS, ALPHA, ZMAX, SMAX, QMAX, UMAX, ETA_S = 1e-8, 5.0, 5.0, 8.0, 14.0, 5.0, 0.1
PRIOR = (0.8, 0.1, 0.1)  # stack, own, pooled
BIAS = None  # no feature has this name
TABLES = "cnt s1 s2 wO gO wA gA th G L R wP gP wA0 gA0 th0 G0 L0 R0 wN n ysum dev cost gap"
FADING = "gO gA th G R gP gA0 th0 G0 R0"
SHORT = "wO gO wA gA th G L R"
LARGEST_32 = float(np.finfo(np.float32).max)
SEATS, SPREAD = 33, 10.0  # of the second-order expert: most features and the bias, and the first diagonal of A^-1


def clip(x, low, high):
    return min(max(x, low), high)


def square(x):
    return x * x


def sigma(q):
    return 1.0 / (1.0 + math.exp(-clip(q, -QMAX, QMAX)))


class Zeros(dict):
    """Reads 0 where nothing is stored, and stores nothing by reading."""

    def __missing__(self, key):
        return 0.0


class Short(Zeros):
    """Numbers of pairs in 32 bits; those of biases are not rounded.

    Sums that fade are rounded after they are multiplied by the weight of an event: the kernels let the events become
    heavier instead of the sums lighter.
    """

    def __init__(self, weight):
        self.weight = weight

    def __setitem__(self, key, number):
        if key[1] is not BIAS:
            (a,) = self.weight
            number = float(np.float32(clip(number * a, -LARGEST_32, LARGEST_32))) / a
        super().__setitem__(key, number)


Frame = namedtuple("Frame", "mu sd mk ready")
# What scoring finds out: z feature -> scaled value in the order of the sums, parts feature -> (own, shared) weights
View = namedtuple("View", "z D parts e c s f w p frame")


class Adaptive:
    V0 = (0.5, 0.5)  # gradient, betting
    mixes = False
    short = False

    def __init__(self, loss="logistic", *, own_prior=0.0, second_order=False, half_life=math.inf):
        self.binary = {"logistic": True, "square": False}[loss]
        self.eta = 0.4 if self.binary else 0.2
        self.own_prior, self.second_order, self.fade = own_prior, second_order, 0.5 ** (1.0 / half_life)
        self.t = self.nnz = 0
        self.V = [*self.V0, *([0.0] if second_order else [])]
        self.H = [1.0] * len(self.V)
        if second_order:
            self.seats, self.A = [BIAS], np.eye(1) / SPREAD
        self.ids, self.dense_list, self.y0 = {}, [], 0.0
        self.weight = [1.0]
        for name in TABLES.split():
            weight = self.weight if name in FADING.split() else [1.0]
            setattr(self, name, Short(weight) if self.short and name in SHORT.split() else Zeros())
        self.Y = self.YY = self.DEV = self.W = self.wc = self.lo = self.hi = self.ulo = self.uhi = 0.0

    def row(self, row):
        """The values that count, by number; new features stand last, as they come."""
        if not all(abs(x) <= 1e150 for x in row.values()):
            raise ValueError("a value is not a number or beyond 1e150: rescale or drop it.")
        kept = [(j, float(x)) for j, x in row.items() if abs(x) >= 1e-150]
        return dict(sorted(kept, key=lambda entry: self.ids.get(entry[0], len(self.ids))))

    def number(self, row):
        for j in self.row(row):
            self.ids.setdefault(j, len(self.ids))

    def scale(self, row):
        """z and D, the row counted in as if already seen."""
        t = self.t + 1
        thr = 0.5 if self.nnz + len(row) >= 0.1 * t * max(1, len(self.cnt)) else 0.9
        absent = [j for j in self.dense_list if j not in row]
        D = {j for j in [*row, *absent] if self.cnt[j] + (j in row) >= thr * t}
        z, q = {}, 0.0
        for j in [*row, *(j for j in absent if j in D)]:
            x = row.get(j, 0.0)
            cnt, s1, s2 = self.cnt[j] + (j in row), self.s1[j] + x, self.s2[j] + x * x
            m = s1 / t
            v = s2 / t - m * m
            if j not in D:
                z[j] = math.copysign(math.sqrt(min(self.ratio(x, s2, cnt), ZMAX * ZMAX)), x)
                q += z[j] * z[j]
            elif v > 1e-12 * s2 / t:
                z[j] = clip((x - m) / math.sqrt(v), -ZMAX, ZMAX)
        q += len(D)
        return {j: value / math.sqrt(q) for j, value in z.items()} | {BIAS: 1.0}, D  # q = 0: z is empty

    def ratio(self, x, s2, cnt):
        """|x| over its root mean square."""
        return abs(x) / math.sqrt(s2 / cnt)

    def commit_row(self, row, D):
        self.t += 1
        self.nnz += len(row)
        for j, x in row.items():
            self.cnt[j] += 1
            self.s1[j] += x
            self.s2[j] += x * x
        i = 0
        while i < len(self.dense_list):
            if self.dense_list[i] in D:
                i += 1
            else:
                last = self.dense_list.pop()
                if i < len(self.dense_list):
                    self.dense_list[i] = last
        self.dense_list += [j for j in row if j in D and j not in self.dense_list]

    def frame(self, k):
        if self.binary or self.t == 0:
            return Frame(0.0, 1.0, 0.0, self.binary)
        n, t, n0 = self.n[k], self.t, 1.0
        m = self.Y / t
        tv = max(self.YY / t - m * m, 0.0)
        if self.wc >= 1:
            within = self.W / self.wc
            between = max(tv - within, 0.01 * tv)
            if between > 0:
                n0 = clip(within / between, 0.01, 100.0)
        mk = (self.ysum[k] + n0 * m) / (n + n0)
        mu, sd = (m, math.sqrt(tv)) if n == 0 else (mk, math.sqrt((self.dev[k] + 3 * self.DEV / t) / (n + 3)))
        ready = sd > 1e-12 * (abs(self.lo) + abs(self.hi))
        return Frame(self.y0 + mu, sd if ready else 1.0, self.y0 + mk, ready)

    def commit_frame(self, k, y, u, mk):
        """After `t` and `n` have counted the event."""
        if self.t == 1:
            self.y0 = self.lo = self.hi = y
        else:
            self.dev[k] += square(y - mk)
            self.DEV += square(y - mk)
        shifted, n = y - self.y0, self.n[k] - 1
        if n > 0:
            self.W += square(shifted - self.ysum[k] / n) * n / (n + 1)
            self.wc += 1
        self.ysum[k] += shifted
        self.Y += shifted
        self.YY += shifted * shifted
        self.lo, self.hi = min(self.lo, y), max(self.hi, y)
        self.ulo, self.uhi = min(self.ulo, u), max(self.uhi, u)

    def bet(self, th, G, L, R, key):
        th, G, L, R = th[key], G[key], L[key], R[key]
        return (th / max(G + L, ALPHA * L)) * ((L + R) / L) if L > 0.0 else 0.0

    def parts(self, k, j):
        """The own and the shared weights of feature j: gradient, betting, own and pooled, second-order."""
        b = self.bet(self.th, self.G, self.L, self.R, (k, j))
        b0 = self.bet(self.th0, self.G0, self.L0, self.R0, j)
        own, shared = [self.wA[k, j], b], [self.wA0[j], b0]
        if self.mixes:
            own, shared = [*own, self.wO[k, j], 0.0], [*shared, 0.0, self.wP[j]]
        if self.second_order:
            own, shared = [*own, 0.0], [*shared, self.wN[j]]
        return own, shared

    def view(self, row, k):
        z, D = self.scale(row)
        parts = {j: self.parts(k, j) for j in z}
        e = [0.0] * len(self.V)
        for j, value in z.items():
            own, shared = parts[j]
            for i in range(len(e)):
                e[i] += (own[i] + shared[i]) * value
        c = [clip(x, -SMAX, SMAX) for x in e]
        s = sum(v * x for v, x in zip(self.V, c, strict=True))
        f, w, p = self.mix(s, c, k)
        return View(z, D, parts, e, c, s, f, w, p, self.frame(k))

    def mix(self, s, c, k):
        return [s], [1.0], sigma(s) if self.binary else clip(s, self.ulo, self.uhi)

    def answer(self, view):
        if self.binary:
            return math.log(view.p / (1.0 - view.p))
        return clip(view.frame.mu + view.frame.sd * view.p, self.lo, self.hi) if self.t else 0.0

    def score(self, row, task):
        """Log-odds, or the answer in the units of the label."""
        return self.answer(self.view(self.row(row), task))

    def probability(self, row, task):
        return self.view(self.row(row), task).p

    def learn(self, row, y, task):
        """Returns the score that `score` would have given."""
        self.number(row)
        row = self.row(row)
        view = self.view(row, task)
        answer, frame, y = self.answer(view), view.frame, float(y)
        if self.binary:
            u = 1.0 if y > 0 else 0.0
        else:
            u = clip((y - frame.mu) / frame.sd, -UMAX, UMAX) if frame.ready else view.p
        self.commit_row(row, view.D)
        self.n[task] += 1
        self.judge(task, view, u)
        g = self.stack_error(view, u)
        for i, c in enumerate(view.c):
            h = g * c
            if h != 0.0:
                self.H[i] += h * h
                self.V[i] -= ETA_S * h / math.sqrt(self.H[i])
        errors = [self.error(e, u, frame.ready) for e in (view.e if self.binary else view.c)]
        self.move(task, view, errors)
        if self.second_order:
            if frame.ready:
                self.move_second_order(view, errors[-1], u)
            self.hand_out_seats(row)
        if not self.binary:
            self.commit_frame(task, y, u, frame.mk)
        if self.fade < 1.0:
            self.forget()
        return answer

    def learn_round(self, rows, ys, tasks):
        """All rows are scored, then those with a label are learned in order, each scored again."""
        for row in rows:
            self.number(row)
        scores = [self.score(row, k) for row, k in zip(rows, tasks, strict=True)]
        for row, y, k in zip(rows, ys, tasks, strict=True):
            if not math.isnan(y):
                self.learn(row, y, k)
        return scores

    def judge(self, k, view, u):
        pass  # no layer above the stack

    def stack_error(self, view, u):
        return self.error(view.s, u, view.frame.ready)

    def error(self, e, u, ready):
        return sigma(e) - u if self.binary else (e - u) * ready

    def move(self, k, view, g):
        """Every expert by its own error."""
        for j, value in view.z.items():
            own, shared = view.parts[j]
            self.step(self.wA, self.gA, (k, j), g[0] * value, self.own_prior)
            self.step(self.wA0, self.gA0, j, g[0] * value)
            self.stake(self.th, self.G, self.L, self.R, (k, j), own[1], g[1] * value)
            self.stake(self.th0, self.G0, self.L0, self.R0, j, shared[1], g[1] * value)
            if self.mixes:
                self.step(self.wO, self.gO, (k, j), g[2] * value, self.own_prior)
                self.step(self.wP, self.gP, j, g[3] * value)

    def move_second_order(self, view, g, u):
        x = np.array([view.z.get(j, 0.0) for j in self.seats])
        p = g + u
        self.A += (p * (1.0 - p) if self.binary else 1.0) * np.outer(x, x)
        for j, more in zip(self.seats, np.linalg.solve(self.A, x), strict=True):
            self.wN[j] -= float(more) * g

    def hand_out_seats(self, row):
        """After the event: features of the row that are dense now are among x from the next event on."""
        for j in row:
            if j in self.dense_list and j not in self.seats and len(self.seats) < SEATS:
                self.seats.append(j)
                self.A = np.block([[self.A, np.zeros((len(self.A), 1))], [np.zeros(len(self.A)), 1.0 / SPREAD]])

    def forget(self):
        for name in FADING.split():
            table = getattr(self, name)
            for key in table:
                dict.__setitem__(table, key, table[key] * self.fade)
        self.weight[0] /= self.fade
        if self.weight[0] > 2.0**60:
            self.weight[0] /= 2.0**60
        self.H = [h * self.fade for h in self.H]

    def step(self, w, acc, key, h, prior=0.0):
        if h != 0.0:
            squares = acc[key] + h * h
            w[key] -= self.eta * h / math.sqrt(squares + (EPS + prior))
            acc[key] = squares

    def stake(self, th, G, L, R, key, b, h):
        if h != 0.0:
            R[key] = max(R[key] - h * b, 0.0)
            th[key] -= h
            G[key] += abs(h)
            L[key] = max(L[key], abs(h))

    def explain(self, row, task):
        """Feature -> (own, shared) part of the stack's score; exact while no expert is clipped."""
        view = self.view(self.row(row), task)
        return {j: tuple(value * self.stacked(part) for part in view.parts[j]) for j, value in view.z.items()}

    def stacked(self, part):
        return sum(v * x for v, x in zip(self.V, part, strict=False))

    def weights(self, task):
        """The stack's weights in scaled coordinates."""
        return {j: sum(map(self.stacked, self.parts(task, j))) for j in [*self.cnt, BIAS]}


class Auto(Adaptive):
    V0 = (0.5, 0.5, 0.0, 0.0)  # gradient, betting, own, pooled
    mixes = True

    def __init__(self, loss="logistic", **options):
        super().__init__(loss, **options)
        self.logw, self.Lk, self.eta_k, self.loss = {}, {}, {}, {}

    def mixture(self, k):
        """The weights of stack, own and pooled."""
        if self.binary:
            return [math.exp(x) for x in self.logw.get(k, [math.log(prior) for prior in PRIOR])]
        Lk, eta_k = self.Lk.get(k, [0.0] * 3), self.eta_k.get(k, 1.0)
        w = [prior * math.exp(-eta_k * (x - min(Lk))) for prior, x in zip(PRIOR, Lk, strict=True)]
        return [x / sum(w) for x in w]

    def mix(self, s, c, k):
        w = self.mixture(k)
        if self.binary:
            f = [s, c[2], c[3]]
            return f, w, sum(x * sigma(y) for x, y in zip(w, f, strict=True))
        f = [clip(x, self.ulo, self.uhi) for x in (s, c[2], c[3])]
        return f, w, clip(sum(x * y for x, y in zip(w, f, strict=True)), self.ulo, self.uhi)

    def judge(self, k, view, u):
        """The do-no-harm layer."""
        w, p = view.w, view.p
        if self.binary:
            like = [sigma(f) if u else 1.0 - sigma(f) for f in view.f]
            joint = [x * y for x, y in zip(w, like, strict=True)]
            a = 0.25 / (self.n[k] + 1)
            self.logw[k] = [math.log((1 - a) * x / sum(joint) + a * y) for x, y in zip(joint, PRIOR, strict=True)]
            self.cost[k] -= math.log(1 - a)
            losses = [-math.log(x) for x in (*like, p if u else 1.0 - p)]
        else:
            losses = [square(x - u) / 2 for x in (*view.f, p)]
            l, least, eta_k = losses[:3], min(losses[:3]), self.eta_k.get(k, 1.0)
            mass = sum(x * math.exp(-eta_k * (y - least)) for x, y in zip(w, l, strict=True))
            self.gap[k] += max(losses[3] - (least - math.log(mass) / eta_k), 0.0)
            self.Lk[k] = [x + y for x, y in zip(self.Lk.get(k, [0.0] * 3), l, strict=True)]
            self.eta_k[k] = min(1.0, math.log(10) / self.gap[k]) if self.gap[k] > 0 else 1.0
        self.loss[k] = [x + y for x, y in zip(self.loss.get(k, [0.0] * 4), losses, strict=True)]

    def slack(self, k):
        """bound - loss of auto against stack, own and pooled: none is ever negative."""
        *losses, auto = self.loss.get(k, [0.0] * 4)
        rate, extra = (1.0, self.cost[k]) if self.binary else (self.eta_k.get(k, 1.0), self.gap[k])
        return [x - math.log(prior) / rate + extra - auto for x, prior in zip(losses, PRIOR, strict=True)]

    def borrowing(self):
        return {
            k: {"n": self.n[k], "weights": self.mixture(k), "loss": self.loss[k], "certificate": min(self.slack(k))}
            for k in self.loss
        }
