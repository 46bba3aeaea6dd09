"""Learners of weft as river estimators: `TaskClassifier` and `TaskRegressor`.

The task of an event is one of its features, `x[key]`; without a key all events belong to one task. Numbers and truth
values are features as they are; a string `us` of the feature `country` is the feature `country=us` with the value 1,
None and NaN are not features. The features of an event are learned in the order of their names, so that the order in a
dict does not matter.

>>> from river import datasets, evaluate, metrics
>>> model = TaskClassifier(key="empty_server_form_handler")
>>> evaluate.progressive_val_score(datasets.Phishing(), model, metrics.Accuracy()).get() > 0.89
True
>>> model.model_.tally.total["events"], len(model.model_.tasks)
(1250, 3)
"""

import math
from typing import Any

import numpy as np

try:
    from river import base
except ModuleNotFoundError:
    raise ImportError("weft.river needs river; install it with pip install 'weft[river]'") from None

from weft.labels import Label, expect_label
from weft.learners.catalogue import as_learner, for_numbers
from weft.model import Model
from weft.reductions.per_class import Multiclass

ONE_TASK = "all"
"""The name of the task where there is only one."""
UNSURE = 1000
"""So many first events are kept where labels are -1, 0 or 1: a further label says that there are more classes."""


class TaskClassifier(base.Classifier):  # type: ignore[misc]
    """A classifier with a model per task, for any number of classes.

    Parameters
    ----------
    key
        The feature that names the task.
    learner
        A name of weft's catalogue.
    parameters
        Parameters of the learner.

    Labels False and True, 0 and 1 or -1 and +1 are learned by one `weft.Model`, others by a `weft.Multiclass`: the
    first label of a stream of strings does not say what the others will be. It is `model_`, and None before the first
    label. If another label comes after 0 and 1, or -1 and +1, within the first 1,000 events, a `weft.Multiclass` takes
    over, as if it had learned all of them.
    """

    def __init__(self, key: Any = None, learner: str = "auto", **parameters: Any) -> None:
        self.key = key
        self.learner = learner
        self.parameters = parameters
        built = as_learner(learner, parameters)
        if built.target != "binary":
            raise ValueError(f"{built.name} with these parameters does not classify; TaskRegressor predicts numbers")
        self.model_: Model | Multiclass | None = None
        self._first: list[tuple[Any, Label, Any]] | None = None
        self._labels: set[Label] = set()

    @property
    def _multiclass(self) -> bool:
        return True

    @property
    def _raw_memory_usage(self) -> int:
        return _memory(self.model_)

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn an event with its label."""
        label = expect_label(y)
        task, features = _event(x, self.key)
        event = (_in_order(features), label, task)
        if self.model_ is None:
            kind = Model if not isinstance(label, str) and label in (-1, 0, 1) else Multiclass
            self.model_ = kind(self.learner, **self.parameters)
            self._first = [] if kind is Model and not isinstance(label, bool) else None
        self._expect_two_classes(label)
        self.model_.learn_one(*event)
        if self._first is not None:
            self._first.append(event)
            self._first = self._first if len(self._first) < UNSURE else None

    def _expect_two_classes(self, label: Label) -> None:
        """Go over to a model of more classes if this label is a third one."""
        labels = self._labels | {label}
        if isinstance(self.model_, Multiclass) or labels <= {0, 1} or labels <= {-1, 1}:
            self._labels = labels
            return
        if self._first is None:
            raise ValueError(
                f"label {label!r} is none of the two classes that are learned, {self._labels}; if there are more, give "
                "them as strings"
            )
        found = Multiclass(self.learner, **self.parameters)
        for event in self._first:
            found.learn_one(*event)
        self.model_, self._first = found, None

    def predict_proba_one(self, x: dict[Any, Any], **kwargs: Any) -> dict[Any, float]:
        """The probability of every class known so far; empty before the first label."""
        model = self.model_
        if model is None:
            return {}
        task, features = _event(x, self.key)
        if isinstance(model, Multiclass):
            found = model.predict_proba([features], [task])[0].tolist()
            return dict(zip(model.classes, found, strict=True))
        negative, positive = _both(model)
        probability = 1.0 / (1.0 + math.exp(-max(-700.0, model.predict_one(features, task))))
        return {negative: 1.0 - probability, positive: probability}


class TaskRegressor(base.Regressor):  # type: ignore[misc]
    """A regressor with a model per task.

    Parameters
    ----------
    key
        The feature that names the task.
    learner
        A name of weft's catalogue.
    parameters
        Parameters of the learner; the loss is `square` unless it is given, or the first of the learner's losses that
        predicts numbers.
    """

    def __init__(self, key: Any = None, learner: str = "auto", **parameters: Any) -> None:
        self.key = key
        self.learner = learner
        self.parameters = parameters
        self.model_ = Model(learner, **for_numbers(learner, parameters))

    @property
    def _raw_memory_usage(self) -> int:
        return _memory(self.model_)

    def learn_one(self, x: dict[Any, Any], y: Any) -> None:
        """Learn an event with its number."""
        task, features = _event(x, self.key)
        self.model_.learn_one(_in_order(features), y, task)

    def predict_one(self, x: dict[Any, Any], **kwargs: Any) -> float:
        """The number that is expected."""
        task, features = _event(x, self.key)
        return self.model_.predict_one(features, task)


class _Learned(base.Base):  # type: ignore[misc]
    """What some models have learned, without their rules."""

    def __init__(self, parts: list[Any]) -> None:
        self.parts = parts


def _memory(model: Model | Multiclass | None) -> int:
    """The bytes that river finds when it walks over all that was learned.

    From the model itself its walk leads through the compiled rule into the compiler, whose megabytes are not those of
    the model, and whose weak references to functions that are gone raise ReferenceError.
    """
    models = model.models if isinstance(model, Multiclass) else [model] if model is not None else []
    parts: list[Any] = [(one.state, one.vocabulary, one.tally) for one in models]
    return int(_Learned([*parts, model.tally] if isinstance(model, Multiclass) else parts)._raw_memory_usage)


def _both(model: Model) -> tuple[Label, Label]:
    """The classes as river's metrics compare them: truth values where labels are 0 and 1 or truth values."""
    negative, positive = model.label_classes.shown
    return (False, True) if isinstance(positive, bool) else (negative, positive)  # type: ignore[return-value]


def _event(x: dict[Any, Any], key: Any) -> tuple[Any, dict[Any, float]]:
    """The task and the features of an event."""
    if key is not None and key not in x:
        raise ValueError(f"the event has no feature {key!r}, which names the task; its features are {list(x)[:8]}")
    features: dict[Any, float] = {}
    for name, value in x.items():
        if value is None or (key is not None and name == key):
            continue
        if isinstance(value, str):
            features[f"{name}={value}"] = 1.0
            continue
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise ValueError(f"feature {name!r} is {value!r}; give a number, a truth value or a string") from None
        if not math.isnan(number):
            features[name] = number
    return ONE_TASK if key is None else _name(x[key], key), features


def _in_order(features: dict[Any, float]) -> dict[Any, float]:
    """The same by name: features of river have no order, those of a model are numbered as they come."""
    return dict(sorted(features.items(), key=_by_name))


def _by_name(item: tuple[Any, float]) -> str:
    return str(item[0])


def _name(task: Any, key: Any) -> Any:
    """A task's name: integers also where they came as floats or truth values, other numbers as text."""
    if isinstance(task, bool | np.bool_ | float | np.floating):
        if math.isnan(task):
            raise ValueError(f"the feature {key!r}, which names the task, is NaN; leave the event out")
        return int(task) if float(task).is_integer() else str(task)
    return task
