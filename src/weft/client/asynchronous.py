"""`weft.Client` for asyncio: the same methods, to be awaited. Needs httpx (`pip install 'weft[async]'`)."""

import asyncio
import json
import uuid
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import quote, urlsplit

from weft.client.service import (
    RETRIES,
    TRY_AGAIN,
    Policy,
    ServiceError,
    Uploaded,
    error_of,
    event_of,
    groups_of,
    in_path,
    line_of,
    policy_in,
    row_of,
    with_tasks,
)

try:
    import httpx
except ImportError:
    raise ImportError("weft.AsyncClient needs httpx; install it with pip install 'weft[async]'") from None


class AsyncClient:
    """A model that is served at `url`, for asyncio; arguments are those of `weft.Client`.

    `async with weft.AsyncClient(url) as client: await client.learn_one(x, y, task)`
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = RETRIES) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a service; write http://HOST:PORT")
        self._url, self._retries = url.rstrip("/"), retries
        headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
        self._client = httpx.AsyncClient(headers=headers, timeout=timeout, trust_env=False)

    async def __aenter__(self) -> "AsyncClient":
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __repr__(self) -> str:
        return f"AsyncClient({self._url})"

    # --- as a model ---

    async def learn_one(
        self, x: Any, y: Any = None, task: Any = None, *, weight: float | None = None, id: str | None = None
    ) -> float | None:
        """Learn one event or record, durably; the score issued before."""
        return (await self._json("POST", "/v1/learn", event_of(x, y, task, weight, id)))["score"]  # type: ignore[no-any-return]

    async def predict_one(self, x: Any, task: Any = None) -> float | None:
        """The score of one event, without learning."""
        return (await self.predict(x, task))["score"]  # type: ignore[no-any-return]

    async def predict_proba_one(self, x: Any, task: Any = None) -> float | None:
        """The probability of the positive label; None where scores are not log-odds."""
        return (await self.predict(x, task))["probability"]  # type: ignore[no-any-return]

    async def score(self, X: Iterable[Any], task: Any = None) -> list[float | None]:
        """The scores of rows with a task each, or of one task, or of records: one request for each."""
        return [await self.predict_one(x, each) for x, each in with_tasks(X, task)]

    async def predict_proba(self, X: Iterable[Any], task: Any = None) -> list[float | None]:
        """The probabilities of the positive label, for rows as in `score`."""
        return [await self.predict_proba_one(x, each) for x, each in with_tasks(X, task)]

    async def explain(self, x: Any, task: Any = None) -> dict[str, Any]:
        """The score in its parts."""
        return await self._json("POST", "/v1/explain", row_of(x, task))

    async def forget(self, task: Any) -> dict[str, Any]:
        """Remove a task."""
        return await self._json("DELETE", f"/v1/tasks/{in_path(task)}")

    async def set_policy(self, task: Any, gives: bool = True, receives: bool = True) -> None:
        """What a task gives to others, and receives from them."""
        await self._json("PUT", f"/v1/tasks/{in_path(task)}/policy", {"gives": gives, "receives": receives})

    async def policy(self, task: Any) -> Policy:
        """What a task gives to others, and receives from them."""
        return policy_in(await self.task(task))

    async def to_bytes(self) -> bytes:
        """The model as the bytes of its file."""
        return await self._request("GET", "/v1/model", None)

    # --- as a service ---

    async def predict(
        self, x: Any, task: Any = None, *, remember: bool = False, id: str | None = None
    ) -> dict[str, Any]:
        """Score, probability and label; with `remember` also the id under which `feedback` takes the label."""
        event = row_of(x, task)
        if remember:
            event |= {"remember": True, "id": id or uuid.uuid4().hex}
        return await self._json("POST", "/v1/predict", event)

    async def feedback(self, id: str, y: Any, *, correct: bool = False) -> dict[str, Any]:
        """The label of a remembered prediction, which is learned once."""
        return await self._json("POST", "/v1/feedback", {"id": id, "y": y, "correct": correct})

    async def learn(self, events: Iterable[Mapping[str, Any]], *, at_once: int = 5000) -> Uploaded:
        """Learn events or records, as `weft.Client.learn` does."""
        total = Uploaded(0, 0, [], 0)
        before = 0
        for group in groups_of(events, at_once):
            body = b"\n".join(map(line_of, group))
            total = total.with_answer(json.loads(await self._request("POST", "/v1/events", body)), before)
            before += len(group)
        return total

    async def tasks(self, limit: int = 100, sort: str = "-events") -> list[dict[str, Any]]:
        """Tasks with their figures."""
        found = await self._json("GET", f"/v1/tasks?limit={limit}&sort={quote(sort)}")
        return found["tasks"]  # type: ignore[no-any-return]

    async def task(self, name: Any) -> dict[str, Any]:
        """The figures of one task."""
        return await self._json("GET", f"/v1/tasks/{in_path(name)}")

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()

    # --- requests ---

    async def _json(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        return json.loads(await self._request(method, path, data))  # type: ignore[no-any-return]

    async def _request(self, method: str, path: str, body: bytes | None) -> bytes:
        wait = 0.1
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                answer = await self._client.request(method, self._url + path, content=body)
            except httpx.TransportError as error:
                if is_last:
                    raise ConnectionError(
                        f"{self._url} does not answer: {error}; is weft serve running there?"
                    ) from None
            else:
                if answer.status_code < 400:
                    return answer.content
                if answer.status_code not in TRY_AGAIN or is_last:
                    raise ServiceError(answer.status_code, error_of(answer.content))
            await asyncio.sleep(wait)
            wait = min(2.0 * wait, 5.0)
        raise AssertionError("unreachable")
