"""`adaptive` and `auto` beside the oracle with dictionaries: the same events, and all that both can show."""

import math
from functools import cache

import numpy as np

import weft
from oracles.adaptive import BIAS, SMAX, Adaptive, Auto, sigma
from oracles.adaptive_cases import CASES, case_of

GROUP = "weft.learners.adaptive.events"
"""The worker that compiles the kernels (see `contracts/conftest.py`)."""
ORACLES = {name: type(name, (oracle,), {"short": True}) for name, oracle in (("adaptive", Adaptive), ("auto", Auto))}
LIMITS = {"table": 1 << 23, "hashed": 40}
"""Values of `DENSE_LIMIT`: a table all the time, or hashed pairs after a few events."""
CLOSE = 1e-11
"""Relative. Sums are taken in another order than the oracle's, and rounding errors add up: all cases agree to 1e-12,
nearly all to 1e-13."""


def specified(name, **parameters):
    """A model with the experts of the oracle."""
    return weft.Model(name, **({"effort": "fast"} if name == "auto" else {}), **parameters)


class BySquares:
    """The kernels divide x^2 by the sum of squares: where |x| is below 1e-162 of the root mean square, z is 0.

    The oracle without this divides |x| itself, and z can be as small as 1e-150.
    """

    def ratio(self, x, s2, cnt):
        return math.sqrt(x * x / s2 * cnt)


EXTREME = {name: type(name, (BySquares, oracle), {}) for name, oracle in ORACLES.items()}


class Expected:
    """The oracle after a stream, and its scores."""

    def __init__(self, oracle, loss, events, rounds=None):
        self.oracle, self.events, self.scores = oracle, events, []
        for one in rounds or [[event] for event in events]:
            tasks, rows, labels = zip(*one, strict=True)
            self.scores += oracle.learn_round(rows, labels, tasks)
        labels = [y for _, _, y in events if not math.isnan(y)]
        self.unit = 1.0 if loss == "logistic" else max(labels) - min(labels)


@cache
def expected(name, loss, case, options=()):
    """Nothing that is done with it may change it."""
    oracles = EXTREME if CASES[case].extreme else ORACLES
    return Expected(oracles[name](loss, **dict(options)), loss, case_of(case, loss))


def stream_of(events):
    tasks, rows, labels = zip(*events, strict=True)
    return weft.Stream(list(rows), labels, list(tasks), rounds=range(len(rows)))


def rounds_of(events, most=4):
    """Successive events of different tasks together."""
    found = [[]]
    for event in events:
        if len(found[-1]) == most or event[0] in [k for k, _, _ in found[-1]]:
            found.append([])
        found[-1].append(event)
    return found


def learn_in_bulk(model, events):
    return model.learn(stream_of(events)).tolist()


def learn_in_chunks(model, events):
    """Cut anywhere, some pieces of one event."""
    rng, scores = np.random.default_rng(len(events)), []
    while len(scores) < len(events):
        cut = len(scores) + int(rng.choice([1, 2, 7, 40, 300]))
        scores += model.learn(stream_of(events[len(scores) : cut])).tolist()
    return scores


def learn_one_by_one(model, events):
    """Every score is first predicted, to the bit; an event without a label has no other way than a stream."""
    scores = []
    for k, row, y in events:
        said = model.predict_one(row, k)
        scores.append(float(model.learn(stream_of([(k, row, y)]))[0]) if math.isnan(y) else model.learn_one(row, y, k))
        assert said == scores[-1]
    return scores


def stack_of(model):
    """V of the experts that a model has, in the oracle's order."""
    learner = model.learner
    experts = [0, 1, *([2, 3] if learner.name == "auto" else []), *([4] if learner.second_order else [])]
    return model.state.stack[0][experts]


def dense_features(model):
    """Names of the dense features, in the order of the list."""
    return [model.features[j] for j in model.state.dense[: model.state.n_dense[0]]]


def expect_same(model, scores, wanted):
    """Scores, stack, weights, explanations, mixtures and certificates are the oracle's, to CLOSE."""
    oracle = wanted.oracle
    np.testing.assert_allclose(scores, wanted.scores, rtol=CLOSE, atol=CLOSE * wanted.unit)
    np.testing.assert_allclose(stack_of(model), oracle.V, rtol=CLOSE, atol=CLOSE)
    assert dense_features(model) == oracle.dense_list
    weights = {k: oracle.weights(k) for k in model.tasks}
    table = [[weights[k].get(j, 0.0) for j in model.features] for k in model.tasks]
    np.testing.assert_allclose(model.weights(), np.reshape(table, model.weights().shape), rtol=CLOSE, atol=CLOSE)
    for k, row, _ in {k: event for event in wanted.events for k in event[:1]}.values():
        expect_same_explanation(model, oracle, row, k)
    if model.learner.name == "auto":
        expect_same_mixtures(model, oracle)


def expect_same_explanation(model, oracle, row, k):
    """Of the row as it is now; its features, and a feature and a task that nobody knows."""
    for x, task in ((row, k), ({"never seen": 3.0, **row}, k), (row, "nobody")):
        answer = oracle.score(x, task)
        assert math.isclose(model.predict_one(x, task), answer, rel_tol=CLOSE, abs_tol=CLOSE * max(1.0, abs(answer)))
    view, split = oracle.view(oracle.row(row), k), oracle.explain(row, k)
    found = model.explain(row, k, per_feature=True)
    assert found.score == model.predict_one(row, k)
    largest = max(1.0, *map(abs, found.parts.values()))
    assert math.isclose(sum(found.parts.values()), found.score, rel_tol=0, abs_tol=CLOSE * largest)
    assert list(map(abs, found.parts.values())) == sorted(map(abs, found.parts.values()), reverse=True)
    unit = view.frame.sd
    clipped = sum(v * (c - e) for v, c, e in zip(oracle.V, view.c, view.e, strict=True))
    if oracle.binary:
        assert math.isclose(found.parts["clipping"], clipped, rel_tol=CLOSE, abs_tol=CLOSE * largest)
        assert math.isclose(found.parts["mixing"], found.score - view.s, rel_tol=CLOSE, abs_tol=CLOSE * largest)
    else:
        mixed = unit * (view.p - view.f[0]) if oracle.mixes else 0.0
        assert math.isclose(found.parts["mixing"], mixed, rel_tol=CLOSE, abs_tol=CLOSE * largest)
    parts = {BIAS if j == "(bias)" else j: (part.own, part.shared) for j, part in found.features.items()}
    known = [j for j in split if j is BIAS or j in model.features]
    assert set(parts) == set(known)
    size = max(1.0, *(abs(e) / SMAX for e in view.e))
    np.testing.assert_allclose([parts[j] for j in known], [split[j] for j in known], rtol=CLOSE, atol=CLOSE * size)


def losses_of(oracle, view, y):
    """What a trace has of an event: losses of the prediction and, of `auto`, of stack, own and pooled model."""
    u = (1.0 if y > 0 else 0.0) if oracle.binary else view.p
    if not oracle.binary and view.frame.ready:
        u = min(max((y - view.frame.mu) / view.frame.sd, -5.0), 5.0)
    guesses = [*view.f] if oracle.mixes else [*view.c[:2], view.s]
    if not oracle.binary:
        return [(x - u) ** 2 / 2 for x in (view.p, *guesses)]
    return [-math.log(p if u else 1.0 - p) for p in (view.p, *map(sigma, guesses))]


def expect_same_mixtures(model, oracle):
    borrowing = model.borrowing()
    for k, shown in oracle.borrowing().items():
        found = borrowing[k]
        assert found.events == shown["n"]
        np.testing.assert_allclose(found[1:4], shown["weights"], rtol=CLOSE, atol=CLOSE)
        np.testing.assert_allclose(found[4:8], shown["loss"], rtol=CLOSE, atol=CLOSE)
        scale = max(1.0, *shown["loss"])
        assert math.isclose(found.certificate, shown["certificate"], rel_tol=CLOSE, abs_tol=CLOSE * scale)
        assert found.certificate >= -1e-9
