"""Picks of a search, judged on fresh shuffles: what the report of robust-tables says about figures that are missed."""

import pytest

from robust_cells import made_up
from robust_results import LIFT, MAIL_CELLS, of_reading, results_with
from weft_reproduction.experiment import Figure
from weft_reproduction.robust.confirming import against_zero, figure_table, moved, no_single_reading, variant_table
from weft_reproduction.robust.picks import AS_TAKEN, FRESH, OMTL, OMTL_PICKED, OWN_WORDS, PICKED, VARIANTS
from weft_reproduction.robust.readings import again
from weft_reproduction.robust.rows import ROMCO, ROWS
from weft_reproduction.robust.tables import EXPERIMENT
from weft_reproduction.robust.tried import searches

# --- words and tables ---


def test_variants_of_omtl():
    update, rows = OMTL_PICKED
    spared = {row: lift for row, lift in LIFT.items() if row != update.row}
    results = results_with(lambda cell: cell["reading"] == rows.reading, spared)
    first, second = searches(OMTL, results)
    assert [[one.name for one in search.picks] for search in (first, second)] == [[str(update)], [str(rows)]]
    assert first.untried == second.untried == {}
    assert [one.verdict for one in (first, second)] == ["reproduced"] * 2
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
    counts, figures = [table for table in report.tables if "on fresh shuffles" in table.title]
    told = [row[0] for row in counts.rows if row[-2] != "not tried again"]
    assert told == [*(who for who in PICKED for _ in PICKED[who]), OMTL, OMTL]
    assert len(figures.rows) == len(told) + len(PICKED) + 1
    assert all(isinstance(cell, Figure) for row in figures.rows for cell in row[1:9])
    assert "No single reading" not in counts.note


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
    results = of_reading(OWN_WORDS)
    (search,) = searches(who, results)
    for one in search.picks:
        assert against_zero(one, results).pairs == len(FRESH)
        assert against_zero(one, []) is None
        assert against_zero(one._replace(fresh={}), results) is None
    gaps = [row[-1] for row in figure_table(results).rows if row[0].startswith(f"{who}, ")]
    assert gaps[0] == ""
    assert len(gaps) == 1 + len(PICKED[who])
    assert all("over 10 pairs" in gap for gap in gaps[1:])


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
