"""Judgements over pairs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from weft_reproduction.judgement import (
    LEVEL,
    NOT_RUN,
    figure,
    line,
    lower,
    mean_and_error,
    on_other_data,
    paired,
    worse,
)


def test_few_pairs_are_students_test():
    ours, others = [1.0, 2.0, 2.5], [2.0, 2.5, 4.0]
    found = paired(ours, others)
    assert found.p == pytest.approx(stats.ttest_rel(ours, others, alternative="less").pvalue)
    assert found.difference == pytest.approx(-1.0)
    assert found.error == pytest.approx(np.std([-1.0, -0.5, -1.5], ddof=1) / 3**0.5)
    assert found.pairs == 3


def test_some_pairs_try_every_choice_of_signs():
    rng = np.random.default_rng(3)
    gaps = rng.normal(-0.4, 1.0, 8)
    by_hand = np.mean([np.dot(signs, gaps) <= gaps.sum() + 1e-12 for signs in itertools.product((1, -1), repeat=8)])
    assert paired(gaps, np.zeros(8)).p == pytest.approx(by_hand)


def test_many_pairs_are_students_test():
    rng = np.random.default_rng(4)
    ours, others = rng.normal(size=40), rng.normal(size=40)
    expected = stats.ttest_rel(ours, others, alternative="less").pvalue
    assert paired(ours, others).p == pytest.approx(expected)


def test_chance_is_found_as_often_as_the_level_says():
    rng = np.random.default_rng(5)
    for n in (4, 10, 25):
        found = np.mean([paired(rng.normal(size=n), rng.normal(size=n)).p < LEVEL for _ in range(1000)])
        assert 0.025 < found < 0.08


def test_one_pair_has_a_direction_only():
    found = paired([1.0], [2.0])
    assert found.difference == -1.0
    assert np.isnan(found.p)
    assert lower("so", "here", [("x", [1.0], [2.0])]).judgement == "not testable here"


@pytest.mark.parametrize(("ours", "p"), [([1.0, 1.0], 0.5), ([0.0, 0.0], 0.0), ([2.0, 2.0], 1.0)])
def test_pairs_without_spread(ours, p):
    assert paired(ours, [1.0, 1.0]).p == p


@pytest.mark.parametrize(("ours", "others"), [([1.0], [1.0, 2.0]), ([], []), ([float("nan")], [1.0])])
def test_what_is_no_pair_is_refused(ours, others):
    with pytest.raises(ValueError, match="pair"):
        paired(ours, others)


def test_a_claim_needs_every_comparison():
    good = ("good", [0.0, 0.1, 0.0, 0.1, 0.0, 0.1], [1.0, 1.2, 1.1, 1.0, 1.3, 1.2])
    bad = ("bad", good[2], good[1])
    assert lower("so", "here", [good]).judgement == "confirmed"
    assert lower("so", "here", [good, bad]).judgement == "not confirmed"
    assert "1 of 2 comparisons" in lower("so", "here", [good, bad]).why
    assert lower("so", "here", [good] * 4).judgement == "not confirmed"  # 1/64 is not below 0.05/4
    assert lower("so", "here", []).judgement == "not testable here"


def test_mean_and_error():
    assert mean_and_error([1.0, 3.0]) == (2.0, 1.0)
    assert mean_and_error([5.0]) == (5.0, None)


def test_figures_and_lines_have_the_mean_and_its_error():
    values = [1.0, 2.0, 6.0]
    error = np.std(values, ddof=1) / 3**0.5
    shown = figure(values, 2.5, 1)
    assert (shown.value, shown.error, shown.published, shown.digits) == (3.0, pytest.approx(error), 2.5, 1)
    assert line([5, 7], [values, [4.0]]) == ([5, 7], [3.0, 4.0], [pytest.approx(error), 0.0])


def test_worse_is_by_more_than_three_errors_of_the_difference():
    ours = [9.9, 10.1, 10.0, 10.0]
    limit = 3.0 * (np.var(ours, ddof=1) / 4 + 0.5**2 / 10) ** 0.5
    assert worse(ours, 10.0 - 1.01 * limit, 0.5, 10)
    assert not worse(ours, 10.0 - 0.99 * limit, 0.5, 10)
    assert worse(ours, 10.0 + 1.01 * limit, 0.5, 10, high_is_good=True)
    assert not worse(ours, 10.0 - 1.01 * limit, 0.5, 10, high_is_good=True)


def test_other_data_judge_no_claim():
    claim = lower("a", "b", [("x", [1.0, 1.1, 1.2], [2.0, 2.1, 2.3])])
    told = on_other_data(claim)
    assert claim.judgement == "confirmed"
    assert told.judgement == "not testable here"
    assert "it is confirmed" in told.why
    assert claim.why in told.why
    nothing = on_other_data(lower("a", "b", []))
    assert nothing.why == NOT_RUN
