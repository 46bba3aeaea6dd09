"""Pictures as SVG for a page: curves and bars with error bars; the page's style gives the colours.

Lines differ in colour and in dashes, so that more of them can be told apart, also without colours. The legend is left
to the page, which can break it where the picture cannot.
"""

import math
from collections.abc import Callable, Sequence
from html import escape

from weft_reproduction.experiment import Bars, Picture
from weft_reproduction.writing import number

WIDTH, HEIGHT = 480, 310
LEFT, RIGHT, TOP, BOTTOM = 58, 12, 14, 46
COLOURS = 6
"""So many the style has, as `--line-0` and so on; then they come again with other dashes."""
_DASHES = ("", "6 4", "2 3", "9 3 2 3")
_MOST_MARKS = 24
_MOST_ERRORS = 16
_SLANT = 20  # more room below, for names of groups that are too long to stand side by side


def look(at: int) -> tuple[str, str]:
    """Colour and dashes of the line with that number."""
    return f"var(--line-{at % COLOURS})", _DASHES[at // COLOURS % len(_DASHES)]


def draw(picture: Picture | Bars) -> str:
    """The picture; one without a point says so."""
    body = _curves(picture) if isinstance(picture, Picture) else _bars(picture)
    if not body:
        body = f'<text x="{WIDTH / 2}" y="{HEIGHT / 2}" text-anchor="middle">not run</text>'
    title = escape(f"{picture.title}: {', '.join(names(picture))}")
    height = HEIGHT + (_SLANT if isinstance(picture, Bars) and _are_slanted(picture) else 0)
    return f'<svg viewBox="0 0 {WIDTH} {height}" role="img"><title>{title}</title>\n{body}\n</svg>'


def names(picture: Picture | Bars) -> list[str]:
    """What the legend names, in the order of `look`."""
    return list(picture.lines if isinstance(picture, Picture) else picture.bars)


def swatch(at: int, picture: Picture | Bars) -> str:
    """What stands before a name in the legend."""
    colour, dashes = look(at)
    if isinstance(picture, Bars):
        inside = f'<rect x="4" y="2" width="14" height="9" style="fill: {colour}"/>'
    else:
        inside = (
            f'<path d="M0 6H24" style="stroke: {colour}; stroke-width: 2.4; stroke-dasharray: {dashes or "none"}"/>'
        )
    return f'<svg viewBox="0 0 24 12" class="swatch" aria-hidden="true">{inside}</svg>'


# --- axes ---


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


def _scale(low: float, high: float, begin: float, end: float, log: bool = False) -> Callable[[float], float]:
    if log:
        low, high = math.log10(low), math.log10(high)
    span = (high - low) or 1.0

    def place(value: float) -> float:
        return begin + (end - begin) * ((math.log10(value) if log else value) - low) / span

    return place


def _y_axis(low: float, high: float, name: str) -> tuple[list[str], Callable[[float], float]]:
    up = _scale(low, high, HEIGHT - BOTTOM, TOP)
    out = []
    for value in ticks(low, high):
        out.append(f'<path class="grid" d="M{LEFT} {up(value):.1f}H{WIDTH - RIGHT}"/>')
        out.append(f'<text x="{LEFT - 6}" y="{up(value) + 4:.1f}" text-anchor="end">{_short(value)}</text>')
    middle = (TOP + HEIGHT - BOTTOM) / 2
    out.append(f'<text transform="translate(12 {middle}) rotate(-90)" text-anchor="middle">{escape(name)}</text>')
    out.append(f'<path class="frame" d="M{LEFT} {TOP}V{HEIGHT - BOTTOM}H{WIDTH - RIGHT}"/>')
    return out, up


def _short(value: float) -> str:
    """A number at an axis.

    >>> [_short(value) for value in (0.0, 0.25, 1500.0, 20000.0, 3e6, 1e-5)]
    ['0', '0.25', '1,500', '20k', '3M', '1e-05']
    """
    for unit, letter in ((1e6, "M"), (1e3, "k")):
        if abs(value) >= unit * (10 if letter == "k" else 1) and math.isfinite(value):
            return f"{value / unit:.4g}{letter}"
    return f"{value:,.0f}" if abs(value) >= 1000 else f"{value:.4g}"


def _room(low: float, high: float) -> tuple[float, float]:
    """A little more than the points need."""
    gap = 0.06 * (high - low) or 0.05 * abs(high) or 0.5
    below = low - gap
    return (0.0 if low >= 0.0 > below else below), high + gap


# --- curves ---


def _curves(picture: Picture) -> str:
    lines = [_points(line, picture.log_x) for line in picture.lines.values()]
    flat = [point for line in lines for point in line]
    if not flat:
        return ""
    low, high = _room(min(y - error for _, y, error in flat), max(y + error for _, y, error in flat))
    out, up = _y_axis(low, high, picture.y)
    first, last = min(x for x, _, _ in flat), max(x for x, _, _ in flat)
    across = _scale(first, last, LEFT + 8, WIDTH - RIGHT - 8, picture.log_x)
    for x in _x_ticks(first, last, picture.log_x):
        out.append(f'<path class="frame" d="M{across(x):.1f} {HEIGHT - BOTTOM}v4"/>')
        out.append(f'<text x="{across(x):.1f}" y="{HEIGHT - BOTTOM + 17}" text-anchor="middle">{_short(x)}</text>')
    middle = (LEFT + WIDTH - RIGHT) / 2
    out.append(f'<text x="{middle}" y="{HEIGHT - 8}" text-anchor="middle">{escape(picture.x)}</text>')
    for at, (name, points) in enumerate(zip(picture.lines, lines, strict=True)):
        out.append(_curve(at, name, points, across, up))
    return "\n".join(out)


def _points(line: Sequence[Sequence[float]], log: bool) -> list[tuple[float, float, float]]:
    """x, y and error of what can be drawn."""
    errors = line[2] if len(line) == 3 else [0.0] * len(line[0])
    return [
        (float(x), float(y), float(error) if math.isfinite(error) else 0.0)
        for x, y, error in zip(line[0], line[1], errors, strict=True)
        if math.isfinite(x) and math.isfinite(y) and (x > 0.0 or not log)
    ]


def _x_ticks(first: float, last: float, log: bool) -> list[float]:
    if not log:
        return ticks(first, last)
    powers = range(math.ceil(math.log10(first) - 1e-9), math.floor(math.log10(last) + 1e-9) + 1)
    found = [10.0**power for power in powers]
    return found if len(found) > 1 else [first, last]


def _curve(
    at: int,
    name: str,
    points: list[tuple[float, float, float]],
    across: Callable[[float], float],
    up: Callable[[float], float],
) -> str:
    colour, dashes = look(at)
    path = " ".join(f"{across(x):.1f},{up(y):.1f}" for x, y, _ in points)
    out = [f'<g style="stroke: {colour}; fill: {colour}"><title>{escape(name)}</title>']
    out.append(f'<polyline class="line" style="stroke-dasharray: {dashes or "none"}" points="{path}"/>')
    every = max(1, math.ceil(len(points) / _MOST_ERRORS))
    for place, (x, y, error) in enumerate(points):
        if error > 0.0 and (len(points) - 1 - place) % every == 0:
            out.append(_whisker(across(x), up(y - error), up(y + error)))
        if len(points) <= _MOST_MARKS:
            words = escape(f"{name}: {number(y)}" + (f" ± {error:.2g}" if error else ""))
            out.append(f'<circle cx="{across(x):.1f}" cy="{up(y):.1f}" r="2.6"><title>{words}</title></circle>')
    return "\n".join([*out, "</g>"])


def _whisker(x: float, low: float, high: float) -> str:
    return f'<path class="error" d="M{x:.1f} {low:.1f}V{high:.1f}M{x - 3:.1f} {low:.1f}h6M{x - 3:.1f} {high:.1f}h6"/>'


# --- bars ---


def _bars(picture: Bars) -> str:
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
    out, up = _y_axis(low * 1.05, high * 1.05, picture.y)
    wide = (WIDTH - LEFT - RIGHT) / len(picture.groups)
    thick = 0.8 * wide / max(1, len(picture.bars))
    for group, label in enumerate(picture.groups):
        begin = LEFT + wide * (group + 0.1)
        out.append(_group_name(label, LEFT + wide * (group + 0.5), _are_slanted(picture)))
        for at, (name, parts) in enumerate(picture.bars.items()):
            y = float(parts[0][group])
            if math.isfinite(y):
                error = float(parts[1][group]) if len(parts) == 2 else 0.0
                out.append(_bar(at, f"{label}, {name}", begin + at * thick, thick, y, error, up))
    return "\n".join(out)


def _are_slanted(picture: Bars) -> bool:
    wide = (WIDTH - LEFT - RIGHT) / max(1, len(picture.groups))
    return any(6.6 * len(label) > wide for label in picture.groups)


def _group_name(label: str, middle: float, slanted: bool) -> str:
    y = HEIGHT - BOTTOM + 16
    if not slanted:
        return f'<text x="{middle:.1f}" y="{y}" text-anchor="middle">{escape(label)}</text>'
    cut = label if len(label) <= 12 else f"{label[:11]}…"
    turned = f'transform="translate({middle + 4:.1f} {y - 4}) rotate(-38)"'
    return f'<text {turned} text-anchor="end"><title>{escape(label)}</title>{escape(cut)}</text>'


def _bar(at: int, name: str, x: float, thick: float, y: float, error: float, up: Callable[[float], float]) -> str:
    colour, _ = look(at)
    top, foot = min(up(y), up(0.0)), max(up(y), up(0.0))
    place = f'x="{x:.1f}" y="{top:.1f}" width="{max(1.0, thick - 1):.1f}" height="{max(0.5, foot - top):.1f}"'
    whisker = ""
    if math.isfinite(error) and error > 0.0:
        whisker = f'<g class="ink">{_whisker(x + thick / 2, up(y - error), up(y + error))}</g>'
    words = escape(f"{name}: {number(y)}" + (f" ± {error:.2g}" if error > 0.0 else ""))
    return f'<rect {place} style="fill: {colour}"><title>{words}</title></rect>{whisker}'
