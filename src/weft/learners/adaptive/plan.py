"""The arrays of the state of `adaptive` and `auto`: their axes, what a file must satisfy, and the blank state."""

from collections.abc import Mapping

import numpy as np

from weft.compiled.arrays import Array
from weft.learners.adaptive.state import (
    ALL_EXPERTS,
    BIAS_NUMBERS,
    CELLS,
    EXPERTS,
    FIRST_SLOPE,
    FIRST_UNCERTAINTY,
    GRID_COLUMNS,
    GRID_PAIRS,
    HALF,
    LEVELS,
    MORE_EXPERTS,
    PAIR_NUMBERS,
    PART_WIDTH,
    POOLED_WIDTH,
    RESERVOIR,
    SEATS,
    TASK_WIDTH,
    WIDE_PART,
    WIDE_POOLED,
    Expert,
    Feature,
    Hyper,
    Label,
    Part,
    Stack,
    State,
    Task,
    Total,
)
from weft.storage.batch import Batch
from weft.storage.pairs import dense
from weft.storage.state import COUNTED, MOST_COUNTED, UPDATED_TASK, Plan


def extra_pairs(state: State, batch: Batch, done: int) -> tuple[int, int]:
    """How many pairs a row of the next round may open beyond its own, and how many a task can have.

    These are pairs of dense features, and of features that become dense within the round. `events.learn` uses the same
    number.
    """
    lo, hi = batch.rounds[done], batch.rounds[done + 1]
    rows = batch.row[lo:hi]
    joining = int(np.sum(batch.indptr[rows + 1] - batch.indptr[rows])) if hi - lo > 1 else 0
    return int(state.n_dense[0]) + joining, len(state.dense)


def plan(hyper: Hyper) -> Plan:
    """The axes of the arrays. `adaptive` has no own and no pooled expert; the second-order one is an option.

    In memory a row of parts always has the same width, so that full vectors can be read: eight numbers, a cache line,
    and half of one where a pair's numbers have 32 bits. With experts of `effort` rows are twice as wide.
    """
    width = PART_WIDTH if hyper.auto else Part.OTHER.value
    seats, in_memory = SEATS if hyper.second_order else 0, WIDE_PART if hyper.wide else PART_WIDTH
    has_seats = _has_seats(hyper)
    most_seats = SEATS if has_seats else 0
    return Plan(
        axes={
            "own": ("pair", PAIR_NUMBERS if hyper.wide else width),
            "own_bias": ("task", BIAS_NUMBERS if hyper.wide else width),
            "features": ("feature", PART_WIDTH),
            "bias": (1, BIAS_NUMBERS if hyper.wide else width),
            "pooled": ("feature" if hyper.auto else 0, WIDE_POOLED if hyper.wide else POOLED_WIDTH),
            "sums": ("feature",),
            "dense": ("feature",),
            "place": ("feature",),
            "n_dense": (1,),
            "missing": ("feature",),
            "n_missing": (1,),
            "totals": (len(Total),),
            "labels": (len(Label),),
            "tasks": ("task", TASK_WIDTH),
            "stack": _stacks(hyper),
            "matrix": (seats, seats),
            "seated": (seats,),
            "seat": ("feature" if has_seats else 0,),
            "n_seats": (1,),
            **(_further_axes(hyper) if hyper.wide else {}),
        },
        names={"dense": "feature"},
        counts={
            "place": ("feature",),
            "n_dense": ("feature",),
            "n_missing": (MOST_COUNTED,),
            "seat": (max(most_seats - 1, 0),),
            "n_seats": (most_seats,),
            **({"matrix_of": ("updated_task",), "reservoir_counts": (MOST_COUNTED,)} if hyper.wide else {}),
        },
        counters={
            "features": (Feature.COUNT,),
            "missing": (),
            "totals": (Total.EVENTS, Total.NONZEROS, Total.KNOWN),
            "labels": (Label.WITHIN_COUNT,),
            "tasks": (Task.EVENTS,),
        },
        check=_check,
        padded=dict.fromkeys(("own", "own_bias", "bias"), in_memory),
        extra_pairs=extra_pairs,
        optional=("missing", "n_missing"),
    )


def _further_axes(hyper: Hyper) -> dict[str, tuple[str | int, ...]]:
    """Of the arrays that only experts of `effort` have."""
    numbers = 2 * hyper.rank
    return {
        "calibration": (2, 2),
        "factors": ("feature" if hyper.low_rank else 0, numbers),
        "task_factors": ("task" if hyper.low_rank else 0, numbers),
        "levels": ("task", LEVELS),
        "used": (len(COUNTED),),
        "matrices": ("updated_task", *((SEATS, SEATS) if hyper.second else (0, 0))),
        "matrix_weights": ("updated_task", SEATS if hyper.second else 0),
        "matrix_of": ("task",),
        "reservoir": (GRID_COLUMNS if hyper.grid else 0, RESERVOIR),
        "reservoir_counts": (GRID_COLUMNS if hyper.grid else 0,),
        "grid": (GRID_PAIRS * CELLS if hyper.grid else 0, 2),
        **({"fading_matrix": (SEATS, SEATS), "fading_weights": (SEATS,)} if hyper.fading else {}),
    }


def _stacks(hyper: Hyper) -> tuple[int, int]:
    """Rows of the stack, and how many experts it has room for."""
    if not hyper.wide:
        return Stack.SQUARES + 1, EXPERTS
    return len(Stack), ALL_EXPERTS if hyper.fading else MORE_EXPERTS


def _has_seats(hyper: Hyper) -> bool:
    """Whether any expert gives seats to dense features."""
    return hyper.second_order or hyper.second or hyper.grid or hyper.fading


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
    missing = arrays["missing"]
    if missing.sum() != arrays["n_missing"][0] or np.any(missing > totals[Total.EVENTS]):
        raise ValueError("the state's missing values are not as many as its totals say")
    if np.any(seen[dense[:n]] < HALF * (totals[Total.EVENTS] - missing[dense[:n]])):
        raise ValueError("the state's dense features occurred in less than half of the rows")
    seats, taken = int(arrays["n_seats"][0]), np.sort(arrays["seat"][arrays["seat"] > 0])
    if (len(arrays["matrix"]) > 0 and seats < 1) or not np.array_equal(taken, np.arange(1, seats)):
        raise ValueError("the state's seats are not handed out one by one")
    if len(arrays["stack"]) > Stack.MIXTURE and np.any(arrays["stack"][Stack.MIXTURE] < 0.0):
        raise ValueError("the state's mixture of stacks has negative numbers")
    if np.any(arrays.get("reservoir_counts", seen[:0]) > totals[Total.EVENTS]):
        raise ValueError("the state's reservoirs were filled more often than there were events")
    if "matrix_of" in arrays:
        made, found = int(arrays["used"][UPDATED_TASK]), np.sort(arrays["matrix_of"][arrays["matrix_of"] > 0])
        if made < 1 or np.any(arrays["used"][:UPDATED_TASK]) or not np.array_equal(found, np.arange(1, made)):
            raise ValueError("the state's matrices do not belong to one task each")


def blank(hyper: Hyper) -> State:
    """The state before the first event; that of `auto` differs from that of `adaptive` only when it grows."""
    seats, ints = SEATS if hyper.second_order else 0, np.zeros(0, np.int64)
    wide = np.zeros((0, WIDE_PART if hyper.wide else PART_WIDTH))
    factors = np.zeros((0, 2 * hyper.rank))
    matrix = np.zeros((seats, seats))
    matrix[:1, :1] = FIRST_UNCERTAINTY
    totals, stack = np.zeros(len(Total)), np.zeros(_stacks(hyper))
    totals[Total.WEIGHT] = 1.0
    stack[Stack.WEIGHT, [Expert.GRADIENT, Expert.BETTING]] = 0.5
    stack[Stack.SQUARES] = 1.0
    if hyper.wide:
        stack[Stack.FIRST_WEIGHT : Stack.FIRST_SQUARES + 1] = stack[: Stack.SQUARES + 1]
        stack[Stack.MIXTURE, :2] = 0.0 if hyper.square else 0.5
    return State(
        pairs=dense(0, 1),
        own=wide.astype(np.float32),
        own_bias=wide,
        features=np.zeros((0, PART_WIDTH)),
        bias=np.zeros((1, wide.shape[1])),
        pooled=np.zeros((0, WIDE_POOLED if hyper.wide else POOLED_WIDTH)),
        sums=np.zeros(0),
        dense=ints,
        place=ints.copy(),
        n_dense=np.zeros(1, np.int64),
        missing=np.zeros(0),
        n_missing=np.zeros(1, np.int64),
        totals=totals,
        labels=np.zeros(len(Label)),
        tasks=np.zeros((0, TASK_WIDTH)),
        stack=stack,
        matrix=matrix,
        seated=np.zeros(seats),
        seat=ints.copy(),
        n_seats=np.array([int(_has_seats(hyper))]),
        calibration=np.array([[FIRST_SLOPE, 0.0], [1.0, 1.0]]),
        factors=factors.astype(np.float32),
        task_factors=factors,
        levels=np.zeros((0, LEVELS)),
        used=np.array([0, 0, 1]),
        matrices=FIRST_UNCERTAINTY * np.eye(SEATS if hyper.second else 0)[None],
        matrix_weights=np.zeros((1, SEATS if hyper.second else 0)),
        matrix_of=ints.copy(),
        reservoir=np.zeros((GRID_COLUMNS if hyper.grid else 0, RESERVOIR)),
        reservoir_counts=np.zeros(GRID_COLUMNS if hyper.grid else 0, np.int64),
        grid=np.zeros((GRID_PAIRS * CELLS if hyper.grid else 0, 2)),
        fading_matrix=FIRST_UNCERTAINTY * np.eye(SEATS if hyper.fading else 0),
        fading_weights=np.zeros(SEATS if hyper.fading else 0),
    )
