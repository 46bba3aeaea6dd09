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

import os
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.inspection.explanation import Explanation
from weft.kinds.frames import as_column, as_columns, named_row
from weft.labels import Label, LabelKind, expect_label
from weft.learner import Learner
from weft.methods import refusals
from weft.model import Model
from weft.names import Name
from weft.reductions.class_file import ClassParts, is_of_classes, read_classes, write_classes
from weft.reductions.class_scores import ClassPredictions, all_differ, coded, named, normalised, number_of, predictions
from weft.reductions.class_tally import ClassTally
from weft.reductions.class_tasks import ClassTasks
from weft.reductions.one_event import one_event
from weft.schema import Schema
from weft.store.codec import checked
from weft.store.digests import FileError
from weft.store.reading import read_file
from weft.store.saved import Saved
from weft.stream import Stream, no_labels
from weft.text import html
from weft.threads.guard import Guard, changes, held_back, reads

MOST_CLASSES = 10_000
"""More classes would need as many models."""


class Multiclass(ClassTasks, Saved):
    """A classifier for any number of classes, with a model per task for each of them.

    learner     a name of the catalogue with its `parameters`, or a learner already built; it must classify
    classes     the classes that are known up front; others are added when they come
    schema      what the fields of records are; with one, data frames and records are taken as well as streams

    Any thread may call any method at any time, as of a `weft.Model`.
    """

    target: LabelKind = "class"

    def __init__(
        self,
        learner: str | Learner = "auto",
        *,
        classes: Sequence[Label] | None = None,
        schema: Schema | None = None,
        **parameters: Any,
    ) -> None:
        if isinstance(schema, Schema) and schema.positive is not None:
            raise ValueError(f"positive={schema.positive!r} is for two classes; leave it out of the schema")
        self._set(Model(learner, schema=schema, **parameters).to_bytes(), [], [])
        if classes is not None:
            found = [expect_label(label) for label in classes]
            if not all_differ(found) or len(found) < 2:
                raise ValueError(f"classes={classes!r} must be at least two labels, none of them twice")
            self._classes, self.models = found, [self._blank() for _ in found]

    def _set(self, empty: bytes, classes: list[Label], models: list[Model]) -> None:
        self._guard = Guard()
        self._empty = empty
        self._classes = classes
        self.models = models
        self.tally = ClassTally(self._guard)
        blank = self._blank()
        if blank.target != "binary":
            raise ValueError(f"{blank.name} with these parameters does not classify; choose another loss")
        self.learner, self.name, self.traits = blank.learner, blank.name, blank.traits
        self._first_schema = blank.schema

    def _blank(self) -> Model:
        """A model that has learned nothing."""
        return Model.from_bytes(self._empty)

    def __repr__(self) -> str:
        if self._guard.reason:
            return f"Multiclass({self.learner!r}, unusable: {self._guard.reason})"
        events = self.tally.total["events"]
        return f"Multiclass({self.learner!r}, {len(self._classes)} classes, {len(self.tasks)} tasks, {events} events)"

    def _repr_html_(self) -> str:
        text = self.tally._repr_html_() if not self._guard.reason else ""
        rows = [(self.name, ", ".join(map(str, self._classes[:20])), repr(self.learner))]
        return html.table("Multiclass", ["learner", "classes", "parameters"], rows) + text

    @property
    def classes(self) -> list[Label]:
        """The classes, in the order of the columns of `predict_proba`: as declared, then as they came."""
        return list(self._classes)

    @property
    def schema(self) -> Schema | None:
        """What the fields of the records are that the model takes; None if it takes none."""
        every = [self._first_schema, *(model.schema for model in self.models)]
        return next((schema for schema in every if schema is not None), None)

    @property
    def tasks(self) -> list[Name]:
        """Names of the tasks known."""
        return self.tally.tasks

    @property
    def parameters(self) -> dict[str, Any]:
        """The learner's parameters."""
        return self._blank().parameters

    @property
    def has_probabilities(self) -> bool:
        """Are the scores of the models log-odds? Else `predict_proba` only shows their order."""
        return refusals.has_log_odds(self.learner)

    # --- learning ---

    def learn(self, stream: Any) -> Array:
        """Learn a stream; returns the class predicted before each label was used, None before any is known.

        With a schema, a data frame or a list of records is learned as well.
        """
        return self.learn_with_scores(stream).label

    def learn_with_scores(self, stream: Any) -> ClassPredictions:
        """The same; returns the classes that were predicted with their scores and probabilities."""
        schema = self.schema
        if schema is not None and not isinstance(stream, Stream):
            stream = Stream.of_source(stream, schema, checks_fields=not any(model.features for model in self.models))
        refusals.expect_stream(stream)
        if not stream.has_labels:
            raise no_labels(stream.schema, "give y")
        return self._learn(stream)

    @changes
    def _learn(self, stream: Stream) -> ClassPredictions:
        refusals.refuse_other_schema(self.schema, stream)
        classes, codes = coded(stream.label_values, self._classes)
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
            scores = np.where(may_be_predicted, scores, -np.inf)
            proba = normalised(scores)
            found = np.where(may_be_predicted.any(axis=1), scores.argmax(axis=1), -1)
            self.tally.count(stream, codes, found, proba)
        return predictions(scores, found, classes, proba)

    def _learn_class(self, model: Model, stream: Stream, codes: Ints, number: int, start: int, scores: Floats) -> None:
        """Learn one class from a round on; who fails in the middle leaves models that do not fit each other."""
        y = np.where(codes == number, 1.0, -1.0)
        y[codes < 0] = np.nan
        try:
            part = stream.relabelled(y).cut(start, stream.n_rounds)
            scores[len(stream) - len(part) :, number] = model.learn(part)
        except BaseException as error:
            if number > 0 or not isinstance(error, ValueError):
                self._guard.give_up(error, f"in class {number + 1} of {scores.shape[1]}")
            raise

    def learn_one(
        self, x: Any, y: Label | None = None, task: Name | None = None, *, weight: float | None = None
    ) -> Label | None:
        """Learn one event; returns the class predicted before, None before any is known.

        `x` is a dict, a dense or a sparse row; with a schema, a record, which names its task and its label unless they
        are given.
        """
        found: Label | None = self.learn(one_event(self.schema, x, task, y, weight)).tolist()[0]
        return found

    # --- predicting ---

    @reads
    def _score(self, X: Any, task: Any) -> Floats:
        stream = self._to_score(X, task)
        scores = np.full((len(stream), len(self._classes)), -np.inf)
        for number, model in enumerate(self.models):
            scores[:, number] = model.score(stream)
        return scores

    def _to_score(self, X: Any, task: Any) -> Stream:
        """What is to be scored as a stream, by the schema if it is a data frame or records."""
        if isinstance(X, Stream):
            refusals.refuse_other_schema(self.schema, X)
            return X
        schema = self.schema
        if task is not None or schema is None:
            return Stream(X, None, task)
        stream = Stream.of_source(X, schema, has_labels=False, checks_fields=False)
        if self.models and (remark := refusals.about_strange_rows(self.strange_rows(stream))):
            warnings.warn(remark, stacklevel=6)
        return stream

    def strange_rows(self, stream: Stream) -> Any:
        """Which examples have features, but none that the model of any class knows, as a mask."""
        found = np.ones(len(stream), bool)
        for model in self.models:
            found &= model.strange_rows(stream)
        return found

    def score(self, X: Any, task: Any = None) -> Floats:
        """A score per row and class, in the order of `classes`, without learning; `X` and `task` as in `weft.Model`."""
        return self._score(X, task)

    def _known_scores(self, X: Any, task: Any) -> Floats:
        scores = self._score(X, task)
        if scores.shape[1] == 0:
            raise ValueError("no class is known yet; learn some events first")
        return scores

    def predict_proba(self, X: Any, task: Any = None) -> Any:
        """Probabilities, a column per class in the order of `classes`; the sum of a row is 1.

        A frame with a column per class if X is a data frame that the schema reads. Of a learner whose scores are not
        log-odds they show the order of the classes, and are not probabilities that can be relied upon.
        """
        proba = normalised(self._known_scores(X, task))
        return proba if self.schema is None or task is not None else as_columns(X, proba, self.classes)

    def predict(self, X: Any, task: Any = None) -> Any:
        """The class of every row; a column of the library of a data frame that the schema reads."""
        found = named(self._known_scores(X, task).argmax(axis=1), self._classes)
        return found if self.schema is None or task is not None else as_column(X, found)

    def predict_with_scores(self, X: Any, task: Any = None) -> ClassPredictions:
        """The class of every row with its score and its probability."""
        scores = self._known_scores(X, task)
        return predictions(scores, scores.argmax(axis=1), self._classes, normalised(scores))

    def predict_one(self, x: Any, task: Name | None = None) -> Label:
        """The class of one event; `x` as in `learn_one`."""
        found: Label = self.predict_with_scores(one_event(self.schema, x, task)).label.tolist()[0]
        return found

    def predict_proba_one(self, x: Any, task: Name | None = None) -> dict[Label, float]:
        """The probability of every class, by class, for one event."""
        found = normalised(self._known_scores(one_event(self.schema, x, task), None))[0].tolist()
        return dict(zip(self.classes, found, strict=True))

    @reads
    def explain(self, x: Any, task: Name | None = None, *, label: Label | None = None) -> Explanation:
        """The score of one event and one class, of the one that is predicted unless `label` names it, in its parts."""
        wanted = self.predict_one(x, task) if label is None else label
        return self.models[number_of(expect_label(wanted), self._classes)].explain(named_row(x), task)

    # --- files ---

    @reads
    def write_to(self, write: Callable[[Any], object], facts: Mapping[str, Any] | None = None) -> str:
        """Hand the bytes of the file to `write`, block by block; returns the digest at their end."""
        models = [self._empty, *(model.to_bytes() for model in self.models)]
        tally = self.tally
        parts = ClassParts(self._classes, models, tally.as_json(), tally.live, tally.live_recent)
        return write_classes(parts, write, facts or {})

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> "Multiclass":
        """What `to_bytes` wrote; FileError, with the reason, if it cannot be read."""
        with checked(data):
            try:
                parts = read_classes(data)
                empty, *rest = parts.models
                found = cls.__new__(cls)
                found._set(empty, parts.classes, [Model.from_bytes(part) for part in rest])
                if any(model.learner != found.learner for model in found.models):
                    raise FileError("the file's models have different learners")
                found.tally.restore(parts.tasks, parts.tally, parts.recent)
                return found
            except (ValueError, TypeError, KeyError, OverflowError) as error:
                raise FileError(f"the file's classes cannot be used: {error}") from None

    def __reduce__(self) -> Any:
        """Pickled and copied through the bytes of its file."""
        return type(self).from_bytes, (self.to_bytes(),)


def load(path: str | os.PathLike[str]) -> "Model | Multiclass":
    """Read a model file, of one model or of one per class. What is damaged is refused; nothing in a file is run."""
    data = read_file(path)
    try:
        return Multiclass.from_bytes(data) if is_of_classes(data) else Model.from_bytes(data)
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None
