"""Streams that `adaptive` and `auto` must get right, as data: hard cases of scaling, target frame, experts and mixture.

An event is (task, row, label); a label that is NaN is none. The oracle is tested on them by laws, and the library is
compared with the oracle on all of them.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np

from oracles.adaptive import Auto

LOSSES = ("logistic", "square")

TOY = [
    ("a", {"x": 1, "f": 2}, 1, 3),
    ("b", {"x": 3}, -1, 10),
    ("a", {"x": 2, "f": 1}, 1, 4),
    ("c", {"x": 0.5, "h": 4}, -1, 7),
    ("b", {"x": 2.5, "f": 1}, 1, 12),
    ("a", {"x": 1.5}, -1, 3.5),
    ("c", {"h": 2, "x": 1}, -1, 6),
    ("b", {"x": 3.5, "f": 3}, 1, 11),
]


def toy(loss):
    return [(k, row, sign if loss == "logistic" else y) for k, row, sign, y in TOY]


def stream(seed, n, loss, tasks=4):
    """Events of dense columns without zeros, dense ones with some, rare ones, and empty rows; tasks are alike."""
    rng = np.random.default_rng(seed)
    shared, own = rng.normal(size=12), 0.7 * rng.normal(size=(tasks, 12))
    for _ in range(n):
        k = int(rng.integers(tasks))
        x = np.concatenate([2 + rng.normal(size=2), rng.normal(size=2), rng.exponential(size=8)])
        x *= rng.random(12) < [1, 1, 0.8, 0.7, *([0.2] * 8)]
        x *= rng.random() > 0.03
        s = x @ (shared + own[k]) - 2 * own[k, 0] + rng.normal()
        y = float(np.sign(s)) if loss == "logistic" else s
        yield k, {f"f{j}": float(x[j]) for j in np.flatnonzero(x)}, y


# Laws of scale and symmetry.


def padded(events):
    """Zeros are stored, and values so small that they count as zeros."""
    return [(k, {f"f{j}": row.get(f"f{j}", 0.0 if j % 2 else 9e-151) for j in range(12)}, y) for k, row, y in events]


def scaled(events, factors):
    return [(k, {f: x * factors[int(f[1:])] for f, x in row.items()}, y) for k, row, y in events]


POWERS_OF_TWO = [2.0 ** (9 * j - 50) * (-1) ** j for j in range(12)]
ODD_UNITS = [10.0 ** (j - 6) / 7 for j in range(12)]


def shifted(events, by):
    """Two columns without zeros, with something added to them."""
    events = [(k, {"f0": 0.3, "f1": 1.7, **row}, y) for k, row, y in events]
    return [(k, {f: x + by * (f in ("f0", "f1")) for f, x in row.items()}, y) for k, row, y in events]


def relabelled(events, a, b):
    return [(k, row, a * y + b) for k, row, y in events]


def silent(seed, n, loss):
    """Task 3 has no labels for long."""
    events = enumerate(stream(seed, n, loss))
    return [(k, row, math.nan if k == 3 and i < 0.6 * n else y) for i, (k, row, y) in events]


def renamed(events, names):
    return [(names[k], row, y) for k, row, y in events]


# Corners of scaling.


def alternating(t):
    return 1.0 if t % 2 else -1.0


def constant_column(loss):
    """It does not vary at first; then once by less than 1e-6 of its mean, once by more, and for long by 1."""
    column = [5.0] * 8 + [5.000001] + [5.0] * 4 + [6.0, 5.0, 5.0] + [5.0, 6.0, 5.0] * 8
    return [("ab"[t % 2], {"c": c, "x": float(1 + t % 7)}, alternating(t // 2)) for t, c in enumerate(column)]


def nearly_constant(exponent):
    """A column of mean 1 that varies by a power of two: its sums have no rounding errors."""

    def build(loss):
        rng = np.random.default_rng(exponent)
        events = []
        for _ in range(64):
            up = bool(rng.integers(2))
            x = float(rng.normal())
            y = 1.0 if up == bool(rng.random() < 0.9) else -1.0
            events.append((int(rng.integers(3)), {"c": 1.0 + up * 2.0**-exponent, "x": x}, y))
        return events

    return build


def nearly_full(loss):
    """Densities of 0.7 and 8/9 are dense among few columns, not among hundreds; 11/12 is. At the end rows lack all."""
    rng = np.random.default_rng(20)
    events = []
    for t in range(150):
        row = {"full": 1.0 + t % 3, **({"often": 2.0 + t % 2} if t % 10 < 7 else {}), f"rare{t}": 1.0}
        row |= {name: 1.0 + rng.integers(3) for name, gap in (("8/9", 9), ("11/12", 12)) if t % gap != gap - 1}
        events.append((t % 3, row, float(rng.choice([-1.0, 1.0]))))
    last = [(0, {"often": 8.0, "new": 3.0}, 1.0), (1, {"rare1": 1.0}, -1.0), (2, {}, 1.0), (3, {"new": 2.0}, 1.0)]
    return [*events, *last]


def names_in_the_row(loss):
    """Seventy of a hundred rows hold x: still centred in a row of 20 new names, no longer in the one after it."""
    events = [("k", {"x": 1.0 + t % 3} if t % 10 < 7 else {}, alternating(t // 3)) for t in range(100)]
    events.append(("k", {"x": 2.0, **{f"new{j}": 1.0 for j in range(20)}}, 1.0))
    return [*events, *(("k", {"x": 2.0 + t}, alternating(t)) for t in range(6))]


def holes(loss):
    """Features leave the list of dense ones from its front, its middle and its end, and come back."""
    rows = ["abcd", "dce", "dc", "b", "bcd", "abcd", "bde", "bd", "bd", "acd", "cd", "cda", "abcde", "e", "e", "ea"]
    rng = np.random.default_rng(21)
    return [
        ("jk"[t % 2], {j: float(1 + rng.integers(5)) for j in row}, float(rng.choice([-1.0, 1.0])))
        for t, row in enumerate(rows * 3)
    ]


def half_full(rows):
    """The last row has columns that occur in exactly half of all rows: they join, and no other of it is dense."""
    events = enumerate(rows.split())
    return [("jk"[t % 2], dict.fromkeys(row, 1.0 + t), alternating(t // 2)) for t, row in events]


def fading(loss):
    """Ten columns are dense for 60 rows, then for long only words occur, then the columns come back."""
    rng = np.random.default_rng(22)
    events = []
    for t in range(240):
        k, here = int(rng.integers(4)), t < 60 or t >= 180
        row = {f"c{j}": float(1 + 3 * (j % 2) + rng.normal()) for j in range(10) if here and rng.random() < 0.95}
        row |= {f"w{j}": float(1 + rng.integers(4)) for j in rng.permutation(30)[: rng.integers(0, 6)]}
        s = row.get("c0", 0.0) - row.get("c1", 0.0) + 2 * ("w0" in row) - 2 * ("w1" in row) + k - 1.5 + rng.normal()
        events.append((f"task {k}", row, (1.0 if s > 0 else -1.0) if loss == "logistic" else s))
    return events


def capped_words(loss):
    """Two words of 1 for long, then 1e9: after some hundred rows their square would be 26 without the cap of 25."""
    rng = np.random.default_rng(23)
    events = []
    for t in range(1500):
        row = {f"g{rng.integers(5)}": 1.0, **({"x": 1.0, "y": 1.0} if t % 20 < 9 else {})}
        events.append((t % 2, row, 1.0 if ("x" in row) == (rng.random() < 0.8) else -1.0))
    long = {"x": 1e9, **{f"g{j}": 1.0 for j in range(5)}}  # a vector of four and one that is left
    events += [(0, long, 1.0), (1, {"y": -1e9, "g1": 1.0}, 1.0), (0, {"x": 2.0, "g2": 1.0}, -1.0)]
    return [*events, *((t % 2, {"x": 1.0, "g1": -1.0}, alternating(t)) for t in range(4))]


def capped_columns(loss):
    """A dense column that is missing once, so that its 0 is far outside, and one that is far outside on both sides."""
    events = []
    for t in range(100):
        events.append(("jk"[t % 2], {"x": 1.0 + t // 2 % 2, "y": 100.0 + t % 5}, alternating(t // 2)))
    events += [("k", {"x": 1.0}, 1.0), ("j", {"x": 2.0}, 1.0)]
    return [*events, *(("k", {"x": x, "y": 101.0}, y) for x, y in ((-1e6, 1.0), (1e6, -1.0), (1.0, 1.0), (2e6, 1.0)))]


def lengths(loss):
    """Rows of every length from 0 to 21, dense columns among them or missing: vectors of four and what is left."""
    rng = np.random.default_rng(24)
    events = []
    for t in range(220):
        names = rng.permutation(30)[: t % 22].tolist()
        row = {f"f{j}": float((2.0 if j < 8 else 0.0) + rng.normal()) for j in sorted({*names, *range(t % 8)})}
        s = row.get("f0", 0.0) - row.get("f9", 0.0) + row.get("f12", 0.0) + 0.5 * rng.normal()
        events.append((t % 3, row, (1.0 if s > 0 else -1.0) if loss == "logistic" else 10.0 + s))
    return events


def correlated(loss, columns=40, n=160):
    """More dense columns than the second-order expert has seats, driven by two causes; some are missing at times."""
    rng = np.random.default_rng(25)
    mixing = rng.normal(size=(2, columns))
    events = []
    for _ in range(n):
        cause, k = rng.normal(size=2), int(rng.integers(3))
        x = cause @ mixing + 0.1 * rng.normal(size=columns)
        x[rng.random(columns) < 0.1] = 0.0
        s = cause[0] - cause[1] + 0.3 * k + 0.1 * rng.normal()
        row = {f"f{j}": float(x[j]) for j in np.flatnonzero(x)}
        events.append((k, row, (1.0 if s > 0 else -1.0) if loss == "logistic" else 5.0 * s))
    return events


def parting(loss):
    """Two columns are nearly the same, and their difference is the label; then they part: scores far beyond 8."""
    rng = np.random.default_rng(27)
    events = []
    for t in range(120):
        x, d = rng.normal(size=2)
        events.append(
            (t % 2, {"x": x + 0.1 * d, "y": x - 0.1 * d}, (1.0 if d > 0 else -1.0) if loss == "logistic" else d)
        )
    return [
        *events,
        *((t % 3, {"x": alternating(t), "y": -2.0 * alternating(t)}, alternating(t // 2)) for t in range(12)),
    ]


def huge_and_tiny(loss, power=149):
    rng = np.random.default_rng(13)
    return [
        (k, {f: x * 10.0 ** rng.choice([-power, 0, power]) for f, x in row.items()}, y)
        for k, row, y in stream(13, 400, loss)
    ]


def limits(loss):
    """The largest and the smallest values that count, and the first that does not."""
    values = (1e150, -1e150, 1e-150, 9.9e-151, 1.0, -1e-150)
    rng = np.random.default_rng(26)
    return [
        ("k", {name: float(rng.choice(values)) for name in "abcdef" if rng.random() < 0.6}, alternating(t // 3))
        for t in range(60)
    ]


def all_new(loss):
    """Every feature occurs once."""
    return [(t % 3, {f"f{3 * t + j}": 1.0 + j for j in range(t % 4)}, alternating(t // 2)) for t in range(60)]


# Corners of the target's frame.


def constant_inside_tasks(loss):
    """Nothing varies within a task: means of tasks are not drawn to that of all."""
    return [(k, row, (3.0, -20.0, 7.0, 7.5)[k]) for k, row, _ in stream(30, 80, "square")]


def tasks_agree(loss):
    """Tasks have the same mean: means are drawn to that of all as much as can be."""
    return [(k, row, 30.0 + y) for k, row, y in stream(31, 120, "square", tasks=1) for k in (k, k + 1)]


def tasks_differ(loss):
    """Means that differ about as much as the labels within a task."""
    return [(k, row, y + 5.0 * k) for k, row, y in stream(32, 150, "square")]


def rounding(loss):
    """Labels that differ by less than 1e-12 of their size teach nothing."""
    return [(t % 3, {"x": float(t)}, 1e9 + 2.0**-10 * (t % 2)) for t in range(50)]


def just_a_frame(loss):
    """Labels that differ by little more than that are learned from."""
    return [(t % 3, {"x": float(t % 5)}, 1e9 + 2.0**-7 * (t % 5)) for t in range(50)]


def settled_labels(loss):
    """The same for some events, then labels no longer vary: experts that have learned something learn no more."""
    return [(t % 2, {"x": float(t % 5)}, 1e9 + 2.0**-9 * (t % 5 if t < 20 else 2)) for t in range(120)]


def far_labels(loss):
    """Some labels are five spreads away, some are five hundred."""
    far = {40: 30.0, 60: 5e3, 75: -5e3, 76: 40.0, 90: -1e6}
    return [(k, row, y + far.get(i, 0.0)) for i, (k, row, y) in enumerate(stream(11, 130, "square"))]


def one_class(loss):
    events = []
    for t in range(60):
        events += [("k", {} if t % 2 else {"x": 1.0}, 1.0), ("j", {}, -1.0)]
    return events


def outlier(loss, huge=1e150, n=4000):
    """A column bets on values near 0 after a huge one that taught nothing; then comes the next huge one."""
    events = [("k", {"a": huge, "b": 1.0}, 1.0), ("k", {"b": 2.0}, 1.0)]
    for t in range(n):
        rare = t % 4 == 3
        events.append(("k", {"b": 1.0 + t % 3, **({"a": 1.0 / huge} if rare else {})}, 1.0 if rare else -1.0))
    return [*events, ("k", {"a": huge, "b": 1.0}, -1.0)]


# Corners of the scores.


def sure(loss):
    """Scores beyond 8 and beyond 14 of either sign: a column says the label for long, then it is far outside, and the
    label is the one that was not expected, or the expected one."""
    events = []
    for t in range(700):
        x = 1.0 + t // 2 % 2
        events.append(("jk"[t % 2], {"x": x, "y": x + 0.1 * (t % 3)}, 2.0 * x - 3.0))
    for x, y in ((2.6, -1.0), (3.5, 1.0), (6.0, -1.0), (-0.2, 1.0), (-1.5, -1.0), (-5.0, 1.0), (1.0, -1.0)) * 2:
        events += [("k", {"x": x, "y": x}, y), ("j", {"x": x, "y": 1.5}, y), ("new", {"x": x, "y": x}, y)]
    return events


# Streams that mean harm.


def flipping(seed, loss):
    for i, (k, row, y) in enumerate(stream(seed, 400, loss)):
        yield k, row, -y if i >= 200 else y


def opposed(seed, loss):
    for k, row, y in stream(seed, 400, loss, tasks=1):
        yield from ((k, row, y), (k + 1, row, -y))


def jumping(seed, loss):
    for i, (k, row, y) in enumerate(stream(seed, 400, loss)):
        jump = 1e12 if 100 <= i < 200 or i % 97 == 0 else 1.0
        yield k, {f: x * jump for f, x in row.items()}, y if loss == "logistic" else y * (1e12 if i >= 300 else 1.0)


def hostile(seed, loss):
    """Task 0 answers the learner: always the label that it expects least."""
    model = Auto(loss)
    for k, row, y in stream(seed, 400, loss):
        label = y
        if k == 0:
            s = model.score(row, k)
            label = (-1.0 if s >= 0 else 1.0) if loss == "logistic" else s - math.copysign(4.0, s)
        yield k, row, label
        model.learn(row, label, k)


def one_sided(seed, loss):
    """The own model is right, then the pooled one, then neither."""
    rng = np.random.default_rng(seed)
    for i in range(400):
        k = int(rng.integers(3))
        y = (1.0 if k == 0 else -1.0) if i < 150 else 1.0 if i < 300 else float(rng.choice([-1.0, 1.0]))
        yield k, {"x": y * (i >= 150) + 0.1 * rng.normal()}, y * (1.0 if loss == "logistic" else 10.0 ** (i // 150))


ADVERSARIES = (flipping, opposed, jumping, hostile, one_sided)


class Case(NamedTuple):
    """A stream by its loss, and the losses that it is for; `extreme` where ratios of values have no square."""

    build: Callable
    losses: tuple[str, ...] = LOSSES
    extreme: bool = False


CASES = {
    "toy": Case(toy),
    "no features": Case(lambda loss: [("k", {}, 1.0)] * 300),
    "all kinds of columns": Case(lambda loss: stream(1, 250, loss)),
    "stored zeros": Case(lambda loss: padded(stream(2, 200, loss))),
    "columns times powers of two": Case(lambda loss: scaled(stream(3, 250, loss), POWERS_OF_TWO)),
    "columns in odd units": Case(lambda loss: scaled(stream(3, 250, loss), ODD_UNITS)),
    "columns plus 1000": Case(lambda loss: shifted(stream(5, 250, loss), 1000.0)),
    "a task without labels": Case(lambda loss: silent(6, 250, loss)),
    "tasks by other names": Case(lambda loss: renamed(stream(7, 200, loss), ("c", 0, ("b", 1), "a"))),
    "opposite labels": Case(lambda loss: relabelled(stream(8, 250, loss), -1.0, 0.0)),
    "one task": Case(lambda loss: stream(9, 200, loss, tasks=1)),
    "constant column": Case(constant_column),
    "column that varies by 2^-17": Case(nearly_constant(17)),
    "column that varies by 2^-22": Case(nearly_constant(22)),
    "nearly full columns": Case(nearly_full),
    "names in the row": Case(names_in_the_row),
    "holes in the list": Case(holes),
    "a column exactly half full": Case(lambda loss: half_full("a b a c d b b b")),
    "four columns exactly half full": Case(lambda loss: half_full("abcd efgh abij efgh abcd ijkl efgh efgh")),
    "columns that stop being dense": Case(fading),
    "columns that part": Case(parting),
    "capped words": Case(capped_words),
    "capped columns": Case(capped_columns),
    "rows of all lengths": Case(lengths),
    "correlated columns": Case(correlated),
    "large and small values": Case(lambda loss: huge_and_tiny(loss, 70)),
    "huge and tiny values": Case(huge_and_tiny, extreme=True),
    "largest and smallest values": Case(limits, extreme=True),
    "every feature once": Case(all_new),
    "labels times 1e6": Case(lambda loss: relabelled(stream(4, 250, loss), 1e6, -3e7), ("square",)),
    "labels times 1e-6": Case(lambda loss: relabelled(stream(4, 250, loss), 1e-6, 5.0), ("square",)),
    "labels plus 1e9": Case(lambda loss: relabelled(stream(4, 250, loss), 1.0, 1e9), ("square",)),
    "labels constant inside tasks": Case(constant_inside_tasks, ("square",)),
    "tasks that agree": Case(tasks_agree, ("square",)),
    "tasks that differ": Case(tasks_differ, ("square",)),
    "labels that differ by rounding": Case(rounding, ("square",)),
    "labels that differ by little": Case(just_a_frame, ("square",)),
    "labels that stop varying": Case(settled_labels, ("square",)),
    "labels far outside": Case(far_labels, ("square",)),
    "one class": Case(one_class),
    "one large outlier": Case(lambda loss: outlier(loss, 1e70, 1600)),
    "one huge outlier": Case(lambda loss: outlier(loss, n=400), extreme=True),
    "very sure": Case(sure),
    **{
        f"constant label {y}": Case(lambda loss, y=y: [(k, row, y) for k, row, _ in stream(12, 80, loss)], ("square",))
        for y in (7.25, -1e9 / 3, 1e-9, 0.0)
    },
    **{
        f"{adversary.__name__}, seed {seed}": Case(lambda loss, of=adversary, seed=seed: of(seed, loss))
        for adversary in ADVERSARIES
        for seed in range(2)
    },
}


def case_of(name, loss):
    """The events of a case, as a list."""
    return list(CASES[name].build(loss))
