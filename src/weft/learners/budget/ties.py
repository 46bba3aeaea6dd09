r"""The multitask kernel, and its task part, (A^-1)_ij, as compiled code reads it.

Cavallanti and Cesa-Bianchi (2012), Memory constraint online multitask classification, Sec. 3: the interaction matrix is
A = I + L with the graph's Laplacian L, and K([x,i],[z,j]) = (A^-1)_ij K'(x,z). On the complete graph of N tasks
(A^-1)_ij = (1 + [i = j]) / (N + 1). There the kernels leave out the factor 1/(N + 1), the `unit`, so that nothing that
is kept has to change when a new task arrives.
"""

from typing import NamedTuple

from weft.compiled.arrays import Ints
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.graphs.interaction import CliqueBlocks, General, clique, interaction
from weft.graphs.reading import Graph
from weft.graphs.relation import Relation, lacks_row
from weft.maths.kernels import KernelCode

COMPLETE, NONE, CLIQUES, GRAPH, NO_TASKS = range(5)
"""How tasks are related; the last: kernels compare rows without their tasks."""

KINDS = {"complete": COMPLETE, "none": NONE, "cliques": CLIQUES, "edges": GRAPH, "matrix": GRAPH}


class TaskKernel(NamedTuple):
    """K([x, i], [z, j]) = (A^-1)_ij K'(x, z)."""

    base: KernelCode  # K'
    ties: int
    relation: Relation  # A^-1 on a graph of named tasks


def matrix_of(graph: Graph, tasks: int) -> CliqueBlocks | General:
    """A = I + L over the graph's own order, or over this many tasks of a graph that grows."""
    if graph.kind == "complete":
        return clique(tasks, float(tasks))
    return interaction(graph, tasks if graph.grows else graph.names)


@inlined_only
def tie(kernel: TaskKernel, i: int, j: int) -> float:
    """(A^-1)_ij, on the complete graph times N + 1; 0 for tasks that a graph does not name."""
    ties, relation = kernel.ties, kernel.relation
    if ties == COMPLETE:
        return 2.0 if i == j else 1.0
    if ties == NO_TASKS:
        return 1.0
    if ties == NONE:
        return 1.0 if i == j else 0.0
    if i >= len(relation.component) or relation.component[i] != relation.component[j]:
        return 0.0
    if ties == CLIQUES:
        return (2.0 if i == j else 1.0) / clique_size(relation, i)
    return float(relation.entries[relation.start[i] + relation.place[j]])


@inlined_only
def clique_size(relation: Relation, i: int) -> float:
    """The number of tasks in the clique of task i, plus one."""
    c = relation.component[i]
    return float(relation.bounds[c + 1] - relation.bounds[c] + 1)


@inlined_only
def unit(ties: int, tasks: int) -> float:
    """What `tie` is multiplied by to give (A^-1)_ij."""
    return 1.0 / (tasks + 1.0) if ties == COMPLETE else 1.0


@helper_no_alloc
def lacks_ties(ties: int, relation: Relation, task: Ints, lo: int, hi: int) -> bool:
    """Is there a task in the round whose row of A^-1 was not solved yet?"""
    return bool(ties == GRAPH and lacks_row(relation, task, lo, hi))
