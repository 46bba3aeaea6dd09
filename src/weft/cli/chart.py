"""Curves as text: one letter per curve, so that they read without colour, in 80 columns and in a file."""

from collections.abc import Mapping, Sequence

AXIS = 7  # columns left of the drawing


def draw(curves: Mapping[str, Sequence[float]], last_x: int, width: int = 72, height: int = 12) -> list[str]:
    """Lines of text. A curve's mark is the key's first letter; curves are shares of 1, drawn in per cent.

    >>> print("\\n".join(draw({"up": [0.0, 0.5, 1.0], "flat": [0.5, 0.5, 0.5]}, 30, width=16, height=3)))
      100% |        u
       50% |f   f   f
        0% |u
           +---------
            0      30
    """
    across = width - AXIS
    low = min(min(values) for values in curves.values())
    high = max(max(values) for values in curves.values())
    high = high if high > low else low + 0.01
    grid = [[" "] * across for _ in range(height)]
    for name, values in curves.items():
        for at, value in enumerate(values):
            x = round(at * (across - 1) / max(len(values) - 1, 1))
            y = round((high - value) / (high - low) * (height - 1))
            grid[y][x] = name[0]
    lines = []
    for at, row in enumerate(grid):
        value = high - (high - low) * at / (height - 1)
        lines.append(f"{100 * value:5.0f}% |{''.join(row)}".rstrip())
    lines.append(" " * AXIS + "+" + "-" * across)
    lines.append(" " * AXIS + f" 0{last_x:>{across - 1},}")
    return lines
