"""Where the numbers of a state are: positions in its arrays `counts` and `scalars`, and in a trace.

A state of this family keeps few numbers beside its models. They share an array, so that a file holds them as they are.
"""

from enum import IntEnum


class Count(IntEnum):
    """In `counts`: tasks seen, those that the scalars hold for, and (of mirror maps) the features that count."""

    TASKS = 0
    TUNED = 1
    FEATURES = 2


class CliqueScalar(IntEnum):
    """In the `scalars` of `cliques_state`."""

    SCALE = 0  # s
    Q = 1
    Q_REST = 2  # what rounding has lost of Q
    SQUARES = 3  # sum of |g|^2
    ETA = 4  # eta, or c of adaptive steps
    B = 5
    OWN = 6  # A^-1 = own I + shared 11'
    SHARED = 7
    LIMIT = 8  # of Q
    ZZ = 9  # sum_i |z_i|^2
    SS = 10  # |sum_i z_i|^2
    SM = 11  # <sum_i z_i, m>
    MM = 12  # |m|^2
    ROUNDS = 13  # with a gradient
    SINCE = 14  # rounds since the four sums were made


class GraphScalar(IntEnum):
    """In the `scalars` of `graph`."""

    SCALE = 0  # s
    Q = 1  # |x|_A^2
    Q_REST = 2  # what rounding has lost of Q
    SQUARES = 3  # sum of |g|^2
    ROUNDS = 4  # with a gradient


class TableScalar(IntEnum):
    """In the `scalars` of `table`."""

    SQUARES = 0  # sum of |g|^2
    ETA = 1  # eta, or c of adaptive steps
    B = 2
    OWN = 3  # A^-1 = own I + shared 11' of a clique
    SHARED = 4
    LARGEST = 5  # max_i A^-1_ii
    ROUNDS = 6  # with a gradient


class DualScalar(IntEnum):
    """In the `scalars` of `dual_table`."""

    ETA = 0  # base rate
    B = 1
    OWN = 2  # A^{-1/2} = own I + shared 11' of a clique
    SHARED = 3
    LARGEST = 4  # max_i A^-1_ii
    SQUARES = 5  # sum of |g|^2
    STEEPEST = 6  # largest |g| so far
    P = 7
    SCALE = 8  # s
    LABELLED = 9  # rounds with a label
    ROUNDS = 10  # with a gradient
    TOUCHED = 11  # non-zeros since the sums of the columns were made


class ColumnSum(IntEnum):
    """In the rows of `sums` of `dual_table`: Z_k or U_k relative to an offset, the offset, and the peak since then."""

    SUM = 0
    OFFSET = 1
    PEAK = 2


class Trace(IntEnum):
    """Columns of a trace (`rule.TRACE`): the loss, eta_t, |g|_*^2 and A^-1_ii."""

    LOSS = 0
    ETA = 1
    G2 = 2
    DIAGONAL = 3


class HedgeTrace(IntEnum):
    """The first columns of a trace of Hedge; the losses of all experts follow, then their weights."""

    LOSS = 0
    ETA_H = 1
    EXPERTS = 2
