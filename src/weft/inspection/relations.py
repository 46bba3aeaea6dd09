"""How the tasks of a model are related, arranged to be drawn: related tasks stand together.

Tasks are clustered by average linkage on a distance that falls as their relation grows. Relations of different learners
come on different scales: A^-1 of a graph has another diagonal for every task, and alpha I + (1 - alpha) P is not even
symmetric. So the distance is made of the mean of both directions, divided by the diagonal where that is positive (what
turns a covariance into a correlation). What is drawn are the relations as they are.
"""

import math
from typing import Any, NamedTuple, Protocol

import numpy as np
import scipy
from scipy.cluster.hierarchy import leaves_list, linkage
from scipy.spatial.distance import squareform

from weft.compiled.arrays import Array, Floats, Ints
from weft.learner import Distances
from weft.names import Name, show_name

LARGEST_MATRIX = 20_000_000
"""Matrices beyond so many entries are not made just to be looked at."""
MOST_ORDERED = 400
"""So many tasks stand in the best order that their tree allows, which takes seconds; more in the tree's first order."""
FENCE = 1.5
"""A task stands apart if it is so many interquartile ranges above the third quartile (Tukey's fence)."""
LEAST_FENCED = 4
"""Among fewer tasks nobody can be told to stand apart."""


class Related(Protocol):
    """What is asked of a model here."""

    @property
    def name(self) -> str: ...
    @property
    def tasks(self) -> list[Name]: ...
    @property
    def views(self) -> frozenset[str]: ...
    def relations(self) -> Any: ...
    def outliers(self) -> Floats: ...
    def distances(self) -> Distances: ...


class Relations(NamedTuple):
    """A line per task or cluster of tasks, in the order in which they are drawn.

    `members` are the tasks of every line, the first of them stands for it. `values[i, i]` is a task with itself, or the
    mean over the pairs within a cluster. `apart` has a number per line, if the learner knows who goes its own way, and
    `measure` says what that is; above `fence` a task stands apart. A learner may know that alone: then there are no
    `values`, and the `note` says why.
    """

    learner: str
    members: list[list[Name]]
    values: Array
    apart: Floats | None = None
    measure: str = ""
    fence: float = math.inf
    note: str = ""

    @property
    def names(self) -> list[str]:
        """What a line is called."""
        return [show_name(tasks[0]) + (f" +{len(tasks) - 1:,}" if len(tasks) > 1 else "") for tasks in self.members]

    @property
    def tasks(self) -> int:
        """How many there are in all."""
        return sum(map(len, self.members))

    @property
    def is_single(self) -> list[bool]:
        """Whether a line is one task."""
        return [len(tasks) == 1 for tasks in self.members]

    @property
    def between(self) -> Floats:
        """The relations between different tasks, which the colours are for."""
        own = np.diag(self.is_single)
        return np.asarray(self.values[~own])

    @property
    def has_matrix(self) -> bool:
        """Whether there are relations, and not only who goes its own way."""
        return len(self.values) > 0

    @property
    def far(self) -> list[bool]:
        """Which lines stand apart."""
        return [False] * len(self.members) if self.apart is None else [bool(x > self.fence) for x in self.apart]


def read_relations(model: Related) -> Relations:
    """In the order of `model.tasks`; ValueError with the reason if there is nothing to draw."""
    n, name = len(model.tasks), model.name
    if n < 2:
        raise ValueError(f"there are no relations to draw: the model knows {'one task' if n else 'no tasks yet'}")
    if n * n > LARGEST_MATRIX:
        raise ValueError(f"the relations of {n:,} tasks are too many to draw; at most {int(LARGEST_MATRIX**0.5):,} are")
    apart, measure = _apart(model)
    note = ""
    try:
        values = np.array(model.relations(), np.float64)
        if not np.any(values[~np.eye(n, dtype=bool)]):
            raise ValueError(f"with {name} an event moves its own task's weights only")
    except ValueError as error:
        if "outliers" not in model.views:
            raise ValueError(f"there are no relations to draw: {error}") from None
        note, values = str(error), np.zeros((0, 0))
    fence = math.inf if apart is None else fence_of(apart)
    return Relations(name, [[task] for task in model.tasks], values, apart, measure, fence, note)


def _apart(model: Related) -> tuple[Floats | None, str]:
    """Who goes its own way: by the lengths of personal parts, or by the distances from neighbours."""
    if "outliers" in model.views:
        return np.asarray(model.outliers(), np.float64), "length of the personal part"
    if "distances" in model.views:
        return model.distances().apart, "distance from neighbours"
    return None, ""


def fence_of(values: Floats) -> float:
    """Above this a number is far above the rest; infinity if there are too few to tell."""
    known = values[np.isfinite(values)]
    if len(known) < LEAST_FENCED:
        return math.inf
    first, third = np.quantile(known, [0.25, 0.75])
    return float(third + FENCE * (third - first))


def similarity(values: Array) -> Array:
    """Symmetric, and 1 on the diagonal where the diagonal is positive; what is undefined counts as unrelated."""
    mean = 0.5 * (values + values.T)
    mean = np.where(np.isfinite(mean), mean, 0.0)
    own = np.diag(mean)
    return mean / np.sqrt(np.outer(own, own)) if np.all(own > 0.0) else mean


def arranged(relations: Relations, most: int) -> Relations:
    """Related tasks side by side, more than `most` as that many clusters; without relations the farthest first."""
    if not relations.has_matrix:
        return _farthest(relations, most)
    alike = similarity(relations.values)
    if len(alike) > most:
        label = _cut(_tree(alike, False), len(alike), most)
        relations, alike = _gathered(relations, alike, label)
    elif np.allclose(relations.between, relations.between[0]):
        relations = relations._replace(note=f"all pairs of tasks are related alike: {relations.between[0]:.4g}")
    return _taken(relations, _order(alike))


def _farthest(relations: Relations, most: int) -> Relations:
    n, apart = len(relations.members), np.asarray(relations.apart)
    order = np.argsort(-np.where(np.isfinite(apart), apart, -math.inf), kind="stable")[:most].tolist()
    more = f"the {most:,} of {n:,} tasks that stand farthest apart; " if n > most else ""
    return _taken(relations._replace(note=more + relations.note), order)


def _taken(relations: Relations, order: list[int]) -> Relations:
    values = relations.values[np.ix_(order, order)] if relations.has_matrix else relations.values
    apart = None if relations.apart is None else relations.apart[order]
    return relations._replace(members=[relations.members[i] for i in order], values=values, apart=apart)


def _order(alike: Array) -> list[int]:
    """As given, if all are equally alike; else the leaves of the tree, neighbours as alike as the tree allows."""
    n = len(alike)
    between = alike[~np.eye(n, dtype=bool)]
    if n < 3 or np.allclose(between, between[0]):
        return list(range(n))
    order: list[int] = leaves_list(_tree(alike, n <= MOST_ORDERED)).tolist()
    return order if order[0] < order[-1] else order[::-1]  # the task that came first stands first


def _tree(alike: Array, is_ordered: bool) -> Array:
    distance = alike[~np.eye(len(alike), dtype=bool)].max() - alike
    np.fill_diagonal(distance, 0.0)
    return linkage(squareform(np.maximum(distance, 0.0), checks=False), "average", optimal_ordering=is_ordered)


def _cut(tree: Array, n: int, clusters: int) -> Ints:
    """The cluster of every task when only the nearest merges are done; clusters are numbered by their first task."""
    parent = np.arange(2 * n - 1)
    for step in range(n - clusters):
        parent[tree[step, :2].astype(np.int64)] = n + step
    for node in range(2 * n - 2, -1, -1):
        parent[node] = parent[parent[node]]
    _, first, label = np.unique(parent[:n], return_index=True, return_inverse=True)
    rank = np.empty(clusters, np.int64)
    rank[np.argsort(first, kind="stable")] = np.arange(clusters)
    return rank[label]


def _gathered(relations: Relations, alike: Array, label: Ints) -> tuple[Relations, Array]:
    """Clusters instead of tasks: means over pairs of different tasks, and over members; with how alike clusters are."""
    sizes = np.bincount(label)
    members = []
    for cluster in range(len(sizes)):
        own = np.flatnonzero(label == cluster)
        nearness = alike[np.ix_(own, own)].sum(axis=1)
        own = own[np.argsort(-nearness, kind="stable")]  # the one in the middle stands for all
        members.append([relations.members[i][0] for i in own.tolist()])
    values = _means(relations.values, label, sizes)
    apart = None if relations.apart is None else _known_means(relations.apart, label, len(sizes))
    note = f"{len(label):,} tasks in {len(sizes):,} clusters; a cell is the mean over its pairs of tasks"
    gathered = relations._replace(members=members, values=values, apart=apart, note=note)
    return gathered, _means(alike, label, sizes)


def _known_means(values: Floats, label: Ints, clusters: int) -> Floats:
    """Over the members for whom the number is defined."""
    known = np.isfinite(values)
    counts = np.bincount(label[known], minlength=clusters)
    sums = np.bincount(label[known], values[known], minlength=clusters)
    found = np.full(clusters, np.nan)
    np.divide(sums, counts, out=found, where=counts > 0)
    return found


def _means(values: Array, label: Ints, sizes: Ints) -> Array:
    """Over pairs of different tasks for which they are defined; a cluster of one task keeps its own number."""
    n, k = len(values), len(sizes)
    known = np.isfinite(values)
    known[np.diag_indices(n)] &= sizes[label] == 1
    belongs = scipy.sparse.csr_array((np.ones(n), (label, np.arange(n))), shape=(k, n))

    def gather(numbers: Array) -> Array:
        return np.asarray(belongs @ np.asarray(belongs @ numbers.T).T)

    sums, pairs = gather(np.where(known, values, 0.0)), gather(known.astype(np.float64))
    found = np.full((k, k), np.nan)
    np.divide(sums, pairs, out=found, where=pairs > 0.0)
    return found
