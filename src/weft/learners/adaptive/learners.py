r"""Learners without parameters: own and shared parts that find their own scale, and a default that does no harm.

**adaptive** keeps every task's model, own part + shared part, twice: moved by AdaGrad steps (Duchi, Hazan and Singer
2011), and by coin betting, which has no rate (COCOB; Orabona and Tommasi 2017). Two weights that are learned themselves
add the two scores. **auto** adds a model of the task alone and one of all rows to that *stack*. Above it, every task
mixes {stack, own, pooled}, and is at any time within some nats of the best of them (`harmless`).

Rows are brought to a scale of their own (`row_scaling`), and in regression labels as well
(`target_frame`). Nothing is tuned by the user.

>>> import weft
>>> model = weft.Model("auto")
>>> for x, y, task in [({"x": 1, "f": 2}, 1, "a"), ({"x": 3}, -1, "b"), ({"x": 2, "f": 1}, 1, "a")]:
...     score = model.learn_one(x, y, task)
>>> round(score, 6), round(float(model.predict_proba([{"x": 0.5, "f": 4}], ["a"])[0]), 6)
(0.306727, 0.769715)

Reading. The constants were chosen on sixteen streams of several kinds (`docs/default.md`). An expert's score is clipped
before it enters the stack, with squared loss as well: one outlier in a column that was tiny for long would otherwise
end in infinities. An event without a label is scored and not counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.learner import Borrowed, Hooks, Kernels, Shares, Target, Traits
from weft.learners.adaptive.events import learn, learn_one, look, predict, predict_one
from weft.learners.adaptive.experts import ALPHA, TH, G, L, R
from weft.learners.adaptive.harmless import COST, ETA, LOSS, PRIOR, mixture
from weft.learners.adaptive.parts import BETTING, GRADIENT, OTHER
from weft.learners.adaptive.state import EVENTS_OF_TASK, WEIGHT, Hyper, Parts, V, blank, plan
from weft.learners.parameters import Choice, Flag, Real, check, parameter
from weft.maths.losses import CODES
from weft.storage.batch import Batch
from weft.storage.pairs import HASHED, find_row
from weft.storage.state import Plan, live

RATES = {"logistic": 0.4, "square": 0.2}

EXPERTS = Traits(conservative=False, relates=False, reads_unknown=True)
"""Experts have losses of their own, whatever their mixture loses."""


@dataclass(frozen=True)
class _Default:
    """What both share."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Duchi et al. 2011, Orabona and Tommasi 2017"
    auto: ClassVar[bool]
    traits: ClassVar[Traits]
    hooks: ClassVar[Hooks] = Hooks()

    loss: str = parameter("logistic", "logistic classifies, square predicts a number", Choice(tuple(RATES)))
    own_prior: float = parameter(
        0.0,
        "weight on a task's own parts at their start: more lets young tasks rely on the others longer",
        Real(at_least=0),
    )
    second_order: bool = parameter(
        False, "an expert that learns how the first 32 dense features are correlated, O(32^2) an event", Flag()
    )
    half_life: float = parameter(
        math.inf,
        "events after which what was learned counts half, for streams that drift",
        Real(at_least=1, infinite=True),
    )

    def __post_init__(self) -> None:
        check(self)

    @property
    def target(self) -> Target:
        return "binary" if self.loss == "logistic" else "real"

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], 0.0

    @property
    def plan(self) -> Plan:
        return plan(self.auto, self.second_order)

    @property
    def hyper(self) -> Hyper:
        """The parameters as compiled code takes them."""
        growth = 2.0 ** (1.0 / self.half_life)
        return Hyper(self.auto, self.loss == "square", self.second_order, RATES[self.loss], self.own_prior, growth)

    @property
    def kernels(self) -> Kernels:
        return Kernels(predict, learn, predict_one, learn_one)

    def init(self, tasks: Sequence[Any] = ()) -> Parts:
        return blank(self.second_order)

    # --- what was learned ---

    def _shared(self, state: Parts, features: Any) -> Floats:
        """The stack's shared weights of some features."""
        found = self._stacked(state, state.features[features])
        if self.auto:
            found += state.stack[V, 3] * state.pooled[features, 0]
        if self.second_order:
            seats = state.seat[features]
            found += np.where(seats > 0, state.stack[V, 4] * state.seated[seats], 0.0)
        return found

    def _stacked(self, state: Parts, parts: Floats) -> Floats:
        """Weights of the stack from rows of parts: V times gradient and betting."""
        v = state.stack[V]
        found: Floats = v[0] * parts[:, GRADIENT] + v[1] * bets(parts, state.totals[WEIGHT])
        return found

    def _own(self, state: Parts, parts: Floats) -> Floats:
        """The same of own parts, with the own expert."""
        found = self._stacked(state, parts)
        return found + state.stack[V, 2] * parts[:, OTHER] if self.auto else found

    def weights(self, state: Parts, tasks: int, features: int) -> Array:
        """Of the stack, for rows on their own scale."""
        shared = self._shared(state, slice(0, features))
        found = np.tile(shared, (tasks, 1))
        parts = live(state, self.plan, tasks, features)
        found[parts["pairs"][:, 0], parts["pairs"][:, 1]] += self._own(state, parts["own"])
        return found

    def relations(self, state: Parts, tasks: int) -> Array:
        raise ValueError(
            f"{self.name} relates every task to a shared part, and no task to another; model.explain says how much "
            "of a score is shared, and model.borrowing() of auto how much each task relies on the others"
        )

    def explain(self, state: Parts, slot: int, tasks: int, indices: Ints) -> Shares:
        """Weights of the stack for some features, on the scale of the rows."""
        shared = self._shared(state, indices)
        own = self._own(state, self._pairs(state, slot, indices))
        return Shares(own, shared, np.zeros(0, np.int64), np.zeros((0, len(indices))))

    def _pairs(self, state: Parts, slot: int, indices: Ints) -> Floats:
        """Own parts of a task, zeros where a pair was never opened."""
        found = np.zeros((len(indices), state.own.shape[1]))
        layout = state.pairs.layout
        slots = np.full(len(indices), -1, np.int64)
        if layout[HASHED]:
            find_row(state.pairs.keys, state.pairs.table, state.own, slot, indices, 0, len(indices), slots)
        else:
            slots = slot * layout[0] + indices
        found[slots >= 0] = state.own[slots[slots >= 0]]
        return found

    def seen_row(self, state: Parts, batch: Batch) -> tuple[Ints, Floats, float, float, float]:
        """One row as the learner sees it: features and scaled values, own and shared bias, the stack's score."""
        features, values, s = look(self.hyper, state, batch)
        slot = int(batch.task[0])
        own = self._own(state, state.own_bias[slot : slot + 1])
        shared = self._stacked(state, state.bias)
        if self.auto:
            shared += state.stack[V, 3] * state.bias[:, OTHER]
        if self.second_order:
            shared += state.stack[V, 4] * state.seated[0]
        return features, values, float(own[0]), float(shared[0]), float(s)


@dataclass(frozen=True)
class Adaptive(_Default):
    """Own and shared parts, moved by gradient steps and by betting: a strong linear learner without parameters."""

    name: ClassVar[str] = "adaptive"
    traits: ClassVar[Traits] = replace(EXPERTS, trace=("loss", "gradient", "betting", "stack"))
    auto: ClassVar[bool] = False


@dataclass(frozen=True)
class Auto(_Default):
    """The default: `adaptive`, own and pooled models stacked, and for every task a layer that does no harm."""

    name: ClassVar[str] = "auto"
    traits: ClassVar[Traits] = replace(EXPERTS, trace=("loss", "stack", "own", "pooled"))
    auto: ClassVar[bool] = True

    def mixed(self, state: Parts, slot: int) -> dict[str, float]:
        """The weights of a task's mixture."""
        w = np.zeros(4)
        mixture(state.tasks, slot, self.hyper.square, w)
        return dict(zip(("stack", "own", "pooled"), w.tolist(), strict=False))

    def borrowing(self, state: Parts, tasks: int) -> list[Borrowed]:
        """How much every task relies on the stack, on itself and on all, and what is certain about its losses."""
        found, w = [], np.zeros(4)
        for k in range(tasks):
            row = state.tasks[k]
            mixture(state.tasks, k, self.hyper.square, w)
            eta = (row[ETA] if row[EVENTS_OF_TASK] else 1.0) if self.hyper.square else 1.0
            losses = row[LOSS : LOSS + 4].tolist()
            bounds = [losses[i] + math.log(1.0 / PRIOR[i]) / eta + row[COST] for i in range(3)]
            figures = [*w[:3].tolist(), *losses, min(bounds) - losses[3]]
            found.append(Borrowed._make([int(row[EVENTS_OF_TASK]), *figures]))
        return found


def bets(parts: Floats, weight: float) -> Floats:
    """`experts.bet` of many rows."""
    th, g, largest, won = (parts[:, BETTING + at] for at in (TH, G, L, R))
    largest = np.where(largest > 0.0, weight * largest, 1.0)
    found: Floats = th / np.maximum(g + largest, ALPHA * largest) * ((largest + won) / largest)
    return found
