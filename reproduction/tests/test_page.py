"""The page and the document: well-formed, self-contained, also when cells are missing."""

import re
import xml.etree.ElementTree as ElementTree

import pytest

from toys import TOY
from weft.drawing.axes import ticks
from weft.drawing.charts import Bars, Picture
from weft.drawing.svg import draw
from weft_reproduction import markdown, shelf
from weft_reproduction.experiment import Figure, Table
from weft_reproduction.page import Section, render


def toy_section(numbers=(0, 1, 2)):
    results = [({"number": n}, {"square": n * n}) for n in numbers]
    return Section(TOY, TOY.report(results), len(numbers), 4)


def parsed(page):
    return ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))


def assert_self_contained(page):
    tree = parsed(page)
    assert not re.search(r"https?:|//\w", page)
    assert "<script" not in page
    assert "url(" not in page
    assert "@import" not in page
    names = {element.tag for element in tree.iter()}
    assert not names & {"script", "link", "img", "iframe", "object", "embed"}
    ids = [element.get("id") for element in tree.iter() if element.get("id")]
    assert len(ids) == len(set(ids))
    for element in tree.iter("a"):
        assert element.get("href").startswith("#")
        assert element.get("href")[1:] in ids
    return tree


def test_the_page_of_a_toy():
    page = render([toy_section()])
    tree = assert_self_contained(page)
    text = "".join(tree.itertext())
    assert "<0 & co>" in text
    assert "4.00 ± 0.50" in text
    assert "paper 9" in text
    assert "not run" in text
    assert "1 of 4 cells are missing" in text
    assert "Second <p>." in text
    assert "because\ufffd of" in text
    assert text.count("not confirmed") == 3  # counted, at the top, with its experiment
    assert len(list(tree.iter("svg"))) == 3 + 5
    assert "prefers-color-scheme: dark" in page
    for box in tree.iter("table"):
        assert any(box in list(element) for element in tree.iter("div") if element.get("class") == "box")


@pytest.mark.parametrize("numbers", [(), (2,)])
def test_the_page_of_next_to_nothing(numbers):
    assert_self_contained(render([toy_section(numbers)]))
    assert markdown.render([toy_section(numbers)])


@pytest.mark.parametrize("name", shelf.names())
def test_every_experiment_reports_nothing_without_results(name):
    experiment = shelf.experiment(name)
    report = experiment.report([])
    assert [claim for claim in report.claims if claim.judgement != "not testable here"] == []
    assert_self_contained(render([Section(experiment, report, 0, 1)]))


def test_the_document_of_a_toy():
    text = markdown.render([toy_section()])
    assert "| [toy](#toy) | It is <so> | Fig. 0 | **confirmed** |" in text
    assert "| <2 & co> | 4.00 ± 0.50 (paper: 9) | 4 | not run |" in text
    for line in text.splitlines():
        assert not line.startswith("|") or line.endswith("|")


def test_ticks_are_round_and_inside():
    for low, high in ((0.0, 1.0), (-3.2, 17.9), (0.123, 0.124), (1e5, 8e5), (5.0, 5.0)):
        found = ticks(low, high)
        assert 1 <= len(found) <= 8
        assert all(low - 1e-9 <= value <= high + 1e-9 for value in found)


def test_points_lie_where_their_numbers_say():
    """The larger number is drawn higher, on the right of the smaller x, and errors reach as far as they say."""
    svg = ElementTree.fromstring(draw(Picture("p", {"l": ([0.0, 5.0, 10.0], [1.0, 3.0, 2.0], [0.5] * 3)}, "x", "y")))
    places = [(float(c.get("cx")), float(c.get("cy"))) for c in svg.iter("circle")]
    (x0, y0), (x1, y1), (x2, y2) = places
    assert x1 - x0 == pytest.approx(x2 - x1, abs=0.2)
    assert y1 < y2 < y0
    assert (y0 - y1) == pytest.approx(2 * (y0 - y2), abs=0.3)
    whiskers = [path.get("d") for path in svg.iter("path") if path.get("class") == "error"]
    low, high = map(float, re.match(r"M[\d.]+ ([\d.]+)V([\d.]+)", whiskers[0]).groups())
    assert low - high == pytest.approx((y0 - y1) / 2, abs=0.3)


def test_bars_stand_on_zero():
    svg = ElementTree.fromstring(draw(Bars("b", ["g"], {"u": ([4.0],), "v": ([2.0],), "w": ([-2.0],)}, "y")))
    u, v, w = [(float(r.get("y")), float(r.get("height"))) for r in svg.iter("rect")]
    assert u[1] == pytest.approx(2 * v[1], abs=0.3)
    assert w[0] == pytest.approx(v[0] + v[1], abs=0.3)


def test_what_does_not_fit_together_is_refused():
    with pytest.raises(ValueError, match="a row of 1 cells under 2 headings"):
        Table("t", ["a", "b"], [["x"]])
    with pytest.raises(ValueError, match="line 'l' needs xs and ys"):
        Picture("p", {"l": ([1.0], [1.0, 2.0])}, "x", "y")
    with pytest.raises(ValueError, match="'u' needs a height"):
        Bars("b", ["g", "h"], {"u": ([1.0],)}, "y")
    assert Figure(1.0).published is None
