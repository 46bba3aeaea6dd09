"""Hedge over multitask gradient descent: K tables of models, each in the product of balls of radius D."""

import math
from typing import NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import Handle, compiled, helper, helper_no_alloc
from weft.learners.descent.hedge_weights import MOST_LOST, hedge_rate, hedge_weights
from weft.learners.descent.positions import Count, HedgeTrace, TableScalar
from weft.learners.descent.rule import Rule
from weft.learners.descent.table import Models, Work, descend, retune, score_row
from weft.maths.losses import loss_value
from weft.storage.batch import Batch, importance, learn_single, predict_single, widest_round
from weft.storage.state import Plan


class HedgeRule(NamedTuple):
    """The experts' rule but for sigma, and Hedge's rate; NaN: from K, T and B = 2 D L."""

    rule: Rule
    eta_h: float


class Experts(NamedTuple):
    """What K experts hold, the losses of each, labelled rounds, and the largest gradient so far."""

    X: Floats
    counts: Ints  # by `Count`, a row per expert
    scalars: Floats  # by `TableScalar`, a row per expert
    losses: Floats
    rounds: Floats
    steepest: Floats
    sigmas: Floats  # follows from the parameters


def plan(K: int) -> Plan:
    return Plan(
        {
            "X": (K, "task", "feature"),
            "counts": (K, 2),
            "scalars": (K, len(TableScalar)),
            "losses": (K,),
            "rounds": (1,),
            "steepest": (1,),
        },
        counts={"counts": ("task", "task")},
        counters={"scalars": (TableScalar.ROUNDS,), "rounds": (0,)},
    )


def blank(tasks: int, sigmas: Array) -> Experts:
    """`tasks` are declared, nothing is learned."""
    K = len(sigmas)
    counts = np.zeros((K, 2), np.int64)
    counts[:, Count.TASKS] = tasks
    none, one = np.zeros((K, 0, 0)), np.zeros(1)
    return Experts(
        none, counts, np.zeros((K, len(TableScalar))), np.zeros(K), one, one.copy(), np.ascontiguousarray(sigmas)
    )


@helper_no_alloc
def _rule_of(rule: Rule, sigma: float) -> Rule:
    """The rule of the expert that assumes this sigma."""
    return Rule(
        rule.loss,
        rule.epsilon,
        rule.rate,
        rule.b,
        rule.clusters,
        rule.eta,
        rule.best,
        rule.D,
        rule.L,
        sigma,
        rule.T,
        rule.projection,
        rule.radius,
        rule.resync,
    )


@compiled
def mixture(hyper: HedgeRule, state: Experts, weights: Floats) -> float:
    """The experts' weights in the next round; returns eta_h."""
    rule, K = hyper.rule, len(state.losses)
    L = state.steepest[0] if math.isnan(rule.L) else rule.L
    rate = hedge_rate(hyper.eta_h, K, rule.T, state.rounds[0] + 1.0, 2.0 * rule.D * L)
    hedge_weights(rate, state.losses, weights)
    return rate


@helper
def _models_of(state: Experts, k: int, none: Floats, order: Ints) -> Models:
    """What expert k holds; there is no graph."""
    return Models(state.X[k], state.counts[k], state.scalars[k], none, none, order)


@compiled
def predict(hyper: HedgeRule, state: Experts, batch: Batch, scores: Floats) -> None:
    weights, none, order = np.empty(len(state.sigmas)), np.zeros((0, 0)), np.zeros(0, np.int64)
    mixture(hyper, state, weights)
    scores[:] = 0.0
    for k in range(len(weights)):
        rule, models = _rule_of(hyper.rule, state.sigmas[k]), _models_of(state, k, none, order)
        for i in range(len(scores)):
            scores[i] += weights[k] * score_row(rule, models, batch, i)


@compiled
def learn(hyper: HedgeRule, state: Experts, batch: Batch, start: int, scores: Floats, trace: Floats) -> int:
    losses, labelled, steepest, sigmas = state.losses, state.rounds, state.steepest, state.sigmas
    task, label, rounds = batch.task, batch.label, batch.rounds
    K, widest, none, order = len(sigmas), widest_round(rounds), np.zeros((0, 0)), np.zeros(0, np.int64)
    issued, g, squares, weights = np.empty(widest), np.empty(widest), np.empty(widest), np.empty(K)
    for t in range(start, len(rounds) - 1):
        lo, hi = rounds[t], rounds[t + 1]
        N, awake = state.counts[0, Count.TASKS], False
        for i in range(lo, hi):
            N = max(N, task[i] + 1)
            scores[i] = 0.0
            awake = awake or (importance(batch, i) > 0.0 and not math.isnan(label[i]))
        rate, largest = mixture(hyper, state, weights), steepest[0]
        for k in range(K):
            rule, models = _rule_of(hyper.rule, sigmas[k]), _models_of(state, k, none, order)
            if state.counts[k, Count.TUNED] != N:
                retune(rule, models, N)
            descend(rule, models, batch, lo, hi, Work(issued, g, squares))
            for i in range(lo, hi):
                a = i - lo
                scores[i] += weights[k] * issued[a]
                if trace.shape[0]:
                    trace[i, HedgeTrace.ETA_H], trace[i, HedgeTrace.EXPERTS + K + k] = rate, weights[k]
                if math.isnan(label[i]):
                    continue
                loss = loss_value(rule.loss, issued[a], label[i], rule.epsilon)
                losses[k] += importance(batch, i) * min(loss, MOST_LOST)
                largest = max(largest, abs(g[a]) * math.sqrt(squares[a]))
                if trace.shape[0]:
                    trace[i, HedgeTrace.EXPERTS + k] = loss
        steepest[0] = largest
        if awake:
            labelled[0] += 1.0
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
