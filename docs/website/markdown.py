"""Docstrings as Markdown: they are nearly that already, but doctests and formulas need fences."""

import inspect
import re
from typing import Any

ENTRY = re.compile(r"(\S+(?:, \S+)*)(?: {2,}(\S.*))?")
"""A line of a list of parameters: names, and in a column of its own what they are, here or in the next line."""


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
    if block[1:2] == ["----------"]:  # as in docstrings of river
        return "\n".join([block[0] + "\n", *(_below(line) for line in block[2:])])
    column = max((found.start(2) for found in map(ENTRY.fullmatch, block[:2]) if found is not None), default=-1)
    if column > 0 and block[0][0] != " " and all(_is_aligned(line, column) for line in block):
        return "\n".join(_entry(line, column) for line in block)
    return "\n".join(block)


def _is_aligned(line: str, column: int) -> bool:
    """Does the text of a line begin in this column, behind a name, a longer one, or nothing?"""
    is_there = line[column - 1 : column] == " " and line[column : column + 1].strip() != ""
    return is_there or ENTRY.fullmatch(line) is not None


def _entry(line: str, column: int) -> str:
    """A line of a list of parameters as one of a Markdown list, which goes on in lines that are indented."""
    found = ENTRY.fullmatch(line)
    name, text = (found[1], found[2] or "") if found is not None else (line[:column].strip(), line[column:])
    return f"- {_names(name)}: {text}".rstrip() if name else f"  {text}"


def _below(line: str) -> str:
    """The same where a name has a line of its own, and what it is follows."""
    return "  " + line.strip() if line.startswith(" ") else f"- {_names(line)}:"


def _names(text: str) -> str:
    """Names as code; a name that is code already, or words, as they are."""
    return ", ".join(name if "`" in name else f"`{name}`" for name in text.split(", "))
