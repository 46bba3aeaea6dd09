"""`adaptive` and `auto` against the oracle with dictionaries: scores, stack, mixtures, explanations, guarantees."""

import math

import numpy as np
import pytest

import weft
from learners.adaptive_runs import GROUP, ORACLES, specified
from weft.learners.adaptive.state import Stack
from weft.storage import pairs

pytestmark = pytest.mark.xdist_group(GROUP)

KINDS = ("sparse", "dense", "mixed", "fading")


def events(seed, loss, kind, n=160, tasks=5):
    """Rows as dicts: sparse features, dense features, both, and dense features that later become rare."""
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=30) + 0.7 * rng.normal(size=(tasks, 30))
    found = []
    for t in range(n):
        k = int(rng.integers(min(tasks, 1 + t // 8)))
        chosen = [] if kind == "dense" else rng.permutation(np.arange(6, 30))[: rng.integers(0, 5)].tolist()
        if kind != "sparse" and (kind != "fading" or t < n // 2 or rng.random() < 0.2):
            chosen += [j for j in range(6) if rng.random() < 0.9]
        x = {f"f{j}": float((3.0 if j == 2 else 0.0) + 10.0 ** (j % 4 - 2) * rng.normal()) for j in chosen}
        s = sum(truth[k, int(name[1:])] * value / 10.0 ** (int(name[1:]) % 4 - 2) for name, value in x.items())
        y = (1.0 if s + rng.normal() > 0 else -1.0) if loss == "logistic" else 100.0 + 7.0 * k + s + rng.normal()
        found.append((x, y, f"task {k}"))
    return found


@pytest.mark.parametrize("limit", [1 << 23, 40], ids=["table", "hashed"])
@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("loss", ["logistic", "square"])
@pytest.mark.parametrize("name", ORACLES)
def test_oracle(name, loss, kind, limit, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    oracle, model = ORACLES[name](loss), specified(name, loss=loss)
    stream = events(0, loss, kind)
    for x, y, task in stream[:60]:
        before = model.predict_one(x, task)
        assert before == model.learn_one(x, y, task) == pytest.approx(oracle.learn(x, y, task), rel=1e-10, abs=1e-10)
    rows, labels, tasks = zip(*stream[60:], strict=True)
    scores = model.learn(weft.Stream(list(rows), labels, tasks))
    expected = [oracle.learn(x, y, task) for x, y, task in stream[60:]]
    np.testing.assert_allclose(scores, expected, atol=1e-9, rtol=1e-9)
    np.testing.assert_allclose(model.state.stack[Stack.WEIGHT, : len(oracle.V)], oracle.V, atol=1e-10)
    assert [model.features[j] for j in model.state.dense[: model.state.n_dense[0]]] == oracle.dense_list


@pytest.mark.parametrize("loss", ["logistic", "square"])
@pytest.mark.parametrize("name", ORACLES)
def test_rounds(name, loss):
    rng = np.random.default_rng(3)
    oracle, model = ORACLES[name](loss), specified(name, loss=loss)
    for _ in range(30):
        n = int(rng.integers(1, 5))
        rows = [{f"f{j}": float(rng.normal()) for j in rng.permutation(6)[:3]} for _ in range(n)]
        labels, tasks = rng.choice([-1.0, 1.0], n), rng.permutation(5)[:n].tolist()
        scores = model.learn(weft.Stream(rows, labels, tasks, rounds=[0] * n))
        np.testing.assert_allclose(scores, oracle.learn_round(rows, labels, tasks), atol=1e-9)


@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_borrowing_and_explanation(loss):
    oracle, model = ORACLES["auto"](loss), specified("auto", loss=loss)
    for x, y, task in events(5, loss, "mixed"):
        oracle.learn(x, y, task)
        model.learn_one(x, y, task)
    for task, found in model.borrowing().items():
        assert found.certificate >= -1e-9
        assert math.isclose(found.stack + found.own + found.pooled, 1.0, rel_tol=1e-9)
        assert found.events == oracle.n[task]
    for x, _, task in events(6, loss, "mixed", n=10):
        explained = model.explain(x, task, per_feature=True)
        shares = explained.features.values()
        assert sum(explained.parts.values()) == pytest.approx(explained.score, abs=1e-9)
        assert explained.score == model.predict_one(x, task)
        assert sum(share.own for share in shares) == pytest.approx(explained.own, abs=1e-9)
        assert sum(share.shared for share in shares) == pytest.approx(explained.shared, abs=1e-9)


def test_probabilities():
    model = specified("auto")
    rows, labels, tasks = zip(*events(7, "logistic", "mixed"), strict=True)
    model.learn(weft.Stream(list(rows), labels, tasks))
    p = model.predict_proba(list(rows), list(tasks))
    assert ((p > 0) & (p < 1)).all()
    np.testing.assert_array_equal(p >= 0.5, model.predict(list(rows), list(tasks)) == 1)
    with pytest.raises(ValueError, match="not log-odds"):
        weft.Model("pa").predict_proba([[1.0]], ["a"])
    with pytest.raises(ValueError, match="auto does"):
        weft.Model("pa").borrowing()


@pytest.mark.parametrize("limit", [1 << 23, 40], ids=["table", "hashed"])
@pytest.mark.parametrize("name", ORACLES)
def test_sums_are_up_to_date_when_a_feature_becomes_dense(name, limit, monkeypatch):
    """In bulk they are updated at the first dense feature, or at the end; with single events after every event."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    rng, stream = np.random.default_rng(4), []
    for t in range(120):
        names = rng.permutation(40)[:4] if t < 50 else [0, *rng.permutation(np.arange(1, 40))[:3]]
        stream.append(({f"f{j}": float(2.0 + rng.normal()) for j in names}, rng.choice([-1.0, 1.0]), f"task {t % 3}"))
    bulk, one_by_one = specified(name), specified(name)
    rows, labels, tasks = zip(*stream, strict=True)
    scores = bulk.learn(weft.Stream(list(rows), labels, tasks))
    assert bulk.state.n_dense[0] == 1
    assert bulk.state.dense[0] == bulk.features.index("f0")
    assert scores.tolist() == [one_by_one.learn_one(x, y, task) for x, y, task in stream]
    assert bulk.to_bytes() == one_by_one.to_bytes()
    total = sum(x.get("f0", 0.0) for x in rows)
    assert bulk.state.sums[bulk.features.index("f0")] == pytest.approx(total, rel=1e-12)
