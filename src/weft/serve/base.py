"""The model that a service began with, if it did not begin with an empty one."""

from typing import Any

import msgspec

from weft.model import Model
from weft.serve.folder import Config, Folder
from weft.store.digests import FileError
from weft.store.files import write_atomic
from weft.store.reading import read_file


def load_base(folder: Folder, config: Config) -> Model:
    """The model; FileError if it is not the one that the configuration names."""
    path = folder.path / config.base_file
    data = read_file(path)
    if bytes(data[-32:]).hex() != config.base:
        raise FileError(f"{path} is not the model that the service began with; restore it from a backup")
    try:
        return Model.from_bytes(data)
    except FileError as error:
        raise FileError(f"{path}: {error}") from None


def without_tasks(folder: Folder, config: Config, tasks: list[Any]) -> Config:
    """The configuration with a base that has forgotten these tasks; the earlier base is removed.

    The new file has a name of its own, and the configuration is replaced at once: a process that is killed meanwhile
    leaves either base whole.
    """
    if config.base is None:
        return config
    model = load_base(folder, config)
    known = [task for task in tasks if task in model.vocabulary.tasks.slots]
    if not known:
        return config
    for task in known:
        model.forget(task)
    data = model.to_bytes()
    digest = data[-32:].hex()
    changed = msgspec.structs.replace(config, base=digest, base_file=f"base-{digest[:16]}.weft")
    write_atomic(folder.path / changed.base_file, data)
    folder.write(changed)
    (folder.path / config.base_file).unlink()
    return changed
