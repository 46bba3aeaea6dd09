"""The page of a comparison: its sentences follow the figures, any name is text, and it needs nothing but itself."""

import re
import shutil
import subprocess
import xml.etree.ElementTree as ElementTree

import numpy as np
import pytest

import weft
from weft.evaluation.calibration import BINS
from weft.evaluation.report import answers, render
from weft.evaluation.report.figures import FEW_TASKS, Figures
from weft.evaluation.results import Comparison

pytest.importorskip("jinja2")

HOSTILE = [
    "<script>alert(1)</script>",
    """'"><img src=x onerror=alert(1)>""",
    "]]>&amp;{{ 7*7 }}",
    "bell\x07\ud800",
    "a\nb",
]


def made(target="binary", tasks=4, shuffles=3, gap=0.1, names=None, probabilities=True):
    """A comparison by hand: `auto` with, without and beyond sharing, and one more."""
    learners = ["auto", "auto alone", "auto pooled", "<b>pa</b>"]
    level = np.array([0.2, 0.2 + gap, 0.25, 0.4])
    error = level[:, None] + 0.001 * np.arange(max(shuffles, 1))[None, :] * np.array([1.0, -1.0, 1.0, 1.0])[:, None]
    runs = {"error": error, "macro_error": error, "loss": error, "seconds": np.full(error.shape, 0.5)}
    events = np.arange(1, tasks + 1) * 5
    gains = np.linspace(1.0, -0.5, tasks) * gap
    task_errors = np.stack([np.full(tasks, 0.2), 0.2 + gains, np.full(tasks, 0.25), np.full(tasks, 0.4)])
    xs = np.arange(1, 101)
    bins = np.zeros((BINS, 3))
    bins[2], bins[8] = (10.0, 2.5, 1.0), (30.0, 25.5, 27.0)
    return Comparison(
        learners, target, shuffles, 0, names or [f"task {at}" for at in range(tasks)], events, runs, task_errors, xs,
        np.tile(level[:, None], (1, 100)), partners={"auto": {"alone": "auto alone", "pooled": "auto pooled"}},
        reliability={"auto": bins} if probabilities else {},
    )  # fmt: skip


def parsed(page):
    """The page as XML; it names no address and holds no script."""
    assert not re.search(r"https?:|\bsrc=['\"]|url\(|@import|//\w", re.sub(r"<text.*?</text>", "", page))
    tree = ElementTree.fromstring(page.removeprefix("<!DOCTYPE html>\n"))
    assert not {element.tag for element in tree.iter()} & {"script", "link", "img", "iframe", "object", "embed"}
    assert not [name for element in tree.iter() for name in element.attrib if name.startswith("on")]
    return tree


def words(page):
    return " ".join("".join(parsed(page).itertext()).split())


@pytest.mark.parametrize(
    ("gap", "begin"),
    [(0.1, "Sharing helps"), (-0.1, "Sharing does harm"), (0.0005, "Sharing makes next to no difference")],
)
def test_the_headline_follows_the_figures(gap, begin):
    comparison = made(gap=gap)
    told = answers.sharing(Figures(comparison))
    assert told["headline"].startswith(begin)
    first, second = (100 * comparison.runs["error"][at].mean() for at in (0, 1))
    assert f"{first:.2f}% when the tasks learn together" in told["headline"]
    assert f"{second:.2f}% when every task learns alone" in told["headline"]
    assert told["headline"] in words(render(comparison))


def test_a_difference_within_chance_is_not_claimed():
    comparison = made(gap=0.01)
    comparison.runs["error"][1] += np.array([-0.05, 0.0, 0.05])
    assert "cannot be told" in answers.sharing(Figures(comparison))["headline"]


def test_one_order_says_so():
    page = words(render(made(shuffles=0)))
    assert "the order of the file, once" in page
    assert "This is one order of the events" in page


def test_one_task_has_nobody_to_share_with():
    page = words(render(made(tasks=1)))
    assert "There is one task only" in page
    assert "labelled events of one task, in" in page
    assert "Sharing" not in page


def test_no_learner_alone_gives_no_verdict_but_advice():
    comparison = made()
    comparison.partners.clear()
    page = words(render(comparison))
    assert "What sharing gains is not known" in page
    assert "scope=alone" in page
    assert "For which tasks?" not in page


def test_any_name_is_text():
    page = render(made(tasks=len(HOSTILE), names=HOSTILE), title="<i>file</i>")
    text = words(page)
    assert all(name in text for name in HOSTILE[:3])
    assert "bell\ufffd\ufffd" in text
    assert "Does sharing help on <i>file</i>?" in text
    assert "<b>pa</b>" in text
    assert page.encode()


def test_thousands_of_tasks():
    comparison = made(tasks=3000, probabilities=False)
    page = render(comparison)
    shown, middle = Figures(comparison).shown
    assert (len(shown), middle) == (FEW_TASKS, FEW_TASKS // 2)
    assert shown[0] == 0
    assert shown[-1] == 2999
    assert "The 10 that gain most and that gain least are shown" in words(page)
    assert "800 of 3,000 tasks are drawn." in page
    assert len(page) < 300_000
    better = int(np.sum(comparison.task_errors[1] > comparison.task_errors[0]))
    assert f"better together than alone on {better:,} of 3,000 tasks" in words(page)


def test_counts_of_the_reliability_curve_are_those_of_one_order():
    page = made()
    [found] = answers.calibration(Figures(page))
    assert found["rows"][8] == {"bin": "80 to 90%", "events": "10", "said": "85.0%", "came": "90.0%"}
    assert found["rows"][0]["events"] == "0"
    assert found["gap"] == f"{100 * (1.5 + 1.5) / 40:.1f}"
    assert "Are its probabilities right?" not in render(made(probabilities=False))


def test_a_page_of_real_runs(tmp_path):
    stream = weft.streams.related_tasks(12, 600, seed=3)
    learners = {"pa": "pa", "pa alone": ("pa", {"scope": "alone"}), "one": ("mt-ogd", {"loss": "logistic"})}
    found = weft.compare(stream, learners, shuffles=2)
    assert found.partners == {"pa": {"alone": "pa alone"}}
    assert sorted(found.relations) == ["one"]
    bins = found.reliability["one"]
    assert sorted(found.reliability) == ["one"]
    assert bins[:, 0].sum() == 2 * 600
    assert bins[:, 2].sum() == 2 * int(np.sum(stream.labels("binary") > 0))
    found.report(str(tmp_path / "out.html"), "demo")
    page = (tmp_path / "out.html").read_text()
    assert "one relates every task to every other alike" in words(page)
    assert page.count("<svg") > 6


def test_a_page_of_regression():
    page = words(render(made(target="real", probabilities=False)))
    assert "mean absolute deviation of auto is 0.201 " in page


def test_without_jinja2_the_way_to_it_is_told(monkeypatch, tmp_path):
    monkeypatch.setattr("weft.drawing.pages.find_spec", lambda name: None)
    with pytest.raises(ValueError, match=r"pip install 'weft\[report\]'"):
        made().report(str(tmp_path / "out.html"))


@pytest.mark.skipif(shutil.which("chromium") is None, reason="chromium is not installed")
def test_a_browser_has_nothing_to_complain_about(tmp_path):
    (tmp_path / "page.html").write_bytes(render(made(names=HOSTILE, tasks=5)).encode())
    found = subprocess.run(
        ["chromium", "--headless=new", "--no-sandbox", "--disable-gpu", "--enable-logging=stderr", "--dump-dom",
         f"--user-data-dir={tmp_path / 'profile'}", (tmp_path / "page.html").as_uri()],
        capture_output=True, text=True, timeout=60, check=True,
    )  # fmt: skip
    assert "CONSOLE" not in found.stderr
    assert 'id="headline"' in found.stdout
