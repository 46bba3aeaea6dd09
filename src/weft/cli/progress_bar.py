"""The progress bar of `weft learn`."""

import sys
from typing import Any

from weft.cli.tables import console
from weft.text.printable import printable


class Bar:
    """A progress bar on standard error: by the file's bytes, or a counter for standard input."""

    def __init__(self, source: str, show: bool, endless: bool = False) -> None:
        self._progress: Any = None
        self._events = 0
        if not (show and sys.stderr.isatty()):  # importing the bar takes longer than many a file
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[events]:,} events"),
            TimeRemainingColumn(),
            console=console(err=True),
            transient=True,
        )
        self._task = self._progress.add_task(
            printable(f"learning {source}"), total=None if source == "-" or endless else 1.0, events=0
        )

    def __enter__(self) -> "Bar":
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self, chunk: Any) -> None:
        """After every chunk."""
        self._events += len(chunk)
        if self._progress is not None:
            self._progress.update(self._task, completed=chunk.share or 0.0, events=self._events)
