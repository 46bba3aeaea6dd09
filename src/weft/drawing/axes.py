"""Axes: round numbers, where a value is drawn, and how it is written."""

import math
from collections.abc import Callable
from typing import NamedTuple

from weft.drawing.words import written

Place = Callable[[float], float]
"""From a value to a coordinate of the picture."""


class Frame(NamedTuple):
    """The size of a picture, and what is kept free around its points."""

    width: int = 480
    height: int = 310
    left: int = 58
    right: int = 12
    top: int = 14
    bottom: int = 46

    @property
    def end(self) -> int:
        """The right end of the x axis."""
        return self.width - self.right

    @property
    def foot(self) -> int:
        """The lower end of the y axis."""
        return self.height - self.bottom


def ticks(low: float, high: float, most: int = 7) -> list[float]:
    """Round numbers between two.

    >>> ticks(0.0, 0.52), ticks(3.0, 3.0)
    ([0.0, 0.1, 0.2, 0.3, 0.4, 0.5], [3.0])
    """
    if not high > low:
        return [low]
    raw = (high - low) / max(1, most - 1)
    unit = 10.0 ** math.floor(math.log10(raw))
    step = next(factor * unit for factor in (1.0, 2.0, 2.5, 5.0, 10.0) if factor * unit >= raw * 0.999)
    first, last = math.ceil(low / step - 1e-9), math.floor(high / step + 1e-9)
    return [round(n * step, 12) for n in range(first, last + 1)]


def log_ticks(first: float, last: float, most: int = 7) -> list[float]:
    """Powers of ten between two, or the two."""
    powers = range(math.ceil(math.log10(first) - 1e-9), math.floor(math.log10(last) + 1e-9) + 1)
    found = [10.0**power for power in powers[:: math.ceil(len(powers) / most) or 1]]
    return found if len(found) > 1 else [first, last]


def scale(low: float, high: float, begin: float, end: float, log: bool = False) -> Place:
    """Places from `begin` to `end` for values from `low` to `high`."""
    if log:
        low, high = math.log10(low), math.log10(high)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return begin + (end - begin) * ((math.log10(value) if log else value) - low) / span

    return place


def room(low: float, high: float) -> tuple[float, float]:
    """A little more than the points need."""
    gap = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    below = low - gap
    return (0.0 if low >= 0.0 > below else below), high + gap


def short(value: float) -> str:
    """A number at an axis.

    >>> [short(value) for value in (0.0, 0.25, 1500.0, 20000.0, 3e6, 1e-5)]
    ['0', '0.25', '1,500', '20k', '3M', '1e-05']
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit * (10 if letter == "k" else 1) and math.isfinite(value):
            return f"{value / unit:.4g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def percent(value: float) -> str:
    """A share at an axis.

    >>> percent(0.25), percent(0.125)
    ('25%', '12.5%')
    """
    return f"{100 * value:.4g}%"


def y_axis(frame: Frame, low: float, high: float, name: str, write: Callable[[float], str]) -> tuple[list[str], Place]:
    """Lines across the picture with their numbers, the name upright beside them; and where a value is drawn."""
    up = scale(low, high, frame.foot, frame.top)
    out = []
    for value in ticks(low, high):
        out.append(f'<path class="grid" d="M{frame.left} {up(value):.1f}H{frame.end}"/>')
        out.append(f'<text x="{frame.left - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{write(value)}</text>')
    if name:
        middle = (frame.top + frame.foot) / 2
        out.append(f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">{written(name)}</text>')
    out.append(f'<path class="frame" d="M{frame.left} {frame.top}V{frame.foot}H{frame.end}"/>')
    return out, up


def x_axis(frame: Frame, values: list[float], across: Place, name: str, write: Callable[[float], str]) -> list[str]:
    """Marks under the picture with their numbers, and the name below."""
    out = []
    for value in values:
        out.append(f'<path class="frame" d="M{across(value):.1f} {frame.foot}v4"/>')
        out.append(f'<text x="{across(value):.1f}" y="{frame.foot + 17}" text-anchor="middle">{write(value)}</text>')
    middle = (frame.left + frame.end) / 2
    out.append(f'<text x="{middle}" y="{frame.height - 8}" text-anchor="middle">{written(name)}</text>')
    return out
