"""How far each file was learned, beside the model: `spam.weft.progress`.

Model and progress are two files, and a crash may come between the two writes. So the progress file is in place first
and holds two states, each with the digest at the end of its model file: the one on disk and the one about to replace
it. Whichever model file is found later tells which of the two is true, and nothing is learned twice or lost.

A file with rounds may end inside its last round, and continue it when it grows. All events of a round are scored before
any of them is learned, so the round must then be learned again as a whole: a state keeps the model as it was before the
last round of the file that was learned last (`OpenRound`), in a file of its own beside the model. It is there before
the progress file names it, under a name that was never used, and is removed when the progress file names it no more.
"""

import json
import os
import re
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from weft.store.files import sweep_numbered, write_atomic
from weft.store.problems import explaining
from weft.streams.source import Position

FORMAT = 2
_NAME = re.compile("[0-9a-f]{16}")


@dataclass(frozen=True)
class Entry:
    """How far one source was learned."""

    lines: int
    digest: str
    events: int

    @property
    def position(self) -> Position:
        """Where to go on."""
        return Position(self.lines, self.digest)


@dataclass(frozen=True)
class OpenRound:
    """The last round of a source, which may continue: how far the source was learned before it, and the model then: the
    digest at the end of its file, and what the name of that file ends in (`kept_path`)."""

    source: str
    entry: Entry
    model: str
    name: str


@dataclass(frozen=True)
class State:
    """The digest at the end of a model file, None if there is none, and what it has learned of which source."""

    model: str | None = None
    sources: dict[str, Entry] = field(default_factory=dict)
    open_round: OpenRound | None = None


class ModelChanged(ValueError):
    """The model file is not one that the progress file knows."""


def progress_path(model: Path) -> Path:
    """The file beside a model; beside the real file if the model is a link."""
    real = Path(os.path.realpath(model))
    return real.with_name(real.name + ".progress")


def kept_path(model: Path, name: str) -> Path:
    """The file beside a model that keeps it as it was before the last round."""
    real = Path(os.path.realpath(model))
    return real.with_name(f"{real.name}.before-{name}")


def remove_kept(model: Path, state: State) -> None:
    """Remove the models before a last round that a state does not name, also those of a run that was killed."""
    every = re.compile(re.escape(kept_path(model, "").name) + _NAME.pattern)
    named = None if state.open_round is None else kept_path(model, state.open_round.name).name
    folder = kept_path(model, "").parent
    with suppress(OSError):
        for name in os.listdir(folder):
            if name != named and every.fullmatch(name):
                with suppress(OSError):
                    os.unlink(folder / name)
    sweep_numbered(str(kept_path(model, "")))


def source_key(source: str) -> str:
    """A file by its full path, however it was named."""
    return os.path.realpath(source)


def read_state(model: Path, digest: str | None) -> State:
    """What the model with this digest has learned; ModelChanged if only other ones are known."""
    path = progress_path(model)
    if digest is None or not path.exists():
        return State(digest)
    states = _parse(path)
    for state in reversed(states):
        if state.model == digest:
            return state
    raise ModelChanged(
        f"{model} was changed by something else since weft learn saved it, so {path.name} may be wrong; "
        "--keep-position goes on where it says, --restart learns the file from its first line"
    )


def last_state(model: Path, digest: str | None) -> State:
    """What the progress file says last, whatever the model."""
    path = progress_path(model)
    states = _parse(path) if path.exists() else []
    return State(digest, states[-1].sources if states else {})


def write_states(model: Path, before: State, after: State) -> None:
    """Announce the step from one state to the next; the model is to be moved into place right after."""
    data = {"format": FORMAT, "states": [_as_json(before), _as_json(after)]}
    # Names of files need not be UTF-8: as escapes they survive.
    write_atomic(progress_path(model), json.dumps(data, ensure_ascii=True, indent=1).encode())


def _as_json(state: State) -> dict[str, Any]:
    sources = {key: vars(entry) for key, entry in state.sources.items()}
    data: dict[str, Any] = {"model": state.model, "sources": sources}
    if (last := state.open_round) is not None:
        data["open_round"] = vars(last) | {"entry": vars(last.entry)}
    return data


def _parse(path: Path) -> list[State]:
    with explaining(path, "read"):
        content = path.read_bytes()
    try:
        data: Any = json.loads(content)
        if data["format"] != FORMAT:
            raise ValueError
        return [_state(item) for item in data["states"]]
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        raise ModelChanged(
            f"{path} cannot be read; remove it, then weft learn reads a file from its first line"
        ) from None


def _state(item: Any) -> State:
    last = item.get("open_round")
    return State(
        None if item["model"] is None else str(item["model"]),
        {str(key): _entry(e) for key, e in item["sources"].items()},
        None if last is None else _open_round(last),
    )


def _open_round(item: Any) -> OpenRound:
    if not _NAME.fullmatch(item["name"]):  # part of a path
        raise ValueError
    return OpenRound(str(item["source"]), _entry(item["entry"]), str(item["model"]), item["name"])


def _entry(item: Any) -> Entry:
    lines, events = int(item["lines"]), int(item["events"])
    if lines < 0 or events < 0:
        raise ValueError
    return Entry(lines, str(item["digest"]), events)
