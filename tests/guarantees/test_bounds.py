"""The bounds of the shared-loss learners: their quantities, and what they refuse."""

import warnings
from itertools import pairwise

import numpy as np
import pytest

import weft
from oracles import shared_loss as oracle
from weft.guarantees import shared_loss as bounds

LOSSES = ("hinge", "epsilon-insensitive", "uniclass")


def record(algorithm, seed=1, loss="hinge", **parameters):
    X, y, task, rounds, U = oracle.problem(seed, rounds=12, loss=loss)
    return bounds.record(weft.Model(algorithm, loss=loss, **parameters), weft.Stream(X, y, task, rounds=rounds)), U


def by_hand(loss, X, y, slot, W, epsilon):
    """Losses of fixed weights, row by row."""
    if loss == "uniclass":
        return np.maximum(0, np.linalg.norm(X - W[slot], axis=1) - epsilon)
    s = (X * W[slot]).sum(axis=1)
    l = np.maximum(0, 1 - y * s) if loss == "hinge" else np.maximum(0, np.abs(y - s) - epsilon)
    return np.where(np.isnan(y) | ((y == 0) & (loss == "hinge")), 0, l)


@pytest.mark.parametrize("loss", LOSSES)
def test_every_side_by_hand(loss):
    X, y, task, rounds, U = oracle.problem(2, rounds=12, loss=loss)
    slot, edges = np.array([int(name[5:]) for name in task]), oracle.bounds_of_rounds(len(task), rounds)
    stream = weft.Stream(X, y, task, rounds=rounds)
    star = by_hand(loss, X, y, slot, U, 0.3)
    awake = np.ones(len(X), bool) if y is None else ~np.isnan(y) & ((y != 0) | (loss != "hinge"))
    R = 1.0 if loss == "uniclass" else np.sqrt((X[awake] ** 2).sum(axis=1).max())
    most = max(awake[a:b].sum() for a, b in pairwise(edges))

    def total(l, norm):
        return np.cumsum([oracle.norm_value(norm, l[a:b]) for a, b in pairwise(edges)])

    for norm in ("l1", "l1.5", "2-max", "k(1,2,1.2)"):
        rho, size, C = oracle.remoteness(norm, most), (U**2).sum(), 0.1
        expected = {name: oracle.run(name, X, y, task, rounds, norm=norm, C=C, loss=loss, epsilon=0.3)[2]
                    for name in ("finite-horizon", "infinite-horizon", "implicit")}  # fmt: skip
        runs = {
            name: bounds.record(weft.Model(name, norm=norm, C=C, loss=loss, epsilon=0.3), stream) for name in expected
        }
        for name, run in runs.items():
            l, tau, n2, _ = expected[name].T
            bound = bounds.lemma1(run, U)
            steps = np.cumsum(2 * tau * l - tau**2 * n2)[edges[1:] - 1]
            np.testing.assert_allclose(bound.right, size + 2 * C * total(star, norm), rtol=1e-6)
            if name != "implicit":  # where the steps of zero rows are unique
                np.testing.assert_allclose(bound.left, steps, rtol=1e-6)
            np.testing.assert_allclose(np.cumsum(run.global_loss), total(l, norm), rtol=1e-6)
        for name in ("finite-horizon", "implicit"):
            bound = bounds.theorem4(runs[name], U)
            assert bound.left == pytest.approx(total(expected[name][:, 0], norm)[-1], rel=1e-6)
            right = size / (2 * C) + total(star, norm)[-1] + 12 * R**2 * C * rho**2 / 2
            assert bound.right == pytest.approx(right, rel=1e-9)
        for name in ("infinite-horizon", "implicit"):
            bound = bounds.theorem6(runs[name], U)
            g = np.diff(total(expected[name][:, 0], norm), prepend=0.0)
            left = np.where(g <= R**2 * C * rho**2, g**2 / (R**2 * rho**2), C * g)
            np.testing.assert_allclose(bound.left, np.cumsum(left), rtol=1e-6)
            np.testing.assert_allclose(bound.right, 2 * C * total(star, norm) + size, rtol=1e-9)
        both = bounds.theorem9(runs["implicit"], U)
        np.testing.assert_array_equal(both.left[1:], bounds.theorem6(runs["implicit"], U).left)
        assert (both.left[0], both.right[0]) == bounds.theorem4(runs["implicit"], U)


def test_the_corollaries_by_hand():
    X, y, task, rounds, U = oracle.problem(3, rounds=12, absent=0.0, marked=0.0)
    X /= np.sqrt((X**2).sum(axis=1).max()) / 2
    stream, star = weft.Stream(X, y, task, rounds=rounds), np.zeros(12)
    for t in range(12):
        rows = rounds == t
        star[t] = oracle.norm_value("l1", by_hand("hinge", X[rows], y[rows], np.arange(4), U, 0))
    run = bounds.record(weft.Model("finite-horizon", norm="l1", T=16, R=2.0), stream)
    bound = bounds.corollary5(run, U)
    assert bound.right == pytest.approx(star.sum() + 4 / 2 * (4 * (U**2).sum() + 4), rel=1e-12)
    assert bound.left == pytest.approx(run.global_loss.sum(), rel=1e-12)
    run = bounds.record(weft.Model("infinite-horizon", norm="l1", R=2.0), stream)
    bound = bounds.corollary7(run, U)
    np.testing.assert_allclose(bound.right, 2 * np.cumsum(star) + 16 * (U**2).sum(), rtol=1e-12)
    np.testing.assert_allclose(bound.left, np.cumsum(np.minimum(run.global_loss, run.global_loss**2)), rtol=1e-12)


def test_a_bound_holds_up_to_rounding():
    assert bounds.Bound(1.0, 1.0).holds
    assert bounds.Bound(1.0 + 1e-10, 1.0).holds
    assert not bounds.Bound(1.0 + 1e-8, 1.0).holds
    assert not bounds.Bound(np.array([0.0, 2.0]), np.array([1.0, 1.0])).holds
    assert not bounds.Bound(np.nan, 1.0).holds
    np.testing.assert_array_equal(bounds.Bound(np.array([0.0, 2.0]), np.array([1.0, 1.0])).slack, [1.0, -1.0])


def test_a_theorem_is_refused_to_an_algorithm_that_it_is_not_about():
    finite, U = record("finite-horizon", C=0.1)
    infinite, _ = record("infinite-horizon", C=0.1)
    implicit, _ = record("implicit", C=0.1)
    for theorem in (bounds.theorem6, bounds.corollary7, bounds.theorem9):
        with pytest.raises(ValueError, match="not about finite-horizon"):
            theorem(finite, U)
    for theorem in (bounds.theorem4, bounds.corollary5, bounds.theorem9):
        with pytest.raises(ValueError, match="not about infinite-horizon"):
            theorem(infinite, U)
    for theorem in (bounds.lemma1, bounds.theorem4, bounds.theorem6, bounds.theorem9):
        assert theorem(implicit, U).holds


def test_a_corollary_is_refused_where_c_is_another():
    run, U = record("finite-horizon", C=0.1)
    with pytest.raises(ValueError, match=r"Corollary 5 needs C = 1/\(sqrt\(T\) R\^2\)"):
        bounds.corollary5(run, U)
    run, U = record("infinite-horizon", C=0.1)
    with pytest.raises(ValueError, match=r"Corollary 7 needs C = 1/\(R\^2 rho\^2\)"):
        bounds.corollary7(run, U)
    run, U = record("finite-horizon", T=5, R=50.0)
    with pytest.raises(ValueError, match="the run has 12 where T = 5"):
        bounds.corollary5(run, U)


def test_the_default_c_of_the_first_round_gives_theorem6_and_not_corollary7():
    # One round with a short row sets C too high: with it Corollary 7 would be false.
    X, y = np.array([[0.01], [1.0]]), np.array([1.0, -1.0])
    run = bounds.record(weft.Model("infinite-horizon", norm="l1"), weft.Stream(X, y, ["a", "a"]))
    assert bounds.theorem6(run, [[0.0]]).holds
    with pytest.raises(ValueError, match="Corollary 7 needs"):
        bounds.corollary7(run, [[0.0]])


def test_a_row_longer_than_r_voids_theorem6():
    X, y = np.array([[1.0], [3.0]]), np.array([1.0, -1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        run = bounds.record(weft.Model("infinite-horizon", norm="l1", R=1.0, C=0.5), weft.Stream(X, y, ["a", "a"]))
    with pytest.raises(ValueError, match="row of length 3 where R = 1"):
        bounds.theorem6(run, [[0.0]])


def test_zero_rows_only():
    stream = weft.Stream(np.zeros((2, 1)), [1, -1], ["a", "b"], rounds=[0, 0])
    run = bounds.record(weft.Model("implicit"), stream)
    assert bounds.lemma1(run, np.zeros((2, 1))).holds
    with pytest.raises(ValueError, match="no C to bound"):
        bounds.theorem4(run, np.zeros((2, 1)))
    run = bounds.record(weft.Model("implicit", C=1.0), stream)
    assert bounds.theorem4(run, np.zeros((2, 1))).holds
    with pytest.raises(ValueError, match="a non-zero row"):
        bounds.theorem6(run, np.zeros((2, 1)))


def test_comparators_of_the_wrong_shape_and_kernels_are_refused():
    run, U = record("implicit", C=0.1)
    with pytest.raises(ValueError, match="comparator has shape"):
        bounds.lemma1(run, U[:2])
    run, U = record("implicit", C=0.1, kernel="linear")
    with pytest.raises(ValueError, match="kernel form has no weights"):
        bounds.lemma1(run, U)


def test_only_a_fresh_shared_loss_model_is_recorded():
    X, y, task, rounds, _ = oracle.problem(4, rounds=3)
    stream = weft.Stream(X, y, task, rounds=rounds)
    model = weft.Model("implicit")
    model.learn(stream)
    with pytest.raises(ValueError, match="new model"):
        bounds.record(model, stream)
    with pytest.raises(ValueError, match="perceptron has others or none"):
        bounds.record(weft.Model("perceptron"), stream)
