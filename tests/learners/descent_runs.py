"""Streams for multitask mirror descent, runs of weft on them, and the records that the regret bounds are about."""

import math
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.evaluation import Descent
from weft.learner import trace_columns

LOSSES = ("logistic", "hinge", "square", "absolute", "epsilon-insensitive")
CLASSIFY = ("logistic", "hinge")


class Events(NamedTuple):
    """Rows with labels (NaN: dormant) and tasks 0, 1, ...; round t has the rows bounds[t] to bounds[t + 1]."""

    X: Any
    y: Any
    task: Any
    bounds: Any

    @property
    def rounds(self):
        """The round of every row."""
        return np.repeat(np.arange(len(self.bounds) - 1), np.diff(self.bounds))

    def stream(self, names=None):
        tasks = self.task if names is None else [names[i] for i in self.task]
        return weft.Stream(self.X, self.y, tasks, rounds=self.rounds)


class Run(NamedTuple):
    model: Any
    scores: Any
    trace: dict[str, Any]


def make_events(seed, loss="logistic", *, together=False, N=5, d=6, T=60, length=None, dormant=0.1, spread=0.5):
    """T rounds of one row, or of some; a few rows are zero or dormant. `length` bounds the rows, if it is given."""
    rng = np.random.default_rng(seed)
    sizes = rng.integers(1, N + 1, size=T) if together else np.ones(T, int)
    task = np.concatenate([rng.permutation(N)[:k] for k in sizes])
    X = rng.normal(size=(len(task), d)) * (rng.random((len(task), d)) < 0.7)
    X *= 10 ** rng.uniform(-0.5, 0.2, size=(len(task), 1))
    if length is not None:
        X *= length / np.maximum(np.linalg.norm(X, axis=1, keepdims=True), length)
    U = rng.normal(size=d) + spread * rng.normal(size=(N, d))
    y = np.sum(U[task] * X, axis=1) + 0.2 * rng.normal(size=len(task))
    if loss in CLASSIFY:
        y = np.where(y >= 0, 1.0, -1.0)
    y[rng.random(len(task)) < dormant] = np.nan
    return Events(X, y, task, np.concatenate([[0], np.cumsum(sizes)]))


def learn(name, events, *, names=None, **parameters):
    """A model with the tasks and features declared, what it predicted, and its trace by column."""
    model = weft.Model(name, features=events.X.shape[1], **parameters)
    columns = trace_columns(model.learner)
    trace = np.zeros((len(events.task), len(columns)))
    scores = model.learn(events.stream(names), trace=trace)
    return Run(model, scores, dict(zip(columns, trace.T, strict=True)))


def deviation(found, expected):
    """The largest difference, relative to the largest number where that is above 1."""
    found, expected = np.asarray(found), np.asarray(expected)
    assert found.shape == expected.shape
    return float(np.abs(found - expected).max(initial=0.0)) / max(1.0, float(np.abs(expected).max(initial=0.0)))


def difference(run, events, result, names=None):
    """How far a run is from the oracle's: scores, models, losses, rates of rounds that moved, and their energy."""
    order = [run.model.tasks.index(i if names is None else names[i]) for i in range(len(result.X_tasks))]
    found = [deviation(run.scores, result.scores), deviation(run.model.weights()[order], result.X_tasks)]
    found.append(deviation(run.trace["loss"], result.losses))
    if "eta" in run.trace:
        awake = ~np.isnan(events.y)
        moved = awake & (result.energy[events.rounds] > 0)
        found.append(deviation(run.trace["eta"][moved], result.eta[events.rounds][moved]))
        alone = moved & (np.diff(events.bounds)[events.rounds] == 1)
        energy = (run.trace["diagonal"] * run.trace["g2"])[alone]
        found.append(deviation(energy, result.energy[events.rounds][alone]))
    return max(found)


# ------------------------------------------------------------------------------------------ records for the bounds


def clique(N, b):
    """A^-1 and A^{1/2} of A = I + b (I - J); no root at b = inf."""
    J = np.full((N, N), 1 / N)
    if b == math.inf:
        return J, None
    return (np.eye(N) - J) / (1 + b) + J, (np.eye(N) - J) * math.sqrt(1 + b) + J


def per_round(events, values):
    """A column of a trace round by round: its value where the round had a label, else 0."""
    found = np.zeros(len(events.bounds) - 1)
    np.maximum.at(found, events.rounds, np.nan_to_num(values))
    return found


def iterates_of(name, events, **parameters):
    """The models before every round, learned round by round."""
    model, kept = weft.Model(name, features=events.X.shape[1], **parameters), []
    for a, b in zip(events.bounds[:-1], events.bounds[1:], strict=True):
        kept.append(model.weights())
        model.learn(weft.Stream(events.X[a:b], events.y[a:b], events.task[a:b], rounds=np.zeros(b - a, int)))
    return np.array(kept)


def record(run, events, b, loss, **more):
    """What the bounds need of a run on the clique with this b; `more` are further fields of `Descent`."""
    N = len(run.model.tasks)
    inverse, root = clique(N, b)
    if "eta" in run.trace:
        more.setdefault("eta", per_round(events, run.trace["eta"]))
    else:
        more |= hedge_columns(run, events)
    fields = {"X": events.X, "y": events.y, "task": events.task, "rounds": np.asarray(events.bounds)}
    return Descent(**fields, scores=run.scores, inverse=inverse, root=root, loss=loss, **more)


def hedge_columns(run, events):
    """Losses and weights of the experts and eta_h, round by round; an asleep round has the weights of the next."""
    K, rounds = len(run.model.learner.variances), len(events.bounds) - 1
    losses, weights, eta_h = np.zeros((rounds, K)), np.zeros((rounds, K)), np.zeros(rounds)
    for k in range(K):
        np.add.at(losses[:, k], events.rounds, run.trace[f"loss {k}"])
        weights[:, k] = per_round(events, run.trace[f"weight {k}"])
    eta_h[:] = per_round(events, run.trace["eta_h"])
    return {
        "update": "hedge",
        "eta": np.zeros(rounds),
        "expert_losses": losses,
        "expert_weights": weights,
        "eta_h": eta_h,
        "expert_variances": np.array(run.model.learner.variances),
    }
