"""The picture of `weft inspect --plot`: parsed as XML, every part of it is where and what it should be."""

import re
from xml.etree import ElementTree

import numpy as np
import pytest

from weft.drawing.colour_scale import scale_of
from weft.drawing.heat_map import MOST_DRAWN, draw
from weft.inspection.relations import Relations, arranged, fence_of

SVG = "{http://www.w3.org/2000/svg}"


def made(values, apart=None, names=None):
    values = np.asarray(values, float)
    names = names or [f"task {i}" for i in range(len(values))]
    fence = np.inf if apart is None else fence_of(apart)
    return Relations("osmtl-e", [[name] for name in names], values, apart, "length of the personal part", fence)


def cosines(n, seed=0):
    W = np.random.default_rng(seed).normal(size=(n, 4))
    W /= np.linalg.norm(W, axis=1)[:, None]
    return W @ W.T


class Picture:
    """The parts of a drawing."""

    def __init__(self, relations):
        self.text = draw(relations)
        self.root = ElementTree.fromstring(self.text)
        self.groups = {group.get("class"): group for group in self.root.iter(f"{SVG}g") if group.get("class")}
        cells = self.groups["cells"].iter(f"{SVG}rect") if "cells" in self.groups else ()
        self.cells = [rect for rect in cells if rect.get("class") != "frame"]
        self.labels = [tip_and_text(text) for text in self.groups["names"].iter(f"{SVG}text")]

    @property
    def rows(self):
        return [text for _, text in self.labels[::2]]

    @property
    def columns(self):
        return [text for _, text in self.labels[1::2]]

    def cell(self, i, j):
        return self.cells[i * len(self.rows) + j]


def tip_and_text(element):
    title = element.find(f"{SVG}title")
    return title.text, title.tail


def tip(element):
    return element.find(f"{SVG}title").text


def lightness(colour):
    return float(np.dot([0.2126, 0.7152, 0.0722], [int(colour[at : at + 2], 16) for at in (1, 3, 5)]))


def test_names_stand_in_the_order_of_the_clusters():
    relations = made(cosines(12))
    found, expected = Picture(relations), arranged(relations, 12)
    assert found.rows == found.columns == expected.names
    places = [float(text.get("y")) for text in found.groups["names"].iter(f"{SVG}text") if text.get("y")]
    assert np.all(np.diff(places) > 0)
    assert len(set(np.round(np.diff(places), 6))) == 1
    for i in range(12):
        for j in range(12):
            cell = found.cell(i, j)
            width = int(cell.get("width"))
            assert (int(cell.get("x")), int(cell.get("y"))) == (j * width, i * width)
            other = "itself" if i == j else found.columns[j]
            assert tip(cell) == f"{found.rows[i]}, {other}: {expected.values[i, j] + 0.0:.4g}"


@pytest.mark.parametrize("signed", [True, False])
def test_colours_follow_the_values(signed):
    values = cosines(15) if signed else np.abs(cosines(15))
    values[2, 2] = 1000.0  # the diagonal does not wash out the rest
    relations = made(values)
    found, expected = Picture(relations), arranged(relations, 15)
    scale = scale_of(expected.between)
    fills = {(i, j): found.cell(i, j).get("fill") for i in range(15) for j in range(15)}
    assert {fills[i, i] for i in range(15)} == {"#8c959f"}
    pairs = sorted((expected.values[i, j], fills[i, j]) for i, j in fills if i != j)
    assert all(fill == scale.colour(value) for value, fill in pairs)
    rising = [lightness(fill) for value, fill in pairs if value >= 0]
    assert np.all(np.diff(rising) <= 0)
    assert rising[0] - rising[-1] > 100
    falling = [lightness(fill) for value, fill in pairs if value < 0]
    assert bool(falling) == signed
    if signed:
        assert np.all(np.diff(falling) >= 0)


def test_the_legend_has_numbers():
    values = cosines(6)
    relations = made(values)
    texts = [text.text for text in Picture(relations).groups["legend"].iter(f"{SVG}text")]
    most = np.abs(values[~np.eye(6, dtype=bool)]).max()
    assert texts == [f"{-most:.4g}", "0", f"{most:.4g}", "itself: 1"]
    values = np.array([[2.0, 0.25, 0.5], [0.25, 3.0, 0.75], [0.5, 0.75, 2.0]])
    texts = [text.text for text in Picture(made(values)).groups["legend"].iter(f"{SVG}text")]
    assert texts == ["0.25", "0.5", "0.75", "itself: 2 to 3"]


def test_bars_stand_beside_their_tasks():
    apart = np.array([1.0, 1.1, 0.9, 1.0, 5.0, np.nan])
    relations = made(cosines(6), apart)
    found, expected = Picture(relations), arranged(relations, 6)
    bars = list(found.groups["bars"].iter(f"{SVG}rect"))
    assert [tip(bar) for bar in bars] == [
        f"{name}: {'undefined' if np.isnan(value) else f'{value:.4g}'}"
        for name, value in zip(found.rows, expected.apart, strict=True)
    ]
    lengths = np.array([float(bar.get("width")) for bar in bars])
    assert lengths == pytest.approx(np.nan_to_num(130 * expected.apart / 5.0), abs=0.1)
    assert [bar.get("class") for bar in bars] == ["far" if value == 5.0 else "bar" for value in expected.apart]
    texts = [text.text for text in found.groups["bars"].iter(f"{SVG}text")]
    assert texts[0] == "length of the personal part"
    assert texts[-1] == "stands apart"
    assert "-" in texts
    assert "bars" not in Picture(made(cosines(6))).groups


NAMES = [
    """<b>&"'</b>""",
    "]]><script>",
    "ångström",
    "東京",
    "🦊 &amp;",
    "עברית",
    "two\nlines\ttab",
    "bell \x07 \x00 \ud800 \uffff",
]


def test_odd_names_are_escaped():
    found = Picture(made(cosines(8), names=NAMES))
    shown = {name: name for name in NAMES[:6]}
    shown |= {NAMES[6]: "two lines tab", NAMES[7]: "bell \ufffd \ufffd \ufffd \ufffd"}
    assert sorted(found.rows) == sorted(shown.values())
    assert found.text.encode()
    tips = " ".join(tip(cell) for cell in found.cells)
    assert all(name in tips for name in shown.values())
    assert not list(found.root.iter(f"{SVG}script"))


def test_long_names_are_cut_but_told():
    names = ["a" * 60, "東京" * 20, "short", ("eu", "tuple" * 9)]
    found = Picture(made(cosines(4), names=names))
    told = {text: whole for whole, text in found.labels}
    assert told["a" * 23 + "…"] == "a" * 60
    assert told["東京" * 5 + "東…"] == "東京" * 20
    assert told['["eu", "tupletupletuplet…'[:23] + "…"] == f'["eu", "{"tuple" * 9}"]'
    assert "short" in told


def test_undefined_relations_are_left_empty():
    values = cosines(5)
    values[1, 3] = np.nan
    found = Picture(made(values))
    [cell] = [cell for cell in found.cells if cell.get("fill") == "none"]
    assert tip(cell) == "task 1, task 3: undefined"


def test_more_tasks_than_can_be_drawn():
    n = 3 * MOST_DRAWN
    label = np.arange(n) % MOST_DRAWN
    values = np.where(label[:, None] == label, 0.9, 0.0)
    np.fill_diagonal(values, 1.0)
    found = Picture(made(values))
    assert len(found.rows) == MOST_DRAWN
    assert all(re.fullmatch(r"task \d+ \+2", name) for name in found.rows)
    assert len(found.labels[0][0].split(", ")) == 3
    assert f"{n} tasks in {MOST_DRAWN} clusters; a cell is the mean over its pairs of tasks" in found.text
    assert tip(found.cell(0, 0)) == f"{found.rows[0]}, among themselves: 0.9"
    assert found.cell(0, 0).get("fill") == scale_of(np.array([0.0, 0.9])).colour(0.9)


def test_all_of_it_lies_within_the_page():
    for n in (2, 7, 60):
        found = Picture(made(cosines(n), np.arange(float(n)), [f"{i} {'m' * 40}" for i in range(n)]))
        width, height = float(found.root.get("width")), float(found.root.get("height"))
        assert found.root.get("viewBox") == f"0 0 {width:.0f} {height:.0f}"
        left, top = map(float, re.findall(r"[\d.]+", found.groups["cells"].get("transform")))
        size = n * int(found.cells[0].get("width"))
        assert left > 24 * 4
        assert left + size + 150 < width
        assert top + size + 40 < height


def test_light_and_dark_pages():
    found = Picture(made(cosines(3)))
    assert "prefers-color-scheme: dark" in found.text
    assert found.root.find(f"{SVG}rect").get("class") == "page"
    assert found.root.find(f"{SVG}title").text == "How 3 tasks are related: osmtl-e"


def test_equal_relations_give_equal_bytes():
    relations = made(cosines(40), np.arange(40.0))
    assert draw(relations) == draw(made(cosines(40), np.arange(40.0)))


def test_bars_alone():
    apart = np.array([1.0, 7.0, 1.5, 1.2, 1.1])
    relations = made(np.zeros((0, 0)), apart, list("abcd<"))._replace(learner="coml", note="no task & another")
    found = Picture(relations)
    assert [text for _, text in found.labels] == ["b", "c", "d", "<", "a"]
    assert (found.cells, "legend" in found.groups) == ([], False)
    assert found.root.find(f"{SVG}title").text == "How 5 tasks stand apart: coml"
    assert "no task & another" in " ".join(found.root.itertext())
    bars = list(found.groups["bars"].iter(f"{SVG}rect"))
    assert [bar.get("class") for bar in bars] == ["far", "bar", "bar", "bar", "bar"]
    assert [tip(bar) for bar in bars] == ["b: 7", "c: 1.5", "d: 1.2", "<: 1.1", "a: 1"]
