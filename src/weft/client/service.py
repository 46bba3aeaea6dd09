"""A service that `weft serve` runs, as a model: the same methods, over HTTP, with the standard library alone.

Every event that is sent has an id, so that it can be sent again when an answer does not come: the service recognises
it, and learns it once.
"""

import http.client
import json
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

RETRIES = 6
"""Times that a request is sent again, waiting twice as long each time."""
TRY_AGAIN = (408, 429, 502, 503, 504)
"""Answers after which a request is sent again."""


class ServiceError(ValueError):
    """A request that the service refused. `code`, `field` and `remedy` are those of its answer."""

    def __init__(self, status: int, error: Mapping[str, Any]) -> None:
        remedy = error.get("remedy")
        super().__init__(f"{error.get('message')}" + (f"; {remedy}" if remedy else ""))
        self.status = status
        self.code = error.get("code")
        self.field = error.get("field")
        self.remedy = remedy


class Uploaded(NamedTuple):
    """What came of an upload."""

    accepted: int
    duplicates: int
    rejected: list[dict[str, Any]]
    seq: int

    def with_answer(self, found: Mapping[str, Any], before: int) -> "Uploaded":
        """With the answer to the next group, whose first line comes after `before` others."""
        rejected = [{**line, "line": line["line"] + before} for line in found["rejected"]]
        return Uploaded(
            self.accepted + found["accepted"], self.duplicates + found["duplicates"], self.rejected + rejected,
            max(self.seq, found["seq"]),
        )  # fmt: skip


class Client:
    """A model that is served at `url`, such as "http://127.0.0.1:8765". Any thread may call any method.

    `token` is what `weft token add` printed; a service without tokens needs none. `timeout` is in seconds, for one
    attempt.
    """

    def __init__(self, url: str, token: str | None = None, *, timeout: float = 30.0, retries: int = RETRIES) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname:
            raise ValueError(f"{url!r} is not the address of a service; write http://HOST:PORT")
        self._parts, self._timeout, self._retries = parts, timeout, retries
        self._headers = {"content-type": "application/json"} | ({"authorization": f"Bearer {token}"} if token else {})
        self._here = threading.local()

    def __enter__(self) -> "Client":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def __repr__(self) -> str:
        return f"Client({self._parts.scheme}://{self._parts.netloc})"

    # --- as a model ---

    def learn_one(
        self, x: Any, y: Any = None, task: Any = None, *, weight: float | None = None, id: str | None = None
    ) -> float | None:
        """Learn one event, durably; the score issued before. Sent again under the same id if no answer comes."""
        event = {"id": id or uuid.uuid4().hex, "task": task, "x": plain_row(x), "y": y}
        if weight is not None:
            event["weight"] = weight
        return self._post("/v1/learn", event)["score"]  # type: ignore[no-any-return]

    def predict_one(self, x: Any, task: Any) -> float | None:
        """The score of one event, without learning."""
        return self._post("/v1/predict", {"task": task, "x": plain_row(x)})["score"]  # type: ignore[no-any-return]

    def predict_proba_one(self, x: Any, task: Any) -> float | None:
        """The probability of the positive label; None where scores are not log-odds."""
        return self._post("/v1/predict", {"task": task, "x": plain_row(x)})["probability"]  # type: ignore[no-any-return]

    def explain(self, x: Any, task: Any) -> dict[str, Any]:
        """The score in its parts."""
        return self._post("/v1/explain", {"task": task, "x": plain_row(x)})

    def forget(self, task: Any) -> dict[str, Any]:
        """Remove a task."""
        return self._json("DELETE", f"/v1/tasks/{in_path(task)}")

    def set_policy(self, task: Any, gives: bool = True, receives: bool = True) -> None:
        """What a task gives to others, and receives from them."""
        self._json("PUT", f"/v1/tasks/{in_path(task)}/policy", {"gives": gives, "receives": receives})

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, as it is now."""
        from weft.store.files import write_atomic

        write_atomic(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The model as the bytes of its file."""
        return self._request("GET", "/v1/model", None)

    # --- as a service ---

    def predict(self, x: Any, task: Any, *, remember: bool = False, id: str | None = None) -> dict[str, Any]:
        """Score, probability and label; with `remember` also the id under which `feedback` takes the label."""
        event: dict[str, Any] = {"task": task, "x": plain_row(x)}
        if remember:
            event |= {"remember": True, "id": id or uuid.uuid4().hex}
        return self._post("/v1/predict", event)

    def feedback(self, id: str, y: Any, *, correct: bool = False) -> dict[str, Any]:
        """The label of a remembered prediction, which is learned once."""
        return self._post("/v1/feedback", {"id": id, "y": y, "correct": correct})

    def learn(self, events: Iterable[Mapping[str, Any]], *, at_once: int = 5000) -> Uploaded:
        """Learn events: dicts as for POST /v1/events. Each has an id, its own or a new one, and is learned once."""
        total, before = Uploaded(0, 0, [], 0), 0
        for group in groups_of(events, at_once):
            body = b"\n".join(json.dumps({"id": uuid.uuid4().hex, **event}, default=list).encode() for event in group)
            total = total.with_answer(json.loads(self._request("POST", "/v1/events", body)), before)
            before += len(group)
        return total

    def tasks(self, limit: int = 100, sort: str = "-events") -> list[dict[str, Any]]:
        """Tasks with their figures."""
        return self._json("GET", f"/v1/tasks?limit={limit}&sort={quote(sort)}")["tasks"]  # type: ignore[no-any-return]

    def task(self, name: Any) -> dict[str, Any]:
        """The figures of one task."""
        return self._json("GET", f"/v1/tasks/{in_path(name)}")

    def close(self) -> None:
        """Close the connection of this thread."""
        connection: http.client.HTTPConnection | None = self._here.__dict__.pop("connection", None)
        if connection is not None:
            connection.close()

    # --- requests ---

    def _post(self, path: str, body: dict[str, Any]) -> dict[str, Any]:
        return self._json("POST", path, body)

    def _json(self, method: str, path: str, body: dict[str, Any] | None = None) -> dict[str, Any]:
        data = None if body is None else json.dumps(body, allow_nan=False).encode()
        return json.loads(self._request(method, path, data))  # type: ignore[no-any-return]

    def _request(self, method: str, path: str, body: bytes | None) -> bytes:
        wait = 0.1
        for attempt in range(self._retries + 1):
            is_last = attempt == self._retries
            try:
                status, data = self._attempt(method, path, body)
            except (OSError, http.client.HTTPException) as error:
                self.close()
                if is_last:
                    where = f"{self._parts.scheme}://{self._parts.netloc}"
                    raise ConnectionError(f"{where} does not answer: {error}; is weft serve running there?") from None
            else:
                if status < 400:
                    return data
                if status not in TRY_AGAIN or is_last:
                    raise ServiceError(status, error_of(data))
            time.sleep(wait)
            wait = min(2.0 * wait, 5.0)
        raise AssertionError("unreachable")

    def _attempt(self, method: str, path: str, body: bytes | None) -> tuple[int, bytes]:
        connection = self._connection()
        connection.request(method, self._parts.path.rstrip("/") + path, body, self._headers)
        answer = connection.getresponse()
        return answer.status, answer.read()

    def _connection(self) -> http.client.HTTPConnection:
        found: http.client.HTTPConnection | None = self._here.__dict__.get("connection")
        if found is None:
            kind = http.client.HTTPSConnection if self._parts.scheme == "https" else http.client.HTTPConnection
            found = kind(self._parts.hostname or "", self._parts.port, timeout=self._timeout)
            self._here.__dict__["connection"] = found
        return found


def plain_row(x: Any) -> Any:
    """A row as JSON takes it: a dict of numbers, or a list."""
    if isinstance(x, Mapping):
        return {name: float(value) for name, value in x.items()}
    return [float(value) for value in x]


def in_path(task: Any) -> str:
    """A task in the path of a request."""
    return quote(task if isinstance(task, str) else json.dumps(task), safe="")


def groups_of(events: Iterable[Mapping[str, Any]], size: int) -> Iterator[list[Mapping[str, Any]]]:
    """The events, so many at a time."""
    group: list[Mapping[str, Any]] = []
    for event in events:
        group.append(event)
        if len(group) == size:
            yield group
            group = []
    if group:
        yield group


def error_of(data: bytes) -> dict[str, Any]:
    """What the answer to a refused request says."""
    try:
        found = json.loads(data)["error"]
        return found if isinstance(found, dict) else {"message": "the service refused the request"}
    except (ValueError, KeyError, TypeError):
        return {"message": "the service refused the request"}
