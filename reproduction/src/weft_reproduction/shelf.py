"""The experiments by their names: every module of this package that says `EXPERIMENT = ...`.

The name is the path of the module: `shared_loss/fig4.py` is `shared-loss-fig4`.
"""

from difflib import get_close_matches
from importlib import import_module
from pathlib import Path
from typing import cast

from weft_reproduction.experiment import Experiment


def _modules() -> dict[str, str]:
    """The module of every experiment by its name; none is imported."""
    here = Path(__file__).parent
    found = {}
    for path in sorted(here.rglob("*.py")):
        if "\nEXPERIMENT = " in path.read_text(encoding="utf-8"):
            parts = [part for part in path.relative_to(here).with_suffix("").parts if part != "__init__"]
            found["-".join(parts).replace("_", "-")] = ".".join(("weft_reproduction", *parts))
    return found


def names() -> list[str]:
    """All experiments in alphabetical order; none is imported."""
    return sorted(_modules())


def named(name: str) -> list[str]:
    """The experiments that a name stands for: one, all of a group such as `default-2`, or `all`."""
    known = names()
    group = [one for one in known if one.startswith(f"{name}-")]
    return known if name == "all" else group if group and name not in known else [name]


def experiment(name: str) -> Experiment:
    """The experiment of that name; a wrong name is refused with what there is."""
    known = _modules()
    if name not in known:
        close = get_close_matches(name, known, 1)
        hint = f" (did you mean {close[0]}?)" if close else ""
        raise ValueError(f"unknown experiment {name!r}{hint}; there are {', '.join(sorted(known))}")
    module = import_module(known[name])
    found = cast(Experiment, module.EXPERIMENT)
    if found.name != name:
        raise ValueError(f"the experiment in {module.__name__} calls itself {found.name!r}; name it {name!r}")
    return found
