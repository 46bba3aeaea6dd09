"""Learning a file into a model file: chunk by chunk, with snapshots, and an orderly stop at Ctrl-C."""

import contextlib
import signal
import threading
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.cli.options import show_value
from weft.cli.progress_file import Entry, State, checksum, last_state, read_state, source_key, write_states
from weft.learners.catalogue import build, parameters_as_json
from weft.model import Model, load
from weft.store.files import write_atomic
from weft.streams import Chunk, Fault


@dataclass
class Run:
    """What came of learning a file."""

    events: int = 0
    before: int = 0  # events of this file learned by earlier runs
    interrupted: bool = False
    skipped: list[Fault] = field(default_factory=list)


class ModelFile:
    """A model and its file, with the progress file beside it."""

    def __init__(self, path: Path, model: Model, state: State) -> None:
        self.path = path
        self.model = model
        self.state = state

    def save(self, sources: dict[str, Entry]) -> None:
        """Write model and progress; a crash at any point leaves a pair that belongs together."""
        if _checksum_of(self.path) != self.state.model:
            raise ValueError(f"{self.path} was changed by something else meanwhile; nothing was saved, run this again")
        data = self.model.to_bytes()
        after = State(checksum(data), sources)
        write_states(self.path, self.state, after)
        write_atomic(self.path, data)
        self.state = after


def _checksum_of(path: Path) -> str | None:
    return checksum(path.read_bytes()) if path.exists() else None


def open_or_create(
    path: Path, learner: str | None, settings: dict[str, Any], tasks: Any, default: str
) -> tuple[Model, bool]:
    """The model of that file, or a new one; whether it is new."""
    if not path.exists():
        if path.parent != Path() and not path.parent.is_dir():
            raise FileNotFoundError(f"cannot write {path}: the folder {path.parent} does not exist")
        return Model(learner or default, tasks=tasks, **settings), True
    model = load(path)
    if tasks is not None:
        raise ValueError(f"{path} exists already, with {len(model.tasks)} tasks; --tasks is for a new model")
    refuse_other_learner(path, model, learner, settings)
    return model, False


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
    digest = None if new else _checksum_of(path)
    if keep_position:
        return last_state(path, digest)
    try:
        return read_state(path, digest)
    except ValueError:
        if restart:
            return State(digest)
        raise


def learn_chunks(
    file: ModelFile,
    source: str,
    chunks: Iterator[Chunk],
    start: Entry | None,
    every: int | None,
    on_chunk: Callable[[Chunk], None],
) -> Run:
    """Learn all chunks and save; at Ctrl-C, save what was learned and stop."""
    run = Run(before=start.events if start else 0)
    resumable = source != "-"
    entry, saved, unsaved = start, start, 0

    def save() -> None:
        sources = dict(file.state.sources)
        if resumable and entry is not None:
            sources[source_key(source)] = entry
        file.save(sources)

    def is_new() -> bool:
        """Something was learned, or lines were passed over that need not be looked at again."""
        return unsaved > 0 or (resumable and entry != saved)

    stop = CtrlC()
    try:
        for chunk in chunks:
            with stop:
                if len(chunk):
                    file.model.learn(chunk.stream)
                run.events += len(chunk)
                run.skipped += chunk.skipped
                entry = Entry(*chunk.position, run.before + run.events)
                unsaved += len(chunk)
                on_chunk(chunk)
                if every and unsaved >= every:
                    save()
                    saved, unsaved = entry, 0
    except KeyboardInterrupt:
        run.interrupted = True
    with contextlib.suppress(KeyboardInterrupt), stop:
        if is_new():
            save()
    return run


class CtrlC:
    """Holds a Ctrl-C back until the block is left, so that a model is never caught between two states."""

    def __enter__(self) -> "CtrlC":
        self.asked = False
        self._ours = threading.current_thread() is threading.main_thread()
        if self._ours:
            self._before = signal.signal(signal.SIGINT, self._ask)
        return self

    def _ask(self, *_: Any) -> None:
        self.asked = True

    def __exit__(self, kind: object, *_: object) -> None:
        if self._ours:
            signal.signal(signal.SIGINT, self._before)
        if self.asked and kind is None:
            raise KeyboardInterrupt
