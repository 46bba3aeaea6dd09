"""A picture for every learner: its error along one stream, beside one model per task and the default."""

import sys
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path
from typing import Any

import numpy as np

import weft
from weft.streams import related_tasks

TASKS, EVENTS = 40, 2000
BESIDE = {"pa": 1, "auto": 2}
"""Learners that every picture shows, and their looks."""


class Pictures:
    """Runs every learner once, with its defaults, on a stream in which most users nearly agree."""

    def __init__(self, root: Path) -> None:
        self.drawing = _module(root / "docs" / "pictures" / "make.py")
        loners = TASKS // 4
        self.stream = related_tasks(
            tasks=TASKS, events=EVENTS, groups=1, loners=loners, spread=0.3, noise=0.05, round_size=8, seed=1
        )
        self.curves: dict[str, np.ndarray] = {}

    def of(self, name: str) -> str:
        """The picture of a learner."""
        at = np.linspace(EVENTS // 20, EVENTS, 60).astype(int)
        shown = {name: 0, **{other: colour for other, colour in BESIDE.items() if other != name}}
        lines = [self.drawing.Line(one, colour, at, self._errors(one)[at - 1]) for one, colour in shown.items()]
        title = f"error so far: {name}"
        picture = self.drawing.drawn(title, "events", lines, 0.6, self.drawing.percent)
        drawn: str = self.drawing.panels_of([picture])
        return drawn

    def _errors(self, name: str) -> np.ndarray:
        """The share of wrong predictions so far, after every event."""
        if name not in self.curves:
            scores = weft.Model(name).learn(self.stream)
            wrong = (scores >= 0.0) != (self.stream.y > 0.0)
            self.curves[name] = np.cumsum(wrong) / np.arange(1, EVENTS + 1)
        return self.curves[name]


def _module(path: Path) -> Any:
    """A script as a module."""
    spec = spec_from_file_location("pictures_of_the_docs", path)
    assert spec is not None
    assert spec.loader is not None
    module = module_from_spec(spec)
    sys.modules[spec.name] = module  # NamedTuples look there
    spec.loader.exec_module(module)
    return module
