"""A copy of a folder as it is at one moment, while it is served.

The copy holds the configuration, the base model, the log, and the latest checkpoint that the log covers. Tokens are not
copied. A restored copy is served like any other folder.
"""

import shutil
from pathlib import Path

from weft.serve import checkpoints
from weft.serve.folder import Folder
from weft.serve.log import NAME, Log
from weft.store.digests import FileError
from weft.store.files import Output


def backup(source: Path, target: Path) -> int:
    """Copy a folder; the last entry of the copy. The target must be new or empty."""
    folder, copy = Folder(source), Folder(target)
    config = folder.config()
    if target.exists() and any(target.iterdir()):
        raise ValueError(f"{target} is not empty; choose a new folder")
    target.mkdir(mode=0o700, parents=True, exist_ok=True)
    log = Log(source / NAME, read_only=True)
    try:
        found = checkpoints.found_in(source)  # before the log, which is ahead of them therefore
        kept = [_copied(checkpoint, target) for checkpoint in found]
        log.copy_to(target / NAME)
        exact = log.head.exact
    finally:
        log.close()
    if config.base is not None:
        _copy(source / config.base_file, target / config.base_file)
    if exact > 1 and not any(kept):
        raise FileError(f"no checkpoint of {source} could be copied; try again")
    last = _seq_of(target)
    copy.write(config)
    return last


def _seq_of(target: Path) -> int:
    """The last entry of a copy, whose entries are all read."""
    log = Log(target / NAME)
    try:
        log.check_pages()
        log.check_ids()
        return sum(1 for _ in log.entries(log.head.first - 1)) + log.head.first - 1
    finally:
        log.close()


def _copied(checkpoint: checkpoints.Checkpoint, target: Path) -> bool:
    """Copy a checkpoint; False if the service has replaced it meanwhile."""
    path = target / checkpoint.path.name
    try:
        _copy(checkpoint.path, path)
    except FileNotFoundError:
        path.unlink(missing_ok=True)
        return False
    checkpoints.verify(path)
    return True


def _copy(source: Path, target: Path) -> None:
    with open(source, "rb") as file, Output(target) as output:
        shutil.copyfileobj(file, output)
