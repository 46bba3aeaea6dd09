r"""Collaborative learners: every task has a model of its own, which is drawn to one global model at each step.

**coml** (Li, Hoi, Chang, Liu and Jain 2014): a global PA-I model w, and for every task a model u_k. An event with
y u_k.x < 1 takes u_k to the least of e1/2 |u - u_k|^2 + e2/2 |u - w|^2 + C max(0, 1 - y u.x), which is

    m = (e1 u_k + e2 w)/(e1 + e2),    u_k <- m + min(C/(e1 + e2), l(m)/|x|^2) y x

**cw-col** is the same with confidence: models are Gaussians with a variance per feature, N(u_k, S_k) and N(w, S), from
variance 1 on. The prior of a step mixes both by their precisions, with the weights `mix` and 1 - `mix`, and the step is
AROW's (Crammer, Kulesza and Dredze 2009): with l = max(0, 1 - y m.x),

    u_k <- m + y l/(x'S x + r) S x,    S^-1 <- S^-1 + x x'/r  on the diagonal.

In both w then takes a step of the same kind by itself; u_k meets w as it was before the event.

>>> import weft
>>> model = weft.Model("coml", e2=3.0)
>>> model.learn_one({"free": 1.0}, +1, "ann"), model.learn_one({"free": 1.0}, +1, "bob")
(0.0, 0.0)
>>> model.weights().tolist(), model.outliers().tolist()
([[0.25], [1.0]], [0.75, 0.0])

Reading. Yang, Zhao and Gao (2017) compare themselves with both, and define neither; `coml` follows its own paper, and
`cw-col` is derived here from the sentence that the models are confidence-weighted. With e2 = 0 `coml` is `pa`. The
personal model predicts, so that a new task begins with scores of 0, and takes the global model in with its first step.
Rows of zeros change nothing. In a round of several rows all are scored, then every row looks at its margins again.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper
from weft.learner import Hooks, Kernels, Shares, Target, Traits
from weft.learners.collaborative.scores import margin, table_margin, table_scores
from weft.learners.parameters import Bytes, Real, check, parameter
from weft.learners.task_matrix import LIMIT, refuse_tables
from weft.maths.losses import HINGE
from weft.maths.similarity import cosines
from weft.storage.batch import Batch, set_single, squared_norm, status
from weft.storage.state import Plan


class Models(NamedTuple):
    """Personal and global weights."""

    u: Floats
    w: Floats


class Gaussians(NamedTuple):
    """Means of the personal models and of the global one, and their precisions less 1."""

    u: Floats
    w: Floats
    personal: Floats
    shared: Floats


@dataclass(frozen=True)
class _Collaborative:
    """What both have in common."""

    name: ClassVar[str]
    tables: ClassVar[int]
    traits: ClassVar[Traits] = Traits(similarities=True, keeps_integers=False)
    target: ClassVar[Target] = "binary"
    tally_loss: ClassVar[tuple[int, float]] = (HINGE, 0.0)

    def __post_init__(self) -> None:
        check(self)

    @property
    def hooks(self) -> Hooks:
        return Hooks(refuse=self.refuse)

    def refuse(self, tasks: int, features: int) -> None:
        """Too many tasks or features for whole tables."""
        refuse_tables(self, tasks, features, self.tables)

    def weights(self, state: Any, tasks: int, features: int) -> Array:
        found: Array = state.u[:tasks, :features].copy()
        return found

    def relations(self, state: Any, tasks: int) -> Array:
        """Cosines between the tasks' models; tasks are tied to the global model only, see `outliers`."""
        return cosines(state.u[:tasks])

    def outliers(self, state: Any, tasks: int, features: int) -> Floats:
        """How far every personal model is from the global one."""
        away: Floats = np.linalg.norm(state.u[:tasks, :features] - state.w[:features], axis=1)
        return away

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        """The global model is shared, and a task's own is what it has beyond; a new task has nothing yet."""
        own, shared = np.zeros(len(indices)), np.zeros(len(indices))
        if slot < tasks:
            shared = state.w[indices]
            own = state.u[slot, indices] - shared
        return Shares(own, shared, np.zeros(0, np.int64), np.zeros((0, len(indices))))


@dataclass(frozen=True)
class Coml(_Collaborative):
    """Personal Passive-Aggressive models that are drawn to a global one."""

    name: ClassVar[str] = "coml"
    paper: ClassVar[str] = "Li et al. 2014"
    tables: ClassVar[int] = 1
    plan: ClassVar[Plan] = Plan(axes={"u": ("task", "feature"), "w": ("feature",)})

    C: float = parameter(1.0, "aggressiveness: the largest step of the global model", Real(above=0))
    e1: float = parameter(1.0, "how much a personal model keeps to itself", Real(above=0, at_most=1e100))
    e2: float = parameter(1.0, "how much it is drawn to the global model", Real(at_least=0, at_most=1e100))
    matrix_limit: int = parameter(LIMIT, "the most bytes for a table of tasks x features", Bytes())

    @property
    def hyper(self) -> "ComlHyper":
        """The parameters as compiled code takes them."""
        return ComlHyper(self.C, self.e1, self.e2)

    @property
    def kernels(self) -> Kernels:
        return Kernels(_coml_predict, _coml_learn, _coml_predict_one, _coml_learn_one)

    def init(self, tasks: Sequence[Any] = ()) -> Models:
        return Models(np.zeros((0, 0)), np.zeros(0))


@dataclass(frozen=True)
class CwCol(_Collaborative):
    """Personal confidence-weighted models that are drawn to a global one."""

    name: ClassVar[str] = "cw-col"
    paper: ClassVar[str] = "Yang, Zhao and Gao 2017"
    tables: ClassVar[int] = 2
    plan: ClassVar[Plan] = Plan(
        axes={"u": ("task", "feature"), "w": ("feature",), "personal": ("task", "feature"), "shared": ("feature",)}
    )

    r: float = parameter(1.0, "how slowly steps and variances shrink", Real(above=0))
    mix: float = parameter(
        0.5, "weight of the personal model in the prior of a step; 1: no global model", Real(at_least=0, at_most=1)
    )
    matrix_limit: int = parameter(LIMIT, "the most bytes for two tables of tasks x features", Bytes())

    @property
    def hyper(self) -> "CwColHyper":
        """The parameters as compiled code takes them."""
        return CwColHyper(self.r, self.mix)

    @property
    def kernels(self) -> Kernels:
        return Kernels(_cw_predict, _cw_learn, _cw_predict_one, _cw_learn_one)

    def init(self, tasks: Sequence[Any] = ()) -> Gaussians:
        return Gaussians(np.zeros((0, 0)), np.zeros(0), np.zeros((0, 0)), np.zeros(0))


class ComlHyper(NamedTuple):
    C: float
    e1: float
    e2: float


class CwColHyper(NamedTuple):
    r: float
    mix: float


@helper
def _note(trace: Floats, i: int, s: float, y: float, n2: float, letter: float) -> None:
    """The loss, whether the personal model moves, |x|^2, and C or r."""
    if trace.shape[0]:
        moves = 1.0 if y * s < 1.0 and n2 > 0.0 else 0.0
        trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3] = max(0.0, 1.0 - y * s), moves, n2, letter


# --- coml ------------------------------------------------------------------------------------------------------------


@compiled
def _coml_predict(hyper: ComlHyper, state: Models, batch: Batch, scores: Floats) -> None:
    table_scores(state.u, batch, 0, len(scores), scores)


@compiled
def _coml_learn(hyper: ComlHyper, state: Models, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    C, e1, e2 = hyper
    u, w = state
    task, label, row, indptr, indices, values, rounds = batch
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        table_scores(u, batch, lo, hi, scores)
        for i in range(lo, hi):
            k, y, begin, end = task[i], label[i], indptr[row[i]], indptr[row[i] + 1]
            if np.isnan(y):
                continue
            n2 = squared_norm(values, begin, end)
            _note(trace, i, scores[i], y, n2, C)
            if n2 == 0.0:
                continue
            s = margin(w, indices, values, begin, end)  # before this example
            if y * scores[i] < 1.0:
                if e2 > 0.0:  # without it nothing is mixed
                    for f in range(u.shape[1]):
                        u[k, f] = (e1 * u[k, f] + e2 * w[f]) / (e1 + e2)
                l = max(0.0, 1.0 - y * table_margin(u, k, indices, values, begin, end))
                tau = min(C / (e1 + e2), l / n2)
                for e in range(begin, end):
                    u[k, indices[e]] += tau * y * values[e]
            tau = min(C, max(0.0, 1.0 - y * s) / n2)
            for e in range(begin, end):
                w[indices[e]] += tau * y * values[e]
    return len(rounds) - 1


@compiled
def _coml_predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        _coml_predict(hyper, state, batch, scores)
    return bad


@compiled
def _coml_learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(_coml_learn(hyper, state, batch, batch.rounds[0], scores, trace))


# --- cw-col ----------------------------------------------------------------------------------------------------------


@compiled
def _cw_predict(hyper: CwColHyper, state: Gaussians, batch: Batch, scores: Floats) -> None:
    table_scores(state.u, batch, 0, len(scores), scores)


@compiled
def _cw_learn(hyper: CwColHyper, state: Gaussians, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    r, mix = hyper
    u, w, personal, shared = state
    task, label, row, indptr, indices, values, rounds = batch
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        table_scores(u, batch, lo, hi, scores)
        for i in range(lo, hi):
            k, y, begin, end = task[i], label[i], indptr[row[i]], indptr[row[i] + 1]
            if np.isnan(y):
                continue
            n2 = squared_norm(values, begin, end)
            _note(trace, i, scores[i], y, n2, r)
            if n2 == 0.0:
                continue
            if y * scores[i] < 1.0:
                for f in range(u.shape[1]):
                    own, other = mix * (1.0 + personal[k, f]), (1.0 - mix) * (1.0 + shared[f])
                    u[k, f] = (own * u[k, f] + other * w[f]) / (own + other)
                    personal[k, f] = mix * personal[k, f] + (1.0 - mix) * shared[f]
                l = 1.0 - y * table_margin(u, k, indices, values, begin, end)
                if l > 0.0:
                    spread = r
                    for e in range(begin, end):
                        spread += values[e] * values[e] / (1.0 + personal[k, indices[e]])
                    for e in range(begin, end):
                        f = indices[e]
                        u[k, f] += y * l / spread * values[e] / (1.0 + personal[k, f])
                        personal[k, f] += values[e] * values[e] / r
            l = 1.0 - y * margin(w, indices, values, begin, end)
            if l > 0.0:
                spread = r
                for e in range(begin, end):
                    spread += values[e] * values[e] / (1.0 + shared[indices[e]])
                for e in range(begin, end):
                    f = indices[e]
                    w[f] += y * l / spread * values[e] / (1.0 + shared[f])
                    shared[f] += values[e] * values[e] / r
    return len(rounds) - 1


@compiled
def _cw_predict_one(handle: Handle, task: int, count: int) -> int:
    hyper, state, batch, scores, _ = handle.parts
    bad = set_single(batch, task, 0.0, count)
    if bad < 0:
        _cw_predict(hyper, state, batch, scores)
    return bad


@compiled
def _cw_learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    hyper, state, batch, scores, trace = handle.parts
    bad = set_single(batch, task, label, count)
    return bad if bad >= 0 else status(_cw_learn(hyper, state, batch, batch.rounds[0], scores, trace))
