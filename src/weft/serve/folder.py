"""The folder of a service: what is in it, its configuration, and the lock of the one process that serves it.

config.json           learner, parameters, schema, format, what is kept: written once
base.weft             the model that the service began with, if it did not begin with an empty one
log.sqlite            the log (`weft.serve.log`)
checkpoint-SEQ.weft   the model after entry SEQ; two are kept
tokens.json           hashes of tokens (`weft.serve.tokens`)
lock                  held by the process that serves the folder
"""

import json
import os
import re
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import msgspec

from weft.cache.open_flags import open_flags
from weft.store.digests import FileError
from weft.store.files import write_atomic
from weft.store.locks import try_lock
from weft.store.problems import explaining

FORMAT = 1
"""Of the folder. A change of any file's layout raises it, and adds a function to `_MIGRATIONS`."""
OLDEST = 1
"""The earliest format that is read."""
CONFIG, BASE, LOCK, TOKENS = "config.json", "base.weft", "lock", "tokens.json"
DAY = 86400.0
_EXPORT = r"export-[0-9a-f]{16}\.weft"
_LEFT = re.compile(
    rf"\.({_EXPORT}|(checkpoint-\d+\.weft|base[-0-9a-f]*\.weft|config\.json|\.{_EXPORT})\.weft-[0-9a-f]{{16}}\.tmp)"
)
"""Files that are being written, but for tokens, which other processes write."""
PATIENCE = 10.0
"""Seconds to wait for what a process that has ended has left running."""


class Config(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """What a folder serves; it does not change after the folder was made, but for what `weft serve` is told again."""

    format: int = FORMAT
    learner: str
    parameters: dict[str, Any] = {}
    schema: dict[str, Any] | None = None
    classes: list[str | bool | int | float] | None = None
    """The two labels of a classifier, negative first, if they were declared."""
    base: str | None = None
    """The digest of the model that the service began with."""
    base_file: str = BASE
    keep_log: int | None = None
    """Entries of the log that are kept; None keeps all: replay, rollback and forgetting need them."""
    recognise: int = 1_000_000
    """An id is recognised as a duplicate for so many entries after its own."""
    remember_for: float = 90 * DAY
    """Seconds after which a remembered prediction without a label expires."""


class Folder:
    """The paths of a folder, and its lock once `locked` was called."""

    def __init__(self, path: str | os.PathLike[str]) -> None:
        self.path = Path(path)
        self._lock: int | None = None

    @property
    def config_path(self) -> Path:
        """config.json."""
        return self.path / CONFIG

    @property
    def is_there(self) -> bool:
        """Whether the folder was made by `weft serve`."""
        return self.config_path.exists()

    def make(self, config: Config, base: bytes | None = None) -> None:
        """A new folder; its configuration is written last, so that a folder without one is not a service yet."""
        self.begin()
        if base is not None:
            write_atomic(self.path / config.base_file, base)
        self.write(config)

    def begin(self) -> None:
        """Make the folder, for a service that is still to be configured; ValueError if it is one of something else."""
        with explaining(self.path, "write"):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            others = {name for name in os.listdir(self.path) if not name.startswith(".")} - {BASE, LOCK, TOKENS}
        if others:
            raise ValueError(
                f"{self.path} is not the folder of a service: it holds other files, such as {sorted(others)[0]}; "
                "choose a new or an empty folder"
            )

    def write(self, config: Config) -> None:
        """Replace the configuration."""
        text = json.dumps(msgspec.to_builtins(config), indent=2, ensure_ascii=False)
        write_atomic(self.config_path, (text + "\n").encode())

    def config(self) -> Config:
        """The configuration, of this or an earlier format."""
        try:
            with explaining(self.config_path, "read"):
                data = self.config_path.read_bytes()
        except FileNotFoundError:
            raise FileNotFoundError(f"{self.path} is not the folder of a service: it has no {CONFIG}") from None
        try:
            return read_config(data)
        except FileError as error:
            raise FileError(f"{self.config_path}: {error}") from None

    def locked(self) -> "Folder":
        """Hold the lock until the process ends; ValueError if another process serves the folder."""
        with explaining(self.path / LOCK, "lock"):
            self.path.mkdir(mode=0o700, parents=True, exist_ok=True)
            self._lock = os.open(self.path / LOCK, os.O_RDWR | os.O_CREAT | open_flags("O_CLOEXEC"), 0o600)
            taken = self._take(self._lock)
        if taken is False:
            holder = _holder(self._lock)
            os.close(self._lock)
            known = f"process {holder}" if re.fullmatch("[0-9]{1,10}", holder) else "another process"
            raise ValueError(f"{self.path} is served by {known}; stop that first, or choose another folder")
        os.ftruncate(self._lock, 0)
        os.pwrite(self._lock, f"{os.getpid()}\n".encode(), 0)
        self._remove_left()
        return self

    def _remove_left(self) -> None:
        """Remove what a killed process was writing: checkpoints may be large, and may hold tasks that are forgotten.

        A process that it left behind, and that is still writing, cannot move its file into place afterwards.
        """
        for name in os.listdir(self.path):
            if _LEFT.fullmatch(name):
                with suppress(OSError):
                    os.unlink(self.path / name)

    def _take(self, descriptor: int) -> bool | None:
        """Lock it. A holder that has ended may have left a process that writes a checkpoint: wait until it lets go."""
        end = time.monotonic() + PATIENCE
        while (taken := try_lock(descriptor)) is False:
            if _is_alive(_holder(descriptor)) or time.monotonic() > end:
                return False
            time.sleep(0.01)
        return taken

    def unlock(self) -> None:
        """Let others serve the folder."""
        if self._lock is not None:
            with suppress(OSError):
                os.close(self._lock)
            self._lock = None


def _holder(descriptor: int) -> str:
    return os.pread(descriptor, 20, 0).decode(errors="replace").strip()


def _is_alive(number: str) -> bool:
    """Whether a process of that number runs; what is not a number may be one that is just beginning."""
    if not re.fullmatch("[0-9]{1,9}", number):
        return False
    try:
        os.kill(int(number), 0)
    except ProcessLookupError:
        return False
    except OSError:
        return True
    return True


def read_config(data: bytes) -> Config:
    """The configuration in a file; FileError if it is not one."""
    try:
        found = msgspec.json.decode(data)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        raise FileError("this is not JSON; restore it from a backup") from None
    version = found.get("format") if isinstance(found, dict) else None
    if type(version) is not int or not OLDEST <= version <= FORMAT:
        raise FileError(
            f"the folder has format {version!r}, this weft reads formats {OLDEST} to {FORMAT}; use a newer weft"
        )
    while version < FORMAT:
        found = _MIGRATIONS[version](found)
        version += 1
    try:
        config = msgspec.convert({**found, "format": FORMAT}, Config)
    except msgspec.ValidationError as error:
        raise FileError(f"the configuration cannot be used: {error}; restore it from a backup") from None
    if not re.fullmatch(r"base(-[0-9a-f]{16})?\.weft", config.base_file):
        raise FileError("the configuration names a base that cannot be one; restore it from a backup")
    if config.recognise < 1 or not config.remember_for > 0.0 or (config.keep_log is not None and config.keep_log < 1):
        raise FileError("the configuration has a limit that is not above 0; restore it from a backup")
    return config


_MIGRATIONS: dict[int, Callable[[dict[str, Any]], dict[str, Any]]] = {}
"""From each earlier format to the next one; there is no earlier one yet."""
