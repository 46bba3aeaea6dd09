"""Theorems evaluated on a run: the bounds of the shared-loss learners, and how tight they are.

A run records every loss, step and length; a bound compares it with any fixed weight vectors, the comparator: here those
that made the labels, and zero. Both sides are printed, so that you can see how far a bound is from the actual loss.
"""

import numpy as np

import weft
from weft.evaluation import corollary7, record, theorem4, theorem6, theorem9

TASKS, ROUNDS, FEATURES = 8, 500, 10


def main() -> None:
    rng = np.random.default_rng(6)
    truth = 3.0 * rng.normal(size=(TASKS, FEATURES))
    X = rng.normal(size=(ROUNDS * TASKS, FEATURES))
    X /= np.linalg.norm(X, axis=1, keepdims=True)  # every row has length R = 1
    task = np.tile(np.arange(TASKS), ROUNDS)
    y = np.where(np.sum(X * truth[task], axis=1) >= 0.0, 1, -1)
    stream = weft.Stream(X, y, task, rounds=np.repeat(np.arange(ROUNDS), TASKS))

    print(f"{ROUNDS} rounds of {TASKS} tasks; comparator: the vectors that made the labels\n")
    print("norm    learner           sum of g   Theorem 4   Theorem 6 (left <= right)")
    for norm in ("l1", "l2", "3-max", "linf"):
        for name in ("finite-horizon", "infinite-horizon", "implicit"):
            run = record(weft.Model(name, norm=norm, C=0.5, R=1.0), stream)
            four = six = ""
            if name != "infinite-horizon":
                bound = theorem4(run, truth)
                assert bound.holds
                four = f"<= {bound.right:.0f}"
            if name != "finite-horizon":
                bound = theorem6(run, truth)  # one inequality for every prefix of the stream
                assert bound.holds
                six = f"{bound.left[-1]:.0f} <= {bound.right[-1]:.0f}"
            print(f"{norm:<8}{name:<17}{run.global_loss.sum():>9.0f}   {four:<12}{six}")

    run = record(weft.Model("implicit", norm="linf", R=1.0), stream)  # the default C is the one of Corollary 7
    for name, theorem in (("Theorem 9", theorem9), ("Corollary 7", corollary7)):
        for what, comparator in (("truth", truth), ("zero", 0 * truth)):
            bound = theorem(run, comparator)
            print(f"{name}, comparator {what}: {len(bound.left)} inequalities, least slack {bound.slack.min():.2f}")


if __name__ == "__main__":
    main()
