"""Hyper-parameters that say what they mean and what they allow, checked in one place."""

import math
import numbers
import re
from collections.abc import Callable
from dataclasses import MISSING, Field, dataclass, field, fields
from typing import Any, Protocol, cast

LARGEST_WHOLE = 1 << 53


class Allowed(Protocol):
    """A range of values: `text` completes "must be ..."; `convert` returns the plain value or raises ValueError."""

    @property
    def text(self) -> str: ...

    def convert(self, value: Any) -> Any: ...


@dataclass(frozen=True)
class Real:
    """A finite number with bounds; `optional` also allows None, `infinite` infinity, `words` these words."""

    above: float | None = None
    at_least: float | None = None
    at_most: float | None = None
    optional: bool = False
    infinite: bool = False
    words: tuple[str, ...] = ()

    @property
    def text(self) -> str:
        bound = f" > {self.above:g}" if self.above is not None else ""
        bound += f" >= {self.at_least:g}" if self.at_least is not None else ""
        bound += f"{' and' if bound else ''} <= {self.at_most:g}" if self.at_most is not None else ""
        others = ["inf"] * self.infinite + [f'"{word}"' for word in self.words] + ["None"] * self.optional
        return " or ".join([f"a finite number{bound}", *others])

    def convert(self, value: Any) -> float | str | None:
        if value is None and self.optional:
            return None
        if isinstance(value, str):
            if value in self.words:
                return value
            if self.infinite and value == "inf":  # JSON has no infinity
                return math.inf
            raise ValueError
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError
        number = float(value)
        if not math.isfinite(number) and not (self.infinite and number == math.inf):
            raise ValueError
        if (
            (self.above is not None and number <= self.above)
            or (self.at_least is not None and number < self.at_least)
            or (self.at_most is not None and number > self.at_most)
        ):
            raise ValueError
        return number


@dataclass(frozen=True)
class Integer:
    """An integer with a least value; `infinite` also allows infinity, `optional` None."""

    at_least: int
    infinite: bool = False
    optional: bool = False

    @property
    def text(self) -> str:
        others = ["inf"] * self.infinite + ["None"] * self.optional
        return " or ".join([f"an integer >= {self.at_least}", *others])

    def convert(self, value: Any) -> int | float | None:
        if value is None and self.optional:
            return None
        if self.infinite and value in ("inf", math.inf):  # JSON has no infinity
            return math.inf
        if isinstance(value, bool) or not isinstance(value, numbers.Real):
            raise ValueError
        number = float(value)
        if not self.at_least <= number < LARGEST_WHOLE or number != int(number):
            raise ValueError
        return int(number)


@dataclass(frozen=True)
class Bytes:
    """An amount of memory: a number of bytes, or with a unit: kB, MB, GB (powers of 1000), KiB, MiB, GiB (of 1024)."""

    optional: bool = False

    @property
    def text(self) -> str:
        return 'a number of bytes >= 1 or a text such as "16MB" or "1.5 GiB"' + (" or None" if self.optional else "")

    def convert(self, value: Any) -> int | None:
        if value is None and self.optional:
            return None
        if isinstance(value, str):
            found = re.fullmatch(r"\s*(\d+(?:\.\d*)?)\s*(?:([kmg])(i?)b?|b)?\s*", value, re.IGNORECASE)
            if found is None:
                raise ValueError
            base = 1024 if found[3] else 1000
            value = int(float(found[1]) * base ** ("kmg".index(found[2].lower()) + 1 if found[2] else 0))
        return cast(int, Integer(at_least=1).convert(value))


@dataclass(frozen=True)
class Choice:
    """One of some words; `optional` also allows None."""

    options: tuple[str, ...]
    optional: bool = False

    @property
    def text(self) -> str:
        return "one of " + ", ".join(f'"{option}"' for option in self.options) + (" or None" if self.optional else "")

    def convert(self, value: Any) -> str | None:
        if value is None and self.optional:
            return None
        if not isinstance(value, str) or value not in self.options:
            raise ValueError
        return value


@dataclass(frozen=True)
class Flag:
    """True or False."""

    text: str = "True or False"

    def convert(self, value: Any) -> bool:
        if not isinstance(value, bool):
            raise ValueError
        return value


@dataclass(frozen=True)
class Parsed:
    """Whatever a parser takes; the parser's own ValueError says more than a range could."""

    text: str
    parse: Callable[[Any], Any]

    def convert(self, value: Any) -> Any:
        return self.parse(value)


def parameter(default: Any, doc: str, allowed: Allowed) -> Any:
    """A dataclass field with its meaning and its range."""
    return field(default=default, metadata={"doc": doc, "allowed": allowed})


def number(value: float | None) -> float:
    """A number as compiled code takes it: NaN for None."""
    return math.nan if value is None else float(value)


@dataclass(frozen=True)
class Parameter:
    """One line of the catalogue: a hyper-parameter's name, default, range and meaning."""

    name: str
    default: Any
    allowed: str
    doc: str


def parameters_of(learner: type) -> list[Parameter]:
    """The hyper-parameters of a learner class."""
    return [
        Parameter(f.name, None if f.default is MISSING else f.default, _allowed(f).text, f.metadata["doc"])
        for f in fields(learner)
    ]


def _allowed(entry: Field[Any]) -> Allowed:
    allowed: Allowed = entry.metadata["allowed"]
    return allowed


def check(learner: Any) -> None:
    """Convert every hyper-parameter of a frozen dataclass, or refuse it by name."""
    for entry in fields(learner):
        allowed, value = _allowed(entry), getattr(learner, entry.name)
        try:
            converted = allowed.convert(value)
        except (ValueError, TypeError, OverflowError) as error:
            why = f": {error}" if str(error) else ""
            raise ValueError(f"{learner.name}: {entry.name}={value!r} must be {allowed.text}{why}") from None
        object.__setattr__(learner, entry.name, converted)
