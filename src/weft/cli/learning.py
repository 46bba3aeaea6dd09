"""Learning a file into a model file: chunk by chunk, with snapshots, and an orderly stop at Ctrl-C."""

import os
import re
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from weft.cli.options import Saving, show_value
from weft.cli.predictions import joined, learned
from weft.cli.progress_file import (
    Entry,
    OpenRound,
    State,
    kept_path,
    last_state,
    read_state,
    remove_kept,
    source_key,
    write_states,
)
from weft.cli.schema_options import Fields, absent_fields, find_fields
from weft.cli.signals import StopSignals
from weft.labels import plain_label
from weft.learners.catalogue import build, parameters_as_json
from weft.model import Model
from weft.reductions.per_class import Multiclass, load
from weft.store.digests import FileError
from weft.store.files import Output, expect_place
from weft.store.reading import stored_digest
from weft.streams import Chunk, Fault


@dataclass
class Run:
    """What came of learning a file."""

    events: int = 0
    before: int = 0  # events of this file learned by earlier runs
    stopped: KeyboardInterrupt | None = None  # the signal that ended it early
    skipped: list[Fault] = field(default_factory=list)

    def with_run(self, other: "Run") -> "Run":
        """Both together, of two files."""
        events, before = self.events + other.events, self.before + other.before
        return Run(events, before, other.stopped, self.skipped + other.skipped)


class ModelFile:
    """A model and its file, with the progress file beside it."""

    def __init__(self, path: Path, model: Model | Multiclass, state: State) -> None:
        self.path = path
        self.model = model
        self.state = state

    def save(self, sources: dict[str, Entry], open_round: OpenRound | None = None) -> None:
        """Write model and progress; a crash at any point leaves a pair that belongs together."""
        if stored_digest(self.path) != self.state.model:
            raise ValueError(f"{self.path} was changed by something else meanwhile; nothing was saved, run this again")
        with Output(self.path) as output:
            after = State(self.model.write_to(output.write), sources, open_round)
            write_states(self.path, self.state, after)  # the model is complete, and replaces the old one after this
        self.state = after
        remove_kept(self.path, after)

    def keep(self, source: str, entry: Entry) -> OpenRound:
        """Keep the model as it is before the last round of a source, in a file of its own."""
        name = secrets.token_hex(8)
        with Output(kept_path(self.path, name)) as output:
            digest = self.model.write_to(output.write)
        return OpenRound(source, entry, digest, name)


def expect_model_file(path: Path) -> None:
    """Refuse what a model cannot be saved to again and again, before anything is read."""
    expect_place(path)
    if path.exists() and not path.is_file():
        raise ValueError(f"{path} is a device or a pipe; weft learn opens a model and replaces it, so give a file")


def open_or_create(
    path: Path, asked: Any, settings: dict[str, Any], tasks: Any, default: str
) -> tuple[Model | Multiclass, bool, Fields]:
    """The model of that file, or a new one; whether it is new; and what is known of the fields of its files."""
    if not path.exists():
        fields = find_fields(asked.files, asked.reading, None)
        return _new_model(asked, settings, tasks, default, fields), True, fields
    model = load(path)
    if asked.multiclass and isinstance(model, Model):
        raise ValueError(f"{path} exists already, as a model of two classes or of numbers; --multiclass needs another")
    if tasks is not None:
        raise ValueError(f"{path} exists already, with {len(model.tasks)} tasks; --tasks is for a new model")
    refuse_other_learner(path, model, asked.learner, settings)
    fields = find_fields(asked.files, asked.reading, model)
    return model, False, replace(fields, lines=absent_fields(asked.files, asked.reading, fields.schema))


def _new_model(asked: Any, settings: dict[str, Any], tasks: Any, default: str, fields: Fields) -> Model | Multiclass:
    name, declared = asked.learner or default, {"tasks": tasks, "schema": fields.schema}
    if asked.multiclass:
        _refuse_no_labels(fields)
        return Multiclass(name, **declared, **settings)
    model = Model(name, **declared, **settings)
    if model.target != "point":
        _refuse_no_labels(fields)
    if model.target == "binary" and model.classes is None:
        _refuse_more_classes(fields)
        if _are_two_words(fields.labels):
            return Model(name, **declared, classes=sorted(fields.labels), **settings)
    return model


def _refuse_no_labels(fields: Fields) -> None:
    """The field of the label is always empty."""
    if fields.no_labels is not None:
        raise ValueError(fields.no_labels)


def _refuse_more_classes(fields: Fields) -> None:
    """More than two labels, of which the first events tell: nothing is learned that a later event would refuse."""
    if len(fields.labels) <= 2 or fields.schema is None:
        return
    if fields.schema.round is not None and {*fields.labels} == {-1, 0, 1}:  # 0: nothing is learned of this task
        return
    shown = ", ".join(show_value(plain_label(label)) for label in fields.labels[:3])
    what = f"the field {fields.schema.label!r} has more than two labels ({shown}, ...)"
    if all(isinstance(label, int | float) and not isinstance(label, bool) for label in fields.labels):
        raise ValueError(f"{what}; add --regression if they are numbers to predict, --multiclass if they are classes")
    raise ValueError(f"{what}; add --multiclass for more than two classes")


def _are_two_words(labels: tuple[Any, ...]) -> bool:
    """Are these two classes, which the first chunk of a file need not have both of?"""
    return len(labels) == 2 and all(isinstance(label, str) for label in labels)


def refuse_other_learner(path: Path, model: Model | Multiclass, learner: str | None, settings: dict[str, Any]) -> None:
    """A model keeps its learner: what is asked for must be what it is."""
    name, held = learner or model.name, model.parameters
    if name != model.name:
        build(name, settings)  # a name that does not exist at all deserves that message
        raise ValueError(
            f"{path} was learned by {model.name}, not {name}; leave --learner out or choose another --model"
        )
    for parameter, value in parameters_as_json(build(name, {**held, **settings})).items():
        if value != held[parameter]:
            option = "--graph" if parameter == "graph" else f"--set {parameter}"
            raise ValueError(
                f"{path} was learned with {parameter}={show_value(held[parameter])}, not {show_value(value)}; "
                f"leave {option} out or choose another --model"
            )


def progress_of(path: Path, new: bool, restart: bool, keep_position: bool) -> State:
    """What the model has learned of which file, by its progress file."""
    digest = None if new else stored_digest(path)
    if keep_position:
        return last_state(path, digest)
    try:
        return read_state(path, digest)
    except ValueError:
        if restart:
            return State(digest)
        raise


def model_before(path: Path, last: OpenRound) -> Model | Multiclass | None:
    """The model as it was before the last round; None if its file is gone, and the round has ended therefore."""
    kept = kept_path(path, last.name)
    if stored_digest(kept) is None:
        return None
    try:
        model = load(kept)
    except FileError as error:
        raise FileError(f"{error}; remove it, and learning goes on behind the last round") from None
    if stored_digest(kept) != last.model:
        raise FileError(
            f"{kept} is not the model that it should be; remove it, and learning goes on behind the last round"
        )
    return model


class Learning:
    """One run over one source: learns chunk by chunk and knows what is to be saved."""

    def __init__(
        self,
        file: ModelFile,
        key: str | None,
        known: Entry | None,
        start: Entry | None,
        issued: Callable[[Chunk, Any], None] = lambda chunk, found: None,
        saved: Callable[[Entry], None] = lambda entry: None,
    ) -> None:
        """`key`: what progress is kept under, None if the source cannot be read again; `known`: how far it was learned;
        `start`: where this run begins, before the last round if that has to be learned again. `issued` is given the
        predictions of every chunk, from before it was learned; `saved` is told how far it was when it was saved."""
        self.source = ""
        """What messages call the source."""
        self._issued = issued
        self._tell_saved = saved
        self._saved = time.monotonic()
        self.file = file
        self.run = Run(before=known.events if known else 0)
        self.key = key
        self._known = known
        self._entry = start or Entry(0, "", 0)
        self._unsaved = 0
        self._open_round: OpenRound | None = None
        self.waits_here = False
        """Whether input is waited for in the thread that learns, so that the model can be saved meanwhile."""

    def learn(self, chunk: Chunk) -> None:
        """Learn a chunk; before the last round of a file, keep the model, in case the file continues the round."""
        model, last, begins = self.file.model, chunk.last_round, self._entry.events
        if len(chunk):
            stream, found = chunk.stream, list[Any]()
            if last is not None and self.key is not None:
                if stream.n_rounds > 1:
                    found.append(learned(model, stream.cut(0, stream.n_rounds - 1)))
                before = Entry(*last.position, begins + last.events)
                self._open_round = self.file.keep(self.key, before)
                stream = stream.cut(stream.n_rounds - 1, stream.n_rounds)
            try:
                found.append(learned(model, stream))
            except ValueError as error:
                raise _by_line(chunk, len(chunk) - len(stream), self.source, error) from None
            self._issued(chunk, joined(found))
        self._entry = Entry(*chunk.position, begins + len(chunk))
        self.run.events = max(0, self._entry.events - self.run.before)
        self.run.skipped += chunk.skipped
        self._unsaved += len(chunk)

    def save_if_due(self, saving: Saving) -> None:
        """Save if so many events are new, or the last time was so long ago."""
        is_many = saving.events is not None and self._unsaved >= saving.events
        is_late = saving.seconds is not None and time.monotonic() - self._saved >= saving.seconds
        if is_many or is_late:
            self.save()

    def save(self) -> None:
        """Save what is new: learned events, or lines that need not be looked at again."""
        self._saved = time.monotonic()
        is_further = self._known is None or self._entry.lines > self._known.lines
        is_new = self._unsaved > 0 or (self.key is not None and self._entry.lines > 0)
        if not (is_further and is_new):
            return
        sources = dict(self.file.state.sources)
        if self.key is not None:
            sources[self.key] = self._entry
        self.file.save(sources, self._open_round)
        self._known, self._unsaved = self._entry if self.key is not None else None, 0
        self._tell_saved(self._entry)


def _by_line(chunk: Chunk, first: int, source: str, error: ValueError) -> ValueError:
    """What a model says of a row of the events of a chunk from `first` on, with the file and the line of that row."""
    found = re.match(r"row ([0-9]+)", str(error))
    at = first + int(found[1]) if found is not None else len(chunk)
    if found is None or at >= len(chunk):
        return error
    return ValueError(f"{source}, line {chunk.lines[at]}{str(error)[found.end() :]}")


def key_of(source: str) -> str | None:
    """What the progress of a file is kept under."""
    return source_key(source) if is_resumable(source) else None


def is_resumable(source: str) -> bool:
    """Whether a source can be read again from a position: a file can, standard input and pipes cannot."""
    return source != "-" and os.path.isfile(source)


def learn_chunks(
    learning: Learning,
    read: Callable[[Callable[[], None]], Iterator[Chunk]],
    saving: Saving,
    on_chunk: Callable[[Chunk], None],
    stopped: KeyboardInterrupt | None = None,
) -> Run:
    """Learn all chunks and save; at the first Ctrl-C, SIGTERM or SIGHUP, save what was learned and stop.

    `read` makes the chunks, given what to call before it waits for more input. What was read from a pipe cannot be read
    again: signals then count only while it waits, and between chunks. `stopped` is one that came before.
    """
    with StopSignals() as signals:
        if stopped is not None:
            signals.came_before(stopped)

        def wait() -> None:
            signals.check()
            if learning.waits_here:
                with signals.held():
                    learning.save_if_due(saving)

        try:
            with signals.held() if learning.key is None else nullcontext():
                for chunk in read(wait):
                    with signals.held():
                        learning.learn(chunk)
                        on_chunk(chunk)
                        learning.save_if_due(saving)
        except KeyboardInterrupt as stop:
            learning.run.stopped = stop
        try:
            with signals.held():
                learning.save()
        except KeyboardInterrupt as stop:
            learning.run.stopped = stop
    return learning.run
