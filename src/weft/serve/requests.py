"""What routes hand to the writer: things that change the folder, in the order in which they came."""

from typing import NamedTuple

import msgspec

from weft.serve.applying import Issued
from weft.serve.entries import Label, Row, Task
from weft.serve.problems import Problem


class ToLearn(NamedTuple):
    """An event to learn."""

    task: Task | None
    x: Row | None
    y: Label | None
    weight: float = 1.0
    id: str | None = None

    @property
    def mark(self) -> int:
        """The same for the same event: an id that comes with another mark is not a duplicate but a mistake."""
        import zlib

        return zlib.crc32(msgspec.msgpack.encode((self.task, self.y, self.weight, len(self.x or ()))))


class ToRemember(NamedTuple):
    """A prediction to keep until its label comes."""

    id: str
    task: Task | None
    x: Row | None


class ToFeedBack(NamedTuple):
    """The label of a remembered prediction."""

    id: str
    y: Label
    correct: bool = False


class ToForget(NamedTuple):
    """A task to remove."""

    task: Task


class ToSetPolicy(NamedTuple):
    """What a task gives and receives."""

    task: Task
    gives: bool
    receives: bool


Request = ToLearn | ToRemember | ToFeedBack | ToForget | ToSetPolicy


class Done(NamedTuple):
    """What came of a request: its entry, what the model had said before, and whether it was done before."""

    seq: int
    issued: Issued = Issued(None, None)
    duplicate: bool = False
    correction: bool = False


Outcome = Done | Problem
