"""What all things with a file have in common: their bytes, and saving."""

import io
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Mapping
from typing import Any

from weft.store.files import Output


class Saved(ABC):
    """Has a file."""

    @abstractmethod
    def write_to(self, write: Callable[[Any], object], facts: Mapping[str, Any] | None = None) -> str:
        """Hand the bytes of the file to `write`, block by block; returns the digest at their end."""

    def to_bytes(self) -> bytes:
        """All of it as the bytes of its file: equal bytes are equal models."""
        out = io.BytesIO()
        self.write_to(out.write)
        return out.getvalue()

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write it to one file; a crash leaves the old file or the new one."""
        with Output(path) as output:
            self.write_to(output.write)
