"""Single events: the methods of `weft.Model` that learn and score one event in a few microseconds.

They hold the lock of the model's guard in a way that no signal can tear apart (`weft.threads.guard`). What is not a
dict of known names falls back to a stream of one event.
"""

import math
import warnings
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from weft.compiled.arrays import Floats
from weft.encoding.careful import Encoder, Event
from weft.encoding.collected import Collector
from weft.encoding.refused import Refused
from weft.kinds.frames import named_row
from weft.labels import Classes, Label, one_label
from weft.learner import Hooks, Learner, Target, Traits
from weft.methods import refusals
from weft.names import Addition, Name, plain
from weft.schema import Schema
from weft.storage.batch import FINE, NO_ROOM, Batch, empty_batch
from weft.storage.lexicon import Lexicon
from weft.storage.rows import as_table
from weft.storage.single import UNKNOWN, Single, is_ordinary
from weft.stream import Stream
from weft.tally.counts import BUFFER_SIZE, Tally
from weft.threads.guard import CHANGING, IDLE, READING, UNUSABLE, Guard, changes, held_back
from weft.vocabulary import Proposal, Vocabulary

SINGLE_ROOM = 4096
"""Most features of an event in the buffers; longer ones fall back to a stream."""
NAN = math.nan
_PLAIN_LABELS = (int, str, float)


class SingleEvents:
    """`learn_one` and `predict_one` of a model."""

    if TYPE_CHECKING:  # what the model has
        _guard: Guard
        _hooks: Hooks
        _slots: dict[Name, int]
        _labels: dict[Any, float]
        _classes: Classes
        _schema: Schema | None
        _encoder: Encoder | None
        _single: Single | None
        _policies: dict[Name, Any]
        _is_python: bool
        _may_warn: bool
        learner: Learner
        target: Target
        traits: Traits
        vocabulary: Vocabulary
        state: Any
        _tally: Tally

        @property
        def _sizes(self) -> tuple[int, int]: ...
        def learn(self, stream: Any) -> Floats: ...
        def score(self, X: Any, task: Any = None) -> Any: ...
        def _is_apart(self, task: Any) -> bool: ...
        def _warning(self) -> str | None: ...
        def _make_room_for_names(self, tasks: int, features: int, one_by_one: bool = False) -> None: ...
        def _make_room_for_rounds(self, batch: Batch, done: int, tasks: int, features: int) -> None: ...

    def learn_one(
        self, x: Any, y: Label | None = None, task: Name | None = None, *, weight: float | None = None
    ) -> float:
        """Learn one event; returns the score issued before. `x`: a dict of named features, a dense or a sparse row.

        A model with a schema takes a record, which names its task and its label unless they are given. `weight` is the
        importance of the event, see `weft.Stream`.
        """
        if type(x) is not dict:
            x = named_row(x)
        if self._schema is None or not isinstance(x, Mapping):
            return self._learn_event(x, y, task, 1.0 if weight is None else weight)
        event = self._event(x, y, task, weight)
        if event.label is None and self.target != "point":
            where = f'field "{self._schema.label}": ' if self._schema.label else ""
            raise ValueError(f"{where}the label is missing; write it in the record, or give it as y")
        if not self._depends_on_others:
            return self._learn_event(event.features, event.label, event.task, event.weight)
        with self._guard.lock:
            self._wait_to_change()  # which values are missing depends on what was learned before
            if self._lacks_values(event):
                return float(self.learn(stream_of(event, self._schema))[0])
            return self._learn_event(event.features, event.label, event.task, event.weight)

    def _event(self, record: Mapping[str, Any], y: Any, task: Any, weight: float | None) -> Event:
        """The event of a record, with what was given beside it."""
        assert self._schema is not None  # whoever calls has looked
        encoder = self._encoder
        if encoder is None or encoder.schema is not self._schema:
            self._encoder = encoder = Encoder(self._schema)
        return event_of(encoder, record, y, task, weight)

    @property
    def _depends_on_others(self) -> bool:
        """May what a record means change by what others do with the model: fields that they add, policies of tasks?"""
        return self.traits.reads_missing or self.traits.has_policies

    def _lacks_values(self, event: Event) -> bool:
        """Does a learner that reads missing values have to see that some of this event are missing, or new?"""
        if self._policies and self._is_apart(event.task):
            return True  # its private model knows other fields
        if not self.traits.reads_missing:
            return False
        slots, known = self.vocabulary.features.slots, self.vocabulary.fields
        return len(known) != len(event.fields) or not {slots.get(name) for name in event.fields} <= {*known.tolist()}

    def _learn_event(self, x: Any, y: Any, task: Any, weight: float) -> float:
        """Learn one event of features."""
        if weight != 1.0:
            weight = refusals.expect_weight(self.learner, weight)
        label = self._labels.get(y) if type(y) in _PLAIN_LABELS else None
        if label is None:
            label = one_label(y, self.target, self._classes)
        if type(x) is dict and label is not None:
            guard, issued = self._guard, self._tally.buffer
            for _ in guard.held:  # the lock, see `guard`: no signal handler runs from here to `try`
                try:
                    if guard.level or guard.readers:
                        guard.wait_to_change()
                    guard.level = CHANGING
                    try:
                        if self._policies and self._is_apart(task):
                            break
                        slot = self._slots.get(task, -1) if type(task) is str else self._slot_of_plain(task)
                        single = self._single or self._make_single()
                        count = single.fill(x) if slot >= 0 else UNKNOWN
                        if count < 0:
                            break
                        single.weight[0] = weight
                        if self._is_python:
                            status = self._learn_interpreted(single, slot, label, count)
                            score: float = single.score[0]
                        else:
                            single.score[0] = NAN
                            try:
                                status = single.learn(single.handle, slot, label, count)
                                score = single.score[0]
                                if status == FINE:
                                    issued += ((slot, label, score),)
                            except MemoryError as error:  # nobody can say how far the kernel came
                                guard.level = UNUSABLE
                                guard.give_up(error, "in the middle of an event")
                                raise
                            except BaseException:  # a signal handler raised it when the kernel had ended
                                score = single.score[0]
                                if score == score:  # the event was learned, and is counted; again without any call
                                    issued += ((slot, label, score),)
                                raise
                        if status == NO_ROOM:
                            self._make_room_for_event(single)
                        elif len(issued) >= BUFFER_SIZE:
                            self._tally.flush()
                        warning = self._warning() if self._may_warn and status == FINE else None
                    finally:
                        if guard.level == CHANGING:
                            guard.level = IDLE
                finally:
                    guard.release()
                if status == FINE:
                    if warning:
                        warnings.warn(warning, stacklevel=2)
                    return score
                if status >= 0:
                    raise ValueError(refusals.not_finite(x, status))
                return self._learn_event(x, y, task, weight)
        return self._learn_otherwise(x, y, task, weight, type(x) is dict and label is not None)

    def _learn_otherwise(self, x: Any, y: Any, task: Any, weight: float, may_be_ordinary: bool) -> float:
        """Learn an event with new names, or one that goes the way of streams, which check everything."""
        if may_be_ordinary:
            with self._guard.lock:
                self._wait_to_change()  # not after names were found to be new: others may add them meanwhile
                new = self._new_names(x, task)
                if new is not None:
                    return self._learn_with_names(x, y, task, weight, new)
        if task is None:
            raise ValueError("task is missing; name the task that the event belongs to")
        labels = None if self.target == "point" else [y]
        return float(self.learn(Stream(as_table(x), labels, [task], weight=None if weight == 1.0 else [weight]))[0])

    def _wait_to_change(self) -> None:
        """Wait until nobody reads; the caller holds the lock of the guard, and no other call comes between then."""
        if self._guard.level or self._guard.readers:
            self._guard.wait_to_change()

    def _learn_interpreted(self, single: Single, slot: int, label: float, count: int) -> int:
        """Learn and count the event in the buffers by a rule in Python, which a signal may interrupt."""
        with held_back():
            try:
                status: int = single.learn(single.handle, slot, label, count)
                if status == FINE:
                    self._tally.count_one(slot, label, single.score[0])
            except BaseException as error:
                self._guard.give_up(error, "in the middle of an event")
                raise
        return status

    def _make_room_for_event(self, single: Single) -> None:
        with held_back():
            self._make_room_for_rounds(single.batch, 0, *self._sizes)

    def _learn_with_names(self, x: dict[Any, Any], y: Label | None, task: Any, weight: float, new: Proposal) -> float:
        """Learn an event with new names. Nobody sees them before the event, nor if it is not learned.

        The caller holds the lock of the guard.
        """
        vocabulary = self.vocabulary
        tasks, features, issued = vocabulary.tasks.size, vocabulary.features.size, len(self._tally.buffer)
        try:
            self._add_names(new, len(x))
            return self._learn_event(x, y, task, weight)
        except BaseException:
            if self._guard.level != UNUSABLE and len(self._tally.buffer) == issued:
                vocabulary.tasks.undo(new.tasks, tasks)
                vocabulary.features.undo(new.features, features)
            raise

    def _new_names(self, x: dict[Any, Any], task: Any) -> Proposal | None:
        """The new names of an ordinary event; None if there are none, or if the batch path has to check it."""
        features = self.vocabulary.features
        if type(task) is not str or not is_ordinary(x) or (self._policies and self._is_apart(task)):
            return None
        tasks = Addition([] if task in self._slots else [task])
        names = Addition([name for name in x if name not in features.slots], features.columns)
        return Proposal(empty_batch(), tasks, names) if tasks.names or names.names else None

    @changes
    def _add_names(self, new: Proposal, nonzeros: int) -> None:
        refusals.refuse_new_tasks(self.learner, new.tasks.names)
        sizes = self.vocabulary.tasks.after(new.tasks), self.vocabulary.features.after(new.features)
        refusals.expect_room(self.learner, *sizes)
        self._make_room_for_names(*sizes, one_by_one=True)
        if self._single is not None and self._single.room < nonzeros <= SINGLE_ROOM:
            self._single = None
        self.vocabulary.accept(new)

    def predict_one(self, x: Any, task: Name | None = None) -> float:
        """The score of one event, without learning. `x` as in `learn_one`."""
        if type(x) is not dict:
            x = named_row(x)
        if self._schema is None or not isinstance(x, Mapping):
            return self._score_event(x, task)
        event = self._event(x, None, task, None)
        if not self._depends_on_others:
            return self._score_event(event.features, event.task)
        with self._guard.lock:
            lacks = self._lacks_values(event)
            return self._score_event(None if lacks else event.features, event.task, event._replace(label=None))

    def _score_event(self, x: Any, task: Any, event: Event | None = None) -> float:
        """The score of one event of features; `event` is the record that they are from, if others may change it."""
        if type(x) is dict:
            guard = self._guard
            for _ in guard.held:  # the lock, as in `learn_one`
                try:
                    if guard.level or (self._policies and self._is_apart(task)):  # a nested call uses the buffers
                        break
                    guard.level = READING
                    try:
                        slot = self._slots[task] if type(task) is str else self._slot_of_plain(task)
                        single = self._single or self._make_single()
                        count = single.fill(x) if slot >= 0 else UNKNOWN
                        if count >= 0:
                            status = single.predict(single.handle, slot, count)
                            if status == FINE:
                                score: float = single.score[0]
                                return score
                            if status >= 0:
                                raise ValueError(refusals.not_finite(x, status))
                    except KeyError:  # a task that is not known
                        pass
                    finally:
                        guard.level = IDLE
                finally:
                    guard.release()
                break
        if task is None:
            raise ValueError("task is missing; name the task that the event belongs to")
        if event is not None and self._schema is not None:
            return float(self.score(stream_of(event, self._schema))[0])
        return float(self.score(Stream(as_table(x), None, [task]))[0])

    def _slot_of_plain(self, task: Any) -> int:
        """The slot of a task by a name that is not a str; -1 if it is not known."""
        return self.vocabulary.tasks.find_plain(task)

    def _make_single(self) -> Single:
        # Room for every feature there is, and as many to come; longer rows fall back to the batch path.
        room = min(2 * len(self.vocabulary.features), SINGLE_ROOM)
        self._single = Single(self.learner, self.state, self.vocabulary.features, len(self.traits.trace), room)
        return self._single


def event_of(encoder: Encoder, record: Mapping[str, Any], y: Any, task: Any, weight: float | None) -> Event:
    """The event of a record, with what was given beside it; ValueError if it cannot be used."""
    try:
        event = encoder.event(record, needs_task=task is None)
    except Refused as refused:
        raise ValueError(f'field "{refused.field}": {refused.reason}' if refused.field else refused.reason) from None
    if task is not None:
        event = event._replace(task=plain(task, "task name"))
    if weight is not None:
        event = event._replace(weight=weight)
    return event if y is None else event._replace(label=y)


def stream_of(event: Event, schema: Schema) -> Stream:
    """The stream of one event."""
    collector = Collector(schema, Lexicon(), Lexicon())
    collector.add(event)
    return Stream.of_encoded(collector.encoded(), schema)
