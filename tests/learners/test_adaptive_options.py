"""Options of `adaptive` and `auto` against the oracle: own_prior, second_order and half_life, alone and together."""

import pytest

from learners.adaptive_runs import (
    GROUP,
    LIMITS,
    ORACLES,
    expect_same,
    expected,
    learn_in_bulk,
    learn_in_chunks,
    learn_one_by_one,
    specified,
)
from weft.storage import pairs

pytestmark = pytest.mark.xdist_group(GROUP)

OPTIONS = {
    "own_prior": (("own_prior", 0.1),),
    "large own_prior": (("own_prior", 3.0),),
    "second_order": (("second_order", True),),
    "half_life": (("half_life", 30.0),),
    "half_life of one event": (("half_life", 1.0),),
    "all": (("own_prior", 0.5), ("second_order", True), ("half_life", 9.0)),
}
LOGISTIC = (
    "toy",
    "all kinds of columns",
    "columns that stop being dense",
    "correlated columns",
    "columns that part",
    "very sure",
)
SQUARE = (*LOGISTIC, "labels far outside", "opposed, seed 0", "constant label 7.25")
RUNS = [
    (case, loss, option)
    for loss, cases in (("logistic", LOGISTIC), ("square", SQUARE))
    for case in cases
    for option in OPTIONS
    if (case, loss, option) != ("very sure", "square", "half_life of one event")  # multiplies every rounding error
]


@pytest.mark.parametrize(("case", "loss", "option"), RUNS)
@pytest.mark.parametrize("name", ORACLES)
def test_oracle(name, case, loss, option, monkeypatch):
    wanted, parameters = expected(name, loss, case, OPTIONS[option]), dict(OPTIONS[option])
    runs, models = [], []
    for learn, layout in ((learn_in_bulk, "table"), (learn_in_chunks, "table"), (learn_one_by_one, "hashed")):
        monkeypatch.setattr(pairs, "DENSE_LIMIT", LIMITS[layout])
        models.append(specified(name, loss=loss, **parameters))
        runs.append(learn(models[-1], wanted.events))
        expect_same(models[-1], runs[-1], wanted)
    assert runs[0] == runs[1]
    assert models[0].to_bytes() == models[1].to_bytes()
