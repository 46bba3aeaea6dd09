"""Checkpoints: the model after an entry of the log, as a model file that is written beside the service.

A checkpoint is written by a forked process, which has a copy of the model as it was at the fork: predictions go on, and
learning pauses for the fork alone. The file is written under a temporary name, flushed, moved into place, flushed with
its folder, and read again: only a checkpoint whose digest was found right afterwards is called verified.
"""

import os
import re
import sys
import time
import warnings
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from weft.model import Model
from weft.store.codec import checked, header_of
from weft.store.digests import FileError
from weft.store.files import Output
from weft.store.reading import read_file

KEPT = 2
"""So many checkpoints are kept."""
_NAME = re.compile(r"checkpoint-(\d{1,19})\.weft")


class Checkpoint(NamedTuple):
    """A file, and the last entry that its model has learned."""

    path: Path
    seq: int


def name_of(seq: int) -> str:
    """The file's name."""
    return f"checkpoint-{seq}.weft"


def found_in(folder: Path) -> list[Checkpoint]:
    """The checkpoints of a folder, the latest first."""
    names = [(name, _NAME.fullmatch(name)) for name in os.listdir(folder)]
    found = [Checkpoint(folder / name, int(match[1])) for name, match in names if match]
    return sorted(found, key=lambda checkpoint: -checkpoint.seq)


def load(checkpoint: Checkpoint) -> Model:
    """The model of a checkpoint; FileError if it is damaged, or is not that of its name."""
    data = read_file(checkpoint.path)
    try:
        model = Model.from_bytes(data)
        facts = header_of(data).get("serve")
    except FileError as error:
        raise FileError(f"{checkpoint.path}: {error}") from None
    if not isinstance(facts, dict) or facts.get("seq") != checkpoint.seq:
        raise FileError(f"{checkpoint.path}: the file is not the checkpoint that its name says")
    return model


def verify(path: Path) -> None:
    """Raise FileError unless the digest of the file is right."""
    data = read_file(path)
    with checked(data):
        pass


class Writing:
    """A model that another process is writing to a file."""

    def __init__(self, model: Model, path: Path, facts: Mapping[str, Any]) -> None:
        self.path = path
        self.began = time.monotonic()
        self._code: int | None = None
        self._child = _fork() if sys.platform != "win32" else None
        self.pause = 0.0
        if self._child == 0:
            _write_and_leave(model, path, facts)
        if self._child is None:
            _write(model, path, facts)
            self._code = 0
        self.pause = time.monotonic() - self.began

    def is_done(self, wait: bool = False) -> bool:
        """Whether the file is there and verified; OSError if it could not be written."""
        if self._code is None and self._child is not None:
            number, status = os.waitpid(self._child, 0 if wait else os.WNOHANG)
            if number == 0:
                return False
            self._code = os.waitstatus_to_exitcode(status)
        if self._code:
            raise OSError(f"cannot write {self.path}: the process that wrote it ended with {self._code}")
        return True


def _fork() -> int:
    with warnings.catch_warnings():  # other threads wait or serve; the child uses none of what they hold
        warnings.simplefilter("ignore", DeprecationWarning)
        return os.fork()


def _write_and_leave(model: Model, path: Path, facts: Mapping[str, Any]) -> None:
    """In the child: nothing but the file, without the sockets, locks and logs of the parent."""
    code = 70
    try:
        os.closerange(3, _most_descriptors())
        _write(model, path, facts)
        code = 0
    finally:
        os._exit(code)


def _most_descriptors() -> int:
    with suppress(OSError, ValueError):
        return max(map(int, os.listdir("/proc/self/fd"))) + 1
    return min(os.sysconf("SC_OPEN_MAX"), 1 << 16)


def _write(model: Model, path: Path, facts: Mapping[str, Any]) -> None:
    with Output(path) as output:
        model.write_to(output.write, facts)
    verify(path)


def write_checkpoint(model: Model, folder: Path, seq: int) -> Writing:
    """Begin to write the checkpoint of the model as it is, after entry `seq`."""
    return Writing(model, folder / name_of(seq), {"serve": {"seq": seq}})


def remove_old(folder: Path) -> list[Checkpoint]:
    """Keep the last checkpoints only; those that are kept, the latest first."""
    found = found_in(folder)
    for checkpoint in found[KEPT:]:
        with suppress(OSError):
            checkpoint.path.unlink()
    return found[:KEPT]
