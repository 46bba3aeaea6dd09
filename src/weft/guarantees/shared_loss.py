"""The guarantees of the shared-loss learners, evaluated on a run.

Dekel, Long and Singer (2007) bound the cumulative global loss sum_t g_t, g_t = ||l_t||, by that of any fixed
vectors w*_1, ..., w*_k, the comparator. `record` learns a stream and records what the inequalities need; each
function then returns both sides of one of them.

Throughout, |.| is the Euclidean norm, l_t and l*_t are the losses of the learner and of the comparator in
round t (0 for dormant tasks), T is the number of rounds, C the aggressiveness, R the largest length of an
update direction (|x|; 1 for uniclass) or the R that the learner was given, if that is larger, and rho is the
remoteness of the DUAL norm, max |u| / ||u||^*, the largest over the numbers of active tasks. As printed,
Theorem 4 has the remoteness of the norm itself, and is false.

>>> import numpy as np, weft
>>> stream = weft.Stream(np.eye(2)[[0, 1, 0, 1]], [1, -1, 1, -1], ["a", "b"] * 2, rounds=[0, 0, 1, 1])
>>> run = record(weft.Model("finite-horizon", norm="l1", C=0.5), stream)
>>> theorem4(run, np.array([[1.0, 0.0], [0.0, -1.0]]))
Bound(left=3.0, right=3.0)
"""

import math
from itertools import pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.learner import TRACE
from weft.maths.norms import parse
from weft.model import Model
from weft.stream import Stream

Floats = NDArray[np.float64]
SHARED_LOSS = ("finite-horizon", "infinite-horizon", "implicit")
TOLERANCE = 1e-9
CHUNK = 1 << 20


class Bound(NamedTuple):
    """Both sides of left <= right: two numbers, or two arrays with one entry per prefix of the stream."""

    left: float | Floats
    right: float | Floats

    @property
    def slack(self) -> float | Floats:
        """right - left: by how much the inequality holds."""
        return self.right - self.left

    @property
    def holds(self) -> bool:
        """Whether left <= right everywhere, up to a relative 1e-9."""
        size = np.maximum(np.abs(self.left), np.abs(self.right))
        return bool(np.all(np.asarray(self.slack) >= -TOLERANCE * size))


class Run(NamedTuple):
    """The record of a run, row by row; a dormant row has y = NaN and 0 in the last four."""

    algorithm: str
    learner: Any
    norm: Any
    stream: Stream
    y: Floats
    task: NDArray[np.int64]
    tasks: int
    scores: Floats
    loss: Floats
    tau: Floats
    n2: Floats
    C: Floats

    @property
    def global_loss(self) -> Floats:
        """g_t = ||l_t||, one number per round."""
        return _per_round(self, self.loss)


def record(model: Model, stream: Stream) -> Run:
    """Learn the stream with a new model, and record what the bounds need of every row."""
    learner: Any = model.learner
    if learner.name not in SHARED_LOSS:
        raise ValueError(f"The bounds are about {', '.join(SHARED_LOSS)}; {learner.name} has others or none.")
    if model.tally.total["events"] > 0:
        raise ValueError("The bounds are about a run from zero weights: record it with a new model.")
    trace = np.zeros((len(stream), len(TRACE)))
    scores = model.learn(stream, trace=trace)
    slot = {name: at for at, name in enumerate(model.tasks)}
    return Run(
        algorithm=learner.name,
        learner=learner,
        norm=parse(learner.norm) if isinstance(learner.norm, str) else learner.norm,
        stream=stream,
        y=stream.labels(learner.target),
        task=np.array([slot[name] for name in stream.task_names], dtype=np.int64)[stream.task_codes],
        tasks=len(model.tasks),
        scores=scores,
        loss=trace[:, 0].copy(),
        tau=trace[:, 1].copy(),
        n2=trace[:, 2].copy(),
        C=trace[:, 3].copy(),
    )


def lemma1(run: Run, comparator: ArrayLike) -> Bound:
    """Sum_t sum_j (2 tau l - tau^2 n^2) <= sum_j |w*_j|^2 + 2 C sum_t ||l*_t||, for every prefix.

    Dekel, Long and Singer (2007), Lemma 1: any of the three algorithms, any C.
    """
    W = _comparator(run, comparator)
    progress = 2 * run.tau * run.loss - run.tau**2 * run.n2
    star = _round_C(run) * _per_round(run, _losses(run, W))
    return Bound(_running(progress)[run.stream.rounds[1:]], np.sum(W**2) + 2 * np.cumsum(star))


def theorem4(run: Run, comparator: ArrayLike) -> Bound:
    """Sum_t g_t <= sum_j |w*_j|^2 / (2 C) + sum_t ||l*_t|| + T R^2 C rho^2 / 2.

    Dekel, Long and Singer (2007), Theorem 4, with rho of the dual norm: `finite-horizon`, and `implicit` by
    their Theorem 9.
    """
    _only(run, "Theorem 4", "finite-horizon", "implicit")
    W = _comparator(run, comparator)
    C, R, rho = _C(run), _R(run), _rho(run)
    T = len(run.stream.rounds) - 1
    star = float(np.sum(_per_round(run, _losses(run, W))))
    right = float(np.sum(W**2)) / (2 * C) + star + T * R**2 * C * rho**2 / 2
    return Bound(float(np.sum(run.global_loss)), right)


def corollary5(run: Run, comparator: ArrayLike) -> Bound:
    """Sum_t g_t <= sum_t ||l*_t|| + sqrt(T)/2 (R^2 sum_j |w*_j|^2 + rho^2), for C = 1/(sqrt(T) R^2).

    Dekel, Long and Singer (2007), Corollary 5, with rho of the dual norm: `finite-horizon`, and `implicit` by
    their Theorem 9. T is the learner's if it has one (it may be larger than the number of rounds).
    """
    _only(run, "Corollary 5", "finite-horizon", "implicit")
    W = _comparator(run, comparator)
    C, R, rho = _C(run), _R(run), _rho(run)
    rounds = len(run.stream.rounds) - 1
    T = rounds if run.learner.T is None else run.learner.T
    if rounds > T:
        raise ValueError(f"Corollary 5 is about T rounds, and the run has {rounds} where T = {T}.")
    if R == 0 or not math.isclose(C, 1 / (math.sqrt(T) * R**2), rel_tol=TOLERANCE):
        raise ValueError(f"Corollary 5 needs C = 1/(sqrt(T) R^2); here C = {C:g}, T = {T} and R = {R:g}.")
    star = float(np.sum(_per_round(run, _losses(run, W))))
    right = star + math.sqrt(T) / 2 * (R**2 * float(np.sum(W**2)) + rho**2)
    return Bound(float(np.sum(run.global_loss)), right)


def theorem6(run: Run, comparator: ArrayLike) -> Bound:
    """Sum_{g <= theta} g^2/(R^2 rho^2) + C sum_{g > theta} g <= 2 C sum ||l*|| + sum |w*_j|^2, every prefix.

    theta = R^2 C rho^2. Dekel, Long and Singer (2007), Theorem 6: `infinite-horizon`, and `implicit` by their
    Theorem 9.
    """
    _only(run, "Theorem 6", "infinite-horizon", "implicit")
    W = _comparator(run, comparator)
    C, scale, g = _C(run), _scale(run, "Theorem 6"), run.global_loss
    left = np.cumsum(np.where(g <= scale * C, g**2 / scale, C * g))
    star = np.cumsum(_per_round(run, _losses(run, W)))
    return Bound(left, 2 * C * star + np.sum(W**2))


def corollary7(run: Run, comparator: ArrayLike) -> Bound:
    """Sum_t min(g, g^2) <= 2 sum_t ||l*_t|| + R^2 rho^2 sum_j |w*_j|^2, for C = 1/(R^2 rho^2), every prefix.

    Dekel, Long and Singer (2007), Corollary 7: `infinite-horizon`, and `implicit` by their Theorem 9.
    """
    _only(run, "Corollary 7", "infinite-horizon", "implicit")
    W = _comparator(run, comparator)
    C, scale, g = _C(run), _scale(run, "Corollary 7"), run.global_loss
    if not math.isclose(C * scale, 1.0, rel_tol=TOLERANCE):
        raise ValueError(
            f"Corollary 7 needs C = 1/(R^2 rho^2); here C = {C:g}, R = {_R(run):g} and rho = {_rho(run):g}."
        )
    star = np.cumsum(_per_round(run, _losses(run, W)))
    return Bound(np.cumsum(np.minimum(g, g**2)), 2 * star + scale * np.sum(W**2))


def theorem9(run: Run, comparator: ArrayLike) -> Bound:
    """The inequality of Theorem 4, then those of Theorem 6 for every prefix: 1 + T entries.

    Dekel, Long and Singer (2007), Theorem 9: the `implicit` update satisfies both.
    """
    _only(run, "Theorem 9", "implicit")
    whole, prefixes = theorem4(run, comparator), theorem6(run, comparator)
    return Bound(np.append(whole.left, prefixes.left), np.append(whole.right, prefixes.right))


# --- quantities of a run ---


def _per_round(run: Run, losses: Floats) -> Floats:
    bounds = run.stream.rounds
    value = run.norm.value
    return np.array([value(losses[a:b]) for a, b in pairwise(bounds.tolist())])


def _running(values: Floats) -> Floats:
    return np.concatenate(([0.0], np.cumsum(values)))


def _round_C(run: Run) -> Floats:
    if len(run.C) == 0:
        return np.zeros(0)
    return np.maximum.reduceat(run.C, run.stream.rounds[:-1])


def _C(run: Run) -> float:
    used = run.C[run.C > 0]
    if len(used) == 0:
        raise ValueError("No row of this run led to an update, so there is no C to bound it with.")
    if used.min() < used.max():
        raise ValueError(f"The theorems need one C for all rounds, and this run used {used.min()} to {used.max()}.")
    return float(used[0])


def _R(run: Run) -> float:
    given = 0.0 if run.learner.R is None else float(run.learner.R)
    return max(given, math.sqrt(run.n2.max(initial=0.0)))


def _rho(run: Run) -> float:
    active = np.diff(_running((~np.isnan(run.y)).astype(np.float64))[run.stream.rounds])
    return max((float(run.norm.remoteness(int(k))) for k in np.unique(active[active > 0])), default=0.0)


def _scale(run: Run, name: str) -> float:
    """R^2 rho^2, after checking that R bounds all rows."""
    R, given = _R(run), run.learner.R
    if given is not None and R / given > 1 + TOLERANCE and run.algorithm == "infinite-horizon":
        raise ValueError(f"{name} needs |x| <= R, and the run has a row of length {R:g} where R = {given:g}.")
    if R == 0:
        raise ValueError(f"{name} needs a non-zero row.")
    return R**2 * _rho(run) ** 2


def _only(run: Run, name: str, *algorithms: str) -> None:
    if run.algorithm not in algorithms:
        raise ValueError(f"{name} is about {' and '.join(algorithms)}, not about {run.algorithm}.")


def _comparator(run: Run, comparator: ArrayLike) -> Floats:
    if run.learner.kernel is not None:
        raise ValueError("The kernel form has no weights to compare with: record the primal form.")
    W = np.asarray(comparator, dtype=np.float64)
    shape = (run.tasks, run.stream.X.shape[1])
    if W.shape != shape:
        raise ValueError(f"The comparator has shape {W.shape}; it needs {shape}, one row per task as model.weights().")
    return W


def _losses(run: Run, W: Floats) -> Floats:
    """l*: the comparator's loss on every row, 0 on dormant ones."""
    stream, learner = run.stream, run.learner
    X, y = stream.X[stream.row], run.y
    if learner.loss == "uniclass":
        losses = np.maximum(0.0, _distances(X, W, run.task) - learner.epsilon)
    else:
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        s = np.bincount(row, weights=X.data * W[run.task[row], X.indices], minlength=X.shape[0])
        if learner.loss == "hinge":
            losses = np.maximum(0.0, 1 - y * s)
        else:
            losses = np.maximum(0.0, np.abs(y - s) - learner.epsilon)
    return np.where(np.isnan(y), 0.0, losses)


def _distances(X: Any, W: Floats, task: NDArray[np.int64]) -> Floats:
    """|x - w| row by row, dense in chunks: expanding the square would lose half of the digits."""
    step = max(1, CHUNK // max(1, X.shape[1]))
    chunks = [X[at : at + step].toarray() - W[task[at : at + step]] for at in range(0, X.shape[0], step)]
    return np.concatenate([np.zeros(0), *(np.sqrt(np.sum(chunk**2, axis=1)) for chunk in chunks)])
