"""Curves with error bars, or loose points."""

import math
from collections.abc import Sequence

from weft.drawing.axes import Frame, Place, log_ticks, room, scale, short, ticks, x_axis, y_axis
from weft.drawing.charts import Picture
from weft.drawing.looks import look, whisker
from weft.drawing.words import figure, written

MOST_MARKS = 24
MOST_ERRORS = 16
APART = 16.0
"""Between the names at the ends of curves, at least."""

Point = tuple[float, float, float]


def curves(picture: Picture, frame: Frame, name_ends: bool = False) -> str:
    """The inside of the picture; empty if there is no point. With `name_ends` every curve is named at its end."""
    lines = {name: _points(line, picture.log_x) for name, line in picture.lines.items()}
    flat = [point for line in lines.values() for point in line]
    if not flat:
        return ""
    low, high = room(min(y - error for _, y, error in flat), max(y + error for _, y, error in flat))
    if picture.top is not None:
        low, high = 0.0, picture.top
    out, up = y_axis(frame, low, high, picture.y, picture.write_y)
    first, last = min(x for x, _, _ in flat), max(x for x, _, _ in flat)
    across = scale(first, last, frame.left + 8, frame.end - 8, picture.log_x)
    values = log_ticks(first, last) if picture.log_x else ticks(first, last, 6)
    out += x_axis(frame, values, across, picture.x, short)
    for name, points in lines.items():
        out.append(_curve(picture, name, points, across, up))
    if name_ends:
        out += _named(picture, lines, frame, up)
    return "\n".join(out)


def _points(line: Sequence[Sequence[float]], log: bool) -> list[Point]:
    """x, y and error of what can be drawn."""
    errors = line[2] if len(line) == 3 else [0.0] * len(line[0])
    return [
        (float(x), float(y), float(error) if math.isfinite(error) else 0.0)
        for x, y, error in zip(line[0], line[1], errors, strict=True)
        if math.isfinite(x) and math.isfinite(y) and (x > 0.0 or not log)
    ]


def _curve(picture: Picture, name: str, points: list[Point], across: Place, up: Place) -> str:
    colour, dashes = look(picture.look(name))
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y, _ in points)
    out = [f'<g style="stroke: {colour}; fill: {colour}"><title>{written(name)}</title>']
    if not picture.loose:
        out.append(f'<polyline class="line" style="stroke-dasharray: {dashes or "none"}" points="{path}"/>')
    every, least = max(1, math.ceil(len(points) / MOST_ERRORS)), -math.inf if picture.top is None else 0.0
    for place, (x, y, error) in enumerate(points):
        if error > 0.0 and (len(points) - 1 - place) % every == 0:
            out.append(whisker(across(x), up(max(y - error, least)), up(y + error)))
        if picture.loose:
            out.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.6" fill-opacity=".6"/>')
        elif picture.marks and len(points) <= MOST_MARKS:
            words = written(f"{name}: {figure(y)}" + (f" ± {error:.2g}" if error else ""))
            out.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.6"><title>{words}</title></circle>')
    return "\n".join([*out, "</g>"])


def _named(picture: Picture, lines: dict[str, list[Point]], frame: Frame, up: Place) -> list[str]:
    """The names beside the last points."""
    ends = {name: up(points[-1][1]) for name, points in lines.items() if points}
    out = []
    for name, place in zip(ends, apart(list(ends.values())), strict=True):
        colour, _ = look(picture.look(name))
        words = f'x="{frame.end + 6}" y="{place + 4:.1f}" style="fill: {colour}"'
        out.append(f'<text class="name" {words}>{written(name)}</text>')
    return out


def apart(places: list[float], least: float = APART) -> list[float]:
    """The nearest heights (in squares) with at least so much between them: isotonic regression, neighbours pooled.

    >>> apart([10.0, 12.0, 100.0])
    [3.0, 19.0, 100.0]
    """
    order = sorted(range(len(places)), key=places.__getitem__)
    pools: list[tuple[float, int]] = []  # the mean of `place - rank * least`, and of how many
    for rank, at in enumerate(order):
        mean, size = places[at] - rank * least, 1
        while pools and pools[-1][0] >= mean:
            before, count = pools.pop()
            mean, size = (mean * size + before * count) / (size + count), size + count
        pools.append((mean, size))
    found, rank = [0.0] * len(places), 0
    for mean, size in pools:
        for _ in range(size):
            found[order[rank]] = mean + rank * least
            rank += 1
    return found
