"""A state without one of its tasks: its live arrays (`saving`) are cut, and restored.

The slot of the task is taken out of every axis of tasks, its pairs out of the pairs; later tasks move up by one. What
else a learner has of the task, such as rows that it keeps, is cut by `Plan.forget`.
"""

from collections.abc import Mapping

import numpy as np

from weft.compiled.arrays import Array
from weft.storage.state import COUNTED, NONZERO, SUPPORT, Plan


def says_how(plan: Plan) -> bool:
    """Is it known how a task is taken out: by the learner, or because there are slots and pairs of tasks alone?"""
    axes = {axis for found in plan.axes.values() for axis in found}
    points = "task" in plan.names.values() or any("task" in found for found in plan.counts.values())
    return plan.forget is not None or not (points or axes.intersection(COUNTED))


def without_task(arrays: Mapping[str, Array], plan: Plan, slot: int, pooled: bool = False) -> dict[str, Array]:
    """New arrays without a task; if all tasks are `pooled`, their one model stays."""
    found = {name: np.array(array, order="C") for name, array in arrays.items()}
    for name, axes in plan.axes.items():
        for at, axis in enumerate(axes):
            if axis == "task":
                found[name] = np.ascontiguousarray(np.delete(found[name], slot, at))
    if plan.has_pairs and not pooled:
        _cut_pairs(found, plan, slot)
    if plan.forget is not None:
        plan.forget(arrays, found, slot)
    return found


def _cut_pairs(arrays: dict[str, Array], plan: Plan, slot: int) -> None:
    keep = arrays["pairs"][:, 0] != slot
    for name in ("pairs", *plan.pair_arrays):
        arrays[name] = np.ascontiguousarray(arrays[name][keep])
    arrays["pairs"][:, 0] = moved_up(arrays["pairs"][:, 0], slot)


def moved_up(slots: Array, slot: int) -> Array:
    """Slots of tasks when the one at `slot` is gone."""
    return slots - (slots > slot)


def keep_support(arrays: dict[str, Array], plan: Plan, keep: Array) -> None:
    """Only these of the entries that are kept; their features and values are left alone."""
    for name, axes in plan.axes.items():
        for at, axis in enumerate(axes):
            if axis == "support":
                arrays[name] = np.ascontiguousarray(np.compress(keep, arrays[name], at))
    arrays["used"][SUPPORT] = int(keep.sum())


def keep_nonzeros(arrays: dict[str, Array], begin: Array, end: Array) -> tuple[Array, Array]:
    """Only the features and values between these bounds, which may overlap; the bounds of the same rows now."""
    count = len(arrays["values"])
    edges = np.bincount(begin, minlength=count + 1) - np.bincount(end, minlength=count + 1)
    keep = np.cumsum(edges)[:count] > 0
    for name in ("indices", "values"):
        arrays[name] = arrays[name][keep]
    arrays["used"][NONZERO] = int(keep.sum())
    place = np.concatenate([[0], np.cumsum(keep)])
    return place[begin], place[end]
