"""Multiclass: one class out of many per event, for every task, with nothing to tune.

A binary model per class says how likely the class is against all others (one-vs-rest); tasks share within every class
as the learner shares. Probabilities are those of the models, divided by their sum. A class may be new at any time: its
model begins with the event that brings it.
"""

import io
import os
import threading
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.labels import Label, expect_label, plain_label
from weft.learners.catalogue import as_learner, from_json, to_json
from weft.model import Model
from weft.multiclass_tally import ClassTally
from weft.names import Name
from weft.refusals import expect_log_odds
from weft.storage.rows import as_table, read_rows
from weft.store.codec import decode, in_one, write_arrays
from weft.store.digests import FileError
from weft.store.files import Output
from weft.stream import Stream

FORMAT = 1
NO_TASK = ""
"""The task of events without one."""
LEAST = 1e-15
"""Probabilities below this count as this in the loss."""


class Multiclass:
    """Classes of any kind (strings, numbers, truth values), more than two if need be; `task` as in `weft.Model`.

    `learner` is a classifier of the catalogue with its `parameters`. `classes` may be declared; otherwise they are
    those that come.

    >>> import weft
    >>> model = weft.Multiclass()
    >>> for _ in range(20):
    ...     for animal, legs in [("bird", 2.0), ("cat", 4.0), ("ant", 6.0)]:
    ...         _ = model.learn_one({animal[0]: 1.0, "legs": legs}, animal)
    >>> model.predict_one({"a": 1.0, "legs": 6.0}), model.classes
    ('ant', ['bird', 'cat', 'ant'])
    >>> model
    Multiclass(auto, 3 classes, 1 tasks, 60 events)
    """

    def __init__(self, learner: str = "auto", *, classes: Sequence[Label] | None = None, **parameters: Any) -> None:
        self._lock = threading.RLock()
        self._learner = as_learner(learner, parameters)
        if self._learner.target != "binary":
            raise ValueError(f"{self._learner.name} with these parameters does not classify; choose a classifier")
        self._models: dict[Label, Model] = {}
        for label in classes or ():
            self._models[expect_label(label)] = self._new_model()
        self.tally = ClassTally()

    def __repr__(self) -> str:
        with self._lock:
            total = self.tally.total
            counts = f"{len(self._models)} classes, {len(self.tasks)} tasks, {total['events']} events"
            return f"Multiclass({self._learner.name}, {counts})"

    def _new_model(self) -> Model:
        return Model(self._learner, classes=(-1, 1))

    # --- what it is ---

    @property
    def name(self) -> str:
        """The name of the learner."""
        return self._learner.name

    @property
    def parameters(self) -> dict[str, Any]:
        """The parameters of the learner, as JSON takes them."""
        return self._new_model().parameters

    @property
    def classes(self) -> list[Label]:
        """The classes known, in order of appearance (declared ones first)."""
        return list(self._models)

    @property
    def tasks(self) -> list[Name]:
        """The tasks known, in order of appearance."""
        return self.tally.tasks

    @property
    def models(self) -> dict[Label, Model]:
        """The binary model of every class."""
        return dict(self._models)

    # --- learning ---

    def learn(self, X: Any, y: Any = None, task: Any = None) -> Any:
        """Learn a stream, or rows with their labels and tasks; returns the classes predicted before each was learned.

        A prediction before any class is known is None. What is refused leaves no trace.
        """
        stream = X if isinstance(X, Stream) else Stream(X, y, _tasks(task, X))
        if not stream.has_labels:
            raise ValueError("the stream has no labels; give y")
        with self._lock:
            return self._learn(stream)

    def _learn(self, stream: Stream) -> Any:
        number, labels, first = self._numbers(stream)
        scores = np.full((len(stream), len(labels)), -np.inf)
        bounds = stream.rounds
        found: dict[Label, Model] = {}
        for column, label in enumerate(labels):
            model = self._models.get(label) or self._new_model()
            start = int(np.searchsorted(bounds, first[column], side="right")) - 1
            y = np.where(np.isnan(number), np.nan, np.where(number == column, 1.0, -1.0))
            part = stream.relabelled(y).cut(start, stream.n_rounds)
            # All models check the same rows and tasks: the first refuses, or none does.
            issued = model.learn(part)
            scores[len(stream) - len(part) :, column] = issued
            found[label] = model
            if label not in self._models:  # the round that brings a class could not predict it
                scores[: int(bounds[start + 1]), column] = -np.inf
        self._models = found
        best = _best(scores)
        self.tally.count(stream, number, best, self._losses(scores, number))
        return _named([*labels, None], best)

    def _numbers(self, stream: Stream) -> tuple[Floats, list[Label], list[int]]:
        """The class of every example as a number, all classes then, and the first example that a class learns."""
        values, names = stream.label_codes
        known = {label: column for column, label in enumerate(self._models)}
        first, number = [0] * len(known), np.full(len(values), np.nan)
        there = np.flatnonzero(~np.isnan(values))
        codes, at, which = np.unique(values[there], return_index=True, return_inverse=True)
        columns = np.zeros(len(codes))
        for code in np.argsort(at).tolist():
            label = plain_label(codes[code]) if names is None else names[int(codes[code])]
            if label not in known:
                known[label] = len(known)
                first.append(int(there[at[code]]))
            columns[code] = known[label]
        number[there] = columns[which]
        return number, list(known), first

    def _losses(self, scores: Floats, number: Floats) -> Floats:
        """-ln of the probability of the true class; of a learner without probabilities 1 for a mistake."""
        if not self._has_probabilities:
            return (_best(scores) != number).astype(np.float64)
        true = np.where(np.isnan(number), 0, number).astype(np.int64)
        known = _best(scores) >= 0
        chance = np.zeros(len(scores))
        chance[known] = _normalised(scores[known])[np.arange(int(known.sum())), true[known]]
        return -np.log(np.maximum(chance, LEAST))

    @property
    def _has_probabilities(self) -> bool:
        try:
            expect_log_odds(self._learner)
        except ValueError:
            return False
        return True

    def learn_one(self, x: Any, y: Label, task: Name = NO_TASK, *, weight: float = 1.0) -> Label | None:
        """Learn one event; returns the class predicted before, None if none was known."""
        stream = Stream(as_table(x), [expect_label(y)], [task], weight=None if weight == 1.0 else [weight])
        predicted: Label | None = self.learn(stream).tolist()[0]
        return predicted

    # --- predicting ---

    def scores(self, X: Any, task: Any = None) -> Floats:
        """A column per class: its score against all others."""
        stream = X if isinstance(X, Stream) else Stream(X, None, _tasks(task, X))
        with self._lock:
            columns = [model.score(stream) for model in self._models.values()]
        return np.stack(columns, axis=1) if columns else np.zeros((len(stream), 0))

    def predict(self, X: Any, task: Any = None) -> Any:
        """The most likely class of every row, without learning."""
        scores = self.scores(X, task)
        if scores.shape[1] == 0:
            raise ValueError("no class is known yet; learn events first")
        return _named(self.classes, _best(scores))

    def predict_proba(self, X: Any, task: Any = None) -> Floats:
        """The probability of every class, a column each in the order of `classes`; rows sum to 1."""
        expect_log_odds(self._learner)
        scores = self.scores(X, task)
        if scores.shape[1] == 0:
            raise ValueError("no class is known yet; learn events first")
        return _normalised(scores)

    def predict_one(self, x: Any, task: Name = NO_TASK) -> Label:
        """The most likely class of one event, without learning."""
        label: Label = self.predict(as_table(x), [task]).tolist()[0]
        return label

    def predict_proba_one(self, x: Any, task: Name = NO_TASK) -> dict[Label, float]:
        """The probability of every class for one event."""
        return dict(zip(self.classes, self.predict_proba(as_table(x), [task])[0].tolist(), strict=True))

    # --- files ---

    def write_to(self, write: Callable[[Any], object]) -> str:
        """Hand the bytes of the file to `write`, block by block; returns the digest at their end."""
        with self._lock:
            parts = [model.to_bytes() for model in self._models.values()]
            header = {
                "format": FORMAT,
                "multiclass": {
                    "learner": to_json(self._learner),
                    "classes": self.classes,
                    "lengths": [len(part) for part in parts],
                    "tally": self.tally.as_json(),
                },
            }
            arrays = {f"model {at}": in_one(_as_words(part)) for at, part in enumerate(parts)}
            return write_arrays(header, arrays, write).hex()

    def to_bytes(self) -> bytes:
        """The bytes of the file."""
        out = io.BytesIO()
        self.write_to(out.write)
        return out.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; a crash leaves the old file or the new one."""
        with Output(path) as output:
            self.write_to(output.write)

    @classmethod
    def from_bytes(cls, data: Any) -> "Multiclass":
        """What `to_bytes` wrote; FileError, with the reason, if it cannot be read."""
        header, arrays = decode(data)
        facts = header.get("multiclass")
        if not isinstance(facts, dict) or header.get("format") != FORMAT:
            raise FileError("the file does not hold a multiclass model of a format that this weft reads")
        try:
            labels = [expect_label(label) for label in facts["classes"]]
            lengths = [int(length) for length in facts["lengths"]]
            if len(set(labels)) != len(labels) or len(lengths) != len(labels) or len(arrays) != len(labels):
                raise ValueError("there is not one model per class")
            learner = from_json(facts["learner"])
            models = [Model.from_bytes(_as_bytes(arrays[f"model {at}"], length)) for at, length in enumerate(lengths)]
            tally = ClassTally.from_json(facts["tally"])
        except FileError:
            raise
        except (ValueError, TypeError, KeyError) as error:
            raise FileError(f"the file's classes cannot be used: {error}") from None
        found = cls.__new__(cls)
        found._lock, found._learner, found.tally = threading.RLock(), learner, tally
        found._models = dict(zip(labels, models, strict=True))
        if any(model.learner != found._learner for model in models):
            raise FileError("the file's classes have different learners")
        return found

    def __reduce__(self) -> Any:
        return Multiclass.from_bytes, (self.to_bytes(),)


def _tasks(task: Any, rows: Any) -> Any:
    """Without tasks, all rows have one."""
    return task if task is not None else [NO_TASK] * read_rows(rows).length


def _best(scores: Floats) -> Ints:
    """The column with the highest score, the first of equals; -1 if none is known."""
    if scores.shape[1] == 0:
        return np.full(len(scores), -1)
    return np.where(np.isneginf(scores.max(axis=1)), -1, np.argmax(scores, axis=1))


def _normalised(scores: Floats) -> Floats:
    """Probabilities of one-vs-rest divided by their sum; where all of them vanish, by the largest scores."""
    with np.errstate(over="ignore"):
        chances = 1.0 / (1.0 + np.exp(-scores))
    totals = chances.sum(axis=1, keepdims=True)
    nearest = np.exp(scores - scores.max(axis=1, keepdims=True))
    nearest /= nearest.sum(axis=1, keepdims=True)
    found: Floats = np.where(totals > 1e-290, chances / np.maximum(totals, 1e-300), nearest)
    return found


def _named(labels: Sequence[Label | None], which: Ints) -> Any:
    """Labels by their numbers, -1 is the last; an array of one type if they have one."""
    named = np.empty(len(labels), object)
    named[:] = labels
    found = named[which]
    kinds = {type(label) for label in found.tolist()}
    return np.array(found.tolist()) if len(kinds) == 1 and kinds <= {str, int, float, bool} else found


def _as_words(data: bytes) -> Ints:
    """Bytes as an array that a file takes, with zeros at its end."""
    words: Ints = np.zeros((len(data) + 7) // 8, np.int64)
    words.view(np.uint8)[: len(data)] = np.frombuffer(data, np.uint8)
    return words


def _as_bytes(words: Any, length: int) -> bytes:
    if words.dtype != np.int64 or not 0 <= length <= 8 * words.size:
        raise ValueError("a model is not as long as the file says")
    return np.ascontiguousarray(words).view(np.uint8)[:length].tobytes()
