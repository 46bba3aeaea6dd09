"""Gain from sharing, by the variance of the tasks: multitask (MT), independent (IT) and single-task (ST) descent.

20 tasks u_i = u + c e_i in 10 dimensions, e_i Gaussian with mean 0, scaled so that the longest has length 1 and the
variance is sigma^2; 4,000 events, one random task each, rows uniform on the sphere, y = <u_i, row> + 0.1 noise, square
loss. The figures are losses above those of the u_i, means over ten seeds. mt-ogd is given sigma, Hedge is not.
"""

import math

import numpy as np

import weft

TASKS, FEATURES, EVENTS, SEEDS, D = 20, 10, 4000, 10, 1.0
VARIANCES = (0.0, 0.01, 0.04, 0.09, 0.16, 0.25, 0.36, 0.5)
LEARNERS = {"IT": {"b": 0.0}, "ST": {"b": math.inf}, "MT paper": {}, "MT best": {"rule": "best"}}


def related(variance: float, seed: int) -> tuple[np.ndarray, weft.Stream]:
    """Task vectors with that variance (at most about 0.5 can be reached in this way), and a stream."""
    rng = np.random.default_rng(seed)
    u, e, low, high = rng.normal(size=FEATURES), rng.normal(size=(TASKS, FEATURES)), 0.0, 10.0
    u, e = u / np.linalg.norm(u), e - e.mean(axis=0)
    for _ in range(60):  # the variance grows with c
        c = (low + high) / 2
        longest = np.max(np.sum((u + c * e) ** 2, axis=1))
        low, high = (c, high) if c * c * np.sum(e * e) < variance * (TASKS - 1) * longest else (low, c)
    U = D * (u + low * e) / np.max(np.linalg.norm(u + low * e, axis=1))
    X = rng.normal(size=(EVENTS, FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)
    task = rng.integers(TASKS, size=EVENTS)
    return U, weft.Stream(X, np.sum(X * U[task], axis=1) + 0.1 * rng.normal(size=EVENTS), task)


def regrets(variance: float) -> dict[str, float]:
    """By rate and learner, the mean loss above that of the vectors that made the data."""
    found: dict[str, list[float]] = {}
    for U, stream in (related(variance, seed) for seed in range(SEEDS)):
        y, runs, theory = stream.y, {}, {"L": 2 * (D + float(np.max(np.abs(stream.y)))), "T": EVENTS}
        for rate, parameters in (("theory", theory), ("adaptive", {"eta": "adaptive"})):
            for name, how in LEARNERS.items():
                runs[f"{rate} {name}"] = ("mt-ogd", {"sigma": math.sqrt(variance), **parameters, **how})
        runs["adaptive Hedge"] = ("hedge-mt-ogd", {})
        best = np.sum((y - np.sum(stream.X.toarray() * U[stream.tasks], axis=1)) ** 2)
        for name, (learner, parameters) in runs.items():
            scores = weft.Model(learner, tasks=TASKS, loss="square", D=D, **parameters).learn(stream)
            found.setdefault(name, []).append(float(np.sum((scores - y) ** 2) - best))
    return {name: float(np.mean(values)) for name, values in found.items()}


def main() -> None:
    table = {variance: regrets(variance) for variance in VARIANCES}
    print(f"{'sigma^2':<18}" + "".join(f"{variance:>7g}" for variance in VARIANCES))
    for name in table[0.0]:
        print(f"{name:<18}" + "".join(f"{table[variance][name]:>7.1f}" for variance in VARIANCES))


if __name__ == "__main__":
    main()
