"""One entry, one change of the model: the only place that knows what an entry does, live and in replay alike.

Whether a model would refuse an event is asked before the event is logged (`Gate`). What a model refuses all the same,
it refuses again in replay: nothing is learned from it either way.
"""

import math
from typing import Any, NamedTuple

from weft.labels import Classes, one_label, plain_label, probability
from weft.methods.forgetting import refuse_to_forget
from weft.methods.refusals import expect_room, has_log_odds, refuse_new_tasks
from weft.model import Model
from weft.names import plain
from weft.serve.entries import Entry, Feedback, Forget, Label, Learn, Policy, Remember, Row, Task
from weft.serve.policies import policy_of
from weft.serve.problems import Problem
from weft.storage.batch import LARGEST

LARGEST_TASK = 1 << 63


class Issued(NamedTuple):
    """What a model said about an event before it learned it; None where it says nothing."""

    score: float | None
    probability: float | None


NOTHING = Issued(None, None)


def apply(model: Model, entry: Entry) -> Issued | str:
    """Change the model by one entry: what it said before, or the sentence with which it refused the entry."""
    try:
        if isinstance(entry, Learn):
            x = entry.x if entry.record is None else entry.record
            return issued(model, model.learn_one(x, entry.y, entry.task, weight=entry.weight))
        if isinstance(entry, Feedback):
            x = entry.x if entry.record is None else entry.record
            return issued(model, model.learn_one(x, entry.y, entry.task))
        if isinstance(entry, Remember):
            return issued(model, model.predict_one(entry.x if entry.record is None else entry.record, entry.task))
        if isinstance(entry, Forget):
            model.forget(entry.task)
        elif isinstance(entry, Policy):
            model.set_policy(entry.task, gives=entry.gives, receives=entry.receives)
    except ValueError as error:
        return str(error)
    return NOTHING


def issued(model: Model, score: float) -> Issued:
    """A score as what the model said."""
    return Issued(score if math.isfinite(score) else None, probability_of(model, score))


def probability_of(model: Model, score: float) -> float | None:
    """The probability of the positive label, where scores are log-odds."""
    return probability(score) if has_log_odds(model.learner) else None


def label_of(model: Model, score: float) -> Label | None:
    """The label that a score stands for, one of the model's classes."""
    if model.target == "binary":
        return model.label_classes.shown[score >= 0.0]
    return score if math.isfinite(score) else None


def expect_changeable(model: Model, entry: Forget | Policy) -> None:
    """Refuse what the learner cannot do, before it is logged."""
    try:
        if isinstance(entry, Policy):
            policy_of(model, entry.task)
        else:
            refuse_to_forget(model.learner)
    except ValueError as error:
        raise Problem("not_supported", 409, *split(str(error))) from None


def split(sentence: str) -> tuple[str, str]:
    """What is wrong, and what to do about it."""
    wrong, _, remedy = sentence.partition("; ")
    return wrong, remedy


def parts_of(explanation: Any) -> dict[str, float]:
    """The parts of a score by their names, the largest first; they add up to it."""
    return dict(explanation.parts)


class Gate:
    """Asks, before an event is logged, whether the model would learn it after the events before it in the group.

    New names are counted from the model as it is, so a gate lasts for one group.
    """

    def __init__(self, model: Model) -> None:
        self._model = model
        self._tasks: set[Any] = set()
        self._features: set[Any] = set()
        self._columns = model.vocabulary.features.columns
        self._classes = model.label_classes
        self._labels: set[Label] = set()  # found to be of these classes

    def check(self, task: Task | None, x: Row | None, y: Label | None, weight: float = 1.0) -> None:
        """Raise Problem unless the event can be learned."""
        self.check_event(task, x)
        if weight != 1.0:
            self._check_weight(weight)
        before = self._classes
        if y is None or type(y) is bool or y not in self._labels:
            try:
                self._classes = self._classes_with(y)
            except ValueError as error:
                what, remedy = split(str(error))
                raise Problem("bad_label", 422, f"the label cannot be learned: {what}", remedy, field="y") from None
        try:
            self._check_names(task, x)
        except Problem:
            self._classes = before
            raise

    def _classes_with(self, y: Label | None) -> Classes:
        """The classes after this label; ValueError if the model would refuse it."""
        target, classes = self._model.target, self._classes
        if target == "binary" and y is None:
            raise ValueError("it is missing; send y")
        if one_label(y, target, classes) is not None:
            if target == "binary" and y is not None and type(y) is not bool:  # True is not the number 1
                self._labels.add(y)
            return classes
        extended = classes.extended([plain_label(y)])
        one_label(y, target, extended if extended.is_complete else Classes(extended.shown[0], extended.shown[1]))
        return extended

    def _check_weight(self, weight: float) -> None:
        if not 0.0 <= weight <= LARGEST:
            raise Problem("bad_weight", 422, f"weight is {weight:g}", "write a number from 0 on", field="weight")
        if not self._model.traits.takes_weights:
            raise Problem(
                "no_weights", 422, f"{self._model.name} takes no weights of events", "leave it out", field="weight"
            )

    def check_event(self, task: Task | None, x: Row | None) -> None:
        """Raise Problem unless the event can be scored."""
        if type(task) is not str:
            self._check_task(task)
        values = x.values() if isinstance(x, dict) else x or ()
        if values and not max(map(abs, values)) <= LARGEST:
            raise _too_large(x)

    def _check_task(self, task: Task | None) -> None:
        if isinstance(task, int) and not -LARGEST_TASK <= task < LARGEST_TASK:
            raise Problem(
                "bad_task", 422, f"the task {str(task)[:40]} is an integer of more than 64 bits", "use a string",
                field="task",
            )  # fmt: skip
        if isinstance(task, tuple):
            try:
                plain(task, "task")
            except ValueError as error:
                raise Problem("bad_task", 422, *split(str(error)), field="task") from None

    def _check_names(self, task: Any, x: Row | None) -> None:
        vocabulary = self._model.vocabulary
        tasks, features, columns = vocabulary.tasks, vocabulary.features, self._columns
        names: list[Any] = []
        is_new = tasks.find(task) < 0 and task not in self._tasks
        if isinstance(x, dict):
            slots, own = features.slots, self._features
            if not x.keys() <= slots.keys():
                names = [name for name in x if name not in slots and name not in own]
        else:
            columns = self._columns_with(len(x or ()))
        if not is_new and not names and columns == self._columns:
            return
        try:
            if is_new:
                refuse_new_tasks(self._model.learner, [task])
            more = columns - features.columns + len(self._features) + len(names)
            expect_room(self._model.learner, len(tasks) + len(self._tasks) + is_new, len(features) + more)
        except ValueError as error:
            raise Problem("refused", 422, *split(str(error)), field="task" if is_new else "x") from None
        if is_new:
            self._tasks.add(task)
        self._features.update(names)
        self._columns = columns

    def _columns_with(self, width: int) -> int:
        """The columns after a row without names; Problem if the model knows names, or rows of another length."""
        features = self._model.vocabulary.features
        if width and (not features.has_only_columns or self._features):
            raise Problem("no_names", 422, "x is a list, and the model has learned names", "send names", field="x")
        if width and self._columns and width != self._columns:
            raise Problem(
                "other_length", 422, f"x has {width} values, and the model has learned rows of {self._columns}",
                "send as many", field="x",
            )  # fmt: skip
        return max(self._columns, width)


def _too_large(x: Any) -> Problem:
    """The first value of a row that is beyond the limit."""
    named = x.items() if isinstance(x, dict) else enumerate(x)
    name, value = next((name, value) for name, value in named if not abs(value) <= LARGEST)
    field = f"x.{name:.60}" if isinstance(x, dict) else f"x[{name}]"
    return Problem(
        "bad_value", 422, f"{field} is {value:g}, beyond {LARGEST:g}", "scale values down, or leave it out", field=field
    )
