"""JSON lines: `{"task": "ann", "x": {"free": 1}, "y": 1}`, with `"round"` if events arrive together.

`x` holds named features or, in all lines, a list of the same length; a list in `task` is a tuple. The careful reader:
it reads what `weft.scan.jsonl` hands on. A line is decoded in one call; only a line that this refuses is
checked value by value, to say what is wrong with it.
"""

import json
import re
from typing import Any

import msgspec

from weft.names import Name
from weft.streams.records import MISSING, MOST_DIGITS, Block, Fault, Refused, Rules, check_row, show

FIELDS = ("task", "x", "y", "round")
DEEPEST = 16
"""Lists within lists in the name of a task."""
_LARGEST_INTEGER = 10**MOST_DIGITS
_KEY = re.compile(rb'"[ \t]*:')


class Event(msgspec.Struct, forbid_unknown_fields=True, gc=False):
    """One line."""

    task: str | int | list[Any]
    x: dict[str, float] | list[float]
    y: float | bool | str | msgspec.UnsetType | None = msgspec.UNSET
    round: int | str | msgspec.UnsetType = msgspec.UNSET


_decode = msgspec.json.Decoder(Event).decode


class Parser:
    """Lines to records; the first event says whether rows are lists or dicts, and whether there are rounds."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules
        self.width: int | None = None  # of rows that are lists; -1 for dicts
        self.has_rounds = False

    @property
    def is_ready(self) -> bool:
        """Whether the file's form is known."""
        return self.width is not None

    def parse(self, numbers: list[int], lines: list[bytes]) -> Block:
        """The events of lines, given with their numbers."""
        block = Block()
        for number, line in zip(numbers, lines, strict=True):
            if not line.strip():
                continue
            try:
                event = self._event(line)
                task = _name(event.task)
                self._check_form(event)
                x: Any = event.x
                check_row(x)
            except Refused as refused:
                block.faults.append(Fault(number, refused.field, refused.reason))
                continue
            block.lines.append(number)
            block.tasks.append(task)
            block.labels.append(MISSING if event.y is None or event.y is msgspec.UNSET else event.y)
            block.rows.append(x)
            if self.has_rounds:
                block.rounds.append(event.round)
        return block

    def _event(self, line: bytes) -> Event:
        try:
            event = _decode(line)
        except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError) as error:
            raise Refused(*diagnose(line, self.rules, str(error))) from None
        keys = 2 + (event.y is not msgspec.UNSET) + (event.round is not msgspec.UNSET)
        keys += len(event.x) if event.x.__class__ is dict else 0
        # A key ends in a quote and a colon: a line with as many of these as keys has no key twice, which the decoder
        # would silently accept. Lines with more (a quote and a colon inside a name) are parsed again.
        if line.count(b":") != keys and len(_KEY.findall(line)) != keys:
            json.loads(line, object_pairs_hook=_once)
        return event

    def _check_form(self, event: Event) -> None:
        width = len(event.x) if isinstance(event.x, list) else -1
        has_round = event.round is not msgspec.UNSET
        if isinstance(event.round, int):
            _check_digits("round", event.round)
        if self.width is None:
            self.width, self.has_rounds = width, has_round
        if width != self.width:
            before = "named features" if self.width < 0 else f"a list of {self.width} values"
            found = "named features" if width < 0 else f"a list of {width} values"
            raise Refused("x", f"{found}, but the file began with {before}; write all rows in one form")
        if self.has_rounds and not has_round:
            raise Refused("round", "is missing, but the file began with rounds; give every event its round")
        if has_round and not self.has_rounds:
            raise Refused(
                "round",
                f"{show(event.round)}, but the file began without rounds; give all events one or none",
            )


def _name(value: Any, depth: int = 0) -> Name:
    if isinstance(value, list) and value:
        if depth == DEEPEST:
            raise Refused("task", f"a list within {DEEPEST} others; use a flatter name")
        return tuple(_name(part, depth + 1) for part in value)
    if isinstance(value, int) and not isinstance(value, bool):
        _check_digits("task", value)
        return value
    if isinstance(value, str):
        return value
    raise Refused("task", f"{show(value)} is not a name; write a string, an integer, or a list of those")


def _check_digits(field: str, value: int) -> None:
    if abs(value) >= _LARGEST_INTEGER:
        raise Refused(field, f"an integer of more than {MOST_DIGITS} digits; use a smaller one, or a string")


def _once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    found = dict(pairs)
    if len(found) != len(pairs):
        seen: set[str] = set()
        twice = next(name for name, _ in pairs if name in seen or seen.add(name))  # type: ignore[func-returns-value]
        raise Refused(twice if twice in FIELDS else "x", f"{show(twice)} appears twice; keep one of them")
    return found


def _no_constant(text: str) -> Any:
    raise Refused(None, f"{text} is not JSON; leave the feature out or write a finite number")


def diagnose(line: bytes, rules: Rules, otherwise: str) -> tuple[str | None, str]:
    """The field and the reason why a line was refused."""
    try:
        text = line.decode()  # of bytes, `json` would guess that some are UTF-16
        event = json.loads(text, object_pairs_hook=_once, parse_constant=_no_constant)
        _check(event, rules)
    except Refused as refused:
        return refused.field, refused.reason
    except UnicodeDecodeError:
        return None, "the line is not UTF-8; write the file in UTF-8"
    except json.JSONDecodeError as error:
        if error.pos >= len(text.rstrip()) or "Unterminated" in error.msg:
            end = show(text.rstrip()[-20:])
            return None, f"the line ends in the middle of an event, after {end}; write the complete event"
        return None, f"not JSON at column {error.colno} ({error.msg}); write one event per line"
    except ValueError:  # Python reads integers of a few thousand digits only
        return None, f"an integer has too many digits; names have at most {MOST_DIGITS}, write other numbers as 1e9"
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
    if y is not None and not isinstance(y, str | bool):
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
