"""Options of the oracle of `adaptive` and `auto`: closed forms of what they keep, and what the hard cases reach."""

import math

import numpy as np
import pytest

from oracles.adaptive import BIAS, EPS, SEATS, SPREAD, Adaptive, Auto, clip, sigma
from oracles.adaptive_cases import case_of, correlated, stream

BOTH = pytest.mark.parametrize("loss", ["logistic", "square"])
KINDS = pytest.mark.parametrize("kind", [Auto, Adaptive])


class Recorded(Auto):
    """Remembers every gradient, with the number of its event."""

    def __init__(self, loss, **options):
        super().__init__(loss, **options)
        self.steps, self.stakes = {}, {}

    def step(self, w, acc, key, h, prior=0.0):
        self.steps.setdefault((id(acc), key), []).append((self.t, h))
        super().step(w, acc, key, h, prior)

    def stake(self, th, G, L, R, key, b, h):
        self.stakes.setdefault((id(th), key), []).append((self.t, h, b))
        super().stake(th, G, L, R, key, b, h)


@BOTH
@pytest.mark.parametrize("half_life", [1.0, 7.0, 100.0, math.inf])
def test_what_was_learned_counts_half_after_a_half_life(half_life, loss):
    """Every sum is the sum over all events, those that are `half_life` events old counting half; a maximum stays."""
    model = Recorded(loss, half_life=half_life)
    for k, row, y in stream(40, 60, loss):
        model.learn(row, y, k)
    weight = {t: 0.5 ** ((model.t - t + 1) / half_life) for t in range(1, model.t + 1)}  # 1 is the last event
    for acc in (model.gA, model.gA0, model.gO, model.gP):
        for key, found in acc.items():
            assert found == pytest.approx(sum(weight[t] * h * h for t, h in model.steps[id(acc), key]), rel=1e-12)
    for th, G, L, R in ((model.th, model.G, model.L, model.R), (model.th0, model.G0, model.L0, model.R0)):
        assert len(th) > 10
        for key, found in th.items():
            stakes = model.stakes[id(th), key]
            size = sum(weight[t] * abs(h) for t, h, _ in stakes)
            assert found == pytest.approx(-sum(weight[t] * h for t, h, _ in stakes), rel=1e-12, abs=1e-12 * size)
            assert G[key] == pytest.approx(size, rel=1e-12)
            assert L[key] == max(abs(h) for _, h, _ in stakes)
            won = 0.0
            for (t, h, b), (after, _, _) in zip(stakes, [*stakes[1:], (model.t + 1, 0, 0)], strict=True):
                won = max(won - h * b, 0.0) * 0.5 ** ((after - t) / half_life)
            assert R[key] == pytest.approx(won, rel=1e-11)
    assert all(h > weight[1] for h in model.H)  # the 1 at the start is forgotten like the rest


@BOTH
def test_own_steps_with_a_prior(loss):
    """Own parts move by eta h / sqrt(sum of h^2 + prior), shared ones as without it; a prior is not forgotten."""
    for half_life in (math.inf, 2.0):
        model = Recorded(loss, own_prior=0.3, half_life=half_life)
        for k, row, y in stream(41, 40, loss):
            model.learn(row, y, k)
        fade = 0.5 ** (1 / half_life)
        for w, acc, prior in ((model.wO, model.gO, 0.3), (model.wA, model.gA, 0.3), (model.wA0, model.gA0, 0.0)):
            for key, found in w.items():
                squares, last, expected = 0.0, 0, 0.0
                for t, h in model.steps[id(acc), key]:
                    squares = squares * fade ** (t - last) + h * h
                    last, expected = t, expected - model.eta * h / math.sqrt(squares + prior + EPS)
                assert found == pytest.approx(expected, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("kind", [Auto, Adaptive])
def test_second_order_is_ridge_regression(kind):
    """With squared loss, weights are those of ridge regression over all rows that were learned, P being its inverse."""
    model, rows, labels = kind("square", second_order=True), [], []
    for k, row, y in correlated("square"):
        view = model.view(model.row(row), k)
        seats = list(model.seats)
        if view.frame.ready:
            assert abs(view.e[-1]) < 8
            rows.append({j: view.z.get(j, 0.0) for j in seats})
            labels.append(clip((y - view.frame.mu) / view.frame.sd, -5, 5))
        model.learn(row, y, k)
    X = np.array([[row.get(j, 0.0) for j in model.seats] for row in rows])
    assert X.shape[1] == SEATS
    w = np.linalg.solve(X.T @ X + np.eye(SEATS) / SPREAD, X.T @ labels)
    np.testing.assert_allclose([model.wN[j] for j in model.seats], w, rtol=0, atol=1e-9)
    assert abs(w).max() > 0.1


def test_second_order_is_a_kalman_filter():
    """With log-loss, in the form that keeps the covariance P: gain P x / (1 + r x.Px), from the errors of its own p."""
    model, P, w, seats = Auto(second_order=True), np.eye(1) * SPREAD, np.zeros(1), 1
    for k, row, y in correlated("logistic", columns=6):
        view = model.view(model.row(row), k)
        x = np.array([view.z.get(j, 0.0) for j in model.seats])
        assert view.e[-1] == pytest.approx(w @ x, rel=1e-9, abs=1e-9)
        p = sigma(w @ x)
        r, Px = p * (1 - p), P @ x
        w = w + Px * ((y > 0) - p) / (1 + r * x @ Px)
        P = P - np.outer(Px, Px) * r / (1 + r * x @ Px)
        model.learn(row, y, k)
        more, seats = len(model.seats) - seats, len(model.seats)
        P, w = (
            np.block([[P, np.zeros((len(P), more))], [np.zeros((more, len(P))), SPREAD * np.eye(more)]]),
            np.append(w, np.zeros(more)),
        )
    assert model.seats == [BIAS, *(f"f{j}" for j in sorted(range(6), key=lambda j: model.ids[f"f{j}"]))]
    np.testing.assert_allclose([model.wN[j] for j in model.seats], w, rtol=0, atol=1e-9)


@KINDS
@BOTH
def test_second_order_of_dense_features_only(kind, loss):
    """A feature gets a seat when it is dense, and keeps it."""
    model = kind(loss, second_order=True)
    for k, row, y in case_of("columns that stop being dense", loss)[:180]:
        before = list(model.seats)
        model.learn(row, y, k)
        assert model.seats[: len(before)] == before
        assert set(model.seats[len(before) :]) <= {*model.dense_list} & {*row}
    assert not model.dense_list
    assert [j for j in model.seats[1:] if j[0] == "c"]


def largest(case, loss, kind=Auto):
    """The largest scores of the experts, the largest of the stack, the least rate of a mixture."""
    model, e, s, rate = kind(loss), [0.0] * 4, 0.0, 1.0
    for k, row, y in case_of(case, loss):
        view = model.view(model.row(row), k)
        e = [max(a, abs(b)) for a, b in zip(e, view.e, strict=True)]
        s = max(s, abs(view.s))
        model.learn(row, y, k)
        rate = min(rate, model.eta_k.get(k, 1.0))
    return e, s, rate


def test_cases_reach_what_they_are_for():
    assert min(largest("very sure", "logistic")[0]) > 14
    assert largest("one_sided, seed 0", "logistic")[1] > 14
    assert max(largest("one large outlier", "square")[0]) > 1e50
    assert largest("jumping, seed 1", "square")[2] < 0.9
    model = Auto("square")
    for k, row, y in case_of("labels that stop varying", "square"):
        model.learn(row, y, k)
    assert not model.frame(0).ready
    assert max(map(abs, model.view({}, 0).e)) > 0.01
    model, most = Auto("square", second_order=True), 0.0
    for k, row, y in case_of("columns that part", "square"):
        most = max(most, abs(model.view(model.row(row), k).e[-1]))
        model.learn(row, y, k)
    assert most > 9
