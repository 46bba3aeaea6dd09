"""How far each file was learned, beside the model: `spam.weft.progress`.

Model and progress are two files, and a crash may come between the two writes. So the progress file is written
first and holds two states, each with the checksum of its model: the one on disk and the one about to be
written. Whichever model file is found later tells which of the two is true, and nothing is learned twice or
lost.
"""

import hashlib
import json
import os
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

from weft.store.files import write_atomic
from weft.streams.source import Position

FORMAT = 1


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
class State:
    """The checksum of a model file, None if there is none, and what it has learned of which source."""

    model: str | None = None
    sources: dict[str, Entry] = field(default_factory=dict)


class ModelChanged(ValueError):
    """The model file is not one that the progress file knows."""


def progress_path(model: Path) -> Path:
    """The file beside a model."""
    return model.with_name(model.name + ".progress")


def checksum(data: bytes) -> str:
    """Of a model file."""
    return hashlib.blake2b(data, digest_size=16).hexdigest()


def source_key(source: str) -> str:
    """A file by its full path, however it was named."""
    return os.path.realpath(source)


def read_state(model: Path, digest: str | None) -> State:
    """What the model with this checksum has learned; ModelChanged if only other ones are known."""
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
    """Announce the step from one state to the next; the model is to be written right after."""
    data = {"format": FORMAT, "states": [asdict(before), asdict(after)]}
    write_atomic(progress_path(model), json.dumps(data, ensure_ascii=False, indent=1).encode())


def _parse(path: Path) -> list[State]:
    try:
        data: Any = json.loads(path.read_bytes())
        if data["format"] != FORMAT:
            raise ValueError
        return [
            State(
                None if item["model"] is None else str(item["model"]),
                {
                    str(key): Entry(int(e["lines"]), str(e["digest"]), int(e["events"]))
                    for key, e in item["sources"].items()
                },
            )
            for item in data["states"]
        ]
    except (ValueError, KeyError, TypeError, AttributeError):
        raise ModelChanged(
            f"{path} cannot be read; remove it, then weft learn reads a file from its first line"
        ) from None
