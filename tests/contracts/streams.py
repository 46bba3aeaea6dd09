"""Random events of every kind of target, as raw data from which streams can be built whole or in pieces."""

from dataclasses import dataclass, replace
from functools import cache
from itertools import pairwise
from types import MappingProxyType

import numpy as np
from scipy import sparse

import weft
from contracts.settings import FEATURES, NAMES

KINDS = ("single", "rounds", "shared")
"""Rounds of one row; rounds of several rows with dormant ones; rounds in which all tasks see one row."""

FORMS = ("dense", "sparse", "named")
"""How rows are handed over."""

VARIETIES = [("single", "named"), ("rounds", "sparse"), ("shared", "shared")]
"""Every kind once, with columns or names that turn up late; rows that tasks share are sparse."""


@dataclass(frozen=True)
class Events:
    """Events before they are a stream: a row is a dict from the number of a feature to its value."""

    target: str
    kind: str
    form: str
    rows: tuple[MappingProxyType, ...]
    tasks: tuple
    labels: tuple[float, ...]
    rounds: tuple[int, ...]

    @property
    def n_rounds(self) -> int:
        return self.rounds[-1] + 1

    def piece(self, start: int, stop: int) -> "Events":
        """The raw data of the rounds start .. stop-1."""
        at = [i for i, t in enumerate(self.rounds) if start <= t < stop]
        names = ("rows", "tasks", "labels", "rounds")
        return replace(self, **{name: tuple(getattr(self, name)[i] for i in at) for name in names})

    def table(self):
        """All rows as the form has them."""
        if self.form == "named":
            return [{f"f{f}": value for f, value in row.items()} for row in self.rows]
        widest = max((f for row in self.rows for f in row), default=0) + 1
        # Columns turn up late but in dense tables, which have the same columns all the time.
        width = FEATURES if self.form == "dense" else widest
        dense = np.zeros((len(self.rows), width))
        for i, row in enumerate(self.rows):
            for f, value in row.items():
                dense[i, f] = value
        return dense if self.form == "dense" else sparse.csr_array(dense)

    def stream(self) -> weft.Stream:
        """A stream made from the raw data alone."""
        if self.form == "shared":
            k = len(set(self.tasks))
            return weft.Stream.shared(self.table()[::k], np.reshape(self.labels, (-1, k)), self.tasks[:k])
        y = None if self.target == "point" and self.kind == "single" else self.labels
        return weft.Stream(self.table(), y, list(self.tasks), None if self.kind == "single" else self.rounds)

    def cut(self, edges) -> list["Events"]:
        """Pieces between neighbouring edges, as raw data."""
        return [self.piece(a, b) for a, b in pairwise(edges) if b > a]


@cache  # many settings are held to the same events, which nothing can change
def make_events(target: str, kind: str, form: str, seed: int = 0, rounds: int = 36) -> Events:
    """Events in which tasks and features turn up late, with rows of zeros and, in rounds, dormant ones."""
    rng = np.random.default_rng((seed, KINDS.index(kind), ("binary", "real", "point").index(target)))
    names = NAMES
    truth = rng.normal(size=(len(names), FEATURES)) + rng.normal(size=FEATURES)
    rows, tasks, labels, numbers = [], [], [], []
    for t in range(rounds):
        known, width = min(2 + t // 5, len(names)), min(4 + t // 3, FEATURES)
        if kind == "single":
            active = rng.integers(known, size=1)
        elif kind == "rounds":
            active = rng.permutation(known)[: rng.integers(1, known + 1)]
        else:
            active = np.arange(5)
        common = _row(rng, width)
        for j in active:
            row = common if kind == "shared" else _row(rng, width)
            rows.append(row)
            tasks.append(names[j])
            labels.append(_label(rng, target, kind, sum(truth[j, f] * value for f, value in row.items())))
            numbers.append(t)
    return Events(target, kind, form, tuple(rows), tuple(tasks), tuple(labels), tuple(numbers))


def _row(rng, width: int) -> MappingProxyType:
    if rng.random() < 0.08:
        return MappingProxyType({})
    features = rng.permutation(width)[: rng.integers(1, width + 1)]
    # Integers as well, so that ties and exact zeros occur.
    values = rng.integers(-2, 3, len(features)) if rng.random() < 0.3 else rng.normal(size=len(features))
    return MappingProxyType({int(f): float(value) for f, value in zip(features, values, strict=True)})


def _label(rng, target: str, kind: str, mean: float) -> float:
    if kind != "single" and rng.random() < 0.15:
        return 0.0 if target == "binary" and rng.random() < 0.5 else np.nan
    if target == "binary":
        return 1.0 if mean + rng.normal() >= 0 else -1.0
    return float(mean + 0.1 * rng.normal()) if target == "real" else 0.0


def random_edges(rng, rounds: int) -> list[int]:
    """Where to cut: a few places, some pieces of one round among them."""
    inner = rng.integers(0, rounds, rng.integers(1, 9))
    return [0, *sorted({int(a) for a in inner} - {0}), rounds]


def is_dormant(events: Events, i: int) -> bool:
    """Is event i scored only?"""
    label = events.labels[i]
    return bool(np.isnan(label)) or (events.kind != "single" and events.target == "binary" and label == 0.0)
