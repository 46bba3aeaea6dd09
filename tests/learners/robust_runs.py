"""Streams for the low-rank and the collaborative learners, and their oracles run beside them."""

from typing import Any, NamedTuple

import numpy as np

import weft

KINDS = ("all", "some", "single", "late")
"""All tasks in every round, some of them with dormant ones, one task a round, tasks and features that come late."""


class Events(NamedTuple):
    """Rows, labels (NaN: dormant), tasks and rounds."""

    X: np.ndarray
    y: np.ndarray
    task: np.ndarray
    rounds: np.ndarray

    @property
    def stream(self) -> weft.Stream:
        return weft.Stream(self.X, self.y, self.task, self.rounds)


def events(kind: str, rounds: int = 120, m: int = 5, d: int = 9, seed: int = 0, noise: float = 0.1) -> Events:
    """Models of rank two and one task that goes its own way; some rows are 0, half of the numbers are."""
    rng = np.random.default_rng((seed, KINDS.index(kind)))
    truth = rng.normal(size=(m, 2)) @ rng.normal(size=(2, d))
    truth[m - 1] = rng.normal(size=d) * 2.0
    rows, labels, tasks, numbers = [], [], [], []
    for t in range(rounds):
        known = min(1 + t * m // (rounds // 2), m) if kind == "late" else m
        if kind == "all":
            present = np.arange(m)
        elif kind == "single":
            present = rng.integers(m, size=1)
        else:
            present = rng.permutation(known)[: rng.integers(1, known + 1)]
        for k in present:
            x = rng.normal(size=d) * (rng.random(d) < 0.5) * (rng.random() > 0.05) / np.sqrt(d / 2)
            if kind == "late":
                x[min(2 + t * d // (rounds // 2), d) :] = 0.0
            rows.append(x)
            flip = -1.0 if rng.random() < noise else 1.0
            dormant = kind in ("some", "late") and rng.random() < 0.15
            labels.append(np.nan if dormant else flip * (1.0 if truth[k] @ x >= 0 else -1.0))
            tasks.append(k)
            numbers.append(t)
    return Events(np.array(rows), np.array(labels), np.array(tasks), np.array(numbers))


def beside(oracle: Any, found: Events) -> np.ndarray:
    """The scores of an oracle's `learn_round`; what is dormant is scored by its weights at the start of the round."""
    scores = np.empty(len(found.y))
    for t in np.unique(found.rounds):
        at = np.flatnonzero(found.rounds == t)
        scores[at] = [weights(oracle)[k] @ x for k, x in zip(found.task[at], found.X[at], strict=True)]
        live = at[~np.isnan(found.y[at])]
        issued = oracle.learn_round(found.X[live], found.y[live], found.task[live])
        np.testing.assert_allclose(issued, scores[live], atol=1e-12)
    return scores


def weights(oracle: Any) -> np.ndarray:
    """(tasks, features)."""
    return (oracle.U + oracle.V).T if hasattr(oracle, "U") else oracle.u
