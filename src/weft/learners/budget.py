r"""Kernel classifiers on a budget: one active set of bounded size for all tasks.

Cavallanti and Cesa-Bianchi (2012), Memory constraint online multitask classification. The multitask kernel of a graph
between tasks, with interaction matrix A = I + L,

    K([x, i], [z, j]) = (A^-1)_ij K'(x, z)                                                              Sec. 3

lets a row that one task kept speak for all that it is tied to. All learners here are Perceptrons on it: they learn from
mistakes, y f(x) <= 0, alone. They differ in what leaves the active set when it is full:

    mt-perceptron   nothing: it grows with every mistake
    mtbprj          the row that the others can best stand in for; a row nearly in their span does not even enter
    mtbprj-2        the same with task marks ignored, and weights for every task
    mtrbp           a random row, with a bound on the expected mistakes
    mtforg          the oldest row, faded by then, with a bound on the mistakes

>>> import weft
>>> model = weft.Model("mtbprj", B=2, kernel="gaussian", tasks=["ann", "bob"])
>>> model.learn(weft.Stream([[0.0], [1.0], [0.5]], [1, -1, 1], ["ann", "bob", "ann"])).round(4).tolist()
[0.0, 0.1226, 0.2596]
>>> [(row.task, row.coefficient, row.row) for row in model.support()]
[('ann', 1.0, {}), ('bob', -1.0, {0: 1.0})]

Reading. Linear and polynomial kernels are cosine-normalised unless the kernel says otherwise, since the theory takes
K'(x, x) = 1; a row with K'(x, x) = 0 never enters. The number of tasks N of the complete graph counts those seen so far
unless they are declared (`tasks=`): (A^-1)_ij = (1 + [i = j]) / (N + 1). In Algorithm 1, line 12, the weight is meant
in absolute value, or negative ones would always leave first. In Algorithm 2 the set is full at |S| = B, not B + 1, and
line 14 has a factor A^-1 too many: with it f_l would not be the projection. The Forgetron's Psi has c_G^2 where Eq. 3
prints c_G, its mu is y_r f'(x_r) with f' after the new row came, and M counts the mistake in progress.
"""

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from types import ModuleType
from typing import Any, ClassVar

import numpy as np

from weft.batch import Ints
from weft.geometry import graphs, kernels
from weft.geometry.active_set import (
    BEGIN,
    COEFFICIENT,
    END,
    ENTERED,
    EVENTS,
    FACTOR,
    LARGEST,
    NONZEROS,
    OWNER,
    TRACE,
    ActiveSet,
    Budget,
)
from weft.geometry.generator import seeded, valid
from weft.geometry.graphs import Graph
from weft.geometry.interaction import CliqueBlocks, General
from weft.geometry.kernels import Kernel
from weft.geometry.losses import CODES
from weft.geometry.relation import no_relation, relation_of, solve_rows
from weft.geometry.ties import GRAPH, KINDS, NONE, matrix_of
from weft.learner import Kept, Kernels, Target, Usage
from weft.learners import budget_perceptron, budget_projectron, budget_projectron2
from weft.learners.budget_perceptron import FORGETRON, PERCEPTRON, RANDOM
from weft.learners.budget_projectron2 import ROW
from weft.learners.budget_usage import usage_of
from weft.learners.parameters import Bytes, Flag, Parsed, Real, Whole, check, parameter
from weft.names import Name
from weft.state import MOVER, NO_LIMIT, SUPPORT, Array, Plan

_DEFAULT_B = 200


def _parse_kernel(value: Any) -> Kernel:
    found = kernels.parse(value, normalize=True)
    if found is None:
        raise ValueError("these learners keep rows, not weights")
    return found


@dataclass(frozen=True)
class _KernelLearner:
    """What all learners on the multitask kernel share."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Cavallanti and Cesa-Bianchi 2012"
    trace: ClassVar[tuple[str, ...]] = TRACE
    rule: ClassVar[int] = PERCEPTRON
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (CODES["hinge"], 0.0)

    kernel: Kernel = parameter(
        "linear",
        "how alike rows are; linear and poly are cosine-normalised unless the dict says normalize=False",
        Parsed(
            '"linear", "poly", "gaussian", or a dict such as {"name": "poly", "degree": 2, "gamma": 1.0, "coef0": 1.0}',
            _parse_kernel,
        ),
    )
    graph: Graph = parameter(
        "complete",
        "which tasks teach each other",
        Parsed(
            '"complete", "none", a list of edges (tuples of names), a list of cliques (lists of names), '
            "a pair (weight matrix, names), or a dict of one of these",
            graphs.parse,
        ),
    )

    def __post_init__(self) -> None:
        check(self)

    # --- the graph ---

    @property
    def task_names(self) -> tuple[Name, ...]:
        """The tasks of a graph that names them; no others can come."""
        return self.graph.names

    @property
    def counts_tasks(self) -> bool:
        """A^-1 contains their number, unless nobody is tied to anybody."""
        return self.graph.kind != "none"

    @cached_property
    def matrix(self) -> CliqueBlocks | General | None:
        """A on a graph that names its tasks."""
        return None if self.graph.grows else matrix_of(self.graph, 0)

    @property
    def ties(self) -> int:
        return KINDS[self.graph.kind]

    @property
    def prepares(self) -> bool:
        """Are rows of A^-1 solved for when their task turns up?"""
        return isinstance(self.matrix, General)

    def prepare(self, state: ActiveSet, needed: Ints) -> ActiveSet:
        """The state with the rows of A^-1 that these tasks, and those of the rows kept, read."""
        if self.matrix is None:
            return state
        owners = state.marks[: state.used[SUPPORT], OWNER]
        relation = solve_rows(state.relation, self.matrix, np.concatenate([needed, owners]))
        return state if relation is state.relation else state._replace(relation=relation)

    # --- what compiled code takes ---

    @property
    def module(self) -> ModuleType:
        return budget_perceptron

    @property
    def kernels(self) -> Kernels:
        module = self.module
        return Kernels(module.predict, module.learn, module.predict_one, module.learn_one)

    @cached_property
    def hyper(self) -> Budget:
        B, size = self.limits
        return Budget(
            rule=self.rule,
            ties=self.ties,
            kernel=self.kernel.code,
            B=NO_LIMIT if math.isinf(B) else int(B),
            bytes=size,
            square=0.0 if self.module is budget_perceptron else 16.0,
            eta=getattr(self, "eta", 0.0),
            relative=getattr(self, "relative", False),
            R2=getattr(self, "R", 1.0) ** 2,
            c2=1.0 if self.matrix is None else self.matrix.largest_diagonal,
        )

    @property
    def limits(self) -> tuple[float, float]:
        """The most rows, and the most bytes."""
        return math.inf, math.inf

    @cached_property
    def plan(self) -> Plan:
        axes: dict[str, tuple[str | int, ...]] = {"marks": ("support", 3), "numbers": ("support", 4)}
        axes |= {"indices": ("nonzero",), "values": ("nonzero",), "used": (2,), "counts": (3,), "scalars": (11,)}
        axes |= self._more_axes()
        most = {} if math.isinf(self.limits[0]) else {"support": int(self.limits[0])}
        counts: dict[str, tuple[str | int, ...]] = {"marks": ("task", "nonzero", "nonzero")}
        counts |= {"counts": ("task", "nonzero", 0)}
        if "places" in axes:
            counts |= {"counts": ("task", "nonzero", "mover"), "places": ("mover", "mover")}
        return Plan(
            axes,
            names={"indices": "feature"},
            counts=counts,
            scratch={"wide": ("feature",)},
            most=most,
            check=_check,
        )

    def _more_axes(self) -> dict[str, tuple[str | int, ...]]:
        return {}

    def init(self, tasks: Sequence[Name] = ()) -> ActiveSet:
        ints, floats = np.zeros(0, np.int64), np.zeros(0)
        scalars = np.zeros(11)
        scalars[FACTOR] = 1.0
        axes = self.plan.axes
        return ActiveSet(
            marks=np.zeros((0, 3), np.int64),
            numbers=np.zeros((0, 4)),
            indices=ints.copy(),
            values=floats.copy(),
            used=np.zeros(int(axes["used"][0]), np.int64),
            counts=np.array([len(tasks), 0, 0]),
            scalars=scalars,
            generator=seeded(getattr(self, "seed", 0)),
            gram=np.zeros((0, 0)),
            inverse=np.zeros((0, 0)),
            weights=np.zeros((0, 0)),
            sums=np.zeros((0, 0)),
            places=np.zeros((0, 2), np.int64),
            wide=floats.copy(),
            relation=no_relation() if self.matrix is None else relation_of(self.matrix, self.graph.order(tasks)),
        )

    # --- what the model asks ---

    def weights(self, state: ActiveSet, tasks: int, features: int) -> Array:
        raise ValueError(f"{self.name} keeps rows, and has no weight matrix; see model.support()")

    def explain(self, state: ActiveSet, slot: int, tasks: int, indices: Ints) -> Any:
        raise ValueError(f"{self.name} keeps rows, and has no weights to explain a score by; see model.support()")

    def relations(self, state: ActiveSet, tasks: int) -> Array:
        """A^-1: how much a row of one task says about another."""
        if not tasks:
            return np.zeros((0, 0))
        if self.matrix is None:
            return matrix_of(self.graph, tasks).dense(-1.0)
        order = state.relation.order
        return self.matrix.dense(-1.0)[np.ix_(order, order)]

    def support(self, state: ActiveSet, tasks: int) -> list[Kept]:
        """The rows of the active set, oldest first."""
        numbers = state.numbers[: state.used[SUPPORT]]
        factor, now = float(state.scalars[FACTOR]), float(state.scalars[EVENTS])
        per_task = self._coefficients(state, tasks)
        found = []
        for s in np.argsort(numbers[:, ENTERED], kind="stable").tolist():
            owner, begin, end = state.marks[s].tolist()
            each = None if per_task is None else per_task[:, s]
            weight = factor * float(numbers[s, COEFFICIENT]) if each is None else float(each[owner])
            row, age = slice(begin, end), int(now - numbers[s, ENTERED])
            found.append(Kept(owner, weight, state.indices[row].copy(), state.values[row].copy(), age, each))
        return found

    def _coefficients(self, state: ActiveSet, tasks: int) -> Array | None:
        """(tasks, rows) where every task has weights of its own."""
        return None

    def usage(self, state: ActiveSet, tasks: int) -> Usage:
        """Rows and bytes that are kept, and what evictions cost so far."""
        return usage_of(self.hyper, self.limits, state, tasks, self._movers(state))

    def _movers(self, state: ActiveSet) -> int:
        """How many tasks have weights of their own."""
        return 0


def _check(arrays: Mapping[str, Array]) -> None:
    """A file may claim anything: every row must lie within the values, and the generator must be one."""
    begin, end = arrays["marks"][:, BEGIN], arrays["marks"][:, END]
    if np.any(begin > end):
        raise ValueError("the state's kept rows end before they begin")
    if int((end - begin).sum()) != int(arrays["counts"][NONZEROS]):
        raise ValueError("the state's count of non-zeros is not that of its rows")
    if "generator" in arrays and not valid(arrays["generator"]):
        raise ValueError("the state's generator is none")


@dataclass(frozen=True)
class MtPerceptron(_KernelLearner):
    """Multitask kernel Perceptron: every mistake is kept."""

    name: ClassVar[str] = "mt-perceptron"


@dataclass(frozen=True)
class _Budgeted(_KernelLearner):
    B: float = parameter(
        None,
        f"how many rows are kept at most; None: {_DEFAULT_B}, or any number of them within the bytes of budget",
        Whole(at_least=1, infinite=True, optional=True),
    )
    budget: int | None = parameter(
        None,
        "how many bytes the rows, their coefficients and matrices take at most, in the place of B",
        Bytes(optional=True),
    )

    def __post_init__(self) -> None:
        super().__post_init__()
        if self.B is None:
            object.__setattr__(self, "B", _DEFAULT_B if self.budget is None else math.inf)
        elif self.budget is not None and not math.isinf(self.B):
            raise ValueError(f"{self.name}: B={self.B:g} and budget={self.budget} are both given; give one of them")

    @property
    def limits(self) -> tuple[float, float]:
        return self.B, math.inf if self.budget is None else float(self.budget)


@dataclass(frozen=True)
class _Projectron(_Budgeted):
    eta: float = parameter(
        0.01, "a row whose distance to the span of the others is at most this is projected", Real(at_least=0)
    )
    relative: bool = parameter(False, "whether eta is relative to the length of the row, sqrt(K(x, x))", Flag())

    def _more_axes(self) -> dict[str, tuple[str | int, ...]]:
        return {"gram": ("support", "support"), "inverse": ("support", "support")}


@dataclass(frozen=True)
class Mtbprj(_Projectron):
    """Multitask budget Projectron: rows and their task marks are projected on those that are kept."""

    name: ClassVar[str] = "mtbprj"

    @property
    def module(self) -> ModuleType:
        return budget_projectron


@dataclass(frozen=True)
class Mtbprj2(_Projectron):
    """Multitask budget Projectron that ignores task marks when it projects, and has weights for every task."""

    name: ClassVar[str] = "mtbprj-2"

    @property
    def module(self) -> ModuleType:
        return budget_projectron2

    def _more_axes(self) -> dict[str, tuple[str | int, ...]]:
        axes: dict[str, tuple[str | int, ...]] = dict(super()._more_axes())
        if self.ties == GRAPH:
            return axes | {"weights": ("task", "support")}
        axes |= {"used": (3,), "weights": ("mover", "support"), "places": ("task", 2)}
        return axes if self.ties == NONE else axes | {"sums": ("mover", "support")}

    def _movers(self, state: ActiveSet) -> int:
        return len(state.relation.component) if self.ties == GRAPH else int(state.used[MOVER])

    def _coefficients(self, state: ActiveSet, tasks: int) -> Array:
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
class Mtrbp(_Budgeted):
    """Multitask randomised budget Perceptron: a random row makes room."""

    name: ClassVar[str] = "mtrbp"
    rule: ClassVar[int] = RANDOM

    seed: int = parameter(0, "of the generator that draws the row to leave", Whole(at_least=0))

    def _more_axes(self) -> dict[str, tuple[str | int, ...]]:
        return {"generator": (len(seeded(0)),)}


@dataclass(frozen=True)
class Mtforg(_Budgeted):
    """Multitask self-tuned Forgetron: weights fade, and the oldest row makes room."""

    name: ClassVar[str] = "mtforg"
    rule: ClassVar[int] = FORGETRON

    R: float = parameter(
        1.0, "bound on sqrt(K'(x, x)) of every row, 1 for Gaussian and normalised kernels", Real(above=0)
    )

    def remark(self, state: ActiveSet) -> str | None:
        """A sentence if a row was longer than R, "" if not yet."""
        largest = math.sqrt(float(state.scalars[LARGEST]))
        if largest <= self.R * (1 + 1e-12):
            return ""
        return (
            f"{self.name}: a row with sqrt(K'(x, x)) = {largest:.6g} exceeds R={self.R:g}, so the mistake bound does "
            f"not hold; give R >= {largest:.6g} or normalise the kernel"
        )
