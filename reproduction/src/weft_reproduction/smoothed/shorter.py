"""Rows of Table 1 without what was added to their grids later: what the longer grids are worth.

That of lam (OSMTL-e) got its last value after draws that were to be reported had been seen. That of b (FOML) was made
longer as well; where it ended before is not on record, and it is taken without its last value.
"""

from collections.abc import Sequence
from typing import Any

from weft_reproduction.smoothed.protocol import ROWS_OF_TABLE
from weft_reproduction.smoothed.published import Grids, Point, family
from weft_reproduction.smoothed.tuned import TUNED, TUNED_SHORTER

ENDS = {"OSMTL-e": ("lam", 10.0), "FOML": ("b", 64.0)}
"""The parameter whose grid is shorter, and the last value that it has then."""


def shorter_name(row: str) -> str:
    """The name of a row of the table when its grid is the shorter one."""
    parameter, end = ENDS[family(row)]
    return f"{row}, {parameter} up to {end:g}"


def within(row: str, parameters: dict[str, Any]) -> bool:
    """Whether the shorter grid of a row holds these parameters; grids that were never made longer hold all of
    theirs.
    """
    parameter, end = ENDS.get(family(row), ("", 0.0))
    return not parameter or parameters[parameter] <= end


def shortened(grids: Grids) -> Grids:
    """Without the points that came with longer grids."""

    def kept(row: str, points: Sequence[Point]) -> list[Point]:
        return [point for point in points if within(row, point.parameters)]

    return {at: {row: kept(row, points) for row, points in by_row.items()} for at, by_row in grids.items()}


def reported_rows(name: str) -> list[tuple[str, str, dict[str, Any]]]:
    """(row, learner, parameters) of a set: after every row the same with the shorter grid, where it chooses others."""
    found = []
    for row, told in ROWS_OF_TABLE.items():
        found.append((row, told.learner, TUNED[name].get(row, told.fixed)))
        if row in TUNED_SHORTER[name]:
            found.append((shorter_name(row), told.learner, TUNED_SHORTER[name][row]))
    return found
