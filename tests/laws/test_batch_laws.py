"""Special cases of the batch learners, and properties of every fit."""

import math

import numpy as np
import pytest

import weft
from learners.batch_runs import D, K, rows, stream
from weft.learners.catalogue import build
from weft.learners.refit.kept_rows import data_of

NAMES = ["smtl-e", "smtl-t", "stl", "itl", "shamo", "mtfl", "trml"]


def close(one, other, tolerance=1e-9):
    np.testing.assert_allclose(one, other, atol=tolerance)


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("name", ["smtl-e", "smtl-t"])
def test_smtl_at_its_ends(name, seed):
    X, y, task = rows(seed)
    events = stream(X, y, task)
    alone, itl = weft.Model(name, alpha=1.0, every=40, tasks=K + 1), weft.Model("itl", every=40, tasks=K + 1)
    close(alone.learn(events), itl.learn(events))
    close(alone.weights(), itl.weights())
    assert np.array_equal(alone.relations(), np.eye(K + 1))
    even = weft.Model(name, lam=math.inf, alpha=0.3).fit(events)
    close(even.relations(), 0.3 * np.eye(K) + 0.7 / K, 1e-15)
    same = weft.Model(name, lam=math.inf, alpha=0.0).fit(events).weights()
    close(same, np.tile(same[0], (K, 1)), 1e-8)  # every task fits the same mixture


@pytest.mark.parametrize("seed", range(3))
def test_reductions_of_shamo_and_stl(seed):
    X, y, task = rows(seed)
    events = stream(X, y, task)
    one, pooled = weft.Model("shamo", m=1, every=30), weft.Model("stl", every=30)
    close(one.learn(events), pooled.learn(events))
    close(one.weights(), pooled.weights())
    assert np.array_equal(one.relations(), pooled.relations())
    single = stream(X, y, "a")
    found = [weft.Model(name, every=30).learn(single) for name in ("stl", "itl", "smtl-e", "smtl-t", "shamo")]
    for other in found[1:]:
        close(found[0], other)


@pytest.mark.parametrize("alpha", [0.0, 0.5, 0.9])
@pytest.mark.parametrize("lam", [0.03, 0.3, 3.0])
def test_the_objective_of_smtl_never_rises(alpha, lam):
    for seed in range(2):
        learner = build("smtl-e", {"alpha": alpha, "lam": lam})
        model = weft.Model(learner).fit(stream(*rows(seed)))
        data = data_of(model.state)
        fit = learner.alternate(data, np.zeros((data.K, len(data.y))))
        assert np.all(np.diff(fit.objectives.ravel()) <= 1e-12)
        assert fit.objectives[0, 0] - fit.objectives[-1, 1] > 1e-5
        P = model.relations()
        close(P, alpha * np.eye(K) + (1 - alpha) * fit.P, 1e-9)


@pytest.mark.parametrize("m", [2, 4])
def test_the_total_of_shamo_never_rises(m):
    moves = 0
    for seed in range(4):
        learner = build("shamo", {"m": m})
        data = data_of(weft.Model(learner).fit(stream(*rows(seed, groups=4))).state)
        start = np.random.default_rng(seed).integers(m, size=data.K)
        run = learner.run(data, start, m, np.zeros(len(data.y)))
        assert np.all(np.diff(run.totals) <= 1e-8)
        moves += len(run.totals)
    assert moves > 4


@pytest.mark.parametrize("name", NAMES)
@pytest.mark.parametrize("every", [1, 7, 50])
def test_the_moments_of_a_refit(name, every):
    """Weights change at the ends of rounds in which a multiple of `every` is passed, and only there."""
    X, y, task = rows(9, n=64)
    task %= 3
    rounds = np.sort(np.arange(64) // 3)
    task = np.arange(64) % 3
    label = y.copy()
    label[::5] = np.nan  # dormant
    model, seen = weft.Model(name, every=every, tasks=3, features=D), 0
    for t in range(rounds[-1] + 1):
        at = rounds == t
        before, weights = seen, model.weights()
        model.learn(weft.Stream(X[at], label[at], task[at], rounds[at]))
        seen += int(np.sum(~np.isnan(label[at])))
        due = seen // every > before // every
        assert np.array_equal(weights, model.weights()) != due
    assert model.state.used[0] == seen == np.sum(~np.isnan(label))


@pytest.mark.parametrize("name", NAMES)
def test_a_refit_depends_on_the_rows_alone(name):
    """A warm start only makes the next fit faster: a new model finds the same fit."""
    X, y, task = rows(7)
    often = weft.Model(name, every=22, reg=0.05) if name not in ("mtfl", "trml") else weft.Model(name, every=22)
    often.learn(stream(X, y, task))
    once = weft.Model(often.learner).fit(stream(X, y, task))
    assert len(y) % 22 == 0
    close(often.weights(), once.weights(), 1e-7)
    close(often.relations(), once.relations(), 1e-7)
    assert once.tally.total["events"] == 0
    assert once.fit(stream(X[:1], y[:1], task[:1])) is once
    assert once.state.used[0] == len(y) + 1


@pytest.mark.parametrize("name", NAMES)
def test_fitting_in_pieces(name):
    """fit includes the rows learned or fitted before, to the solver's tolerance."""
    X, y, task = rows(8)
    whole = weft.Model(name).fit(stream(X, y, task))
    pieces = weft.Model(name)
    pieces.learn(stream(X[:30], y[:30], task[:30]))
    pieces.fit(stream(X[30:70], y[30:70], task[30:70]))
    pieces = weft.Model.from_bytes(pieces.to_bytes()).fit(stream(X[70:], y[70:], task[70:]))
    order = [pieces.tasks.index(k) for k in whole.tasks]
    close(pieces.weights()[order], whole.weights(), 1e-7)
