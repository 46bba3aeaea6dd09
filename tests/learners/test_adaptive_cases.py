"""`adaptive` and `auto` on all hard cases of the oracle: tables and hashed pairs, in bulk, in chunks and one by one."""

import numpy as np
import pytest

import weft
from learners.adaptive_runs import (
    CLOSE,
    GROUP,
    LIMITS,
    ORACLES,
    Expected,
    expect_same,
    expected,
    learn_in_bulk,
    learn_in_chunks,
    learn_one_by_one,
    losses_of,
    rounds_of,
    specified,
    stream_of,
)
from oracles.adaptive_cases import CASES, LOSSES, case_of
from weft.storage import pairs

pytestmark = pytest.mark.xdist_group(GROUP)


@pytest.mark.parametrize("layout", LIMITS)
@pytest.mark.parametrize(("case", "loss"), [(name, loss) for name, case in CASES.items() for loss in case.losses])
@pytest.mark.parametrize("name", ORACLES)
def test_oracle(name, case, loss, layout, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", LIMITS[layout])
    wanted = expected(name, loss, case)
    models = [specified(name, loss=loss) for _ in range(3)]
    learns = (learn_in_bulk, learn_in_chunks, learn_one_by_one)
    runs = [learn(model, wanted.events) for learn, model in zip(learns, models, strict=True)]
    expect_same(models[0], runs[0], wanted)
    assert runs[1:] == runs[:1] * 2
    assert len({model.to_bytes() for model in models}) == 1
    assert weft.Model.from_bytes(models[0].to_bytes()).to_bytes() == models[0].to_bytes()


@pytest.mark.parametrize("layout", LIMITS)
@pytest.mark.parametrize("case", ["a task without labels", "columns that stop being dense", "rows of all lengths"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ORACLES)
def test_rounds(name, loss, case, layout, monkeypatch):
    """Rounds of up to four rows, in bulk and one by one: all are scored, then each is scored again and learned."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", LIMITS[layout])
    rounds = rounds_of(case_of(case, loss))
    wanted = Expected(ORACLES[name](loss), loss, [event for one in rounds for event in one], rounds)
    at = np.repeat(range(len(rounds)), [len(one) for one in rounds])
    tasks, rows, labels = zip(*wanted.events, strict=True)
    whole, pieces = (specified(name, loss=loss) for _ in range(2))
    scores = whole.learn(weft.Stream(list(rows), labels, list(tasks), rounds=at)).tolist()
    expect_same(whole, scores, wanted)
    assert max(map(len, rounds)) == (4 if case != "rows of all lengths" else 3)
    again = []
    for one in rounds:
        tasks, rows, labels = zip(*one, strict=True)
        again += pieces.learn(weft.Stream(list(rows), labels, list(tasks), rounds=[0] * len(one))).tolist()
    assert again == scores
    assert pieces.to_bytes() == whole.to_bytes()


@pytest.mark.parametrize("case", ["all kinds of columns", "very sure", "toy"])
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("name", ORACLES)
def test_trace(name, loss, case):
    """The losses of every event."""
    oracle, model, events, losses = ORACLES[name](loss), specified(name, loss=loss), case_of(case, loss), []
    for k, row, y in events:
        oracle.number(row)
        losses.append(losses_of(oracle, oracle.view(oracle.row(row), k), y))
        oracle.learn(row, y, k)
    trace = np.full((len(events), len(model.traits.trace)), np.nan)
    model.learn(stream_of(events), trace=trace)
    np.testing.assert_allclose(trace, losses, rtol=CLOSE, atol=CLOSE)
