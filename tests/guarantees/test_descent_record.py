"""Runs of the learners as records: equal to records written by hand, and every bound about them holds."""

import numpy as np
import pytest

import weft
from learners.descent_runs import iterates_of, learn, make_events, record
from weft import evaluation
from weft.evaluation import record_descent

pytestmark = pytest.mark.xdist_group("mt-record")

N, D = 5, 6
EVENTS = make_events(3, together=True, T=80, length=1.0)
EDGES = [(0, 1), (1, 2, 2.0), (3, 4)]


def recorded(name, events=EVENTS, iterates=False, **parameters):
    tasks = {} if "graph" in parameters else {"tasks": N}
    model = weft.Model(name, features=D, **tasks, **parameters)
    return record_descent(model, events.stream(), iterates=iterates), model


@pytest.mark.parametrize(
    ("name", "b", "parameters", "fields"),
    [
        ("mt-ogd", 2.0, {"eta": 0.1}, {}),
        ("mt-ogd", 5.0, {"eta": "adaptive", "D": 0.5, "sigma": 0.4}, {"radius": 0.5 * np.sqrt(5 + 5 * 4 * 0.16)}),
        ("mt-ogd", 2.0, {"eta": 0.3, "projection": "ball", "D": 0.3}, {"ball": 0.3}),
        (
            "mt-ogd",
            2.0,
            {"eta": 0.3, "projection": "v-sigma", "D": 0.3, "sigma": 0.2},
            {"ball": 0.3, "spread": 4 * (0.3 * 0.2) ** 2},
        ),
        ("mt-pnorm", 2.0, {"eta": 0.1, "p": 1.5}, {"regularizer": ("p-norm", 1.5), "lam": 0.5}),
        (
            "mt-pnorm",
            2.0,
            {"eta": 0.1, "p": 1.5, "radius": 0.4},
            {"regularizer": ("p-norm", 1.5), "lam": 0.5, "radius": 0.4},
        ),
        ("mt-eg", 2.0, {"eta": 0.1}, {"regularizer": "entropy"}),
        ("mt-ftrl", 2.0, {"eta0": 0.3}, {"update": "leader"}),
    ],
)
def test_a_record_written_out(name, b, parameters, fields):
    found, _ = recorded(name, b=b, **parameters)
    expected = record(learn(name, EVENTS, tasks=N, b=b, **parameters), EVENTS, b, "logistic", **fields)
    for field in ("task", "rounds", "scores", "eta"):
        assert np.array_equal(getattr(found, field), getattr(expected, field)), field
    for field in ("inverse", "root", "radius", "ball", "spread", "lam"):
        assert np.allclose(getattr(found, field), getattr(expected, field), rtol=1e-12), field
    assert np.array_equal(found.y, expected.y, equal_nan=True)
    assert np.array_equal(found.X.toarray(), expected.X)
    assert (found.loss, found.update, found.regularizer) == (expected.loss, expected.update, expected.regularizer)


def test_iterates():
    found, _ = recorded("mt-ogd", iterates=True, b=2.0, eta=0.1)
    assert np.array_equal(found.iterates, iterates_of("mt-ogd", EVENTS, tasks=N, b=2.0, eta=0.1))
    U = np.full((N, D), 0.1)
    assert evaluation.theorem1_varying(found, U).holds
    assert evaluation.theorem1(found, U).holds


def test_graphs_and_one_model():
    U = np.full((N, D), 0.1)
    for parameters in ({"graph": EDGES}, {"graph": [[0, 1, 2], [4, 3]]}):
        found, model = recorded("mt-ogd", eta=0.1, **parameters)
        assert np.allclose(found.root @ found.root @ found.inverse, np.eye(N), atol=1e-12)
        assert np.allclose(found.inverse, model.relations())
        assert evaluation.theorem1(found, U[model.tasks]).holds
    found, _ = recorded("mt-ogd", eta=0.1, b=np.inf)
    assert found.root is None
    assert evaluation.theorem1(found, U).holds


@pytest.mark.parametrize("name", ["hedge-mt-ogd", "hedge-mt-eg"])
def test_hedge(name):
    found, model = recorded(name, L=1.0)
    assert found.expert_losses.shape == found.expert_weights.shape == (80, 5)
    assert np.allclose(found.expert_weights.sum(axis=1), 1.0)
    assert evaluation.hedge_inequality(found).holds
    assert found.expert_variances.tolist() == list(model.learner.variances)


def test_refusals():
    stream = EVENTS.stream()
    with pytest.raises(ValueError, match="pa is not a mirror-descent learner"):
        record_descent(weft.Model("pa"), stream)
    with pytest.raises(ValueError, match="not declared; give all names in tasks="):
        record_descent(weft.Model("mt-ogd"), stream)
    with pytest.raises(ValueError, match="names in features="):
        record_descent(weft.Model("mt-eg", tasks=N), stream)
    model = weft.Model("mt-ogd", tasks=N)
    record_descent(model, stream)
    with pytest.raises(ValueError, match="learned already"):
        record_descent(model, stream)
