"""What careful readers share: records, the lines that were refused and why, names and numbers in plain text."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Ints
from weft.encoding.refused import Refused as Refused
from weft.encoding.refused import show as show
from weft.kinds.cells import NOT_FINITE, NUMBER
from weft.labels import LARGEST_LABEL, SIZE, UNKNOWN, Classes, LabelKind, Labels, too_large, wrong_labels
from weft.names import Name
from weft.schema import Schema
from weft.storage.batch import LARGEST
from weft.streams.ended_rounds import EndedRounds

MISSING = math.nan
"""A missing label."""
MOST_DIGITS = 1000
"""Digits of an integer that is a name or a round."""


class Fault(NamedTuple):
    """A line that cannot be used, and why."""

    line: int
    field: str | None
    reason: str

    def __str__(self) -> str:
        return self.at("line")

    def at(self, what: str) -> str:
        """In words; `what` is "line" or "row"."""
        where = f'{what} {self.line}, field "{self.field}"' if self.field else f"{what} {self.line}"
        return f"{where}: {self.reason}"


class InputError(ValueError):
    """A source that cannot be read: file, line, field, the value found, and what to write instead."""


@dataclass(frozen=True)
class Rules:
    """What the labels of a file must be."""

    target: LabelKind = "binary"
    labels: bool = True  # False: a label may be missing, as when nothing is learned
    label: str = "y"  # the name of the label's field
    classes: Classes = UNKNOWN  # those that are known before the file is read
    schema: Schema | None = None  # what the fields of its records are

    @property
    def only_scores(self) -> bool:
        """Are the events for a model that has learned others, and is only to score these?"""
        return not self.labels and self.target != "point"

    @property
    def write(self) -> str:
        """The remedy for a wrong label."""
        words = {"binary": "write one of two classes, such as -1 and +1", "class": "write the class of the event"}
        return words.get(self.target, "write a number")


@dataclass
class Block:
    """The records of some lines, as a careful reader finds them. A row is a dict of features, or a list of values."""

    lines: list[int] = field(default_factory=list)
    tasks: list[Name] = field(default_factory=list)
    labels: list[Any] = field(default_factory=list)
    rounds: list[Any] = field(default_factory=list)
    rows: list[Mapping[Any, float] | list[float]] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    fields: set[str] = field(default_factory=set)
    """Features that are the numbers of a field of a record."""
    weights: list[float] = field(default_factory=list)
    ids: list[Any] = field(default_factory=list)
    is_useless: bool = False
    """Does the fault concern the whole file, such as one of its header?"""


def name_of(text: str) -> Name:
    """A name from plain text: an integer if it is written as one ("7", not "007"), else the text."""
    digits = text[1:] if text[:1] == "-" else text
    if digits.isascii() and digits.isdigit() and (digits[0] != "0" or text == "0") and len(digits) <= MOST_DIGITS:
        return int(text)
    return text


def task_of(text: str, field: str) -> Name:
    """A task from plain text; an integer that is too long is refused."""
    if len(text) > MOST_DIGITS and text[1:].isascii() and text[1:].isdigit():
        raise Refused(field, f"an integer of {len(text)} digits; use at most {MOST_DIGITS}, or another name")
    return name_of(text)


def number_of(where: str, text: str, remedy: str) -> float:
    """A finite number from plain text, in ASCII digits and without underscores."""
    if not NUMBER.fullmatch(text):
        what = "finite" if NOT_FINITE.fullmatch(text) else "a number"
        raise Refused(where, f"{show(text)} is not {what}; {remedy}")
    value = float(text)
    if math.isinf(value):
        raise Refused(where, f"{show(text)} is not finite; {remedy}")
    return value


def check_row(row: dict[Name, float] | list[float]) -> None:
    """Refuse a value that is too large: its square must be finite."""
    largest = max(map(abs, row.values() if isinstance(row, dict) else row), default=0.0)
    if largest > LARGEST:
        raise Refused("x", f"{largest:g} is too large; scale values to {LARGEST:g} at most")


def check_labels(
    labels: Labels, lines: Ints, has_rounds: bool, rules: Rules, classes: Classes
) -> tuple[list[Fault], Classes]:
    """Faults of labels that a learner with this target does not take, and the classes that are known now."""
    values = labels.values
    if rules.target == "binary":
        _, bad, classes = classes.encoded(labels, dormant=has_rounds)
        bad = bad if has_rounds or not rules.labels else bad | np.isnan(values)
    elif rules.target == "class":
        bad = too_large(values) if labels.names is None else np.zeros(len(values), bool)
        bad = bad | np.isnan(values) if rules.labels and not has_rounds else bad
    elif labels.names is None or rules.target == "point":
        bad = wrong_labels(values, rules.target, dormant=has_rounds, missing=not rules.labels)
    else:
        is_number = [not isinstance(name, str | bool) for name in labels.names]
        there = ~np.isnan(values)
        bad = ~there if rules.labels and not has_rounds else np.zeros(len(values), bool)
        bad[there] = ~np.array(is_number, bool)[values[there].astype(np.int64)]
    where = np.flatnonzero(bad).tolist()
    faults = [Fault(int(lines[i]), rules.label, _label_reason(_label(labels, i), rules, classes)) for i in where]
    return faults, classes


def _label(labels: Labels, at: int) -> Any:
    """The label at that place; NaN if it is missing."""
    value = float(labels.values[at])
    return value if labels.names is None or math.isnan(value) else labels.names[int(value)]


def _label_reason(y: Any, rules: Rules, classes: Classes) -> str:
    if isinstance(y, str | bool):
        remedy = classes.remedy() if rules.target == "binary" else rules.write
        return f"{show(y)} is not a label for this learner; {remedy}"
    if math.isnan(y):
        return f"the label is missing; {rules.write}"
    if math.isinf(y):
        return f"{y} is not finite; {rules.write}"
    if abs(y) > LARGEST_LABEL:
        return f"{y:g} is too large; {SIZE}"
    return f"{y:.12g} is not a label for this classifier; {classes.remedy()}"


class Rounds:
    """Remembers the rounds of a file, and refuses one that appears again after it has ended."""

    def __init__(self) -> None:
        self.ended = EndedRounds()

    def check(self, lines: list[int], tasks: list[int], rounds: list[Any], names: list[Name]) -> list[Fault]:
        """Faults of rounds: one that has ended already, or a task, given by its code, that appears twice in one."""
        faults: list[Fault] = []
        here: set[Any] = set()
        seen: set[int] = set()
        last: Any = None
        for line, task, number in zip(lines, tasks, rounds, strict=True):
            if number != last:
                if number in here or number in self.ended:
                    reason = f"round {show(number)} has ended already; put the rows of one round next to each other"
                    faults.append(Fault(line, "round", reason))
                    continue
                here.add(number)
                last, seen = number, set()
            if task in seen:
                shown = show(names[task])
                reason = f"{shown} appears twice in round {show(number)}; give its events rounds of their own"
                faults.append(Fault(line, "task", reason))
            seen.add(task)
        return faults
