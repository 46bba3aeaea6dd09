"""Charts as SVG: within a page, which gives the style and the legend, or as a file of its own.

The legend of a picture in a page is left to the page, which can break it where the picture cannot.
"""

from collections.abc import Sequence

from weft.drawing.axes import Frame
from weft.drawing.bars import SLANT, are_slanted, bars
from weft.drawing.charts import Bars, Chart, Picture
from weft.drawing.curves import curves
from weft.drawing.dots import dots, height_of
from weft.drawing.looks import swatch
from weft.drawing.style import PICTURE
from weft.drawing.words import written

IN_PAGE = Frame()


def draw(chart: Chart, frame: Frame = IN_PAGE) -> str:
    """The picture for a page; one without a point says so."""
    if isinstance(chart, Picture):
        body, height = curves(chart, frame), frame.height
    elif isinstance(chart, Bars):
        body, height = bars(chart, frame), frame.height + (SLANT if are_slanted(chart, frame) else 0)
    else:
        body, height = dots(chart, frame), height_of(chart)
    if not body:
        body = f'<text x="{frame.width / 2}" y="{height / 2}" text-anchor="middle">not run</text>'
    title = written(f"{chart.title}: {', '.join(filter(None, chart.names))}")
    return f'<svg viewBox="0 0 {frame.width} {height}" role="img"><title>{title}</title>\n{body}\n</svg>'


def legend(chart: Chart) -> str:
    """The names with their colours, for a page."""
    lines = "".join(f"<li>{swatch(name, chart)}{written(name)}</li>" for name in chart.names if name)
    return f"<ul class='legend'>{lines}</ul>" if lines else ""


def figure_of(chart: Chart, frame: Frame = IN_PAGE) -> str:
    """The picture with its title, legend and note, for a page."""
    note = f"<p class='note'>{written(chart.note)}</p>" if chart.note else ""
    return f"<figure><figcaption>{written(chart.title)}</figcaption>{draw(chart, frame)}{legend(chart)}{note}</figure>"


def panel(picture: Picture, width: int, height: int, labels: int) -> str:
    """A picture for a file of its own: a title above it, every curve named at its end in a room of `labels`."""
    frame = Frame(width, height, 56, labels, 34, 44)
    title = f'<text class="title" x="{frame.left}" y="20">{written(picture.title)}</text>'
    return f"{title}\n{curves(picture, frame, name_ends=True)}"


def file_of(title: str, drawings: Sequence[str], width: int, height: int) -> str:
    """Drawings of one size, one below the other, as a file: side by side they would be too small on a telephone."""
    parts = [f'<g transform="translate(0 {at * height})">{drawing}</g>' for at, drawing in enumerate(drawings)]
    return wrapped(title, parts, width, height * len(drawings))


def wrapped(title: str, parts: Sequence[str], width: float, height: float) -> str:
    """Parts of a picture as a file with its style."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" width="{width:.0f}" height="{height}" role="img"'
    head += f' viewBox="0 0 {width:.0f} {height}"><title>{written(title)}</title><style>{PICTURE}</style>'
    return "\n".join([head, *filter(None, parts), "</svg>\n"])
