"""Requests of one group to entries of the log: duplicates are recognised, and what cannot be done is refused.

Ids and remembered predictions are read and written within the transaction of the group, so that a request sees those
before it, also in its own group, and all of them are committed with the entries or not at all.
"""

from collections.abc import Iterable
from typing import Any, NamedTuple

import msgspec

from weft.model import Model
from weft.serve.applying import Gate, expect_changeable
from weft.serve.compacting import forget_remembered
from weft.serve.entries import Correct, Entry, Feedback, Forget, Label, Learn, Policy, Remember, Row, Task, as_task
from weft.serve.log import Log
from weft.serve.log_rows import Remembered
from weft.serve.migrations import task_key
from weft.serve.problems import Problem
from weft.serve.requests import Done, Outcome, Request, ToFeedBack, ToForget, ToLearn, ToRemember, ToSetPolicy


class Event(msgspec.Struct, array_like=True, frozen=True):
    """The event of a remembered prediction, as it is kept."""

    task: Task | None
    x: Row | None
    record: dict[str, Any] | None = None


_event = msgspec.msgpack.Decoder(Event)
_label = msgspec.msgpack.Decoder(Label)


class Pending(NamedTuple):
    """A request that has an entry in this group: its position there."""

    at: int
    duplicate: bool = False
    correction: bool = False


class Group:
    """The entries that are going to be committed together; the first of them will be `first`."""

    def __init__(self, log: Log, model: Model, first: int, now: float, oldest: float) -> None:
        self.log = log
        self.first = first
        self.entries: list[Entry] = []
        self.expired = 0
        self._now, self._oldest = now, oldest
        self._gate = Gate(model)
        self._model = model
        self._ids: dict[str, tuple[int, int]] = {}
        self._claimed: list[tuple[int, str, int]] = []

    def look_up(self, requests: Iterable[Request]) -> None:
        """Find which ids of these requests are known, before they are added."""
        ids = [request.id for request in requests if isinstance(request, ToLearn) and request.id is not None]
        if ids:
            self._ids = self.log.recognised(ids)

    def claim(self) -> None:
        """Write the ids of the group, before it is committed."""
        if self._claimed:
            self.log.claim(self._claimed)

    def add(self, request: Request) -> Pending | Outcome:
        """The request's place in the group, or its outcome, if it needs no entry."""
        try:
            if isinstance(request, ToLearn):
                return self._learn(request)
            if isinstance(request, ToRemember):
                return self._remember(request)
            if isinstance(request, ToFeedBack):
                return self._feed_back(request)
            return self._change(request)
        except Problem as problem:
            return problem

    def _append(self, entry: Entry) -> Pending:
        self.entries.append(entry)
        return Pending(len(self.entries) - 1)

    @property
    def _next(self) -> int:
        return self.first + len(self.entries)

    def _learn(self, request: ToLearn) -> Pending | Outcome:
        task, x, y, weight, id, record = request
        if id is not None and id in self._ids:
            return self._again(id, request.mark, *self._ids[id])
        try:
            self._gate.check(task, x, y, weight)
        except Problem as problem:
            raise self._of_record(problem, y) if record else problem from None
        if id is not None:
            mark = request.mark
            self._ids[id] = self._next, mark
            self._claimed.append((self._next, id, mark))
        return self._append(Learn(task, None if record else x, y, weight, id, record))

    def _of_record(self, problem: Problem, y: Label | None) -> Problem:
        """The problem of an event as one of its record: its fields are those of the schema."""
        schema = self._model.schema
        if schema is not None:
            names = {"task": schema.task_fields[0], "y": schema.label, "weight": schema.weight}
            problem.field = names.get(problem.field or "", "record")
            if problem.field == schema.label and y is None:
                problem.remedy = f'send "{schema.label}" in the record'
        return problem

    def _again(self, id: str, mark: int, seq: int, known: int) -> Pending | Outcome:
        if mark != known:
            raise Problem(
                "id_conflict", 409, f"the id {id!r} belongs to another event, entry {seq}",
                "give every event an id of its own, and send an event again unchanged", field="id",
            )  # fmt: skip
        return Pending(seq - self.first, duplicate=True) if seq >= self.first else Done(seq, duplicate=True)

    def _remember(self, request: ToRemember) -> Pending | Outcome:
        self._gate.check_event(request.task, request.x)
        event = msgspec.msgpack.encode(Event(request.task, request.x, request.record))
        known = self.log.remembered(request.id)
        if known is not None:
            if known.event != event:
                raise Problem(
                    "id_conflict", 409, f"the id {request.id!r} belongs to another remembered prediction",
                    "choose another id, or leave it out", field="id",
                )  # fmt: skip
            return Pending(known.seq - self.first, True) if known.seq >= self.first else Done(known.seq, duplicate=True)
        self.log.remember(Remembered(request.id, self._next, self._now, event, None, task_key(request.task)))
        x = None if request.record else request.x
        return self._append(Remember(request.id, self._now, request.task, x, request.record))

    def _feed_back(self, request: ToFeedBack) -> Pending | Outcome:
        known = self.log.remembered(request.id)
        if known is None:
            raise Problem(
                "unknown_id", 404, f"no prediction is remembered under the id {request.id!r}, or it has expired",
                'predict with "remember": true, and send the label in time', field="id",
            )  # fmt: skip
        if known.label is None:
            return self._first_label(request, known)
        before = _label.decode(known.label)
        if before == request.y and isinstance(before, str) == isinstance(request.y, str):
            return Pending(known.seq - self.first, True) if known.seq >= self.first else Done(known.seq, duplicate=True)
        if not request.correct:
            raise Problem(
                "other_label", 409, f"the label {before!r} was learned for this prediction, not {request.y!r}",
                'send "correct": true to record a correction', field="y",
            )  # fmt: skip
        self._check_label(request, known)
        self.log.remember(known._replace(label=msgspec.msgpack.encode(request.y), seq=self._next))
        return self._append(Correct(request.id, request.y))._replace(correction=True)

    def _first_label(self, request: ToFeedBack, known: Remembered) -> Pending:
        if known.at < self._oldest:
            self.expired += 1
            raise Problem("expired", 410, "the prediction has expired", "raise --remember-for", field="id")
        event = self._check_label(request, known)
        self.log.remember(known._replace(label=msgspec.msgpack.encode(request.y), seq=self._next))
        x = None if event.record else event.x
        return self._append(Feedback(request.id, event.task, x, request.y, event.record))

    def _check_label(self, request: ToFeedBack, known: Remembered) -> Event:
        event = _event.decode(known.event)
        if isinstance(event.task, tuple):
            event = msgspec.structs.replace(event, task=as_task(event.task))
        self._gate.check(event.task, event.x, request.y)
        return event

    def _change(self, request: ToForget | ToSetPolicy) -> Pending:
        entry = Forget(request.task) if isinstance(request, ToForget) else Policy(*request)
        expect_changeable(self._model, entry)
        if isinstance(entry, Forget):
            forget_remembered(self.log, self._next, entry.task)
        return self._append(entry)
