r"""Shared hypotheses: m support vector machines over all rows seen, and every task's choice of one.

After Crammer and Mansour (2012), a baseline of Murugesan, Liu, Carbonell and Yang (2016), Sec. 3.2: over the models h_c
and the choices a(i) it minimises

    (1/n) sum_i (1 - y_i <x_i, h_a(i)>)_+ + reg/2 sum_c |h_c|^2

Interpretation. It is K-means of tasks: all rows weigh 1/n, because with a mean per cluster neither a refit nor a
reassignment would be sure to lower the total. A task that has not chosen yet has the hypothesis of most tasks.
"""

from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learners.parameters import Integer, parameter
from weft.learners.refit.kept_rows import Data, Refitted, data_of, store
from weft.learners.refit.machines import Machine
from weft.learners.refit.svm import hinge
from weft.maths.generator import integer_below, seeded
from weft.storage.batch import Batch
from weft.storage.state import SUPPORT

STARTS, TIED = 5, 1e-9
"""Random assignments that it begins with, and the difference of losses that does not count."""
MOST_TURNS = 200
"""Totals after which a run ends, should it not settle."""


class Shared(NamedTuple):
    """Hypotheses, the one of every task, and the total after every refit and every reassignment."""

    H: Floats
    choice: Ints
    totals: list[float]
    ratio: Floats


@dataclass(frozen=True)
class Shamo(Machine):
    """Shared hypotheses: m models, and every task takes the one that fits its rows best.

    Take it when tasks form a few groups.

    Alternates: every hypothesis is fitted to the rows of the tasks that chose it, and every task chooses the one with
    the least mean hinge loss; the best of five random starts. `fit` refuses more hypotheses than tasks.
    """

    name: ClassVar[str] = "shamo"
    paper: ClassVar[str] = "Crammer and Mansour 2012; Murugesan, Liu, Carbonell and Yang 2016"
    more: ClassVar[tuple[str, ...]] = ("ratio", "cluster")

    m: int = parameter(
        2, "the number of hypotheses; as long as fewer tasks have rows, there is one for each of them", Integer(1)
    )
    seed: int = parameter(0, "of the generator that draws the first assignments, the same at every fit", Integer(0))

    def refuse_fit(self, state: Refitted, batch: Batch) -> None:
        super().refuse_fit(state, batch)
        owners = np.concatenate([state.owner[: state.used[SUPPORT]], batch.task[~np.isnan(batch.label)]])
        tasks = len(np.unique(owners))
        if self.m > tasks:
            raise ValueError(f"shamo: m={self.m} hypotheses, but {tasks} tasks have rows; choose m <= {tasks}")

    def refit(self, state: Refitted) -> None:
        data, generator = data_of(state), seeded(self.seed)
        m = min(self.m, data.K)
        runs = []
        for _ in range(STARTS):
            start = np.array([integer_below(generator, m) for _ in range(data.K)], np.int64)
            runs.append(self.run(data, start, m, state.ratio[: len(data.y)].copy()))
        best = min(runs, key=lambda run: run.totals[-1])  # the first of equals
        state.ratio[: len(data.y)] = best.ratio
        state.cluster[data.slots] = best.choice + 1
        store(state, data, best.H[best.choice], best.H[np.argmax(np.bincount(best.choice, minlength=m))])

    def run(self, data: Data, choice: Ints, m: int, ratio: Floats) -> Shared:
        """From an assignment to one that stays; a hypothesis that no task has chosen stays too, at first at 0."""
        n, H = len(data.y), np.zeros((m, data.X.shape[1]))
        L, totals = np.ones((m, data.K)), []
        while True:
            for c in range(m):
                rows = np.flatnonzero(choice[data.task] == c)
                if len(rows):
                    H[c] = self.train(data, rows, np.full(len(rows), 1.0 / n), ratio).w
                    L[c] = np.bincount(data.task, hinge(data.y * (data.X @ H[c])), data.K) / data.N
            totals.append(self.total(data, H, L, choice))
            nearest = np.argmax(L.min(axis=0) + TIED >= L, axis=0)
            if np.array_equal(nearest, choice) or len(totals) >= MOST_TURNS:
                return Shared(H, choice, totals, ratio)
            choice = nearest
            totals.append(self.total(data, H, L, choice))

    def total(self, data: Data, H: Floats, L: Floats, choice: Ints) -> float:
        losses = float(data.N @ L[choice, np.arange(data.K)]) / len(data.y)
        return losses + self.reg / 2.0 * float(np.sum(H * H))

    def relations(self, state: Refitted, tasks: int) -> Array:
        """1 where two tasks have the same hypothesis."""
        cluster = state.cluster[:tasks]
        counts = np.bincount(cluster[cluster > 0])
        common = np.argmax(counts) if len(counts) else 0
        cluster = np.where(cluster > 0, cluster, common)
        return np.equal.outer(cluster, cluster).astype(np.float64)
