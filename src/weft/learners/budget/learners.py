r"""Kernel classifiers on a budget: one active set of bounded size for all tasks.

Cavallanti and Cesa-Bianchi (2012), Memory constraint online multitask classification. The multitask kernel of a graph
between tasks, with interaction matrix A = I + L,

    K([x, i], [z, j]) = (A^-1)_ij K'(x, z)                                                              Sec. 3

lets a row that one task kept count for all tasks that it is tied to. All learners here are Perceptrons on it: they
learn only from mistakes, y f(x) <= 0. They differ in which row leaves the active set when it is full:

    mt-perceptron   none: it grows with every mistake                                          `perceptron`
    mtbprj          the one that the others can best replace; a row nearly in their span       `mtbprj`, Algorithm 1
                    does not even enter
    mtbprj-2        the same with task marks ignored, and weights for every task               `mtbprj2`, Algorithm 2
    mtrbp           a random row, with a bound on the expected mistakes                        `mtrbp`, Algorithm 3
    mtforg          the oldest row, with shrunken weight, and a bound on the mistakes          `mtforg`, Sec. 4.3

>>> import weft
>>> model = weft.Model("mtbprj", B=2, kernel="gaussian", tasks=["ann", "bob"])
>>> model.learn(weft.Stream([[0.0], [1.0], [0.5]], [1, -1, 1], ["ann", "bob", "ann"])).round(4).tolist()
[0.0, 0.1226, 0.2596]
>>> [(row.task, row.coefficient, row.row) for row in model.support()]
[('ann', 1.0, {}), ('bob', -1.0, {0: 1.0})]

Interpretation. Linear and polynomial kernels are cosine-normalised unless the kernel says otherwise, since the theory
takes K'(x, x) = 1; a row with K'(x, x) = 0 never enters. The number of tasks N of the complete graph counts those seen
so far unless they are declared (`tasks=`): (A^-1)_ij = (1 + [i = j]) / (N + 1). In Algorithm 1, line 12, the weight is
meant in absolute value, or negative ones would always leave first. In Algorithm 2 the set is full at |S| = B, not B +
1, and line 14 has a factor A^-1 too many: with it f_l would not be the projection. The Forgetron's Psi has c_G^2 where
Eq. 3 prints c_G, its mu is y_r f'(x_r) with f' after the new row came, and M counts the mistake in progress.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from weft.compiled.arrays import Array
from weft.learner import Hooks, Kernels
from weft.learners.budget import mtbprj, mtbprj2
from weft.learners.budget.active_set import LARGEST, PLACES, ROW, ActiveSet, Budget
from weft.learners.budget.parameters import Budgeted, KernelLearner, Projectron
from weft.learners.budget.perceptron import FORGETRON, RANDOM
from weft.learners.budget.ties import GRAPH, NO_TASKS, NONE, matrix_of
from weft.learners.parameters import Integer, Real, parameter
from weft.maths.generator import LENGTH, seeded
from weft.names import Name
from weft.storage.state import SUPPORT, UPDATED_TASK


@dataclass(frozen=True)
class MtPerceptron(KernelLearner):
    """Multitask kernel Perceptron: every mistake is kept.

    Take it when a linear model is not enough and memory is not limited.

    Classifies, like all of this family. On a mistake, y f(x) <= 0, the row is kept with b = y: `f_i(x) = sum_s b_s
    (A^-1)_{i,i_s} K'(x_s, x)`. Memory grows with every mistake.
    """

    name: ClassVar[str] = "mt-perceptron"


@dataclass(frozen=True)
class Mtbprj(Projectron):
    """Multitask budget Projectron: rows and their task marks are projected on those that are kept.

    Take it when memory is limited and there are many tasks.

    On a mistake a row within `eta` of the span of the support rows is replaced by its projection; else it is kept. If
    there are B rows already, the one is evicted whose removal, projected on the others, changes the function least.
    """

    name: ClassVar[str] = "mtbprj"
    kernels: ClassVar[Kernels] = mtbprj.KERNELS


@dataclass(frozen=True)
class Mtbprj2(Projectron):
    """Multitask budget Projectron that ignores task marks when it projects, and has weights for every task.

    Take it when memory is limited: start here for kernel learners.

    The same with distances between rows regardless of their tasks, and coefficients for every task and row.
    """

    name: ClassVar[str] = "mtbprj-2"
    kernels: ClassVar[Kernels] = mtbprj2.KERNELS

    def compiled_parameters(self) -> Budget:
        return super().compiled_parameters()._replace(column_ties=NO_TASKS)

    def more_axes(self) -> dict[str, tuple[str | int, ...]]:
        axes: dict[str, tuple[str | int, ...]] = dict(super().more_axes())
        if self.ties == GRAPH:
            return axes | {"weights": ("task", "support")}
        axes |= {"used": (3,), "weights": ("updated_task", "support"), "places": ("task", PLACES)}
        return axes if self.ties == NONE else axes | {"sums": ("updated_task", "support")}

    def movers(self, state: ActiveSet) -> int:
        return len(state.relation.component) if self.ties == GRAPH else int(state.used[UPDATED_TASK])

    def coefficients_of(self, state: ActiveSet, tasks: int) -> Array:
        n = int(state.used[SUPPORT])
        if self.ties == GRAPH:
            return state.weights[:tasks, :n].copy()
        dual = np.zeros((tasks, n))
        moved = np.flatnonzero(state.places[:tasks, ROW])
        dual[moved] = state.weights[state.places[moved, ROW] - 1, :n]
        if self.ties == NONE or not tasks:
            return dual
        matrix = matrix_of(self.graph, tasks) if self.matrix is None else self.matrix
        order = np.arange(tasks) if self.matrix is None else state.relation.order
        in_order = np.empty_like(dual)
        in_order[order] = dual
        return matrix.solve(in_order)[order]


@dataclass(frozen=True)
class Mtrbp(Budgeted):
    """Multitask randomised budget Perceptron: a random row makes room.

    Take it when steps must be cheap and you need a bound.

    On a mistake the row is kept with b = y; if there are B rows already it replaces a random one. The expected number
    of mistakes has a bound.
    """

    name: ClassVar[str] = "mtrbp"
    rule: ClassVar[int] = RANDOM

    seed: int = parameter(0, "of the generator that draws the row to leave", Integer(at_least=0))

    def more_axes(self) -> dict[str, tuple[str | int, ...]]:
        return {"generator": (LENGTH,)}

    def init(self, tasks: Sequence[Name] = ()) -> ActiveSet:
        return super().init(tasks)._replace(generator=seeded(self.seed))


@dataclass(frozen=True)
class Mtforg(Budgeted):
    """Multitask self-tuned Forgetron: weights fade, and the oldest row makes room.

    Take it when steps must be cheap and you need a bound, where old rows lose their value.

    On a mistake the row is kept with b = y; if there are B rows already, all coefficients shrink by the largest factor
    that the mistake bound allows, and the oldest row is evicted.
    """

    name: ClassVar[str] = "mtforg"
    rule: ClassVar[int] = FORGETRON

    R: float = parameter(
        1.0, "bound on sqrt(K'(x, x)) of every row, 1 for Gaussian and normalised kernels", Real(above=0)
    )

    def compiled_parameters(self) -> Budget:
        return super().compiled_parameters()._replace(R2=self.R**2)

    @property
    def hooks(self) -> Hooks:
        return super().hooks._replace(warning=self.warning)

    def warning(self, state: ActiveSet) -> str | None:
        """A sentence if a row was longer than R, "" if not yet."""
        largest = math.sqrt(float(state.scalars[LARGEST]))
        if largest <= self.R * (1 + 1e-12):
            return ""
        return (
            f"{self.name}: a row with sqrt(K'(x, x)) = {largest:.6g} exceeds R={self.R:g}, so the mistake bound does "
            f"not hold; give R >= {largest:.6g} or normalise the kernel"
        )
