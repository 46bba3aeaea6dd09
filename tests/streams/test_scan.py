"""Compiled readers read what careful readers read, and numbers as Python does; at length: `streams.fuzz`."""

import numpy as np
import pytest

from streams import fuzz
from weft.encoding.interned import InternedNames
from weft.scan.numbers import HANDED, READ, read_lines
from weft.scan.padding import PADDING
from weft.streams.scanners import text_decode, text_encode

pytestmark = pytest.mark.xdist_group("scan")


def test_lines_are_read_as_the_careful_readers_do():
    found = fuzz.fuzz_lines(10_000, seed=1)
    assert len(found) == 7
    for name, (lines, accepted, wrong) in found.items():
        assert wrong == [], name
        assert accepted > lines // 5, name  # otherwise nothing was compared


def test_numbers_equal_those_of_python():
    done, handed, wrong = fuzz.fuzz_numbers(100_000, seed=1)
    assert wrong == []
    assert handed < done // 4


@pytest.mark.parametrize("is_json", [False, True])
@pytest.mark.parametrize(
    ("text", "plain", "in_json"),
    [
        ("1", READ, READ),
        ("+1", READ, None),
        ("01", READ, None),
        ("1.", READ, None),
        (".5", READ, None),
        ("-0.0", READ, READ),
        ("9007199254740993", READ, READ),
        ("1e23", READ, READ),
        ("1.7976931348623157e308", READ, READ),
        ("2.2250738585072014e-308", READ, READ),
        ("0.000000000000000000000000000001234", READ, READ),
        ("12345678901234567890123", HANDED, HANDED),
        ("5e-324", HANDED, HANDED),
        ("1e400", HANDED, HANDED),
        ("nan", None, None),
        ("1_000", None, None),
        ("1e", None, None),
        ("-", None, None),
        ("", None, None),
    ],
)
def test_single_numbers(text, plain, in_json, is_json):
    expected = in_json if is_json else plain
    data = np.frombuffer(text.encode() + b"\n" + PADDING, np.uint8).copy()
    values, statuses = np.zeros(1), np.zeros(1, np.int64)
    read_lines(data, 1, is_json, values, statuses)
    if expected is None:
        assert statuses[0] not in (READ, HANDED)
    else:
        assert statuses[0] == expected
        assert expected == HANDED or values.tobytes() == np.array([float(text)]).tobytes()


def test_names_have_one_code_each_while_tables_grow():
    names = InternedNames(text_decode, text_encode)
    texts = [f"name {i}" * (1 + i % 5) for i in range(20_000)] + ["ü", "", "control \x01", 7, "x" * 5000]
    codes = [names.code(text) for text in texts]
    assert codes == list(range(len(texts)))
    assert [names.code(text) for text in reversed(texts)] == codes[::-1]
    assert names.names == texts
