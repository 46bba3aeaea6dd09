"""Hedge-MT-OGD and Hedge-MT-EG (Sec. 3.4 and Theorem 9 of `mirror_descent`'s paper): the task variance unknown."""

import math

import numpy as np

from oracles.mirror_descent import Constant, Result, Rounds, build_ogd
from oracles.mirror_descent_simplex import Eg, simplex_interaction, simplex_theory_rate, softmax


def hedge(experts, stream, B, T=None, eta_h=None, before_round=None, keep=False):
    """Sec. 3.4: every expert suffers at its own iterate; the weights are exp(-eta_h losses), the models their mean.

    eta_h: a number, else sqrt(8 ln K/T)/B, without T sqrt(8 ln K/t)/B. t counts the rounds that had a label, and the
    one to come. `Result.eta` holds eta_h, `weights` those that made the prediction, `expert_losses` sums over a round.
    """
    n, K, last_round = len(stream.X), len(experts), len(stream.bounds) - 1
    result = Result(np.zeros(n), np.zeros(n), np.zeros((0, 0)), np.zeros(last_round), np.zeros(last_round))
    result.expert_losses, result.weights = np.zeros((last_round, K)), np.zeros((last_round, K))
    total, t = np.zeros(K), 1

    def mixture():
        rate = eta_h if eta_h is not None else math.sqrt(8 * math.log(K) / (t if T is None else T)) / B
        weights = softmax(-rate * total[None, :])[0]
        return rate, weights, sum(w * expert.models() for w, expert in zip(weights, experts, strict=True))

    for s, (first, last) in enumerate(stream):
        result.eta[s], result.weights[s], models = mixture()
        result.scores[first:last] = stream.scores(models, first, last)
        result.losses[first:last], _ = stream.suffer(models, first, last)
        if keep:
            result.iterates.append(models)
        if not stream.awake(first, last):
            continue
        for k, expert in enumerate(experts):
            losses, G = stream.suffer(expert.models(), first, last)
            result.expert_losses[s, k] = losses.sum()
            if before_round is not None:
                before_round(expert, t)
            if G.any():
                expert.move(G)
        total += result.expert_losses[s]
        t += 1
    result.X_tasks = mixture()[2]
    if keep:
        result.iterates.append(result.X_tasks)
    return result


VARIANCES = tuple(np.linspace(0.0, 1.0, 5))


def hedge_mt_ogd(
    X,
    y,
    task,
    rounds=None,
    *,
    N,
    D,
    L,
    T=None,
    variances=VARIANCES,
    eta_h=None,
    loss="logistic",
    epsilon=0.1,
    keep=False,
):
    """Experts: MT-OGD with b = N (0 at variance 1) in the product of balls; theory rates, without T adaptive ones."""
    stream = Rounds(X, y, task, rounds, N, loss, epsilon)
    common = {"A": None, "b": None, "D": D, "L": L, "T": T, "projection": "ball", "radius": None, "rule": "paper"}
    common["eta"] = "adaptive" if T is None else "theory"
    experts = [build_ogd(N, stream.X.shape[1], sigma=math.sqrt(v), **common) for v in variances]
    return hedge(experts, stream, 2 * D * L, T, eta_h, keep=keep)


def hedge_mt_eg(
    X, y, task, rounds=None, *, N, L, T=None, variances=VARIANCES, eta_h=None, loss="logistic", epsilon=0.1, keep=False
):
    """Experts: MT-EG with b and rate from its variance (Prop. 8); without T, the rate for T = t in round t."""
    stream = Rounds(X, y, task, rounds, N, loss, epsilon)
    d = stream.X.shape[1]

    def set_rate(expert, t):
        expert.rate = Constant(simplex_theory_rate(expert.geometry, math.log(d), 1.0, L, t if T is None else T))

    experts = [Eg(simplex_interaction(N, sigma=math.sqrt(v)), d, None) for v in variances]
    return hedge(experts, stream, 2 * L, T, eta_h, set_rate, keep)
