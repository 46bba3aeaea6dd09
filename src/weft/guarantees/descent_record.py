"""A run of a mirror-descent learner as the record that its regret bounds take.

>>> import numpy as np, weft
>>> rng = np.random.default_rng(0)
>>> X, task = rng.normal(size=(200, 3)), rng.integers(0, 4, 200)
>>> y = np.where(X[:, 0] + 0.3 * rng.normal(size=200) > 0, 1, -1)
>>> run = record_descent(weft.Model("mt-ogd", b=4.0, eta=0.1, tasks=4), weft.Stream(X, y, task))
>>> weft.evaluation.theorem1(run, np.tile([1.0, 0.0, 0.0], (4, 1))).holds
True
"""

import math
from typing import Any

import numpy as np

from weft.graphs.interaction import CliqueBlocks, General, clique
from weft.guarantees.descent import Descent, Regularizer
from weft.guarantees.measures import Floats, Integers, rows_of
from weft.learner import trace_columns
from weft.learners.descent import mirror_rule
from weft.learners.descent.hedge import HedgeMtEg, HedgeMtOgd
from weft.learners.descent.mirror_map import ENTROPY, P_NORM
from weft.learners.descent.parameters import Descent as DescentLearner
from weft.learners.descent.positions import DualScalar
from weft.learners.descent.rule import BALL, LEADER, MAHALANOBIS, V_SIGMA, VARIANCE, Rule, tune
from weft.model import Model
from weft.stream import Stream


def record_descent(model: Model, stream: Stream, *, iterates: bool = False) -> Descent:
    """Learn the stream with a new model, and record what the regret bounds need; `iterates` records every x_t as well.

    The tasks must be declared up front (`tasks=`, or a graph that names them), and on the simplex the features too: the
    guarantees are about a fixed number of both.
    """
    learner: Any = model.learner
    if not isinstance(learner, DescentLearner | HedgeMtOgd | HedgeMtEg):
        raise ValueError(
            f"{learner.name} is not a mirror-descent learner; weft.evaluation.record is for the shared-loss learners"
        )
    if model.tally.total["events"]:
        raise ValueError("the model has learned already; the bounds are about a run from its start: use a new model")
    tasks, features = len(model.tasks), len(model.features)
    kept: list[Floats] = []
    trace = np.zeros((len(stream), len(trace_columns(learner))))
    if iterates:
        scores = np.empty(len(stream))
        for t in range(len(stream.rounds) - 1):
            lo, hi = stream.rounds[t], stream.rounds[t + 1]
            kept.append(model.weights())
            rows = np.zeros((hi - lo, trace.shape[1]))
            scores[lo:hi] = model.learn(stream.cut(t, t + 1), trace=rows)
            trace[lo:hi] = rows
    else:
        scores = model.learn(stream, trace=trace)
    if len(model.tasks) > tasks:
        raise ValueError(
            f"the stream contains task {model.tasks[tasks]!r}, which was not declared; give all names in tasks="
        )
    if learner.traits.least_features and len(model.features) > features:
        raise ValueError("the stream contains features that were not declared; give their number or names in features=")
    batch = model.vocabulary.read(stream)
    common: dict[str, Any] = {
        "X": rows_of(batch, len(model.features)),
        "y": stream.labels(learner.target),
        "task": batch.task,
        "rounds": batch.rounds,
        "scores": scores,
        "loss": learner.loss,
        "epsilon": learner.epsilon,
        "iterates": np.array([_widened(x, len(model.features)) for x in kept]) if iterates else None,
    }
    columns = dict(zip(trace_columns(learner), trace.T, strict=True))
    if isinstance(learner, DescentLearner):
        return Descent(**common, **_mirror_fields(model, learner), eta=_per_round(batch.rounds, columns["eta"]))
    return Descent(**common, **_hedge_fields(learner, tasks, batch.rounds, columns))


def _widened(x: Floats, features: int) -> Floats:
    wide = np.zeros((len(x), features))
    wide[:, : x.shape[1]] = x
    return wide


def _per_round(rounds: Integers, values: Floats) -> Floats:
    """The largest value of every round: a rate is the same in all labelled rows, and 0 in the others."""
    largest: Floats = np.maximum.reduceat(values, rounds[:-1])
    return largest


def _mirror_fields(model: Model, learner: DescentLearner) -> dict[str, Any]:
    N, rule = len(model.tasks), learner.form.hyper
    A: CliqueBlocks | General = clique(N, learner.clique_b(N))
    order = np.arange(N)
    if learner.named is not None:
        A, order = learner.named.matrix, model.state.order
    here = np.ix_(order, order)
    shared = learner.named is None and math.isinf(learner.clique_b(N))
    fields: dict[str, Any] = {"inverse": A.dense(-1.0)[here], "root": None if shared else A.dense(0.5)[here]}
    if isinstance(rule, Rule):
        tuned = tune(rule, N)
        if rule.projection == MAHALANOBIS:
            fields["radius"] = tuned.radius
        if rule.projection in (BALL, V_SIGMA):
            fields["ball"] = rule.D
        if rule.projection in (VARIANCE, V_SIGMA):
            fields["spread"] = (N - 1) * (rule.sigma * rule.D) ** 2
        return fields | {"update": "leader" if rule.rate >= LEADER else "mirror"}
    p = float(model.state.scalars[DualScalar.P])
    regularizer: Regularizer = "entropy"
    if rule.kind != ENTROPY:
        regularizer = ("p-norm" if rule.kind == P_NORM else "p-norm simplex", p)
        fields["lam"] = p - 1.0
    if rule.ball:
        b = learner.clique_b(N) if learner.named is None else 0.0
        fields["radius"] = mirror_rule.radius_of(rule, b, N)
    leads = rule.rate >= mirror_rule.LEADER
    return fields | {"regularizer": regularizer, "update": "leader" if leads else "mirror"}


def _hedge_fields(
    learner: HedgeMtOgd | HedgeMtEg, tasks: int, rounds: Integers, columns: dict[str, Floats]
) -> dict[str, Any]:
    experts = range(len(learner.variances))
    losses = [np.add.reduceat(columns[f"loss {k}"], rounds[:-1]) for k in experts]
    weights = [_per_round(rounds, columns[f"weight {k}"]) for k in experts]
    A = clique(tasks, float(tasks) if isinstance(learner, HedgeMtOgd) else 0.0)  # b = N; on the simplex experts differ
    return {
        "update": "hedge",
        "eta": np.zeros(len(rounds) - 1),
        "inverse": A.dense(-1.0),
        "root": A.dense(0.5),
        "regularizer": "euclidean" if isinstance(learner, HedgeMtOgd) else "entropy",
        "ball": learner.D if isinstance(learner, HedgeMtOgd) else math.inf,
        "expert_losses": np.stack(losses, axis=1),
        "expert_weights": np.stack(weights, axis=1),
        "eta_h": _per_round(rounds, columns["eta_h"]),
        "expert_variances": np.array(learner.variances),
    }
