"""Finished cells on disk: found again, and never trusted."""

import json
import math

import pytest

from toys import TOY
from weft_reproduction.cells import Cell, cells_of, load, store

CELL = Cell(TOY, {"learner": "pa", "number": 3, "pair": [1, 2]}, "0123456789abcdef")


def path_of(folder):
    return folder / "toy" / "0123456789abcdef.json"


def test_kept_and_found_again(tmp_path):
    assert load(tmp_path, CELL) is None
    store(tmp_path, CELL, {"x": [1, 0.1, "ü"], "y": math.inf}, 2)
    found = load(tmp_path, CELL)
    assert found.figures == {"x": [1, 0.1, "ü"], "y": math.inf}
    assert found.seconds == 2.0
    assert [file.name for file in (tmp_path / "toy").iterdir()] == ["0123456789abcdef.json"]


def test_floats_come_back_to_the_last_bit(tmp_path):
    values = [1 / 3, 1e-300, -0.0, 123456789.123456789]
    store(tmp_path, CELL, {"x": values}, 0.5)
    assert [value.hex() for value in load(tmp_path, CELL).figures["x"]] == [value.hex() for value in values]


@pytest.mark.parametrize(
    "damage",
    [
        lambda text: text[: len(text) // 2],
        lambda text: "",
        lambda text: "[" * 100_000,
        lambda text: "null",
        lambda text: '{"cell": 3, "sum": 4}',
        lambda text: text.replace('"x": 1', '"x": 2'),
        lambda text: text.replace('"number": 3', '"number": 4'),
        lambda text: text.replace("0123456789abcdef", "fedcba9876543210"),
        lambda text: json.dumps({"cell": json.loads(text)["cell"]}),
    ],
)
def test_what_is_damaged_counts_as_absent(tmp_path, damage):
    store(tmp_path, CELL, {"x": 1}, 0.5)
    path = path_of(tmp_path)
    altered = damage(path.read_text())
    assert altered != path.read_text()
    path.write_text(altered)
    assert load(tmp_path, CELL) is None
    store(tmp_path, CELL, {"x": 1}, 0.5)
    assert load(tmp_path, CELL).figures == {"x": 1}


def test_bytes_that_are_no_text(tmp_path):
    store(tmp_path, CELL, {"x": 1}, 0.5)
    path_of(tmp_path).write_bytes(b"\xff\xfe\x00")
    assert load(tmp_path, CELL) is None


def test_figures_that_are_no_json_leave_nothing(tmp_path):
    with pytest.raises(TypeError):
        store(tmp_path, CELL, {"x": object()}, 0.5)
    assert load(tmp_path, CELL) is None
    assert not list(tmp_path.rglob("*.json"))


def test_no_cell_twice():
    import dataclasses

    twice = dataclasses.replace(TOY, cells=lambda quick: [{"number": 1}, {"number": 1}, {"number": 2}])
    assert len(cells_of(twice, False)) == 2
