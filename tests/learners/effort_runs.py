"""`auto` with further experts beside the oracle with dictionaries, which gets the start numbers of the kernels."""

import math
from statistics import NormalDist

import numpy as np

from oracles.effort import Effort, single
from oracles.experts import EXPERTS, SIZES
from weft.learners.adaptive.experts import FLOOR

ROUNDED = single("wF", "GF", "C", "Q", "aQ")
"""Numbers of pairs, and of features in the low-rank expert, have 32 bits."""
POSITIONS = {"forget": [5], "bayes": [6], "low_rank": [7], "level": [8, 9, 10], "second": [11, 12], "grid": [13]}
POSITIONS["fading"] = [14]
"""Of the experts in the stack of a model."""
FEATURE, TASK, VALUES = 1, 2, 3
"""Kinds of draws."""


def mixed(x):
    x = (x ^ (x >> 16)) * 0x7FEB352D % 2**32
    x = (x ^ (x >> 15)) * 0x045D9F3B % 2**32
    return x ^ (x >> 16)


def bits(kind, number):
    return mixed(mixed(number % 2**32 ^ kind) ^ (number >> 32))


def start(kind, number, f):
    """Number f of a row of start numbers."""
    step = mixed((bits(kind, number) + f * 0x3C6EF35F) % 2**32) % 1024
    return 0.05 * NormalDist().inv_cdf((step + 0.5) / 1024)


class LeavesAlone:
    """What experts of dense columns do with rows in which no such column has a value: nothing."""

    def seen(self, event):
        return any(j in event.z for j in event.seats)


class Second(LeavesAlone, EXPERTS["second"]):
    def scores(self, event):
        return super().scores(event) if self.seen(event) else [0.0, 0.0]

    def learn(self, event, errors, u):
        super().learn(event if self.seen(event) else event._replace(ready=False), errors, u)
        if not event.seats:
            self.own.pop(event.task, None)


class Grid(LeavesAlone, EXPERTS["grid"]):
    def inputs(self, event):
        return super().inputs(event) if self.seen(event) else {}

    def learn(self, event, errors, u):
        super().learn(event if self.seen(event) else event._replace(seats=[]), errors, u)


class Twin(Effort):
    """The oracle with the kernels' start numbers: Q of a feature by its number, P of a task by the clock."""

    short = True

    def __init__(self, loss, experts, factors):
        self.firsts, self.slots = {}, {}
        super().__init__(
            loss,
            experts,
            draw=self.draw,
            place=self.place,
            stored=ROUNDED,
            factors=factors,
            least=FLOOR if experts else 0.0,
            rests=bool(experts),
        )
        for name, kind in (("second", Second), ("grid", Grid)):
            if name in self.experts:
                self.experts[name].__class__ = kind

    def draw(self, kind, name, f):
        if kind == "Q":
            return float(np.float32(start(FEATURE, self.slots.get(name, len(self.slots)), f)))
        return start(TASK, self.firsts.get(name, self.t), f)

    def number(self, row):
        """A model knows the names of missing values as well."""
        super().number(row)
        for j, x in row.items():
            if math.isnan(x) or abs(x) >= 1e-150:
                self.slots.setdefault(j, len(self.slots))

    def place(self, column, n):
        at = self.columns.index(column)
        return bits(VALUES + at, n) * n >> 32

    def learn(self, row, y, task):
        self.firsts.setdefault(task, self.t)
        return super().learn(row, y, task)

    @property
    def stack(self):
        """V by the name of the expert, and of the first four."""
        found, at = {"first": self.V[:4]}, 4
        for name in self.experts:
            found[name], at = self.V[at : at + SIZES[name]], at + SIZES[name]
        return found


def stack_of(model, names):
    V = model.state.stack[0]
    return {"first": V[:4].tolist()} | {name: V[POSITIONS[name]].tolist() for name in names}
