"""What can be tuned about a learner: its parameters that are numbers, words or flags, with the values worth trying."""

import math
import random
from collections.abc import Sequence
from dataclasses import dataclass, fields
from typing import Any

from weft.learner import Learner
from weft.learners.parameters import Choice, Flag, Integer, Real

DECADES = 2.0
"""Numbers are tried from a hundredth of the default to a hundred times it."""
FIXED = frozenset(
    ("loss", "pooled", "epsilon", "effort", "every", "T", "D", "L", "R", "sigma", "radius", "projection", "rule", "B")
)
"""Parameters that say what is learned, at what cost, or what a theorem assumes; tuned only if they are named."""


@dataclass(frozen=True)
class Dimension:
    """A parameter and its values: one of `options`, or a number between `low` and `high`, by its logarithm."""

    name: str
    options: tuple[Any, ...] = ()
    low: float = 0.0
    high: float = 0.0
    is_integer: bool = False

    def draw(self, generator: random.Random) -> Any:
        """A random value."""
        if self.options:
            return generator.choice(self.options)
        value = math.exp(generator.uniform(math.log(self.low), math.log(self.high)))
        return self.rounded(value)

    def rounded(self, value: float) -> Any:
        """A number that people can type: three digits."""
        return round(value) if self.is_integer else float(f"{value:.3g}")


def space_of(learner: Learner, names: Sequence[str] = ()) -> list[Dimension]:
    """The dimensions of a learner: those of the named parameters, or of all that are usually tuned.

    Graphs, kernels and amounts of memory have no dimension.
    """
    found = {}
    for entry in fields(learner):  # type: ignore[arg-type]
        dimension = _dimension(entry.name, entry.metadata["allowed"], entry.default)
        if dimension is not None:
            found[entry.name] = dimension
    for name in names:
        if name not in found:
            raise ValueError(f"{learner.name} has no parameter {name!r} to tune; there are {', '.join(found)}")
    return [found[name] for name in names or found if names or name not in FIXED]


def _dimension(name: str, allowed: Any, default: Any) -> Dimension | None:
    if isinstance(allowed, Flag):
        return Dimension(name, (False, True))
    if isinstance(allowed, Choice):
        return Dimension(name, (*allowed.options, None) if allowed.optional else allowed.options)
    if isinstance(allowed, Integer) and isinstance(default, int) and not isinstance(default, bool):
        return Dimension(name, low=max(allowed.at_least, default / 8, 1), high=max(default * 8, 2), is_integer=True)
    if isinstance(allowed, Real):
        return _real(name, allowed, default)
    return None


def _real(name: str, allowed: Real, default: Any) -> Dimension | None:
    """Around the default, or around 1 where that is a word, nothing or infinity."""
    is_number = isinstance(default, float | int) and math.isfinite(default) and default > 0.0
    middle = float(default) if is_number else 1.0
    low, high = middle * 10.0**-DECADES, middle * 10.0**DECADES
    if allowed.at_most is not None:
        high = min(high, allowed.at_most)
    least = max(allowed.above or 0.0, allowed.at_least or 0.0)
    if least > 0.0:
        low = max(low, least * (1.0 + 1e-9) if allowed.above is not None else least)
    return Dimension(name, low=low, high=high) if 0.0 < low < high else None
