"""The careful encoder: what every kind of value becomes, and what is said about those that cannot be used."""

import datetime
import decimal
import math

import numpy as np
import pytest

from weft.encoding.careful import DEEPEST, Encoder, round_of
from weft.encoding.collected import round_bounds
from weft.encoding.refused import Refused
from weft.schema import Schema

RECORD = {
    "user": "ann",
    "ts": "2026-03-01T10:00:00Z",
    "id": 17,
    "country": "us",
    "age": 31,
    "body": "free money",
    "label": "spam",
}


def features(record, **schema):
    return Encoder(Schema(task="user", **schema)).event({"user": "ann", **record}).features


def refused(record, **schema):
    with pytest.raises(Refused) as info:
        Encoder(Schema(task="user", **schema)).event({"user": "ann", **record})
    return info.value.field, info.value.reason


def test_the_record_of_the_documents():
    schema = Schema(
        task="user", label="label", positive="spam", text=["body"], category=["country"], numeric=["age"],
        ignore=["ts"], id="id",
    )  # fmt: skip
    event = Encoder(schema).event(RECORD)
    assert event.task == "ann"
    assert event.label == "spam"
    assert event.features == {"country=us": 1.0, "age": 31.0, "body:free": 1.0, "body:money": 1.0}
    assert list(event.features) == ["country=us", "age", "body:free", "body:money"]  # the order of the record
    assert (event.fields, event.id, event.weight, event.round) == (["age"], 17, 1.0, None)


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (31, {"f": 31.0}),
        (-0.5, {"f": -0.5}),
        (True, {"f": 1.0}),
        (False, {"f": 0.0}),
        (decimal.Decimal("2.5"), {"f": 2.5}),
        (np.float32(0.25), {"f": 0.25}),
        (np.bool_(True), {"f": 1.0}),
        ("us", {"f=us": 1.0}),
        (" us ", {"f=us": 1.0}),
        ("31", {"f=31": 1.0}),
        ("true", {"f=true": 1.0}),
        (["a", "b", "a", ""], {"f=a": 2.0, "f=b": 1.0}),
        ([1, None, 2.5, True], {"f[0]": 1.0, "f[2]": 2.5, "f[3]": 1.0}),
        (np.array([1.0, 2.0]), {"f[0]": 1.0, "f[1]": 2.0}),
        ([], {}),
        ({"lat": 1.5, "near": {"city": "rome"}, "none": None}, {"f.lat": 1.5, "f.near.city=rome": 1.0}),
        (None, {}),
        (math.nan, {}),
        ("", {}),
        ("  ", {}),
    ],
)
def test_what_a_value_becomes(value, expected):
    assert features({"f": value}) == expected


@pytest.mark.parametrize(
    ("value", "name"),
    [("us", "us"), (7, "7"), (7.0, "7"), (7.5, "7.5"), (True, "true"), ("2026-03-01", "2026-03-01"),
     (datetime.date(2026, 3, 1), "2026-03-01")],
)  # fmt: skip
def test_categories(value, name):
    assert features({"f": value}, category=["f"]) == {f"f={name}": 1.0}


def test_words():
    text = "Free MONEY free, 50% größe_x 日本 e\u0301"
    assert features({"f": text}, text=["f"]) == {
        "f:free": 2.0, "f:money": 1.0, "f:50": 1.0, "f:größe": 1.0, "f:x": 1.0, "f:日本": 1.0, "f:e": 1.0,
    }  # fmt: skip
    assert features({"f": ["a b", "b"]}, text=["f"]) == {"f:a": 1.0, "f:b": 2.0}
    assert features({"f": "a b a b"}, text=["f"], ngrams=2) == {"f:a": 2.0, "f:b": 2.0, "f:a b": 2.0, "f:b a": 1.0}
    assert features({"f": "!?"}, text=["f"]) == {}


def test_only_these_features():
    record = {"a": 1, "b": 2, "geo": {"lat": 3, "lon": 4}, "deep": {"er": {"x": 5}}}
    assert features(record, features=["a", "geo.lat"]) == {"a": 1.0, "geo.lat": 3.0}
    assert features(record, features=["geo"]) == {"geo.lat": 3.0, "geo.lon": 4.0}
    assert features(record, features=["deep"]) == {"deep.er.x": 5.0}
    assert features(record, ignore=["geo", "deep.er"]) == {"a": 1.0, "b": 2.0}


def test_special_fields_in_nested_objects():
    schema = Schema(task="who.name", label="out.y", weight="w", round="r")
    event = Encoder(schema).event({"who": {"name": 7, "age": 3}, "out": {"y": True}, "w": 2, "r": "a"})
    assert (event.task, event.label, event.features, event.weight, event.round) == (7, True, {"who.age": 3.0}, 2.0, "a")


def test_a_task_of_several_fields():
    assert Encoder(Schema(task=["a", "b"])).event({"a": "x", "b": 2.0}).task == ("x", 2)
    assert Encoder(Schema(task=["a"])).event({"a": "x"}).task == ("x",)


def test_hashing_adds_up():
    names = [f"w{i}" for i in range(50)]
    found = features({"f": " ".join(names)}, text=["f"], hash_bits=3)
    assert set(found) <= {f"#{i}" for i in range(8)}
    assert sum(found.values()) == 50.0


@pytest.mark.parametrize(
    ("record", "schema", "field", "words"),
    [
        ({"d": "2026-03-01"}, {}, "d", "is a date; name the field as time"),
        ({"d": datetime.datetime(2026, 3, 1)}, {}, "d", "is a date"),
        ({"d": np.datetime64("2026-03-01T10:00:00.000000000")}, {}, "d", "is a date"),
        ({"f": math.inf}, {}, "f", "inf is too large"),
        ({"f": 10**400}, {}, "f", "too large"),
        ({"f": "31"}, {"numeric": ["f"]}, "f", '"31" is not a number; write it without quotes'),
        ({"f": 3}, {"text": ["f"]}, "f", "3 is not a text; list the field as numeric or category"),
        ({"f": ["a", 1]}, {}, "f", "has strings and other values"),
        ({"f": [[1], [2]]}, {}, "f[0]", "[1] is not a number"),
        ({"f": {"a": 1}}, {"numeric": ["f"]}, "f", "is an object, not a number"),
        ({"f": b"x"}, {}, "f", "is not a number"),
        ({"w": -1}, {"weight": "w"}, "w", "-1 is not a weight"),
        ({"r": 1.5}, {"round": "r"}, "r", "1.5 is not a round"),
        ({"r": None}, {"round": "r"}, "r", "null is not a round"),
        ({"y": ["a"]}, {"label": "y"}, "y", "is not a label"),
        ({"a=b": 1, "a": "b"}, {}, "a", "appears twice"),
        ({"a": "b", "a=b": 1}, {}, "a=b", "appears twice"),
        ({"geo.lat": 1, "geo": {"lat": 2}}, {}, "geo.lat", "appears twice"),
        ({"user": True}, {}, "user", "true is not the name of a task"),
        ({"user": 1.5}, {}, "user", "1.5 is not the name of a task"),
        ({"user": " "}, {}, "user", "the task is missing"),
    ],
)
def test_what_is_refused(record, schema, field, words):
    found, reason = refused(record, **schema)
    assert found == field
    assert words in reason
    assert "; " in reason  # a remedy


def test_the_nearest_field_is_suggested():
    with pytest.raises(Refused, match="did you mean usr"):
        Encoder(Schema(task="user")).event({"usr": "ann", "age": 3})


def test_how_deep_objects_may_be():
    def nested(depth):
        return 1.5 if depth == 0 else {"a": nested(depth - 1)}

    assert features({"x": nested(DEEPEST)}) == {"x" + ".a" * DEEPEST: 1.5}
    assert refused({"x": nested(DEEPEST + 1)})[1].startswith(f"objects are nested more than {DEEPEST} deep")


def test_a_round_that_comes_again_is_refused():
    assert round_bounds([1, 1, "1", 2], [0, 1, 0, 0]).tolist() == [0, 2, 3, 4]
    with pytest.raises(ValueError, match="row 3: round 1 has ended already"):
        round_bounds([1, 1, 2, 1], [0, 1, 0, 0])
    with pytest.raises(ValueError, match="row 1: its task appears twice in round 1"):
        round_bounds([1, 1], [0, 0])


def test_rounds_that_are_floats_are_integers_up_to_2_to_53():
    assert [round_of("r", x) for x in (3.0, 2.0**53, -(2.0**53), "3")] == [3, 2**53, -(2**53), "3"]
    for value in (2.0**53 + 2, 0.5, True, None):
        with pytest.raises(Refused):
            round_of("r", value)
