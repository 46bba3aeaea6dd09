"""The API reference, from docstrings: a page for what is at the top of weft, and one for every public package."""

import inspect
from importlib import import_module
from pathlib import Path
from types import ModuleType
from typing import Any

from markdown import as_markdown, signature

PACKAGES = ("streams", "evaluation", "guarantees", "reductions", "cluster", "sklearn", "river", "maths")
"""Packages whose public names are documented, beside those of `weft` itself."""


def write_api_pages(folder: Path) -> list[str]:
    """Write the pages; returns their names."""
    (folder / "reference").mkdir()
    pages = []
    for name in ("weft", *(f"weft.{package}" for package in PACKAGES)):
        module = import_module(name)
        page = folder / "reference" / f"{name}.md"
        page.write_text(_page(name, module), encoding="utf-8")
        pages.append(f"reference/{name}.md")
    return pages


def _page(name: str, module: ModuleType) -> str:
    parts = [f"# `{name}`\n", as_markdown(inspect.getdoc(module) or "")]
    parts += [_described(f"{name}.{public}", getattr(module, public), 2) for public in public_names(module)]
    return "\n".join(parts)


def public_names(module: ModuleType) -> list[str]:
    """What a module offers: `__all__`, or the classes and functions that it defines."""
    listed = getattr(module, "__all__", None)
    if listed is not None:
        return list(listed)
    things = {key: thing for key, thing in vars(module).items() if inspect.isclass(thing) or inspect.isfunction(thing)}
    return [key for key, thing in things.items() if not key.startswith("_") and thing.__module__ == module.__name__]


def _described(name: str, thing: Any, depth: int) -> str:
    """A heading, the signature, the docstring, and for a class its public methods."""
    lines = [f"{'#' * depth} `{name}`\n"]
    if callable(thing):
        lines.append(f"```python\n{name}{signature(thing)}\n```\n")
    if inspect.isclass(thing) or inspect.isroutine(thing) or isinstance(thing, property):
        lines.append(as_markdown(inspect.getdoc(thing) or ""))
    else:
        lines.append(f"`{thing!r}`\n" if not inspect.ismodule(thing) else "")
    if inspect.isclass(thing) and thing.__module__.startswith("weft"):
        short = name.rsplit(".", 1)[1]
        for key, part in _parts(thing).items():
            if not key.startswith("_") and (inspect.isfunction(part) or isinstance(part, (property, classmethod))):
                part = part.__func__ if isinstance(part, classmethod) else part
                lines.append(_described(f"{short}.{key}", part, depth + 1))
    return "\n".join(lines)


def _parts(kind: type) -> dict[str, Any]:
    """What a class has of its own and from classes of weft that it is made of, such as single events of `Model`."""
    found: dict[str, Any] = {}
    for base in kind.__mro__:
        if base.__module__.startswith("weft"):
            found = vars(base) | found
    return found
