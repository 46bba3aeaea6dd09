"""Model: a learner with its vocabulary, state and tally. What a user holds, saves and serves."""

import os
import struct
import warnings
from collections.abc import Iterable, Mapping
from typing import Any, NamedTuple

import numpy as np

from weft import state as states
from weft.batch import Batch, Floats, single_batch
from weft.learner import TRACE, Learner
from weft.learners.catalogue import build
from weft.names import Name, Names, plain
from weft.rows import scalar_label
from weft.store.files import write_atomic
from weft.store.model_file import Parts, pack_model, unpack_model
from weft.stream import Stream
from weft.tally import Tally
from weft.vocabulary import Vocabulary

_NO_TRACE = np.zeros((0, len(TRACE)))


class SupportRow(NamedTuple):
    """A row that a kernel learner keeps: whose, with which coefficient, and what it holds."""

    task: Name
    coefficient: float
    row: dict[Name, float]


class Model:
    """One model per task, all learned together from one stream.

    `learner` is a name of the catalogue, with its parameters as keywords, or a learner that is already built. `tasks`
    declares tasks up front, by their names or as a number (then they are called 0, 1, ...).

    >>> import weft
    >>> model = weft.Model("implicit", norm="linf", C=1.0)
    >>> model.learn_one({"free": 1.0, "offer": 1.0}, +1, task="ann")
    0.0
    >>> model.predict_one({"free": 1.0}, task="ann"), model.predict_one({"free": 1.0}, task="bob")
    (0.5, 0.0)
    """

    def __init__(
        self, learner: str | Learner, *, tasks: Iterable[Name] | int | None = None, **parameters: Any
    ) -> None:
        if isinstance(learner, str):
            built = build(learner, parameters)
        elif parameters:
            raise ValueError("parameters go with a learner's name; this learner is already built")
        else:
            built = learner
        self._set(Parts(built, Vocabulary(Names(_declared(tasks))), built.init(), None))

    def _set(self, parts: Parts) -> None:
        self.learner: Learner = parts.learner
        self.vocabulary = parts.vocabulary
        self.state = parts.state
        self.tally = Tally(self.vocabulary.tasks, self.learner.target, parts.tally)
        self._remarked = False
        self._single: _Single | None = None
        self._reserve(len(self.vocabulary.tasks), len(self.vocabulary.features))

    def __repr__(self) -> str:
        tasks, features = len(self.vocabulary.tasks), len(self.vocabulary.features)
        return f"Model({self.learner!r}, {tasks} tasks, {features} features, {self.tally.total['events']} events)"

    # --- learning ---

    def learn(self, stream: Stream, *, trace: Floats | None = None) -> Floats:
        """Learn a stream; returns the scores issued before each label was used, one per example.

        `trace`, an array with a row per example and the columns `weft.learner.TRACE`, is filled with what the loss
        bounds need (see `weft.evaluation`). A stream that is refused leaves the model as it was.
        """
        _expect_stream(stream)
        trace = _NO_TRACE if trace is None else trace
        if len(trace) and trace.shape != (len(stream), len(TRACE)):
            raise ValueError(f"trace has shape {trace.shape}, expected {(len(stream), len(TRACE))}")
        proposal = self.vocabulary.propose(stream, stream.labels(self.learner.target))
        tasks = self.vocabulary.tasks.after(proposal.tasks)
        self._reserve(tasks, self.vocabulary.features.after(proposal.features))
        self.vocabulary.accept(proposal)
        scores = np.empty(len(stream))
        self._learn_batch(proposal.batch, scores, trace)
        self.tally.count(proposal.batch, scores, *self.learner.tally_loss)
        self._remark()
        return scores

    def _learn_batch(self, batch: Batch, scores: Floats, trace: Floats) -> None:
        done, rounds = 0, len(batch.rounds) - 1
        while done < rounds:
            self._reserve(len(self.vocabulary.tasks), len(self.vocabulary.features), batch, done)
            done = self.learner.learn(self.state, batch, done, scores, trace)

    def _reserve(self, tasks: int, features: int, batch: Batch | None = None, done: int = 0) -> None:
        plan = self.learner.plan
        if batch is None:
            sizes = states.Sizes(tasks + 1, max(features, 1))
        else:
            sizes = states.sizes_for(self.state, plan, tasks, features, batch, done)
        grown = states.reserve(self.state, plan, sizes)
        if grown is not self.state:
            self.state, self._single = grown, None
        self.tally.reserve(tasks)

    def _remark(self) -> None:
        remark = getattr(self.learner, "remark", None)
        if remark is not None and not self._remarked and (text := remark(self.state)):
            self._remarked = True
            warnings.warn(text, stacklevel=3)

    # --- scoring ---

    def score(self, X: Any, task: Any) -> Floats:
        """Scores without learning: margins for classification, values for regression, distances for points.

        `task` is a name per row, or one name for all rows. Unknown features are ignored; an unknown task is scored as
        a new one would be.
        """
        return self._score(Stream(X, None, task))

    def _score(self, stream: Stream) -> Floats:
        batch = self.vocabulary.read(stream)
        scores = np.empty(len(stream))
        self.learner.predict(self.state, batch, scores)
        return scores

    def predict(self, X: Any, task: Any) -> Any:
        """Labels -1 or +1 for classification, values for regression; nothing is learned."""
        scores = self.score(X, task)
        return np.where(scores >= 0.0, 1, -1) if self.learner.target == "binary" else scores

    # --- single events ---

    def learn_one(self, x: Any, y: float | None = None, task: Name | None = None) -> float:
        """Learn one event; returns the score issued before. `x`: a dict of named features, a dense or a sparse row."""
        if task is None:
            raise ValueError("task is missing; name the task that the event belongs to")
        if not isinstance(x, dict):
            labels = None if y is None else [scalar_label(y)]
            return float(self.learn(Stream(_as_table(x), labels, [task]))[0])
        label = self._label(y)
        single, count = self._fill(x, grow=True)
        slot = self.vocabulary.tasks.slots.get(task, -1)
        if slot < 0:
            return self._learn_first(x, label, task)
        status = self.learner.learn_one(single.handle, slot, label, count)
        if status == -2:
            self._reserve_single(single)
            return self.learn_one(x, y, task)
        if status >= 0:
            raise ValueError(_not_finite(x, status))
        score = float(single.scores[0])
        self.tally.count_one(slot, label, score, float(single.trace[0, 0]))
        if not self._remarked:
            self._remark()
        return score

    def predict_one(self, x: Any, task: Name) -> float:
        """The score of one event, without learning. `x` as in `learn_one`."""
        if not isinstance(x, dict):
            return float(self.score(_as_table(x), [task])[0])
        single, count = self._fill(x, grow=False)
        slot = self.vocabulary.tasks.slots.get(task, -1)
        if slot < 0:
            slot = self.vocabulary.tasks.find(plain(task, "task name"))
            slot = len(self.vocabulary.tasks) if slot < 0 else slot
        status = self.learner.predict_one(single.handle, slot, count)
        if status >= 0:
            raise ValueError(_not_finite(x, status))
        return float(single.scores[0])
