"""Values that are explicitly missing, against the oracle: a NaN in a dense column counts as the column's mean."""

import math

import numpy as np
import pytest

import weft
from learners.adaptive_runs import GROUP, LIMITS, dense_features, learn_in_bulk, learn_in_chunks
from learners.effort_runs import Twin, stack_of
from weft.learners.adaptive.learners import NAMES, RANKS
from weft.storage import pairs
from weft.store.codec import FileError, decode, encode
from weft.vocabulary import Vocabulary

pytestmark = pytest.mark.xdist_group(GROUP)

GAP = 7e77
"""Stands for NaN until rows are a batch: plain rows with NaN are refused."""


@pytest.fixture(autouse=True)
def _gaps(monkeypatch):
    propose, read = Vocabulary.propose, Vocabulary.read

    def with_gaps(batch):
        return batch._replace(values=np.where(batch.values == GAP, math.nan, batch.values))

    def proposed(self, *arguments, **more):
        found = propose(self, *arguments, **more)
        return found._replace(batch=with_gaps(found.batch))

    monkeypatch.setattr(Vocabulary, "propose", proposed)
    monkeypatch.setattr(Vocabulary, "read", lambda self, *arguments, **more: with_gaps(read(self, *arguments, **more)))


def events(seed, loss, n=220):
    """Dense columns with gaps, one that fades after half of the events, sparse features, of which some are gaps."""
    rng, found = np.random.default_rng(seed), []
    for t in range(n):
        x = {f"d{j}": float(3.0 * j + rng.normal()) for j in range(4) if j != 3 or t < n // 2 or rng.random() < 0.1}
        x |= {f"s{j}": float(rng.exponential()) for j in rng.permutation(30)[:3]}
        y = x["d0"] + 0.5 * x["d1"] + (x["d2"] - 6.0) * (1.0 if t % 3 else -1.0) + x.get("s1", 0.0) + 0.3 * rng.normal()
        gaps = [name for name in x if rng.random() < (0.5 if name == "d1" else 0.15)]
        x |= dict.fromkeys(gaps, math.nan)
        found.append((f"task {t % 3}", x, math.copysign(1.0, y - 2.0) if loss == "logistic" else y))
    return found


def with_gap(stream):
    return [(k, {j: GAP if math.isnan(x) else x for j, x in row.items()}, y) for k, row, y in stream]


@pytest.mark.parametrize("names", [(), *((name,) for name in NAMES), NAMES], ids=str)
@pytest.mark.parametrize("loss", ["logistic", "square"])
def test_oracle(loss, names, monkeypatch):
    if names in (("bayes",), ("fading",)) and loss == "square":
        pytest.skip("this expert classifies")
    stream = events(0, loss)
    oracle = Twin(loss, names, RANKS["balanced"])
    wanted = [oracle.learn(row, y, k) for k, row, y in stream]
    chosen, runs, models = [name for name in names if name not in ("bayes", "fading") or loss == "logistic"], [], []
    for learn, layout in ((learn_in_bulk, "table"), (learn_in_chunks, "hashed")):
        monkeypatch.setattr(pairs, "DENSE_LIMIT", LIMITS[layout])
        models.append(weft.Model("auto", loss=loss, **({"experts": chosen} if chosen else {"effort": "fast"})))
        runs.append(learn(models[-1], with_gap(stream)))
        np.testing.assert_allclose(runs[-1], wanted, rtol=1e-9, atol=1e-9)
        for name, expected in oracle.stack.items():
            np.testing.assert_allclose(stack_of(models[-1], oracle.experts)[name], expected, rtol=1e-9, atol=1e-9)
        assert dense_features(models[-1]) == oracle.dense_list
    assert runs[0] == runs[1]
    missing = dict(zip(models[0].features, models[0].state.missing.tolist(), strict=False))
    assert {j: count for j, count in missing.items() if count} == {j: n for j, n in oracle.miss.items() if n}
    assert missing["d1"] > 50
    again = weft.Model.from_bytes(models[0].to_bytes())
    rows, tasks = [row for _, row, _ in with_gap(stream)], [k for k, _, _ in stream]
    assert again.score(rows, tasks).tolist() == models[0].score(rows, tasks).tolist()


def test_more_dense_columns_than_seats(monkeypatch):
    """The experts of dense columns have 32 seats, and 16 of them a grid: columns without one leave theirs alone."""
    rng, stream = np.random.default_rng(2), []
    for t in range(70):
        x = {f"d{j:02}": float(rng.normal()) for j in range(36)}
        y = x["d00"] * x["d15"] + x["d35"]
        x |= dict.fromkeys([name for name in x if rng.random() < 0.1], math.nan)
        x |= {f"s{j}": 1.0 for j in rng.permutation(30)[:3]}
        stream.append((f"task {t % 2}", x, y))
    oracle = Twin("square", ("second", "grid"), RANKS["balanced"])
    wanted = [oracle.learn(row, y, k) for k, row, y in stream]
    model = weft.Model("auto", loss="square", experts=["second", "grid"])
    np.testing.assert_allclose(learn_in_chunks(model, with_gap(stream)), wanted, rtol=1e-9, atol=1e-9)
    assert len(oracle.dense_list) == 36


@pytest.mark.parametrize("name", ["adaptive", "auto"])
def test_sparse_features_that_are_missing_are_not_features(name):
    model, other = (weft.Model(name, features=[f"s{j}" for j in range(30)]) for _ in range(2))
    stream = [(k, {j: x for j, x in row.items() if j[0] == "s"}, y) for k, row, y in events(1, "logistic")]
    before = [(k, {j: 1.0 if math.isnan(x) else x for j, x in row.items()}, y) for k, row, y in stream]
    learn_in_bulk(model, before), learn_in_bulk(other, before)
    kept = [(k, {j: x for j, x in row.items() if not math.isnan(x)}, y) for k, row, y in stream]
    assert kept != stream
    assert learn_in_bulk(model, with_gap(stream)) == learn_in_bulk(other, kept)
    assert model.to_bytes() == other.to_bytes()


@pytest.mark.parametrize("name", ["adaptive", "auto"])
def test_plain_rows_with_nan_are_refused(name):
    model = weft.Model(name)
    for refused in (
        lambda: model.learn_one({"a": math.nan}, 1, "k"),
        lambda: model.learn(weft.Stream([[math.nan]], [1], ["k"])),
    ):
        with pytest.raises(ValueError, match=r"1e\+150"):
            refused()


@pytest.mark.parametrize("wrong", ["their sum", "one of them"])
def test_counts_of_missing_values_in_a_file(wrong):
    model = weft.Model("auto", loss="square", experts=["grid"])
    learn_in_bulk(model, with_gap(events(1, "square")))
    header, arrays = decode(model.to_bytes())
    (missing,), (total,) = ([key for key in arrays if key.endswith(end)] for end in (".missing", ".n_missing"))
    arrays = {key: array.copy() for key, array in arrays.items()}
    if wrong == "their sum":
        arrays[total] += 1
    else:  # more often than there were events
        arrays[missing][arrays[missing].argmax()] += 1000
        arrays[total] += 1000
    with pytest.raises(FileError, match="missing values are not as many"):
        weft.Model.from_bytes(encode(header, arrays))


def test_a_feature_of_most_rows_is_dense_only_where_most_features_are():
    """In rows with few of the known features, a feature is dense from nine rows of ten on, elsewhere from half on."""

    def learned(others, each):
        rng, model = np.random.default_rng(3), weft.Model("adaptive")
        for t in range(120):
            row = {f"s{j}": 1.0 for j in rng.permutation(others)[:each]} | ({"common": 0.5} if t % 10 < 7 else {})
            model.learn_one(row, 1 if rng.random() < 0.5 else -1, "a")
        return dense_features(model)

    assert learned(200, 3) == []
    assert "common" in learned(8, 3)
