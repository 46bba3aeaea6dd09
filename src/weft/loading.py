"""Reading a file that holds a model of one kind or another."""

import os
from typing import Any

from weft.model import Model
from weft.multiclass import Multiclass
from weft.store.codec import checked, header_of
from weft.store.digests import FileError
from weft.store.reading import read_file


def load(path: str | os.PathLike[str]) -> Any:
    """Read a model file: a `weft.Model`, or a `weft.Multiclass`.

    A file that is damaged or does not hold a model is refused; nothing in a file is ever run.
    """
    data = read_file(path)
    try:
        with checked(data):
            is_multiclass = "multiclass" in header_of(data)
        return Multiclass.from_bytes(data) if is_multiclass else Model.from_bytes(data)
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None
