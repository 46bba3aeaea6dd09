"""Which picks of a search are run on fresh shuffles of robust-tables, and what they explain there."""

import pytest

from robust_cells import made_up
from robust_results import LIFT, MAIL_CELLS, picked_alone, results_with
from weft_reproduction.robust.confirming import figure_table, fresh_table, moved
from weft_reproduction.robust.picks import (
    ALL_WORDS,
    AS_TAKEN,
    EARLIER,
    FRESH,
    FRESH_BATCH,
    FRESH_OMTL,
    MAILS,
    OMTL_PICKED,
    OWN_IDF,
    OWN_WORDS,
    OWN_WORDS_UNSCALED,
    PICKED,
    TRYING,
    VARIANTS,
)
from weft_reproduction.robust.protocol import TAKEN
from weft_reproduction.robust.rows import BATCH, ROWS, ZERO
from weft_reproduction.robust.tables import cells
from weft_reproduction.robust.tried import searches

# --- cells ---


@pytest.mark.parametrize("who", list(PICKED))
def test_picks_are_run_on_fresh_shuffles_beside_what_is_taken(who):
    (row,) = {pick.row for pick in PICKED[who]}
    parameters = {pick.reading: dict(pick.parameters) for pick in PICKED[who]} | {TAKEN[MAILS]: {}}
    assert len(parameters) == len(PICKED[who]) + 1
    found = {
        (cell["reading"], seed): told["fixed"]
        for cell in MAIL_CELLS
        if cell["what"] == "confirming"
        for told in cell["table"]
        if told["row"] == row
        for seed in cell["shuffles"]
    }
    shuffles = FRESH_BATCH if who in BATCH else FRESH
    earlier = {(pick.reading, seed) for pick in PICKED[who] for part in pick.earlier for seed in part}
    assert set(found) == {(reading, seed) for reading in parameters for seed in shuffles} | earlier
    for (reading, _), fixed in found.items():
        assert fixed == ROWS[row].fixed | parameters[reading]


def test_fresh_shuffles_are_used_for_nothing_else():
    others = [seed for cell in cells(False) if cell["what"] != "confirming" for seed in cell["shuffles"]]
    assert not {*FRESH, *FRESH_OMTL, *FRESH_BATCH} & set(others)
    assert not set(FRESH) & {
        *FRESH_OMTL,
        *FRESH_BATCH,
        *range(3000, 3100),
        *(seed for part in EARLIER for seed in part),
    }


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


def failing(results, readings, lift=LIFT):
    """The same but for fresh shuffles of these readings, where figures are worse."""
    return [
        (told, made_up(told, lift) if told["what"] == "confirming" and told["reading"] in readings else figures)
        for told, figures in results
    ]


@pytest.mark.parametrize("who", list(PICKED))
def test_picks_that_hold_on_fresh_shuffles_explain_a_row(who):
    (search,) = searches(who, picked_alone(who))
    assert search.untried == {}
    assert {one.reading for one in search.picks} == {pick.reading for pick in PICKED[who]}
    for one in search.picks:
        assert one.named
        fresh, control = one.counts
        assert (fresh.good, fresh.better, control.good) == (8, 0, 0)
        assert len(one.fresh) == len(FRESH_BATCH if who in BATCH else FRESH)
        assert one.verdict == "reproduced"
    told = moved(who, picked_alone(who))
    count = len(PICKED[who])
    assert told.startswith(f"{who}: reproduced with {f'{count} of {count} readings,' if count > 1 else ''}")
    assert "missed" not in told


@pytest.mark.parametrize("who", list(PICKED))
def test_picks_that_fail_on_fresh_shuffles_do_not(who):
    results = failing(picked_alone(who), [pick.reading for pick in PICKED[who]])
    (search,) = searches(who, results)
    assert all((one.there.good, one.counts[0].good) == (8, 0) for one in search.picks)
    assert search.verdict == "not reproduced"
    told = moved(who, results)
    assert told.startswith(f"{who}: not reproduced with ")
    assert told.count("missed: User1 error ") == len(PICKED[who]) + sum(bool(pick.earlier) for pick in PICKED[who])


@pytest.mark.parametrize("who", [who for who in PICKED if len(PICKED[who]) > 1])
def test_one_pick_of_several_explains_a_row_and_their_number_is_told(who):
    count = len(PICKED[who])
    results = failing(picked_alone(who), [pick.reading for pick in PICKED[who][1:]])
    (search,) = searches(who, results)
    assert sorted(one.verdict for one in search.picks) == ["not reproduced"] * (count - 1) + ["reproduced"]
    assert f"{who}: reproduced with 1 of {count} readings, picked among 12 readings on " in moved(who, results)
    assert f"{who} with 1 of {count}" in fresh_table(results).note


def test_a_row_that_comes_back_in_part_says_what_is_missed():
    who = "ROMCO-LogD"
    results = picked_alone(who)
    for settings, figures in results:
        if settings["what"] == "confirming" and settings["reading"] != TAKEN[MAILS]:
            for one in figures["rows"]:
                one["error"] = [[*tasks[:3], tasks[3] + 0.01] for tasks in one["error"]]
    (search,) = searches(who, results)
    assert {one.verdict for one in search.picks} == {search.verdict} == {"reproduced in part"}
    for one in search.picks:
        assert one.outcome.startswith("7 of 8 (0 better), 0.1 (missed: User4 error 7.6")
        assert one.outcome.endswith(" against 6.68)")
        assert f"'{one.name}' {one.outcome}" in moved(who, results)
    table = figure_table(results)
    shown = {row[0]: row[7] for row in table.rows}
    for one in search.picks:
        assert abs(shown[f"{who}, {one.name}"].value - 7.68) < 0.05
    assert shown[f"{who}, as taken"].value > 11.0
    assert table.columns[7] == "User4 error"


@pytest.mark.parametrize("who", [who for who in PICKED if any(pick.earlier for pick in PICKED[who])])
def test_fresh_shuffles_do_not_undo_a_miss_on_earlier_ones(who):
    old = {seed for part in EARLIER for seed in part}
    results = [
        (told, made_up(told, LIFT) if told["what"] == "confirming" and old & set(told["shuffles"]) else figures)
        for told, figures in picked_alone(who)
    ]
    (search,) = searches(who, results)
    before = {pick.reading: sum(map(len, pick.earlier)) for pick in PICKED[who]}
    for one in search.picks:
        assert one.counts[0].good == 8
        assert len(one.fresh) == len(FRESH)
        assert len(one.earlier) == before[one.reading]
        assert one.verdict == ("reproduced in part" if one.earlier else "reproduced")
        whole = f"8 of 8 (0 better), 0.0, but with those of earlier tries, {10 + len(one.earlier)} in all, 0 of 8"
        assert one.outcome.startswith(whole if one.earlier else "8 of 8 (0 better), 0.0")
    kept = sum(not count for count in before.values())
    assert f"{who}: reproduced with {kept} of {len(before)} readings" in moved(who, results)
    table = fresh_table(results)
    for pick in PICKED[who]:
        each = " and ".join(f"0 of 8 on {part[0]} to {part[-1]}" for part in pick.earlier)
        assert (f"{who} had with '{pick.reading}' {each}" in table.note) == bool(pick.earlier)
    shown = {row[1]: row[5] for row in table.rows if row[0] == who}
    assert {reading for reading, told in shown.items() if told} == {reading for reading, n in before.items() if n}


def test_picks_are_told_nearest_first():
    results = picked_alone("ROMCO-LogD")
    for settings, figures in results:
        if settings["what"] == "reading" and settings["reading"] in (OWN_WORDS, OWN_WORDS_UNSCALED):
            figures |= made_up(
                settings, {"ROMCO-LogD": {OWN_WORDS: -0.02, OWN_WORDS_UNSCALED: -0.01}[settings["reading"]]}
            )
    (search,) = searches("ROMCO-LogD", results)
    assert [one.reading for one in search.picks[2:]] == [OWN_WORDS_UNSCALED, OWN_WORDS]
    nearest = search.picks[0]
    assert f"with '{nearest.name}' its error minus that of '{ZERO}' is " in moved("ROMCO-LogD", results)


def test_what_is_had_as_taken_too_explains_nothing():
    (search,) = searches("OMTLLOG", results_with(lambda cell: cell["what"] == "confirming"))
    for one in search.picks:
        assert [count.good for count in one.counts] == [8, 8]
    assert search.verdict == "not reproduced"


def test_readings_that_are_tied_and_were_not_tried_again_are_told():
    other = "1,458 shared columns, unit log counts without idf"
    results = results_with(lambda cell: cell["reading"] in (OWN_WORDS, OWN_IDF, other))
    (search,) = searches("ROMCO-LogD", results)
    assert set(search.untried) == {OWN_IDF, other}
    assert [one.reading for one in search.picks if one.named] == [OWN_WORDS]
    told = moved("ROMCO-LogD", results)
    assert f"(the search now names '{other}', '{OWN_IDF}', not tried again)" in told
    assert f"(it does not name '{OWN_WORDS_UNSCALED}', '{ALL_WORDS}', " in told
    rows = {row[1]: row for row in fresh_table(results).rows if row[0] == "ROMCO-LogD"}
    assert rows[other][-2:] == ["not tried again", "yes"]
    assert rows[OWN_WORDS][-2:] == ["reproduced", "yes"]
    assert rows[ALL_WORDS][-1] == "no"


def test_the_reading_of_the_tables_is_no_pick():
    results = results_with(lambda cell: cell["reading"] in (OWN_WORDS, TAKEN[MAILS]) and cell["order"] == "rounds")
    (search,) = searches("ROMCO-LogD", results)
    assert search.untried == {}
    assert search.verdict == "not reproduced"


def test_another_order_of_rows_is_named_too():
    results = results_with(lambda cell: cell["order"] == "one by one")
    (search,) = searches("ROMCO-LogD", results)
    assert list(search.untried) == [f"{TAKEN[MAILS]}; one row a round"]
