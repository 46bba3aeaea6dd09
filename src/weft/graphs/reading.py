"""Task graphs: which tasks teach each other, as a user writes it and as a model file keeps it.

`parse` reads a word ("complete" and "none" grow with new tasks), a list of edges (tuples), a list of cliques (lists), a
symmetric weight matrix with its task names, or a dict, which is also what JSON holds:

    {"edges": [["ann", "bob"], ["bob", "eve", 2.0]], "tasks": ["ann", "bob", "eve", "joe"]}
    {"cliques": [["ann", "bob"], ["eve"]]}
    {"weights": [[0, 1], [1, 0]], "tasks": ["ann", "bob"]}
    {"matrix": [[2, -1], [-1, 3]], "tasks": ["ann", "bob"]}
    {"entries": [["ann", "ann", 2.0], ["ann", "bob", -1.0], ["bob", "bob", 3.0]], "tasks": ["ann", "bob"]}

Beside edges, "tasks" is optional; it orders the tasks and adds some without edges. A matrix is the interaction matrix
itself, symmetric and positive definite; its entries may be listed, each pair once. In a dict a list in place of a name
is a tuple name.

>>> parse([("ann", "bob"), ("bob", "eve", 2.0)]).as_json()
{'edges': [['ann', 'bob'], ['bob', 'eve', 2.0]], 'tasks': ['ann', 'bob', 'eve']}
>>> parse([["ann", "bob"], ["eve"]]).names
('ann', 'bob', 'eve')
"""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
import scipy

from weft.compiled.arrays import Ints
from weft.graphs.components import Blocks, symmetric, weighted
from weft.names import Name, plain

WORDS = ("complete", "none")
_ALLOWED = (
    'a graph is "complete", "none", a list of edges (tuples of two task names and perhaps a weight), a list of cliques '
    '(lists of task names), a pair (weight matrix, task names), or a dict with "edges", "cliques", "weights", "matrix" '
    'or "entries"'
)
_KEYS = {
    "edges": True,
    "cliques": False,
    "weights": True,
    "matrix": True,
    "entries": True,
}  # whether "tasks" may follow


@dataclass(frozen=True)
class Graph:
    """A task graph, made by `parse`: frozen, hashable, equal to what its JSON gives back.

    `kind` is "complete", "none", "edges" (weights are edges too), "cliques" or "matrix". The numbers are bytes: the
    upper triangle of the weights or of the matrix in row order, or the clique of every task.
    """

    kind: str
    names: tuple[Name, ...] = ()
    rows: bytes = field(default=b"", repr=False)
    columns: bytes = field(default=b"", repr=False)
    values: bytes = field(default=b"", repr=False)

    @property
    def grows(self) -> bool:
        """Whether new tasks may come at any time."""
        return self.kind in WORDS

    @property
    def labels(self) -> Ints:
        """The clique of every task, for kind "cliques"."""
        return np.frombuffer(self.rows, np.int64).copy()

    @property
    def matrix(self) -> Any:
        """The symmetric weights, or the interaction matrix, as sparse rows."""
        i, j, value = self._triangle()
        off = i != j
        pairs = (np.concatenate([i, j[off]]), np.concatenate([j, i[off]]))
        size = len(self.names)
        return scipy.sparse.csr_array((np.concatenate([value, value[off]]), pairs), shape=(size, size))

    def _triangle(self) -> tuple[Any, Any, Any]:
        i, j = np.frombuffer(self.rows, np.int64), np.frombuffer(self.columns, np.int64)
        return i, j, np.frombuffer(self.values, np.float64)

    def order(self, names: Iterable[Any] | int) -> Ints:
        """The positions of the names in `self.names`, all of which must be there once."""
        if isinstance(names, int):
            raise ValueError(f"the graph names its {len(self.names)} tasks: give their names, not a number of tasks")
        where = {name: at for at, name in enumerate(self.names)}
        given = _distinct((plain(name, "task") for name in names), "the tasks")
        if unknown := [name for name in given if name not in where]:
            raise ValueError(f"the graph does not name the task {unknown[0]!r}; its tasks are {_some(self.names)}")
        if len(given) < len(where):
            missing = next(name for name in self.names if name not in set(given))
            raise ValueError(f"the task {missing!r} of the graph is missing; its tasks are {_some(self.names)}")
        return np.array([where[name] for name in given], np.int64)

    def with_tasks(self, names: Iterable[Name]) -> "Graph":
        """The same with those of the names that it does not have yet, tied to nobody. A growing graph stays as it is.

        >>> parse([("ann", "bob")]).with_tasks(["bob", "eve"]).as_json()
        {'edges': [['ann', 'bob']], 'tasks': ['ann', 'bob', 'eve']}
        """
        known = set(self.names)
        new = [name for name in names if name not in known]
        if self.grows or not new:
            return self
        if self.kind == "matrix":
            raise ValueError(
                f"the matrix has no row for the task {new[0]!r}; give the matrix a row and a column for every task"
            )
        rows = self.rows
        if self.kind == "cliques":  # each a clique of one
            first = int(self.labels.max()) + 1
            rows += np.arange(first, first + len(new), dtype=np.int64).tobytes()
        return replace(self, names=(*self.names, *new), rows=rows)

    def as_json(self) -> dict[str, Any] | str:
        """What `parse` reads back: a dict, or the word of a growing graph."""
        if self.grows:
            return self.kind
        names = [_listed(name) for name in self.names]
        if self.kind == "cliques":
            groups: list[list[Any]] = [[] for _ in range(int(self.labels.max()) + 1)]
            for name, label in zip(names, self.labels.tolist(), strict=True):
                groups[label].append(name)
            return {"cliques": groups}
        triangle = zip(*(part.tolist() for part in self._triangle()), strict=True)
        key, short = ("edges", 1.0) if self.kind == "edges" else ("entries", None)
        entries = [[names[i], names[j]] + ([value] if value != short else []) for i, j, value in triangle]
        return {key: entries, "tasks": names}


def parse(value: Any) -> Graph:
    """The graph of any of the forms above; a graph is handed back as it is."""
    if isinstance(value, Graph):
        return value
    if isinstance(value, str):
        if value not in WORDS:
            raise ValueError(f"{value!r} is not a graph: {_ALLOWED}")
        return Graph(value)
    if isinstance(value, Mapping):
        return _from_dict(value)
    if isinstance(value, tuple) and len(value) == 2 and _is_matrix(value[0]):
        return _weights(value[0], _names(value[1]))
    if isinstance(value, list) and value:
        if all(isinstance(part, tuple) for part in value):
            return _edges(value, None)
        if all(isinstance(part, list) for part in value):
            return _cliques(value)
        odd = next(part for part in value if not isinstance(part, type(value[0])) or not isinstance(part, tuple | list))
        raise ValueError(
            f"{odd!r} in a list of edges or cliques: edges are tuples, cliques are lists, and all are alike"
        )
    raise ValueError(f"{type(value).__name__} {value!r:.60} is not a graph: {_ALLOWED}")


def _from_dict(given: Mapping[Any, Any]) -> Graph:
    forms = [key for key in _KEYS if key in given]
    if len(forms) != 1:
        raise ValueError(
            f"a graph as a dict has exactly one of {', '.join(map(repr, _KEYS))}, not {len(forms)} of them"
        )
    form = forms[0]
    allowed = {form, "tasks"} if _KEYS[form] else {form}
    if unknown := [key for key in given if key not in allowed]:
        raise ValueError(
            f"unknown key {unknown[0]!r} in the graph; beside {form!r} allowed: {sorted(allowed - {form})}"
        )
    if form in ("edges", "cliques", "entries") and not isinstance(given[form], list | tuple):
        raise ValueError(f"{form!r} of a graph must be a list, not {type(given[form]).__name__}")
    if form == "cliques":
        return _cliques([_untied(part) if isinstance(part, list | tuple) else part for part in given[form]])
    tasks = None if given.get("tasks") is None else _names(_untied(given["tasks"]))
    if form == "edges":
        edges = [tuple(_untied(part)) if isinstance(part, list | tuple) else part for part in given[form]]
        return _edges(edges, tasks)
    if tasks is None:
        raise ValueError(f'{form!r} of a graph needs "tasks", the name of every row')
    if form == "weights":
        return _weights(given[form], tasks)
    if form == "entries":
        entries = [tuple(_untied(part)) if isinstance(part, list | tuple) else part for part in given[form]]
        return _matrix(_assembled(entries, tasks), tasks)
    return _matrix(given[form], tasks)


def _edges(edges: Sequence[Any], tasks: tuple[Name, ...] | None) -> Graph:
    slots = {name: at for at, name in enumerate(tasks or ())}
    found: dict[tuple[int, int], float] = {}
    for edge in edges:
        first, second, weight = _edge(edge)
        for name in (first, second):
            if tasks is not None and name not in slots:
                raise ValueError(f"the edge {edge!r} names {name!r}, which is not among the tasks {_some(tasks)}")
            slots.setdefault(name, len(slots))
        if first == second:
            raise ValueError(f"the edge {edge!r} joins a task to itself; an edge joins two different tasks")
        pair = (min(slots[first], slots[second]), max(slots[first], slots[second]))
        if pair in found:
            raise ValueError(f"the edge {edge!r} is there twice; give every pair of tasks once")
        found[pair] = weight
    if not slots:
        raise ValueError('the graph has no tasks; for a graph without edges use "none", or name its "tasks"')
    return _packed("edges", tuple(slots), [(i, j, weight) for (i, j), weight in sorted(found.items()) if weight > 0.0])


def _edge(edge: Any) -> tuple[Name, Name, float]:
    if not isinstance(edge, tuple) or len(edge) not in (2, 3):
        raise ValueError(f"{edge!r} is not an edge: an edge is two task names, and perhaps a weight")
    weight = edge[2] if len(edge) == 3 else 1.0
    if not _is_number(weight):
        raise ValueError(f"the edge {edge!r} has the weight {weight!r}, not a number (a clique is a list, not a tuple)")
    if not 0.0 <= weight < math.inf:
        raise ValueError(f"the edge {edge!r} has the weight {weight!r}; weights are finite and >= 0")
    return plain(edge[0], "task"), plain(edge[1], "task"), float(weight)


def _cliques(cliques: Sequence[Any]) -> Graph:
    names: list[Name] = []
    labels: list[int] = []
    for label, clique in enumerate(cliques):
        if not isinstance(clique, list):
            raise ValueError(f"{clique!r} is not a clique: a clique is a list of task names")
        if not clique:
            raise ValueError(f"clique {label} is empty; a clique is a list of one or more task names")
        names += [plain(name, "task") for name in clique]
        labels += [label] * len(clique)
    if not names:
        raise ValueError('there are no cliques; for independent tasks use "none"')
    return Graph("cliques", _distinct(names, "the cliques"), np.array(labels, np.int64).tobytes())


def _weights(matrix: Any, names: tuple[Name, ...]) -> Graph:
    return _upper("edges", weighted(matrix, names), names)


def _matrix(matrix: Any, names: tuple[Name, ...]) -> Graph:
    what = "the interaction matrix A"
    A = symmetric(matrix, what, names)
    Blocks(A).check(what, names)
    return _upper("matrix", A, names)


def _assembled(entries: Sequence[Any], names: tuple[Name, ...]) -> Any:
    """The symmetric matrix of a list of (name, name, value)."""
    slots = {name: at for at, name in enumerate(names)}
    found: dict[tuple[int, int], float] = {}
    for entry in entries:
        if not isinstance(entry, tuple) or len(entry) != 3 or not _is_number(entry[2]):
            raise ValueError(f"{entry!r} is not an entry of a matrix: an entry is two task names and a number")
        pair = [slots.get(plain(name, "task"), -1) for name in entry[:2]]
        if min(pair) < 0:
            raise ValueError(f"the entry {entry!r} names a task that is not among the tasks {_some(names)}")
        if (key := (min(pair), max(pair))) in found:
            raise ValueError(f"the entry {entry!r} is there twice; give every pair of tasks once")
        found[key] = float(entry[2])
    return _packed("matrix", names, [(i, j, value) for (i, j), value in found.items()]).matrix


def _upper(kind: str, matrix: Any, names: tuple[Name, ...]) -> Graph:
    triangle = scipy.sparse.triu(matrix, format="csr").tocoo()
    rows, columns = triangle.row.astype(np.int64), triangle.col.astype(np.int64)
    return Graph(kind, names, rows.tobytes(), columns.tobytes(), triangle.data.tobytes())


def _packed(kind: str, names: tuple[Name, ...], entries: list[tuple[int, int, float]]) -> Graph:
    rows = np.array([entry[0] for entry in entries], np.int64)
    columns = np.array([entry[1] for entry in entries], np.int64)
    return Graph(kind, names, rows.tobytes(), columns.tobytes(), np.array([e[2] for e in entries], float).tobytes())


def _names(names: Any) -> tuple[Name, ...]:
    if isinstance(names, str | Mapping) or not isinstance(names, Iterable):
        raise ValueError(f"the tasks of a graph must be a list of names, not {names!r:.60}")
    return _distinct((plain(name, "task") for name in names), "the tasks")


def _distinct(names: Iterable[Name], what: str) -> tuple[Name, ...]:
    seen: dict[Name, None] = {}
    for name in names:
        if name in seen:
            raise ValueError(f"the task {name!r} is named twice in {what}; every task has one place")
        seen[name] = None
    return tuple(seen)


def _is_number(value: Any) -> bool:
    return isinstance(value, int | float | np.integer | np.floating) and not isinstance(value, bool)


def _is_matrix(value: Any) -> bool:
    if scipy.sparse.issparse(value) or isinstance(value, np.ndarray):
        return True
    return isinstance(value, list | tuple) and len(value) > 0 and all(isinstance(row, list | tuple) for row in value)


def _untied(value: Any) -> Any:
    """A JSON list of names: lists inside it are tuple names."""
    if not isinstance(value, list | tuple):
        return value
    return [_tied(part) for part in value]


def _tied(name: Any) -> Any:
    return tuple(_tied(part) for part in name) if isinstance(name, list) else name


def _listed(name: Any) -> Any:
    return [_listed(part) for part in name] if isinstance(name, tuple) else name


def _some(names: tuple[Name, ...]) -> str:
    shown = ", ".join(repr(name) for name in names[:8])
    return shown + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
