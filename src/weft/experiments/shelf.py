"""The experiments by their names: every module of this package that says `EXPERIMENT = ...`."""

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast

from weft.experiments.experiment import Experiment


def names() -> list[str]:
    """All experiments, in the order of the alphabet; none is imported."""
    return sorted(
        path.stem.replace("_", "-")
        for path in Path(__file__).parent.glob("*.py")
        if "\nEXPERIMENT = " in path.read_text(encoding="utf-8")
    )


def experiment(name: str) -> Experiment:
    """The experiment of that name; a wrong name is refused with what there is."""
    known = names()
    if name not in known:
        close = get_close_matches(name, known, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"unknown experiment {name!r}{hint}; there are {', '.join(known)}")
    module = import_module(f"weft.experiments.{name.replace('-', '_')}")
    found = cast(Experiment, module.EXPERIMENT)
    if found.name != name:
        raise ValueError(f"the experiment in {module.__name__} calls itself {found.name!r}; name it {name!r}")
    return found
