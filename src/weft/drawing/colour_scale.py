"""Colours for numbers: light to dark blue, or orange through white to blue where some are below zero.

Blue and orange are told apart by nearly everybody, and lightness alone tells the order on either side of zero: red,
green and blue all fall from colour to colour, so that rounding cannot turn it round.
"""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

Colour = tuple[int, int, int]

BLUES: tuple[Colour, ...] = ((246, 246, 246), (158, 197, 230), (62, 139, 201), (9, 81, 156), (4, 36, 82))
ORANGES: tuple[Colour, ...] = ((246, 246, 246), (246, 203, 150), (240, 138, 50), (177, 80, 5), (92, 37, 3))
GREY = "#8c959f"
"""For what is not on the scale: a task with itself."""
ROUNDING = 1e-9
"""Differences below this share of the largest number do not count."""


class Scale(NamedTuple):
    """From the lowest number to the highest; symmetric about 0 if some are negative."""

    low: float
    high: float

    @property
    def is_signed(self) -> bool:
        """Whether there are numbers on both sides of zero."""
        return self.low < 0.0

    def share(self, value: float) -> float:
        """How dark: 0 to 1 from the lowest to the highest number, or -1 to 1 about zero."""
        if self.is_signed:
            return float(np.clip(value / self.high, -1.0, 1.0))
        return float(np.clip((value - self.low) / (self.high - self.low), 0.0, 1.0))

    def colour(self, value: float) -> str:
        """As #rrggbb.

        >>> Scale(0.0, 1.0).colour(0.0), Scale(0.0, 1.0).colour(1.0), Scale(-1.0, 1.0).colour(-0.5)
        ('#f6f6f6', '#042452', '#f08a32')
        """
        share = self.share(value)
        anchors = BLUES if share >= 0.0 else ORANGES
        at = abs(share) * (len(anchors) - 1)
        first = min(int(at), len(anchors) - 2)
        pairs = zip(anchors[first], anchors[first + 1], strict=True)
        return "#" + "".join(f"{round(a + (at - first) * (b - a)):02x}" for a, b in pairs)

    def digit(self, value: float) -> str:
        """The same without colours: ninths of the scale, in two columns.

        >>> Scale(-2.0, 2.0).digit(-2.0), Scale(-2.0, 2.0).digit(0.1), Scale(0.5, 1.5).digit(1.0)
        ('-9', ' 0', ' 4')
        """
        ninths = round(9 * self.share(value))
        return f"{ninths:2d}"


def scale_of(values: NDArray[np.float64]) -> Scale:
    """The scale for these numbers; undefined ones do not count.

    >>> scale_of(np.array([0.5, 2.0, np.nan])), scale_of(np.array([-3.0, 1.0])), scale_of(np.array([2.0, 2.0]))
    (Scale(low=0.5, high=2.0), Scale(low=-3.0, high=3.0), Scale(low=0.0, high=2.0))
    """
    values = values[np.isfinite(values)]
    largest = float(np.max(np.abs(values), initial=0.0)) or 1.0
    low, high = (float(values.min()), float(values.max())) if len(values) else (0.0, 1.0)
    if low < -ROUNDING * largest:
        return Scale(-largest, largest)
    return Scale(max(low, 0.0), high) if high - low > ROUNDING * largest else Scale(0.0, largest)
