"""Hedge over multitask exponentiated gradients: K tables of dual vectors (`mirror_descent`)."""

import math
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper_no_alloc
from weft.learners.descent import dual_table
from weft.learners.descent.dual_growth import admit as admit_features
from weft.learners.descent.dual_growth import welcome
from weft.learners.descent.dual_table import Table, map_of
from weft.learners.descent.hedge_weights import MOST_LOST, hedge_rate, hedge_weights
from weft.learners.descent.mirror_descent import descend, newcomer, score_row, work_for
from weft.learners.descent.mirror_rule import MirrorRule
from weft.learners.descent.positions import DualScalar, HedgeTrace
from weft.maths.losses import loss_value
from weft.storage.batch import Batch, importance, learn_single, predict_single
from weft.storage.state import Plan


class HedgeRule(NamedTuple):
    """The experts' rule but for sigma, and Hedge's rate; NaN: from K, T and B = 2 L."""

    rule: MirrorRule
    eta_h: float


class Experts(NamedTuple):
    """The tables of K experts, the losses of each, and labelled rounds."""

    theta: Floats
    shared: Floats
    sums: Floats
    known: Ints
    counts: Ints
    scalars: Floats
    losses: Floats
    rounds: Floats
    sigmas: Floats  # follows from the parameters
    root: Floats  # empty: there is no graph
    order: Ints


def plan(K: int) -> Plan:
    tables: dict[str, tuple[str | int, ...]] = {name: (K, *axes) for name, axes in dual_table.PLAN.axes.items()}
    counters = {**dual_table.PLAN.counters, "rounds": (0,)}
    return Plan(tables | {"losses": (K,), "rounds": (1,)}, counts=dual_table.PLAN.counts, counters=counters)


def blank(tasks: int, sigmas: Array) -> Experts:
    """`tasks` are declared, nothing is learned."""
    one, K = dual_table.blank(tasks), len(sigmas)
    tables: dict[str, Any] = {name: np.repeat(getattr(one, name)[None], K, axis=0) for name in dual_table.PLAN.axes}
    return Experts(
        **tables, losses=np.zeros(K), rounds=np.zeros(1), sigmas=np.array(sigmas), root=one.root, order=one.order
    )


@helper_no_alloc
def _rule_of(rule: MirrorRule, sigma: float) -> MirrorRule:
    """The rule of the expert that assumes this sigma."""
    return MirrorRule(
        rule.loss,
        rule.epsilon,
        rule.kind,
        rule.rate,
        rule.b,
        rule.simplex_b,
        rule.ball,
        rule.graph,
        rule.p,
        rule.eta,
        rule.D,
        rule.L,
        sigma,
        rule.T,
        rule.radius,
    )


@compiled
def table_of(state: Experts, k: int) -> Table:
    """What expert k holds."""
    return Table(
        state.theta[k],
        state.shared[k],
        state.sums[k],
        state.known[k],
        state.counts[k],
        state.scalars[k],
        state.root,
        state.order,
    )


@compiled
def mixture(hyper: HedgeRule, state: Experts, weights: Floats) -> float:
    """The experts' weights in the next round; returns eta_h."""
    rule, K = hyper.rule, len(state.losses)
    L = rule.L
    if math.isnan(L):
        L = 0.0
        for k in range(K):
            L = max(L, state.scalars[k, DualScalar.STEEPEST])
    rate = hedge_rate(hyper.eta_h, K, rule.T, state.rounds[0] + 1.0, 2.0 * L)
    hedge_weights(rate, state.losses, weights)
    return rate


@compiled
def admit(hyper: HedgeRule, state: Experts, features: int) -> None:
    """Features 0 .. features-1 count from now on."""
    for k in range(len(state.sigmas)):
        admit_features(_rule_of(hyper.rule, state.sigmas[k]), table_of(state, k), features)


@compiled
def predict(hyper: HedgeRule, state: Experts, batch: Batch, scores: Floats) -> None:
    weights = np.empty(len(state.sigmas))
    mixture(hyper, state, weights)
    scores[:] = 0.0
    for k in range(len(weights)):
        rule, table = _rule_of(hyper.rule, state.sigmas[k]), table_of(state, k)
        mirror, start = map_of(rule, table), newcomer(rule, table, batch)
        for i in range(len(scores)):
            scores[i] += weights[k] * score_row(rule, table, mirror, batch, i, start)


@compiled
def learn(hyper: HedgeRule, state: Experts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    label, rounds, losses, K, work = batch.label, batch.rounds, state.losses, len(state.sigmas), work_for(batch)
    issued, weights = work.scores, np.empty(K)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        awake = False
        for i in range(lo, hi):
            scores[i] = 0.0
            awake = awake or (importance(batch, i) > 0.0 and not math.isnan(label[i]))
        rate = mixture(hyper, state, weights)
        for k in range(K):
            rule, table = _rule_of(hyper.rule, state.sigmas[k]), table_of(state, k)
            welcome(rule, table, batch, lo, hi)
            descend(rule, table, batch, lo, hi, work)
            for i in range(lo, hi):
                scores[i] += weights[k] * issued[i - lo]
                if trace.shape[0]:
                    trace[i, HedgeTrace.ETA_H], trace[i, HedgeTrace.EXPERTS + K + k] = rate, weights[k]
                if not math.isnan(label[i]):
                    loss = loss_value(rule.loss, issued[i - lo], label[i], rule.epsilon)
                    losses[k] += importance(batch, i) * min(loss, MOST_LOST)
                    if trace.shape[0]:
                        trace[i, HedgeTrace.EXPERTS + k] = loss
        if awake:
            state.rounds[0] += 1.0
        if trace.shape[0]:
            for i in range(lo, hi):
                trace[i, HedgeTrace.LOSS] = loss_value(hyper.rule.loss, scores[i], label[i], hyper.rule.epsilon)
    return len(rounds) - 1


@compiled
def predict_one(handle: Handle, task: int, count: int) -> int:
    return predict_single(predict, handle, task, count)


@compiled
def learn_one(handle: Handle, task: int, label: float, count: int) -> int:
    return learn_single(learn, handle, task, label, count)
