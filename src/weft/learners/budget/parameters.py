"""What the kernel learners on a budget share: the kernel, the graph, the budget, and the methods that a model calls."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property, partial
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.graphs import reading as graphs
from weft.graphs.interaction import CliqueBlocks, General
from weft.graphs.reading import Graph
from weft.graphs.relation import no_relation, relation_of, solve_rows
from weft.learner import Hooks, Kept, Kernels, Target, Traits, Usage
from weft.learners.budget.active_set import (
    COEFFICIENT,
    COUNTS,
    ENTERED,
    EVENTS,
    FACTOR,
    MARKS,
    NUMBERS,
    OWNER,
    PLACES,
    SCALARS,
    TRACE,
    ActiveSet,
    Budget,
)
from weft.learners.budget.file_checks import COUNTERS, check_active_set
from weft.learners.budget.forgetting import forget_task
from weft.learners.budget.perceptron import KERNELS, PERCEPTRON
from weft.learners.budget.ties import COMPLETE, KINDS, matrix_of
from weft.learners.budget.usage import usage_of
from weft.learners.parameters import Bytes, Flag, Integer, Parsed, Real, check, parameter
from weft.maths import kernels
from weft.maths.generator import seeded
from weft.maths.kernels import Kernel
from weft.maths.losses import CODES
from weft.names import Name
from weft.storage.state import NO_LIMIT, SUPPORT, Plan

_DEFAULT_B = 200


def _parse_kernel(value: Any) -> Kernel:
    found = kernels.parse(value, normalize=True)
    if found is None:
        raise ValueError("these learners keep rows, not weights")
    return found


@dataclass(frozen=True)
class KernelLearner:
    """What all learners on the multitask kernel share."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Cavallanti and Cesa-Bianchi 2012"
    kernels: ClassVar[Kernels] = KERNELS
    rule: ClassVar[int] = PERCEPTRON
    pair_bytes: ClassVar[float] = 0.0
    """What a byte budget counts for every pair of rows."""
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
    def traits(self) -> Traits:
        """A^-1 contains the number of tasks, unless no task is tied to another."""
        return Traits(
            task_names=self.graph.names,
            counts_tasks=self.graph.kind != "none",
            mistake_driven=True,
            keeps_rows=True,
            blas=isinstance(self.matrix, General),
            trace=TRACE,
        )

    @property
    def hooks(self) -> Hooks:
        """Rows of A^-1 are solved for when their task arrives."""
        return Hooks(prepare=self.prepare) if isinstance(self.matrix, General) else Hooks()

    @cached_property
    def matrix(self) -> CliqueBlocks | General | None:
        """A on a graph that names its tasks."""
        return None if self.graph.grows else matrix_of(self.graph, 0)

    @property
    def ties(self) -> int:
        return KINDS[self.graph.kind]

    def prepare(self, state: ActiveSet, needed: Ints) -> ActiveSet:
        """The state with the rows of A^-1 that these tasks, and those of the rows kept, read."""
        if self.matrix is None:
            return state
        owners = state.marks[: state.used[SUPPORT], OWNER]
        relation = solve_rows(state.relation, self.matrix, np.concatenate([needed, owners]))
        return state if relation is state.relation else state._replace(relation=relation)

    # --- what compiled code takes ---

    @cached_property
    def hyper(self) -> Budget:
        return self.compiled_parameters()

    def compiled_parameters(self) -> Budget:
        """The parameters that all rules read; those of one rule have their defaults."""
        B, size = self.limits
        return Budget(
            rule=self.rule,
            ties=self.ties,
            column_ties=self.ties,
            kernel=self.kernel.code,
            B=NO_LIMIT if math.isinf(B) else int(B),
            bytes=size,
            square=self.pair_bytes,
            c2=1.0 if self.matrix is None else self.matrix.largest_diagonal,
        )

    @property
    def limits(self) -> tuple[float, float]:
        """The most rows, and the most bytes."""
        return math.inf, math.inf

    @cached_property
    def plan(self) -> Plan:
        axes: dict[str, tuple[str | int, ...]] = {"marks": ("support", MARKS), "numbers": ("support", NUMBERS)}
        axes |= {"indices": ("nonzero",), "values": ("nonzero",), "used": (2,)}
        axes |= {"counts": (COUNTS,), "scalars": (SCALARS,)}
        axes |= self.more_axes()
        most = {} if math.isinf(self.limits[0]) else {"support": int(self.limits[0])}
        counts: dict[str, tuple[str | int, ...]] = {"marks": ("task", "nonzero", "nonzero")}
        counts |= {"counts": ("task", "nonzero", 0)}
        if "places" in axes:
            counts |= {"counts": ("task", "nonzero", "updated_task"), "places": ("updated_task", "updated_task")}
        return Plan(
            axes,
            names={"indices": "feature"},
            counts=counts,
            scratch={"wide": ("feature",)},
            most=most,
            counters={"scalars": COUNTERS, "numbers": (ENTERED,)},
            check=check_active_set,
            forget=partial(forget_task, self.ties == COMPLETE, axes),
        )

    def more_axes(self) -> dict[str, tuple[str | int, ...]]:
        return {}

    def init(self, tasks: Sequence[Name] = ()) -> ActiveSet:
        ints, floats = np.zeros(0, np.int64), np.zeros(0)
        scalars = np.zeros(SCALARS)
        scalars[FACTOR] = 1.0
        axes = self.plan.axes
        return ActiveSet(
            marks=np.zeros((0, MARKS), np.int64),
            numbers=np.zeros((0, NUMBERS)),
            indices=ints.copy(),
            values=floats.copy(),
            used=np.zeros(int(axes["used"][0]), np.int64),
            counts=np.array([len(tasks), 0, 0]),
            scalars=scalars,
            generator=seeded(0),
            gram=np.zeros((0, 0)),
            inverse=np.zeros((0, 0)),
            weights=np.zeros((0, 0)),
            sums=np.zeros((0, 0)),
            places=np.zeros((0, PLACES), np.int64),
            wide=floats.copy(),
            relation=no_relation() if self.matrix is None else relation_of(self.matrix, self.graph.order(tasks)),
        )

    # --- what the model asks ---

    def weights(self, state: ActiveSet, tasks: int, features: int) -> Array:
        raise ValueError(f"{self.name} keeps rows, and has no weight matrix; see model.support()")

    def explain(self, state: ActiveSet, slot: int, tasks: int, indices: Ints) -> Any:
        raise ValueError(f"{self.name} keeps rows, and has no weights to explain a score by; see model.support()")

    def relations(self, state: ActiveSet, tasks: int) -> Array:
        """A^-1: how much a row of one task counts for another."""
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
        per_task = self.coefficients_of(state, tasks)
        found = []
        for s in np.argsort(numbers[:, ENTERED], kind="stable").tolist():
            owner, begin, end = state.marks[s].tolist()
            each = None if per_task is None else per_task[:, s]
            weight = factor * float(numbers[s, COEFFICIENT]) if each is None else float(each[owner])
            row, age = slice(begin, end), int(now - numbers[s, ENTERED])
            found.append(Kept(owner, weight, state.indices[row].copy(), state.values[row].copy(), age, each))
        return found

    def coefficients_of(self, state: ActiveSet, tasks: int) -> Array | None:
        """(tasks, rows) where every task has weights of its own."""
        return None

    def usage(self, state: ActiveSet, tasks: int) -> Usage:
        """Rows and bytes that are kept, and what evictions cost so far."""
        return usage_of(self.hyper, self.limits, state, tasks, self.movers(state))

    def movers(self, state: ActiveSet) -> int:
        """How many tasks have weights of their own."""
        return 0


@dataclass(frozen=True)
class Budgeted(KernelLearner):
    """With a limit on rows, or on bytes."""

    B: float = parameter(
        None,
        f"how many rows are kept at most; None: {_DEFAULT_B}, or any number of them within the bytes of budget",
        Integer(at_least=1, infinite=True, optional=True),
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
class Projectron(Budgeted):
    """With the Gram matrix of the kept rows, and its inverse."""

    eta: float = parameter(
        0.01, "a row whose distance to the span of the others is at most this is projected", Real(at_least=0)
    )
    relative: bool = parameter(False, "whether eta is relative to the length of the row, sqrt(K(x, x))", Flag())

    pair_bytes: ClassVar[float] = 16.0

    def compiled_parameters(self) -> Budget:
        return super().compiled_parameters()._replace(eta=self.eta, relative=self.relative)

    def more_axes(self) -> dict[str, tuple[str | int, ...]]:
        return {"gram": ("support", "support"), "inverse": ("support", "support")}
