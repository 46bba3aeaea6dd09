"""A value that is refused: its field and the reason, which become part of a sentence with a row or a line."""

import json
from typing import Any


class Refused(Exception):
    """Raised for one record; whoever knows its row or line says where that is."""

    def __init__(self, field: str | None, reason: str) -> None:
        super().__init__(reason)
        self.field = field
        self.reason = reason


def show(value: Any) -> str:
    """A value for a message: JSON, shortened."""
    try:
        text = json.dumps(value, ensure_ascii=False)
    except (TypeError, ValueError):
        text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
