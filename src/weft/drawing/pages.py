"""Pages of HTML from templates: everything that a template is given is escaped, and the page is one file.

The templates are written as XML that browsers take for HTML.
"""

from importlib.util import find_spec
from typing import Any

from weft.drawing.heat_map import within
from weft.drawing.style import PAGE
from weft.drawing.svg import figure_of

CONTROL = {code: "\N{REPLACEMENT CHARACTER}" for code in (*range(0x20), *range(0x7F, 0xA0)) if chr(code) not in "\t\n"}
CONTROL |= dict.fromkeys((*range(55296, 57344), 65534, 65535), "�")


def expect_templates() -> None:
    """Refuse a page where the library that fills templates is missing, with what to do."""
    if find_spec("jinja2") is None:
        raise ValueError("a page of HTML needs the package jinja2; install it with pip install 'weft[report]'")


def filled(package: str, name: str, **values: Any) -> str:
    """The template of that name in a package, with these values; pictures are drawn by `figure` and `heat_map`."""
    expect_templates()
    from jinja2 import Environment, PackageLoader, StrictUndefined
    from markupsafe import Markup

    def tidy(value: Any) -> Any:
        return value.translate(CONTROL) if isinstance(value, str) and not isinstance(value, Markup) else value

    pages = Environment(
        loader=PackageLoader(package, "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
        finalize=tidy,
    )
    pages.globals |= {
        "style": Markup(PAGE),
        "figure": lambda *given: Markup(figure_of(*given)),
        "heat_map": lambda *given: Markup(within(*given)),
    }
    return pages.get_template(name).render(values)
