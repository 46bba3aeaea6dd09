"""Bars in groups, with error bars."""

import math

from weft.drawing.axes import Frame, Place, short, y_axis
from weft.drawing.charts import Bars
from weft.drawing.looks import look, whisker
from weft.drawing.words import figure, written

SLANT = 20
"""More room below, for names of groups that are too long to stand side by side."""


def bars(picture: Bars, frame: Frame) -> str:
    """The inside of the picture; empty if there is no bar."""
    heights = [
        (float(y), float(parts[1][at]) if len(parts) == 2 and math.isfinite(parts[1][at]) else 0.0)
        for parts in picture.bars.values()
        for at, y in enumerate(parts[0])
        if math.isfinite(y)
    ]
    if not heights:
        return ""
    low = min(0.0, min(y - error for y, error in heights))
    high = max(0.0, max(y + error for y, error in heights)) or 1.0
    out, up = y_axis(frame, low * 1.05, high * 1.05, picture.y, short)
    wide = (frame.end - frame.left) / len(picture.groups)
    thick = 0.8 * wide / max(1, len(picture.bars))
    for group, label in enumerate(picture.groups):
        begin = frame.left + wide * (group + 0.1)
        out.append(_group_name(label, frame, frame.left + wide * (group + 0.5), are_slanted(picture, frame)))
        for at, (name, parts) in enumerate(picture.bars.items()):
            y = float(parts[0][group])
            if math.isfinite(y):
                error = float(parts[1][group]) if len(parts) == 2 else 0.0
                out.append(_bar(at, f"{label}, {name}", (begin + at * thick, thick), (y, error), up))
    return "\n".join(out)


def are_slanted(picture: Bars, frame: Frame) -> bool:
    """Are the names of the groups too long to stand side by side?"""
    wide = (frame.end - frame.left) / max(1, len(picture.groups))
    return any(6.6 * len(label) > wide for label in picture.groups)


def _group_name(label: str, frame: Frame, middle: float, slanted: bool) -> str:
    y = frame.foot + 16
    if not slanted:
        return f'<text x="{middle:.1f}" y="{y}" text-anchor="middle">{written(label)}</text>'
    cut = label if len(label) <= 12 else f"{label[:11]}…"
    turned = f'transform="translate({middle + 4:.1f} {y - 4}) rotate(-38)"'
    return f'<text {turned} text-anchor="end"><title>{written(label)}</title>{written(cut)}</text>'


def _bar(at: int, name: str, across: tuple[float, float], height: tuple[float, float], up: Place) -> str:
    (x, thick), (y, error), (colour, _) = across, height, look(at)
    top, foot = min(up(y), up(0.0)), max(up(y), up(0.0))
    place = f'x="{x:.1f}" y="{top:.1f}" width="{max(1.0, thick - 1):.1f}" height="{max(0.5, foot - top):.1f}"'
    errors = ""
    if math.isfinite(error) and error > 0.0:
        errors = f'<g class="ink">{whisker(x + thick / 2, up(y - error), up(y + error))}</g>'
    words = written(f"{name}: {figure(y)}" + (f" ± {error:.2g}" if error > 0.0 else ""))
    return f'<rect {place} style="fill: {colour}"><title>{words}</title></rect>{errors}'
