"""Learning a file into a model file: chunk by chunk, with snapshots, and an orderly stop at Ctrl-C."""

import os
import secrets
import time
from collections.abc import Callable, Iterator
from contextlib import nullcontext
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np

from weft.cli.options import Saving, show_value
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
from weft.cli.schema_options import Fields, find_fields
from weft.cli.signals import StopSignals
from weft.compiled.arrays import Floats
from weft.learners.catalogue import build, parameters_as_json
from weft.model import Model, load
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

    def __init__(self, path: Path, model: Model, state: State) -> None:
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
) -> tuple[Model, bool, Fields]:
    """The model of that file, or a new one; whether it is new; and what is known of the fields of its files."""
    if not path.exists():
        fields = find_fields(asked.files, asked.reading, None)
        model = Model(asked.learner or default, tasks=tasks, schema=fields.schema, **settings)
        if model.target == "binary" and model.classes is None and _are_two_words(fields.labels):
            known = sorted(fields.labels)
            model = Model(asked.learner or default, tasks=tasks, schema=fields.schema, classes=known, **settings)
        return model, True, fields
    model = load(path)
    if tasks is not None:
        raise ValueError(f"{path} exists already, with {len(model.tasks)} tasks; --tasks is for a new model")
    refuse_other_learner(path, model, asked.learner, settings)
    return model, False, find_fields(asked.files, asked.reading, model)


def _are_two_words(labels: tuple[Any, ...]) -> bool:
    """Are these two classes, which the first chunk of a file need not have both of?"""
    return len(labels) == 2 and all(isinstance(label, str) for label in labels)


def refuse_other_learner(path: Path, model: Model, learner: str | None, settings: dict[str, Any]) -> None:
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


def model_before(path: Path, last: OpenRound) -> Model | None:
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
        source: str,
        known: Entry | None,
        start: Entry | None,
        issued: Callable[[Chunk, Floats], None] = lambda chunk, scores: None,
    ) -> None:
        """`known`: how far the source was learned; `start`: where this run begins, before the last round if that has
        to be learned again. `issued` is given the scores of every chunk, from before it was learned."""
        self._issued = issued
        self._saved = time.monotonic()
        self.file = file
        self.run = Run(before=known.events if known else 0)
        self.key = source_key(source) if is_resumable(source) else None
        self._known = known
        self._entry = start or Entry(0, "", 0)
        self._unsaved = 0
        self._open_round: OpenRound | None = None

    def learn(self, chunk: Chunk) -> None:
        """Learn a chunk; before the last round of a file, keep the model, in case the file continues the round."""
        model, last, begins = self.file.model, chunk.last_round, self._entry.events
        if len(chunk):
            stream, scores = chunk.stream, list[Floats]()
            if last is not None and self.key is not None:
                if stream.n_rounds > 1:
                    scores.append(model.learn(stream.cut(0, stream.n_rounds - 1)))
                before = Entry(*last.position, begins + last.events)
                self._open_round = self.file.keep(self.key, before)
                stream = stream.cut(stream.n_rounds - 1, stream.n_rounds)
            scores.append(model.learn(stream))
            self._issued(chunk, np.concatenate(scores))
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


def is_resumable(source: str) -> bool:
    """Whether a source can be read again from a position: a file can, standard input and pipes cannot."""
    return source != "-" and os.path.isfile(source)


def learn_chunks(
    learning: Learning,
    read: Callable[[Callable[[], None]], Iterator[Chunk]],
    saving: Saving,
    on_chunk: Callable[[Chunk], None],
) -> Run:
    """Learn all chunks and save; at the first Ctrl-C, SIGTERM or SIGHUP, save what was learned and stop.

    `read` makes the chunks, given what to call before it waits for more input. What was read from a pipe cannot be read
    again: signals then count only while it waits, and between chunks.
    """
    with StopSignals() as signals:
        try:
            with signals.held() if learning.key is None else nullcontext():
                for chunk in read(signals.check):
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
