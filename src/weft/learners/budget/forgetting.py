"""What else has to go when a task is forgotten: its rows, and its part of the matrices that are made of rows."""

from collections.abc import Mapping

import numpy as np

from weft.compiled.arrays import Array
from weft.learners.budget.active_set import BEGIN, END, NONZEROS, OWNER, ROW, SUM, SUMS, TASKS
from weft.learners.budget.inverse import Gram, rebuild
from weft.storage.forgetting import keep_nonzeros, keep_support, moved_up
from weft.storage.state import UPDATED_TASK, Axes, Plan


def forget_task(complete: bool, axes: Axes, before: Mapping[str, Array], after: dict[str, Array], slot: int) -> None:
    """The rows of the task go, on the complete graph also what it put into the sums of all."""
    keep = before["marks"][:, OWNER] != slot
    keep_support(after, Plan(axes), keep)
    marks, counts = after["marks"], after["counts"]
    marks[:, OWNER] = moved_up(marks[:, OWNER], slot)
    marks[:, BEGIN], marks[:, END] = keep_nonzeros(after, marks[:, BEGIN], marks[:, END])
    counts[TASKS] -= slot < counts[TASKS]
    counts[NONZEROS] = int((marks[:, END] - marks[:, BEGIN]).sum())
    if "places" in after:
        _forget_weights(complete, before, after, slot)
    n = int(keep.sum())
    if "inverse" in after and n and n < len(keep):
        rebuild(Gram(after["gram"], after["inverse"]), n, np.empty((n, n)))


def _forget_weights(complete: bool, before: Mapping[str, Array], after: dict[str, Array], slot: int) -> None:
    """The row of the task in the weights of all tasks, which is part of the sum of all."""
    places, used, row = after["places"], after["used"], int(before["places"][slot, ROW])
    if complete and len(places):
        places[0, SUM] = before["places"][0, SUM]
    if not row:
        return
    if complete:
        after["sums"][places[0, SUM] - 1] -= after["weights"][row - 1]
    after["weights"] = np.delete(after["weights"], row - 1, 0)
    if "sums" in after:
        after["sums"] = after["sums"][:-1]  # as many rows as tasks with weights, of which the first is in use
    places[:, ROW] -= places[:, ROW] > row
    used[UPDATED_TASK] -= 1
    if not used[UPDATED_TASK]:
        places[:, SUM], after["counts"][SUMS] = 0, 0
