"""Figures 4 and 6 of Dekel, Long and Singer (2007): what the reports make of results that are made up."""

import numpy as np
import pytest

from weft_reproduction.shared_loss import fig4 as shared_loss_fig4
from weft_reproduction.shared_loss import fig6 as shared_loss_fig6
from weft_reproduction.shared_loss.errors import C, points
from weft_reproduction.shared_loss.newswire import OWN_ORDER, POINTS


def made_up(settings, final):
    """Curves that fall to `final` (a share of errors), a little different in every order."""
    events = np.arange(1, POINTS + 1) * 10
    found = {"events": events.tolist(), "inf": [], "one": []}
    for seed in settings["seeds"]:
        noise = np.random.default_rng(seed).normal(0.0, 1e-5)
        for measure in ("inf", "one"):
            found[measure].append((final + 1.0 / events + noise * (1.0 + final)).tolist())
    return found


def judged(experiment, final):
    results = [(cell, made_up(cell, final(cell))) for cell in experiment.cells(False)]
    return {claim.text: claim for claim in experiment.report(results).claims}


def implicit_leads(l1_gap):
    def final(cell):
        gap = 0.1 if cell["norm"] == "linf" else l1_gap
        return 0.2 + gap * (cell["learner"] != "implicit")

    return final


@pytest.mark.parametrize(("gap", "judgement"), [(0.0099, "confirmed"), (0.011, "not confirmed")])
def test_almost_identical_is_a_tenth_of_what_linf_shows(gap, judgement):
    claims = judged(shared_loss_fig6.EXPERIMENT, implicit_leads(gap))
    said = [claim.judgement for text, claim in claims.items() if text.startswith("With the L_1 norm")]
    assert said == [judgement] * 2
    others = {claim.judgement for text, claim in claims.items() if not text.startswith("With the L_1 norm")}
    assert others == {"confirmed"}


def test_a_norm_that_leads_is_found():
    claims = judged(shared_loss_fig4.EXPERIMENT, lambda cell: 0.2 + 0.1 * (cell["norm"] == "l1"))
    said = {text: claim.judgement for text, claim in claims.items()}
    assert {said[text] for text in said if "lower inf-error throughout" in text} == {"confirmed"}
    # L_1 does not lead in the end; a stream that ends so early does not refute that it would.
    assert {said[text] for text in said if "L_1 norm has the lower" in text} == {"not testable here"}


@pytest.mark.parametrize("module", [shared_loss_fig4, shared_loss_fig6])
def test_choices_tell_the_order_of_the_file(module):
    results = [(cell, made_up(cell, 0.2 + 0.1 * (cell["norm"] == "l1"))) for cell in module.cells(False)]
    order = module.report(results).choices[1]
    assert "not run" not in order.effect
    random_alone = [(cell, figures) for cell, figures in results if cell["seeds"] != [OWN_ORDER]]
    assert "not run" in module.report(random_alone).choices[1].effect
    assert all(f"C = {C:g}" in part for part in order.effect.split("1-error: ")[1].split("; "))


def test_points_are_per_cent_of_a_share_of_the_stream():
    figures = {"events": [10, 20], "inf": [[0.5, 0.25], [0.4, 0.2]]}
    assert points(figures, "inf") == [25.0, 20.0]
    assert points(figures, "inf", 0.5) == [50.0, 40.0]
