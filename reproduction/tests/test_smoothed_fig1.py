"""Figure 1 of Murugesan, Liu, Carbonell and Yang (2016): cells, and what the report makes of the results."""

import os

import numpy as np
import pytest

from quick import quick_results
from weft_reproduction.smoothed.fig1 import CHOOSING, EXPERIMENT, MODELS, REPORTED, SIZES, TUNED, cells, run

needs_data = pytest.mark.skipif(not os.environ.get("WEFT_DATA"), reason="WEFT_DATA does not name the folder of data")


def made_up(settings):
    """SMTL leads but for 20 rows, where STL does; SHAMO is last; fields listen to their own ground."""
    height = {
        "STL": 0.70 if settings["size"] == 20 else 0.65,
        "ITL": 0.66,
        "SHAMO": 0.6,
        "SMTL-t": 0.69,
        "SMTL-e": 0.69,
    }
    found = []
    for row, _, parameters in settings["rows"]:
        auc = [height[row] + np.random.default_rng(draw).normal(0.0, 0.001) for draw in settings["draws"]]
        auc = [value - 0.01 * (parameters != TUNED[row]) for value in auc]
        adaptive = row.startswith("SMTL")
        within, across = ([value] * len(auc) if adaptive else [] for value in (0.05, 0.03))
        found.append({"row": row, "parameters": parameters, "auc": auc, "within": within, "across": across})
    return {"rows": found}


def test_cells():
    reported = [cell for cell in cells(False) if cell["what"] == "reported"]
    assert sorted((cell["size"], draw) for cell in reported for draw in cell["draws"]) == [
        (size, draw) for size in SIZES for draw in REPORTED
    ]
    for name in MODELS:
        grid = [cell for cell in cells(False) if cell["what"] == "grid" and cell["rows"][0][0] == name]
        assert sorted(draw for cell in grid for draw in cell["draws"]) == list(CHOOSING)
        assert TUNED[name] in [parameters for _, _, parameters in grid[0]["rows"]]
    assert not set(CHOOSING) & set(REPORTED)
    for what, parameter in (("scaled", "scaling"), ("drawn", "stratified")):
        others = [cell for cell in cells(False) if cell["what"] == what]
        assert sorted(draw for cell in others for draw in cell["draws"]) == list(CHOOSING)
        assert all(cell[parameter] != reported[0][parameter] for cell in others)


def test_report_of_what_the_paper_says():
    report = EXPERIMENT.report([(cell, made_up(cell)) for cell in cells(False)])
    assert [claim.judgement for claim in report.claims] == ["confirmed"] * 4
    assert set(report.pictures[0].lines) == set(MODELS)
    assert "Run again" not in report.choices[0].effect
    assert "STL 0.650 / 0.650" in report.choices[1].effect
    assert "SMTL-e 0.690 / 0.690" in report.choices[2].effect


def test_report_of_the_opposite():
    def opposite(settings):
        figures = made_up(settings)
        for one in figures["rows"]:
            one["auc"] = [1.3 - value for value in one["auc"]]
            one["within"], one["across"] = one["across"], one["within"]
        return figures

    report = EXPERIMENT.report([(cell, opposite(cell)) for cell in cells(False)])
    assert [claim.judgement for claim in report.claims] == ["not confirmed"] * 4
    assert "Run again" in report.choices[0].effect


@pytest.mark.parametrize("count", [0, 1, 2])
def test_report_on_some_of_the_cells(count):
    report = EXPERIMENT.report([(cell, made_up(cell)) for cell in cells(False)[:-3:-1][:count]])
    assert len(report.tables) == 2
    assert {claim.judgement for claim in report.claims} == {"not testable here"}


@needs_data
@pytest.mark.xdist_group("smoothed-batch")
def test_quick_run():
    results = quick_results(EXPERIMENT.name)
    rows = {one["row"]: one for one in results[0][1]["rows"]}
    assert set(rows) == set(MODELS)
    assert all(0.5 < value < 0.9 for one in rows.values() for value in one["auc"])
    for name in ("SMTL-t", "SMTL-e"):
        assert all(0.0 < value < 1.0 for value in rows[name]["within"] + rows[name]["across"])
    assert rows["STL"]["within"] == []
    assert run(results[1][0]) == results[1][1]
    assert len(EXPERIMENT.report(results).pictures) == 1
