"""Figure 6 of Yang, Zhao and Gao (2017): cells, and what the report makes of the results."""

import os

import numpy as np
import pytest

from quick import quick_results
from weft_reproduction.robust.fig6 import CHOOSING, EXPERIMENT, PANELS, PLAIN, REPORTED, TUNED, cells, run

needs_data = pytest.mark.skipif(not os.environ.get("WEFT_DATA"), reason="WEFT_DATA does not name the folder of data")


def made_up(settings, sign=1.0):
    """As the paper says: worse with larger penalties, but for lam1 of the peptides."""
    slope = -1.0 if (settings["set"], settings["parameter"]) == ("mhc1", "lam1") else 1.0
    noise = [np.random.default_rng(seed).normal(0.0, 0.001) for seed in settings["shuffles"]]
    errors = [[0.3 + sign * slope * 0.01 * np.log10(value) + e * value for e in noise] for value in settings["values"]]
    return {"errors": errors, "eta1": 1.0, "eta2": 0.1}


def test_panels_are_those_of_the_paper():
    ends = [(panel.name, panel.parameter, panel.values()[0], panel.values()[-1]) for panel in PANELS]
    assert ends == [
        ("pu_spam", "lam1", 1e-6, 1.0),
        ("pu_spam", "lam2", 1e-7, 10.0),
        ("mhc1", "lam1", 1e-5, 1.0),
        ("mhc1", "lam2", 1e-6, 1.0),
    ]


def test_cells():
    assert all(cell["shuffles"] == list(REPORTED) and cell["choosing"] == CHOOSING for cell in cells(False))
    assert CHOOSING not in REPORTED
    assert len(cells(False)) == 16
    assert {cell["steps"] for cell in cells(True)} == {TUNED, PLAIN}


def test_report_of_what_the_paper_says():
    report = EXPERIMENT.report([(cell, made_up(cell)) for cell in cells(False)])
    assert [claim.judgement for claim in report.claims] == ["confirmed"] * 2 + ["not testable here"] * 2
    assert all("stand in for them it is confirmed" in claim.why for claim in report.claims[2:])
    assert [len(picture.lines) for picture in report.pictures] == [4] * 4
    assert all(picture.log_x for picture in report.pictures)


def test_report_of_the_opposite():
    report = EXPERIMENT.report([(cell, made_up(cell, -1.0)) for cell in cells(False)])
    assert [claim.judgement for claim in report.claims] == ["not confirmed"] * 2 + ["not testable here"] * 2
    assert all("it is not confirmed" in claim.why for claim in report.claims[2:])


@pytest.mark.parametrize("count", [0, 1, 3])
def test_report_on_some_of_the_cells(count):
    report = EXPERIMENT.report([(cell, made_up(cell)) for cell in cells(False)[::3][:count]])
    assert len(report.tables) == 4
    assert len(report.pictures) == min(count, 2)
    assert {claim.judgement for claim in report.claims} == {"not testable here"}


@needs_data
@pytest.mark.xdist_group("robust")
def test_quick_run():
    results = quick_results(EXPERIMENT.name)
    for settings, figures in results:
        assert np.shape(figures["errors"]) == (len(settings["values"]), len(settings["shuffles"]))
        assert np.all((np.array(figures["errors"]) > 0.0) & (np.array(figures["errors"]) < 0.7))
        assert {figures["eta1"], figures["eta2"]} <= set(settings["grid"])
    assert run(results[0][0]) == results[0][1]
    assert len(EXPERIMENT.report(results).pictures) == 2
