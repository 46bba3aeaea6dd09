"""What is said of a message that is refused: the field, its value, and what to do."""

import asyncio
import json
import random

import pytest

from serve import engines
from serve.asgi import answer
from weft.serve.app import App
from weft.serve.decoding import line_to_request
from weft.serve.http import problem_answer
from weft.serve.limits import Limits
from weft.serve.problems import Problem
from weft.serve.tokens import Tokens

GOOD = {"task": "ann", "x": {"free": 1.0}, "y": 1}
SCHEMA = {"task": "user", "label": "spam", "weight": "w", "numeric": ["age"]}


def error_of(folder, path, body, method="POST", schema=None, first=()):
    """The error with which a service answers."""
    service = engines.opened(folder, **({"schema": engines_schema(schema)} if schema else {}))

    async def ask():
        app = App(Tokens(folder), Limits(), lambda error: None)
        app.serve(service)
        for event in first:
            assert (await answer(app, "/v1/learn", [json.dumps(event).encode()]))[0] == 200
        status, _, found, _ = await answer(app, path, [body if isinstance(body, bytes) else body.encode()], method)
        assert status in (404, 409, 422), found
        return found["error"]

    try:
        before = service.seq + len(first)
        found = asyncio.run(ask())
        assert service.seq == before
        return found
    finally:
        engines.close(service)


def engines_schema(given):
    from weft.schema import Schema

    return Schema(**given).to_json()


BAD = [
    ("/v1/learn", '{"task": 1.5, "x": {}, "y": 1}', "task", "1.5", "write a string"),
    ("/v1/learn", '{"task": null, "x": {}, "y": 1}', "task", "null", "write a string"),
    ("/v1/learn", '{"task": "a", "x": {"ok": 1, "f": "b"}, "y": 1}', "x.f", '"b"', "write a number"),
    ("/v1/learn", '{"task": "a", "x": {"ok": 1, "f": NaN}, "y": 1}', "x.f", "NaN", "write a number"),
    ("/v1/learn", '{"task": "a", "x": {"ok": 1, "f": -Infinity}, "y": 1}', "x.f", "-Infinity", "write a number"),
    ("/v1/learn", '{"task": "a", "x": {"ok": 1, "f": 1e999}, "y": 1}', "x.f", "1e999", "scale"),
    ("/v1/learn", '{"task": "a", "x": {"ok": 1, "f": 1e200}, "y": 1}', "x.f", "1e+200", "scale"),
    ("/v1/learn", '{"task": "a", "x": [0, -1e200], "y": 1}', "x[1]", "-1e+200", "scale"),
    ("/v1/learn", '{"task": "a", "x": {"f": true}, "y": 1}', "x.f", "true", "write a number"),
    ("/v1/learn", '{"task": "a", "x": {"f": {"g": 1}}, "y": 1}', "x.f", "an object", "write a number"),
    ("/v1/learn", '{"task": "a", "x": [1, "b"], "y": 1}', "x[1]", '"b"', "write a number"),
    ("/v1/learn", '{"task": "a", "x": 5, "y": 1}', "x", "5", "list of numbers"),
    ("/v1/learn", '{"task": "a", "x": {"f": %s}, "y": 1}' % ("9" * 5000), "x.f", "999...", "scale"),
    ("/v1/learn", '{"task": "a", "x": {}, "y": [1]}', "y", "a list", "write a number, a string"),
    ("/v1/learn", '{"task": "a", "x": {}, "y": 3}', "y", "3.0", "two classes"),
    ("/v1/learn", '{"task": "a", "x": {}, "y": 1, "weight": "x"}', "weight", '"x"', "write a number"),
    ("/v1/learn", '{"task": "a", "x": {}, "y": 1, "weight": -1}', "weight", "-1", "from 0 on"),
    ("/v1/learn", '{"task": "a", "x": {}, "y": 1, "wieght": 2}', "wieght", "2", "the fields are id, task, x, y"),
    ("/v1/learn", '{"task": "a", "x": {}, "y": 1, "id": 7}', "id", "7", "write a string"),
    ("/v1/learn", '{"task": "%s", "x": {}, "y": 1}' % ("n" * 2000), "task", "nnn", "shorter"),
    ("/v1/learn", '{"task": "a", "x": {"%s": 1}, "y": 1}' % ("n" * 2000), "x", "nnn", "shorter"),
    ("/v1/learn", '{"task": 12345678901234567890123, "x": {}, "y": 1}', "task", "64 bits", "use a string"),
    ("/v1/learn", r'{"task": "a", "x": {"\ud800": NaN}, "y": 1}', "x.\\ud800", "NaN", "write a number"),
    ("/v1/learn", "[]", None, "a list", "write"),
    ("/v1/learn", '"text"', None, '"text"', "write"),
    ("/v1/feedback", '{"y": 1}', "id", "missing", 'send "id"'),
    ("/v1/feedback", '{"id": "q"}', "y", "missing", 'send "y"'),
    ("/v1/feedback", '{"id": "q", "y": null}', "y", "null", "write a number"),
    ("/v1/feedback", '{"id": "q", "y": 1}', "id", "'q'", "remember"),
    ("/v1/predict", '{"task": "a", "x": {}, "remember": "yes"}', "remember", '"yes"', "true or false"),
    ("/v1/explain", '{"task": "a", "x": {"f": null}}', "x.f", "null", "write a number"),
]  # fmt: skip


@pytest.mark.parametrize(("path", "body", "field", "value", "remedy"), BAD)
def test_field_value_and_remedy_are_named(tmp_path, path, body, field, value, remedy):
    found = error_of(tmp_path / "s", path, body)
    assert found["field"] == field
    assert value in found["message"]
    assert remedy in found["remedy"]
    assert len(found["message"]) < 200


@pytest.mark.parametrize(
    ("record", "field", "value", "remedy"),
    [
        ({}, "user", "missing", 'send "user"'),
        ({"user": "ann"}, "spam", "missing", 'send "spam" in the record'),
        ({"user": 1.5, "spam": 1}, "user", "1.5", "string or an integer"),
        ({"user": "ann", "spam": 1, "age": "old"}, "age", '"old"', "without quotes"),
        ({"user": "ann", "spam": 3}, "spam", "3", "two classes"),
        ({"user": "ann", "spam": 1, "w": -2}, "w", "-2", "from 0"),
    ],
)
def test_fields_of_records_are_those_of_the_schema(tmp_path, record, field, value, remedy):
    found = error_of(tmp_path / "s", "/v1/learn", json.dumps({"record": record}), schema=SCHEMA)
    assert found["field"] == field
    assert value in found["message"]
    assert remedy in found["remedy"]


LEARNED = [{"task": "mine", "x": {"secret": 1.0}, "y": 1}]


@pytest.mark.parametrize("path", ["/v1/predict", "/v1/explain"])
def test_names_that_others_have_sent_are_not_told(tmp_path, path):
    found = error_of(tmp_path / "s", path, '{"task": "mine", "x": [1.0]}', first=LEARNED)
    assert (found["field"], found["code"]) == ("x", "other_form")
    assert "secret" not in json.dumps(found)


def test_a_value_that_the_model_refuses_is_one_of_x(tmp_path):
    found = error_of(tmp_path / "s", "/v1/predict", '{"task": "mine", "x": {"secret": 1e160}}', first=LEARNED)
    assert (found["field"], "1e+160" in found["message"]) == ("x", True)
    assert "values lie within" in found["remedy"]


def test_whatever_is_wrong_can_be_answered():
    """Parts of messages, put together anyhow: refused with a sentence that can be sent, or taken."""
    chance, taken, refused = random.Random(5), 0, []
    names = ['"task"', '"x"', '"y"', '"id"', '"weight"', '"record"', '"correct"', '"\\ud800"', '"z"', "7", '""']
    values = ["1", '"a"', "{}", "[]", "NaN", "-Infinity", "1e999", "null", "true", "[1, 2]", '{"a": 1}', "[NaN]", "{"]
    values += [
        '{"a": "b"}',
        '{"\\udfff": NaN}',
        '{"a": {"b": [1]}}',
        "9" * 400,
        "[" * 2000,
        '"\\ud800"',
        "\ufeff",
        "-0",
    ]
    for _ in range(20_000):
        pairs = (f"{chance.choice(names)}: {chance.choice(values)}" for _ in range(chance.randrange(5)))
        body = ("{" + ", ".join(pairs) + "}" * chance.choice([1, 1, 1, 0, 2])).encode()
        try:
            line_to_request(Limits(), None, body)
            taken += 1
        except Problem as problem:
            refused.append(problem)
    assert taken > 0
    assert {problem.status for problem in refused} <= {413, 422}
    assert all(problem.message and problem.remedy for problem in refused)
    assert max(len(problem_answer(problem).body) for problem in refused) < 2000
