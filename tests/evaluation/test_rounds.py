"""Errors per round and the area under the curve, against their definitions."""

import numpy as np
import pytest

from weft.evaluation.rounds import auc, auc_per_task, cumulative, inf_error, one_error


def test_errors_by_definition():
    rng = np.random.default_rng(0)
    scores, y = rng.integers(-1, 2, 60).astype(float), rng.choice([-1.0, 0.0, 1.0, np.nan], 60)
    bounds = np.array([0, 1, 5, 6, 20, 40, 60])
    for t, (one, most) in enumerate(zip(one_error(scores, y, bounds, 25), inf_error(scores, y, bounds), strict=True)):
        e = [bool(scores[i] * y[i] <= 0) and y[i] != 0 and not np.isnan(y[i]) for i in range(bounds[t], bounds[t + 1])]
        assert one == sum(e) / 25
        assert most == max(e)


def test_a_zero_score_is_an_error_of_either_label_and_a_dormant_row_is_none():
    np.testing.assert_array_equal(one_error([0.0, 0.0, 0.0, 0.0], [1, -1, 0, np.nan], [0, 1, 2, 3, 4], 1), [1, 1, 0, 0])
    np.testing.assert_array_equal(inf_error([0.0, 0.0, 0.0], [1, 0, np.nan], [0, 1, 3]), [1, 0])


def test_the_number_of_tasks_known_grows_with_the_tasks_seen():
    scores, y = np.full(5, -1.0), np.ones(5)
    np.testing.assert_array_equal(one_error(scores, y, [0, 1, 3, 5], [0, 0, 1, 1, 2]), [1.0, 1.0, 2 / 3])
    np.testing.assert_array_equal(one_error(scores, y, [0, 1, 3, 5], 4), [0.25, 0.5, 0.5])


def test_scores_and_labels_must_match():
    with pytest.raises(ValueError, match="3 scores for 2 labels"):
        one_error(np.zeros(3), np.zeros(2), [0, 2], 1)


def test_cumulative_is_the_mean_so_far():
    values = np.random.default_rng(1).random(30)
    np.testing.assert_allclose(cumulative(values), [values[: i + 1].mean() for i in range(30)], rtol=1e-14)
    assert cumulative([]).shape == (0,)


def pairs(scores, y):
    """The definition: over all pairs of a positive and a negative row."""
    positive, negative = scores[y > 0], scores[y < 0]
    if not len(positive) or not len(negative):
        return np.nan
    return np.mean([(p > n) + (p == n) / 2 for p in positive for n in negative])


def test_auc_counts_pairs():
    rng = np.random.default_rng(2)
    for _ in range(20):
        scores, y = rng.integers(0, 5, 30).astype(float), rng.choice([-1.0, 1.0, 0.0, np.nan], 30)
        assert auc(scores, y) == pytest.approx(pairs(scores, y), rel=1e-14)
    assert np.isnan(auc([1.0, 2.0], [1, 1]))
    assert np.isnan(auc([], []))


def test_auc_per_task_is_auc_within_the_task():
    rng = np.random.default_rng(3)
    scores, y, codes = (
        rng.integers(0, 9, 200).astype(float),
        rng.choice([-1.0, 1.0], 200),
        rng.integers(0, 12, 200),
    )
    y[codes == 4] = 1.0
    found = auc_per_task(scores, y, codes, 14)
    for task in range(14):
        np.testing.assert_allclose(found[task], pairs(scores[codes == task], y[codes == task]), rtol=1e-13)
    assert np.isnan(found[[4, 12, 13]]).all()
