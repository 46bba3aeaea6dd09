"""`weft.AsyncClient`: the answers of `weft.Client`, retries under the same id."""

import asyncio
import inspect

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
