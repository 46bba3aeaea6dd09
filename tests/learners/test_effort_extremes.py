"""Every expert of `effort` on data that break things, and weights of events: no NaN, and the guarantee holds."""

import math

import numpy as np
import pytest

import weft
from learners.adaptive_runs import GROUP
from weft.learners.adaptive.learners import CLASSIFY, NAMES
from weft.learners.adaptive.state import Part, Pooled, Stack

pytestmark = pytest.mark.xdist_group(GROUP)

CHOICES = [*({"experts": [name]} for name in NAMES), {"effort": "fast"}, {"effort": "balanced"}, {"effort": "best"}]
EVERY = pytest.mark.parametrize("choice", CHOICES, ids=lambda choice: str(*choice.values()))
BOTH = pytest.mark.parametrize("loss", ["logistic", "square"])


def model_of(choice, loss, **more):
    if choice.get("experts", [""])[0] in CLASSIFY and loss == "square":
        pytest.skip(f"{choice['experts'][0]} classifies")
    return weft.Model("auto", loss=loss, **choice, **more)


def huge(rng, t):
    return {name: float(rng.choice([1e150, -1e150, 1e-150, 1.0, 1e75])) for name in "abcd"}


def constant(rng, t):
    return {"a": 3.0, "b": -1e9, "c": float(rng.normal())}


def come_and_go(rng, t):
    names = "abcd" if t // 40 % 2 else "cdef"
    return {name: float(rng.normal()) for name in names} | ({} if t % 3 else {f"s{t % 17}": 1.0})


def empty(rng, t):
    return {} if t % 2 else {"a": float(rng.normal())}


def cubed(rng, t):
    return {name: float(rng.standard_cauchy() ** 3) for name in "abc"}


@EVERY
@BOTH
@pytest.mark.parametrize("row", [huge, constant, come_and_go, empty, cubed])
@pytest.mark.parametrize("labels", ["one class", "against the prediction", "random"])
def test_nothing_breaks(choice, loss, row, labels):
    rng, model = np.random.default_rng(5), model_of(choice, loss)
    for t in range(240):
        x, task = row(rng, t), f"task {t}" if t % 10 == 9 else f"task {t % 3}"
        y = 1.0
        if labels == "random":
            y = float(rng.choice([-1.0, 1.0]))
        elif labels == "against the prediction":
            y = -math.copysign(1.0, model.predict_one(x, task))
        assert math.isfinite(model.learn_one(x, y if loss == "logistic" else 1e3 * y, task))
    assert min(found.certificate for found in model.borrowing().values()) >= -1e-9
    weights = model.weights()
    assert np.isfinite(weights).all()
    assert choice == {"effort": "fast"} or np.abs(weights).max() < 1e6
    explained = model.explain(x, task)
    assert explained.score == model.predict_one(x, task)
    assert math.isclose(
        sum(explained.parts.values()), explained.score, abs_tol=1e-9 * max(map(abs, explained.parts.values()))
    )


@EVERY
@BOTH
def test_one_event_per_task(choice, loss):
    rng, model = np.random.default_rng(8), model_of(choice, loss)
    for t in range(200):
        x = come_and_go(rng, t)
        assert math.isfinite(model.learn_one(x, float(rng.choice([-1.0, 1.0])), f"task {t}"))
    assert min(found.certificate for found in model.borrowing().values()) >= -1e-9
    assert np.abs(model.weights()).max() < 1e6
    assert math.isfinite(model.predict_one(x, "another"))


@EVERY
@BOTH
def test_weights_of_events(choice, loss):
    rng = np.random.default_rng(6)
    rows = [
        {f"f{j}": float(rng.normal()) for j in rng.permutation(12)[:5]} | {"d": float(rng.normal())} for _ in range(120)
    ]
    y = np.where([row["d"] > 0 for row in rows], 1.0, -1.0)
    task, weight = rng.integers(0, 3, 120), rng.choice([0.0, 0.5, 1.0, 4.0], 120)
    plain, ones = model_of(choice, loss), model_of(choice, loss)
    assert (
        plain.learn(weft.Stream(rows, y, task)).tolist()
        == ones.learn(weft.Stream(rows, y, task, weight=np.ones(120))).tolist()
    )
    assert plain.to_bytes() == ones.to_bytes()
    kept = weight > 0.0
    features = sorted({name for row in rows for name in row})
    whole, without = (model_of(choice, loss, features=features, tasks=3) for _ in range(2))
    scores = whole.learn(weft.Stream(rows, y, task, weight=weight))
    chosen = [row for row, keep in zip(rows, kept, strict=True) if keep]
    assert (
        scores[kept].tolist() == without.learn(weft.Stream(chosen, y[kept], task[kept], weight=weight[kept])).tolist()
    )
    for one, other in zip(whole.state[1:], without.state[1:], strict=True):
        assert np.array_equal(one, other)
    assert scores.tolist() != plain.learn(weft.Stream(rows, y, task)).tolist()


def test_bayes_counts_by_weight():
    model = weft.Model("auto", experts=["bayes"])
    for t in range(40):
        model.learn_one({f"s{t % 20}": 1.0}, 1 if t % 2 else -1, "k", weight=2.5)
    biases = model.state.bias[0, [Part.SEEN_POSITIVE, Part.SEEN_NEGATIVE]].tolist()
    assert biases == [47.5, 47.5]  # the first two rows have dense features only, and are left alone
    counts = model.state.pooled[: len(model.features), [Pooled.SEEN_POSITIVE, Pooled.SEEN_NEGATIVE]]
    assert set(counts.sum(axis=1).tolist()) <= {2.5, 5.0}


def test_experts_by_name():
    model = weft.Model("auto", effort="best")
    model.learn_one({"a": 1.0}, 1, "k")
    shown = model.experts()
    assert list(shown)[:4] == ["gradient", "betting", "own", "pooled"]
    assert len(shown) == 14
    assert shown["betting"] == model.state.stack[Stack.WEIGHT, 1]
    assert list(weft.Model("auto", effort="fast").experts()) == ["gradient", "betting", "own", "pooled"]
    with pytest.raises(ValueError, match="auto has"):
        weft.Model("pa").experts()


@pytest.mark.parametrize(
    ("parameters", "words"),
    [
        ({"experts": ["nobody"]}, "nobody"),
        ({"experts": []}, "fast"),
        ({"experts": "bayes"}, "experts"),
        ({"experts": ["bayes"], "loss": "square"}, "classifies"),
        ({"effort": "best", "second_order": True}, "second"),
        ({"effort": "slow"}, "fast"),
    ],
)
def test_refusals(parameters, words):
    with pytest.raises(ValueError, match=words):
        weft.Model("auto", **parameters)
