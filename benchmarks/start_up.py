"""How long a command takes before it does anything: `weft --help`, and `weft learn` on ten lines."""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

from benchmarks.figures import Figure, best, limit


def run() -> list[Figure]:
    weft = [sys.executable, "-m", "weft.cli.main"]
    with tempfile.TemporaryDirectory() as folder:
        events = Path(folder) / "ten.jsonl"
        rows = ({"task": f"u{i % 3}", "x": {"a": i, "b": 1.0}, "y": 1 if i % 2 else -1} for i in range(10))
        events.write_text("".join(json.dumps(row) + "\n" for row in rows))

        def learn() -> None:
            model = Path(folder) / "m.weft"
            model.unlink(missing_ok=True)
            Path(f"{model}.progress").unlink(missing_ok=True)
            subprocess.run([*weft, "learn", str(events), "--model", str(model)], check=True, capture_output=True)

        help_seconds = best(lambda: subprocess.run([*weft, "--help"], check=True, capture_output=True), 7)
        learn()
        learn_seconds = best(learn, 5)
    return [
        limit("weft --help", help_seconds, "s", 0.4),
        limit("weft learn on ten lines, warm", learn_seconds, "s", 1.5),
    ]
