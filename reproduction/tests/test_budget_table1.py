"""Table 1 of Cavallanti and Cesa-Bianchi (2012): the published figures, the cells, and what the report says of them."""

import os

import numpy as np
import pytest

from quick import quick_results
from weft.streams.known import Known
from weft.streams.preparation import unit_interval
from weft_reproduction.budget.protocol import LEARNERS, NO_BUDGET, OPEN, PERCENTS, PLACES, SETS, TAKEN, Place
from weft_reproduction.budget.published import PUBLISHED, nearest
from weft_reproduction.budget.table1 import CHOOSING, EXPERIMENT, REPORTED, THOROUGH, cells, f_measures, run
from weft_reproduction.experiment import Figure

needs_data = pytest.mark.skipif(not os.environ.get("WEFT_DATA"), reason="WEFT_DATA does not name the folder of data")


# --- the published table ---


def test_all_figures_are_there():
    assert [len(table) for table in PUBLISHED.values()] == [25, 25, 25]
    assert sum(map(len, PUBLISHED.values())) == 75


def test_figures_stand_at_their_places():
    assert PUBLISHED["pkdd06a"][NO_BUDGET] == 92.0
    assert PUBLISHED["pkdd06a"][Place("mtforg", "none", 25)] == 81.7
    assert PUBLISHED["school"][Place("mtbprj", "none", 5)] == 23.8
    assert PUBLISHED["school"][Place("mtrbp", "complete", 25)] == 40.4
    assert PUBLISHED["sentiment4"][Place("mtbprj-2", "complete", 10)] == 67.9


def test_in_print_the_complete_graph_is_always_better():
    for table in PUBLISHED.values():
        for who in LEARNERS:
            for size in PERCENTS:
                assert table[Place(who, "complete", size)] > table[Place(who, "none", size)]


# --- cells ---


def test_what_is_reported_was_not_chosen_on():
    reported = {cell["shuffle"] for cell in cells(False) if cell["shuffle"] is not None and cell["shuffle"] < 1000}
    assert reported == set(REPORTED)
    assert not reported & set(CHOOSING)


def test_a_choice_holds_for_a_kind_of_data():
    for name, kind in SETS.items():
        found = [cell for cell in cells(False) if cell["set"] == name and cell["shuffle"] in REPORTED]
        assert len(found) == len(REPORTED) == 10
        taken = TAKEN[kind]
        assert all((cell["scaling"], cell["kernel"]) == (taken.scaling, dict(taken.kernel)) for cell in found)
        assert taken in OPEN[kind]


def test_every_reading_is_run_with_all_learners():
    for name, kind in SETS.items():
        for reading in OPEN[kind]:
            same = [cell for cell in cells(False) if cell["set"] == name and cell["shuffle"] in CHOOSING]
            same = [
                cell for cell in same if (cell["scaling"], cell["kernel"]) == (reading.scaling, dict(reading.kernel))
            ]
            assert len(same) == len(CHOOSING)
            assert sum(len(cell["learners"]) == 5 for cell in same) == THOROUGH


def test_texts_are_read_with_every_low_degree():
    kernels = [dict(reading.kernel) for reading in OPEN["text"] if reading.scaling == "unit rows of counts"]
    told = {(kernel["degree"], kernel["coef0"]) for kernel in kernels if kernel["gamma"] == 1.0}
    assert told >= {(1, 0.0), (1, 1.0), (2, 1.0), (3, 1.0)}


def test_the_nearest_reading_is_that_of_the_worse_set():
    good, fair, *others = OPEN["text"]
    baselines = {("pkdd06a", good): 92.0, ("sentiment4", good): 69.0}
    baselines |= {("pkdd06a", fair): 93.0, ("sentiment4", fair): 70.5}
    assert nearest("text", baselines) is None
    baselines |= {(name, reading): 50.0 for name in ("pkdd06a", "sentiment4") for reading in others}
    assert nearest("text", baselines) == fair


# --- measures and preparation ---


def test_f_measures_against_counting():
    rng = np.random.default_rng(0)
    y, task = rng.choice([-1.0, 1.0], 200), rng.integers(0, 5, 200)
    scores = rng.choice([-1.5, 0.0, 2.0], 200)
    found = f_measures(y, scores, task)
    for measure, zero in {"error": -y, "positive": np.ones(200), "negative": -np.ones(200)}.items():
        predicted = np.where(scores == 0.0, zero, np.sign(scores))
        precision = np.mean(y[predicted > 0] > 0)
        recall = np.mean(predicted[y > 0] > 0)
        assert found[measure] == pytest.approx(200 * precision * recall / (precision + recall))
    each = [f_measures(y[task == one], scores[task == one], task[task == one])["error"] for one in range(5)]
    assert found["mean of tasks"] == pytest.approx(np.mean(each))


def test_unit_interval_leaves_binary_and_constant_columns():
    X = np.array([[0.0, 1.0, 10.0, 7.0], [1.0, 1.0, 30.0, 7.0], [0.0, 1.0, 20.0, 7.0]])
    data = Known("made", X, np.ones(3), np.zeros(3, int), ["one"], None)
    scaled = unit_interval(data).X
    np.testing.assert_array_equal(scaled, np.column_stack([X[:, :2], [0.0, 1.0, 0.5], X[:, 3]]))


# --- the report ---


def made_up(settings, shift=0.0):
    """A cell with the published figures, a little different in every shuffle."""
    rng = np.random.default_rng(settings["shuffle"] or 0)
    table = PUBLISHED[settings["set"]]
    places = [NO_BUDGET, *(place for place in PLACES if place.learner in settings["learners"])]
    found = [(place, table[place] + shift + rng.normal(0.0, 0.01)) for place in places]
    measures = ("error", "positive", "negative", "mean of tasks")
    return {
        "kept": 500,
        "places": [{"place": list(place), "B": 10, "F": dict.fromkeys(measures, value)} for place, value in found],
    }


def judgements(results):
    return {claim.text: claim.judgement for claim in EXPERIMENT.report(results).claims}


def test_report_of_the_published_figures():
    results = [(cell, made_up(cell)) for cell in cells(False)]
    report = EXPERIMENT.report(results)
    assert len(report.tables) == 7
    assert len(report.pictures) == 3
    shown = [cell for table in report.tables[:3] for row in table.rows for cell in row if isinstance(cell, Figure)]
    assert len(shown) == 75
    assert all(abs(figure.value - figure.published) < 0.05 and figure.error < 0.05 for figure in shown)
    found = judgements(results)
    said = [found[text] for text in found]
    assert "had been seen" in report.choices[0].taken
    # As printed: all but "both lead", "the gap grows", "all four match", "the Projectrons match at 5 %".
    assert said == ["confirmed", "confirmed", "confirmed", "not confirmed", "confirmed", *["not confirmed"] * 3]


def test_lower_figures_are_not_the_same():
    results = [(cell, made_up(cell, -3.5 if cell["set"] == "school" else 0.0)) for cell in cells(False)]
    claim = EXPERIMENT.report(results).claims[0]
    assert claim.judgement == "not confirmed"
    assert claim.why.startswith("50 of 75")


@pytest.mark.parametrize("count", [0, 1, 3, 7, 12])
def test_report_on_some_of_the_cells(count):
    some = cells(False)[::11][:count]
    report = EXPERIMENT.report([(cell, made_up(cell)) for cell in some])
    assert len(report.tables) == 7
    assert {claim.judgement for claim in report.claims} == {"not testable here"}


def test_one_shuffle_judges_nothing_but_the_figures():
    results = [(cell, made_up(cell)) for cell in cells(False) if cell["shuffle"] == 0]
    first, *others = EXPERIMENT.report(results).claims
    assert first.judgement == "confirmed"
    assert {claim.judgement for claim in others} == {"not testable here"}


@needs_data
@pytest.mark.xdist_group("budget")
def test_quick_run_gives_every_cell():
    results = quick_results(EXPERIMENT.name)
    for _, figures in results:
        assert [Place(*part["place"]) for part in figures["places"]] == [NO_BUDGET, *PLACES]
        for part in figures["places"][1:]:
            assert part["B"] == max(1, round(part["place"][2] / 100 * figures["kept"]))
        assert all(0.0 <= value <= 100.0 for part in figures["places"] for value in part["F"].values())
    assert {settings["set"] for settings, _ in results} == set(SETS)
    report = EXPERIMENT.report(results)
    shown = [cell for table in report.tables[:3] for row in table.rows for cell in row if isinstance(cell, Figure)]
    assert len(shown) == 75
    # The same settings give the same figures.
    assert run(results[0][0]) == results[0][1]
