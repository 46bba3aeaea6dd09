"""CSV as cells: the header, the separator, quotes; what the cells mean is the business of others."""

import csv

from weft.streams.records import InputError, Refused, show

SEPARATORS = (",", "\t", ";", "|")
"""Between cells, where it is not given: the one that fits the header."""
LONGEST_CELL = 131_072
"""Characters of a cell."""


class Cells:
    """Splits lines into cells; the first line that it is given is the header."""

    def __init__(self, separator: str, wanted: str | None, decimal: str | None = None) -> None:
        """`separator`: found in the header if it is empty; `wanted`: a column that the header should have.

        `decimal` is the decimal point; if it is not given, a comma will do between semicolons.
        """
        if len(separator) > 1 or separator in ('"', "\n", "\r") or not separator.isascii():
            raise InputError(f"the separator {separator!r} is not one ASCII character; give one, such as ; or tab")
        self.separator, self._decimal = separator, decimal
        self.header: list[str] = []
        self._wanted = wanted

    @property
    def decimal_comma(self) -> bool:
        """May the decimal point be a comma?"""
        return self.separator == ";" if self._decimal is None else self._decimal == ","

    def split(self, line: bytes) -> list[str]:
        """The cells of a line."""
        try:
            text = line.decode("utf-8").rstrip("\r\n")
        except UnicodeDecodeError:
            raise Refused(None, "the line is not UTF-8; write the file in UTF-8") from None
        if text.count('"') % 2:
            raise Refused(None, "a quoted cell is not closed on its line; close it, and double quotes within cells")
        try:
            cells = next(csv.reader([text], delimiter=self.separator or self._find_separator(text)), [])
        except csv.Error as error:
            limit = f"a cell has at most {LONGEST_CELL:,} characters"
            raise Refused(None, f"the line cannot be split into cells ({error}); {limit}") from None
        if self.header and len(cells) != len(self.header):
            raise Refused(None, f"{len(cells)} cells, the header has {len(self.header)}; fill or remove cells")
        return cells

    def is_open(self, line: bytes, was_open: bool = False) -> bool:
        """Does a quoted cell go on behind this line? `was_open`: one did before it. Reads every byte once."""
        separator = self.separator.encode()
        opening, at = separator + b'"', 0
        text, within = line if was_open else separator + line, was_open
        while True:
            if not within:
                at = text.find(opening, at)
                if at < 0:
                    return False
                at += len(opening)
            at = text.find(b'"', at)
            while at >= 0 and text[at + 1 : at + 2] == b'"':
                at = text.find(b'"', at + 2)
            if at < 0:
                return True
            at, within = at + 1, False

    def _find_separator(self, header: str) -> str:
        """The separator with which the header has the column that it should have, or else the most cells."""
        found = {separator: header.split(separator) for separator in SEPARATORS}  # quotes hardly matter for this
        best = max(SEPARATORS, key=lambda s: (self._wanted in [cell.strip(' "') for cell in found[s]], len(found[s])))
        self.separator = best
        return best

    def read_header(self, cells: list[str]) -> list[str]:
        """The names of the columns, each of them once; whoever accepts them sets `header`."""
        header = [cell.strip() for cell in cells]
        seen: set[str] = set()
        for name in header:
            if name in seen or not name:
                what = f"the column {show(name)} appears twice" if name else "a column has no name"
                index = "" if name else ", or write it without its index (pandas: to_csv(index=False))"
                remedy = f"give every column a name of its own{index}"
                raise Refused(None, f"{what} in the header ({shown(header)}); {remedy}")
            seen.add(name)
        return header


def shown(header: list[str]) -> str:
    """The first columns, for a message."""
    return ", ".join(header[:8]) + (", ..." if len(header) > 8 else "")
