"""What is wrong with a body that is not the message a route takes: the field, its value, and what to do.

Bodies are decoded with their types, and only those that are refused are read once more here.
"""

import json
import math
import re
from typing import Any

from weft.serve.problems import Problem

_EXPECTED = {
    "float": ("a number", "write a number, or leave it out"),
    "int | str | array": ("the name of a task", "write a string, an integer or a list of those"),
    "str": ("a string", "write a string"),
    "bool": ("true or false", "write true or false"),
    "object | array": ("a row", 'write {"feature": number, ...} or a list of numbers'),
    "object": ("an object", 'write {"field": value, ...}'),
    "bool | float | str": ("a label", "write a number, a string, true or false"),
    "bool | float | str | null": ("a label", "write a number, a string, true or false"),
}
"""What a type of a message is in words, and the remedy for anything else."""
_CONSTANTS = ("NaN", "Infinity", "-Infinity")
_LONGEST = 60


class Written(str):
    """A number as the body has it."""


def wrong_message(text: str, body: bytes, fields: tuple[str, ...]) -> Problem:
    """The problem of a body that is JSON and not a message with these fields; `text` is what the decoder says."""
    what, _, where = text.partition(" - at `$")
    found, path = _parsed(body), where.removesuffix("`").lstrip(".")
    named = re.search("field `(.*)`$", what)
    if named is not None and "missing" in what:
        return Problem("bad_message", 422, f"{named[1]} is missing", f'send "{named[1]}"', field=named[1])
    if named is not None:
        told = f"there is no field {_shown(named[1])} here; its value is {_shown(_at(found, named[1]))}"
        known = ", ".join(fields)
        field = named[1][:_LONGEST]
        return Problem("bad_message", 422, told, f"leave it out; the fields are {known}", field=field)
    place, value = _place(found, path)
    wanted = re.search("Expected `(.*)`, got", what)
    expected, remedy = _EXPECTED.get(wanted[1] if wanted else "", ("", "see /v1/openapi.json for what is expected"))
    told = f"{place or 'the body'} is {_shown(value)}"
    if expected:
        return Problem("bad_message", 422, f"{told}, not {expected}", remedy, field=place)
    if "out of range" in what:
        return Problem("bad_message", 422, f"{told}, beyond the range of numbers", "scale values down", field=place)
    return Problem("bad_message", 422, f"{told}: {what}", remedy, field=place)


def no_json(text: str, body: bytes) -> Problem:
    """The problem of a body that is not JSON; NaN and Infinity are named, which many programs write."""
    found = _parsed(body)
    for field, value in _numbers(found):
        if value in _CONSTANTS:
            return Problem(
                "bad_json", 422, f"{field} is {value}, which JSON does not have", "leave it out, or write a number",
                field=field,
            )  # fmt: skip
    return Problem("bad_json", 422, f"the body is not JSON: {text}", "send one JSON object in UTF-8")


def _parsed(body: bytes) -> Any:
    try:
        return json.loads(body, parse_float=Written, parse_int=Written, parse_constant=Written)
    except (ValueError, RecursionError):
        return None


def _at(found: Any, name: str) -> Any:
    return found.get(name) if isinstance(found, dict) else found


def _place(found: Any, path: str) -> tuple[str | None, Any]:
    """The field of a path such as `task`, `x[3]` or `x[...]`, which is some entry of x, and what is there."""
    name, _, index = path.partition("[")
    value = _at(found, name) if name else found
    if not index:
        return name or None, value
    index = index.rstrip("]")
    if isinstance(value, list) and index.isdigit() and int(index) < len(value):
        return f"{name}[{index}]", value[int(index)]
    if isinstance(value, dict):
        for key, entry in value.items():
            if not (isinstance(entry, Written) and math.isfinite(float(entry))):
                return _entry(name, key), entry
    return name, value


def _numbers(found: Any) -> list[tuple[str, Written]]:
    """Numbers of a message by their fields, also those of its row and its record."""
    numbers: list[tuple[str, Written]] = []
    for name, value in found.items() if isinstance(found, dict) else ():
        entries: list[tuple[str, Any]] = [(_plain(name), value)]
        if isinstance(value, dict):
            entries = [(_entry(name, key), entry) for key, entry in value.items()]
        elif isinstance(value, list):
            entries = [(f"{_plain(name)}[{at}]", entry) for at, entry in enumerate(value)]
        numbers += [(place, entry) for place, entry in entries if isinstance(entry, Written)]
    return numbers


def _entry(name: str, key: str) -> str:
    """An entry of a row or a record as a field."""
    return f"{_plain(name)}.{_plain(key)}"


def _plain(name: str) -> str:
    """A name that can be written as UTF-8, not longer than a line: Python's JSON takes halves of characters."""
    return name[:_LONGEST].encode("utf-8", "backslashreplace").decode()


def _shown(value: Any) -> str:
    """A value of the request, not longer than a line."""
    if isinstance(value, dict):
        return "an object"
    if isinstance(value, list):
        return "a list"
    text = str(value) if isinstance(value, Written) else json.dumps(value)
    return text if len(text) <= _LONGEST else f"{text[: _LONGEST - 3]}..."
