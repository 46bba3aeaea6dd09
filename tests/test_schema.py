"""Schema: its checks, its forms, and what it infers."""

import dataclasses

import pytest

import weft
from weft.schema import Schema, as_schema


def test_it_is_frozen_and_equal_by_value():
    schema = Schema(task="user", text=["body"])
    with pytest.raises(dataclasses.FrozenInstanceError):
        schema.task = "x"
    assert schema == Schema(task="user", text=("body",)) != Schema(task="user")
    assert hash(schema) == hash(Schema(task="user", text="body"))
    assert weft.Schema is Schema


@pytest.mark.parametrize(
    ("given", "words"),
    [
        ({"task": 3}, "task=3 is not a list"),
        ({"task": ""}, "task='' is not the name"),
        ({"label": ["a"]}, "label=.* is not the name of a field"),
        ({"text": [1]}, "text=.* is not a list of names"),
        ({"text": 5}, "text=5 is not a list"),
        ({"task": "a", "label": "a"}, "'a' is named as task and label"),
        ({"text": ["a", "a"]}, "named as text, twice"),
        ({"features": ["a"], "text": ["b"]}, "text names 'b', which features does not"),
        ({"features": ["a"], "task": "a"}, "named as task and in features"),
        ({"features": ["a"], "ignore": ["b"]}, "features or ignore, not both"),
        ({"ngrams": 0}, "ngrams=0"),
        ({"ngrams": True}, "ngrams=True"),
        ({"hash_bits": 40}, "hash_bits=40"),
        ({"positive": [1]}, "positive="),
        ({"positive": float("nan")}, "not finite"),
    ],
)
def test_what_is_refused(given, words):
    with pytest.raises(ValueError, match=words):
        Schema(**given)


FULL = Schema(
    task=["a", "b"], label="y", positive=True, text=["t,1", "t2"], category=["c"], numeric=["n"], ignore=["i"], id="id",
    time="ts", weight="w", round="r", ngrams=2, hash_bits=20,
)  # fmt: skip


@pytest.mark.parametrize("schema", [Schema(), FULL, Schema(features=["a"]), Schema(positive=0), Schema(positive=False)])
def test_json_there_and_back(schema):
    again = Schema.from_json(schema.to_json())
    assert again == schema
    assert type(again.positive) is type(schema.positive)


@pytest.mark.parametrize("data", [None, [], {"task": 3}, {"unknown": 1}, {"text": "a", "ignore": "a"}, {"ngrams": "2"}])
def test_json_is_not_trusted(data):
    with pytest.raises(ValueError):
        Schema.from_json(data)


def test_options_and_difference():
    words = FULL.options()
    assert words[words.index("--text") + 1] == '"t,1",t2'
    assert words[words.index("--positive") + 1] == "true"
    assert FULL.difference(FULL) == ""
    assert Schema(positive=1).difference(Schema(positive=True)) == "positive is 1, not True"
    assert (
        Schema(task="a").difference(Schema(label="b")) == "task is a, where none was given; label is not given, not b"
    )


def test_a_schema_or_keywords():
    assert as_schema(None, {"task": "a"}) == Schema(task="a")
    with pytest.raises(ValueError, match="not both"):
        as_schema(Schema(), {"task": "a"})
    with pytest.raises(ValueError, match="schema is a dict"):
        as_schema({"task": "a"}, {})


MAIL = [
    {"user": f"u{i % 3}", "ts": f"2026-03-{i + 1:02d}", "id": 1000 + i, "country": ["us", "de"][i % 2], "age": 20 + i,
     "body": f"free money number {i}", "key": f"k{i}x", "label": ["spam", "ham"][i % 2]}
    for i in range(25)
]  # fmt: skip


def test_what_is_inferred():
    schema = Schema.infer(MAIL)
    assert schema == Schema(task="user", label="label", text=["body"], ignore=["key"], id="id", time="ts")


def test_what_is_told_is_kept():
    schema = Schema.infer(MAIL, task="country", label="age", text=["key"], ignore=["body"])
    assert (schema.task, schema.label, schema.text, schema.ignore) == ("country", "age", ("key",), ("body",))


def test_nothing_is_guessed_between_two():
    schema = Schema.infer([{"user": "a", "device": "b", "target": 1, "outcome": 2}])
    assert (schema.task, schema.label) == (None, None)
    assert Schema.infer([{"user": "a", "task": "b", "y": 1, "label": 2}]) == Schema(task="task", label="label")


def test_no_records():
    with pytest.raises(ValueError, match="no records"):
        Schema.infer([])


def test_an_inferred_schema_prints_what_was_found():
    records = [
        {
            "user": "ann",
            "ts": "2026-03-01",
            "a": 1,
            "b": 2.5,
            "country": "us",
            "body": "free money now",
            "label": "spam",
        },
        {"user": "bob", "ts": "2026-03-02", "a": 3, "b": 1.5, "country": "us", "body": "lunch at noon", "label": "ham"},
    ]
    schema = weft.Schema.infer(records, ignore=["ts"])
    assert str(schema) == "task: user; label: label (ham, spam); 2 numeric, 1 category, 1 text; ignored: ts"
    twin = weft.Schema.from_json(schema.to_json())
    assert (twin, hash(twin)) == (schema, hash(schema))
    assert str(twin) == "task: user; label: label; text: body; ignored: ts"


def test_an_unknown_keyword_is_told_the_nearest():
    with pytest.raises(TypeError, match="a schema has no keyword 'tsk'; did you mean task"):
        weft.Stream.from_records([{"user": "ann"}], tsk="user")
