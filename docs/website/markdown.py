"""Docstrings as Markdown: they are nearly that already, but doctests and formulas need fences."""

import inspect
from typing import Any


def as_markdown(text: str) -> str:
    """Doctests and indented blocks in fences; everything else as it is."""
    blocks = [_fenced(block) for block in _blocks(text.splitlines())]
    return "\n\n".join(block for block in blocks if block) + "\n"


def signature(thing: Any) -> str:
    """`(x, y, *, task)`, without `self`; "" where there is none."""
    try:
        found = inspect.signature(thing)
    except (TypeError, ValueError):
        return ""
    parameters = [p.replace(annotation=p.empty) for p in found.parameters.values() if p.name not in ("self", "cls")]
    return str(found.replace(parameters=parameters, return_annotation=found.empty))


def _blocks(lines: list[str]) -> list[list[str]]:
    """Paragraphs; indented ones that follow each other are one."""
    blocks: list[list[str]] = [[]]
    for line in lines:
        if line.strip():
            blocks[-1].append(line)
        elif blocks[-1]:
            blocks.append([])
    merged: list[list[str]] = []
    for block in blocks:
        if block and merged and _is_indented(block) and _is_indented(merged[-1]):
            merged[-1] += ["", *block]
        elif block:
            merged.append(block)
    return merged


def _is_indented(block: list[str]) -> bool:
    return all(line.startswith("    ") for line in block if line.strip())


def _fenced(block: list[str]) -> str:
    if _is_indented(block):
        return "\n".join(["```text", *(line[4:] for line in block), "```"])
    if block[0].lstrip().startswith(">>>"):
        return "\n".join(["```python", *block, "```"])
    return "\n".join(block)
