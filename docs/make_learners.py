"""Write docs/learners.md from the catalogue: `python docs/make_learners.py`. A test fails when it is out of date.

Nothing here names a learner or a family. What is said of a learner is the docstring of its class; the title of a family
is the first line of the docstring of its folder.
"""

import json
from importlib import import_module
from pathlib import Path
from typing import Any

import weft
from weft.evaluation import whole_catalogue
from weft.learners.catalogue import ADVICE, PLACES, SPECIAL_CASES, Entry, build
from weft.maths.kernels import KINDS, MOST_DEGREE, Kernel

HEAD = """\
# Learners and their parameters

Generated from `weft.catalogue()` by `docs/make_learners.py`; do not edit it by hand.

`weft.Model(name, **parameters)` builds a learner by its name; every learner has defaults for all its parameters. On
the command line, use `--learner NAME --set PARAMETER=VALUE`. A wrong name, parameter, type or range is refused with a
message that says what is allowed. `tasks=` and `features=` (names, or a number) declare tasks and features up front;
for all learners new ones may also appear during the stream, except tasks on a graph that names its tasks.

Parameters are named after the symbols of the papers. Choosing a norm and C for the shared-loss learners:
[shared-loss.md](shared-loss.md). Choosing rates, b and a graph for the mirror-descent learners:
[mirror-descent.md](mirror-descent.md). Kernel learners on a budget: [budget.md](budget.md). Learned attention and
learned relations: [smoothed.md](smoothed.md). Low-rank and collaborative learners: [low-rank.md](low-rank.md).
Learners that keep all rows and refit: [batch.md](batch.md). The default: [default.md](default.md). Terms are defined
in the [glossary](glossary.md).

## All learners

{families}

All learners classify (two classes of any kind). These also predict numbers, by their parameter `loss`: {numbers}.
"""

KERNEL = {
    "name": "one of " + ", ".join(f'"{name}"' for name in KINDS),
    "degree": f"an integer from 1 to {MOST_DEGREE}",
    "gamma": "a finite number > 0",
    "coef0": "a finite number >= 0",
    "normalize": "True or False",
}

TAIL = """\
## Names from the papers

These are special cases of other learners. Asking for one by name gives a message that says which.

{special}

## Norms

`"l1"`, `"l2"`, `"l1.5"`, `"linf"` (p-norms, p >= 1); `"3-max"`, `"2.5-max"` (sum of the r largest, r >= 1);
`"k(1,inf,2.5)"` (p1, p2 >= 1, alpha > 0); or an object of `weft.maths.norms`: `Lp(p)`, `RMax(r)`,
`Interpolation(p1, p2, alpha)`.

## Graphs

`"complete"`, `"none"` (both grow with new tasks); edges, `[("ann", "bob"), ("bob", "eve", 2.0)]`; cliques,
`[["ann", "bob"], ["eve"]]`; a pair (weight matrix, names); or a dict with `"edges"`, `"cliques"`, `"weights"`,
`"matrix"` or `"entries"`: [all forms](mirror-descent.md#graphs). In JSON, and so on the command line, a list of lists
is cliques, and edges need the dict.

## Kernel functions

A name, or a dict with these keys. With `normalize` K(x,z) is divided by sqrt(K(x,x) K(z,z)); for the budget learners
that is the default for `linear` and `poly`.

{kernels}

`linear` is x.z; `poly` is (gamma x.z + coef0)^degree; `gaussian` is exp(-gamma |x - z|^2).
"""


def default(value: Any) -> str:
    """A default as Python code, with double quotes."""
    text = json.dumps(value) if isinstance(value, str) else repr(value)
    return f"`{text}`"


def cell(text: str) -> str:
    """Text escaped for a table."""
    return text.replace("|", "\\|")


def table(head: tuple[str, ...], rows: list[tuple[str, ...]]) -> str:
    """A table in Markdown."""
    lines = [f"| {' | '.join(map(cell, line))} |" for line in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def families() -> str:
    """A table for every family, in the order of the catalogue."""
    found: dict[str, list[Entry]] = {}
    for entry in weft.catalogue():
        found.setdefault(PLACES[entry.name].split(".")[0], []).append(entry)
    parts = []
    for folder, entries in found.items():
        title = (import_module(f"weft.learners.{folder}").__doc__ or "").splitlines()[0]
        rows = [
            (f"[`{entry.name}`](#{entry.name})", entry.summary, entry.advice.removeprefix(ADVICE)) for entry in entries
        ]
        parts.append(f"**{title}**\n\n" + table(("name", "what it does", "take it when"), rows))
    return "\n\n".join(parts)


def page() -> str:
    """The whole file."""
    numbers = [name for name, parameters in whole_catalogue("real") if build(name, parameters).target == "real"]
    parts = [HEAD.format(families=families(), numbers=", ".join(f"`{name}`" for name in numbers))]
    for entry in weft.catalogue():
        rows = [(f"`{p.name}`", default(p.default), p.allowed, p.doc) for p in entry.parameters]
        parts.append(f"## `{entry.name}`\n\n{entry.summary} ({entry.paper})\n\n{entry.note}\n")
        parts.append(table(("parameter", "default", "must be", "meaning"), rows) + "\n")
    special = [(f"`{name}`", text) for names, text in SPECIAL_CASES.items() for name in names.split(", ")]
    kernels = [(f"`{key}`", default(value), KERNEL[key]) for key, value in Kernel().as_json().items()]
    parts.append(
        TAIL.format(special=table(("name", "is"), special), kernels=table(("key", "default", "must be"), kernels))
    )
    return "\n".join(parts)


if __name__ == "__main__":
    Path(__file__).with_name("learners.md").write_text(page(), encoding="utf-8")
