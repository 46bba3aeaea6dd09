"""The state of `adaptive` and `auto`: its arrays, and the names of all positions in them (`plan`: their axes).

Every number that is read or written by position has its name here. `Total` and `Label` are positions in arrays of
totals; `Task`, `Part`, `Feature` and `Pooled` are columns; `Stack` is a row; `Expert` and `Component` number the
predictors that the stack and the do-no-harm layer combine.
"""

from enum import IntEnum
from typing import NamedTuple

from weft.compiled.arrays import Floats, Ints, ShortFloats
from weft.storage.pairs import Pairs


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
    # Wide rows have more, those of further experts:
    FORGET = 8
    FORGET_SQUARES = 9
    SEEN_POSITIVE = 10  # `bayes`: events of either class with the feature; in biases, all events
    SEEN_NEGATIVE = 11
    FACTOR = 12  # `low_rank`, biases only
    FACTOR_SQUARES = 13


class Feature(IntEnum):
    """Last columns of `features`, where pairs have those of the own expert: statistics of `row_scaling`."""

    COUNT = 6  # rows in which the feature was not zero
    SQUARES = 7  # sum of its squared values


class Pooled(IntEnum):
    """Columns of `pooled`."""

    WEIGHT = 0
    SQUARES = 1
    # Wide rows have the shared parts of further experts as well, columns as in `Part`:
    FORGET = 2
    FORGET_SQUARES = 3
    SEEN_POSITIVE = 4
    SEEN_NEGATIVE = 5
    FACTOR = 6
    FACTOR_SQUARES = 7


class Stack(IntEnum):
    """Rows of `stack`; its columns are experts."""

    WEIGHT = 0
    SQUARES = 1
    # With experts of `effort` there are two stacks, and what they are mixed by (`two_stacks`):
    FIRST_WEIGHT = 2  # of the stack of the first experts alone
    FIRST_SQUARES = 3
    MIXTURE = 4  # of both stacks: weights with log-loss, losses and their gap with squared loss


class Expert(IntEnum):
    """What the stack adds up. An expert that a learner does not have predicts 0, and its weight never changes."""

    GRADIENT = 0
    BETTING = 1
    OWN = 2
    POOLED = 3
    SECOND_ORDER = 4
    # Experts of `effort`, in wide stacks:
    FORGET = 5
    BAYES = 6
    LOW_RANK = 7
    LEVEL = 8  # three, one per rate
    SECOND_OWN = 11
    SECOND_POOLED = 12
    GRID = 13
    FADING = 14


class Component(IntEnum):
    """What the do-no-harm layer mixes, and the mixture itself."""

    STACK = 0
    OWN = 1
    POOLED = 2
    MIXTURE = 3


EXPERTS, MORE_EXPERTS, ALL_EXPERTS = Expert.SECOND_ORDER + 1, Expert.GRID + 1, Expert.FADING + 1
"""Columns of a stack without and with the experts of `effort`, and with `fading` as well."""
COMPONENTS = 3
"""Without the mixture."""
LEVELS = 3
"""Experts that know nothing but the recent labels: see `level`."""
PART_WIDTH, POOLED_WIDTH, TASK_WIDTH = Part.OTHER_SQUARES + 1, Pooled.SQUARES + 1, Task.LOSS + COMPONENTS + 1
"""Columns in memory."""
WIDE_PART, WIDE_POOLED = 16, len(Pooled)
"""The same of wide rows, which `auto` with experts of `effort` has: a cache line, in 32 and in 64 bits."""
PAIR_NUMBERS, BIAS_NUMBERS = Part.SEEN_NEGATIVE + 1, len(Part)
"""Columns of wide rows in a file: of a pair, and of a bias."""

HALF = 0.5
"""A feature can be dense if it occurs in this share of all rows: see `row_scaling`."""

SEATS = 33
"""Features of the second-order expert, and its bias: see `second_order`."""
FIRST_UNCERTAINTY = 10.0
"""P of a new seat: how large a weight may be expected to be."""
GRID_COLUMNS, GRID_PAIRS, CELLS, RESERVOIR = 16, 120, 25, 256
"""Of `grid`: columns, pairs of them, cells of a pair, and how many values of a column are kept."""
FIRST_SLOPE = 0.3
"""Of `bayes`: the share of its log-odds that is believed at first."""


class Hyper(NamedTuple):
    """The parameters as compiled code takes them."""

    auto: bool
    square: bool
    second_order: bool
    eta: float
    own_prior: float
    growth: float  # of the weight of an event, from one event to the next
    floor: float = 0.0  # of L in bets
    wide: bool = False  # whether there are any of the following experts
    forget: bool = False
    bayes: bool = False
    low_rank: bool = False
    level: bool = False
    second: bool = False
    grid: bool = False
    fading: bool = False
    rank: int = 0  # of `low_rank`: numbers of a task and of a feature


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
    stack: Floats  # `Stack`, `Expert`; the first two rows alone without experts of `effort`
    matrix: Floats  # P of the second-order expert
    seated: Floats  # its weights
    missing: Floats  # of each feature, in how many rows it was missing while it was dense
    n_missing: Ints  # of all of them
    seat: Ints  # of each feature, its position in these two, or 0
    n_seats: Ints
    calibration: Floats  # of `bayes`: slope and offset, and their sums of squared gradients
    factors: ShortFloats  # of `low_rank`: the numbers of a feature, and their sums of squared gradients
    task_factors: Floats  # the same of a task
    levels: Floats  # of `level`: the recent labels of a task, at three rates
    used: Ints  # how many of the following matrices there are, as its last number
    matrices: Floats  # P of `second`: the first is that of all tasks, the others those of single tasks
    matrix_weights: Floats  # their weights
    matrix_of: Ints  # the matrix of a task, or 0
    reservoir: Floats  # of `grid`: values of a column
    reservoir_counts: Ints  # how many values there were to choose from
    grid: Floats  # weights of the cells, and their sums of squared gradients
    fading_matrix: Floats  # P of `fading`
    fading_weights: Floats
