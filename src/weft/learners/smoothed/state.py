"""The state of the adaptive smoothed learners: W, the rows p_k of attention, and how far the stream has come."""

from collections.abc import Mapping
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.storage.pairs import Pairs, dense
from weft.storage.state import Plan

EXPONENTIAL, THRESHOLD = range(2)
MARGIN, MISTAKE, ACTIVE = range(3)
CONDITIONS = ("margin", "mistake", "active")

ROUNDS, EPOCH, DUE, MOVED, FLAT = range(5)
"""Positions in `progress`: rounds with a label, rounds of this epoch, its updates with company, those of them that
moved attention, and whether a whole epoch of updates moved none. Integers."""


class Hyper(NamedTuple):
    """The parameters as compiled code takes them."""

    variant: int
    condition: int
    alpha: float  # NaN: from T
    C: float  # NaN: from T
    lam: float  # NaN: C (1 - alpha)
    T: float  # NaN: doubling epochs
    restart: bool
    p_min: float
    near: bool  # rows keep the nearest neighbours only


class Smoothed(NamedTuple):
    """W as pairs, P (whole rows, or own entry, rest and neighbours), and when every row was made."""

    pairs: Pairs
    weights: Floats
    P: Floats
    ids: Ints  # neighbours kept, as slot + 1
    widths: Ints  # the number of tasks when the row was made; 0: uniform
    updates: Floats  # integers
    progress: Floats
    tasks: Ints  # their number N


def plan(neighbours: int | None) -> Plan:
    """Weights are a table, since a task learns features from rows that are not its own."""
    axes: dict[str, tuple[str | int, ...]] = {
        "weights": ("pair",),
        "P": ("task", "task") if neighbours is None else ("task", neighbours + 2),
        "ids": ("task", neighbours or 0),
        "widths": ("task",),
        "updates": ("task",),
        "progress": (5,),
        "tasks": (1,),
    }
    return Plan(
        axes,
        always_dense=True,
        counts={"ids": ("task",), "widths": ("task",), "tasks": ("task",)},
        counters={"updates": (), "progress": ()},
        check=_check,
        forget=_forget if neighbours is None else None,
    )


def _forget(before: Mapping[str, Array], after: dict[str, Array], slot: int) -> None:
    """Every row of attention spreads what the task had over the others as they are; a row of nothing is uniform."""
    P, widths = after["P"], after["widths"]
    widths -= widths > slot
    totals = np.array([P[k, :width].sum() for k, width in enumerate(widths.tolist())])
    widths[totals <= 0.0] = 0
    P[widths == 0] = 0.0
    P[widths > 0] /= totals[widths > 0, None]
    after["tasks"] -= slot < after["tasks"]


def _check(arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """A row of attention is as wide as there were tasks, an epoch has rounds, and neighbours are other tasks."""
    if np.any(arrays["widths"] > arrays["tasks"][0]) or arrays["progress"][EPOCH] < 1.0:
        raise ValueError("the state's rows of attention are wider than its tasks, or its epoch has no rounds")
    ids = np.sort(arrays["ids"], axis=1)
    if np.any((ids[:, 1:] == ids[:, :-1]) & (ids[:, 1:] > 0)) or np.any(ids == np.arange(1, len(ids) + 1)[:, None]):
        raise ValueError("the state's neighbours are not different tasks")


def blank(tasks: int, neighbours: int | None) -> Smoothed:
    """`tasks` are declared, nothing is learned; the first epoch has one round."""
    progress = np.zeros(5)
    progress[EPOCH] = 1.0
    return Smoothed(
        pairs=dense(0, 1),
        weights=np.zeros(0),
        P=np.zeros((0, 0 if neighbours is None else neighbours + 2)),
        ids=np.zeros((0, neighbours or 0), np.int64),
        widths=np.zeros(0, np.int64),
        updates=np.zeros(0),
        progress=progress,
        tasks=np.array([tasks]),
    )
