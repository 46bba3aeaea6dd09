"""Regret bounds of Hedge over multitask gradient descent, on a small dense run of it."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from oracles import dense_descent as dense
from weft.evaluation import Descent, hedge_inequality, hedge_theorem9, loss_and_slope, theorem1

seeds, kinds = st.integers(0, 2**32 - 1), st.sampled_from(["random", "alternating", "flooded", "against"])
few = settings(max_examples=25, deadline=None)


def clipped(z, D):
    return z * np.minimum(1.0, D / np.maximum(np.linalg.norm(z, axis=1), D))[:, None]


def into_balls(z, b, D):
    """The projection on |x_i| <= D in the norm of the clique's A: x_i = Proj(z_i + b/(1+b) (mean x - mean z))."""
    x = clipped(z, D)
    for _ in range(300 if np.any(x != z) else 0):
        x = clipped(z + b / (1 + b) * (x.mean(axis=0) - z.mean(axis=0)), D)
    return x


def play(kind, seed, N, d, T, loss="absolute", D=1.0, L=1.0, anytime=False, lie=1.0):
    """Hedge over N experts with sigma^2 = k/N, each MT-OGD with b = N in the balls of length D."""
    draw, inverse = dense.adversary(kind, seed, N, d, loss), dense.clique(N, N)[0]
    grid = np.arange(1, N + 1) / N
    eta = D / L * np.sqrt(N * (N + 1) * (1 + (N - 1) * grid) / (2 * T))
    x, past, kept = np.zeros((N, N, d)), np.zeros(N), []  # expert, task, feature
    for t in range(T):
        eta_h = math.sqrt(8 * math.log(N) / (t + 1 if anytime else T)) / (2 * D * L)
        p = np.exp(-lie * eta_h * (past - past.min()))
        p /= p.sum()
        (i,), phi, y = draw(t, np.tensordot(p, x, 1))
        a = x[:, i] @ phi[0]
        l, slope = loss_and_slope(loss, a, np.full(N, y[0]))
        kept.append((i, phi[0], y[0], p @ a, l, p, eta_h))
        past += l
        for k in range(N):
            x[k] = into_balls(x[k] - eta[k] * slope[k] * inverse[:, i][:, None] * phi[0], N, D)
    task, X, y, scores, losses, weights, eta_h = map(np.array, zip(*kept, strict=True))
    return Descent(
        X=X, y=y, task=task, rounds=np.arange(T + 1), scores=scores, eta=np.zeros(T), inverse=inverse,
        root=dense.clique(N, N)[1], loss=loss, update="hedge", ball=D, expert_losses=losses, expert_weights=weights,
        eta_h=eta_h, expert_variances=grid,
    )  # fmt: skip


@few
@given(
    seeds,
    st.integers(1, 4),
    st.integers(1, 3),
    kinds,
    st.booleans(),
    st.sampled_from(["absolute", "logistic", "linear"]),
)
def test_hedge(seed, N, d, kind, anytime, loss):
    run = play(kind, seed, N, d, 25, loss, anytime=anytime)
    bound = hedge_inequality(run)
    assert bound.holds
    own = np.where(np.isnan(run.y), 0, loss_and_slope(loss, run.scores, run.y)[0])
    assert bound.left == pytest.approx(own.sum() - run.expert_losses.sum(axis=0).min(), abs=1e-9)
    width = np.ptp(run.expert_losses, axis=1)
    first = math.log(N) / run.eta_h[-1] if N > 1 else 0
    assert bound.right == pytest.approx(first + np.sum(run.eta_h * width**2) / 8)


@few
@given(seeds, st.integers(1, 4), st.integers(1, 3), kinds, st.floats(0, 1.2))
def test_theorem9(seed, N, d, kind, sigma):
    T, run = 25, play(kind, seed, N, d, 25)
    U = dense.similar(np.random.default_rng(seed), N, d, 1.0, sigma)
    bound = hedge_theorem9(run, U, 1.0, 1.0)
    assert bound.holds
    v = np.sum((U - U.mean(axis=0)) ** 2) / (N - 1) if N > 1 else 0
    assert bound.right == pytest.approx((2 + math.sqrt(math.log(N)) + math.sqrt(N * min(v, 1))) * math.sqrt(2 * T))


def hedged(losses, eta, lie=1.0):
    """One task without features: Hedge alone, on a table of losses, with linear scores."""
    past = np.cumsum(losses, axis=0) - losses
    p = np.exp(-eta * past)
    p /= p.sum(axis=1, keepdims=True)
    T = len(losses)
    scores = lie * np.sum(p * losses, axis=1)
    return Descent(
        X=np.ones((T, 1)), y=np.ones(T), task=np.zeros(T, int), rounds=np.arange(T + 1), scores=scores, eta=np.ones(T),
        inverse=np.eye(1), root=np.eye(1), loss="linear", update="hedge", expert_losses=losses, expert_weights=p,
        eta_h=np.full(T, eta),
    )  # fmt: skip


@few
@given(seeds, st.integers(1, 5), st.floats(0.01, 5))
def test_hedge_on_any_losses(seed, K, eta):
    losses = np.random.default_rng(seed).normal(size=(20, K))
    losses[1::2] = -losses[::2] if seed % 2 else losses[1::2]
    assert hedge_inequality(hedged(losses, eta)).holds


def test_hedge_needs_half_of_its_right_side():
    """Two experts that win in turn, and then one of them: the left side is above half of the bound."""
    T = 400
    losses = np.stack([np.arange(T) % 2, 1 - np.arange(T) % 2], axis=1).astype(float)
    losses[T // 2 :] = [0.0, 1.0]
    bound = hedge_inequality(hedged(losses, math.sqrt(8 * math.log(2) / T)))
    assert bound.holds
    assert bound.left > 0.5 * bound.right


def test_what_is_not_hedge_is_refused():
    run = play("random", 3, 3, 2, 20)
    for change, text in (
        ({"expert_losses": None}, "needs `expert_losses`, `expert_weights` and `eta_h`"),
        ({"expert_losses": run.expert_losses[:5]}, "one row per round"),
        ({"expert_losses": np.zeros((20, 0)), "expert_weights": np.zeros((20, 0))}, "one row per round"),
        ({"expert_weights": run.expert_weights[::-1]}, "not those of Hedge"),
        ({"expert_weights": play("random", 3, 3, 2, 20, lie=-1.0).expert_weights}, "not those of Hedge"),
        ({"scores": run.scores + 9}, "a loss is above the experts' mean"),
        ({"eta_h": np.zeros(20)}, "`eta_h` must be above 0"),
        ({"eta_h": np.linspace(1, 2, 20)}, "rates that do not increase"),
        ({"update": "mirror"}, "about the update 'hedge'"),
    ):
        with pytest.raises(ValueError, match=text):
            hedge_inequality(run._replace(**change))
    with pytest.raises(ValueError, match="about the update 'mirror', not about 'hedge'"):
        theorem1(run, np.zeros((3, 2)))


def test_one_expert_in_one_round():
    assert hedge_inequality(play("random", 3, 1, 2, 1)).holds


def test_the_premises_of_theorem9():
    run, U = play("random", 3, 3, 2, 20), np.zeros((3, 2))
    assert hedge_theorem9(run, U, 1.0, 1.0).holds
    for change, text in (
        ({"ball": math.inf}, "all x_i in a ball of length D"),
        ({"expert_variances": None}, "needs N = 3 experts"),
        ({"expert_variances": np.linspace(0, 1, 5)}, "needs N = 3 experts"),
        ({"expert_variances": np.linspace(0, 1, 3)}, "sigma\\^2 = 1/N, 2/N, ..., 1"),
        ({"inverse": np.eye(3), "root": np.eye(3)}, "this run has a different A"),
        ({"X": 2 * run.X}, "length at most L = 1; in the ball there are 2"),
        ({"rounds": np.arange(0, 22, 2)}, "one active task"),
    ):
        with pytest.raises(ValueError, match=text):
            hedge_theorem9(run._replace(**change), U, 1.0, 1.0)
    with pytest.raises(ValueError, match="needs eta_h = "):
        hedge_theorem9(run, U, 1.0, 1.0, T=30)
    with pytest.raises(ValueError, match="a row longer than the run's ball"):
        hedge_theorem9(run, U + 1, 1.0, 1.0)
    with pytest.raises(ValueError, match="needs eta_h = "):
        hedge_theorem9(play("random", 3, 3, 2, 20, anytime=True), U, 1.0, 1.0)


def test_theorem9_finds_experts_out():
    """Experts that never move, with the weights and rates of Theorem 9: only their regret shows it."""
    N, T = 2, 200
    losses, grid = np.ones((T, N)), np.array([0.5, 1.0])
    run = Descent(
        X=np.ones((T, 1)), y=np.ones(T), task=np.arange(T) % 2, rounds=np.arange(T + 1), scores=np.zeros(T),
        eta=np.ones(T), inverse=dense.clique(N, N)[0], root=dense.clique(N, N)[1], loss="absolute", update="hedge",
        ball=1.0, expert_losses=losses, expert_weights=np.full((T, N), 0.5), expert_variances=grid,
        eta_h=np.full(T, math.sqrt(8 * math.log(2) / T) / 2),
    )  # fmt: skip
    assert hedge_inequality(run).holds
    assert not hedge_theorem9(run, np.ones((2, 1)), 1.0, 1.0).holds
