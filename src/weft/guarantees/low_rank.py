"""The regret of `romco-nucl` against fixed models: Theorem 3 of its paper, evaluated on a run.

Yang, Zhao and Gao (2017). With L_t the sum of the hinge losses of round t, r(U, V) = lam1 |U|_* + lam2 sum_i |v_i| the
penalty (|U|_* is the sum of the singular values) and g_t the gradient of L_t, every comparator (U*, V*) has

    sum_t [L_t + r](U_t, V_t) <= sum_t [L_t + r](U*, V*)
                                 + |U*|^2/(2 eta1) + |V*|^2/(2 eta2) + (eta1 + eta2)/2 sum_t |g_t|^2

where sums run over the rounds in which the penalty was applied: those with a loss, or with `always_prox` all.

Interpretation. The statement lacks the factors 1/2 that its proof has. The proof needs constant steps and a convex
penalty, so there is no such bound for `romco-logd`; and it covers only rounds in which the learner moved, as both
algorithms do nothing in a round without loss.

>>> import numpy as np, weft
>>> rng = np.random.default_rng(0)
>>> X, task = rng.normal(size=(300, 3)), rng.integers(0, 4, 300)
>>> stream = weft.Stream(X, np.where(X[:, 0] > 0, 1, -1), task)
>>> run = record_romco(weft.Model("romco-nucl", tasks=4), stream)
>>> bound = romco_theorem3(run, np.tile([2.0, 0.0, 0.0], (4, 1)), np.zeros((4, 3)))
>>> f"{bound.left:.1f} <= {bound.right:.1f}"
'89.8 <= 165.5'
"""

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike

from weft.guarantees.measures import Floats, Integers, products, rows_of
from weft.guarantees.shared_loss import Bound
from weft.learner import trace_columns
from weft.model import Model
from weft.stream import Stream


class RomcoRun(NamedTuple):
    """The record of a run of `romco-nucl`, row by row; a dormant row has y = NaN and zeros in the last four.

    `moved` is 1 in rounds in which the penalty was applied, `n2` is |x|^2 where the row had a loss, else 0, and
    `penalty` is r(U_t, V_t) at the start of the row's round.
    """

    learner: Any
    X: Any
    y: Floats
    task: Integers
    tasks: int
    rounds: Integers
    scores: Floats
    loss: Floats
    moved: Floats
    n2: Floats
    penalty: Floats


def record_romco(model: Model, stream: Stream) -> RomcoRun:
    """Learn the stream with a new model, and record what the bound needs of every row."""
    learner: Any = model.learner
    if learner.name != "romco-nucl":
        raise ValueError(f"Theorem 3 is about romco-nucl, whose penalty is convex; {learner.name} has no such bound.")
    if learner.schedule != "constant":
        raise ValueError(f"Theorem 3 needs constant steps, and the schedule is {learner.schedule!r}.")
    if model.tally.total["events"] > 0:
        raise ValueError("The bound is about a run from zero weights: record it with a new model.")
    trace = np.zeros((len(stream), len(trace_columns(learner))))
    scores = model.learn(stream, trace=trace)
    batch = model.vocabulary.read(stream)
    loss, moved, n2, penalty = trace.T.copy()
    return RomcoRun(
        learner=learner,
        X=rows_of(batch, len(model.features)),
        y=stream.labels(learner.target),
        task=batch.task,
        tasks=len(model.tasks),
        rounds=batch.rounds,
        scores=scores,
        loss=loss,
        moved=moved,
        n2=n2,
        penalty=penalty,
    )


def romco_theorem3(run: RomcoRun, U: ArrayLike, V: ArrayLike) -> Bound:
    """Both sides of the inequality above, for a comparator with a low-rank and a personal part.

    U and V have a row per task, as `model.weights()`. Yang, Zhao and Gao (2017), Theorem 3 with the factors 1/2 of its
    proof.
    """
    low, personal = _table(run, U, "U"), _table(run, V, "V")
    learner = run.learner
    here = run.moved > 0.0
    first = run.rounds[:-1][np.diff(run.rounds) > 0]
    moved = np.maximum.reduceat(run.moved, first) > 0.0 if len(first) else np.zeros(0, bool)
    penalties = np.maximum.reduceat(run.penalty, first)[moved] if len(first) else np.zeros(0)
    s = products(run.X, low + personal, run.task)
    star = np.maximum(0.0, 1.0 - run.y[here] * s[here]).sum()
    lam1 = learner.rho / learner.eta1
    r = lam1 * np.linalg.svd(low, compute_uv=False).sum() + learner.lam2 * np.linalg.norm(personal, axis=1).sum()
    start = np.sum(low**2) / (2 * learner.eta1) + np.sum(personal**2) / (2 * learner.eta2)
    steps = (learner.eta1 + learner.eta2) / 2 * run.n2.sum()
    return Bound(float(run.loss[here].sum() + penalties.sum()), float(star + moved.sum() * r + start + steps))


def _table(run: RomcoRun, comparator: ArrayLike, name: str) -> Floats:
    W = np.asarray(comparator, dtype=np.float64)
    shape = (run.tasks, run.X.shape[1])
    if W.shape != shape:
        raise ValueError(f"{name} has shape {W.shape}; it needs {shape}, one row per task as model.weights().")
    return W
