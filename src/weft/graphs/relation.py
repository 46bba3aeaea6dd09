"""A^-1 on a graph of named tasks as compiled code reads it: row by row, by connected components.

On disjoint cliques the components say it all, and there are no rows.
"""

from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, helper_no_alloc
from weft.graphs.definite import MOST_DENSE
from weft.graphs.interaction import CliqueBlocks, General

UNKNOWN_ROW = -1


class Relation(NamedTuple):
    """A^-1 by connected components: row i has an entry for every member of its component, in order.

    A^-1_ij = entries[start[i] + place[j]] if i and j lie in one component, else 0. Rows of large components are solved
    when their task first turns up; until then start[i] is -1.
    """

    order: Ints  # the position of every task in the graph's own order
    component: Ints  # of every task
    place: Ints  # of every task in its component
    bounds: Ints  # component c has members[bounds[c]:bounds[c + 1]]
    members: Ints
    start: Ints
    entries: Floats


def no_relation() -> Relation:
    """Of no tasks."""
    ints = [np.zeros(n, np.int64) for n in (0, 0, 0, 1, 0, 0)]
    return Relation(ints[0], ints[1], ints[2], ints[3], ints[4], ints[5], np.zeros(0))


def relation_of(A: CliqueBlocks | General, order: Ints) -> Relation:
    """The rows of all components that are not large; slot i is task order[i] of A."""
    labels = A.components[order]
    members = np.argsort(labels, kind="stable")
    bounds = np.concatenate([[0], np.cumsum(np.bincount(labels))])
    place = np.empty(A.N, np.int64)
    place[members] = np.arange(A.N) - bounds[labels[members]]
    relation = Relation(order, labels, place, bounds, members, np.full(A.N, UNKNOWN_ROW), np.zeros(0))
    return solve_rows(relation, A, np.flatnonzero(np.diff(bounds)[labels] <= MOST_DENSE))


def solve_rows(relation: Relation, A: CliqueBlocks | General, tasks: Ints) -> Relation:
    """The same with the rows of A^-1 that these tasks read."""
    if isinstance(A, CliqueBlocks):
        return relation
    tasks = np.unique(tasks[tasks < A.N])
    missing = tasks[relation.start[tasks] == UNKNOWN_ROW]
    if not len(missing):
        return relation
    start, parts, at = relation.start.copy(), [relation.entries], len(relation.entries)
    for i in missing.tolist():
        members, _ = component_of(relation, i)
        known, values = A.part(int(relation.order[i]))
        parts.append(values[np.searchsorted(known, relation.order[members])])
        start[i] = at
        at += len(members)
    return relation._replace(start=start, entries=np.concatenate(parts))


def component_of(relation: Relation, i: int) -> tuple[Ints, Floats]:
    """The tasks of i's component, and their entries in row i of A^-1."""
    c = relation.component[i]
    members = relation.members[relation.bounds[c] : relation.bounds[c + 1]]
    return members, relation.entries[relation.start[i] : relation.start[i] + len(members)]


@compiled
def diagonal(relation: Relation, i: int) -> float:
    """A^-1_ii."""
    return float(relation.entries[relation.start[i] + relation.place[i]])


@helper_no_alloc
def lacks_row(relation: Relation, task: Ints, lo: int, hi: int) -> bool:
    """Is there a task in the round whose row of A^-1 was not solved yet?"""
    for i in range(lo, hi):
        if task[i] < len(relation.start) and relation.start[task[i]] == UNKNOWN_ROW:
            return True
    return False
