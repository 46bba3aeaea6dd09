"""Explanation: a score split into what the task taught itself, what all share, and what each neighbour taught it.

The parts of a linear learner's score are sums over the row's features, and are read for these features alone.

>>> import weft
>>> model = weft.Model("mt-ogd", b=1.0, eta=0.5, loss="square", tasks=["ann", "bob"])
>>> model.learn_one({"free": 1.0}, 2.0, "ann"), model.learn_one({"free": 1.0, "offer": 1.0}, 2.0, "bob")
(0.0, 0.5)
>>> print(model.explain({"free": 1.0, "offer": 2.0}, "ann", per_feature=True))
score of ann    +2.625
  own           +1.000
  shared        +1.625
<BLANKLINE>
feature         total       own    shared
  free         +1.875    +1.000    +0.875
  offer        +0.750    +0.000    +0.750
"""

from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.inspection.views import Mixes, ScalesRows, expect_explains
from weft.learner import Learner, SeenRow, Shares
from weft.names import Name, show_name
from weft.storage.batch import Batch
from weft.text import html
from weft.vocabulary import Vocabulary

BIAS = "(bias)"
"""What the constant that is added to every row is called."""

MOST_SHOWN = 10
"""So many neighbours and features are printed."""

AT_ONCE = 4_000_000
"""Most numbers that are read of one task at a time."""


class FeatureParts(NamedTuple):
    """What one feature of a row adds to the score."""

    own: float
    shared: float
    neighbours: float

    @property
    def total(self) -> float:
        """All that it adds."""
        return self.own + self.shared + self.neighbours


class Explanation(NamedTuple):
    """A score and its parts: own + shared + all neighbours.

    `neighbours` says what each other task adds, on graphs between named tasks, the largest first; who adds nothing is
    left out. `features` says the same feature by feature, if that was asked for, else it is empty. `auto` and
    `adaptive` have other parts beside these: `amounts` has all of them, in the units of the score, and `own`, `shared`
    and `features` are in those of the stack. `auto` mixes its stack with an own and a pooled model: `mixture` has their
    weights. `parts` adds up to the score, of any learner.
    """

    task: Name
    score: float
    own: float
    shared: float
    neighbours: dict[Name, float]
    features: dict[Name, FeatureParts]
    mixture: dict[str, float] = {}  # noqa: RUF012
    amounts: dict[str, float] = {}  # noqa: RUF012

    @property
    def parts(self) -> dict[str, float]:
        """Named amounts that add up to the score, the largest first."""
        found = self.amounts or {
            "own": self.own,
            "shared": self.shared,
            **{f"from {show_name(name)}": value for name, value in self.neighbours.items()},
        }
        return dict(sorted(found.items(), key=lambda item: -abs(item[1])))

    def _repr_html_(self) -> str:
        title = f"score of {show_name(self.task)}: {self.score:+.4g}"
        return html.table(title, ["part", "amount"], [(name, f"{value:+.4g}") for name, value in self.parts.items()])

    def __str__(self) -> str:
        others = bool(self.neighbours)
        rows = [("own", self.own), ("shared", self.shared)]
        rows = [row for row in rows if row[0] == "own" or row[1] != 0.0 or not others]
        if self.amounts:
            rows = [(name, value) for name, value in self.parts.items() if value != 0.0 or name in ("own", "shared")]
        rows += [(f"from {show_name(name)}", value) for name, value in list(self.neighbours.items())[:MOST_SHOWN]]
        left = list(self.neighbours.values())[MOST_SHOWN:]
        if left:
            rows.append((f"{len(left):,} other tasks", sum(left)))
        features = sorted(self.features.items(), key=lambda item: -max(map(abs, item[1])))
        shown = features[:MOST_SHOWN]
        title = f"score of {show_name(self.task)}"
        width = max(len(word) for word in [title, *(f"  {n}" for n, _ in [*rows, *shown])])
        number = _format([self.score, *(value for _, value in rows), *(v for _, parts in shown for v in parts)])
        lines = [f"{title:{width}}{number(self.score)}"]
        lines += [f"{f'  {name}':{width}}{number(value)}" for name, value in rows]
        if self.mixture:
            lines.append("mixed by " + ", ".join(f"{name} {weight:.3f}" for name, weight in self.mixture.items()))
        if shown:
            columns = ["own", "neighbours"] if others else ["own", "shared"]
            lines += ["", f"{'feature':{width}}" + "".join(f"{word:>12}" for word in ["total", *columns])]
            for name, parts in shown:
                figures = [parts.total, parts.own, parts.neighbours if others else parts.shared]
                lines.append(f"{f'  {name}':{width}}" + "".join(map(number, figures)))
        if len(features) > len(shown):
            lines.append(f"  and {len(features) - len(shown):,} more features")
        return "\n".join(lines)


def _format(values: list[float]) -> Any:
    """Figures with a sign, as many decimals as the largest of them needs to show four digits."""
    largest = max(map(abs, values))
    if largest != 0.0 and not 1e-3 <= largest < 1e6:
        return lambda value: f"{value:+12.3e}"
    decimals = 3 if largest >= 1.0 else 4 if largest >= 0.1 else 6
    return lambda value: f"{value:+12.{decimals}f}"


def explain(
    learner: Learner, state: Any, vocabulary: Vocabulary, batch: Batch, task: Name, per_feature: bool
) -> Explanation:
    """The parts of the score of a batch of one row, whose task may not be known."""
    tasks, slot, score = vocabulary.tasks, int(batch.task[0]), np.empty(1)
    if isinstance(learner, ScalesRows):
        return _of_seen_row(learner, state, vocabulary, batch, task, per_feature)
    learner.kernels.predict(learner.hyper, state, batch, score)
    begin, end = batch.indptr[batch.row[0]], batch.indptr[batch.row[0] + 1]
    indices, values = batch.indices[begin:end], batch.values[begin:end]
    shares = shares_of(learner, state, slot, len(tasks), indices)
    adds = shares.neighbours @ values
    order = np.argsort(-np.abs(adds), kind="stable")
    neighbours = {tasks[int(shares.slots[k])]: float(adds[k]) for k in order.tolist() if adds[k] != 0.0}
    features: dict[Name, FeatureParts] = {}
    if per_feature:
        parts = np.stack([shares.own, shares.shared, shares.neighbours.sum(axis=0)], axis=1) * values[:, None]
        features = {
            vocabulary.features[feature]: FeatureParts(*row)
            for feature, row in zip(indices.tolist(), parts.tolist(), strict=True)
        }
    return Explanation(
        task,
        float(score[0]),
        float(shares.own @ values),
        float(shares.shared @ values),
        neighbours,
        features,
    )


def _of_seen_row(
    learner: Any, state: Any, vocabulary: Vocabulary, batch: Batch, task: Name, per_feature: bool
) -> Explanation:
    """The same of a learner that brings rows to a scale of its own, with a bias."""
    seen: SeenRow = learner.seen_row(state, batch)
    indices, values = seen.features, seen.values
    shares = shares_of(learner, state, int(batch.task[0]), len(vocabulary.tasks), indices)
    own, shared = shares.own * values, shares.shared * values
    features: dict[Name, FeatureParts] = {}
    if per_feature:
        features = {
            vocabulary.features[feature]: FeatureParts(mine, ours, 0.0)
            for feature, mine, ours in zip(indices.tolist(), own.tolist(), shared.tolist(), strict=True)
        }
        features[BIAS] = FeatureParts(seen.own_bias, seen.shared_bias, 0.0)
    mixture = learner.mixed(state, int(batch.task[0])) if isinstance(learner, Mixes) else {}
    return Explanation(task, seen.score, seen.own, seen.shared, {}, features, mixture, seen.amounts)


def shares_of(learner: Learner, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
    """Where the weights of a task come from, for some features; ValueError where a learner cannot say."""
    return expect_explains(learner).explain(state, slot, tasks, indices)


def weights_of(learner: Learner, state: Any, slot: int, tasks: int, features: int) -> Array:
    """(3, features): the own, the shared and the neighbours' weights of one task, without those of the others."""
    state = learner.hooks.prepare(state, np.array([slot]))
    weights, width = np.zeros((3, features)), max(1, AT_ONCE // max(tasks, 1))
    for first in range(0, features, width):
        here = np.arange(first, min(first + width, features))
        shares = shares_of(learner, state, slot, tasks, here)
        weights[:, here] = shares.own, shares.shared, shares.neighbours.sum(axis=0)
    return weights
