"""Relations in a terminal: blocks of colour, or digits where there are no colours."""

import math
from typing import TYPE_CHECKING

import numpy as np
from rich.text import Text

from weft.drawing.colour_scale import GREY, Scale, scale_of
from weft.drawing.words import figure
from weft.inspection.relations import Relations, arranged
from weft.text.printable import printable

if TYPE_CHECKING:
    from rich.console import Console

WIDEST_NAME = 20
BARS, FIGURE = 12, 8
MOST_COLUMNS = 99
MOST_LONERS = 20


def print_relations(screen: "Console", relations: Relations) -> None:
    """As many tasks as fit in the width, else that many clusters of them."""
    if not relations.has_matrix:
        for line in _loners(arranged(relations, MOST_LONERS)):
            screen.print(line, soft_wrap=True)
        return
    beside = BARS + FIGURE + 2 if relations.apart is not None else 0
    longest = max(Text(printable(name)).cell_len for name in relations.names)
    room = screen.width - 4 - beside
    most = (room - min(longest, WIDEST_NAME)) // 2
    if len(relations.members) > most:
        most = (room - WIDEST_NAME) // 2  # names of clusters are longer
    drawn = arranged(relations, max(2, min(MOST_COLUMNS, most)))
    scale, in_colour = scale_of(drawn.between), screen.color_system in ("256", "truecolor") and not screen.no_color
    for line in _lines(drawn, scale, in_colour):
        screen.print(line, soft_wrap=True)


def _loners(drawn: Relations) -> list[Text]:
    """Bars alone, the longest first."""
    names = _names(drawn)
    head = [Text("How far tasks stand apart", style="bold"), Text(drawn.note), Text(drawn.measure)]
    return head + [Text(" ").append_text(name).append_text(bar) for name, bar in zip(names, _bars(drawn), strict=True)]


def _names(drawn: Relations) -> list[Text]:
    """Cut and padded to one width."""
    names = [Text(printable(name)) for name in drawn.names]
    for name in names:
        name.truncate(WIDEST_NAME, overflow="ellipsis")
    width = max(name.cell_len for name in names)
    for name in names:
        name.pad_right(width - name.cell_len)
    return names


def _lines(drawn: Relations, scale: Scale, in_colour: bool) -> list[Text]:
    n, names = len(drawn.members), _names(drawn)
    lines = [Text("How tasks are related", style="bold"), *([Text(drawn.note)] if drawn.note else [])]
    indent = " " * (names[0].cell_len + 4)
    if n > 9:
        lines.append(Text(indent + "".join(f"{i // 10:2d}" if i % 10 == 0 else "  " for i in range(1, n + 1))))
    head = indent + "".join(f"{i % 10:2d}" for i in range(1, n + 1))
    lines.append(Text(head + (f"  {drawn.measure}" if drawn.apart is not None else "")))
    bars = _bars(drawn)
    for i, name in enumerate(names):
        line = Text(f"{i + 1:2d} ").append_text(name).append(" ")
        for j, value in enumerate(drawn.values[i].tolist()):
            line.append_text(_cell(value, i == j and drawn.is_single[i], scale, in_colour))
        lines.append(line.append_text(bars[i]))
    return [*lines, _legend(drawn, scale, in_colour)]


def _cell(value: float, is_own: bool, scale: Scale, in_colour: bool) -> Text:
    if is_own:
        return Text("  ", style=f"on {GREY}") if in_colour else Text(" .")
    if not math.isfinite(value):
        return Text(" ?")
    return Text("  ", style=f"on {scale.colour(value)}") if in_colour else Text(scale.digit(value))


def _bars(drawn: Relations) -> list[Text]:
    """A bar and its number; who stands apart has an exclamation mark."""
    if drawn.apart is None:
        return [Text()] * len(drawn.members)
    longest = float(np.max(drawn.apart[np.isfinite(drawn.apart)], initial=0.0)) or 1.0
    found = []
    for value, is_far in zip(drawn.apart.tolist(), drawn.far, strict=True):
        length = round(BARS * value / longest) if math.isfinite(value) else 0
        words = f"{value:.3g}" if math.isfinite(value) else "-"
        found.append(Text(f"  {'*' * length} {words}{' !' if is_far else ''}", style="bold" if is_far else ""))
    return found


def _legend(drawn: Relations, scale: Scale, in_colour: bool) -> Text:
    own = np.diag(drawn.values)[drawn.is_single]
    itself = ""
    if len(own):
        low, high = figure(float(own.min())), figure(float(own.max()))
        itself = f"a task with itself: {low}" + (f" to {high}" if low != high else "")
    if not in_colour:
        words = f"0 is {figure(0.0 if scale.is_signed else scale.low)}, 9 is {figure(scale.high)}"
        words = f"-9 is {figure(scale.low)}, {words}" if scale.is_signed else words
        return Text(words + (f", . {itself}" if itself else ""))
    line, steps = Text(f"{figure(scale.low)} "), 9
    for step in range(steps):
        line.append(" ", style=f"on {scale.colour(scale.low + (scale.high - scale.low) * step / (steps - 1))}")
    line.append(f" {figure(scale.high)}")
    return line.append("   ").append("  ", style=f"on {GREY}").append(f" {itself}") if itself else line
