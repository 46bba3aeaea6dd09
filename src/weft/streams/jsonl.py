"""JSON lines: `{"task": "ann", "x": {"free": 1}, "y": 1}`, with `"round"` if events arrive together.

`x` holds named features or, in all lines, a list of the same length; a list in `task` is a tuple. A line is
decoded in one call; only a line that this refuses is checked value by value, to say what is wrong with it.
"""

import json
import re
from typing import Any

import msgspec
import numpy as np

from weft.names import Name
from weft.streams.records import MISSING, Block, Fault, Refused, Rules, show

FIELDS = ("task", "x", "y", "round")
_KEY = re.compile(rb'"[ \t]*:')


class Event(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One line."""

    task: str | int | list[Any]
    x: dict[str, float] | list[float]
    y: float | msgspec.UnsetType | None = msgspec.UNSET
    round: int | str | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(Event).decode


class Parser:
    """Lines to blocks; the first event says whether rows are lists or dicts, and whether there are rounds."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.width: int | None = None  # of rows that are lists; -1 for dicts
        self.rounds: bool | None = None

    @property
    def ready(self) -> bool:
        """Whether the file's form is known."""
        return self.width is not None

    def parse(self, first: int, lines: list[bytes]) -> Block:
        """The events of lines that begin at line number `first`."""
        numbers, events, faults = [], [], []
        for number, line in enumerate(lines, first):
            try:
                event = _decode(line)
                if self.width != (len(event.x) if event.x.__class__ is list else -1):
                    self._check_form(event)
                if (event.round is msgspec.UNSET) == self.rounds or self.rounds is None:
                    self._check_round(event)
            except (msgspec.MsgspecError, UnicodeDecodeError) as error:
                if line.strip():
                    faults.append(Fault(number, *diagnose(line, self.rules, str(error))))
            except Refused as refused:
                faults.append(Fault(number, refused.field, refused.reason))
            else:
                numbers.append(number)
                events.append(event)
        twice = _duplicate_keys(first, lines, numbers, events)
        if twice:
            faults += twice
            bad = {fault.line for fault in twice}
            events = [event for number, event in zip(numbers, events, strict=True) if number not in bad]
            numbers = [number for number in numbers if number not in bad]
        return self._block(numbers, events, faults)

    def _check_form(self, event: Event) -> None:
        width = len(event.x) if isinstance(event.x, list) else -1
        if self.width is None:
            self.width = width
        elif width != self.width:
            before = "named features" if self.width < 0 else f"a list of {self.width} values"
            found = "named features" if width < 0 else f"a list of {width} values"
            raise Refused("x", f"{found}, but the file began with {before}; write all rows in one form")

    def _check_round(self, event: Event) -> None:
        has = event.round is not msgspec.UNSET
        if self.rounds is None:
            self.rounds = has
        elif self.rounds:
            raise Refused("round", "is missing, but the file began with rounds; give every event its round")
        else:
            raise Refused(
                "round",
                f"{show(event.round)}, but the file began without rounds; give all events one or none",
            )

    def _block(self, numbers: list[int], events: list[Event], faults: list[Fault]) -> Block:
        tasks: list[Any] = [event.task for event in events]
        if list in set(map(type, tasks)):
            tasks, bad = _tuples(numbers, tasks)
            if bad:
                faults += bad
                where = {fault.line for fault in bad}
                good = [i for i, number in enumerate(numbers) if number not in where]
                numbers, events = [numbers[i] for i in good], [events[i] for i in good]
                tasks = [tasks[i] for i in good]
        y = [event.y if event.y.__class__ is float else MISSING for event in events]
        X: Any = [event.x for event in events]
        if self.width is not None and self.width >= 0:
            X = np.array(X, np.float64).reshape(len(X), self.width)
        rounds = [event.round for event in events] if self.rounds else None
        return Block(numbers, tasks, np.array(y, np.float64), rounds, X, faults)


def _tuples(numbers: list[int], tasks: list[Any]) -> tuple[list[Any], list[Fault]]:
    names, faults = [], []
    for number, task in zip(numbers, tasks, strict=True):
        try:
            names.append(_name(task))
        except Refused as refused:
            names.append("")
            faults.append(Fault(number, refused.field, refused.reason))
    return names, faults


def _name(value: Any) -> Name:
    if isinstance(value, list) and value:
        return tuple(_name(part) for part in value)
    if isinstance(value, str | int) and not isinstance(value, bool):
        return value
    raise Refused("task", f"{show(value)} is not a name; write a string, an integer, or a list of those")


def _duplicate_keys(first: int, lines: list[bytes], numbers: list[int], events: list[Event]) -> list[Fault]:
    """Lines in which a key appears twice: the decoder would silently keep the last one.

    A key ends in a quote and a colon, so a line with as many of these as keys has no duplicate. Lines with more
    (a quote and a colon inside a name, or a duplicate key) are parsed again.
    """
    faults = []
    for number, event in zip(numbers, events, strict=True):
        line = lines[number - first]
        keys = 2 + (event.y is not msgspec.UNSET) + (event.round is not msgspec.UNSET)
        if event.x.__class__ is dict:
            keys += len(event.x)
        if line.count(b":") != keys and len(_KEY.findall(line)) != keys:
            try:
                json.loads(line, object_pairs_hook=_once)
            except Refused as refused:
                faults.append(Fault(number, refused.field, refused.reason))
    return faults


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for name in names if names.count(name) > 1)
        raise Refused(twice if twice in FIELDS else "x", f"{show(twice)} appears twice; keep one of them")
    return found


def _no_constant(text: str) -> Any:
    raise Refused(None, f"{text} is not JSON; leave the feature out or write a finite number")


def diagnose(line: bytes, rules: Rules, otherwise: str) -> tuple[str | None, str]:
    """The field and the reason why a line was refused."""
    try:
        event = json.loads(line, object_pairs_hook=_once, parse_constant=_no_constant)
        _check(event, rules)
    except Refused as refused:
        return refused.field, refused.reason
    except UnicodeDecodeError:
        return None, "the line is not UTF-8; write the file in UTF-8"
    except json.JSONDecodeError as error:
        if error.pos >= len(line.decode(errors="replace").rstrip()) or "Unterminated" in error.msg:
            end = show(line.decode().rstrip()[-20:])
            return None, f"the line ends in the middle of an event, after {end}; write the complete event"
        return None, f"not JSON at column {error.colno} ({error.msg}); write one event per line"
    except RecursionError:
        return None, "the line is nested too deeply; write one event per line"
    return None, f"{otherwise}; write task, x and y as numbers and names"


def _check(event: Any, rules: Rules) -> None:
    if not isinstance(event, dict):
        raise Refused(None, f'{show(event)} is not an event; write {{"task": ..., "x": ..., "y": ...}}')
    for name in event:
        if name not in FIELDS:
            raise Refused(
                name,
                f"unknown field with value {show(event[name])}; an event has task, x, y and optionally round",
            )
    for name in ("task", "x"):
        if name not in event:
            raise Refused(name, f"is missing in {show(event)}; every event names its {name}")
    _name(event["task"])
    _check_row(event["x"])
    y = event.get("y")
    if y is not None:
        _number("y", y, rules.write)
    number = event.get("round", 0)
    if isinstance(number, bool) or not isinstance(number, int | str):
        raise Refused("round", f"{show(number)} is not a round; write an integer or a string")


def _check_row(x: Any) -> None:
    if isinstance(x, dict):
        for name, value in x.items():
            _number(f"x.{name}", value, "write a number, or leave the feature out")
    elif isinstance(x, list):
        for at, value in enumerate(x):
            _number(f"x[{at}]", value, "write a number, 0 for a feature that is absent")
    else:
        raise Refused("x", f'{show(x)} is not a row; write {{"name": value}} or a list of numbers')


def _number(where: str, value: Any, remedy: str) -> None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise Refused(where, f"{show(value)} is not a number; {remedy}")
    if abs(value) > 1.7976931348623157e308:
        shown = "a number beyond 1.8e308" if isinstance(value, float) else show(value)
        raise Refused(where, f"{shown} is too large; {remedy}")
