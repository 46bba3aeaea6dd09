"""What the tests of commands share."""

import json

import pytest

from command_line import weft_command

__all__ = ["events", "weft_command"]


@pytest.fixture
def events(tmp_path):
    """A file of 60 events for 3 tasks."""
    path = tmp_path / "events.jsonl"
    lines = []
    for i in range(60):
        task = ("ann", "bob", "[red]")[i % 3]
        sign = 1 if (i * 7) % 5 < 3 else -1
        x = {"free": float(sign), "hello": i % 4 - 1.5, f"w{i % 6}": 0.5}
        lines.append(json.dumps({"task": task, "x": x, "y": sign if task != "bob" else -sign}))
    path.write_text("\n".join(lines) + "\n")
    return path
