r"""Batch learners over all rows seen whose models share few directions: feature learning and the trace norm.

The two batch baselines of Yang, Zhao and Gao (2017), Robust online multi-task learning with correlative and
personalized structures, Sec. 6.1.1. With W of a column per task and |.|_* the sum of the singular values they minimise

    mtfl   sum_i |X_i w_i - y_i|^2 + gamma |[W, sqrt(eps) I]|_*^2     Argyriou, Evgeniou and Pontil (2008), Alg. 1
    trml   sum_i (mean loss of task i) + lam |W|_*                    Ji and Ye (2009)

over labels -1 and +1; eps > 0 makes the first unique.

>>> import weft
>>> stream = weft.Stream([[1.0, 0.5], [0.5, 1.0], [1.0, 1.0]], [1, -1, 1], ["ann", "ann", "bob"])
>>> weft.Model("trml", lam=0.1, loss="square").fit(stream).weights().round(3).tolist()
[[1.717, -1.717], [0.482, 0.482]]
>>> weft.Model("mtfl", gamma=0.1).fit(stream).weights().round(3).tolist()
[[1.31, -1.31], [0.414, 0.414]]

Interpretation. Both classify: `mtfl` and `trml` with the squared loss fit -1 and +1 as numbers. The step of `trml`, one
over max |X_i|^2/(4 n_i), is that of the logistic loss; the squared loss has the curvature 2 |X_i|^2/n_i. The number of
features d, which counts in |[W, sqrt(eps) I]|_*, is that of the features that have occurred. A task without rows has w
= 0. How tasks are related is told by the cosines between their models, since the papers have no matrix of that kind.
"""

from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.learners.parameters import Choice, Real, parameter
from weft.learners.refit.kept_rows import Data, Refitted, Refitting, data_of, store
from weft.learners.refit.low_rank_fits import feature_learning, trace_norm
from weft.maths.losses import CODES


@dataclass(frozen=True)
class _LowRank(Refitting):
    def refit(self, state: Refitted) -> None:
        data = data_of(state)
        occurred = np.unique(data.X.indices)
        W = np.zeros((data.K, data.X.shape[1]))
        if len(occurred):
            start = state.weights[np.ix_(data.slots, occurred)].T
            try:
                W[:, occurred] = self.solve(data, data.X[:, occurred], np.ascontiguousarray(start)).T
            except np.linalg.LinAlgError:  # rows of sizes for which numbers have no digits: the models stay
                return
        store(state, data, W)

    def solve(self, data: Data, X: Any, W: Floats) -> Floats:
        """W, features x tasks, from a start."""
        raise NotImplementedError

    def relations(self, state: Refitted, tasks: int) -> Array:
        """Cosines between the models; 0 where one of them is zero, and 1 of a task with itself."""
        W = state.weights[:tasks]
        lengths = np.sqrt(np.sum(W * W, axis=1))
        unit = W / np.where(lengths > 0.0, lengths, 1.0)[:, None]
        found = np.array([np.sum(unit * one, axis=1) for one in unit]).reshape(tasks, tasks)
        np.fill_diagonal(found, 1.0)
        return np.asarray(np.clip(found, -1.0, 1.0))


@dataclass(frozen=True)
class Mtfl(_LowRank):
    """Multitask feature learning: squared loss, and a common space of features that is small for all tasks.

    Take it when many tasks depend on few combinations of features.

    `argmin sum over all rows of (w_i x - y)^2 + gamma |[W, sqrt(eps) I]|_*^2`, with |.|_* the sum of the singular
    values and labels -1 and +1 as numbers.
    """

    name: ClassVar[str] = "mtfl"
    paper: ClassVar[str] = "Argyriou, Evgeniou and Pontil 2008"

    gamma: float = parameter(
        1.0, "regulariser, beside the sum of squares over all rows: the larger, the fewer directions", Real(above=0)
    )
    eps: float = parameter(1e-4, "smoothing: the smaller, the fewer directions, and the more steps", Real(above=0))

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES["square"], 0.0

    def solve(self, data: Data, X: Any, W: Floats) -> Floats:
        return feature_learning(X, data.y, data.task, self.gamma, self.eps, W).W


@dataclass(frozen=True)
class Trml(_LowRank):
    """Trace-norm regularised learning: models of all tasks as a matrix of low rank.

    Take it when many tasks depend on few combinations of features: start here for low rank with refits.

    `argmin sum over tasks of the mean loss + lam |W|_*`.
    """

    name: ClassVar[str] = "trml"
    paper: ClassVar[str] = "Ji and Ye 2009"

    lam: float = parameter(0.01, "regulariser, beside the mean losses: the larger, the lower the rank", Real(above=0))
    loss: str = parameter("logistic", "of labels -1 and +1, both of them", Choice(("logistic", "square")))

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], 0.0

    def solve(self, data: Data, X: Any, W: Floats) -> Floats:
        return trace_norm(X, data.y, data.task, data.N, self.lam, CODES[self.loss], W).W
