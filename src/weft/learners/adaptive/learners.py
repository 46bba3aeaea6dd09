r"""Learners without parameters: own and shared parts that find their own scale, and a default that does no harm.

**adaptive** keeps every task's model, own part + shared part, twice: as an expert that takes AdaGrad steps (Duchi,
Hazan and Singer 2011), and as one that bets on coins, which has no rate (COCOB; Orabona and Tommasi 2017, Alg. 2). A
*stack* adds the two scores by weights that are learned themselves. **auto** adds two experts to the stack, a model of
the task alone (own) and one of all rows (pooled), and mixes {stack, own, pooled} for every task: the *do-no-harm
layer*, whose loss is at any time close to that of the best of the three.

The whole rule, for the scaled row z (`row_scaling`; its last entry is 1, the bias) of task k and the scaled label u
(`label_scaling`; 0 or 1 with log-loss):

    scores       e_gradient = sum_j (w_kj + w_0j) z_j      e_betting = sum_j (b_kj + b_0j) z_j
                 e_own      = sum_j v_kj z_j               e_pooled  = sum_j v_0j z_j              (`scoring`)
    stack        s = sum_m V_m c_m,   c_m = clip(e_m, 8)                                           (`stacking`)
    prediction   p = sum_i w_i g_i over i in {stack, own, pooled};   g = sigma(s), sigma(c_own), sigma(c_pooled)
                 (`adaptive`: p = sigma(s); with squared loss there is no sigma)                   (`do_no_harm`)

    mixture      w_i <- (1 - a) w_i l_i / sum_i w_i l_i + a prior_i,   l_i the likelihood of u by g_i
    stack        h_m = (sigma(s) - u) c_m,   H_m += h_m^2,   V_m -= 0.1 h_m / sqrt(H_m)
    experts      h_j = (sigma(e_m) - u) z_j, of every expert m its own                             (`updating`)
                 w_j, v_j: AdaGrad with rate eta;   b_j: coin betting                              (`experts`)

w_k, b_k, v_k are the task's own parts, w_0, b_0, v_0 the shared ones. `second_order` adds a fifth expert to the stack.
With `effort="balanced"` and `"best"` the stack of `auto` has further experts, which enter it with the weight 0; each
learns from its own error alone, and the do-no-harm layer with its bound is the same (`further_experts`). The first
experts keep a stack of their own, and the stack's score is mixed from both (`two_stacks`).

The weight of an event multiplies the gradients of the stack and of all experts, and the events that `bayes` counts; it
multiplies the rate of `level`, up to 1, and divides the variance of the label in `second`. Statistics of rows and
labels, and the do-no-harm layer, count an event of any weight above 0 once; an event of weight 0 changes nothing.
`events.score_event` and `events.learn_event` are these steps in code. Nothing is tuned by the user.

>>> import weft
>>> model = weft.Model("auto", effort="fast")
>>> for x, y, task in [({"x": 1, "f": 2}, 1, "a"), ({"x": 3}, -1, "b"), ({"x": 2, "f": 1}, 1, "a")]:
...     score = model.learn_one(x, y, task)
>>> round(score, 6), round(float(model.predict_proba([{"x": 0.5, "f": 4}], ["a"])[0]), 6)
(0.306727, 0.769715)

Interpretation. The constants were chosen on sixteen streams of several kinds (`docs/default.md`). An expert's score is
clipped before it enters the stack, with squared loss as well: otherwise one outlier in a column that was tiny for long
would lead to infinities. An event without a label is scored and not counted.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.learner import Borrowed, Hooks, Kernels, SeenRow, Shares, Target, Traits
from weft.learners.adaptive.do_no_harm import PRIOR, mixture_weights
from weft.learners.adaptive.events import learn, learn_one, predict, predict_one, scaled_row
from weft.learners.adaptive.exchanging import exchange, reason
from weft.learners.adaptive.experts import FLOOR
from weft.learners.adaptive.explaining import amounts, biases, further_weights, own_parts, own_weights, shared_weights
from weft.learners.adaptive.plan import blank, plan
from weft.learners.adaptive.state import COMPONENTS, Component, Expert, Hyper, State, Task
from weft.learners.adaptive.two_stacks import weights_of_stack
from weft.learners.parameters import Choice, Flag, Parsed, Real, check, parameter
from weft.maths.losses import CODES
from weft.storage.batch import Batch
from weft.storage.saving import live
from weft.storage.state import Plan

RATES = {"logistic": 0.4, "square": 0.2}
"""eta of AdaGrad steps."""

NAMES = ("forget", "bayes", "low_rank", "level", "second", "grid", "fading")
"""The experts that there are beside the first four, in the order of the stack."""
EFFORTS = {"fast": (), "balanced": (*NAMES[:4], "grid"), "best": NAMES}
"""Which of them an effort has; those of CLASSIFY with log-loss only."""
CLASSIFY = ("bayes", "fading")
FIRST = {"gradient": Expert.GRADIENT, "betting": Expert.BETTING, "own": Expert.OWN, "pooled": Expert.POOLED}
FURTHER = {
    "forget": (Expert.FORGET, "forget"),
    "bayes": (Expert.BAYES, "bayes"),
    "low_rank": (Expert.LOW_RANK, "low_rank"),
    "level, rate 0.5": (Expert.LEVEL, "level"),
    "level, rate 0.1": (Expert.LEVEL + 1, "level"),
    "level, rate 0.02": (Expert.LEVEL + 2, "level"),
    "second, own": (Expert.SECOND_OWN, "second"),
    "second, pooled": (Expert.SECOND_POOLED, "second"),
    "grid": (Expert.GRID, "grid"),
    "fading": (Expert.FADING, "fading"),
}
"""Where experts are in the stack, by the names under which a model shows them."""
RANKS = {"fast": 16, "balanced": 8, "best": 16}
"""Of the low-rank expert."""

_TRAITS = Traits(
    conservative=False,
    relates=False,
    reads_unknown=True,
    takes_weights=True,
    reads_missing=True,
    has_policies=True,
)
"""Not conservative: every expert learns from its own loss, also where the prediction has none."""


def _read_experts(value: Any) -> tuple[str, ...] | None:
    """Names in the order of the stack, none twice."""
    if value is None:
        return None
    given = list(value) if isinstance(value, (list, tuple)) else []
    if not given:
        raise ValueError("give at least one name, or effort='fast' for none")
    if unknown := [name for name in given if name not in NAMES]:
        raise ValueError(f"there is no expert {unknown[0]!r}")
    return tuple(name for name in NAMES if name in given)


@dataclass(frozen=True)
class _Default:
    """What `adaptive` and `auto` have in common."""

    name: ClassVar[str]
    paper: ClassVar[str] = "Duchi et al. 2011, Orabona and Tommasi 2017"
    auto: ClassVar[bool]
    trace: ClassVar[tuple[str, ...]]
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
    def traits(self) -> Traits:
        cannot = reason(self.hyper)
        return replace(
            _TRAITS, trace=self.trace, exchange=None if cannot else exchange(self.hyper), cannot_shard=cannot
        )

    @property
    def target(self) -> Target:
        return "binary" if self.loss == "logistic" else "real"

    @property
    def tally_loss(self) -> tuple[int, float]:
        return CODES[self.loss], 0.0

    @property
    def plan(self) -> Plan:
        return plan(self.hyper)

    @property
    def hyper(self) -> Hyper:
        """The parameters as compiled code takes them."""
        growth = 2.0 ** (1.0 / self.half_life)
        return Hyper(self.auto, self.loss == "square", self.second_order, RATES[self.loss], self.own_prior, growth)

    @property
    def kernels(self) -> Kernels:
        return Kernels(predict, learn, predict_one, learn_one)

    def init(self, tasks: Sequence[Any] = ()) -> State:
        return blank(self.hyper)

    # --- what was learned ---

    def weights(self, state: State, tasks: int, features: int) -> Array:
        """Of the stack, for scaled rows."""
        found = further_weights(self.hyper, state, tasks, features)
        found += shared_weights(self.hyper, state, slice(0, features))
        arrays = live(state, self.plan, tasks, features)
        found[arrays["pairs"][:, 0], arrays["pairs"][:, 1]] += own_weights(self.hyper, state, arrays["own"])
        return found

    def relations(self, state: State, tasks: int) -> Array:
        raise ValueError(
            f"{self.name} relates every task to a shared part, and no task to another; model.explain says how much "
            "of a score is shared, and model.borrowing() of auto how much each task relies on the others"
        )

    def explain(self, state: State, slot: int, tasks: int, indices: Ints) -> Shares:
        """Weights of the stack for some features, for scaled rows."""
        shared = shared_weights(self.hyper, state, indices)
        own = own_weights(self.hyper, state, own_parts(state, slot, indices))
        return Shares(own, shared, np.zeros(0, np.int64), np.zeros((0, len(indices))))

    def seen_row(self, state: State, batch: Batch) -> SeenRow:
        """One row as the learner sees it."""
        features, values, e, scales = scaled_row(self.hyper, state, batch)
        slot = int(batch.task[0])
        biased = biases(self.hyper, state, slot)
        shares = self.explain(state, slot, 0, features)
        parts = float(shares.own @ values) + biased[0], float(shares.shared @ values) + biased[1]
        found = amounts(self.hyper, state, e, scales, parts)
        return SeenRow(features, values, *biased, *parts, float(scales.answer), found)


@dataclass(frozen=True)
class Adaptive(_Default):
    """Own and shared parts, learned by gradient steps and by betting: a strong linear learner without parameters.

    Take it when you want own and shared parts without the layers above them.

    Own and shared parts of every weight, learned twice: by AdaGrad steps, and by coin betting, which has no rate. Two
    learned weights add the two scores. Rows are scaled as they arrive. The options are those of `auto`.
    """

    name: ClassVar[str] = "adaptive"
    trace: ClassVar[tuple[str, ...]] = ("loss", "gradient", "betting", "stack")
    auto: ClassVar[bool] = False


@dataclass(frozen=True)
class Auto(_Default):
    """The default: `adaptive`, own and pooled models stacked, and for every task a layer that does no harm.

    Take it when in doubt: always start here.

    The default of `weft.Model()`. `adaptive`, an own model of the task and a model pooled over all tasks, added up by
    four learned weights; on top, every task mixes {stack, own, pooled} so that its loss exceeds that of the best of
    them by at most a few nats. How it works, its guarantee, its figures: `docs/default.md`.
    """

    name: ClassVar[str] = "auto"
    trace: ClassVar[tuple[str, ...]] = ("loss", "stack", "own", "pooled")
    auto: ClassVar[bool] = True

    effort: str = parameter(
        "balanced",
        "how many experts: fast has four, balanced some that cost little more, best all of them",
        Choice(tuple(EFFORTS)),
    )
    experts: tuple[str, ...] | None = parameter(
        None,
        "for research: exactly these experts beside the four of fast, whatever the effort",
        Parsed(f"a list of some of {', '.join(NAMES)}, or None", _read_experts),
    )

    def __post_init__(self) -> None:
        check(self)
        chosen = () if self.experts is None or self.loss == "logistic" else self.experts
        if found := [name for name in chosen if name in CLASSIFY]:
            raise ValueError(
                f"auto: the expert {found[0]} classifies; leave it out of experts, or take loss='logistic'"
            )
        if self.second_order and self.hyper.second:
            raise ValueError("auto: the expert second has the matrix of second_order=True already; leave that out")

    @property
    def hyper(self) -> Hyper:
        """The parameters as compiled code takes them."""
        names = EFFORTS[self.effort] if self.experts is None else self.experts
        chosen = {name: name in names and (name not in CLASSIFY or self.loss == "logistic") for name in NAMES}
        rank = RANKS[self.effort] if chosen["low_rank"] else 0
        wide = any(chosen.values())
        return super().hyper._replace(wide=wide, floor=FLOOR if wide else 0.0, rank=rank, **chosen)

    def mixed(self, state: State, slot: int) -> dict[str, float]:
        """The weights of a task's mixture."""
        w = np.zeros(COMPONENTS)
        mixture_weights(state.tasks, slot, self.hyper.square, w)
        return dict(zip(("stack", "own", "pooled"), w.tolist(), strict=True))

    def stacked(self, state: State) -> dict[str, float]:
        """The experts that there are, and their weights in the stack."""
        hyper, weights = self.hyper, weights_of_stack(state.stack, self.hyper.square)
        found = {name: float(weights[at]) for name, at in FIRST.items()}
        if hyper.second_order:
            found["second_order"] = float(weights[Expert.SECOND_ORDER])
        chosen = hyper._asdict()
        return found | {name: float(weights[at]) for name, (at, of) in FURTHER.items() if chosen[of]}

    def borrowing(self, state: State, tasks: int) -> list[Borrowed]:
        """How much every task relies on the stack, on itself and on all, and its guaranteed margin (nats)."""
        found, w, square = [], np.zeros(COMPONENTS), self.hyper.square
        for k in range(tasks):
            row = state.tasks[k]
            mixture_weights(state.tasks, k, square, w)
            eta = row[Task.ETA] if square and row[Task.EVENTS] else 1.0
            losses = row[Task.LOSS :].tolist()
            bounds = [losses[i] + math.log(1.0 / PRIOR[i]) / eta + row[Task.COST] for i in range(COMPONENTS)]
            figures = [*w.tolist(), *losses, min(bounds) - losses[Component.MIXTURE]]
            found.append(Borrowed._make([int(row[Task.EVENTS]), *figures]))
        return found
