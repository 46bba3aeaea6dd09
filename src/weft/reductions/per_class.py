"""More than two classes, with tasks: one model per class, all of them over the same tasks.

The model of a class learns which events are of that class and which are of any other, with one model per task inside,
so that tasks teach each other about every class. An event's probabilities are those of the models, divided by their
sum; the class with the highest one is predicted. A class may be new at any time: its model begins with the round that
brings it, and learns from everything after that.

>>> import weft
>>> mail = weft.Multiclass()
>>> for _ in range(5):
...     for words, folder in (("invoice due", "bills"), ("party tonight", "friends"), ("free money", "spam")):
...         _ = mail.learn_one({word: 1.0 for word in words.split()}, folder, task="ann")
>>> mail.classes, mail.predict_one({"party": 1.0, "free": 0.1}, task="ann")
(['bills', 'friends', 'spam'], 'friends')
>>> probabilities = mail.predict_proba([{"invoice": 1.0}], "bob")
>>> probabilities.shape, round(float(probabilities.sum()), 12)
((1, 3), 1.0)
"""

import io
import os
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.guard import Guard, changes, held_back, reads
from weft.labels import Label, expect_label, is_number, one_kind
from weft.learner import Learner, Target
from weft.model import Model
from weft.names import Name
from weft.reductions.class_tally import ClassTally
from weft.storage.rows import as_table
from weft.store.codec import MAGIC, checked, header_of, in_one, parse, write_arrays
from weft.store.digests import FileError
from weft.store.files import Output
from weft.store.reading import read_file
from weft.stream import Stream

KIND = "classes"
FORMAT = 1
MOST_CLASSES = 10_000
"""More classes would need as many models."""


class Multiclass:
    """A classifier for any number of classes, with a model per task for each of them.

    learner     a name of the catalogue with its `parameters`, or a learner already built; it must classify
    classes     the classes that are known up front; others are added when they come

    Any thread may call any method at any time, as of a `weft.Model`.
    """

    target: Target = "binary"

    def __init__(
        self, learner: str | Learner = "auto", *, classes: Sequence[Label] | None = None, **parameters: Any
    ) -> None:
        empty = Model(learner, **parameters)
        if empty.target != "binary":
            raise ValueError(f"{empty.name} with these parameters does not classify; choose another loss")
        self._set(empty.to_bytes(), [], [])
        if classes is not None:
            found = [expect_label(label) for label in classes]
            if len(set(found)) != len(found) or len(found) < 2:
                raise ValueError(f"classes={classes!r} must be at least two labels, none of them twice")
            self._classes, self.models = found, [self._blank() for _ in found]

    def _set(self, empty: bytes, classes: list[Label], models: list[Model]) -> None:
        self._guard = Guard()
        self._empty = empty
        self._classes = classes
        self.models = models
        self.tally = ClassTally(self._guard)
        blank = self._blank()
        self.learner, self.name, self.traits = blank.learner, blank.name, blank.traits

    def _blank(self) -> Model:
        """A model that has learned nothing."""
        return Model.from_bytes(self._empty)

    def __repr__(self) -> str:
        events = self.tally.total["events"]
        return f"Multiclass({self.learner!r}, {len(self._classes)} classes, {len(self.tasks)} tasks, {events} events)"

    @property
    def classes(self) -> list[Label]:
        """The classes, in the order of the columns of `predict_proba`: as declared, then as they came."""
        return list(self._classes)

    @property
    def tasks(self) -> list[Name]:
        """Names of the tasks known."""
        return self.tally.tasks

    @property
    def parameters(self) -> dict[str, Any]:
        """The learner's parameters."""
        return self._blank().parameters

    # --- learning ---

    def learn(self, stream: Stream) -> Array:
        """Learn a stream; returns the class predicted before each label was used, None before any is known."""
        if not isinstance(stream, Stream):
            raise ValueError(f"learn takes a weft.Stream, not {type(stream).__name__}; write weft.Stream(X, y, task)")
        if not stream.has_labels:
            raise ValueError("the stream has no labels; give y")
        return self._learn(stream)

    @changes
    def _learn(self, stream: Stream) -> Array:
        classes, codes = _coded(stream, self._classes)
        known, rounds = len(self._classes), np.repeat(np.arange(stream.n_rounds), np.diff(stream.rounds))
        if len(classes) > MOST_CLASSES:
            raise ValueError(f"{len(classes):,} classes; {MOST_CLASSES:,} are the most, labels that are numbers need "
                             'weft.Model(loss="square")')  # fmt: skip
        starts = np.zeros(len(classes), np.int64)
        for number in range(known, len(classes)):
            starts[number] = rounds[np.argmax(codes == number)]
        scores = np.full((len(stream), len(classes)), -np.inf)
        models = [*self.models, *(self._blank() for _ in classes[known:])]
        with held_back():
            for number, model in enumerate(models):
                self._learn_class(model, stream, codes, number, int(starts[number]), scores)
            self._classes, self.models = classes, models
            may_be_predicted = (np.arange(len(classes)) < known) | (starts[None, :] < rounds[:, None])
            proba = _normalised(np.where(may_be_predicted, scores, -np.inf))
            found = np.where(may_be_predicted.any(axis=1), proba.argmax(axis=1), -1)
            self.tally.count(stream, codes, found, proba)
        return self._named(found)

    def _learn_class(self, model: Model, stream: Stream, codes: Ints, number: int, start: int, scores: Floats) -> None:
        """Learn one class from a round on; who fails in the middle leaves models that do not fit each other."""
        y = np.where(codes == number, 1.0, -1.0)
        y[codes < 0] = np.nan
        try:
            part = stream.relabelled(y).cut(start, stream.n_rounds)
            scores[len(stream) - len(part) :, number] = model.learn(part)
        except BaseException as error:
            if number > 0 or not isinstance(error, ValueError):
                self._guard.give_up(error, f"in class {number + 1} of {len(codes)}")
            raise

    def learn_one(self, x: Any, y: Label, task: Name, *, weight: float = 1.0) -> Label | None:
        """Learn one event; returns the class predicted before, None before any is known."""
        given = None if weight == 1.0 else [weight]
        found: Label | None = self.learn(Stream(as_table(x), [y], [task], weight=given)).tolist()[0]
        return found

    # --- predicting ---

    @reads
    def _score(self, X: Any, task: Any) -> Floats:
        stream = X if isinstance(X, Stream) else Stream(X, None, task)
        scores = np.full((len(stream), len(self._classes)), -np.inf)
        for number, model in enumerate(self.models):
            scores[:, number] = model.score(stream)
        return scores

    def score(self, X: Any, task: Any = None) -> Floats:
        """A score per row and class, in the order of `classes`, without learning; `X` and `task` as in `weft.Model`."""
        return self._score(X, task)

    def predict_proba(self, X: Any, task: Any = None) -> Floats:
        """Probabilities, a column per class in the order of `classes`; the sum of a row is 1."""
        scores = self._score(X, task)
        if scores.shape[1] == 0:
            raise ValueError("no class is known yet; learn some events first")
        return _normalised(scores)

    def predict(self, X: Any, task: Any = None) -> Array:
        """The class of every row."""
        return self._named(self.predict_proba(X, task).argmax(axis=1))

    def predict_one(self, x: Any, task: Name) -> Label:
        """The class of one event."""
        found: Label = self.predict(as_table(x), [task]).tolist()[0]
        return found

    def _named(self, numbers: Ints) -> Array:
        named = np.empty(len(self._classes) + 1, object)
        named[:-1] = self._classes
        found: Array = named[numbers]
        if len(self._classes) and np.all(numbers >= 0) and one_kind(self._classes):
            found = found.astype(np.array(self._classes).dtype)
        return found

    # --- files ---

    @reads
    def write_to(self, write: Callable[[Any], object], facts: Mapping[str, Any] | None = None) -> str:
        """Hand the bytes of the file to `write`, block by block; returns the digest at their end."""
        models = [self._empty, *(model.to_bytes() for model in self.models)]
        header = {
            "format": FORMAT,
            "reduction": {
                "kind": KIND,
                "classes": self._classes,
                "sizes": [len(data) for data in models],
                "tasks": self.tally.as_json(),
            },
        }
        arrays = {f"model.{at}": in_one(_padded(data)) for at, data in enumerate(models)}
        arrays["tally"] = in_one(self.tally.live)
        return write_arrays({**header, **(facts or {})}, arrays, write).hex()

    def to_bytes(self) -> bytes:
        """All models as the bytes of one file."""
        out = io.BytesIO()
        self.write_to(out.write)
        return out.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write all models to one file; a crash leaves the old file or the new one."""
        with Output(path) as output:
            self.write_to(output.write)

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> "Multiclass":
        """What `to_bytes` wrote; FileError, with the reason, if it cannot be read."""
        with checked(data):
            header, arrays = parse(data)
            try:
                return cls._from_parts(header, arrays)
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise FileError(f"the file's classes cannot be used: {error}") from None

    @classmethod
    def _from_parts(cls, header: dict[str, Any], arrays: dict[str, Array]) -> "Multiclass":
        facts = header.get("reduction")
        if header.get("format") != FORMAT or not is_of_classes(header) or not isinstance(facts, dict):
            raise FileError("the file does not hold a model per class")
        sizes, classes = facts["sizes"], [expect_label(label) for label in facts["classes"]]
        if len(sizes) != len(classes) + 1 or len(set(classes)) != len(classes):
            raise FileError("the file's classes do not fit its models")
        empty, *rest = (_unpadded(arrays[f"model.{at}"], size) for at, size in enumerate(sizes))
        found = cls.__new__(cls)
        found._set(empty, classes, [Model.from_bytes(data) for data in rest])
        if any(model.learner != found.learner for model in found.models):
            raise FileError("the file's models have different learners")
        found.tally.restore(facts["tasks"], arrays["tally"])
        return found

    def __reduce__(self) -> Any:
        """Pickled and copied through the bytes of its file."""
        return type(self).from_bytes, (self.to_bytes(),)


def is_of_classes(header: Mapping[str, Any]) -> bool:
    """Does a file with this header hold a model per class?"""
    facts = header.get("reduction")
    return isinstance(facts, dict) and facts.get("kind") == KIND


def load(path: str | os.PathLike[str]) -> "Model | Multiclass":
    """Read a model file, of one model or of one per class. What is damaged is refused; nothing in a file is run."""
    data = read_file(path)
    try:
        has_header = bytes(data[: len(MAGIC)]) == MAGIC
        of_classes = has_header and is_of_classes(header_of(data))
        return Multiclass.from_bytes(data) if of_classes else Model.from_bytes(data)
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None


def _coded(stream: Stream, known: list[Label]) -> tuple[list[Label], Ints]:
    """All classes, new ones in the order in which they come, and the class of every example; -1 where it is missing."""
    numbers = {_key(label): number for number, label in enumerate(known)}
    classes, values = list(known), stream.label_values
    names = values.names
    if names is None:
        found, first, which = np.unique(values.values, return_index=True, return_inverse=True)
        labels: list[Any] = [int(v) if float(v).is_integer() else float(v) for v in np.nan_to_num(found).tolist()]
        is_missing = np.isnan(found)
    else:
        found, first, which = np.unique(values.values, return_index=True, return_inverse=True)
        is_missing = np.isnan(found)
        labels = [None if miss else names[int(code)] for code, miss in zip(found, is_missing, strict=True)]
    codes = np.full(len(found), -1, np.int64)
    for at in np.argsort(first).tolist():
        if not is_missing[at]:
            number = numbers.setdefault(_key(labels[at]), len(numbers))
            if number == len(classes):
                classes.append(labels[at])
            codes[at] = number
    return classes, codes[which.reshape(-1)]


def _key(label: Label) -> tuple[str, Label]:
    """What tells classes apart: 1 and True, and 1 and "1", are different ones."""
    kind = "text" if isinstance(label, str) else "number" if is_number(label) else "truth"
    return kind, label


def _normalised(scores: Floats) -> Floats:
    """Probabilities of every model, divided by their sum; where all are zero, the highest score has them all."""
    with np.errstate(over="ignore"):
        proba = 1.0 / (1.0 + np.exp(-scores))
    total = proba.sum(axis=1, keepdims=True)
    is_lost = total[:, 0] <= 0.0
    if np.any(is_lost) and scores.shape[1]:
        proba[is_lost, scores[is_lost].argmax(axis=1)] = 1.0
        total = proba.sum(axis=1, keepdims=True)
    found: Floats = np.divide(proba, total, out=np.zeros_like(proba), where=total > 0.0)
    return found


def _padded(data: bytes) -> Array:
    """Bytes as an array that a file takes."""
    return np.frombuffer(data + bytes(-len(data) % 8), "<i8")


def _unpadded(array: Array, size: int) -> bytes:
    data = array.tobytes()
    if type(size) is not int or not 0 <= len(data) - size < 8:
        raise FileError("a model in the file has another size than it says")
    return data[:size]
