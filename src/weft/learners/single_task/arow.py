r"""AROW, one per task: every weight has a confidence, and a weight that has been learned often moves less.

Adaptive Regularization of Weight Vectors: Crammer, Kulesza and Dredze (2009), NIPS. A model is a Gaussian over weights,
N(mu, S), from mu = 0 and S = I on; its score is m = mu.x. An event with y m < 1 takes it to the minimum of

    KL( N(mu', S') || N(mu, S) )  +  max(0, 1 - y mu'.x)^2 / (2 r)  +  x' S' x / (2 r)

over mu' and S', which with v = x' S x is

    beta = 1 / (v + r),    alpha = max(0, 1 - y m) beta,    mu += alpha y S x,    1 / S_jj += x_j^2 / r.

>>> import weft
>>> model = weft.Model("arow")
>>> scores = model.learn(weft.streams.related_tasks(30, 3000, round_size=5))
>>> model.tally.total["error"]
0.249

Interpretation. S is diagonal: a full matrix would have features^2 numbers per task. Its step is the exact minimum of
the objective among diagonal matrices. The minimum among all matrices is S - beta S x x' S; to keep only the diagonal of
that would be another rule, whose variances shrink less. Where y m >= 1 the objective alone would still let S shrink.
The paper changes nothing there, and neither does this. A row of zeros changes nothing either. The state has mu and the
sums q_j of x_j^2 over all steps, S_jj = r / (r + q_j), so that a pair that was never learned holds zeros.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.bundle import Bundle, hold, opened, packed
from weft.compiled.jit import Handle, compiled, inlined_only
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.own_parts import relation_matrix, shares, weight_matrix
from weft.learners.parameters import Real, check, parameter
from weft.maths.losses import HINGE, loss_value
from weft.storage.batch import Batch, learn_single, longest_row, predict_single, record
from weft.storage.own import (
    OwnWeights,
    add_numbers,
    add_squares,
    has_room,
    open_pairs,
    prefetch_numbers,
    read_numbers,
    score,
    score_batch,
    score_rows,
)
from weft.storage.pair_rows import dot_changes
from weft.storage.pairs import Pairs, dense, slot_space
from weft.storage.state import Plan

PLAN = Plan(axes={"weights": ("pair",), "squares": ("pair",)})


@dataclass(frozen=True)
class Arow:
    """One AROW learner per task: adaptive regularisation, with a confidence per weight.

    Take it when features differ in how often they occur, or labels are noisy, and tasks have little in common.

    Classifies. A step is `mu += y l/(x'S x + r) S x`, with l the hinge loss and S the diagonal of variances, and then
    `1/S_jj += x_j^2/r`; the larger r, the slower both.
    """

    name: ClassVar[str] = "arow"
    paper: ClassVar[str] = "Crammer, Kulesza and Dredze 2009"
    plan: ClassVar[Plan] = PLAN
    hooks: ClassVar[Hooks] = Hooks()
    traits: ClassVar[Traits] = Traits(independent=True)
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)

    r: float = parameter(1.0, "how slowly weights move and variances shrink", Real(above=0))

    def __post_init__(self) -> None:
        check(self)

    @property
    def hyper(self) -> "Hyper":
        """The parameters as compiled code takes them."""
        return Hyper(self.r)

    @property
    def kernels(self) -> Kernels:
        return Kernels(_predict, _learn, _predict_one, _learn_one)

    def init(self, tasks: Sequence[Any] = ()) -> "Gaussians":
        return Gaussians(dense(0, 1), np.zeros(0), np.zeros(0))

    def weights(self, state: "Gaussians", tasks: int, features: int) -> Array:
        return weight_matrix(state, PLAN, tasks, features)

    def explain(self, state: "Gaussians", slot: int, tasks: int, indices: Ints) -> Shares:
        return shares(state, slot, indices)

    def relations(self, state: Any, tasks: int) -> Array:
        return relation_matrix(tasks)


class Gaussians(NamedTuple):
    """Per pair: the mean mu_j, and q_j, the sum of x_j^2 over all steps; both are zero until the first."""

    pairs: Pairs
    weights: Floats
    squares: Floats


class Hyper(NamedTuple):
    r: float


@inlined_only
def _step(own: Bundle[OwnWeights], q: Floats, Sx: Floats, i: int, l: float, r: float) -> float:
    """The step of example i, whose hinge loss is l; returns alpha."""
    parts = opened(own)
    mu, y, x, indptr, row = parts.weights, parts.batch.label[i], parts.batch.values, parts.batch.indptr, parts.batch.row
    begin, end = indptr[row[i]], indptr[row[i] + 1]
    open_pairs(parts, i)
    read_numbers(parts, q, i, Sx)  # first q_j, then S_jj x_j with S_jj = r / (r + q_j)
    for e in range(np.uint64(0), np.uint64(end - begin)):
        Sx[e] = r / (r + Sx[e]) * x[np.uint64(begin) + e]
    v = dot_changes(Sx, x, begin, end)
    alpha = l / (v + r)
    add_numbers(parts, mu, i, Sx, alpha * y)
    add_squares(parts, q, i)
    return alpha


@compiled
def _predict(hyper: Hyper, state: Gaussians, batch: Batch, scores: Floats) -> None:
    score_batch(state.pairs, state.weights, batch, False, scores)


@compiled
def _learn(hyper: Hyper, state: Gaussians, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    pairs, weights, q = state
    parts, Sx = OwnWeights(pairs, weights, False, batch, slot_space(pairs, batch)), np.empty(longest_row(batch))
    own, label, rounds, r = packed(parts), batch.label, batch.rounds, hyper.r
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        if not has_room(own, lo, hi):
            return t
        if hi - lo > 1:  # all of a round is scored before any of it is learned
            score_rows(own, lo, hi, scores)
        for i in range(lo, hi):
            prefetch_numbers(own, q, i)
            m, n2 = score(own, i)
            if hi - lo == 1:
                scores[i] = m
            if np.isnan(label[i]):
                continue
            l = loss_value(HINGE, m, label[i], 0.0)
            alpha = _step(own, q, Sx, i, l, r) if l > 0.0 and n2 > 0.0 else 0.0
            record(trace, i, l, alpha, n2, r)
    hold(parts)
    return len(rounds) - 1


@compiled
def _predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(_predict, handle, task, count)


@compiled
def _learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(_learn, handle, task, label, count)
