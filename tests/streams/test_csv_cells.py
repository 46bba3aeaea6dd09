"""Cells of CSV: where a record ends."""

import pytest

from weft.streams.csv_cells import Cells


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (b"a,b\n", True),
        (b'a,"b"\n', True),
        (b'a,"b\n', False),
        (b'a,"b\nc"\n', True),
        (b'a,"b ""c""\n', False),  # the last quotes are doubled, and close nothing
        (b'a,"b ""c""\nd",e\n', True),
        (b'a,"b""\n', False),
        (b'a,b"c\n', True),
    ],
)
def test_where_a_record_ends(text, expected):
    assert Cells(",", None).is_closed(text) is expected
