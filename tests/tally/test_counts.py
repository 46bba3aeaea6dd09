"""The tally by itself."""

import math

import numpy as np
import pytest

from batches import batch_of
from weft.maths.losses import CODES
from weft.names import Names
from weft.tally.counts import COLUMNS, Tally


def counted(target, loss, task, label, scores, epsilon=0.0):
    names = Names(["ann", "bob", "eve"])
    tally = Tally(names, target, (CODES[loss], epsilon))
    tally.reserve(3)
    n = len(task)
    batch = batch_of([[1.0]] * n)._replace(task=np.array(task), label=np.array(label, float))
    tally.count(batch, np.array(scores, float))
    return tally


def test_classification():
    tally = counted("binary", "hinge", [0, 0, 0, 0, 1, 1], [1, 1, -1, -1, 1, np.nan], [0.5, -0.5, 0.0, -3.0, 2.0, 9.0])
    assert dict(zip(COLUMNS, tally.live[0].tolist(), strict=True)) == {
        "events": 4,
        "mistakes": 2,
        "loss": 0.5 + 1.5 + 1.0,
        "true_positive": 1,
        "false_positive": 1,
        "false_negative": 1,
        "absolute": 0,
        "squared": 0,
    }
    assert tally.counts.tolist() == [4, 1, 0]
    assert tally.errors.tolist()[:2] == [0.5, 0.0]
    assert math.isnan(tally.errors[2])
    assert tally.f1.tolist()[:2] == [0.5, 1.0]
    assert math.isnan(tally.f1[2])
    assert tally["ann"] == {"events": 4, "loss": 0.75, "mistakes": 2, "error": 0.5, "f1": 0.5}
    assert tally.total == {"events": 5, "loss": 0.6, "mistakes": 2, "error": 0.4, "f1": 4 / 6}


def test_regression_and_points():
    tally = counted("real", "epsilon-insensitive", [0, 0, 1], [1.0, -1.0, np.nan], [0.0, 2.0, 5.0], 0.5)
    assert tally["ann"] == {"events": 2, "loss": 1.5, "error": 2.0, "rmse": math.sqrt(5.0)}
    assert math.isnan(tally["bob"]["error"])
    point = counted("point", "uniclass", [1, 1], [0.0, 0.0], [3.0, 0.25], 0.5)
    assert point["bob"]["loss"] == 1.25
    assert point["bob"]["error"] == 1.625


def test_one_at_a_time_is_the_same():
    rng = np.random.default_rng(0)
    for target, loss in (("binary", "hinge"), ("real", "epsilon-insensitive"), ("point", "uniclass")):
        task, scores = rng.integers(0, 3, 1500), rng.normal(size=1500)
        scores[:5] = 0.0
        label = {"binary": rng.choice([-1.0, 1.0], 1500), "real": rng.normal(size=1500), "point": np.zeros(1500)}[
            target
        ]
        bulk = counted(target, loss, task, label, scores, 0.1)
        single = Tally(Names(["ann", "bob", "eve"]), target, (CODES[loss], 0.1))
        single.reserve(3)
        for j, y, s in zip(task, label, scores, strict=True):
            single.count_one(int(j), float(y), float(s))
        assert np.array_equal(bulk.live, single.live)
        assert np.array_equal(bulk.live_recent, single.live_recent)


@pytest.mark.parametrize(
    ("target", "loss", "losses"),
    [
        ("binary", "hinge", lambda y, s: max(0.0, 1.0 - y * s)),
        ("real", "epsilon-insensitive", lambda y, s: max(0.0, abs(y - s) - 0.1)),
        ("real", "absolute", lambda y, s: abs(y - s)),
        ("point", "uniclass", lambda y, s: max(0.0, s - 0.1)),
    ],
)
def test_recent_events_are_sums_that_decay_by_half_in_a_hundred(target, loss, losses):
    """Also of scores and losses beyond all bounds, which count as 1e100."""
    rng = np.random.default_rng(1)
    task, scores = rng.integers(0, 3, 900), np.abs(rng.normal(size=900))
    scores[[50, 51]] = 1e120, 1e150
    label = {"binary": rng.choice([-1.0, 1.0], 900), "real": rng.normal(size=900), "point": np.zeros(900)}[target]
    expected = [[0.0, 0.0] for _ in range(3)]
    for j, y, s in zip(task.tolist(), label.tolist(), scores.tolist(), strict=True):
        wrong = float((s >= 0) != (y > 0)) if target == "binary" else abs(y - s)
        for at, term in enumerate((wrong, losses(y, s))):
            expected[j][at] = 0.5 ** (1 / 100) * expected[j][at] + min(term, 1e100)
    found = counted(target, loss, task, label, scores, 0.1)
    np.testing.assert_allclose(found.live_recent, expected, rtol=1e-13)
    assert np.all(
        found.live_recent[:, 0] <= found.live[:, COLUMNS.index("mistakes" if target == "binary" else "absolute")]
    )
    assert np.all(found.live_recent[:, 1] <= found.live[:, COLUMNS.index("loss")])


def test_room():
    tally = Tally(Names(["ann"]), "binary", (CODES["hinge"], 0.0), np.full((1, len(COLUMNS)), 5.0))
    for tasks in range(2, 50):
        tally.reserve(tasks)
    assert tally.live.tolist() == [[5.0] * len(COLUMNS)]
    tally.count_one(40, 1.0, 1.0)  # there is room for a task that has no name yet
    assert tally.live.tolist() == [[5.0] * len(COLUMNS)]


def test_reading():
    tally = counted("binary", "hinge", [0], [1], [1.0])
    assert tally.tasks == ["ann", "bob", "eve"]
    assert [row["task"] for row in tally.rows()] == tally.tasks
    assert repr(tally) == "Tally(3 tasks, 1 events, error 0.0000)"
    with pytest.raises(KeyError, match=r"'nobody'.*'ann'"):
        tally["nobody"]
    empty = Tally(Names(), "real", (CODES["epsilon-insensitive"], 0.1))
    assert empty.total["events"] == 0
    assert math.isnan(empty.total["rmse"])


def test_a_tally_is_empty_until_the_first_event_even_in_the_buffer():
    tally = Tally(Names(["ann"]), "binary", (CODES["hinge"], 0.0))
    tally.reserve(1)
    assert tally._is_empty
    tally.count_one(0, 1.0, 0.5)
    assert not tally._is_empty
    tally.flush()
    assert not tally._is_empty
