"""The result of reading some lines: columns of tasks, labels and rows, and the lines that were refused."""

import json
import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Frame
from weft.labels import wrong_labels
from weft.learner import Target
from weft.names import Name
from weft.storage.batch import LARGEST
from weft.storage.rows import is_sparse

MISSING = math.nan
"""A missing label."""


class Fault(NamedTuple):
    """A line that cannot be used, and why."""

    line: int
    field: str | None
    reason: str

    def __str__(self) -> str:
        where = f'line {self.line}, field "{self.field}"' if self.field else f"line {self.line}"
        return f"{where}: {self.reason}"


class InputError(ValueError):
    """A source that cannot be read: file, line, field, the value found, and what to write instead."""


class Refused(Exception):
    """Raised inside a reader for one record; becomes a Fault with that record's line."""

    def __init__(self, field: str | None, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


@dataclass(frozen=True)
class Rules:
    """What the labels of a file must be."""

    target: Target = "binary"
    labels: bool = True  # False: a label may be missing, as when nothing is learned
    label: str = "y"  # the name of the label's field

    @property
    def write(self) -> str:
        """The remedy for a wrong label."""
        return "write -1 or +1" if self.target == "binary" else "write a number"


@dataclass
class Block:
    """The records of some lines. X is a list of dicts, an array, a table with named columns or a CSR."""

    lines: list[int]
    tasks: list[Name]
    labels: Floats
    rounds: list[Any] | None
    X: Any
    faults: list[Fault] = field(default_factory=list)

    def keep(self, which: list[int]) -> "Block":
        """Some of the records, with all faults."""
        tasks = [self.tasks[i] for i in which]
        rounds = None if self.rounds is None else [self.rounds[i] for i in which]
        X = [self.X[i] for i in which] if isinstance(self.X, list) else self.X[np.array(which, np.int64)]
        return Block([self.lines[i] for i in which], tasks, self.labels[which], rounds, X, self.faults)


def show(value: Any) -> str:
    """A value for a message: JSON, shortened."""
    text = value if isinstance(value, str) else None
    if text is None:
        try:
            text = json.dumps(value, ensure_ascii=False)
        except (TypeError, ValueError):
            text = repr(value)
    else:
        text = json.dumps(text, ensure_ascii=False)
    return text if len(text) <= 60 else text[:57] + "..."


def name_of(text: str) -> Name:
    """A name from plain text: an integer if it is written as one ("7", not "007"), else the text."""
    digits = text[1:] if text[:1] == "-" else text
    if digits.isascii() and digits.isdigit() and (digits[0] != "0" or text == "0"):
        return int(text)
    return text


def check_values(block: Block) -> list[Fault]:
    """Faults of rows with a value that is too large: its square must be finite."""
    X, largest = block.X, np.zeros(0)
    if isinstance(X, list):
        largest = np.array([max(map(abs, x.values()), default=0.0) for x in X])
    elif is_sparse(X):
        row = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
        largest = np.zeros(X.shape[0])
        np.maximum.at(largest, row, np.abs(X.data))
    else:
        table = X.to_numpy() if isinstance(X, Frame) else X
        largest = np.abs(table).max(axis=1, initial=0.0)
    bad = np.flatnonzero(largest > LARGEST).tolist()
    return [
        Fault(block.lines[i], "x", f"{largest[i]:g} is too large; scale values to {LARGEST:g} at most") for i in bad
    ]


def check_labels(block: Block, rules: Rules) -> list[Fault]:
    """Faults of labels that a learner with this target does not take."""
    y = block.labels
    bad = wrong_labels(y, rules.target, dormant=block.rounds is not None, missing=not rules.labels)
    return [Fault(block.lines[i], rules.label, _label_reason(float(y[i]), rules)) for i in np.flatnonzero(bad).tolist()]


def _label_reason(y: float, rules: Rules) -> str:
    if math.isnan(y):
        return f"the label is missing; {rules.write}"
    if math.isinf(y):
        return f"{y} is not finite; {rules.write}"
    hint = " (map 0/1 labels by 2 * y - 1)" if y in (0.0,) else ""
    return f"{y:.12g} is not a label for a classifier; {rules.write}{hint}"


class Rounds:
    """Remembers the rounds of a file, and refuses one that appears again after it has ended."""

    def __init__(self) -> None:
        self.ended: set[Any] = set()

    def check(self, block: Block) -> list[Fault]:
        """Faults of rounds: one that has ended already, or a task that appears twice in one."""
        if block.rounds is None:
            return []
        faults: list[Fault] = []
        here: set[Any] = set()
        seen: set[Name] = set()
        last: Any = None
        for line, task, number in zip(block.lines, block.tasks, block.rounds, strict=True):
            if number != last:
                if number in here or number in self.ended:
                    reason = f"round {show(number)} has ended already; put the rows of one round next to each other"
                    faults.append(Fault(line, "round", reason))
                    continue
                here.add(number)
                last, seen = number, set()
            if task in seen:
                reason = f"{show(task)} appears twice in round {show(number)}; give its events rounds of their own"
                faults.append(Fault(line, "task", reason))
            seen.add(task)
        return faults
