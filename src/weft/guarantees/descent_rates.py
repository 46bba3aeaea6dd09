"""The regret bounds of multitask mirror descent tuned for similar tasks, evaluated on a run.

Cesa-Bianchi, Laforgue, Paudice and Pontil (2022), Multitask Online Mirror Descent, Propositions 2 and 5 to 8 and
Theorem 9. The tasks interact through the clique, A = I + b (I - J) with J = 1 1^T / N, the comparators have
|u_i| <= D and Var(u) <= sigma^2 D^2, and f = 1 + sigma^2 (N - 1). The gradients have |g_t|_* <= L; a round with
several active tasks counts as one gradient with A^-1_ii |g_t|_*^2 = e_t, the energy of `descent`. T is the number
of rounds, or the horizon that the learner was given, if that is larger.

The paper's Propositions 5 to 7 lack lambda, without which they do not follow; their constants are improved here
from 8 to 6 (general norms) and 4 (Euclidean), and from sqrt(8) to sqrt(4).
"""

import math

import numpy as np
from numpy.typing import ArrayLike

from weft.guarantees.descent import (
    TOLERANCE,
    Descent,
    comparator,
    comparator_losses,
    energy,
    geometry,
    per_round,
    regret,
)
from weft.guarantees.descent_bounds import at_minimum, constant_rate, hedge, hedge_inequality, only, rates
from weft.guarantees.measures import Floats, norms, row_norms, simplex_variance, variance
from weft.guarantees.shared_loss import Bound


def proposition2(
    run: Descent, U: ArrayLike, D: float, L: float, sigma: float, b: float | None = None, T: int | None = None
) -> Bound:
    """R(u) <= D L sqrt(T (1 + s b)(b + N)/(1 + b)), s = sigma^2 (N - 1)/N, for the Euclidean regulariser.

    Proposition 2, for every b: eta = (N D / L) sqrt((1 + s b)(1 + b)/((b + N) T)), x_1 = 0. Without b it is N, and
    the bound at most D L sqrt(f) sqrt(2 T). b = inf needs sigma = 0.
    """
    name, N = "Proposition 2", len(run.inverse)
    only(run, name, "mirror")
    if run.regularizer != "euclidean":
        raise ValueError(f"{name} is about the Euclidean regulariser, not about {run.regularizer!r}.")
    W, b, T = _similar(run, U, D, sigma, name), float(N) if b is None else b, _horizon(run, name, T)
    if b == math.inf and sigma > 0:
        raise ValueError(f"{name} with b = inf is about equal tasks: sigma must be 0, not {sigma:g}.")
    s = sigma**2 * (N - 1) / N
    price = 1 + s * b if s > 0 else 1.0
    diagonal = clique_diagonal(N, b)
    e = _checked(run, name, b, L)
    _needs_rate(run, e, name, D / L * math.sqrt(N * price / (diagonal * T)))
    return Bound(regret(run, W), D * L * math.sqrt(T * price * N * diagonal))


def proposition5(run: Descent, U: ArrayLike, D: float, L: float, sigma: float, T: int | None = None) -> Bound:
    """R(u) <= D L sqrt(f) sqrt(4 T / lambda), for a squared norm, b = N, eta = D sqrt(lambda N (N + 1) f / T) / L.

    Proposition 5 (which prints sqrt(8 T) and no lambda), x_1 = 0; the norm of D and of the variance is the p-norm.
    """
    name, N = "Proposition 5", len(run.inverse)
    only(run, name, "mirror")
    _needs_norm(run, name)
    W, f, T = _similar(run, U, D, sigma, name), 1 + sigma**2 * (N - 1), _horizon(run, name, T)
    e = _checked(run, name, N, L)
    _needs_rate(run, e, name, D * math.sqrt(run.lam * N * (N + 1) * f / T) / L)
    return Bound(regret(run, W), D * L * math.sqrt(f * 4 * T / run.lam))


def proposition6(run: Descent, U: ArrayLike, D: float, sigma: float) -> Bound:
    """R(u) <= K D sqrt(f / lambda) sqrt(G_T), G_t = sum_{s <= t} |g_s|_*^2, eta_t = D sqrt(lambda N (N + 1) f / G_t).

    Proposition 6, b = N. The points stay in |x_i| <= D, Var(x) <= sigma^2 D^2, or in the ball sum_i |y_i|^2 <= N D^2 f,
    where K = 4 for the Euclidean norm, or 2 N D^2 f, where K = 6 (the paper: 8, without lambda).
    """
    W, K, total = _adaptive(run, U, D, sigma, "Proposition 6")
    f = 1 + sigma**2 * (len(run.inverse) - 1)
    return Bound(regret(run, W), K * D * math.sqrt(f / run.lam * total))


def proposition7(run: Descent, U: ArrayLike, D: float, sigma: float) -> Bound:
    """R(u) <= 2 M K^2 D^2 f / lambda + K D sqrt(2 M f / lambda sum_t l_t(u)), for losses l >= 0 that are M-smooth.

    Proposition 7: rates and K of Proposition 6, one active task per round. M = max |phi|_*^2 / 4 for the logistic and
    2 max |phi|_*^2 for the square loss.
    """
    W, K, _ = _adaptive(run, U, D, sigma, "Proposition 7")
    if run.loss not in ("logistic", "square"):
        raise ValueError(f"Proposition 7 is about smooth losses, logistic and square, not about {run.loss}.")
    _one_at_a_time(run, "Proposition 7")
    labelled = ~np.isnan(run.y)
    M = (0.25 if run.loss == "logistic" else 2.0) * float(np.max(row_norms(run.X, geometry(run).q)[labelled])) ** 2
    scale = 2 * M * (K * D) ** 2 * (1 + sigma**2 * (len(run.inverse) - 1)) / run.lam
    star = float(np.sum(comparator_losses(run, W)))
    return Bound(regret(run, W), scale + math.sqrt(scale * star))


def proposition8(run: Descent, U: ArrayLike, L: float, sigma: float, T: int | None = None) -> Bound:
    """R(u) <= L sqrt(f) sqrt(2 C T / lambda) on the simplex, for Var_Delta(u) <= sigma^2.

    Proposition 8: b = (1 - sigma^2)/sigma^2 (0 from sigma = 1 on), eta = N sqrt(2 lambda C / (f T)) / L, x_1 = 1/d.
    C = ln d for the entropy, (1 - d^{2/p - 2})/2 for the p-norm.
    """
    name, (N, d), shape = "Proposition 8", (len(run.inverse), run.X.shape[1]), geometry(run)
    only(run, name, "mirror")
    if not shape.simplex:
        raise ValueError(f"{name} is about regularisers on the simplex, not about {run.regularizer!r}.")
    _positive(name, L=L)
    if not sigma >= 0:
        raise ValueError(f"{name} needs sigma >= 0, not {sigma:g}.")
    W, s2, T = comparator(run, U), min(sigma, 1.0) ** 2, _horizon(run, name, T)
    if simplex_variance(W) > s2 * (1 + TOLERANCE) + TOLERANCE:
        raise ValueError(f"{name} needs Var_Delta(u) <= sigma^2 = {s2:g}; it is {simplex_variance(W):g}.")
    at_minimum(run, name)
    e = _checked(run, name, (1 - s2) / s2 if s2 > 0 else math.inf, L)
    f, C = 1 + s2 * (N - 1), math.log(d) if shape.entropy else (1 - d ** (2 / shape.p - 2)) / 2
    _needs_rate(run, e, name, N * math.sqrt(2 * run.lam * C / (f * T)) / L)
    return Bound(regret(run, W), L * math.sqrt(f * 2 * C * T / run.lam))


def hedge_theorem9(run: Descent, U: ArrayLike, D: float, L: float, T: int | None = None) -> Bound:
    """R(u) <= D L (2 + sqrt(ln N) + sqrt(N min(Var_2(u)/D^2, 1))) sqrt(2 T), for Hedge over N experts.

    Theorem 9: expert k = 1, ..., N runs Proposition 2 with sigma^2 = k/N and b = N in the balls |x_i| <= D, and
    Hedge has eta_h = sqrt(8 ln N / T) / (2 D L). One active task per round.
    """
    name, N = "Theorem 9", len(run.inverse)
    only(run, name, "hedge")
    _positive(name, D=D, L=L)
    if run.regularizer != "euclidean" or run.ball > D * (1 + TOLERANCE):
        raise ValueError(f"{name} is about the Euclidean regulariser, with all x_i in a ball of length D.")
    W, T = comparator(run, U), _horizon(run, name, T)
    if np.max(norms(W, 2.0)) > D * (1 + TOLERANCE):
        raise ValueError(f"{name} needs |u_i| <= D = {D:g}; the longest is {np.max(norms(W, 2.0)):g}.")
    _needs_clique(run, name, N)
    _one_at_a_time(run, name)
    grid = np.arange(1, N + 1) / N
    if run.expert_variances is None or not np.array_equal(np.shape(run.expert_variances), grid.shape):
        raise ValueError(f"{name} needs N = {N} experts and their `expert_variances`.")
    if not np.allclose(np.sort(run.expert_variances), grid, rtol=0, atol=TOLERANCE):
        raise ValueError(f"{name} needs experts with sigma^2 = 1/N, 2/N, ..., 1.")
    if _steepest(run, D) > L * (1 + TOLERANCE):
        raise ValueError(
            f"{name} needs gradients of length at most L = {L:g}; in the ball there are {_steepest(run, D):g}."
        )
    hedge_inequality(run)  # checks that the weights are Hedge's, and the scores those of the mixture
    if not np.allclose(hedge(run)[2], math.sqrt(8 * math.log(N) / T) / (2 * D * L), rtol=TOLERANCE, atol=0):
        raise ValueError(f"{name} needs eta_h = sqrt(8 ln N / T) / (2 D L).")
    far = min(variance(W) / D**2, 1.0)
    return Bound(regret(run, W), D * L * (2 + math.sqrt(math.log(N)) + math.sqrt(N * far)) * math.sqrt(2 * T))


def clique_diagonal(N: int, b: float) -> float:
    """A^-1_ii = (b + N)/((1 + b) N) for A = I + b (I - J); 1/N at b = inf."""
    return 1 / N if b == math.inf else (b + N) / ((1 + b) * N)


# --- premises ---


def _similar(run: Descent, U: ArrayLike, D: float, sigma: float, name: str) -> Floats:
    """The comparator, where |u_i| <= D and Var(u) <= sigma^2 D^2."""
    _positive(name, D=D)
    if not 0 <= sigma < math.inf:
        raise ValueError(f"{name} needs sigma >= 0, not {sigma:g}.")
    W, p = comparator(run, U), geometry(run).p
    longest, spread = float(np.max(norms(W, p))), variance(W, p)
    if longest > D * (1 + TOLERANCE):
        raise ValueError(f"{name} needs |u_i| <= D = {D:g}; the longest is {longest:g}.")
    if spread > (sigma * D) ** 2 * (1 + TOLERANCE) + (TOLERANCE * D) ** 2:
        raise ValueError(f"{name} needs Var(u) <= sigma^2 D^2 = {(sigma * D) ** 2:g}; it is {spread:g}.")
    at_minimum(run, name)
    return W


def _adaptive(run: Descent, U: ArrayLike, D: float, sigma: float, name: str) -> tuple[Floats, int, float]:
    """The comparator, K, and the sum of |g_t|_*^2, where the rates and the points are those of Proposition 6."""
    only(run, name, "mirror")
    _needs_norm(run, name)
    W, N = _similar(run, U, D, sigma, name), len(run.inverse)
    f, e = 1 + sigma**2 * (N - 1), energy(run)
    _needs_clique(run, name, N)
    moving, eta = rates(run, e, name)
    squares = np.cumsum(e[moving]) / clique_diagonal(N, N)
    if not np.allclose(eta, D * np.sqrt(run.lam * N * (N + 1) * f / squares), rtol=1e-6, atol=0):
        raise ValueError(f"{name} needs eta_t = D sqrt(lambda N (N + 1) f / sum of |g|_*^2 up to t).")
    allowed = 1 + TOLERANCE
    held = run.ball <= D * allowed and run.spread <= (N - 1) * (sigma * D) ** 2 * allowed
    tight = D * math.sqrt(N * f)
    if geometry(run).p == 2 and (held or run.radius <= tight * allowed):
        return W, 4, float(squares[-1])
    if held or run.radius <= math.sqrt(2) * tight * allowed:
        return W, 6, float(squares[-1])
    raise ValueError(
        f"{name} needs points that stay within the set of comparators: a `radius`, or `ball` and `spread`."
    )


def _checked(run: Descent, name: str, b: float, L: float) -> Floats:
    """The energies, where A is the clique's with this b and no gradient is longer than L."""
    _positive(name, L=L)
    _needs_clique(run, name, b)
    e = energy(run)
    longest = math.sqrt(float(np.max(e, initial=0.0)) / clique_diagonal(len(run.inverse), b))
    if longest > L * (1 + TOLERANCE):
        raise ValueError(f"{name} needs gradients of length at most L = {L:g}; the longest is {longest:g}.")
    return e


def _needs_clique(run: Descent, name: str, b: float) -> None:
    N = len(run.inverse)
    own = 0.0 if b == math.inf else 1 / (1 + b)
    if not b >= 0 or not np.allclose(run.inverse, own * np.eye(N) + (1 - own) / N, rtol=0, atol=TOLERANCE):
        raise ValueError(f"{name} is about the clique, A = I + b (I - J), with b = {b:g}; this run has a different A.")
    if (run.root is None) != (b == math.inf):
        raise ValueError(f"{name}: `root` is None where b = inf, and only there; b = {b:g}.")


def _needs_norm(run: Descent, name: str) -> None:
    if geometry(run).simplex:
        raise ValueError(f"{name} is about squared norms on the whole space, not about {run.regularizer!r}.")


def _needs_rate(run: Descent, e: Floats, name: str, theory: float) -> None:
    eta = constant_rate(run, e, name)
    if not math.isclose(eta, theory, rel_tol=TOLERANCE):
        raise ValueError(f"{name} needs eta = {theory:g}, and this run used {eta:g}.")


def _one_at_a_time(run: Descent, name: str) -> None:
    if np.max(per_round(run, (~np.isnan(run.y)).astype(np.float64)), initial=0.0) > 1:
        raise ValueError(f"{name} is about rounds with one active task, and a round of this run has more.")


def _horizon(run: Descent, name: str, T: int | None) -> int:
    rounds = len(run.rounds) - 1
    if T is not None and rounds > T:
        raise ValueError(f"{name} is about T rounds, and the run has {rounds} where T = {T}.")
    return rounds if T is None else T


def _positive(name: str, **values: float) -> None:
    for symbol, number in values.items():
        if not 0 < number < math.inf:
            raise ValueError(f"{name} needs a finite {symbol} > 0, not {number:g}.")


def _steepest(run: Descent, D: float) -> float:
    """The longest gradient at points with |x_i| <= D."""
    labelled = ~np.isnan(run.y)
    phi = row_norms(run.X, 2.0)[labelled]
    slope = 2 * (D * phi + np.abs(run.y[labelled])) if run.loss == "square" else np.ones_like(phi)
    return float(np.max(slope * phi, initial=0.0))
