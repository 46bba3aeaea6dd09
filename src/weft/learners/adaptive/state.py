"""The state of `adaptive` and `auto`: its arrays, and the names of all positions in them.

Every number that is read or written by position has its name here. `Total` and `Label` are positions in arrays of
totals; `Task`, `Part`, `Feature` and `Pooled` are columns; `Stack` is a row; `Expert` and `Component` number the
predictors that the stack and the do-no-harm layer combine.
"""

from collections.abc import Mapping
from enum import IntEnum
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints, ShortFloats
from weft.storage.batch import Batch
from weft.storage.pairs import Pairs, dense
from weft.storage.state import Plan


class Total(IntEnum):
    """Positions in `totals`."""

    EVENTS = 0  # rows that were learned
    NONZEROS = 1  # their non-zero values
    KNOWN = 2  # features that have occurred
    WEIGHT = 3  # a, the weight of the present event: see `experts`


class Label(IntEnum):
    """Positions in `labels`, the totals of `label_scaling`; sums are of y - FIRST."""

    SUM = 0
    SQUARES = 1
    DEVIATIONS = 2  # sum of squared deviations from the task's centre
    WITHIN = 3  # sum of squares within tasks
    WITHIN_COUNT = 4  # its degrees of freedom
    LOWEST = 5
    HIGHEST = 6
    LOWEST_U = 7
    HIGHEST_U = 8
    FIRST = 9  # the first label


class Task(IntEnum):
    """Columns of `tasks`."""

    EVENTS = 0
    MIXTURE = 1  # three columns, one per component: ln w_i with log-loss, L_i with squared loss (`do_no_harm`)
    COST = 4  # cost with log-loss, gap with squared loss
    ETA = 5
    LABEL_SUM = 6
    LABEL_DEVIATIONS = 7
    LOSS = 8  # four columns: losses of the components and of the mixture


class Part(IntEnum):
    """Columns of own parts (`own`, `own_bias`) and shared parts (`features`, `bias`)."""

    THETA = 0  # four numbers of the betting expert: see `experts`
    G = 1
    L = 2
    REWARD = 3
    GRADIENT = 4  # weight of the gradient expert, and its sum of squared gradients
    GRADIENT_SQUARES = 5
    OTHER = 6  # `own`, `own_bias`: the own expert; `bias`: the pooled one. Only `auto` has them.
    OTHER_SQUARES = 7


class Feature(IntEnum):
    """Last columns of `features`, where pairs have those of the own expert: statistics of `row_scaling`."""

    COUNT = 6  # rows in which the feature was not zero
    SQUARES = 7  # sum of its squared values


class Pooled(IntEnum):
    """Columns of `pooled`."""

    WEIGHT = 0
    SQUARES = 1


class Stack(IntEnum):
    """Rows of `stack`; its columns are experts."""

    WEIGHT = 0
    SQUARES = 1


class Expert(IntEnum):
    """What the stack adds up. An expert that a learner does not have predicts 0, and its weight never changes."""

    GRADIENT = 0
    BETTING = 1
    OWN = 2
    POOLED = 3
    SECOND_ORDER = 4


class Component(IntEnum):
    """What the do-no-harm layer mixes, and the mixture itself."""

    STACK = 0
    OWN = 1
    POOLED = 2
    MIXTURE = 3


EXPERTS = len(Expert)
COMPONENTS = 3
"""Without the mixture."""
PART_WIDTH, POOLED_WIDTH, TASK_WIDTH = len(Part), len(Pooled), Task.LOSS + COMPONENTS + 1
"""Columns in memory."""

HALF = 0.5
"""A feature can be dense if it occurs in this share of all rows: see `row_scaling`."""

SEATS = 33
"""Features of the second-order expert, and its bias: see `second_order`."""
FIRST_UNCERTAINTY = 10.0
"""P of a new seat: how large a weight may be expected to be."""


class Hyper(NamedTuple):
    """The parameters as compiled code takes them."""

    auto: bool
    square: bool
    second_order: bool
    eta: float
    own_prior: float
    growth: float  # of the weight of an event, from one event to the next


class State(NamedTuple):
    """What was learned. The names of the arrays are those in a model's file."""

    pairs: Pairs
    own: ShortFloats  # own parts of (task, feature) pairs: `Part`
    own_bias: Floats
    features: Floats  # shared parts of features, and statistics: `Part`, `Feature`
    bias: Floats
    pooled: Floats  # weights of the pooled expert: `Pooled`
    sums: Floats  # of the values of each feature
    dense: Ints  # the dense features, in the order in which they became dense
    place: Ints  # of each feature, its position in `dense` counted from 1, or 0
    n_dense: Ints
    totals: Floats  # `Total`
    labels: Floats  # `Label`
    tasks: Floats  # `Task`
    stack: Floats  # `Stack`, `Expert`
    matrix: Floats  # P of the second-order expert
    seated: Floats  # its weights
    seat: Ints  # of each feature, its position in these two, or 0
    n_seats: Ints


def extra_pairs(state: State, batch: Batch, done: int) -> tuple[int, int]:
    """How many pairs a row of the next round may open beyond its own, and how many a task can have.

    These are pairs of dense features, and of features that become dense within the round. `events.learn` uses the same
    number.
    """
    lo, hi = batch.rounds[done], batch.rounds[done + 1]
    rows = batch.row[lo:hi]
    joining = int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) if hi - lo > 1 else 0
    return int(state.n_dense[0]) + joining, len(state.dense)


def plan(auto: bool, second_order: bool) -> Plan:
    """The axes of the arrays. `adaptive` has no own and no pooled expert; the second-order one is an option.

    In memory a row of parts always has the same width, so that full vectors can be read: eight numbers, a cache line,
    and half of one where a pair's numbers have 32 bits.
    """
    width, seats = PART_WIDTH if auto else Part.OTHER.value, SEATS if second_order else 0
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
            "totals": (len(Total),),
            "labels": (len(Label),),
            "tasks": ("task", TASK_WIDTH),
            "stack": (len(Stack), EXPERTS),
            "matrix": (seats, seats),
            "seated": (seats,),
            "seat": ("feature" if second_order else 0,),
            "n_seats": (1,),
        },
        names={"dense": "feature"},
        counts={"place": ("feature",), "n_dense": ("feature",), "seat": (max(seats - 1, 0),), "n_seats": (seats,)},
        counters={
            "features": (Feature.COUNT,),
            "totals": (Total.EVENTS, Total.NONZEROS, Total.KNOWN),
            "labels": (Label.WITHIN_COUNT,),
            "tasks": (Task.EVENTS,),
        },
        check=_check,
        padded=dict.fromkeys(("own", "own_bias", "bias"), PART_WIDTH),
        extra_pairs=extra_pairs,
    )


def _check(arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Refuse a file whose lists and counts contradict each other: compiled code would use them as positions."""
    n, dense, place = int(arrays["n_dense"][0]), arrays["dense"], arrays["place"]
    expected = np.zeros(len(place), np.int64)
    expected[dense[:n]] = np.arange(1, n + 1)
    if not np.array_equal(expected, place) or np.any(dense[n:]):
        raise ValueError("the state's list of dense features does not fit their places")
    seen, totals = arrays["features"][:, Feature.COUNT], arrays["totals"]
    if not (np.all(seen >= 0.0) and seen.sum() == totals[Total.NONZEROS] and np.all(seen <= totals[Total.EVENTS])):
        raise ValueError("the state's features have not occurred as often as its totals say")
    if np.any(seen[dense[:n]] < HALF * totals[Total.EVENTS]):
        raise ValueError("the state's dense features occurred in less than half of the rows")
    seats, taken = int(arrays["n_seats"][0]), np.sort(arrays["seat"][arrays["seat"] > 0])
    if (seats < 1) != (len(arrays["matrix"]) == 0) or not np.array_equal(taken, np.arange(1, seats)):
        raise ValueError("the state's seats are not handed out one by one")


def blank(second_order: bool) -> State:
    """The state before the first event; that of `auto` differs from that of `adaptive` only when it grows."""
    seats, ints = SEATS if second_order else 0, np.zeros(0, np.int64)
    parts = np.zeros((0, PART_WIDTH))
    matrix = np.zeros((seats, seats))
    matrix[:1, :1] = FIRST_UNCERTAINTY
    totals, stack = np.zeros(len(Total)), np.zeros((len(Stack), EXPERTS))
    totals[Total.WEIGHT] = 1.0
    stack[Stack.WEIGHT, [Expert.GRADIENT, Expert.BETTING]] = 0.5
    stack[Stack.SQUARES] = 1.0
    return State(
        pairs=dense(0, 1),
        own=parts.astype(np.float32),
        own_bias=parts,
        features=parts.copy(),
        bias=np.zeros((1, PART_WIDTH)),
        pooled=np.zeros((0, POOLED_WIDTH)),
        sums=np.zeros(0),
        dense=ints,
        place=ints.copy(),
        n_dense=np.zeros(1, np.int64),
        totals=totals,
        labels=np.zeros(len(Label)),
        tasks=np.zeros((0, TASK_WIDTH)),
        stack=stack,
        matrix=matrix,
        seated=np.zeros(seats),
        seat=ints.copy(),
        n_seats=np.array([int(second_order)]),
    )
