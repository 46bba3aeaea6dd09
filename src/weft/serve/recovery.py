"""From a folder to the model that it holds: the latest checkpoint, and the log behind it.

The log is the truth, and a checkpoint saves time: the model is the one that the whole log gives, bit for bit.
"""

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple

from weft.learners.catalogue import build
from weft.model import Model
from weft.schema import Schema
from weft.serve import checkpoints
from weft.serve.applying import apply
from weft.serve.base import load_base
from weft.serve.entries import Correct, Entry, Feedback, Forget, Label, Learn, Policy, Remember
from weft.serve.folder import Config, Folder
from weft.serve.log import NAME, Log
from weft.serve.positions import check_positions
from weft.serve.tails import dropped_tail
from weft.store.digests import FileError

Change = Callable[[Entry], Entry | None]
"""What replay does with an entry before it is applied; None leaves it out."""


class Recovered(NamedTuple):
    """An open log with its model, as of entry `seq`."""

    log: Log
    model: Model
    seq: int
    checkpoint: int
    """The entry of the checkpoint that was used; 0 for none."""
    notes: list[str]
    """What an operator should know."""


def first_model(folder: Folder, config: Config) -> Model:
    """The model before the first entry."""
    if config.base is None:
        schema = None if config.schema is None else Schema.from_json(config.schema)
        return Model(build(config.learner, config.parameters), classes=config.classes, schema=schema)
    return load_base(folder, config)


def open_log(folder: Folder, **settings: Any) -> tuple[Log, list[str]]:
    """The log, checked and flushed, and what was dropped at its end."""
    path = folder.path / NAME
    notes = []
    tail = dropped_tail(path.with_name(NAME + "-wal"))
    if tail:
        notes.append(f"{tail} bytes at the end of the log belonged to a write that was cut short, and were dropped")
    log = Log(path, **settings)
    try:
        log.check_pages()
        log.check_ids()
        check_positions(log)
    except BaseException:
        log.drop()
        raise
    return log, notes


def recover(folder: Folder, config: Config, **settings: Any) -> Recovered:
    """Open the log and rebuild the model; ValueError (FileError) if that cannot be done exactly."""
    log, notes = open_log(folder, **settings)
    try:
        model, start = _start(folder, config, log, notes)
        seq = replay(log, model, start)
    except BaseException:
        log.drop()
        raise
    return Recovered(log, model, seq, start, notes)


def _start(folder: Folder, config: Config, log: Log, notes: list[str]) -> tuple[Model, int]:
    """The latest model that can be loaded, and the entry up to which it has learned."""
    head = log.head
    found = checkpoints.found_in(folder.path)
    ahead = [checkpoint for checkpoint in found if checkpoint.seq > head.last]
    if ahead:
        raise FileError(
            f"{ahead[0].path} is ahead of the log, which ends with entry {head.last}: entries are missing; "
            "restore the folder from a backup"
        )
    for checkpoint in found:
        if checkpoint.seq + 1 < head.exact:
            break
        try:
            return checkpoints.load(checkpoint), checkpoint.seq
        except FileError as error:
            notes.append(f"a checkpoint was not used: {error}")
    if head.exact > 1:
        reason = f" ({notes[-1]})" if notes else ""
        raise FileError(
            f"{folder.path} has no usable checkpoint, and its log begins with entry {head.exact}{reason}; "
            "restore the folder from a backup"
        )
    return first_model(folder, config), 0


def replay(
    log: Log, model: Model, after: int, until: int | None = None, change: Change | None = None, live: bool = True
) -> int:
    """Apply the entries behind `after`; the last of them. `live`: ids of refused entries are taken back again."""
    last = after
    refused = []
    for seq, entry in log.entries(after, until):
        chosen = entry if change is None else change(entry)
        if chosen is not None:
            result = apply(model, chosen)
            if isinstance(result, str) and isinstance(entry, Learn) and entry.id is not None:
                refused.append(entry.id)
        last = seq
    if live:
        for id in refused:
            log.release(id)
    return last


def rebuilt(
    path: Path, until: int | None = None, without: frozenset[Any] = frozenset(), corrected: bool = False
) -> tuple[Model, int]:
    """The model of a folder's log, which may be served meanwhile: up to an entry, without tasks, with corrections."""
    folder = Folder(path)
    config = folder.config()
    log = Log(folder.path / NAME, read_only=True)
    try:
        head = log.head
        last = head.last if until is None else until
        if not 0 <= last <= head.last:
            raise ValueError(f"the log ends with entry {head.last}; --until {last} is not in it")
        if not without and not corrected and head.exact > 1:
            model, start = _latest_before(folder, last, head.exact)
        else:
            _expect_whole(folder, head.first)
            model, start = first_model(folder, config), 0
            for task in without & frozenset(model.tasks):  # known to the model that the service began with
                model.forget(task)
        change = _changes(without, _corrections(log, last) if corrected else {})
        return model, replay(log, model, start, last, change, live=False)
    finally:
        log.close()


def _latest_before(folder: Folder, last: int, exact: int) -> tuple[Model, int]:
    for checkpoint in checkpoints.found_in(folder.path):
        if exact <= checkpoint.seq + 1 <= last + 1:
            return checkpoints.load(checkpoint), checkpoint.seq
    raise ValueError(
        f"the log of {folder.path} is complete from entry {exact} on only, and no checkpoint lies between that and "
        f"entry {last}; choose a later entry"
    )


def _expect_whole(folder: Folder, first: int) -> None:
    if first > 1:
        raise ValueError(
            f"the log of {folder.path} begins with entry {first}: entries before it were trimmed (keep_log), "
            "and a model cannot be rebuilt without a task or with corrections"
        )


def _corrections(log: Log, last: int) -> Mapping[str, Label]:
    """The last label that was given for each remembered prediction."""
    return {entry.id: entry.y for _, entry in log.entries(0, last) if isinstance(entry, Correct)}


def _changes(without: frozenset[Any], labels: Mapping[str, Label]) -> Change | None:
    if not without and not labels:
        return None

    def change(entry: Entry) -> Entry | None:
        if isinstance(entry, Learn | Feedback | Remember | Forget | Policy) and entry.task in without:
            return None
        if isinstance(entry, Feedback) and entry.id in labels:
            return Feedback(entry.id, entry.task, entry.x, labels[entry.id], entry.record)
        return entry

    return change
