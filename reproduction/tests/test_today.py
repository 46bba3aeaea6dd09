"""Experiment `today`: who runs, what is chosen on what, what is counted, and what the report makes of it."""

import math
import os

import numpy as np
import pytest
from scipy import sparse

from weft.learners.catalogue import PLACES, SPECIAL_CASES, build
from weft.model import Model
from weft_reproduction.default.table import FORMS
from weft_reproduction.default.table import THEIRS as COLUMNS
from weft_reproduction.experiment import Figure
from weft_reproduction.peers import PEERS, is_here
from weft_reproduction.today import MOST_EVENTS, STREAMS, cells
from weft_reproduction.today import protocol as protocol
from weft_reproduction.today.board import board
from weft_reproduction.today.claims import compared
from weft_reproduction.today.protocol import Events, Passed, leading, measures, pass_of, sizes_of, too_large, tried
from weft_reproduction.today.report import report
from weft_reproduction.today.rows import ABSENT, OURS, RELATIVES, ROWS, THEIRS, Row, _catalogue

needs_data = pytest.mark.skipif(not os.environ.get("WEFT_DATA"), reason="WEFT_DATA does not name the folder of data")


def made_up(rows=400, seed=0):
    """Four tasks that are much alike."""
    rng = np.random.default_rng(seed)
    task = rng.integers(0, 4, rows)
    U = rng.normal(size=6) + 0.5 * rng.normal(size=(4, 6))
    X = rng.normal(size=(rows, 6))
    return Events(X, np.where(np.sum(X * U[task], axis=1) + 0.3 * rng.normal(size=rows) > 0.0, 1.0, -1.0), task)


def with_pa(given):
    """PA, with C from a grid."""
    return tried(lambda parameters, part: pass_of("pa", parameters, part), ROWS["pa"].choices, given)


# --- who runs ---


def test_every_name_has_a_row_or_a_reason():
    classify = [name for name in PLACES if build(name, {}).target == "binary"]
    assert {ROWS[row].learner for row in OURS} == set(classify)
    for name in classify:
        assert ROWS[name].learner == name
        assert not ROWS[name].fixed
    special = {name for names in SPECIAL_CASES for name in names.split(", ")}
    assert special == set(ABSENT) | (special & set(ROWS))
    assert not set(ABSENT) & set(ROWS)
    assert {ROWS[row].peer for row in THEIRS} == set(PEERS)


def test_a_new_learner_runs_with_its_defaults(monkeypatch):
    before = [row for row in ROWS.values() if row.learner]
    monkeypatch.setitem(PLACES, "newcomer", "single_task.perceptron.Perceptron")
    assert _catalogue() == [*before, Row("newcomer", "newcomer")]


@pytest.mark.parametrize("row", OURS)
def test_every_choice_is_a_learner(row):
    told = ROWS[row]
    assert told.choices[0] == {}
    assert len(told.choices) == 1 + len(told.grid)
    assert bool(told.tuned) == bool(told.grid)
    for parameters in told.choices:
        assert Model(told.learner, **told.fixed, **parameters).learner.target == "binary"


def test_relatives_are_rows():
    named = {*RELATIVES, *(row for rows in RELATIVES.values() for row in rows)}
    assert named <= set(OURS)


def test_every_row_meets_every_stream():
    found = {(cell["row"], cell["stream"]) for cell in cells(False) if "learner" in cell}
    assert found == {(row, stream) for row in OURS for stream in STREAMS}
    assert "landmine19" not in STREAMS
    assert all(cell["rows"] == MOST_EVENTS for cell in cells(False))


def test_too_large_is_told_by_sizes():
    given = made_up()
    assert sizes_of(given) == (400, 4, 6, 2400)
    assert too_large("trml", given) == too_large("perceptron", given) == ""
    assert too_large("trml", given, 1e-3) == "non-zeros x tasks is 9,600, more than 4,000"
    wide = Events(sparse.csr_array((2, 30_000_000)), np.ones(2), np.arange(2))
    assert "matrix_limit" in too_large("romco-nucl", wide)  # the learner's own limit
    assert too_large("mt-ogd", wide) == ""


# --- what is chosen, and what is counted ---


def test_what_comes_after_the_tenth_chooses_nothing():
    given = made_up()
    count = leading(len(given.y))
    y = given.y.copy()
    y[count:] = np.random.default_rng(1).permutation(-y[count:])
    one, other = with_pa(given), with_pa(given._replace(y=y))
    assert one["tenth"] == other["tenth"]
    assert one["chosen"] == other["chosen"]
    assert one["tuned"]["error"] != other["tuned"]["error"]


def test_the_tenth_chooses():
    """Labels of the tenth decide, by the errors made on them."""
    given = made_up()
    found = with_pa(given)
    part = given.first(leading(len(given.y)))
    again = [float(np.mean((pass_of("pa", c, part).scores >= 0.0) != (part.y > 0.0))) for c in ROWS["pa"].choices]
    assert found["tenth"] == again
    assert found["chosen"] == again.index(min(again))
    assert protocol.chosen([0.2, 0.1, 0.1]) == 1
    assert protocol.chosen([0.1, 0.1]) == 0  # the defaults, if nothing is better


def test_the_tenth_is_not_counted():
    y = np.array([1.0, -1.0] * 10)
    right = Passed(2.0 * y, "log-odds", 1.0, 8)
    wrong_at_first = right._replace(scores=np.concatenate([-right.scores[:2], right.scores[2:]]))
    assert measures(wrong_at_first, y)["error"] == 0.0
    one, other = (measures(passed, y) for passed in (right, wrong_at_first))
    assert one == other
    assert one["log_loss"] == pytest.approx(math.log1p(math.exp(-2.0)))
    assert one["auc"] == 1.0
    wrong_later = right._replace(scores=np.concatenate([right.scores[:2], -right.scores[2:3], right.scores[3:]]))
    assert measures(wrong_later, y)["error"] == pytest.approx(1 / 18)


def test_kinds_of_scores():
    y = np.array([1.0, -1.0] * 10)
    margin, p = Passed(y, "margin", 1.0, 8), Passed(np.where(y > 0.0, 0.5, 0.49), "probability", 1.0, 8)
    assert measures(margin, y)["log_loss"] is None
    assert measures(p, y)["error"] == 0.0
    assert measures(p, y)["log_loss"] == pytest.approx(-(math.log(0.5) + math.log(0.51)) / 2)


def test_probabilities_are_those_of_learners_with_log_odds():
    given = made_up(60)
    assert pass_of("auto", {}, given).kind == pass_of("mt-ogd", {}, given).kind == "log-odds"
    assert pass_of("pa", {}, given).kind == pass_of("mt-ogd", {"loss": "hinge"}, given).kind == "margin"


def test_learners_that_refit_are_fitted_when_rows_have_doubled():
    given = made_up(230)
    scores = pass_of("stl", {}, given).scores
    assert not np.any(scores[:50])
    for begin, end in ((50, 100), (100, 200), (200, 230)):
        model = Model("stl").fit(protocol.Stream(*given.first(begin)))
        expected = model.score(given.X[begin:end], given.task[begin:end])
        np.testing.assert_allclose(scores[begin:end], expected, atol=1e-6)


@needs_data
def test_all_forms_are_the_same_events():
    raw, scaled, constant = (protocol.events("landmine29", form, 200, 500) for form in protocol.FORMS)
    assert np.array_equal(raw.y, scaled.y)
    assert np.array_equal(raw.task, constant.task)
    assert np.array_equal(scaled.X, constant.X[:, :-1])
    assert np.all(constant.X[:, -1] == 1.0)


# --- the report ---


def results_of(table):
    """(row, stream) -> error; None is too large."""
    found = []
    for (row, stream), error in table.items():
        measured = {
            "error": error,
            "log_loss": error if row == "auto" else None,
            "auc": 0.5,
            "seconds": 1e-6,
            "bytes": 8,
        }
        figures = {"events": 900, "positive": 0.3, "tenth": [0.5], "chosen": 0, "default": measured, "tuned": measured}
        settings = {"row": row, "stream": stream, "order": 200}
        found.append((settings, {"too_large": "features"} if error is None else figures))
    return found


def test_ranks():
    found = board(results_of({("auto", "a"): 0.1, ("pa", "a"): 0.1, ("trml", "a"): 0.3,
                              ("auto", "b"): 0.2, ("pa", "b"): 0.1, ("trml", "b"): None}))  # fmt: skip
    assert found.ranks("error") == {
        "auto": {"a": 1.5, "b": 2.0},
        "pa": {"a": 1.5, "b": 1.0},
        "trml": {"a": 3.0, "b": 3.0},
    }
    assert list(found.mean_ranks("error")) == ["pa", "auto", "trml"]
    assert found.common("error", "auto", "trml") == ["a"]
    assert compared(found, "error", "auto", "trml") is None  # one stream shows nothing
    test, worse = compared(found, "error", "auto", "pa")
    assert test.difference == pytest.approx(math.log(2.0) / 2)
    assert worse == ["b"]


def test_the_report_says_where_others_win():
    streams = "abcdefgh"
    peer = "river (prepared)"
    table = {("auto", s): 0.10 for s in streams} | {(peer, s): 0.2 for s in streams} | {(peer, "a"): 0.05}
    found = report(results_of(table))
    claim = next(claim for claim in found.claims if claim.text == f"auto has a lower error than {peer}.")
    assert claim.judgement == "confirmed"
    assert claim.why.endswith(f"{peer} has the lower error on a")
    winner = report(results_of({(row, s): e for s in streams for row, e in (("auto", 0.1), ("pa", 0.05))}))
    first = winner.claims[0]
    assert first.judgement == "not confirmed"
    assert "before it are pa (1.0)" in first.why


def test_the_report_of_nothing_and_of_one_cell():
    assert report([]).claims[0].judgement == "not testable here"
    one = report(results_of({("trml", "a"): None}))
    stream = next(table for table in one.tables if table.title == "a")
    assert list(stream.rows[0]) == ["trml", *["too large"] * 7]


def test_tables_have_the_lowest_first_and_name_the_choice():
    results = results_of({("pa", "a"): 0.2, ("coml", "a"): 0.1})
    results[0][1]["chosen"] = 2
    table = next(table for table in report(results).tables if table.title == "a")
    assert [row[0] for row in table.rows] == ["coml", "pa"]
    assert [row[1] for row in table.rows] == ["default", "C = 0.01"]
    assert table.rows[0][2] == Figure(10.0, digits=2)


# --- peers ---


@pytest.mark.parametrize(
    ("peer", "default", "other"),
    [("vw", 0.5, 2.0), ("river", 0.01, 0.3), ("river-plain", 0.01, 0.3), ("sklearn", 1e-4, 0.1)],
)
def test_the_parameter_of_a_peer(peer, default, other):
    if not is_here(peer):
        pytest.skip(f"{peer} is not installed")
    given = made_up(80)
    first, same, changed = (protocol.pass_of_peer(peer, parameter, given) for parameter in (None, default, other))
    assert np.array_equal(first.scores, same.scores)
    assert not np.array_equal(first.scores, changed.scores)
    assert first.kind == "probability"
    assert np.all((first.scores >= 0.0) & (first.scores <= 1.0))
    assert first.bytes > 4 * 6 * 8  # four tasks, six weights


@pytest.mark.parametrize("peer", ["river", "river-plain", "sklearn"])
def test_the_weights_of_a_peer_are_counted(peer):
    if not is_here(peer):
        pytest.skip(f"{peer} is not installed")
    given = made_up(80)
    wide = given._replace(X=np.hstack([given.X] * 10))
    few, many = (protocol.pass_of_peer(peer, None, one).bytes for one in (given, wide))
    assert many - few >= 4 * 54 * 8  # four tasks, 54 more weights


def test_every_peer_has_parameters_to_try_and_a_column():
    assert {f"{peer} {form}" for peer, forms in FORMS.items() for form in forms} == set(COLUMNS)
    assert set(FORMS) == set(PEERS)
    scaled, plain = ROWS["river (scaler)"], ROWS["river (prepared)"]
    assert scaled.choices == plain.choices
    assert (scaled.form, plain.form) == ("raw", "prepared")


def test_river_without_a_scaler_is_a_logistic_regression_per_task():
    """On the rows as they are: the same steps by hand, with river's rate for weights and intercept."""
    if not is_here("river-plain"):
        pytest.skip("river is not installed")
    given = made_up(80)
    weights, expected = np.zeros((4, 7)), np.empty(80)
    for i, (x, y, k) in enumerate(zip(given.X, given.y, given.task, strict=True)):
        row = np.append(x, 1.0)
        expected[i] = 1.0 / (1.0 + math.exp(-row @ weights[k]))
        weights[k] -= 0.01 * (expected[i] - (y > 0.0)) * row
    np.testing.assert_allclose(protocol.pass_of_peer("river-plain", None, given).scores, expected, atol=1e-9)
    assert not np.allclose(protocol.pass_of_peer("river", None, given).scores, expected, atol=1e-3)


def test_river_without_a_scaler_predicts_numbers():
    if not is_here("river-plain"):
        pytest.skip("river is not installed")
    given = made_up(400)
    y = given.X @ np.arange(6.0)
    p = PEERS["river-plain"](sparse.csr_array(given.X), y, given.task, False, 0.1)
    assert np.mean((p - y)[200:] ** 2) < 0.01 * np.var(y)
