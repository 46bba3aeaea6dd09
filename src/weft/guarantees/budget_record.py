"""The record of a run of a budget learner, and the functions that its mistakes are compared with.

Cavallanti and Cesa-Bianchi (2012), Memory constraint online multitask classification. The learners `mt-perceptron`,
`mtbprj`, `mtbprj-2`, `mtrbp` and `mtforg` work in the space of the multitask kernel (`task_kernel`) of a
graph with interaction matrix A. There a comparator, functions g_1, ..., g_N, one per task, has the radius
sqrt(trace(K_gg A)) = sqrt(sum_ij A_ij <g_i, g_j>), and the hinge loss L(g) = sum_t [1 - y_t g_i(x_t)]_+ where i is the
task of x_t.

A mistake is y f(x) <= 0 for the f that is then updated. A score of 0 is a mistake. In a round of several rows,
earlier rows may have changed f since all were scored: the bounds count `erred`, not `mistake`.

>>> import weft
>>> rng = np.random.default_rng(0)
>>> W = np.array([1.0, 1.0, 0.0]) + 0.3 * rng.normal(size=(4, 3))
>>> X, task = rng.normal(size=(600, 3)), rng.integers(0, 4, 600)
>>> y = np.sign(np.sum(W[task] * X, axis=1) + 0.5 * rng.normal(size=600))
>>> run = record_budget(weft.Model("mtbprj", kernel="gaussian", B=20, tasks=4), weft.Stream(X, y, task))
>>> int(run.erred.sum()), int(run.kept.max()), budget_cost(run).damage[-1].round(1).item()
(128, 20, 41.0)
>>> g = KernelComparator(W, rows=np.eye(3))
>>> round(g.radius(run), 2), g.losses(run).mean().round(2).item()
(3.43, 0.87)
"""

import math
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from weft.graphs.interaction import Interaction, interaction
from weft.guarantees.measures import Floats, Integers, csr, loss_and_slope, products, row_norms, rows_of
from weft.guarantees.task_kernel import c_G, gram, self_products
from weft.learner import trace_columns
from weft.maths.kernels import Kernel
from weft.model import Model
from weft.stream import Stream

BUDGETED = ("mt-perceptron", "mtbprj", "mtbprj-2", "mtrbp", "mtforg")
CHUNK = 1 << 22


class BudgetRun(NamedTuple):
    """The record of a run, row by row; `y` is NaN where a task is dormant, and `task` counts from 0.

    `erred` is the mistake at the time of the update, `kept` the number of support rows afterwards, `evicted` the
    number of evicted rows, and `damage` the length of the resulting change of the function.
    """

    learner: Any
    kernel: Kernel
    A: Interaction
    X: Any
    y: Floats
    task: Integers
    scores: Floats
    erred: NDArray[np.bool_]
    kept: Floats
    evicted: Floats
    damage: Floats

    @property
    def mistake(self) -> NDArray[np.bool_]:
        """y s <= 0 for the issued score s of a row with a label."""
        return np.asarray(~np.isnan(self.y) & ~(self.y * self.scores > 0))

    @property
    def R(self) -> float:
        """The largest sqrt(K'(x, x)) of a row with a label."""
        return math.sqrt(self_products(self.kernel, csr(self.X)[~np.isnan(self.y)]).max(initial=0.0))

    @property
    def c(self) -> float:
        """c_G R: the largest length of a row in the space of the multitask kernel."""
        return c_G(self.A) * self.R


def record_budget(model: Model, stream: Stream) -> BudgetRun:
    """Learn the stream with a new model, and record what the bounds need of every row.

    The tasks must be declared up front (`tasks=`, or a graph that names them): the guarantees are about a fixed graph.
    """
    learner: Any = model.learner
    if learner.name not in BUDGETED:
        raise ValueError(f"This record is for {', '.join(BUDGETED)}; {learner.name} has other guarantees or none.")
    if model.tally.total["events"] > 0:
        raise ValueError("The bounds are about a run from its start: record it with a new model.")
    known = set(model.tasks)
    if unknown := [name for name in stream.task_names if name not in known]:
        raise ValueError(f"The stream contains task {unknown[0]!r}, which was not declared; give all names in tasks=.")
    trace = np.zeros((len(stream), len(trace_columns(learner))))
    scores = model.learn(stream, trace=trace)
    columns = dict(zip(trace_columns(learner), trace.T.copy(), strict=True))
    batch = model.vocabulary.read(stream)
    complete = learner.graph.kind == "complete"
    return BudgetRun(
        learner=learner,
        kernel=learner.kernel,
        A=interaction(learner.graph, model.tasks, b=float(len(model.tasks)) if complete else None),
        X=rows_of(batch, len(model.features)),
        y=stream.labels(learner.target),
        task=batch.task,
        scores=scores,
        erred=columns["mistake"] > 0,
        kept=columns["kept"],
        evicted=columns["evicted"],
        damage=columns["damage"],
    )


class BudgetCost(NamedTuple):
    """The cost of the budget up to and including every row: rows evicted, and the sum of their damages."""

    kept: Floats
    evictions: Floats
    damage: Floats


def budget_cost(run: BudgetRun) -> BudgetCost:
    """Rows kept, and running sums of evictions and their damage, for a plot over the stream."""
    return BudgetCost(run.kept, np.cumsum(run.evicted), np.cumsum(run.damage))


@dataclass(frozen=True, eq=False)
class KernelComparator:
    """g_i = sum_m coefficients[i, m] K'(z_m, .), with z_m the rows (m, features) and a row of coefficients per task.

    Without rows, the z_m are the unit vectors: the coefficients are weights of a linear kernel, on rows of length 1 if
    it is normalised.
    """

    coefficients: Floats
    rows: Any = None

    def radius(self, run: BudgetRun) -> float:
        """sqrt(sum_ij A_ij <g_i, g_j>)."""
        C, rows = self._checked(run)
        if rows is None:
            return math.sqrt(run.A.quadratic(C))
        K = gram(run.kernel, rows)
        if len(C) <= len(K):
            return math.sqrt(max(0.0, float(np.sum(run.A.dense(1.0) * (C @ K @ C.T)))))
        # With more tasks than rows: C V D^{1/2} has the inner products of the g_i, and no N x N matrix is needed.
        values, vectors = np.linalg.eigh(K)
        return math.sqrt(run.A.quadratic((C @ vectors) * np.sqrt(np.maximum(values, 0.0))))

    def scores(self, run: BudgetRun) -> Floats:
        """g_i(x) for every row x and its task i."""
        C, rows = self._checked(run)
        X = csr(run.X)
        if rows is None:
            found = products(X, C, run.task)
            if not run.kernel.normalize:
                return found
            length = row_norms(X, 2.0)
            return np.divide(found, length, out=np.zeros_like(found), where=length > 0)
        step = max(1, CHUNK // max(1, rows.shape[0]))
        chunks = [
            np.sum(gram(run.kernel, X[at : at + step], rows) * C[run.task[at : at + step]], axis=1)
            for at in range(0, X.shape[0], step)
        ]
        return np.concatenate([np.zeros(0), *chunks])

    def losses(self, run: BudgetRun) -> Floats:
        """[1 - y g_i(x)]_+ for every row, 0 where dormant."""
        return loss_and_slope("hinge", self.scores(run), run.y)[0]

    def scaled_to(self, run: BudgetRun, radius: float) -> "KernelComparator":
        """The multiple that has this radius."""
        now = self.radius(run)
        if now == 0 and radius != 0:
            raise ValueError(f"The comparator is 0, and no multiple of it has radius {radius:g}.")
        return replace(self, coefficients=self.coefficients * (radius / now if now else 1.0))

    def minus(self, other: "KernelComparator") -> "KernelComparator":
        """g - h for every task."""
        from scipy import sparse

        if self.rows is None and other.rows is None:
            return KernelComparator(self.coefficients - other.coefficients)
        if self.rows is None or other.rows is None:
            raise ValueError(
                "A comparator with rows and one with weights cannot be subtracted: give both in the same form."
            )
        rows = sparse.vstack([csr(self.rows), csr(other.rows)], format="csr")
        return KernelComparator(np.hstack([self.coefficients, -other.coefficients]), rows)

    def _checked(self, run: BudgetRun) -> tuple[Floats, Any]:
        C = np.asarray(self.coefficients, dtype=np.float64)
        features = run.X.shape[1]
        rows = None if self.rows is None else csr(self.rows)
        if rows is None and run.kernel.name != "linear":
            raise ValueError(
                f"Weights are a comparator for the linear kernel; the {run.kernel.name} kernel needs rows."
            )
        if rows is not None and rows.shape[1] != features:
            raise ValueError(f"The comparator's rows have {rows.shape[1]} features, those of the run have {features}.")
        shape = (run.A.N, features if rows is None else rows.shape[0])
        if C.shape != shape or not np.all(np.isfinite(C)):
            raise ValueError(
                f"The comparator has shape {C.shape}; it needs {shape}, one row of finite numbers per task."
            )
        return C, rows
