"""`adaptive` and `auto` on all hard cases of the oracle: tables and hashed pairs, in bulk, in chunks and one by one."""

import pytest

import weft
from learners.adaptive_runs import (
    GROUP,
    LIMITS,
    ORACLES,
    expect_same,
    expected,
    learn_in_bulk,
    learn_in_chunks,
    learn_one_by_one,
)
from oracles.adaptive_cases import CASES
from weft import pairs

pytestmark = pytest.mark.xdist_group(GROUP)


@pytest.mark.parametrize("layout", LIMITS)
@pytest.mark.parametrize(("case", "loss"), [(name, loss) for name, case in CASES.items() for loss in case.losses])
@pytest.mark.parametrize("name", ORACLES)
def test_oracle(name, case, loss, layout, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", LIMITS[layout])
    wanted = expected(name, loss, case)
    models = [weft.Model(name, loss=loss) for _ in range(3)]
    learns = (learn_in_bulk, learn_in_chunks, learn_one_by_one)
    runs = [learn(model, wanted.events) for learn, model in zip(learns, models, strict=True)]
    expect_same(models[0], runs[0], wanted)
    assert runs[1:] == runs[:1] * 2
    assert len({model.to_bytes() for model in models}) == 1
