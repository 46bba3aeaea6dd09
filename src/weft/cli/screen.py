"""Standard output or standard error for tables and sentences, in which no name can control the terminal."""

from typing import Any

from rich.console import Console
from rich.text import Text

from weft.text.printable import printable_lines


class Screen(Console):
    """Names may look like markup ("[red]") or emoji codes (":x:"): they are printed as they are, without controls."""

    def __init__(self, err: bool = False) -> None:
        super().__init__(stderr=err, highlight=False, markup=False, emoji=False)

    def render_str(self, text: str, **settings: Any) -> Text:
        """All plain text passes here, that of cells as well."""
        return super().render_str(printable_lines(text), **settings)
