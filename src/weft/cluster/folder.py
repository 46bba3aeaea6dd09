"""The folder of a run: what it is, the versions, and checkpoints of all shards and of what they share.

    cluster.json             the learner, the rule, the files and how they are read
    versions/00000012.weft   every version that a checkpoint may be followed by
    shared/00000010.weft     a model without tasks: what all shards share in a version
    shard-03/00000010.weft   a shard's model before it learns the block of that number, and
    shard-03/00000010.state  where it is in its files, and what no version has of it yet

Every file is written beside its place, flushed to disk and moved there. A checkpoint counts when its `.weft`, which is
written last, is there. Two are kept. All machines see the folder under the same path.
"""

import json
import os
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

from weft.cluster.records import Version
from weft.model import Model, load
from weft.store.digests import FileError
from weft.store.files import Output, write_atomic
from weft.store.problems import explaining
from weft.store.reading import read_file

KEPT = 2
SHARED = "shared"
CONFIG = "cluster.json"


class Folder:
    """The files of a run by their names."""

    def __init__(self, path: Path) -> None:
        self.path = path

    # --- what the run is ---

    def read_config(self) -> dict[str, Any] | None:
        """What `write_config` wrote, None in a new folder."""
        try:
            with explaining(self.path / CONFIG, "read"):
                found: Any = json.loads((self.path / CONFIG).read_text("utf-8"))
        except FileNotFoundError:
            return None
        except ValueError:
            found = None
        if not isinstance(found, dict):
            raise FileError(f"{self.path / CONFIG} is not what a run in shards has written; choose another folder")
        return found

    def write_config(self, config: dict[str, Any]) -> None:
        """Begin a folder."""
        with explaining(self.path, "make"):
            self.path.mkdir(parents=True, exist_ok=True)
        write_atomic(self.path / CONFIG, json.dumps(config, indent=1).encode())

    # --- versions ---

    def _version(self, number: int) -> Path:
        return self.path / "versions" / f"{number:08}.weft"

    def write_version(self, version: Version) -> None:
        """Store a version; it is on disk when this returns."""
        path = self._version(version.number)
        path.parent.mkdir(exist_ok=True)
        write_atomic(path, version.to_bytes())

    def read_version(self, number: int) -> Version:
        """A version that was stored."""
        return Version.from_bytes(bytes(read_file(self._version(number))))

    def last_version(self) -> int | None:
        """The number of the latest version, None if there is none."""
        return max(self._numbers("versions", ".weft"), default=None)

    def trim_versions(self, first: int) -> None:
        """Remove the versions before this one."""
        for number in self._numbers("versions", ".weft"):
            if number < first:
                with suppress(FileNotFoundError):
                    os.unlink(self._version(number))

    # --- checkpoints ---

    def save(self, where: str, number: int, model: Model, state: bytes | None = None) -> Path:
        """Write a checkpoint of a shard or of what all share, and remove all but the last two."""
        path = self.path / where / f"{number:08}.weft"
        path.parent.mkdir(exist_ok=True)
        if state is not None:
            write_atomic(path.with_suffix(".state"), state)
        with Output(path) as output:
            model.write_to(output.write)
        for old in self.checkpoints(where)[:-KEPT]:
            for ending in (".weft", ".state"):
                with suppress(FileNotFoundError):
                    os.unlink(path.with_name(f"{old:08}{ending}"))
        return path

    def checkpoints(self, where: str) -> list[int]:
        """The numbers of the checkpoints that are complete, in ascending order."""
        return sorted(self._numbers(where, ".weft"))

    def load(self, where: str, number: int) -> Model:
        """A checkpoint's model."""
        return load(self.path / where / f"{number:08}.weft")

    def load_state(self, where: str, number: int) -> bytes:
        """The state beside it."""
        return bytes(read_file(self.path / where / f"{number:08}.state"))

    def newest(self, where: str, most: int, read: Callable[[Model, bytes, int], Any]) -> Any:
        """What `read` makes of the newest checkpoint of a shard up to a number; of an older one if that is damaged."""
        error: Exception | None = None
        for number in reversed([n for n in self.checkpoints(where) if n <= most]):
            try:
                return read(self.load(where, number), self.load_state(where, number), number)
            except FileError as damaged:
                error = damaged
        raise error or FileError(f"{self.path / where} has no checkpoint; begin a new folder")

    def _numbers(self, where: str, ending: str) -> list[int]:
        try:
            names = os.listdir(self.path / where)
        except FileNotFoundError:
            return []
        return [int(name[: -len(ending)]) for name in names if name.endswith(ending) and name[: -len(ending)].isdigit()]
