"""Learners that refit, in a stream, against the oracles: scores to 1e-7."""

import numpy as np
import pytest

import weft
from learners.batch_runs import (
    D,
    K,
    as_rounds,
    fit_itl,
    fit_mtfl,
    fit_shamo,
    fit_smtl,
    fit_stl,
    fit_trml,
    rows,
    run,
    stream,
)
from oracles import smoothed_batch
from weft.learners.refit.kept_rows import data_of

CASES = {
    "stl": ({}, lambda order, X, y: fit_stl(X, y)),
    "itl": ({"reg": 0.1}, lambda order, X, y: fit_itl(X, y, 0.1)),
    "smtl-e": ({"alpha": 0.3, "lam": 0.2}, lambda order, X, y: fit_smtl(X, y, "e", 0.3, 0.2)),
    "smtl-t": ({"alpha": 0.6, "lam": 0.7, "reg": 0.1}, lambda order, X, y: fit_smtl(X, y, "t", 0.6, 0.7, 0.1)),
    "shamo": ({"m": 3, "seed": 4}, lambda order, X, y: fit_shamo(order, X, y, 3, 4)),
    "mtfl": ({"gamma": 2.0, "eps": 1e-2}, lambda order, X, y: fit_mtfl(X, y, 2.0, 1e-2)),
    "trml": ({"lam": 0.05}, lambda order, X, y: fit_trml(X, y, 0.05, "logistic")),
    "trml, square": ({"lam": 0.05, "loss": "square"}, lambda order, X, y: fit_trml(X, y, 0.05, "square")),
}


@pytest.mark.parametrize("case", CASES)
@pytest.mark.parametrize("kind", ["single", "rounds"])
def test_a_stream_against_the_oracle(case, kind):
    parameters, fit = CASES[case]
    X, y, task = rows(len(case))
    rounds = np.arange(len(y)) if kind == "single" else as_rounds(task)
    order = list(dict.fromkeys(task.tolist()))
    expected, W = run(lambda X, y: fit(order, X, y), X, y, task, rounds, every=25)
    model = weft.Model(case.split(",")[0], every=25, tasks=K, **parameters)
    scores = model.learn(stream(X, y, task, rounds))
    assert not scores[: 25 if kind == "single" else 20].any()
    assert np.abs(expected).max() > 0.5
    np.testing.assert_allclose(scores, expected, atol=1e-7)
    np.testing.assert_allclose(model.weights(), W, atol=1e-7)


@pytest.mark.parametrize("name", ["smtl-e", "smtl-t"])
@pytest.mark.parametrize(("alpha", "lam"), [(0.5, 1.0), (0.0, 0.1), (0.9, 0.05)])
def test_relations_and_objectives_of_smtl(name, alpha, lam):
    X, y, task = rows(3, n=60)
    model = weft.Model(name, alpha=alpha, lam=lam, tasks=K).fit(stream(X, y, task))
    expected = smoothed_batch.smtl(X, y, task, name[-1], alpha, lam)
    np.testing.assert_allclose(model.relations(), alpha * np.eye(K) + (1 - alpha) * expected.P, atol=1e-9)
    np.testing.assert_allclose(model.weights(), expected.W, atol=1e-7)
    np.testing.assert_allclose(model.relations().sum(axis=1), 1.0, atol=1e-12)


def test_shamo_finds_groups_and_says_so():
    X, y, task = rows(1, n=300)
    model = weft.Model("shamo", tasks=K).fit(stream(X, y, task))
    group = np.arange(K) % 2
    assert np.array_equal(model.relations(), (group[:, None] == group).astype(float))
    assert np.linalg.matrix_rank(model.weights()) == 2


@pytest.mark.parametrize("name", ["mtfl", "trml"])
def test_relations_of_low_rank_are_cosines(name):
    X, y, task = rows(2)
    model = weft.Model(name, tasks=K + 1).fit(stream(X, y, task))
    W = model.weights()[:K]
    unit = W / np.linalg.norm(W, axis=1)[:, None]
    found = model.relations()
    np.testing.assert_allclose(found[:K, :K], unit @ unit.T, atol=1e-12)
    assert found[K].tolist() == [0.0] * K + [1.0]
    assert found[0, 2] > 0.8 > found[0, 1]


def test_newcomers():
    """A task without rows has nothing of its own: 0, or what it would be given."""
    X, y, task = rows(4)
    for name, expected in {"itl": "zero", "mtfl": "zero", "trml": "zero", "stl": "pooled"}.items():
        model = weft.Model(name).fit(stream(X, y, task))
        score = model.score(X[:5], "somebody")
        assert np.array_equal(score, model.score(X[:5], 0) if expected == "pooled" else np.zeros(5))
    smtl = weft.Model("smtl-e", alpha=0.4, lam=0.3, tasks=[*range(K), "idle"]).fit(stream(X, y, task))
    c = (0.6 / K / np.bincount(task))[task]
    np.testing.assert_allclose(smtl.weights()[K], smoothed_batch.svm(X, y, c)[0], atol=1e-9)
    np.testing.assert_allclose(smtl.relations()[K], [0.6 / K] * K + [0.4], atol=1e-12)
    shamo = weft.Model("shamo", m=2, tasks=[*range(K), "idle"]).fit(stream(X, y, task))
    assert shamo.relations()[K].sum() >= 4  # the hypothesis of most tasks, three of five, and itself


def test_one_class_only():
    """Rows of one label: all models put them on their side, and other tasks are not in the way."""
    X, y, task = rows(6)
    y[task == 2] = 1.0
    X[task == 2] += 1.0
    for name in ("itl", "smtl-e", "smtl-t", "shamo", "mtfl", "trml"):
        model = weft.Model(name).fit(stream(X, y, task))
        W = model.weights()[model.tasks.index(2)]
        assert np.isfinite(model.weights()).all()
        assert np.mean(X[task == 2] @ W > 0) > 0.7
    alone = weft.Model("itl").fit(stream(X[task == 2], y[task == 2], "one"))
    assert alone.tally.total["events"] == 0
    assert np.isfinite(alone.weights()).all()


def test_rows_of_zeros():
    for name in ("smtl-e", "smtl-t", "stl", "itl", "shamo", "mtfl", "trml"):
        model = weft.Model(name, every=2)
        scores = model.learn(stream(np.zeros((6, D)), [1, -1, 1, 1, -1, 1], ["a", "b", "a", "b", "a", "b"]))
        assert not scores.any()
        assert not model.weights().any()


@pytest.mark.parametrize("size", [1e8, 1e100, 1e-100])
def test_rows_of_absurd_sizes(size):
    """Where numbers have no digits left for the minimum, weights are finite, and a machine is no worse than w = 0."""
    X, y, task = rows(5, n=40, late=10)
    X[::3] *= size
    for name in ("itl", "stl", "shamo", "mtfl", "trml"):
        model = weft.Model(name, every=20)
        assert np.isfinite(model.learn(stream(X, y, task))).all()
        assert np.isfinite(model.weights()).all()
        if name == "stl":
            W = model.weights()[0]
            assert np.maximum(0, 1 - y * (X @ W)).mean() + 5e-3 * W @ W <= 1 + 1e-12


def test_one_hypothesis_is_trained_once():
    """There is nothing to alternate between: the assignment stays."""
    X, y, task = rows(1)
    model = weft.Model("shamo", m=1, tasks=K).fit(stream(X, y, task))
    found = model.learner.run(data_of(model.state), np.zeros(K, np.int64), 1, np.zeros(len(y)))
    assert len(found.totals) == 1


def test_the_next_fit_starts_from_the_dual_variables_of_the_last():
    X, y, task = rows(1)
    model = weft.Model("smtl-e", tasks=K).fit(stream(X, y, task))
    ratios = model.state.ratios[: len(y), :K]
    assert np.all((ratios >= 0.0) & (ratios <= 1.0))
    assert np.all(ratios.max(axis=0) > 0.0)
