"""Facts to HTML: the templates of the folder `pages`, every text escaped, and the files of the folder `static`."""

import math
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple

from jinja2 import Environment, FileSystemLoader, StrictUndefined

from weft.serve.overview import Overview, TaskPage
from weft.text.printable import printable

HERE = Path(__file__).parent
CSP = (
    "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src data:; form-action 'self'; "
    "base-uri 'none'; frame-ancestors 'none'"
)
STATIC = {
    "uplot.js": "text/javascript", "uplot.css": "text/css", "weft.js": "text/javascript", "weft.css": "text/css",
}  # fmt: skip
FACTS = (
    ("weft_accepted_total", "accepted since the start"),
    ("weft_duplicates_total", "duplicates"),
    ("weft_refused_total", "refused"),
    ("weft_predictions_total", "predictions"),
    ("weft_expired_total", "labels that never came"),
    ("weft_log_bytes", "log on disk"),
    ("weft_log_first", "first entry that is kept"),
    ("weft_checkpoint_seq", "last checkpoint, entry"),
    ("weft_checkpoint_seconds", "time to write it"),
    ("weft_checkpoint_pause_seconds", "pause of learning for it"),
    ("weft_compactions_total", "compactions"),
    ("process_resident_memory_bytes", "memory"),
)
WIDTH, HEIGHT = 600.0, 160.0


def number(value: Any) -> str:
    """A figure for people.

    >>> number(12345), number(0.25), number(3e-5), number(None)
    ('12,345', '0.2500', '3.000e-05', '-')
    """
    if value is None or not math.isfinite(value):
        return "-"
    if value == int(value):
        return f"{int(value):,}"
    return f"{value:.4f}" if abs(value) >= 1e-3 else f"{value:.3e}"


def quantity(value: float, name: str) -> str:
    """A figure with its unit, which its name says.

    >>> quantity(3 << 20, "weft_log_bytes"), quantity(0.25, "weft_checkpoint_seconds")
    ('3.0 MiB', '0.250 s')
    """
    if name.endswith("_bytes"):
        return f"{value / (1 << 20):,.1f} MiB"
    return f"{value:.3f} s" if name.endswith("_seconds") else number(value)


def label(value: Any) -> str:
    """A label for people.

    >>> label(1.0), label(-0.25), label("spam"), label(True), label(None)
    ('1', '-0.2500', 'spam', 'true', '-')
    """
    if isinstance(value, bool):
        return str(value).lower()
    return printable(value) if isinstance(value, str) else number(value)


class Drawn(NamedTuple):
    """The points of lines in an SVG, and the least and the largest value."""

    drawn: list[str]
    lowest: float | None
    highest: float | None


def polylines(points: list[list[float | None]]) -> Drawn:
    """Lines through points (x, y, y, ...), from 0 or the least value up.

    >>> polylines([[0, 1.0], [1, 0.0]]).drawn
    ['0.0,0.0 600.0,160.0']
    """
    values = [y for point in points for y in point[1:] if y is not None]
    if len(points) < 2 or not values:
        return Drawn([], None, None)
    low, high = min(0.0, *values), max(values)
    left, right = points[0][0] or 0.0, points[-1][0] or 0.0
    across, up = WIDTH / ((right - left) or 1.0), HEIGHT / ((high - low) or 1.0)
    drawn = []
    for line in range(1, len(points[0])):
        places = [(point[0] or 0.0, point[line]) for point in points]
        drawn.append(" ".join(f"{(x - left) * across:.1f},{(high - y) * up:.1f}" for x, y in places if y is not None))
    return Drawn(drawn, min(values), high)


@lru_cache(maxsize=1)
def _templates() -> Environment:
    found = Environment(
        loader=FileSystemLoader(HERE / "pages"), autoescape=True, undefined=StrictUndefined, trim_blocks=True
    )
    found.filters |= {
        "number": number,
        "label": label,
        "quantity": quantity,
        "polylines": polylines,
        "signed": lambda value: f"{value:+.4f}",
    }
    return found


def overview_page(page: Overview, binary: bool) -> str:
    """The first page."""
    points = [[sample.at, _finite(sample.error), _finite(sample.lately)] for sample in page.samples]
    return _templates().get_template("overview.html").render(page=page, points=points, binary=binary, facts=FACTS)


def task_html(page: TaskPage, is_admin: bool) -> str:
    """The page of a task."""
    points = [list(point) for point in page.curve]
    return _templates().get_template("task.html").render(page=page, points=points, is_admin=is_admin)


def login_page(message: str = "") -> str:
    """A page that asks for a token."""
    return _templates().get_template("login.html").render(message=message)


@lru_cache
def static_file(name: str) -> tuple[bytes, str] | None:
    """A file of the folder `static` and its kind; None if there is none of that name."""
    if name not in STATIC:
        return None
    return (HERE / "static" / name).read_bytes(), STATIC[name]


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
