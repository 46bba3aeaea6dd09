"""What the active set in a file must satisfy: compiled code uses its counts, places and owners as positions."""

from collections.abc import Mapping

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.learners.budget.active_set import (
    BEGIN,
    CHANGES,
    END,
    ENTERED,
    EVENTS,
    EVICTIONS,
    MISTAKES,
    NONZEROS,
    OWNER,
    REBUILDS,
    ROW,
    SINCE,
    SUM,
    SUMS,
    TOO_LARGE,
)
from weft.maths.generator import valid

COUNTERS = (EVENTS, MISTAKES, EVICTIONS, SINCE, CHANGES, REBUILDS, TOO_LARGE)
"""The scalars that count."""


def check_active_set(arrays: Mapping[str, Array], sizes: Mapping[str, int]) -> None:
    """Raise ValueError if the arrays contradict each other or themselves."""
    marks, entered = arrays["marks"], arrays["numbers"][:, ENTERED]
    begin, end, nonzeros = marks[:, BEGIN], marks[:, END], int(arrays["counts"][NONZEROS])
    if np.any(marks[:, OWNER] >= sizes["task"]):
        raise ValueError(f"the state keeps a row of a task that is not one of its {sizes['task']}")
    if np.any(begin > end):
        raise ValueError("the state's kept rows end before they begin")
    if int((end - begin).sum()) != nonzeros or nonzeros > sizes["nonzero"]:
        raise ValueError("the state's count of non-zeros is not that of its rows")
    # Slots are recognised by when their row entered: two rows of one time would be taken for each other.
    if np.any(entered < 1.0) or np.any(entered > arrays["scalars"][EVENTS]) or len(np.unique(entered)) != len(entered):
        raise ValueError("the state's kept rows did not enter one by one, at events that it has counted")
    if "generator" in arrays and not valid(arrays["generator"]):
        raise ValueError("the state's generator is none")
    if "places" in arrays:
        _check_places(arrays["places"][:, ROW], sizes["updated_task"])
        _check_places(arrays["places"][:, SUM], int(arrays["counts"][SUMS]))


def _check_places(places: Ints, count: int) -> None:
    """Rows of weights are handed out one by one, from 1 on."""
    if not np.array_equal(np.sort(places[places > 0]), np.arange(1, count + 1)):
        raise ValueError("the state's rows of weights are not handed out one by one")
