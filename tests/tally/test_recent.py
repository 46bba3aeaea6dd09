"""Errors over recent events: against plain sums, and a task that becomes worse is found."""

import sys

import numpy as np
import pytest

import weft
from weft.maths.decay import HALF_LIFE
from weft.store.codec import decode, encode
from weft.store.digests import FileError


def made(flips, events=1200, tasks=4, seed=3):
    """Tasks with one rule; the labels of those in `flips` are turned around for the last 150 events of each."""
    rng = np.random.default_rng(seed)
    X = np.hstack([rng.normal(size=(events, 3)), np.ones((events, 1))])
    task = np.arange(events) % tasks
    y = np.where(X[:, 0] + 0.2 * rng.normal(size=events) > 0, 1, -1)
    late = np.isin(task, flips) & (np.arange(events) >= events - 150 * tasks)
    return weft.Stream(X, np.where(late, -y, y), [f"t{k}" for k in task])


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_decayed_means_are_those_of_plain_sums(loss):
    stream = made([], events=300)
    model = weft.Model("mt-ogd", loss=loss, eta=0.1)
    scores = model.learn(stream)
    recent, tasks = model.tally.recent, np.array(stream.tasks)
    for at, name in enumerate(recent.tasks):
        here = tasks == name
        s, y = scores[here], stream.y[here]
        error = (np.where(s >= 0, 1, -1) != y).astype(float) if loss == "logistic" else np.abs(s - y)
        weight = 0.5 ** (np.arange(len(s))[::-1] / HALF_LIFE)
        assert recent.errors[at] == pytest.approx(np.average(error, weights=weight), rel=1e-12)
        loss_of = np.logaddexp(0.0, -y * s) if loss == "logistic" else (s - y) ** 2
        assert recent.losses[at] == pytest.approx(np.average(loss_of, weights=weight), rel=1e-12)
        assert recent.earlier[at] == pytest.approx(np.average(error, weights=1 - weight), rel=1e-9)
        factors = weight / weight.sum() - (1 - weight) / (1 - weight).sum()
        p = (error.sum() + 1) / (len(s) + 2)
        variance = p * (1 - p) if loss == "logistic" else np.var(error, ddof=1)
        assert recent.z[at] == pytest.approx(factors @ error / np.sqrt(variance * (factors @ factors)), rel=1e-6)
        assert model.tally.recent[name]["error"] == recent.errors[at]


def test_a_task_that_becomes_worse_is_marked():
    model = weft.Model("pa", C=0.01)
    model.learn(made([2]))
    assert model.tally.recent.worse.tolist() == [False, False, True, False]
    still = weft.Model("pa", C=0.01)
    still.learn(made([]))
    assert not still.tally.recent.worse.any()


def test_single_events_count_the_same():
    stream = made([1], events=700)
    bulk, one = weft.Model("pa"), weft.Model("pa")
    bulk.learn(stream)
    names = ["a", "b", "c", "d"]
    rows = stream.X.toarray()
    named = weft.Model("pa")
    for row, y, task in zip(rows, stream.y, stream.tasks, strict=True):
        one.learn_one(row, int(y), task=task)
        named.learn_one(dict(zip(names, row.tolist(), strict=True)), int(y), task=task)
    np.testing.assert_array_equal(one.tally.recent.errors, bulk.tally.recent.errors)
    np.testing.assert_array_equal(named.tally.recent.losses, bulk.tally.recent.losses)
    assert weft.Model.from_bytes(bulk.to_bytes()).tally.recent.rows() == bulk.tally.recent.rows()


def test_false_alarms_on_stationary_streams_are_rare():
    """By the formula alone: mistakes that are coins, many tasks, one look after every 500 events."""
    from weft.tally.recent import DECAY, Recent

    rng = np.random.default_rng(8)
    tasks, looks, alarms = 3000, 0, 0
    totals, recent = np.zeros((tasks, 2)), np.zeros((tasks, 2))
    chance = rng.choice([0.02, 0.1, 0.3], tasks)
    for t in range(1, 1001):
        mistake = (rng.random(tasks) < chance).astype(float)
        totals += mistake[:, None]
        recent = DECAY * recent + mistake[:, None]
        if t % 500 == 0:
            found = Recent(list(range(tasks)), np.full(tasks, float(t)), totals, recent, True)
            looks, alarms = looks + tasks, alarms + int(found.worse.sum())
    assert alarms / looks < 0.002


@pytest.mark.parametrize("column", [0, 1])
@pytest.mark.parametrize("value", [-1e-9, np.nan, np.inf, 1e9])
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_sums_that_counting_cannot_make_are_refused(loss, column, value):
    model = weft.Model("mt-ogd", loss=loss, eta=0.1)
    model.learn(made([], events=300))
    header, arrays = decode(model.to_bytes())
    recent = arrays["recent"].copy()
    recent[1, column] = value
    with pytest.raises(FileError, match="sums over recent events cannot be used: they are"):
        weft.Model.from_bytes(encode(header, {**arrays, "recent": recent}))


def test_frames_need_pandas(monkeypatch):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ValueError, match="needs pandas, which is not installed"):
        weft.Model("pa").tally.to_frame()


def test_frames_have_a_row_per_task():
    pd = pytest.importorskip("pandas")
    model = weft.Model("pa")
    model.learn(made([]))
    frame = model.tally.to_frame()
    assert list(frame.index) == model.tasks
    assert frame.loc["t1", "error"] == model.tally["t1"]["error"]
    assert isinstance(frame, pd.DataFrame)
