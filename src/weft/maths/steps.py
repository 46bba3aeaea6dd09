"""The update weights tau of a round with a shared loss: w_j += tau_j v_j (Dekel, Long and Singer 2007).

All three take the losses l >= 0 of the tasks active in the round and fill tau, with tau >= 0, tau_j = 0
where l_j = 0, and dual norm at most C. `n2` holds the squared lengths of the update directions.
"""

from weft.compiled.jit import compiled, helper
from weft.maths.implicit import lp_ball, two_balls
from weft.maths.norm_codes import LP, RMAX, NormCode, conjugate, maximize, norm_dual, remoteness, simplify
from weft.maths.r_max import clipped, r_max_balls
from weft.maths.vectors import Vector


@compiled
def finite_horizon(norm: NormCode, l: Vector, C: float, tau: Vector) -> None:
    """The maximiser of tau.l with dual norm C (Eq. 9 to 12)."""
    maximize(norm, l, tau)
    for j in range(len(l)):
        tau[j] *= C


@compiled
def infinite_horizon(norm: NormCode, l: Vector, n2: Vector, C: float, R: float, tau: Vector) -> None:
    """The same direction with dual norm min(C, ||l|| / (R^2 rho^2)) (Eq. 16).

    R bounds the lengths of all instances; if it is not positive (or NaN), the longest of this round takes
    its place, and a round without any length is skipped.
    """
    maximize(norm, l, tau)
    g, longest = 0.0, 0.0
    for j in range(len(l)):
        g += tau[j] * l[j]
        longest = max(longest, n2[j])
    rho = remoteness(norm, len(l)) if len(l) > 0 else 1.0
    reach = (R * R if R > 0.0 else longest) * rho * rho
    step = 0.0
    if reach > 0.0:
        step = C if g >= C * reach else g / reach
    for j in range(len(l)):
        tau[j] *= step


@compiled
def implicit(norm: NormCode, l: Vector, n2: Vector, C: float, tau: Vector) -> None:
    """The maximiser of sum_j (2 tau_j l_j - tau_j^2 n2_j) with dual norm at most C (Eq. 23 and Lemma 8)."""
    count, last = 0, 0
    for j in range(len(l)):
        tau[j] = 0.0
        if l[j] > 0.0:
            count, last = count + 1, j
    if count == 0:
        return
    scale, simple = simplify(norm, count)
    C *= scale  # the dual ball of a multiple of a norm
    if count == 1:
        tau[last] = clipped(l[last], n2[last], C)
        return
    if unconstrained(simple, l, n2, C, tau):
        return
    if simple.kind == LP:
        lp_ball(l, n2, C, conjugate(simple.p1), tau)
    elif simple.kind == RMAX:
        r_max_balls(l, n2, C, simple.alpha, tau)
    else:
        two_balls(l, n2, C, conjugate(simple.p1), conjugate(simple.p2), simple.alpha, tau)
    size = norm_dual(simple, tau)
    if size > C:
        for j in range(len(l)):
            tau[j] *= C / size


@helper
def unconstrained(norm: NormCode, l: Vector, n2: Vector, C: float, tau: Vector) -> bool:
    """Whether l / n2 lies in the dual ball; if so, tau holds it. Dual norms are never below the maximum."""
    for j in range(len(l)):
        if l[j] > C * n2[j]:
            return False
        tau[j] = l[j] / n2[j] if l[j] > 0.0 else 0.0
    return norm_dual(norm, tau) <= C
