"""Judgements over pairs."""

import itertools

import numpy as np
import pytest
from scipy import stats

from weft.experiments.judgement import LEVEL, lower, mean_and_error, paired


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
