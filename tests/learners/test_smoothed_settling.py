"""Rows of P of the adaptive smoothed learners are brought back to the sum 1 after 4,096 updates of a task."""

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.xdist_group("weft.learners.smoothed.rounds")

SETTLE = 4096
OFF = 1.0 + 2.0**-10
"""Rounding errors of some thousand updates stay near 1e-14: rows are made wrong by more, to see it mended."""


def rounds(n, tasks=3):
    """Labels that nobody can learn, and short rows: nearly every event is an update."""
    rng = np.random.default_rng(0)
    X, y = 0.1 * rng.normal(size=(n * tasks, 2)), rng.choice([-1.0, 1.0], n * tasks)
    return weft.Stream(X, y, list(range(tasks)) * n, rounds=np.repeat(range(n), tasks))


@pytest.mark.parametrize("neighbours", [None, 1, 2])
@pytest.mark.parametrize("variant", ["e", "t"])
def test_rows_are_brought_back_to_the_sum_one(variant, neighbours):
    parameters = {"alpha": 0.5, "C": 0.01, "lam": 3.0, "neighbours": neighbours, "condition": "active"}
    model = weft.Model(f"osmtl-{variant}", tasks=range(3), **parameters)
    model.learn(rounds(1))
    P = model.state.P[:3, : 3 if neighbours is None else neighbours + 2]
    assert P.sum(axis=1) == pytest.approx([1.0] * 3, rel=1e-12)
    P[0] *= OFF
    P[1] /= OFF
    wrong = P.sum(axis=1)
    model.learn(rounds(SETTLE - 2))
    P = model.state.P[:3, : P.shape[1]]
    assert model.state.updates[:3].tolist() == [SETTLE - 1] * 3
    assert P.sum(axis=1) == pytest.approx(wrong, rel=1e-12)  # steps hold the mass of a row, right or wrong
    assert wrong[0] - wrong[1] > 1e-3
    model.learn(rounds(1))
    P = model.state.P[:3, : P.shape[1]]
    assert model.state.updates[:3].tolist() == [SETTLE] * 3
    np.testing.assert_allclose(P.sum(axis=1), 1.0, rtol=0, atol=4e-16)
    P[2] *= OFF
    model.learn(rounds(SETTLE - 1))
    assert model.state.P[2, : P.shape[1]].sum() == pytest.approx(OFF, rel=1e-12)
    model.learn(rounds(1))
    np.testing.assert_allclose(model.state.P[:3, : P.shape[1]].sum(axis=1), 1.0, rtol=0, atol=4e-16)


@pytest.mark.parametrize("variant", ["e", "t"])
def test_a_row_keeps_its_proportions(variant):
    """Of two models, the second with a wrong row: after it has settled they are the same."""
    parameters = {"alpha": 0.5, "C": 0.01, "lam": 3.0, "condition": "active", "tasks": range(3)}
    right, wrong = (weft.Model(f"osmtl-{variant}", **parameters) for _ in range(2))
    for model in (right, wrong):
        model.learn(rounds(SETTLE - 1))
    wrong.state.P[:3] *= OFF
    for model in (right, wrong):
        model.learn(rounds(1))
    np.testing.assert_allclose(wrong.state.P[:3, :3], right.state.P[:3, :3], rtol=1e-12)
