"""Tables 2 to 5 of Yang, Zhao and Gao (2017): rows, parameters, streams, and what the report makes of the results."""

import os

import numpy as np
import pytest

from quick import quick_results
from robust_cells import TASKS, made_up
from weft.model import Model
from weft.stream import Stream
from weft.streams.preparation import row_lengths
from weft_reproduction.experiment import Figure
from weft_reproduction.robust import protocol as robust_protocol
from weft_reproduction.robust.picks import EARLIER, FRESH, FRESH_OMTL, TRYING
from weft_reproduction.robust.protocol import READINGS, SETS, STAND_INS, TAKEN, curve_of, measures, passed, shuffle
from weft_reproduction.robust.published import (
    TABLE2,
    TABLE3,
    TABLES45,
    USERS,
    printed_means,
    printed_of_user,
    reported,
    row_like,
)
from weft_reproduction.robust.rows import LIKE, NAMES, NO_U, NO_V, POWERS, ROMCO, ROWS, SAME_STEPS, STEPS, ZERO, search
from weft_reproduction.robust.tables import CHOOSING, COMPARING, EXPERIMENT, REPORTED, cells, run

needs_data = pytest.mark.skipif(not os.environ.get("WEFT_DATA"), reason="WEFT_DATA does not name the folder of data")


# --- what is printed, and what is run ---


def test_figures_stand_at_their_places():
    assert len(TABLE2) == 11
    assert set(TABLE2) == set(TABLE3) == set(TABLES45["mhc1"]) == set(TABLES45["movielens_cf"]) == set(LIKE.values())
    assert printed_of_user("ROMCO-LogD", 2) == ((2.74, 0.16), (97.56, 0.14))
    assert printed_of_user("OMTLVON, margin", 1) == ((19.76, 0.10), (89.04, 0.06))
    assert printed_of_user("PA-Unique, own C", 0) is None
    assert printed_means("mhc1", "ROMCO-NuCl") == (38.09, 55.03, 66.34)
    assert printed_means("movielens_cf", "OSMTL-e, mistake") == (20.73, 82.31, 58.76)
    assert printed_means("movielens_cf", ZERO) is None


def test_rows():
    assert len(set(NAMES)) == len(NAMES)
    assert {*SAME_STEPS.values(), *NO_V.values(), NO_U, ZERO} <= set(NAMES)
    for who in ROMCO:
        assert ROWS[who].grid == {"eta1": STEPS, "eta2": STEPS, "lam1": POWERS, "lam2": POWERS}
    for row in ROWS.values():
        first = {parameter: values[0] for parameter, values in row.grid.items()}
        Model(row.learner, **{key: value for key, value in (row.fixed | first).items() if key != "warmup"})


@pytest.mark.parametrize(("who", "part"), [(NO_V["ROMCO-NuCl"], 1), (NO_V["ROMCO-LogD"], 1), (NO_U, 0)])
def test_a_part_that_is_taken_away_stays_zero(who, part):
    rng = np.random.default_rng(0)
    row = ROWS[who]
    grid = {parameter: values[-2] for parameter, values in row.grid.items()}
    model = Model(row.learner, **row.fixed, **grid)
    model.learn(Stream(rng.normal(size=(60, 5)), rng.choice([-1, 1], 60), np.arange(60) % 3, np.arange(60) // 3))
    parts = model.learner.parts(model.state, 3, 5)
    assert not np.any(parts[part])
    assert np.all(np.any(parts[1 - part], axis=1))


def test_what_is_reported_was_not_chosen_on():
    everything = cells(False)
    assert all(cell["choosing"] == CHOOSING for cell in everything)
    seen = {(cell["set"], told["row"], seed) for cell in everything if cell["what"] == "reported"
            for told in cell["table"] for seed in cell["shuffles"]}  # fmt: skip
    assert seen == {(name, row, seed) for name in SETS for row in ROWS for seed in REPORTED}
    others = {seed for cell in everything if cell["what"] != "reported" for seed in cell["shuffles"]}
    assert others == {CHOOSING, *COMPARING, *EARLIER[0], *FRESH, *FRESH_OMTL, *TRYING}
    assert len(others) == 1 + len(COMPARING) + len(EARLIER[0]) + len(FRESH) + len(FRESH_OMTL) + len(TRYING)
    assert not others & set(REPORTED)


# --- looking for parameters ---


def test_search_takes_the_least():
    grid = {"a": (1, 2, 3), "b": (1, 2)}
    found = search({"c": 5}, grid, False, lambda at: (at["a"] - 2) ** 2 + (at["b"] - 2) ** 2 + 0.0)
    assert found == ({"c": 5, "a": 2, "b": 2}, 0.0, 2.0, 6)


def test_of_equals_the_first():
    assert search({}, {"a": (3, 1, 2)}, False, lambda at: 1.0).parameters == {"a": 3}


def test_search_in_turns():
    grid = {"eta1": STEPS, "eta2": STEPS, "lam1": POWERS, "lam2": POWERS}
    target = {"eta1": 1.0, "eta2": 0.01, "lam1": 0.1, "lam2": 1e-5}
    tried = []

    def error(at):
        tried.append(at)
        return sum(abs(np.log10(at[parameter] / target[parameter])) for parameter in grid)

    found = search({}, grid, True, error)
    assert found.parameters == target
    assert found.error == 0.0
    assert found.tried == len(tried) == len({tuple(at.values()) for at in tried}) < 150


# --- a pass ---


def test_measures():
    scores, y, task = [1.0, -1.0, 0.0, -2.0, 1.0], np.array([1.0, 1.0, -1.0, -1.0, 1.0]), np.array([0, 0, 0, 0, 1])
    found = measures(scores, y, task, 2)
    assert found["error"] == [0.5, 0.0]
    assert found["plus"] == [0.5, 1.0]
    assert found["zero"] == [0.25, 0.0]
    assert found["minus"] == [0.5, 0.0]  # of a class that is neither there nor predicted


def test_curve():
    y, task = np.ones(40), np.zeros(40, int)
    scores = np.where(np.arange(40) < 20, -1.0, 1.0)
    (curve,) = curve_of(scores, y, task, 1)
    assert curve[:10] == [1.0] * 10
    assert curve[-1] == 0.5


def test_batch_learners_are_fitted_when_rows_have_doubled(monkeypatch):
    rng = np.random.default_rng(1)
    X, task = rng.normal(size=(900, 3)), np.arange(900) % 2
    y = np.sign(X[:, 0])
    sizes = []
    fit = Model.fit

    def noted(self, stream):
        sizes.append(len(stream))
        return fit(self, stream)

    monkeypatch.setattr(robust_protocol.Model, "fit", noted)
    found = passed(Stream(X, y, task, np.arange(900) // 2), "trml", {"lam": 0.01}, batch=True)
    assert sizes == [100, 100, 200, 400]
    assert abs(found["error"][0] - np.mean(y[:100:2] < 0) / 9.0) < 0.03  # zeros before the first fit, few errors after


# --- streams ---


@needs_data
@pytest.mark.parametrize("name", SETS)
def test_shuffles(name):
    one = shuffle(name, TAKEN[name], "rounds", 3)
    sizes = np.bincount(one.task_codes)
    assert len(sizes) == TASKS[name]
    assert len(one) == {"pu_spam": 7070, "mhc1": 12 * 1555, "movielens_cf": 6000}[name]
    assert one.n_rounds == sizes.max()
    np.testing.assert_array_equal(np.diff(one.rounds), [np.sum(sizes > t) for t in range(one.n_rounds)])
    again, other = shuffle(name, TAKEN[name], "rounds", 3), shuffle(name, TAKEN[name], "rounds", 4)
    np.testing.assert_array_equal(one.y, again.y)
    assert not np.array_equal(one.y, other.y)
    short = shuffle(name, TAKEN[name], "one by one", 3, 10)
    assert len(short) == short.n_rounds == 10 * TASKS[name]


@needs_data
def test_pairs_of_letters():
    data = robust_protocol.pairs_of_letters(robust_protocol.known("mhc1"))
    text, at = str(data.extra["peptide"][7]), np.flatnonzero(data.X[[7]].toarray()[0])
    pairs = [text[i : i + 2] for i in range(8)]
    assert {data.feature_names[column] for column in at} == set(pairs)
    assert data.X[[7]].sum() == 8
    assert data.X.shape == (118149, 400)


@needs_data
def test_readings_are_what_they_say():
    widths = {
        "pu_spam": (1458, 1458, 5832, 5832, 69600, 69600, 1459, 1458, 1458, 1458, 1458),
        "mhc1": (400, 401, 180),
        "movielens_cf": (883, 884, 883),
    }
    for name in SETS:
        data = robust_protocol.known(name)
        for (reading, prepare), width in zip(READINGS[name].items(), widths[name], strict=True):
            X = prepare(data).X
            assert X.shape == (len(data), width)
            lengths = row_lengths(X)
            unit = np.isclose(lengths, 1.0) | (lengths == 0.0)
            assert np.all(unit) == ("unit" in reading)


# --- the report ---


def said(report):
    return {claim.text: claim for claim in report.claims}


def claim_of(report, words):
    (found,) = [claim for claim in report.claims if words in claim.text]
    return found


def test_report_of_the_published_figures():
    report = EXPERIMENT.report([(cell, made_up(cell)) for cell in cells(False)])
    assert len(said(report)) == len(report.claims)
    assert report.claims[0].judgement == "confirmed"
    assert "88 of 88" in report.claims[0].why
    assert {claim.judgement for claim in report.claims[1:3]} == {"not testable here"}
    assert claim_of(report, "Spam Email: both ROMCO have lower error rates than the batch").judgement == "confirmed"
    # In Table 2 itself every user is better off with ROMCO than with either PA, and CW-COL has fewer errors for User2.
    assert claim_of(report, "with both structures every user").judgement == "confirmed"
    assert claim_of(report, "Spam Email: the log-determinant").judgement == "confirmed"
    assert claim_of(report, "Spam Email: the gain is one of the structure").judgement == "confirmed"
    assert claim_of(report, "more than 100 times").judgement == "not confirmed"
    assert claim_of(report, "ROMCO is faster than batch").judgement == "confirmed"
    for claim in report.claims:
        if claim.text.startswith(("MHC-I", "Films: both", "Films: the")):
            assert claim.judgement == "not testable here"
    assert "it is confirmed" in claim_of(report, "Films: both ROMCO have lower error").why
    assert (
        "it is not confirmed"
        in claim_of(report, "Films: both ROMCO outperform the seven other online learners in error").why
    )
    assert len(report.tables) == 15
    assert [len(picture.lines) for picture in report.pictures] == [11] * 6
    shown = [cell for row in report.tables[0].rows for cell in row if isinstance(cell, Figure) and cell.published]
    assert len(shown) == 8 * (8 + 2 * 3)
    assert all("Not run yet" not in choice.effect for choice in report.choices)


def test_worse_figures_are_told():
    lift = {"OMTL": 0.05, "ROMCO-LogD": 0.01}
    report = EXPERIMENT.report([(cell, made_up(cell, lift)) for cell in cells(False)])
    first = report.claims[0]
    assert first.judgement == "not confirmed"
    assert "OMTL User1 error 10.00 against 5.00" in first.why
    assert claim_of(report, "Spam Email: the log-determinant").judgement == "not confirmed"


def test_a_gain_of_the_steps_alone_is_told():
    lift = {ZERO: -0.06, "PA-Unique, own C": -0.06}
    report = EXPERIMENT.report([(cell, made_up(cell, lift)) for cell in cells(False)])
    claim = claim_of(report, "Spam Email: the gain is one of the structure")
    assert claim.judgement == "not confirmed"
    assert "2 of 6 comparisons" in claim.why


def test_the_condition_is_the_one_that_was_better_where_parameters_were_chosen():
    def other(settings):
        figures = made_up(settings)
        for one in figures["rows"]:
            if one["row"] == "OSMTL-e, margin":
                one["chosen"] = 0.001
        return figures

    runs = reported([(cell, other(cell)) for cell in cells(False)])
    assert row_like("OSMTL-e", runs["pu_spam"]) == "OSMTL-e, margin"
    assert row_like("OSMTL-e", {}) == "OSMTL-e, mistake"


def test_shuffles_of_a_row_are_in_their_order():
    finished = [(cell, made_up(cell)) for cell in cells(False)]
    assert reported(finished)["mhc1"]["MTFL"].error == reported(finished[::-1])["mhc1"]["MTFL"].error


@pytest.mark.parametrize("step", [0, 2, 5, 11])
def test_report_on_some_of_the_cells(step):
    some = cells(False)[1::step] if step else []
    report = EXPERIMENT.report([(cell, made_up(cell)) for cell in some])
    assert len(report.tables) == 15
    assert len(report.claims) == 27
    assert report.claims[0].judgement == "not testable here"


@needs_data
@pytest.mark.xdist_group("robust")
def test_quick_run():
    results = quick_results(EXPERIMENT.name)
    for settings, figures in results:
        names = [name for told in settings["table"] for name in (told["row"], *told["beside"])]
        assert [one["row"] for one in figures["rows"]] == names
        for one in figures["rows"]:
            assert np.shape(one["error"]) == (len(settings["shuffles"]), TASKS[settings["set"]])
            assert all(0.0 <= value <= 1.0 for value in np.ravel([one["error"], one["plus"], one["minus"]]))
            np.testing.assert_allclose(np.mean(one["error"], axis=0), np.array(one["curve"])[:, -1], atol=1e-6)
    again = run(results[2][0])
    assert [one["error"] for one in again["rows"]] == [one["error"] for one in results[2][1]["rows"]]
    report = EXPERIMENT.report(results)
    assert len(report.pictures) == len(USERS) + len(STAND_INS)
