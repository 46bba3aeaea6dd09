"""How a budget learner's active set uses its budget, read off the state."""

import numpy as np

from weft.learner import Usage
from weft.learners.budget.active_set import (
    DAMAGE,
    ENTERED,
    EVENTS,
    EVICTIONS,
    MISTAKES,
    NONZEROS,
    OWNER,
    ROW_BYTES,
    TOO_LARGE,
    ActiveSet,
    Budget,
)
from weft.storage.state import SUPPORT


def usage_of(hyper: Budget, limits: tuple[float, float], state: ActiveSet, tasks: int, movers: int) -> Usage:
    """Rows per task, bytes as `active_set.over` counts them, and the counters; `movers` tasks have weights."""
    n, scalars = int(state.used[SUPPORT]), state.scalars
    per_row = ROW_BYTES + 8.0 * movers + hyper.square * n
    entered = state.numbers[:n, ENTERED]
    return Usage(
        kept=np.bincount(state.marks[:n, OWNER], minlength=tasks),
        most_rows=limits[0],
        bytes=int(16.0 * state.counts[NONZEROS] + per_row * n),
        most_bytes=limits[1],
        mistakes=int(scalars[MISTAKES]),
        evictions=int(scalars[EVICTIONS]),
        damage=float(scalars[DAMAGE]),
        too_large=int(scalars[TOO_LARGE]),
        oldest=int(scalars[EVENTS] - entered.min()) if n else None,
    )
