"""The same learner with and without sharing: on all tasks together, on every task alone, on all tasks as one.

And rows as most learners want them: of length 1, with an intercept beside them.
"""

from typing import Literal, Protocol

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.labels import Labels
from weft.learner import Learner
from weft.model import Model
from weft.names import Name
from weft.storage.rows import Rows
from weft.stream import Stream

Scope = Literal["together", "alone", "pooled"]
POOLED = "all tasks"
INTERCEPT = "(intercept)"
SCALES_ITSELF = ("auto", "adaptive")
"""Learners that scale rows and have an intercept of their own."""


class Learns(Protocol):
    """What a run needs of a model."""

    def learn(self, stream: Stream) -> Floats: ...


class Alone:
    """A model for every task, each of which sees the events of its task alone."""

    def __init__(self, learner: Learner) -> None:
        self._learner = learner
        self.models: dict[Name, Model] = {}

    def learn(self, stream: Stream) -> Floats:
        """Learn a stream; returns the scores issued before, one per example."""
        scores = np.empty(len(stream))
        for code, name in enumerate(stream.task_names):
            model = self.models.setdefault(name, Model(self._learner))
            examples = np.flatnonzero(stream.task_codes == code)
            scores[examples] = model.learn(examples_of(stream, examples, [name], np.zeros(len(examples), np.int64)))
        return scores


class Pooled:
    """One model that takes all tasks for one."""

    def __init__(self, learner: Learner) -> None:
        self.model = Model(learner)

    def learn(self, stream: Stream) -> Floats:
        """Learn a stream, event by event; returns the scores issued before, one per example."""
        examples = np.arange(len(stream))
        return self.model.learn(examples_of(stream, examples, [POOLED], np.zeros(len(stream), np.int64)))


def examples_of(stream: Stream, examples: Ints, names: list[Name], codes: Ints) -> Stream:
    """Some examples of a stream, each a round of its own, with other tasks; labels may be missing."""
    values, kinds = stream.label_values
    y = Labels(values[examples], kinds) if stream.has_labels else None
    bounds, events = np.arange(len(examples) + 1), stream._events
    found = Stream.of_parts(events.data, stream.row[examples], y, codes, names, bounds, stream.has_rounds)
    found._weight = None if stream._weight is None else stream._weight[examples]
    return found


def with_intercept(stream: Stream) -> Stream:
    """The same events with rows of length 1 and a last feature that is always 1."""
    data = stream._events.data
    lengths = np.sqrt(np.add.reduceat(np.append(data.values**2, 0.0), data.indptr[:-1]) * (np.diff(data.indptr) > 0))
    sizes, n = np.diff(data.indptr), data.length
    last = data.indptr[1:] + np.arange(n)  # where the intercept of every row is
    entry = np.ones(len(data.values) + n, bool)
    entry[last] = False
    indices, values = np.full(len(entry), data.width, np.int64), np.ones(len(entry))
    indices[entry] = data.indices
    values[entry] = data.values / np.repeat(np.where(lengths > 0.0, lengths, 1.0), sizes)
    features = data.features + 1 if isinstance(data.features, int) else [*data.features, INTERCEPT]
    rows = Rows(data.indptr + np.arange(n + 1), indices, values, features)
    codes, names = stream._events.codes, stream._events.names
    y = stream.label_values if stream.has_labels else None
    found = Stream.of_parts(rows, stream._row, y, codes, names, stream._bounds, stream.has_rounds)
    found._weight = stream._weight
    return found
