r"""Support vector machines over all rows seen: one for all tasks, or one for every task.

The single-task and independent baselines of Murugesan, Liu, Carbonell and Yang (2016), Adaptive smoothed online
multi-task learning, Sec. 2.3 and 3.2. With the mean hinge loss L_k of task k they minimise

    itl      L_k(w_k) + reg/2 |w_k|^2                                       for every task k
    stl      (1/n) sum over all n rows of the hinge loss + reg/2 |w|^2      for all tasks together

Interpretation. The paper has no regulariser; reg makes every w unique. A task without rows has w = 0 with `itl`. A task
with rows of one class is fitted like any other: its w puts them on their side.
"""

from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learner import Shares
from weft.learners.parameters import Real, parameter
from weft.learners.refit.kept_rows import Data, Refitted, Refitting, data_of, store
from weft.learners.refit.svm import Fit, svm


@dataclass(frozen=True)
class Machine(Refitting):
    """Support vector machines with a common regulariser."""

    paper: ClassVar[str] = "Murugesan, Liu, Carbonell and Yang 2016"

    reg: float = parameter(1e-2, "regulariser: reg/2 |w|^2 is added to the mean hinge loss", Real(above=0))

    def train(self, data: Data, rows: Ints, c: Floats, ratio: Floats) -> Fit:
        """The machine of some rows with weights c; their dual variables begin at, and are left as, parts of c."""
        all_rows = len(rows) == len(data.y)
        X, y = (data.X, data.y) if all_rows else (data.X[rows], data.y[rows])
        fit = svm(X, y, c, self.reg, ratio[rows] * c)
        ratio[rows] = np.clip(fit.a / c, 0.0, 1.0)
        return fit


@dataclass(frozen=True)
class Stl(Machine):
    """One support vector machine for the rows of all tasks.

    Take it when you want to know what one model for all tasks achieves.

    `argmin mean hinge loss of all rows + reg/2 |w|^2`, for all tasks.
    """

    name: ClassVar[str] = "stl"
    more: ClassVar[tuple[str, ...]] = ("ratio",)

    def refit(self, state: Refitted) -> None:
        data = data_of(state)
        n = len(data.y)
        w = self.train(data, np.arange(n), np.full(n, 1.0 / n), state.ratio).w
        store(state, data, np.tile(w, (data.K, 1)), w)

    def explain(self, state: Refitted, slot: int, tasks: int, indices: Ints) -> Shares:
        """All weights are shared."""
        none = np.zeros(len(indices))
        return Shares(none, state.fresh[indices], np.zeros(0, np.int64), np.zeros((0, len(indices))))

    def relations(self, state: Refitted, tasks: int) -> Array:
        """All tasks are one."""
        return np.ones((tasks, tasks))


@dataclass(frozen=True)
class Itl(Machine):
    """One support vector machine per task.

    Take it when you want to know what separate models achieve.

    `argmin mean hinge loss of the task's rows + reg/2 |w|^2`, for every task.
    """

    name: ClassVar[str] = "itl"
    more: ClassVar[tuple[str, ...]] = ("ratio",)

    def refit(self, state: Refitted) -> None:
        data = data_of(state)
        rows = [data.of(k) for k in range(data.K)]
        W = [self.train(data, at, np.full(len(at), 1.0 / len(at)), state.ratio).w for at in rows]
        store(state, data, np.array(W))

    def relations(self, state: Refitted, tasks: int) -> Array:
        """No task learns from another."""
        return np.eye(tasks)
