"""A heat map of relations as an SVG file, with task names and, beside it, a bar per task for how far it stands apart.

Colours suit a light page and a dark one; every cell and bar says its names and its number when pointed at.
"""

import math

import numpy as np

from weft.drawing.colour_scale import GREY, Scale, scale_of
from weft.drawing.svg import wrapped
from weft.drawing.words import columns, cut, figure, written
from weft.inspection.relations import Relations, arranged
from weft.names import show_name

MOST_DRAWN = 200
"""So many tasks are drawn one by one, more as that many clusters."""
MOST_MEMBERS = 20
"""So many tasks of a cluster are named when pointed at."""
BARS, LEGEND = 130, 220


def draw(relations: Relations) -> str:
    """The picture as a file: the same relations give the same text."""
    title, parts, width, height = _parts(relations, MOST_DRAWN)
    return wrapped(title, ['<rect class="page" width="100%" height="100%"/>', *parts], width, height)


def within(relations: Relations, most: int) -> str:
    """The picture for a page, with at most so many lines."""
    title, parts, width, height = _parts(relations, most)
    body = "\n".join(filter(None, parts))
    size = f'width="{width:.0f}" height="{height}" viewBox="0 0 {width:.0f} {height}"'
    return f'<svg {size} role="img"><title>{written(title)}</title>\n{body}\n</svg>'


def _parts(relations: Relations, most: int) -> tuple[str, list[str], float, int]:
    """Title, parts, width and height."""
    drawn = arranged(relations, most)
    n, scale = len(drawn.members), scale_of(drawn.between) if drawn.has_matrix else None
    cell = int(np.clip(560 // n, 9, 26))
    names = [cut(name) for name in drawn.names]
    font_size = min(12, cell - 1)
    side = math.ceil(max(map(columns, names)) * font_size * 0.62) + 12
    left, top = side, (side if scale else 26) + (62 if drawn.note else 44)
    across, down = n * cell if scale else 0, n * cell
    what = "are related" if scale else "stand apart"
    title = f"How {relations.tasks:,} tasks {what}: {relations.learner}"
    right = left + across + (BARS + 90 if drawn.apart is not None else 0)
    width = max(right + 24, left + LEGEND + 190, 8 * len(title) + 40, 6.5 * len(drawn.note) + 40)
    height = top + down + (84 if scale else 40)
    parts = [
        f'<text class="title" style="font-size: 15px" x="16" y="26">{written(title)}</text>',
        f'<text x="16" y="46">{written(drawn.note)}</text>' if drawn.note else "",
        _names(drawn, names, left, top, cell, font_size),
        _cells(drawn, scale, left, top, cell) if scale else "",
        _bars(drawn, left + across + (20 if scale else 0), top, cell, font_size),
        _legend(drawn, scale, left, top + down + 24) if scale else "",
    ]
    return title, parts, width, height


# --- parts ---


def _names(drawn: Relations, names: list[str], left: int, top: int, cell: int, font_size: int) -> str:
    """At the left of the rows, and upright over the columns if there are any."""
    out = [f'<g class="names" style="font-size: {font_size}px">']
    style = f'style="font-size: {font_size}px"'
    far = drawn.far
    for at, name in enumerate(names):
        middle = cell * at + 0.5 * cell + 0.36 * font_size
        tip = f"<title>{written(_members(drawn, at))}</title>{written(name)}</text>"
        kind = ' class="far"' if far[at] else ""
        out.append(f'<text{kind} {style} x="{left - 6}" y="{top + middle:.1f}" text-anchor="end">{tip}')
        if drawn.has_matrix:
            place = f"translate({left + middle:.1f} {top - 6}) rotate(-90)"
            out.append(f'<text{kind} {style} transform="{place}">{tip}')
    return "\n".join([*out, "</g>"])


def _cells(drawn: Relations, scale: Scale, left: int, top: int, cell: int) -> str:
    names = [written(name) for name in drawn.names]
    out = [f'<g class="cells" shape-rendering="crispEdges" transform="translate({left} {top})">']
    for i, row in enumerate(drawn.values.tolist()):
        for j, value in enumerate(row):
            is_own = i == j and drawn.is_single[i]
            fill = scale.colour(value) if math.isfinite(value) and not is_own else GREY if is_own else "none"
            if i != j:
                words = f"{names[i]}, {names[j]}: {figure(value)}"
            else:
                words = f"{names[i]}, {'itself' if is_own else 'among themselves'}: {figure(value)}"
            place = f'x="{j * cell}" y="{i * cell}" width="{cell}" height="{cell}"'
            out.append(f'<rect {place} fill="{fill}"><title>{words}</title></rect>')
    size = cell * len(names)
    return "\n".join([*out, f'<rect class="frame" width="{size}" height="{size}"/>', "</g>"])


def _bars(drawn: Relations, left: int, top: int, cell: int, font_size: int) -> str:
    """One per line, in the order of the lines; far ones in another colour."""
    if drawn.apart is None:
        return ""
    far, style = drawn.far, f'style="font-size: {font_size}px"'
    longest = float(np.max(drawn.apart[np.isfinite(drawn.apart)], initial=0.0)) or 1.0
    out = [f'<g class="bars" transform="translate({left} {top})"><text y="-8">{written(drawn.measure)}</text>']
    for at, value in enumerate(drawn.apart.tolist()):
        is_known = math.isfinite(value)
        length = BARS * value / longest if is_known else 0.0
        kind, room = "far" if far[at] else "bar", max(1, cell // 8)
        words = written(f"{drawn.names[at]}: {figure(value)}")
        place = f'y="{at * cell + room}" width="{length:.1f}" height="{cell - 2 * room}"'
        out.append(f'<rect class="{kind}" {place}><title>{words}</title></rect>')
        middle, shown = cell * at + 0.5 * cell + 0.36 * font_size, f"{value:.3g}" if is_known else "-"
        out.append(f'<text {style} x="{length + 5:.1f}" y="{middle:.1f}">{shown}</text>')
    if any(far):
        out.append(f'<text class="far" y="{cell * len(far) + 18}">stands apart</text>')
    return "\n".join([*out, "</g>"])


def _legend(drawn: Relations, scale: Scale, left: int, top: int) -> str:
    """The colours with numbers under them, and the grey of the diagonal with its own."""
    steps = 44
    wide = LEGEND // steps
    out = [f'<g class="legend" transform="translate({left} {top})">', '<g shape-rendering="crispEdges">']
    for step in range(steps):
        value = scale.low + (scale.high - scale.low) * (step + 0.5) / steps
        out.append(f'<rect x="{step * wide}" width="{wide}" height="12" fill="{scale.colour(value)}"/>')
    out.append("</g>")
    for share, anchor in ((0.0, "start"), (0.5, "middle"), (1.0, "end")):
        value = scale.low + (scale.high - scale.low) * share
        out.append(f'<text x="{share * LEGEND:.0f}" y="28" text-anchor="{anchor}">{figure(value)}</text>')
    own = np.diag(drawn.values)[drawn.is_single]
    if len(own):
        low, high = figure(float(own.min())), figure(float(own.max()))
        words = f"itself: {low}" if low == high else f"itself: {low} to {high}"
        out.append(f'<rect x="{LEGEND + 24}" width="12" height="12" fill="{GREY}"/>')
        out.append(f'<text x="{LEGEND + 42}" y="10">{words}</text>')
    return "\n".join([*out, "</g>"])


# --- names ---


def _members(drawn: Relations, at: int) -> str:
    tasks = drawn.members[at]
    more = f" and {len(tasks) - MOST_MEMBERS:,} more" if len(tasks) > MOST_MEMBERS else ""
    return ", ".join(map(show_name, tasks[:MOST_MEMBERS])) + more
