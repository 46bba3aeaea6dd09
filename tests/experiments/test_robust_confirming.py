"""Picks of a search, judged on fresh shuffles: what the report of robust-tables says about figures that are missed."""

import pytest

from experiments.robust_cells import made_up
from weft.experiments.robust_confirming import against_zero, moved, no_single_reading, tried, variant_table
from weft.experiments.robust_picks import (
    AS_TAKEN,
    FRESH,
    FRESH_BATCH,
    FRESH_OMTL,
    MAILS,
    OMTL,
    OMTL_PICKED,
    OWN_WORDS,
    PICKED,
    TRYING,
    VARIANTS,
)
from weft.experiments.robust_protocol import TAKEN
from weft.experiments.robust_readings import again
from weft.experiments.robust_rows import BATCH, ROMCO, ROWS
from weft.experiments.robust_tables import EXPERIMENT, cells

LIFT = dict.fromkeys((*ROWS, *(one.row for one in VARIANTS)), 0.05)
MAIL_CELLS = [cell for cell in cells(False) if cell["set"] == MAILS and cell["what"] not in ("reported", "refits")]


def results_with(good, other=None):
    """Cells of mails that have the paper's figures where `good` says so, and are worse by 5 points elsewhere."""
    return [(cell, made_up(cell, {} if good(cell) else other or LIFT)) for cell in MAIL_CELLS]


def of_reading(reading):
    return results_with(lambda cell: cell["reading"] == reading and cell["what"] != "regularisers")


# --- cells ---


@pytest.mark.parametrize("who", list(PICKED))
def test_picks_are_run_on_fresh_shuffles_beside_what_is_taken(who):
    pick = PICKED[who]
    found = {
        (cell["reading"], seed): told["fixed"]
        for cell in MAIL_CELLS
        if cell["what"] == "confirming"
        for told in cell["table"]
        if told["row"] == pick.row
        for seed in cell["shuffles"]
    }
    shuffles = FRESH_BATCH if who in BATCH else FRESH
    assert set(found) == {(reading, seed) for reading in (pick.reading, TAKEN[MAILS]) for seed in shuffles}
    for (reading, _), fixed in found.items():
        assert fixed == (ROWS[pick.row].fixed | dict(pick.letters) if reading == pick.reading else ROWS[pick.row].fixed)


def test_variants():
    assert len(set(map(str, VARIANTS))) == len(VARIANTS)
    assert AS_TAKEN in VARIANTS
    assert set(OMTL_PICKED) <= set(VARIANTS) - {AS_TAKEN}
    assert [one.elsewhere for one in OMTL_PICKED] == [False, True]
    for what, wanted, shuffles in (
        ("variants", VARIANTS, TRYING),
        ("confirming", (AS_TAKEN, *OMTL_PICKED), FRESH_OMTL),
    ):
        found = [
            (told["learner"], told["fixed"]["norm"], told["fixed"]["C"], cell["reading"], cell["order"])
            for cell in MAIL_CELLS
            if cell["what"] == what and cell["shuffles"] == list(shuffles)
            for told in cell["table"]
            if "norm" in told["fixed"]
        ]
        assert sorted(found) == sorted(map(tuple, wanted))


# --- a search, and what it names ---


def picked_alone(who):
    """Results in which the pick for a row is the only reading with the paper's figures."""
    pick = PICKED[who]

    def good(cell):
        return cell["reading"] == pick.reading and cell["order"] == "rounds"

    results = results_with(good)
    for settings, figures in results:
        if settings["what"] == "regularisers":
            (one,) = figures["rows"]
            printed = made_up({**settings, "what": "reading"}, {})["rows"][0]
            for at, value in enumerate(one["values"]):
                hit = good(settings) and {one["letter"]: value} == dict(pick.letters)
                for measure, miss in (("error", 0.5), ("minus", 0.1)):
                    one[measure] = [*one[measure]]
                    one[measure][at] = printed[measure][0] if hit else [miss] * 4
    return results


@pytest.mark.parametrize("who", list(PICKED))
def test_a_pick_that_holds_on_fresh_shuffles_explains_a_row(who):
    (found,) = tried(who, picked_alone(who))
    assert found.instead == ""
    assert (found.fresh.good, found.fresh.better, found.control.good) == (8, 0, 0)
    assert found.shuffles == len(FRESH_BATCH if who in BATCH else FRESH)
    assert found.verdict == "had again"
    assert f"{who}: had again with '" in moved(who, picked_alone(who))


@pytest.mark.parametrize("who", list(PICKED))
def test_a_pick_that_fails_on_fresh_shuffles_does_not(who):
    results = [
        (told, made_up(told, LIFT) if told["what"] == "confirming" else figures) for told, figures in picked_alone(who)
    ]
    (found,) = tried(who, results)
    assert (found.there.good, found.fresh.good) == (8, 0)
    assert f"{who}: not had again with '" in moved(who, results)


def test_what_is_had_as_taken_too_explains_nothing():
    (found,) = tried("OMTLLOG", results_with(lambda cell: cell["what"] == "confirming"))
    assert found.fresh.good == found.control.good == 8
    assert found.verdict == "not had again"


def test_a_search_that_names_another_reading_is_told():
    other = "all shared columns, unit tf-idf"
    (found,) = tried("ROMCO-LogD", of_reading(other))
    assert found.instead == other
    assert f"the search now names '{other}', which was not tried again" in moved("ROMCO-LogD", of_reading(other))


def test_variants_of_omtl():
    update, rows = OMTL_PICKED
    spared = {row: lift for row, lift in LIFT.items() if row != update.row}
    results = results_with(lambda cell: cell["reading"] == rows.reading, spared)
    first, second = tried(OMTL, results)
    assert (first.name, second.name) == (str(update), str(rows))
    assert first.instead == second.instead == ""
    assert [one.verdict for one in (first, second)] == ["had again"] * 2
    updates = [one for one in VARIANTS if one != AS_TAKEN and not one.elsewhere]
    assert f"among {len(updates)} other updates and orders on shuffles 4000 to 4009" in str(first)
    readings = [one for one in VARIANTS if one.elsewhere]
    assert f"among {len(readings)} other readings of the rows" in str(second)
    table = variant_table(results)
    assert len(table.rows) == len(VARIANTS)
    shown = {row[0]: row for row in table.rows}
    assert shown[f"{AS_TAKEN} (taken)"][-1] == ""
    assert shown[str(update)][-1].startswith("-5 ±")
    assert abs(shown[str(update)][1].value - 5.0) < 0.05


def test_all_rows_are_told_in_the_report():
    report = EXPERIMENT.report(of_reading(OWN_WORDS))
    (table,) = [table for table in report.tables if "on fresh shuffles" in table.title]
    assert [row[0] for row in table.rows] == [*PICKED, OMTL, OMTL]
    assert "No single reading" not in table.note


# --- counts ---


def test_better_figures_are_counted_by_themselves():
    (cell,) = [cell for cell in MAIL_CELLS if cell["what"] == "reading" and cell["reading"] == OWN_WORDS]
    for lift, good, better in ((0.0, 8, 0), (-0.05, 8, 8), (0.05, 0, 0)):
        (one,) = [one for one in made_up(cell, {"OMTL": lift})["rows"] if one["row"] == "OMTL"]
        count = again(one)
        assert (count.good, count.better, count.within, count.of) == (good, better, good - better, 8)
        assert str(count) == f"{good} of 8 ({better} better), {abs(100 * lift):.1f}"


def test_no_single_reading():
    better = dict.fromkeys(ROWS, -0.05)
    near = "all shared columns, tf-idf as it is"
    results = [
        (cell, made_up(cell, {"OMTL": 0.05} if cell["reading"] == near else better if cell["reading"] == OWN_WORDS
                       else LIFT))
        for cell in MAIL_CELLS
    ]  # fmt: skip
    told = no_single_reading(results)
    assert told.startswith("No single reading gives the table")
    assert (
        f"of 72 figures of online learners at most 64 are within three standard errors on both sides, with '{near}'"
        in told
    )
    assert f"at most 72 are so or better, with '{OWN_WORDS}', but" in told
    assert no_single_reading([]) == "Readings have not been run."


@pytest.mark.parametrize("who", ROMCO)
def test_against_zero_needs_the_same_shuffles(who):
    results = of_reading(PICKED[who].reading)
    assert against_zero(who, results).pairs == len(FRESH)
    assert against_zero(who, []) is None


@pytest.mark.parametrize(
    ("what", "unknown"),
    [("reading", {"OMTLLOG", *ROMCO}), ("regularisers", {"MTFL"}), ("variants", {OMTL}), ("confirming", set())],
)
def test_cells_that_are_missing(what, unknown):
    results = [(told, figures) for told, figures in of_reading(OWN_WORDS) if told["what"] != what]
    told = {who: moved(who, results) for who in (*PICKED, OMTL)}
    assert {who for who, words in told.items() if f"{who}: not known" in words} == unknown
    waiting = {who for who, words in told.items() if "not tried again yet" in words}
    assert waiting == (set(told) if what == "confirming" else set())
