"""The regret bounds of multitask mirror descent with any interaction matrix, evaluated on a run.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Multitask Online Mirror Descent; the symbols are those of
`descent`. The bounds are sharper than printed: where the paper has max_i A^-1_ii |g_t|_*^2 they have the energy
e_t = sum_k |sum_i A^{-1/2}_{ki} g_i|_*^2, which is A^-1_ii |g_t|_*^2 for one active task i, and covers rounds with
several. A round without a gradient moves nothing and adds no regret; its rate does not count.

>>> import numpy as np
>>> from weft.guarantees.descent import Descent
>>> I = np.eye(1)
>>> run = Descent(X=np.ones((2, 1)), y=np.ones(2), task=np.zeros(2, int), rounds=np.arange(3), loss="linear",
...               scores=np.array([0.0, -0.5]), eta=np.full(2, 0.5), inverse=I, root=I)
>>> theorem1(run, [[-1.0]])
Bound(left=1.5, right=1.5)
"""

import math

import numpy as np
from numpy.typing import ArrayLike, NDArray

from weft.guarantees.descent import (
    TOLERANCE,
    UPDATES,
    Descent,
    comparator,
    divergence,
    energy,
    geometry,
    iterate,
    losses,
    mirror,
    per_round,
    regret,
    starting_point,
    value,
)
from weft.guarantees.measures import Floats, products
from weft.guarantees.shared_loss import Bound


def theorem1(run: Descent, U: ArrayLike) -> Bound:
    """R(u) <= B_Psi(A^{1/2} u, A^{1/2} x_1) / eta + eta / (2 lambda) sum_t e_t, for one eta (Theorem 1, Eq. 11)."""
    only(run, "Theorem 1", "mirror")
    W, e = comparator(run, U), energy(run)
    eta = constant_rate(run, e, "Theorem 1")
    first = divergence(run, mirror(run, W), mirror(run, starting_point(run)))
    return Bound(regret(run, W), first / eta + eta / (2 * run.lam) * float(np.sum(e)))


def theorem1_varying(run: Descent, U: ArrayLike) -> Bound:
    """R(u) <= max_t B_Psi(A^{1/2} u, A^{1/2} x_t) / eta_T + sum_t eta_t e_t / (2 lambda), for non-increasing eta_t.

    Theorem 1, Eq. 12, which as printed, with max_t (B_t / eta_t), is false: summing B_t (1/eta_t - 1/eta_{t-1}) gives
    (max_t B_t) / eta_T.
    """
    only(run, "Theorem 1", "mirror")
    W, e = comparator(run, U), energy(run)
    moving, eta = rates(run, e, "Theorem 1")
    _not_increasing(eta, "Theorem 1")
    _same_points(run)
    Y = mirror(run, W)
    farthest = max(divergence(run, Y, mirror(run, iterate(run, t))) for t in np.flatnonzero(moving).tolist())
    return Bound(regret(run, W), farthest / float(eta[-1]) + float(np.sum(eta * e[moving])) / (2 * run.lam))


def ftrl(run: Descent, U: ArrayLike) -> Bound:
    """R(u) <= (Psi(A^{1/2} u) - min Psi) / eta_T + sum_t eta_t e_t / (2 lambda): follow the regularised leader.

    Sec. 4; Orabona (2019), Sec. 7. eta_t does not increase, and was chosen before g_t was seen. x_1 minimises Psi.
    """
    only(run, "The bound of FTRL", "leader")
    W, e = comparator(run, U), energy(run)
    moving, eta = rates(run, e, "The bound of FTRL")
    _not_increasing(eta, "The bound of FTRL")
    at_minimum(run, "The bound of FTRL")
    least = value(run, mirror(run, starting_point(run)))
    first = (value(run, mirror(run, W)) - least) / float(eta[-1])
    return Bound(regret(run, W), first + float(np.sum(eta * e[moving])) / (2 * run.lam))


def hedge_inequality(run: Descent) -> Bound:
    """sum_t l_t(x_t) - min_k sum_t l_t(x^k_t) <= ln K / eta_T + (1/8) sum_t eta_t r_t^2, r_t = max_k l - min_k l.

    Hedge over K experts with non-increasing rates eta_t, `eta_h`: p_k is proportional to exp(-eta_t sum of its losses
    before t), and the prediction is that of sum_k p_k x^k (Sec. 3.4).
    """
    only(run, "The inequality of Hedge", "hedge")
    expert, weights, eta = hedge(run)
    own = per_round(run, losses(run))
    mixed = np.sum(weights * expert, axis=1)
    if np.any(own > mixed + TOLERANCE * (1 + np.abs(mixed))):
        raise ValueError("The scores are not those of the weighted experts: a loss is above the experts' mean.")
    width = np.max(expert, axis=1, initial=-math.inf) - np.min(expert, axis=1, initial=math.inf)
    K = expert.shape[1]
    first = math.log(K) / float(eta[-1]) if K > 1 else 0.0
    right = first + float(np.sum(eta * width**2)) / 8
    return Bound(float(np.sum(own) - np.min(np.sum(expert, axis=0))), right)


# --- premises ---


def only(run: Descent, name: str, update: str) -> None:
    """Refuses a run with another update."""
    if run.update not in UPDATES:
        raise ValueError(f"update is one of {', '.join(UPDATES)}, not {run.update!r}.")
    if run.update != update:
        raise ValueError(f"{name} is about the update {update!r}, not about {run.update!r}.")


def rates(run: Descent, e: Floats, name: str) -> tuple[NDArray[np.bool_], Floats]:
    """The rounds with a gradient, and their rates."""
    eta = np.asarray(run.eta, dtype=np.float64)
    if eta.shape != e.shape:
        raise ValueError(f"eta has shape {eta.shape}; the run has {len(e)} rounds, and each needs its rate.")
    moving = e > 0
    if not np.any(moving):
        raise ValueError(f"{name} needs a rate, and no round of this run has a gradient.")
    used = eta[moving]
    if not np.all((used > 0) & np.isfinite(used)):
        raise ValueError(f"{name} needs rates that are finite and above 0.")
    return moving, used


def constant_rate(run: Descent, e: Floats, name: str) -> float:
    """The one eta of all rounds."""
    used = rates(run, e, name)[1]
    if np.max(used) > np.min(used) * (1 + TOLERANCE):
        raise ValueError(
            f"{name} needs one eta for all rounds, and this run used {np.min(used):g} to {np.max(used):g}."
        )
    return float(used[0])


def at_minimum(run: Descent, name: str) -> None:
    """Refuses a start that does not minimise Psi: 0, or 1/d on the simplex."""
    least = 1 / run.X.shape[1] if geometry(run).simplex else 0.0
    if np.max(np.abs(starting_point(run) - least), initial=0.0) > TOLERANCE * least:
        raise ValueError(f"{name} needs a start at {'1/d' if least else '0'}.")


def hedge(run: Descent) -> tuple[Floats, Floats, Floats]:
    """Losses, weights and rates of Hedge, after checking that the weights follow from the rates and losses."""
    if run.expert_losses is None or run.expert_weights is None or run.eta_h is None:
        raise ValueError("Hedge's record needs `expert_losses`, `expert_weights` and `eta_h`.")
    expert, eta = np.asarray(run.expert_losses, dtype=np.float64), np.asarray(run.eta_h, dtype=np.float64)
    weights, T = np.asarray(run.expert_weights, dtype=np.float64), len(run.rounds) - 1
    if expert.ndim != 2 or expert.shape != weights.shape or len(expert) != T or eta.shape != (T,) or expert.size == 0:
        raise ValueError("`expert_losses` and `expert_weights` have one row per round, one column per expert.")
    if expert.shape[1] > 1 and not np.all((eta > 0) & np.isfinite(eta)):
        raise ValueError("`eta_h` must be above 0, and finite.")
    _not_increasing(eta, "The inequality of Hedge")
    exponent = -eta[:, None] * (np.cumsum(expert, axis=0) - expert)
    odds = np.exp(exponent - np.max(exponent, axis=1, keepdims=True))
    if not np.allclose(weights, odds / np.sum(odds, axis=1, keepdims=True), rtol=1e-6, atol=1e-9):
        raise ValueError("`expert_weights` are not those of Hedge: exp(-eta_h sum of losses before t), normalised.")
    return expert, weights, eta


def _not_increasing(eta: Floats, name: str) -> None:
    if np.any(eta[1:] > eta[:-1] * (1 + TOLERANCE)):
        raise ValueError(f"{name} needs rates that do not increase.")


def _same_points(run: Descent) -> None:
    """Refuses iterates that do not begin at the start, or whose scores are not those recorded."""
    if np.max(np.abs(iterate(run, 0) - starting_point(run)), initial=0.0) > TOLERANCE:
        raise ValueError("The first of `iterates` is not `start`.")
    for t, (a, b) in enumerate(zip(run.rounds[:-1], run.rounds[1:], strict=True)):
        scores = products(run.X[a:b], iterate(run, t), run.task[a:b])
        if not np.allclose(scores, run.scores[a:b], rtol=1e-6, atol=1e-9):
            raise ValueError(f"The scores of round {t} are not those of `iterates`.")
