"""Learners that keep a number for every pair of tasks, or of task and feature: the memory it takes, and its limit."""

from typing import Any

LIMIT = 1 << 28
"""256 MiB: 5,792 tasks."""


def refuse_matrix(learner: Any, tasks: int, matrices: int = 1, remedy: str = "") -> None:
    """Raise ValueError if `matrices` tables of tasks x tasks numbers take more than the learner's `matrix_limit`."""
    need = 8 * matrices * tasks * tasks
    if need > learner.matrix_limit:
        raise ValueError(
            f"{learner.name} keeps {'a table' if matrices == 1 else f'{matrices} tables'} of {tasks:,} x {tasks:,} "
            f"numbers, one for every pair of tasks: {_bytes(need)}, more than matrix_limit={learner.matrix_limit:,}; "
            f"{remedy}raise matrix_limit, or take a learner without it, such as mt-ogd"
        )


def refuse_tables(learner: Any, tasks: int, features: int, tables: int, matrices: int = 0) -> None:
    """The same for a learner that keeps `tables` of tasks x features numbers as well."""
    need = 8 * (tables * features + matrices * tasks) * tasks
    if need > learner.matrix_limit:
        raise ValueError(
            f"{learner.name} keeps whole tables of {tasks:,} tasks x {features:,} features: {_bytes(need)}, more than "
            f"matrix_limit={learner.matrix_limit:,}; raise matrix_limit, or take a learner without them, such as mt-ogd"
        )


def _bytes(count: int) -> str:
    """
    >>> _bytes(3 << 29)
    '1.5 GiB'
    """
    for unit, size in (("GiB", 1 << 30), ("MiB", 1 << 20)):
        if count >= size:
            return f"{count / size:.1f} {unit}"
    return f"{count:,} bytes"
