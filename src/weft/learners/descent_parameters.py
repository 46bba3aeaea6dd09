"""Parameters that the learners of multitask mirror descent share, and how they settle what the user left open.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022). A learner's interaction matrix A comes from `b` (a clique of all
tasks, however many turn up) or from `graph`; its rate from a number, from theory, or from the gradients seen so far.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np

from weft.geometry import graphs
from weft.geometry.descent import ADAPTIVE, CONSTANT, TRACE, Rule
from weft.geometry.graphs import Graph
from weft.geometry.interaction import CliqueBlocks, General, clique, interaction
from weft.geometry.losses import CLASSIFY, CODES
from weft.geometry.tuning import best_b, paper_b
from weft.learner import Target
from weft.learners.parameters import Choice, Parsed, Real, check, parameter
from weft.names import Name
from weft.state import Array

LOSSES = ("logistic", "hinge", "square", "absolute", "epsilon-insensitive")
DEFAULT_D, DEFAULT_SIGMA = 1.0, 0.3
"""What adaptive steps assume when nothing is given."""


def _parse_graph(value: Any) -> Graph | None:
    return None if value is None else graphs.parse(value)


@dataclass(frozen=True)
class Descent:
    """Parameters of every learner here; `name` and `paper` belong to the catalogue."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Cesa-Bianchi et al. 2022"
    trace: ClassVar[tuple[str, ...]] = TRACE
    counts_tasks: ClassVar[bool] = True

    b: float | None = parameter(
        None,
        "how strongly all tasks are tied together: 0 not at all, inf one model; None: the number of tasks",
        Real(at_least=0, infinite=True, optional=True),
    )
    graph: Graph | None = parameter(
        None,
        "which tasks teach each other; None: all, with strength b",
        Parsed(
            'None, "complete", "none", a list of edges (tuples of names), a list of cliques (lists of names), '
            "a pair (weight matrix, names), or a dict of one of these",
            _parse_graph,
        ),
    )
    graph_strength: float = parameter(
        1.0, "multiplies the Laplacian of a graph given by edges, cliques or weights", Real(above=0)
    )
    loss: str = parameter(
        "logistic",
        "logistic and hinge classify; square, absolute and epsilon-insensitive predict a number",
        Choice(LOSSES),
    )
    epsilon: float = parameter(0.1, "deviations up to this cost nothing (epsilon-insensitive loss)", Real(at_least=0))

    def __post_init__(self) -> None:
        check(self)
        if self.graph is not None and self.b is not None and self.graph.kind != "complete":
            raise ValueError(
                f"{self.name}: b={self.b:g} and graph are both given; b ties all tasks together, "
                "use graph_strength with a graph"
            )
        if self.graph is not None and self.graph.kind == "matrix" and self.graph_strength != 1.0:
            raise ValueError(f"{self.name}: graph_strength multiplies a Laplacian; with a matrix A leave it out")
        self._settle()

    def _settle(self) -> None:
        """Refuse what does not fit together."""

    # --- what the catalogue and the model ask ---

    @property
    def target(self) -> Target:
        return "binary" if self.loss in CLASSIFY else "real"

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], self.epsilon

    @property
    def task_names(self) -> tuple[Name, ...]:
        """The tasks of a graph that names them; no others can come."""
        return () if self.graph is None else self.graph.names

    # --- the interaction matrix ---

    @property
    def named(self) -> bool:
        """Is A given by a graph between named tasks, and not a clique of whoever turns up?"""
        return bool(self.task_names)

    @property
    def given_b(self) -> float:
        """b of the clique, NaN if it follows from the number of tasks."""
        if self.graph is not None and self.graph.kind == "none":
            return 0.0
        return math.nan if self.b is None else self.b

    def clique_b(self, N: int) -> float:
        """b of the clique of N tasks."""
        if not math.isnan(self.given_b):
            return self.given_b
        sigma = getattr(self, "sigma", None)
        by_rule = best_b if getattr(self, "rule", "paper") == "best" else paper_b
        return float(by_rule(N, 0.0 if sigma is None else sigma))

    @cached_property
    def _graph_matrix(self) -> CliqueBlocks | General:
        return self.interaction(self.task_names)

    def interaction(self, tasks: Sequence[Name]) -> CliqueBlocks | General:
        """A over the tasks in this order."""
        if self.graph is not None and self.named:
            return interaction(self.graph, list(tasks), strength=self.graph_strength)
        return clique(len(tasks), self.clique_b(len(tasks)))

    def relations(self, state: Any, tasks: int) -> Array:
        """A^-1: how much of a step of one task moves another."""
        if self.named:
            return self.interaction(self.task_names).dense(-1.0)
        return clique(tasks, self.clique_b(tasks)).dense(-1.0) if tasks else np.zeros((0, 0))


def largest_norm(A: CliqueBlocks | General, D: float, sigma: float, laplacian: bool) -> float:
    """The most that |u|_A can be for |u_i| <= D and Var(u) <= sigma^2 D^2: the radius of a ball that holds them all.

    |u|_A^2 = sum |u_i|^2 + u^T (A - I) u. A Laplacian does not see the mean, so that the second term is at most its
    largest eigenvalue times (N-1) Var(u); on a clique that eigenvalue is b.
    """
    if laplacian:
        return D * math.sqrt(A.N + (A.largest_eigenvalue - 1.0) * (A.N - 1) * sigma * sigma)
    return D * math.sqrt(A.largest_eigenvalue * A.N)
