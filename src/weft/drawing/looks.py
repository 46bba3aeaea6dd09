"""Lines differ in colour and in dashes, so that more of them can be told apart, also without colours."""

from weft.drawing.charts import Bars, Chart, Dots
from weft.drawing.style import COLOURS

_DASHES = ("", "6 4", "2 3", "9 3 2 3")


def look(at: int) -> tuple[str, str]:
    """Colour and dashes of the line with that number."""
    return f"var(--line-{at % COLOURS})", _DASHES[at // COLOURS % len(_DASHES)]


def dashed(at: int) -> int:
    """The number of the same colour with dashes."""
    return at + COLOURS


def swatch(name: str, chart: Chart) -> str:
    """What stands before a name in a legend."""
    colour, dashes = look(chart.look(name))
    if isinstance(chart, Bars):
        inside = f'<rect x="4" y="2" width="14" height="9" style="fill: {colour}"/>'
    elif isinstance(chart, Dots) or chart.loose:
        inside = f'<circle cx="12" cy="6" r="4.5" style="fill: {colour}"/>'
    else:
        inside = (
            f'<path d="M0 6H24" style="stroke: {colour}; stroke-width: 2.4; stroke-dasharray: {dashes or "none"}"/>'
        )
    return f'<svg viewBox="0 0 24 12" class="swatch" aria-hidden="true">{inside}</svg>'


def whisker(x: float, low: float, high: float) -> str:
    """An error bar."""
    return f'<path class="error" d="M{x:.1f} {low:.1f}V{high:.1f}M{x - 3:.1f} {low:.1f}h6M{x - 3:.1f} {high:.1f}h6"/>'
