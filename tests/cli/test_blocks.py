"""The colours of relations, and their print in a terminal."""

import io

import numpy as np
import pytest
from rich.console import Console

from inspection.made_relations import blocks_of, made
from weft.cli.blocks import print_relations
from weft.drawing.colour_scale import Scale, scale_of

# --- colours ---


def lightness(colour):
    """Relative luminance of #rrggbb."""
    parts = [int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5)]
    linear = [part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts]
    return float(np.dot([0.2126, 0.7152, 0.0722], linear))


@pytest.mark.parametrize(("values", "signed"), [([0.2, 0.9], False), ([-0.3, 2.0], True), ([0.0, 1e-300], False)])
def test_colours_darken_with_the_size(values, signed):
    scale = scale_of(np.array(values))
    assert scale.is_signed == signed
    sides = [np.linspace(scale.low, scale.high, 200)]
    if signed:
        sides = [np.linspace(0.0, scale.high, 200), np.linspace(0.0, scale.low, 200)]
        assert scale.low == -scale.high
    for side in sides:
        assert np.all(np.diff([lightness(scale.colour(value)) for value in side]) <= 0)
        assert lightness(scale.colour(side[0])) > 0.8
        assert lightness(scale.colour(side[-1])) < 0.06


def test_either_side_of_zero_has_its_hue():
    scale = Scale(-1.0, 1.0)
    for size in (0.3, 0.6, 1.0):
        red, _, blue = (int(scale.colour(size)[at : at + 2], 16) for at in (1, 3, 5))
        assert blue > red
        red, _, blue = (int(scale.colour(-size)[at : at + 2], 16) for at in (1, 3, 5))
        assert red > blue


def test_scales_of_odd_numbers():
    assert scale_of(np.array([])) == Scale(0.0, 1.0)
    assert scale_of(np.array([np.nan, np.inf])) == Scale(0.0, 1.0)
    assert scale_of(np.zeros(3)) == Scale(0.0, 1.0)
    assert scale_of(np.array([0.0, -1e-15, 1.0])) == Scale(0.0, 1.0)  # rounding makes no negative relation
    assert scale_of(np.array([-2.0, -2.0])) == Scale(-2.0, 2.0)


# --- terminal ---


def printed(relations, width=80, **options):
    screen = io.StringIO()
    print_relations(Console(file=screen, width=width, highlight=False, markup=False, emoji=False, **options), relations)
    return screen.getvalue().splitlines()


def test_digits_without_colours():
    values = [[1.0, 0.9, 0.0], [0.9, 1.0, 0.45], [0.0, 0.45, 2.0]]
    lines = printed(made(values, np.array([1.0, 2.0, np.nan]), ["ann", "[red]", "eve"]))
    assert lines == [
        "How tasks are related",
        "          1 2 3  length",
        " 1 ann    . 9 0  ****** 1",
        " 2 [red]  9 . 4  ************ 2",
        " 3 eve    0 4 .   -",
        "0 is 0, 9 is 0.9, . a task with itself: 1 to 2",
    ]


def test_negative_relations_have_a_sign():
    lines = printed(made([[1.0, -0.5], [np.nan, 1.0]]))
    assert lines[2:] == [" 1 t0  .-9", " 2 t1  ? .", "-9 is -0.5, 0 is 0, 9 is 0.5, . a task with itself: 1"]


def test_blocks_of_colour():
    values = blocks_of([0, 0, 1])
    lines = printed(made(values), force_terminal=True, color_system="truecolor")
    assert "\x1b[48;2;4;36;82m  \x1b[0m" in lines[2]  # the strongest
    assert "\x1b[48;2;140;149;159m  \x1b[0m" in lines[2]  # itself
    assert "\x1b[48;2;246;246;246m  \x1b[0m" in lines[2]  # the weakest
    assert "0.1 " in lines[-1]
    assert " 0.8" in lines[-1]
    for options in ({"color_system": "standard"}, {"color_system": "truecolor", "no_color": True}):
        assert "48;" not in "\n".join(printed(made(values), force_terminal=True, **options))


@pytest.mark.parametrize("width", [30, 60, 100, 400])
def test_lines_fit_the_width(width):
    rng = np.random.default_rng(0)
    values = rng.random((150, 150))
    names = [f"{i} 東京の長い名前のタスクの名前" if i % 2 else f"task {i}\x1b\n" for i in range(150)]
    for apart in (None, rng.random(150)):
        lines = printed(made(values, apart, names), width)
        rows = [line for line in lines if line[:2].strip().isdigit() and line[2] == " "]
        if width > 60:
            assert max(map(len, rows)) <= width
        assert len(rows) <= 99
        assert any("150 tasks in " in line for line in lines)
        assert "\x1b" not in "".join(lines)


def test_personal_parts_alone():
    relations = made(np.zeros((30, 30)), np.arange(30) % 7.0)._replace(
        values=np.zeros((0, 0)), note="no task is related to another"
    )
    lines = printed(relations)
    assert lines[:4] == [
        "How far tasks stand apart",
        "the 20 of 30 tasks that stand farthest apart; no task is related to another",
        "length",
        " t6   ************ 6",
    ]
    assert len(lines) == 23
