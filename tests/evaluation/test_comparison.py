"""Comparison: figures against separate runs, equal for any number of threads, refusals, tables."""

import io
import json
import sys

import numpy as np
import pytest
from rich.console import Console

import weft
from weft.evaluation import Comparison, compare
from weft.learners.catalogue import build

LEARNERS = ["perceptron", ("perceptron", {"pooled": True}), "pa", ("implicit", {"norm": "linf", "C": 0.5})]
LABELS = ["perceptron", "perceptron pooled=True", "pa", "implicit norm=linf C=0.5"]


def made(n=300, tasks=4, seed=0, kind="binary"):
    rng = np.random.default_rng(seed)
    task = rng.integers(0, tasks, n)
    U = rng.normal(size=6) + 0.4 * rng.normal(size=(tasks, 6))
    X = rng.normal(size=(n, 6))
    y = np.sum(U[task] * X, axis=1) + 0.3 * rng.normal(size=n)
    return weft.Stream(X, np.where(y >= 0, 1, -1) if kind == "binary" else y, [f"task {t}" for t in task])


def by_hand(stream, learner, seeds):
    """Models and scores of separate runs."""
    runs = []
    for seed in seeds:
        order = stream if seed is None else stream.shuffled(seed)
        name, parameters = (learner, {}) if isinstance(learner, str) else learner
        model = weft.Model(name, **parameters)
        runs.append((order, model, model.learn(order)))
    return runs


def without_seconds(found):
    data = found.as_json()
    for row in data["learners"]:
        del row["seconds"], row["seconds_per_event"]
    return data


@pytest.fixture(scope="module")
def stream():
    return made()


@pytest.fixture(scope="module")
def found(stream):
    return compare(stream, LEARNERS, shuffles=5, seed=3, auc=True)


def test_figures_are_those_of_runs_done_by_hand(stream, found):
    assert [row["learner"] for row in found.rows()] == LABELS
    for learner, row in zip(LEARNERS, found.rows(), strict=True):
        values = {name: [] for name in ("error", "macro_error", "loss", "f1", "auc")}
        for order, model, scores in by_hand(stream, learner, range(3, 8)):
            positive, y = scores >= 0, order.y > 0
            values["error"].append(np.mean(positive != y))
            names = np.array(order.tasks)
            values["macro_error"].append(np.mean([np.mean((positive != y)[names == t]) for t in set(order.tasks)]))
            values["loss"].append(model.tally.losses.sum() / len(stream))
            hits = np.sum(positive & y)
            values["f1"].append(2 * hits / (2 * hits + np.sum(positive != y)))
            pairs = scores[y][:, None] - scores[~y][None, :]
            values["auc"].append(np.mean((pairs > 0) + 0.5 * (pairs == 0)))
        for name, runs in values.items():
            assert row[name] == pytest.approx(np.mean(runs), abs=1e-12)
            assert row[f"{name}_se"] == pytest.approx(np.std(runs, ddof=1) / np.sqrt(5), abs=1e-12)
        assert row["seconds"] > 0
        assert row["seconds_per_event"] == row["seconds"] / len(stream)


def test_per_task_winners_and_worst_tasks(stream, found):
    table = found.per_task()
    assert [row["task"] for row in table] == stream.task_names
    sums = {label: np.zeros(4) for label in LABELS}
    for label, learner in zip(LABELS, LEARNERS, strict=True):
        for _, model, _ in by_hand(stream, learner, range(3, 8)):
            sums[label] += [model.tally[name]["mistakes"] for name in stream.task_names]
    for at, row in enumerate(table):
        assert row["events"] == stream.tasks.count(row["task"])
        errors = {label: sums[label][at] / (5 * row["events"]) for label in LABELS}
        assert {label: row[label] for label in LABELS} == pytest.approx(errors, abs=1e-12)
        low = [label for label in LABELS if sums[label][at] == min(total[at] for total in sums.values())]
        assert row["winner"] == (low[0] if len(low) == 1 else None)
    for row in found.rows():
        assert row["wins"] == sum(line["winner"] == row["learner"] for line in table)
        assert row["worst_error"] == max(line[row["learner"]] for line in table)
        assert next(line for line in table if line["task"] == row["worst_task"])[row["learner"]] == row["worst_error"]


def test_curves(stream, found):
    assert found.curve_events.tolist() == list(range(1, 301))
    for label, learner in zip(LABELS, LEARNERS, strict=True):
        wrong = [(scores >= 0) != (order.y > 0) for order, _, scores in by_hand(stream, learner, range(3, 8))]
        expected = np.mean(np.cumsum(wrong, axis=1) / np.arange(1, 301), axis=0)
        np.testing.assert_allclose(found.curves()[label], expected, atol=1e-12)
        assert found.curves()[label][-1] == pytest.approx(found.rows()[LABELS.index(label)]["error"])


def test_long_curves_are_thinned():
    long = compare(made(n=3000), ["perceptron"], shuffles=1)
    assert len(long.curve_events) == len(long.curves()["perceptron"]) == 500
    assert (long.curve_events[0], long.curve_events[-1]) == (1, 3000)
    assert np.all(np.diff(long.curve_events) > 0)


def test_paired_differences(found):
    errors = found.runs["error"]
    assert [row["learner"] for row in found.versus("pa")] == [label for label in LABELS if label != "pa"]
    for row in found.versus("pa"):
        gap = errors[LABELS.index(row["learner"])] - errors[2]
        assert row["difference"] == pytest.approx(gap.mean())
        assert row["difference_se"] == pytest.approx(gap.std(ddof=1) / np.sqrt(5))
        assert row["better"] == np.sum(gap < 0)
    assert found.best == LABELS[int(np.argmin(errors.mean(axis=1)))]
    with pytest.raises(ValueError, match="no learner 'hedge' was compared"):
        found.versus("hedge")


def test_the_same_whatever_the_threads(stream, found):
    for workers in (1, 2, 5):
        again = compare(stream, LEARNERS, shuffles=5, seed=3, auc=True, workers=workers)
        assert without_seconds(again) == without_seconds(found)
        assert np.array_equal(again.runs["error"], found.runs["error"])
    other = compare(stream, LEARNERS, shuffles=5, seed=4, auc=True)
    assert not np.array_equal(other.runs["error"], found.runs["error"])
    assert np.array_equal(other.runs["error"][:, :-1], found.runs["error"][:, 1:])  # shuffles are seed + i


def test_no_shuffles_is_the_streams_own_order(stream):
    found = compare(stream, ["pa"], shuffles=0)
    [(_, model, _)] = by_hand(stream, "pa", [None])
    [row] = found.rows()
    assert row["error"] == model.tally.total["error"]
    assert np.isnan(row["error_se"])
    assert found.per_task()[0]["winner"] == "pa"
    assert "the stream's own order" in str(found)
    assert found.as_json()["learners"][0]["error_se"] is None


def test_regression():
    stream = made(kind="real")
    learners = {name: (name, {"loss": "epsilon-insensitive"}) for name in ("pa", "implicit")}
    found = compare(stream, learners, shuffles=3)
    for row in found.rows():
        gaps = [
            order.y - scores
            for order, _, scores in by_hand(stream, (row["learner"], {"loss": "epsilon-insensitive"}), range(3))
        ]
        assert row["error"] == pytest.approx(np.mean(np.abs(gaps)))
        rmse = np.sqrt(np.mean(np.square(gaps), axis=1))
        assert row["rmse"] == pytest.approx(rmse.mean())
        assert row["rmse_se"] == pytest.approx(rmse.std(ddof=1) / np.sqrt(3))
        assert "f1" not in row
    with pytest.raises(ValueError, match="auc needs learners that classify; pa predicts numbers"):
        compare(stream, learners, auc=True)


def test_rounds_stay_whole_and_dormant_tasks_do_not_count():
    rng = np.random.default_rng(1)
    X, Y = rng.normal(size=(40, 3)), rng.choice([-1.0, 0.0, 1.0], size=(40, 3))
    Y[:, 2] = 0.0
    found = compare(weft.Stream.shared(X, Y, ["a", "b", "never"]), ["implicit", "pa"], shuffles=2, auc=True)
    assert [row["events"] for row in found.per_task()] == [*np.sum(Y[:, :2] != 0, axis=0), 0]
    assert found.per_task()[2]["winner"] is None
    assert np.isnan(found.per_task()[2]["pa"])
    for row in found.rows():
        assert row["worst_task"] in ("a", "b")
        assert row["macro_error"] == pytest.approx(np.mean([line[row["learner"]] for line in found.per_task()[:2]]))
    json.dumps(found.as_json(), allow_nan=False)


def test_equal_learners_share_their_wins(stream):
    found = compare(stream, ["pa", "pa", build("pa", {}), {"pa": "pa"}["pa"]], shuffles=2)
    assert found.learners == ["pa", "pa #2", "pa #3", "pa #4"]
    assert all(row["winner"] is None for row in found.per_task())
    assert all(row["wins"] == 0 for row in found.rows())


def test_what_learners_are_called(stream):
    found = compare(stream, [build("implicit", {"C": 0.1}), ("pa", {"tasks": stream.task_names})], shuffles=1)
    assert found.learners == ["implicit C=0.1", "pa"]
    assert compare(stream, "pa", shuffles=1).learners == ["pa"]
    assert compare(stream, {"mine": "pa", "yours": ("pa", {"C": 2})}, shuffles=1).learners == [
        "mine",
        "yours",
    ]


@pytest.mark.parametrize(
    ("learners", "message"),
    [
        ([], "no learners"),
        (["pa", "passive"], "passive: unknown learner"),
        ([("pa", {"D": 1})], "pa: pa has no parameter 'D'"),
        ({"mine": ("implicit", {"C": -1})}, "mine: implicit: C=-1"),
        ({"task": "pa"}, "cannot be labelled 'task'"),
        ([3], "3 is not a learner"),
        ([weft.Model("pa")], r"model\.learner"),
        (
            ["pa", ("pa", {"loss": "epsilon-insensitive"})],
            "loss=epsilon-insensitive predicts numbers, pa classifies",
        ),
    ],
)
def test_wrong_learners_are_refused_by_name(stream, learners, message):
    with pytest.raises(ValueError, match=message):
        compare(stream, learners)


def test_a_learner_that_refuses_the_stream_is_named_before_anything_runs(monkeypatch):
    monkeypatch.setattr("weft.evaluation.comparison.run", lambda *_: pytest.fail("a run has started"))
    with pytest.raises(ValueError, match=r"pa: row 0: label .* classification takes two classes"):
        compare(made(kind="real"), [("pa", {"loss": "epsilon-insensitive"}), "pa"][1:])
    with pytest.raises(ValueError, match="mine: the stream has no labels"):
        compare(weft.Stream([[1.0]], None, ["a"]), {"mine": "pa"})


def test_an_error_in_a_run_names_the_learner(stream, monkeypatch):
    learn = weft.Model.learn

    def refuse(self, order, **options):
        if len(order) > 1 and self.learner.name == "pa":
            raise ValueError("no more")
        return learn(self, order, **options)

    monkeypatch.setattr(weft.Model, "learn", refuse)
    with pytest.raises(ValueError, match="pa: no more"):
        compare(stream, ["perceptron", "pa"], shuffles=4)


@pytest.mark.parametrize(
    "options", [{"shuffles": -1}, {"shuffles": 1.5}, {"seed": -1}, {"workers": 0}, {"workers": -2}]
)
def test_wrong_options_are_refused(stream, options):
    [name] = options
    with pytest.raises(ValueError, match=f"{name}="):
        compare(stream, ["pa"], **options)


def test_only_streams_with_labels(stream):
    with pytest.raises(ValueError, match=r"weft\.Stream"):
        compare([[1.0]], ["pa"])
    with pytest.raises(ValueError, match="all labels of the stream are missing"):
        compare(weft.Stream([[1.0]], [0.0], ["a"], rounds=[0]), ["pa"])


def test_text_lines_up(found):
    title, head, *lines = str(found).splitlines()
    assert title == "300 examples, 4 tasks, 5 shuffles"
    assert head.split() == [
        "learner",
        "error",
        "macro",
        "loss",
        "F1",
        "AUC",
        "worst",
        "task",
        "wins",
        "µs/event",
    ]
    assert len(lines) == 4
    assert len({len(line) for line in [head, *lines]}) == 1
    rows = sorted(found.rows(), key=lambda row: row["error"])
    for row, line in zip(rows, lines, strict=True):  # the lowest error first
        assert line.startswith(f"{row['learner']} ")
        assert f"{row['error']:.4f} ±{row['error_se']:.4f}" in line
        assert line.endswith(f" {1e6 * row['seconds_per_event']:,.1f}")
    assert repr(found) == f"Comparison(4 learners, {title}, best {found.best!r})"


def test_terminal_and_notebook_tables_mark_the_best(found):
    file = io.StringIO()
    Console(file=file, width=120, force_terminal=True, color_system="standard").print(found)
    bold = [line for line in file.getvalue().splitlines() if f"\x1b[1m{found.best}" in line]
    assert len(bold) == 1
    narrow = io.StringIO()
    Console(file=narrow, width=80).print(compare_small())
    assert "…" not in narrow.getvalue()
    html = found._repr_html_()
    assert f"<b>{found.best}</b>" in html
    assert html.count("<tr>") == 5


def test_a_narrow_terminal_has_fewer_columns(found):
    wide, narrow = io.StringIO(), io.StringIO()
    Console(file=wide, width=120).print(found)
    Console(file=narrow, width=84).print(found)
    assert "did not fit" not in wide.getvalue()
    assert narrow.getvalue().splitlines()[-1].rstrip() == "Columns that did not fit: loss, macro"
    head = next(line for line in narrow.getvalue().splitlines() if "learner" in line)
    assert head.split() == ["learner", "error", "F1", "AUC", "worst", "task", "wins", "µs/event"]
    assert all(f"{1e6 * row['seconds_per_event']:,.1f}" in narrow.getvalue() for row in found.rows())


def compare_small():
    return compare(made(n=40), ["pa", ("perceptron", {"pooled": True})], shuffles=2)


def test_labels_are_escaped_and_not_read_as_markup(stream):
    found = compare(stream, {"<b>[red]x": "pa"}, shuffles=1)
    assert "&lt;b&gt;[red]x" in found._repr_html_()
    file = io.StringIO()
    Console(file=file, width=120).print(found)
    assert "<b>[red]x" in file.getvalue()


def test_progress_is_shown_on_a_terminal_only(stream, capsys, monkeypatch):
    compare(stream, ["pa"], shuffles=2)
    assert capsys.readouterr() == ("", "")

    class Terminal(io.StringIO):
        def isatty(self):
            return True

    for wanted in (True, False):
        screen = Terminal()
        monkeypatch.setattr(sys, "stderr", screen)
        compare(stream, ["pa"], shuffles=2, progress=wanted)
        assert ("comparing" in screen.getvalue()) == wanted


def test_the_public_names():
    assert weft.compare is compare
    assert isinstance(compare(made(n=5), ["pa"], shuffles=1), Comparison)
