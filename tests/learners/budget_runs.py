"""Streams for the budgeted multitask classifiers, and runs of weft on them beside the oracles'."""

import math
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import weft
from oracles.budget import Mtbprj, Mtbprj2, Mtforg, MtPerceptron, Mtrbp, projected
from oracles.multitask_kernel import Base, Relations

NAMES = ["ann", "bob", "eve", "joe", "zoe"]
N = len(NAMES)
ORACLES = {"mt-perceptron": MtPerceptron, "mtbprj": Mtbprj, "mtbprj-2": Mtbprj2, "mtrbp": Mtrbp, "mtforg": Mtforg}
PROJECTRONS = ("mtbprj", "mtbprj-2")
SPD = np.eye(N) + np.cov(np.random.default_rng(3).normal(size=(N, 9)))
# As a user writes them, and with numbers for names.
GRAPHS: dict[str, Any] = {
    "complete": ("complete", "complete"),
    "none": ("none", "none"),
    "cliques": ([["ann", "eve", "zoe"], ["bob", "joe"]], [[0, 2, 4], [1, 3]]),
    "path": (
        [("ann", "bob"), ("bob", "eve"), ("eve", "joe"), ("joe", "zoe")],
        [(0, 1), (1, 2), (2, 3), (3, 4)],
    ),
    "matrix": ({"matrix": SPD.tolist(), "tasks": NAMES}, SPD),
}


class Events(NamedTuple):
    """Rows with labels (NaN: dormant) and tasks 0, 1, ...; round t has the rows bounds[t] to bounds[t + 1]."""

    X: Any
    y: Any
    task: Any
    bounds: Any = None

    def part(self, first, last):
        """The rounds from `first` to `last`, and which rows they are."""
        bounds = np.arange(len(self.y) + 1) if self.bounds is None else np.asarray(self.bounds)
        a, b = int(bounds[first]), int(bounds[last])
        inside = None if self.bounds is None else bounds[first : last + 1] - a
        return Events(self.X[a:b], self.y[a:b], self.task[a:b], inside), slice(a, b)

    @property
    def n_rounds(self):
        return len(self.y) if self.bounds is None else len(self.bounds) - 1

    def stream(self, names):
        rounds = None if self.bounds is None else np.repeat(np.arange(self.n_rounds), np.diff(self.bounds))
        return weft.Stream(self.X, self.y, [names[i] for i in self.task], rounds=rounds)


def noisy(rng, signal, noise):
    """Labels, a part of them wrong, so that mistakes never end."""
    return np.where((signal >= 0) ^ (rng.random(len(signal)) < noise), 1.0, -1.0)


def dense_events(seed, T=1100, *, d=3, tasks=N, scale=1.0, noise=0.4):
    """Teachers that are somewhat alike, with a quadratic part."""
    rng = np.random.default_rng(seed)
    task, X = rng.integers(tasks, size=T), rng.normal(size=(T, d))
    U, V = rng.normal(size=d) + 0.5 * rng.normal(size=(tasks, d)), rng.normal(size=(d, d)) / 2
    signal = np.sum(U[task] * X, axis=1) + np.einsum("ri,ij,rj->r", X, V, X)
    return Events(X * scale, noisy(rng, signal, noise), task)


def text_events(seed, T=1100, *, d=120, words=12, noise=0.4):
    """Sparse rows of a few frequent words and some rare ones; weights are continuous, so that no two scores tie."""
    rng = np.random.default_rng(seed)
    task, often = rng.integers(N, size=T), 1 / np.arange(1, d + 1)
    X = np.zeros((T, d))
    for row in X:
        said = np.unique(rng.choice(d, size=words, p=often / often.sum()))
        row[said] = rng.lognormal(sigma=0.5, size=len(said))
    U = rng.normal(size=d) + 0.5 * rng.normal(size=(N, d))
    return Events(sparse.csr_array(X), noisy(rng, np.sum(U[task] * X, axis=1), noise), task)


def arriving(events, every):
    """The same rows, where now and then one more task arrives; numbered in the order of their first row."""
    task = np.minimum(events.task, np.arange(len(events.task)) // every)
    order = {i: k for k, i in enumerate(dict.fromkeys(task.tolist()))}
    return events._replace(task=np.array([order[i] for i in task.tolist()]))


def in_rounds(events, seed, dormant=0.1):
    """Rounds of some rows of different tasks; a few rows lose their label."""
    rng, bounds, inside = np.random.default_rng(seed), [0], set()
    for r, i in enumerate(events.task.tolist()):
        if i in inside or (inside and rng.random() < 0.3):
            bounds.append(r)
            inside = set()
        inside.add(i)
    y = np.where(rng.random(len(events.y)) < dormant, np.nan, events.y)
    return events._replace(y=y, bounds=np.array([*bounds, len(y)]))


# -------------------------------------------------------------------------------------------------------- side by side


def build(name, kernel, graph="complete", *, declared=None, names=NAMES, **parameters):
    """A model, and the oracle with the same tasks; of the words' graphs those that are declared."""
    theirs, ours = GRAPHS[graph] if isinstance(graph, str) else graph
    base = Base(kernel) if isinstance(kernel, str) else Base(**kernel)
    known = len(names) if declared is None else declared
    tasks = names[:known] if isinstance(theirs, str) and known else None
    model = weft.Model(name, kernel=kernel, graph=theirs, tasks=tasks, **parameters)
    return model, ORACLES[name](base, ours, known, **parameters)


def dense(X):
    return X.toarray() if sparse.issparse(X) else np.asarray(X)


def learn_beside(model, oracle, events, *, names=NAMES, stops=5, tolerance=1e-7):
    """Both learn the stream in pieces; scores of every piece and the active set after it must be the same."""
    scores = np.zeros(len(events.y))
    cuts = np.unique(np.geomspace(1, events.n_rounds, stops).astype(int))
    for first, last in zip([0, *cuts[:-1]], cuts, strict=True):
        part, rows = events.part(first, last)
        scores[rows] = model.learn(part.stream(names))
        expected = oracle.learn(dense(part.X), part.y, part.task.tolist(), part.bounds)
        np.testing.assert_allclose(scores[rows], expected, rtol=0, atol=tolerance)
        assert_same_rows(model, oracle, events, names)
    return scores


def of_tasks(row, names):
    """The coefficients of a row for these tasks; a task that was not seen has none yet."""
    assert row.coefficient == row.coefficients[row.task]
    return [row.coefficients.get(name, 0.0) for name in names]


def assert_same_rows(model, oracle, events, names):
    """The same rows in the same order, with the same coefficients."""
    found, expected = model.support(), oracle.active
    assert [row.task for row in found] == [names[item.task] for item in expected]
    width = events.X.shape[1]
    for row, item in zip(found, expected, strict=True):
        kept = np.zeros(width)
        kept[list(row.row)] = list(row.row.values())
        np.testing.assert_array_equal(kept, item.row)
        if isinstance(oracle, Mtbprj2):
            held = of_tasks(row, names[: len(item.coefficient)])
            np.testing.assert_allclose(held, item.coefficient, rtol=1e-6, atol=1e-6)
        else:
            np.testing.assert_allclose(row.coefficient, item.coefficient, rtol=1e-6, atol=1e-6)
    assert (np.diff([row.age for row in found]) < 0).all()


# --------------------------------------------------------------------------------------------------------- step by step


class Kept(NamedTuple):
    """An active set: tasks, rows, and per row its coefficient (mtbprj) or those of all tasks (mtbprj-2)."""

    task: Any
    X: Any
    coefficients: Any


class Step(NamedTuple):
    kind: str  # "grown", "absorbed", "evicted"
    loss: float  # |f after - (f before + y K(t,.))|
    least: float  # what it had to lose: the least damage if a row left, else 0
    size: float  # of the largest coefficient, at least 1
    condition: float  # of the Gram matrix of S and t


class Space:
    """Lengths of functions of a Projectron, from the rows and coefficients that `support` shows."""

    def __init__(self, name, kernel, graph):
        self.second = name == "mtbprj-2"
        self.base = Base(kernel) if isinstance(kernel, str) else Base(**kernel)
        self.inverse = Relations(GRAPHS[graph][1], N).inverse

    def read(self, model):
        support = model.support()
        task, width = [NAMES.index(row.task) for row in support], 1
        if support:
            width = 1 + max(max(row.row, default=0) for row in support)
        X = np.zeros((len(support), width))
        for x, row in zip(X, support, strict=True):
            x[list(row.row)] = list(row.row.values())
        if self.second:
            held = [of_tasks(row, NAMES) for row in support]
            return Kept(task, X, np.array(held).reshape(-1, N))
        return Kept(task, X, np.array([[row.coefficient] for row in support]).reshape(-1, 1))

    def gram(self, task, X):
        G = self.base.gram(X, X)
        return G if self.second else self.inverse[np.ix_(task, task)] * G

    def step(self, before, event, after):
        """The event was a mistake."""
        (i,), y, x = event.task, event.y[0], event.X[0]
        weight = y * self.inverse[:, i] if self.second else np.array([y])
        task, X = [*before.task, i], np.vstack([before.X.reshape(-1, len(x)), x])
        G, n = self.gram(task, X), len(before.task)
        coefficients = np.vstack([-before.coefficients, -weight, after.coefficients])
        union = self.gram([*task, *after.task], np.vstack([X, after.X]))
        loss = math.sqrt(max(0.0, sum(c @ union @ c for c in coefficients.T)))
        least = 0.0
        if len(after.task) > n:
            kind = "grown"
        elif np.array_equal(after.X[-1], x) and not np.array_equal(after.X, before.X):
            sizes = np.linalg.norm(before.coefficients, axis=1)
            kind, least = "evicted", min(sizes[j] * projected(G, j)[1] for j in range(n))
        else:
            kind = "absorbed"
        size = max(1.0, float(np.abs(coefficients).max()))
        return Step(kind, loss, least, size, float(np.linalg.cond(G)))
