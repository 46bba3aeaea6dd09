"""`--report OUT.html`: what cannot become a page is refused before anything else is done."""

import os

from weft.store.files import expect_place, is_special


def expect_page(page: str, source: str) -> None:
    """A name that says HTML, another file than the one that is read, a folder that exists, and the extra."""
    from weft.drawing.pages import expect_templates

    if not page.lower().endswith((".html", ".htm")) and not is_special(page):
        raise ValueError(f"--report {page}: the page is HTML; end its name in .html")
    if os.path.realpath(page) == os.path.realpath(source):
        raise ValueError(f"--report {page} would replace the file that is read; give the page another name")
    expect_place(page)
    expect_templates()
