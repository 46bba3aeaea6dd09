"""Time limits and learners that are left out: which have figures, which have none, and the reasons given."""

import io
import json
import threading

import numpy as np
import pytest
from rich.console import Console

import weft
from weft.evaluation import LeftOut, clock, compare, whole_catalogue
from weft.evaluation.prequential import kind_of
from weft.learner import Hooks
from weft.learners.catalogue import LEARNERS, build


def made(n=300, kind="binary", **options):
    rng = np.random.default_rng(0)
    X, task = rng.normal(size=(n, 5)), rng.integers(0, 3, n)
    y = X[:, 0] + 0.5 * X[:, 1] * (task == 1)
    return weft.Stream(X, np.where(y >= 0, 1, -1) if kind == "binary" else y, [f"task {t}" for t in task], **options)


@pytest.fixture
def seconds(monkeypatch):
    """Seconds per example, by learner: the time that threads see. The first call, a warm-up, takes an hour."""
    speed, thread, seen, learn = {}, threading.local(), set(), weft.Model.learn

    def now():
        return getattr(thread, "time", 0.0)

    def slow(self, stream, **options):
        thread.time = now() + (len(stream) * speed.get(self.learner.name, 0.0) if self.learner.name in seen else 3600.0)
        seen.add(self.learner.name)
        return learn(self, stream, **options)

    monkeypatch.setattr(weft.Model, "learn", slow)
    monkeypatch.setattr(clock, "now", now)
    return speed


def test_pieces_change_no_figure():
    stream, learners = made(), ["pa", "implicit", "mt-ogd"]

    def figures(found):
        data = found.as_json()
        for row in data["learners"]:
            del row["seconds"], row["seconds_per_event"]
        return {**data, "time_limit": None}

    whole = compare(stream, learners, shuffles=3, auc=True)
    pieces = compare(stream, learners, shuffles=3, auc=True, time_limit=1e-3 * 3600)
    assert figures(pieces) == figures(whole)
    assert (whole.time_limit, pieces.time_limit, pieces.left_out) == (None, 3.6, [])


def test_a_slow_learner_is_stopped_and_has_no_figures(seconds):
    seconds["pa"] = 1.0
    found = compare(made(), ["perceptron", "pa", "implicit"], shuffles=2, workers=1, time_limit=100)
    words = "stopped after 100 of 600 events by the time limit of 100 s"
    assert found.left_out == [LeftOut("pa", words, 100, 600)]
    assert found.learners == [row["learner"] for row in found.rows()] == ["perceptron", "implicit"]
    assert all(len(figures) == 2 for figures in found.runs.values())
    alone = compare(made(), ["perceptron", "implicit"], shuffles=2)
    assert np.array_equal(found.runs["error"], alone.runs["error"])
    assert str(found).endswith(f"Left out, 1 of 3 learners:\n  pa: {words}")


def test_whoever_comes_to_the_end_in_time_is_counted(seconds):
    seconds["pa"] = 1.0
    [row] = compare(made(), ["pa"], shuffles=2, workers=1, time_limit=600).rows()
    assert row["seconds"] == 300.0
    assert row["seconds_per_event"] == 1.0
    with pytest.raises(ValueError, match="no learner is left to compare; pa: stopped after 599 of 600 events"):
        compare(made(), ["pa"], shuffles=2, workers=1, time_limit=599)


def test_orders_share_the_limit(seconds):
    seconds["pa"] = 1.0
    found = compare(made(), ["pa", "perceptron"], shuffles=5, workers=3, time_limit=700)
    [absent] = found.left_out
    assert 700 <= absent.events <= 700 + 3 * clock.FIRST_ROUNDS
    assert absent.of == 1500


def test_pieces_follow_the_speed(seconds):
    seconds["pa"] = 0.25
    model, stream, sizes = weft.Model("pa"), made(), []
    model.learn(stream.cut(0, 1))
    learn = model.learn
    model.learn = lambda piece: sizes.append(len(piece)) or learn(piece)
    scores, total = clock.learn_within(model, stream, clock.Clock(200.0))
    assert (len(scores), total) == (300, 75.0)
    assert sizes[:3] == [16, 2, 2]  # pieces of half a second
    seconds["pa"] = 0.0
    sizes.clear()
    clock.learn_within(model, stream, clock.Clock(200.0))
    assert sizes == [16, 32, 64, 128, 60]


def test_rows_of_pieces_are_not_copied_and_sorted_again(monkeypatch):
    rows = [{"free": 1.0, "offer": float(i)} for i in range(50)]
    stream = weft.Stream(rows, [1, -1] * 25, ["a", "b"] * 25)
    monkeypatch.setattr("weft.vocabulary.tidy", lambda rows: pytest.fail("sorted again"))
    assert compare(stream, ["pa"], shuffles=2, time_limit=60).learners == ["pa"]


def test_a_learner_that_refuses_the_data_is_left_out():
    graph = [("task 0", "task 1")]
    learners = {"own": "pa", "number": ("pa", {"loss": "epsilon-insensitive"}), "tied": ("mt-ogd", {"graph": graph})}
    with pytest.raises(ValueError, match="number predicts numbers, own classifies"):
        compare(made(), learners, shuffles=1)
    found = compare(made(), learners, shuffles=1, leave_out=True)
    assert found.learners == ["own"]
    number, tied = found.left_out
    assert tied.learner == "tied"
    assert tied.reason == "the graph of mt-ogd does not name the task 'task 2'; its tasks are 'task 0', 'task 1'"
    assert number == LeftOut("number", "predicts numbers, and the labels are -1 and +1", 0, 300)


def test_a_refusal_in_mid_stream_leaves_out_as_well(monkeypatch):
    learn = weft.Model.learn

    def refuse(self, order, **options):
        if len(order) > 1 and self.learner.name == "pa":
            raise MemoryError if self.learner.pooled else ValueError("pa: no more")
        return learn(self, order, **options)

    monkeypatch.setattr(weft.Model, "learn", refuse)
    learners = ["pa", "perceptron", ("pa", {"pooled": True})]
    found = compare(made(), learners, shuffles=3, leave_out=True)
    assert [(absent.learner, absent.reason) for absent in found.left_out] == [
        ("pa", "no more"),
        ("pa pooled=True", "not enough memory"),
    ]
    with pytest.raises(ValueError, match="no learner is left to compare; pa: no more"):
        compare(made(), ["pa"], leave_out=True)
    with pytest.raises(ValueError, match="pa: no more"):
        compare(made(), ["perceptron", "pa"])


def test_the_limit_of_a_learner_is_asked_for_all_tasks_before_anything_runs(monkeypatch):
    def refuse(tasks, features):
        if tasks > 2:
            raise ValueError(f"{tasks} tasks and {features} features are too many")

    monkeypatch.setattr(LEARNERS["pa"], "hooks", Hooks(refuse=refuse))
    monkeypatch.setattr("weft.evaluation.comparison.run", lambda *_: pytest.fail("a run has started"))
    with pytest.raises(ValueError, match="pa: 3 tasks and 5 features are too many"):
        compare(made(), ["pa"])


def test_tables_and_json_name_who_was_left_out(seconds):
    seconds["pa"] = 1.0
    found = compare(made(), {"perceptron": "perceptron", "<b>[red]": "pa"}, shuffles=1, workers=1, time_limit=20)
    screen = io.StringIO()
    Console(file=screen, width=120).print(found)
    assert "\n  <b>[red]: stopped after 20 of 300 events" in screen.getvalue()
    assert "<tfoot>" in found._repr_html_()
    assert "&lt;b&gt;[red]: stopped after 20 of 300" in found._repr_html_()
    data = json.loads(json.dumps(found.as_json(), allow_nan=False))
    assert data["time_limit"] == 20
    [absent] = data["left_out"]
    assert (absent["learner"], absent["events"], absent["of"]) == ("<b>[red]", 20, 300)
    assert "<tfoot>" not in compare(made(), ["pa"], shuffles=1)._repr_html_()


@pytest.mark.parametrize("limit", [0, -1, float("nan"), float("inf"), True, "60"])
def test_wrong_limits_are_refused(limit):
    with pytest.raises(ValueError, match=r"time_limit=.* must be a number of seconds above 0"):
        compare(made(), ["pa"], time_limit=limit)


def test_what_labels_are_for():
    assert kind_of(made()) == "binary"
    assert kind_of(made(kind="real")) == "real"
    assert kind_of(weft.Stream([[1.0]], None, ["a"])) == "point"
    x = [[1.0], [1.0]]
    assert kind_of(weft.Stream(x, [1, 0], ["a", "b"], rounds=[0, 0])) == "binary"
    assert kind_of(weft.Stream(x, [1, 2], ["a", "b"])) == "real"
    assert kind_of(weft.Stream(x, [1, 0], ["a", "b"])) == "binary"
    assert kind_of(weft.Stream(x, ["spam", "ham"], ["a", "b"])) == "binary"
    with pytest.raises(ValueError, match=r"row 2: label 'eggs'; the classes of this model are 'ham' and 'spam'"):
        kind_of(weft.Stream([*x, [1.0]], ["spam", "ham", "eggs"], ["a", "b", "a"]))


def test_the_whole_catalogue_for_every_kind(monkeypatch):
    assert [name for name, _ in whole_catalogue()] == list(LEARNERS)
    for target in ("binary", "real"):
        targets = {name: build(name, parameters).target for name, parameters in whole_catalogue(target)}
        assert targets["pa"] == targets["mt-ogd"] == target
    assert ("perceptron", {}) in whole_catalogue("real")
    monkeypatch.setitem(weft.learners.catalogue.PLACES, "newcomer", "single_task.perceptron.Perceptron")
    assert whole_catalogue()[-1] == ("newcomer", {})
