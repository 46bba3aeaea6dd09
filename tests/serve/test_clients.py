"""`weft.AsyncClient`: the answers of `weft.Client`, retries under the same id."""

import asyncio
import datetime
import inspect

import numpy as np
import pytest

import weft
from serve import engines
from serve.service_process import served
from weft.client import Client, ServiceError

pytest.importorskip("httpx", reason="httpx is not installed")


def test_it_has_the_methods_of_the_other_client():
    """All but `save`, with the same arguments."""

    def methods(kind):
        found = inspect.getmembers(kind, inspect.isfunction)
        return {name: str(inspect.signature(f)) for name, f in found if not name.startswith("_")}

    ours = methods(weft.AsyncClient)
    theirs = methods(Client)
    assert {name: text for name, text in theirs.items() if name != "save"} == ours
    assert all(inspect.iscoroutinefunction(getattr(weft.AsyncClient, name)) for name in ours)


async def use(url, other):
    async with weft.AsyncClient(url) as client:
        x = {"a": 1.0}
        model = weft.Model(engines.LEARNER)
        assert await client.learn_one(x, 1, "t", id="one") == model.learn_one(x, 1, "t")
        assert await client.learn_one(x, 1, "t", id="one") == 0.0
        assert await client.predict_one(x, "t") == model.predict_one(x, "t") == other.predict_one(x, "t")
        assert await client.predict_proba_one(x, "t") == other.predict_proba_one(x, "t")
        kept = await client.predict(x, "t", remember=True)
        assert not (await client.feedback(kept["id"], 1))["duplicate"]
        found = await client.learn(
            [{"task": "u", "x": x, "y": 1}, {"task": "u"}, {"task": "u", "x": x, "y": -1}], at_once=2
        )
        assert (found.accepted, [line["line"] for line in found.rejected]) == (2, [2])
        assert await client.explain(x, "t") == other.explain(x, "t")
        assert await client.tasks() == other.tasks()
        await client.set_policy("t", gives=False)
        assert (await client.task("t"))["gives"] is False
        assert await client.to_bytes() == other.to_bytes()
        await asyncio.gather(*(client.learn_one(x, 1, "t") for _ in range(50)))
        assert (await client.task("t"))["events"] == 52
        await client.forget("t")
        with pytest.raises(ServiceError, match="does not know the task") as caught:
            await client.task("t")
        assert caught.value.status == 404
    async with weft.AsyncClient("http://127.0.0.1:9", retries=1) as client:
        with pytest.raises(ConnectionError, match="does not answer"):
            await client.predict_one(x, "t")


def test_it_answers_as_the_other_client_does(tmp_path):
    with served(tmp_path / "s", "--learner", engines.LEARNER) as service, service.client() as other:
        asyncio.run(use(service.url, other))


RECORDS = [
    {"user": "ann", "body": "free money", "age": 31, "vip": True, "label": "spam"},
    {"user": "ann", "body": "see you at lunch", "age": float("nan"), "tags": ["a", "b"], "label": "ham"},
    {"user": "bob", "body": "lunch money", "age": np.float64(7.5), "geo": {"lat": 1.5}, "label": "ham"},
    {"user": 7, "body": "", "age": np.int64(3), "day": datetime.date(2026, 3, 1), "label": "spam"},
]
SCHEMA = {"task": "user", "label": "label", "positive": "spam", "text": ["body"], "ignore": ["day"]}
OPTIONS = ("--task", "user", "--label", "label", "--positive", "spam", "--text", "body", "--ignore", "day")


def without_label(record):
    return {name: value for name, value in record.items() if name != "label"}


def test_records_as_a_model_with_a_schema_takes_them(tmp_path):
    model = weft.Model(engines.LEARNER, schema=weft.Schema(**SCHEMA))
    new = without_label(RECORDS[0])
    with served(tmp_path / "s", "--learner", engines.LEARNER, *OPTIONS) as service, service.client() as client:
        for record in RECORDS:
            assert client.learn_one(record) == model.learn_one(record)
        assert client.learn_one(new, "ham") == model.learn_one(new, "ham")
        assert client.predict_one(new) == model.predict_one(new)
        assert client.predict_proba_one(new) == pytest.approx(model.predict_proba_one(new))
        assert client.explain(new)["score"] == model.explain(new).score
        found = client.learn([*RECORDS, {"user": "ann", "age": "2026-01-01", "label": "ham"}])
        assert (found.accepted, [line["line"] for line in found.rejected]) == (4, [5])
        for record in RECORDS:
            model.learn_one(record)
        rows = list(map(without_label, RECORDS))
        assert client.score(rows) == model.score(rows).tolist()
        assert client.predict_proba(rows) == pytest.approx(model.predict_proba(rows))
        kept = client.predict(new, remember=True)
        assert kept["label"] == model.predict([new])[0]
        assert not client.feedback(kept["id"], "spam")["duplicate"]
        with pytest.raises(ServiceError, match="the record is empty"):
            client.learn_one({})
        asyncio.run(use_records(service.url, client, new))


async def use_records(url, other, record):
    async with weft.AsyncClient(url) as client:
        assert await client.learn_one({**record, "label": "ham"}) is not None
        assert await client.predict_one(record) == other.predict_one(record)
        assert await client.score([record, record]) == other.score([record, record])
        assert await client.explain(record) == other.explain(record)
        assert (await client.learn([{**record, "label": "ham"}])).accepted == 1


def test_rows_policies_and_what_is_no_row(tmp_path):
    with served(tmp_path / "s", "--learner", engines.LEARNER) as service, service.client() as client:
        model = weft.Model(engines.LEARNER)
        for task, y in (("t", 1), ("u", -1)):
            assert client.learn_one({"a": 1.0}, y, task) == model.learn_one({"a": 1.0}, y, task)
        rows, tasks = [{"a": 1.0}, {"a": 2.0}], ["t", "u"]
        assert client.score(rows, tasks) == model.score(rows, tasks).tolist()
        assert client.score(rows, "t") == model.score(rows, ["t", "t"]).tolist()
        assert client.predict_proba(rows, tasks) == pytest.approx(model.predict_proba(rows, tasks))
        client.set_policy("t", gives=False)
        model.set_policy("t", gives=False)
        assert (client.policy("t"), client.policy("u")) == (tuple(model.policy("t")), tuple(model.policy("u")))
        with pytest.raises(ValueError, match="2 rows and 1 tasks"):
            client.score(rows, ["t"])
        with pytest.raises(ValueError, match="feature 'a' is 'free', not a number"):
            client.learn_one({"a": "free"}, 1, "t")
        with pytest.raises(ValueError, match="the task is missing"):
            client.learn_one([1.0, 2.0], 1)
        with pytest.raises(ServiceError, match="the model has no schema"):
            client.learn_one({"a": 1.0}, 1)
