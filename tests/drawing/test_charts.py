"""Rows of dots, names at the ends of curves, files of their own. Curves and bars: `reproduction/tests/test_page.py`."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from weft.drawing.charts import Dots, Picture, Row
from weft.drawing.curves import apart
from weft.drawing.svg import draw, figure_of, file_of, panel
from weft.drawing.words import shortened

SVG = "{http://www.w3.org/2000/svg}"


def places(svg):
    return [(float(c.get("cx")), float(c.get("cy"))) for c in ElementTree.fromstring(svg).iter("circle")]


def test_dots_lie_where_their_numbers_say():
    rows = [Row("a", [1.0, 3.0]), Row("b", [2.0, float("nan")])]
    (x0, y0), (x1, y1), (x2, y2) = places(draw(Dots("d", ["u", "v"], rows, "x")))
    assert y0 == y1 < y2
    assert x2 == pytest.approx((x0 + x1) / 2, abs=0.2)


def test_dots_on_a_logarithmic_axis():
    rows = [Row(str(n), [10.0**n]) for n in range(4)] + [Row("none", [0.0])]
    xs = [x for x, _ in places(draw(Dots("d", [""], rows, "x", log_x=True)))]
    assert len(xs) == 4
    assert np.diff(xs) == pytest.approx(np.diff(xs)[0], abs=0.2)


def test_a_gap_between_the_first_and_the_last():
    rows = [Row(str(n), [float(n)]) for n in range(4)]
    steps = np.diff([y for _, y in places(draw(Dots("d", [""], rows, "x", breaks=[2])))])
    assert steps[1] > steps[0] == steps[2]


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ValueError, match="row 'a' needs a value for each"):
        Dots("d", ["u", "v"], [Row("a", [1.0])], "x")


def test_names_are_escaped_everywhere():
    name = "<script>&\x07"
    for chart in (
        Dots(name, [name, "b"], [Row(name, [1.0, 2.0])], name),
        Picture(name, {name: ([1, 2], [1, 2])}, name, name),
    ):
        page = ElementTree.fromstring(figure_of(chart))
        assert not list(page.iter("script"))
        assert "<script>&\ufffd" in "".join(page.itertext())


def test_long_names_that_begin_alike_can_be_told_apart():
    rows = [Row(f"customer-of-the-first-hour-{number}@mail.example.com", [1.0]) for number in (153, 201)]
    text = draw(Dots("d", [""], rows, "x"))
    assert "…ur-153@ma…" in text
    assert "…ur-201@ma…" in text
    assert shortened(["abc" * 9, "abc" * 10, "abc" * 11], 9) == ["…abc", "…abcabc", "…abcabcab…"[:8] + "…"]
    assert shortened(["ann", "b" * 30], 9) == ["ann", "bbbbbbbb…"]


def test_a_file_has_its_style_and_names_at_the_ends():
    picture = Picture("two", {"low": ([0, 9], [0.1, 0.1]), "high": ([0, 9], [0.11, 0.11])}, "x", "y", top=0.5)
    text = file_of("two", [panel(picture, 430, 300, 110)] * 2, 430, 300)
    root = ElementTree.fromstring(text)
    assert (root.get("width"), root.get("height"), root.tag) == ("430", "600", f"{SVG}svg")  # for a telephone
    assert "prefers-color-scheme: dark" in text
    ends = {e.text: float(e.get("y")) for e in root.iter(f"{SVG}text") if e.get("class") == "name"}
    assert ends["low"] - ends["high"] >= 15.9
    assert not re.search(r"https?://(?!www\.w3\.org)", text)


def test_moved_apart():
    found = apart([5.0, 5.0, 5.0], 10.0)
    assert np.diff(sorted(found)) == pytest.approx(10.0)
    assert np.mean(found) == pytest.approx(5.0)
