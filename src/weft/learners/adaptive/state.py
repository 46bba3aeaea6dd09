"""What `adaptive` and `auto` remember: own parts of pairs, shared parts of features, statistics, and a row per task."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learners.adaptive.harmless import LOSS
from weft.learners.adaptive.newton import SEATS, SPREAD
from weft.learners.adaptive.parts import PART_WIDTH, POOLED_WIDTH
from weft.learners.adaptive.row_scaling import CNT, EVENTS, HALF, NONZEROS
from weft.storage.batch import Batch
from weft.storage.pairs import Pairs, dense
from weft.storage.state import Plan

EVENTS_OF_TASK, YSUM, TASK_DEV = 0, 6, 7
"""Further columns of a task's row: see `harmless`."""

WEIGHT = 3
"""Position in the totals, after those of `row_scaling`: what an event weighs (see `experts`)."""

V, H = 0, 1
"""Rows of the stack: its weights, and their sums of squares, for the gradient, betting, own, pooled and second-order
expert. One that a learner does not have predicts 0, and keeps its weight."""
EXPERTS = 5


class Hyper(NamedTuple):
    auto: bool
    square: bool
    second: bool
    eta: float
    prior: float
    growth: float


class Parts(NamedTuple):
    """Own parts of (task, feature) pairs and of every task's bias, shared parts of features and of the bias.

    Rows of features end with numbers of `row_scaling`, which has `sums` as well; `pooled` is the expert of that name.
    """

    pairs: Pairs
    own: Floats
    own_bias: Floats
    features: Floats
    bias: Floats
    pooled: Floats
    sums: Floats
    dense: Ints
    place: Ints
    n_dense: Ints
    totals: Floats
    labels: Floats
    tasks: Floats
    stack: Floats
    matrix: Floats
    seated: Floats
    seat: Ints
    n_seats: Ints

    def further(self, batch: Batch, done: int) -> tuple[int, int]:
        """How many pairs a row of the next round may open beyond its own, and how many a task can have.

        Beyond its own are dense features, and those that join in the round; see `learn`, which asks the same.
        """
        lo, hi = batch.rounds[done], batch.rounds[done + 1]
        rows = batch.row[lo:hi]
        joining = int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) if hi - lo > 1 else 0
        return int(self.n_dense[0]) + joining, len(self.dense)


def plan(auto: bool, second: bool) -> Plan:
    """`adaptive` has no own and no pooled expert; the second-order one is an option.

    In memory a row has the same width with either: a pair's is a cache line, and whole vectors can be read.
    """
    width, seats = 8 if auto else 6, SEATS if second else 0
    return Plan(
        axes={
            "own": ("pair", width),
            "own_bias": ("task", width),
            "features": ("feature", PART_WIDTH),
            "bias": (1, width),
            "pooled": ("feature" if auto else 0, POOLED_WIDTH),
            "sums": ("feature",),
            "dense": ("feature",),
            "place": ("feature",),
            "n_dense": (1,),
            "totals": (4,),
            "labels": (10,),
            "tasks": ("task", LOSS + 4),
            "stack": (2, EXPERTS),
            "matrix": (seats, seats),
            "seated": (seats,),
            "seat": ("feature" if second else 0,),
            "n_seats": (1,),
        },
        names={"dense": "feature"},
        counts={"place": ("feature",), "n_dense": ("feature",), "seat": (max(seats - 1, 0),), "n_seats": (seats,)},
        check=_check,
        padded=dict.fromkeys(("own", "own_bias", "bias"), PART_WIDTH),
    )


def _check(arrays: Mapping[str, Array]) -> None:
    """A file may claim anything: the dense features must be where they say they are, and no more than there can be."""
    n, dense, place = int(arrays["n_dense"][0]), arrays["dense"], arrays["place"]
    listed = np.zeros(len(place), np.int64)
    listed[dense[:n]] = np.arange(1, n + 1)
    if not np.array_equal(listed, place) or np.any(dense[n:]):
        raise ValueError("the state's list of dense features does not fit their places")
    seen, totals = arrays["features"][:, CNT], arrays["totals"]
    if not (np.all(seen >= 0.0) and seen.sum() == totals[NONZEROS] and np.all(seen <= totals[EVENTS])):
        raise ValueError("the state's features have not occurred as often as its totals say")
    if np.any(seen[dense[:n]] < HALF * totals[EVENTS]):
        raise ValueError("the state's dense features occurred in less than half of the rows")
    seats, taken = int(arrays["n_seats"][0]), np.sort(arrays["seat"][arrays["seat"] > 0])
    if (seats < 1) != (len(arrays["matrix"]) == 0) or not np.array_equal(taken, np.arange(1, seats)):
        raise ValueError("the state's seats are not handed out one by one")


def blank(second: bool) -> Parts:
    """Nothing is learned; `auto` begins as `adaptive`."""
    seats, ints = SEATS if second else 0, np.zeros(0, np.int64)
    parts = np.zeros((0, PART_WIDTH))
    matrix = np.zeros((seats, seats))
    matrix[:1, :1] = SPREAD
    return Parts(
        pairs=dense(0, 1),
        own=parts,
        own_bias=parts.copy(),
        features=parts.copy(),
        bias=np.zeros((1, PART_WIDTH)),
        pooled=np.zeros((0, POOLED_WIDTH)),
        sums=np.zeros(0),
        dense=ints,
        place=ints.copy(),
        n_dense=np.zeros(1, np.int64),
        totals=np.array([0.0, 0.0, 0.0, 1.0]),
        labels=np.zeros(10),
        tasks=np.zeros((0, LOSS + 4)),
        stack=np.array([[0.5, 0.5, 0.0, 0.0, 0.0], [1.0] * EXPERTS]),
        matrix=matrix,
        seated=np.zeros(seats),
        seat=ints.copy(),
        n_seats=np.array([int(second)]),
    )
