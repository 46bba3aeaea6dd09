"""Rows of dots: a name at the left, a dot for every value, a line between the least and the greatest."""

import math

from weft.drawing.axes import Frame, Place, log_ticks, room, scale, ticks
from weft.drawing.charts import Dots, Row
from weft.drawing.looks import look
from weft.drawing.words import columns, shortened, written

STEP, GAP, HEAD, BELOW = 24, 14, 8, 44
LONGEST = 18
"""So many columns of a name are drawn."""


def height_of(picture: Dots) -> int:
    """How tall the picture is, which its rows decide."""
    return HEAD + STEP * len(picture.rows) + GAP * len(picture.breaks) + BELOW


def dots(picture: Dots, frame: Frame) -> str:
    """The inside of the picture; empty if there is no dot."""
    values = [value for row in picture.rows for value in _all(row) if _is_drawn(value, picture.log_x)]
    if not values:
        return ""
    names = shortened([row.name for row in picture.rows], LONGEST)
    left = math.ceil(7.4 * max(columns(name) + name.count("…") for name in names)) + 14
    low, high = (min(values), max(values)) if picture.log_x else room(min(values), max(values))
    if picture.log_x and low == high:
        low, high = low / 2, high * 2
    across = scale(low, high, left + 8, frame.width - 14, picture.log_x)
    bottom = height_of(picture) - BELOW
    out = []
    for value in log_ticks(low, high, 5) if picture.log_x else ticks(low, high, 5):
        out.append(f'<path class="grid" d="M{across(value):.1f} {HEAD}V{bottom}"/>')
        place = f'x="{across(value):.1f}" y="{bottom + 17}"'
        out.append(f'<text {place} text-anchor="middle">{picture.write_x(value)}</text>')
    middle = (left + frame.width) / 2
    out.append(f'<text x="{middle}" y="{bottom + 36}" text-anchor="middle">{written(picture.x)}</text>')
    out.append(f'<path class="frame" d="M{left} {bottom}H{frame.width - 6}"/>')
    y = HEAD + STEP / 2
    for at, (row, name) in enumerate(zip(picture.rows, names, strict=True)):
        if at in picture.breaks:
            out.append(f'<path class="grid" stroke-dasharray="3 3" d="M0 {y - STEP / 2 + GAP / 2}H{frame.width}"/>')
            y += GAP
        out.append(_row(picture, row, name, left, y, across))
        y += STEP
    return "\n".join(out)


def _all(row: Row) -> list[float]:
    return [*row.values, *(value for value in (row.low, row.high) if value is not None)]


def _is_drawn(value: float, log: bool) -> bool:
    return math.isfinite(value) and (value > 0.0 or not log)


def _row(picture: Dots, row: Row, name: str, left: int, y: float, across: Place) -> str:
    told = [
        f"{each}: {picture.write_x(value)}" if each else picture.write_x(value)
        for each, value in zip(picture.names, row.values, strict=True)
    ]
    out = [f"<g><title>{written(row.name + ' — ' + ', '.join(told))}</title>"]
    out.append(f'<text x="{left - 8}" y="{y + 4:.1f}" text-anchor="end">{written(name)}</text>')
    known = [value for value in _all(row) if _is_drawn(value, picture.log_x)]
    if known:
        out.append(f'<path class="frame" d="M{across(min(known)):.1f} {y:.1f}H{across(max(known)):.1f}"/>')
    for at, value in enumerate(row.values):
        if _is_drawn(value, picture.log_x):
            out.append(f'<circle cx="{across(value):.1f}" cy="{y:.1f}" r="5" style="fill: {look(at)[0]}"/>')
    return "\n".join([*out, "</g>"])
