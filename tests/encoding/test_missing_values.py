"""Missing values of records reach the learners that read them, however the records come."""

import numpy as np
import pytest

import weft

SCHEMA = weft.Schema(task="u", label="y", positive=1)


def made(count=120, seed=0):
    rng = np.random.default_rng(seed)
    records = []
    for i in range(count):
        record = {"u": ["a", "b"][i % 2], "c": ["x", "y"][rng.integers(2)], "y": int(rng.integers(2))}
        for name in ("age", "height"):
            if rng.random() < 0.8:
                record[name] = float(rng.integers(-2, 3))
        if i > 40 and rng.random() < 0.9:
            record["late"] = float(rng.normal())
        records.append(record)
    return records


def test_however_they_are_cut():
    records = made()
    whole = weft.Model(schema=SCHEMA)
    assert whole.traits.reads_missing
    scores = whole.learn(records)
    assert [whole.features[slot] for slot in whole.vocabulary.fields.tolist()] == [
        name for name in whole.features if "=" not in name
    ]
    cut, one_by_one, reopened = (weft.Model(schema=SCHEMA) for _ in range(3))
    for begin in range(0, len(records), 7):
        cut.learn(records[begin : begin + 7])
        reopened.learn(records[begin : begin + 7])
        reopened = weft.Model.from_bytes(reopened.to_bytes())
    issued = [one_by_one.learn_one(record) for record in records]
    assert issued == scores.tolist()
    assert cut.to_bytes() == whole.to_bytes() == one_by_one.to_bytes() == reopened.to_bytes()
    assert [whole.predict_one(record) for record in records] == whole.score(records).tolist()


def test_missing_is_not_zero():
    records = made()
    model = weft.Model(schema=SCHEMA)
    model.learn(records)
    missing, zero = {"u": "a", "c": "x", "height": 1.0, "late": 0.5}, {"age": 0.0}
    assert model.predict_one(missing) != model.predict_one(missing | zero)
    assert model.predict_one(missing) == model.predict_one(missing | {"age": None})


def test_without_a_schema_nan_is_refused():
    with pytest.raises(ValueError, match="age"):
        weft.Model().learn_one({"age": float("nan")}, 1, "a")
