r"""Rows of a stochastic matrix: how much a task listens to each of the others (Murugesan et al. 2016, Sec. 3).

The step of a row p, with l_j the loss of the task's own model on the example of task j, is over the present tasks only;
the coordinates of absent ones are held, and so is the mass m = sum_A p_j that the present ones share:

    e    p_j <- m p_j exp(-kappa l_j) / sum_A p_i exp(-kappa l_i)        Eq. 11
    t    p_j <- m (lam - l_j)_+ / sum_A (lam - l_i)_+                    all of them 0: nothing changes

`e` is the argmin of <p, l> + KL(p || p_t) / kappa over the free coordinates. With a floor it is the argmin over
p_j >= floor: max(floor, c q_j), c such that the sum is m.

A row may be kept whole, or as a task's own entry, those of its nearest neighbours and the mass of all the rest, which
is taken to be spread evenly (`read_near`, `write_near`).
"""

import math

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, helper_no_alloc

FIRM = 1.0 + 1e-12
"""A mass up to this factor above the floors of all entries leaves no room."""

OWN, REST, NEAR = range(3)
"""Columns of a row of neighbours: its own entry, the mass of those that are not kept, the kept ones from here on."""


@helper_no_alloc
def bring_to_sum(q: Floats, n: int, mass: float, floor: float) -> None:
    """q becomes max(floor, c q), with c such that the sum is `mass`; entries at the floor are -1 meanwhile."""
    if mass <= floor * n * FIRM:
        for j in range(n):
            q[j] = mass / n
        return
    held, again, c = 0, True, 0.0
    while again:
        again, total = False, 0.0
        for j in range(n):
            if q[j] >= 0.0:
                total += q[j]
        c = (mass - floor * held) / total
        for j in range(n):
            if q[j] >= 0.0 and c * q[j] < floor:
                q[j] = -1.0
                held += 1
                again = True
    for j in range(n):
        q[j] = floor if q[j] < 0.0 else c * q[j]


@helper_no_alloc
def exponential_step(p: Floats, l: Floats, n: int, kappa: float, floor: float, q: Floats) -> bool:
    """Variant e (Eq. 11) for the n present entries of a row, over logarithms; q is scratch. False: nothing changed."""
    mass, top = 0.0, -math.inf
    for j in range(n):
        mass += p[j]
    if mass == 0.0:
        return False
    for j in range(n):
        q[j] = math.log(p[j]) - kappa * l[j] if p[j] > 0.0 else -math.inf
        top = max(top, q[j])
    for j in range(n):
        q[j] = math.exp(q[j] - top)
    bring_to_sum(q, n, mass, floor)
    for j in range(n):
        p[j] = q[j]
    return True


@helper_no_alloc
def threshold_step(p: Floats, l: Floats, n: int, lam: float, floor: float, q: Floats) -> bool:
    """Variant t (Sec. 3.2) for the n present entries of a row; q is scratch. False: nothing changed."""
    mass, total = 0.0, 0.0
    for j in range(n):
        mass += p[j]
    for j in range(n):
        q[j] = max(lam - l[j], 0.0)
        total += q[j]
    if mass == 0.0 or total == 0.0:
        return False
    bring_to_sum(q, n, mass, floor)
    for j in range(n):
        p[j] = q[j]
    return True


@compiled
def widen(P: Floats, k: int, width: int, N: int, p_min: float) -> None:
    """Row k, made when there were `width` tasks, for N: a newcomer gets 1/N of it; a row of no width is uniform."""
    if width == 0:
        for j in range(N):
            P[k, j] = 1.0 / N
    elif p_min == 0.0:  # (N-1)/N for every newcomer, all at once
        for j in range(width):
            P[k, j] *= width / N
        for j in range(width, N):
            P[k, j] = 1.0 / N
    else:
        for M in range(width + 1, N + 1):
            for j in range(M - 1):
                P[k, j] *= (M - 1) / M
            P[k, M - 1] = 1.0 / M
            bring_to_sum(P[k], M, 1.0, min(p_min, 1.0 / M))


@helper_no_alloc
def normalise(P: Floats, k: int, n: int) -> None:
    """The n entries of row k, brought to the sum 1 that rounding takes them away from."""
    total = 0.0
    for j in range(n):
        total += P[k, j]
    for j in range(n):
        P[k, j] /= total


# --- the nearest neighbours only ------------------------------------------------------------------------------------


@compiled
def widen_near(P: Floats, ids: Ints, k: int, width: int, N: int) -> None:
    """The same for a row of neighbours: newcomers are among those that are not kept."""
    if width == 0:
        P[k, OWN], P[k, REST] = 1.0 / N, (N - 1.0) / N
        for s in range(ids.shape[1]):
            P[k, NEAR + s], ids[k, s] = 0.0, 0
        return
    for s in range(P.shape[1]):
        P[k, s] *= width / N
    P[k, REST] += (N - width) / N


@helper_no_alloc
def find_near(ids: Ints, k: int, j: int) -> int:
    """Where task k keeps its neighbour j, or -1; slots are kept as j + 1, and 0 is free."""
    for s in range(ids.shape[1]):
        if ids[k, s] == j + 1:
            return s
    return -1


@compiled
def share_of_rest(P: Floats, ids: Ints, k: int, N: int) -> float:
    """What each of the tasks that row k does not keep is taken to have."""
    others = N - 1
    for s in range(ids.shape[1]):
        if ids[k, s] > 0:
            others -= 1
    return P[k, REST] / others if others > 0 else 0.0


@helper_no_alloc
def read_near(P: Floats, ids: Ints, k: int, present: Ints, n: int, N: int, p: Floats) -> None:
    """The entries of n present tasks in row k."""
    rest = share_of_rest(P, ids, k, N)
    for a in range(n):
        if present[a] == k:
            p[a] = P[k, OWN]
        else:
            s = find_near(ids, k, present[a])
            p[a] = P[k, NEAR + s] if s >= 0 else rest


@helper_no_alloc
def write_near(P: Floats, ids: Ints, k: int, present: Ints, n: int, N: int, p: Floats, is_new: Floats) -> None:
    """Put new entries into row k: an entry larger than the least kept one replaces it; what is replaced joins the rest,
    and is evened out with it. `is_new` is scratch."""
    rest = share_of_rest(P, ids, k, N)
    for a in range(n):
        s, is_new[a] = find_near(ids, k, present[a]), 0.0
        if present[a] == k:
            P[k, OWN] = p[a]
        elif s >= 0:
            P[k, NEAR + s] = p[a]
        else:
            is_new[a] = 1.0
            P[k, REST] = max(P[k, REST] - rest, 0.0)
    for a in range(n):
        if is_new[a] == 0.0:
            continue
        least = 0
        for s in range(1, ids.shape[1]):
            if ids[k, least] > 0 and (ids[k, s] == 0 or P[k, NEAR + s] < P[k, NEAR + least]):
                least = s
        if ids[k, least] == 0 or P[k, NEAR + least] < p[a]:
            if ids[k, least] > 0:
                P[k, REST] += P[k, NEAR + least]
            ids[k, least], P[k, NEAR + least] = present[a] + 1, p[a]
        else:
            P[k, REST] += p[a]
