"""Decayed sums of recent events: how fast an event stops to count, and what is summed."""

HALF_LIFE = 100
"""Events of a task after which an event counts half."""
DECAY = 0.5 ** (1.0 / HALF_LIFE)

ERROR, RECENT_LOSS = range(2)
"""Decayed sums of mistakes (or deviations) and of losses."""

MOST = 1e100
"""A larger loss or deviation counts as this, so that its sum can decay."""
