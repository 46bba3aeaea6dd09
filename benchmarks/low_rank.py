"""Low-rank learners: steps against a full singular value decomposition each, and the paper's run times.

Yang, Zhao and Gao (2017) give the sizes of their three sets in Table 1 and the seconds that a whole run took them in
Table 3. `pu_spam` is the first of these sets; synthetic streams have the sizes of the others: as many tasks, events
and features, every task with a number of events between the least and the most of the table, and all tasks that have
events left in every round.
"""

import os
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

import weft
from benchmarks.figures import Figure, alternately, best
from weft.compiled.blas import one_thread
from weft.maths.proximal import group_soft, logdet_prox, nuclear_prox

FEATURES, TASKS, NONZEROS = 5000, 60, 50
LEARNERS = {"romco-nucl": nuclear_prox, "romco-logd": logdet_prox}


class Rows(NamedTuple):
    """Events, round by round."""

    X: Any
    y: np.ndarray
    task: np.ndarray
    rounds: np.ndarray

    @property
    def stream(self) -> weft.Stream:
        return weft.Stream(self.X, self.y, self.task, self.rounds)


def synthetic(counts: np.ndarray, features: int, nonzeros: int, rank: int = 3, seed: int = 0) -> Rows:
    """Sparse rows of unit length and models of a low rank; round t has every task with more than t events."""
    rng = np.random.default_rng(seed)
    rounds, task = np.nonzero(np.arange(counts.max())[:, None] < counts[None, :])
    n = len(task)
    columns = np.argpartition(rng.random((n, features), dtype=np.float32), nonzeros, axis=1)[:, :nonzeros]
    values = rng.normal(size=(n, nonzeros)) / np.sqrt(nonzeros)
    X = sparse.csr_array(
        (values.ravel(), np.sort(columns).ravel(), np.arange(0, n * nonzeros + 1, nonzeros)), shape=(n, features)
    )
    truth = rng.normal(size=(len(counts), rank)) @ rng.normal(size=(rank, features))
    margin = np.asarray(X.multiply(truth[task]).sum(axis=1)).ravel() + 0.3 * rng.normal(size=n)
    return Rows(X, np.where(margin >= 0, 1.0, -1.0), task, rounds)


# --- single steps ----------------------------------------------------------------------------------------------------


def full_steps(prox: Any, rows: Rows, eta: float = 0.1, lam: float = 1e-3) -> np.ndarray:
    """The algorithm with a full singular value decomposition in every round."""
    U, V, scores = np.zeros((FEATURES, TASKS)), np.zeros((FEATURES, TASKS)), np.zeros(len(rows.y))
    for t in np.unique(rows.rounds):
        at = np.flatnonzero(rows.rounds == t)
        X, k, y = rows.X[at].toarray(), rows.task[at], rows.y[at]
        scores[at] = np.einsum("ij,ji->i", X, (U + V)[:, k])
        active = y * scores[at] < 1.0
        if active.any():
            g = eta * (y[active, None] * X[active]).T
            U[:, k[active]] += g
            V[:, k[active]] += g
            U, V = prox(U, eta * lam).matrix, group_soft(V, eta * lam)
    return scores


def one_task_steps() -> list[Figure]:
    """A stream with one task per round; weft and the full decomposition start from the same empty state."""
    figures = []
    rows = synthetic(np.full(TASKS, 3), FEATURES, NONZEROS)
    rows = rows._replace(rounds=np.arange(len(rows.y)))
    for name, prox in LEARNERS.items():

        def ours(name: str = name) -> np.ndarray:
            return weft.Model(name, tasks=TASKS, features=FEATURES).learn(rows.stream)

        def full(prox: Any = prox) -> np.ndarray:
            with one_thread():
                return full_steps(prox, rows)

        assert np.abs(ours() - full()).max() < 1e-7
        a, b = (seconds / len(rows.y) for seconds in alternately(ours, full, repeats=3))
        figures.append(
            _times(f"{name}, one-task steps, d = {FEATURES:,}, m = {TASKS}", a, "a full SVD each step", b, 10)
        )
    return figures


def _times(what: str, ours: float, peer: str, theirs: float, target: float) -> Figure:
    times = theirs / ours
    text = f"{peer} {theirs * 1e3:.2f} ms"
    return Figure(what, f"{ours * 1e3:.3f} ms", text, f"{times:.1f} x", f">= {target:g} x", bool(times >= target))


def all_present() -> list[Figure]:
    """Rounds of all tasks beside LAPACK's thin decomposition of a matrix of that size."""
    figures = []
    rows = synthetic(np.full(TASKS, 12), FEATURES, NONZEROS)
    matrix = np.random.default_rng(1).normal(size=(FEATURES, TASKS))

    def thin() -> None:
        with one_thread():
            np.linalg.svd(matrix, full_matrices=False)

    for name in LEARNERS:

        def ours(name: str = name) -> np.ndarray:
            return weft.Model(name, tasks=TASKS, features=FEATURES).learn(rows.stream)

        ours()
        a, b = alternately(ours, thin, repeats=5)
        a /= 12
        text = f"LAPACK's thin SVD {b * 1e3:.2f} ms"
        what = f"{name}, all present, d = {FEATURES:,}, m = {TASKS}: a round"
        figures.append(Figure(what, f"{a * 1e3:.2f} ms", text, f"{a / b:.2f} x", "<= 2 x", bool(a <= 2 * b)))
    return figures


# --- whole runs ------------------------------------------------------------------------------------------------------

PAPER = {"romco-nucl": (11.49, 4.88, 33.235), "romco-logd": (10.59, 5.352, 28.716)}
"""Seconds on the paper's sets, Table 3: spam, MHC-I, EachMovie."""


def between(least: int, most: int, total: int, tasks: int) -> np.ndarray:
    """Events per task: one task has the least, one the most, the others share what is left."""
    left = total - least - most
    counts = np.full(tasks, left // (tasks - 2))
    counts[0], counts[-1] = least, most
    counts[1] += left - (tasks - 2) * (left // (tasks - 2))
    return counts


def spam() -> Rows | None:
    """Mails to 4 users, the 1,458 words that most mails have, log counts times idf, unit rows, in random order."""
    folder = os.environ.get("WEFT_DATA")
    if not folder or not (Path(folder) / "pu_spam.npz").exists():
        return None
    data = np.load(Path(folder) / "pu_spam.npz", allow_pickle=False)
    X = sparse.csr_array((data["data"].astype(float), data["indices"], data["indptr"]), shape=tuple(data["shape"]))
    mails = np.asarray((X > 0).sum(axis=0)).ravel()
    words = np.sort(np.argsort(-mails, kind="stable")[:1458])
    X = sparse.csr_array(X[:, words])
    X.data = np.log1p(X.data) * np.log(X.shape[0] / mails[words])[X.indices]
    norms = np.sqrt(np.asarray(X.multiply(X).sum(axis=1)).ravel())
    X = sparse.csr_array(sparse.diags_array(1.0 / np.where(norms > 0, norms, 1.0)) @ X)
    order = np.random.default_rng(0).permutation(X.shape[0])
    task = data["task"][order].astype(np.int64)
    place = np.zeros(len(task), np.int64)
    for k in np.unique(task):
        place[task == k] = np.arange(np.sum(task == k))
    sort = np.argsort(place, kind="stable")
    return Rows(sparse.csr_array(X[order][sort]), data["y"][order][sort].astype(float), task[sort], place[sort])


def whole_runs() -> list[Figure]:
    sets: dict[str, Rows | None] = {
        "pu_spam, 7,070 mails, 4 users": spam(),
        "18,664 events, 12 tasks, 400 features (size of MHC-I)": synthetic(between(415, 3793, 18664, 12), 400, 8),
        "6,000 events, 30 tasks, 1,783 features (size of EachMovie)": synthetic(np.full(30, 200), 1783, 200),
    }
    figures = []
    for at, (what, rows) in enumerate(sets.items()):
        if rows is None:
            figures.append(
                Figure(f"{what}: WEFT_DATA does not name a folder with pu_spam.npz", "skipped", "", "", "", None)
            )
            continue
        for name, seconds in PAPER.items():
            stream = rows.stream
            weft.Model(name).learn(stream)
            ours = best(lambda name=name, stream=stream: weft.Model(name).learn(stream), 15)
            times = seconds[at] / ours
            figures.append(
                Figure(
                    f"{name}, {what}",
                    f"{ours:.3f} s",
                    f"the paper {seconds[at]:g} s",
                    f"{times:.0f} x",
                    ">= 100 x",
                    bool(times >= 100),
                )
            )
    return figures


def run() -> list[Figure]:
    return [*one_task_steps(), *all_present(), *whole_runs()]
