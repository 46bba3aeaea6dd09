"""A service that `weft serve` runs, as a model: the same methods, over HTTP, with the standard library alone.

Every event that is sent has an id, so that it can be sent again when an answer does not come: the service recognises
it, and learns it once.
"""

import http.client
import json
import math
import os
import threading
import time
import uuid
from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Any, NamedTuple
from urllib.parse import quote, urlsplit

RETRIES = 6
"""Times that a request is sent again, waiting twice as long each time."""
FIELDS = frozenset(("id", "task", "x", "y", "weight", "record", "correct"))
"""Of a line of an upload; a dict with others is a record."""
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


class Policy(NamedTuple):
    """What a task gives to others, and receives from them."""

    gives: bool
    receives: bool


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
        """Learn one event, durably; the score issued before. Sent again under the same id if no answer comes.

        Without a task, x is a record by the schema of the service: `learn_one({"user": "ann", "spam": 1, ...})`.
        """
        return self._post("/v1/learn", event_of(x, y, task, weight, id))["score"]  # type: ignore[no-any-return]

    def predict_one(self, x: Any, task: Any = None) -> float | None:
        """The score of one event, or of a record, without learning."""
        return self._post("/v1/predict", row_of(x, task))["score"]  # type: ignore[no-any-return]

    def predict_proba_one(self, x: Any, task: Any = None) -> float | None:
        """The probability of the positive label; None where scores are not log-odds."""
        return self._post("/v1/predict", row_of(x, task))["probability"]  # type: ignore[no-any-return]

    def score(self, X: Iterable[Any], task: Any = None) -> list[float | None]:
        """The scores of rows with a task each, or of one task, or of records: one request for each."""
        return [self.predict_one(x, each) for x, each in with_tasks(X, task)]

    def predict_proba(self, X: Iterable[Any], task: Any = None) -> list[float | None]:
        """The probabilities of the positive label, for rows as in `score`."""
        return [self.predict_proba_one(x, each) for x, each in with_tasks(X, task)]

    def explain(self, x: Any, task: Any = None) -> dict[str, Any]:
        """The score in its parts."""
        return self._post("/v1/explain", row_of(x, task))

    def forget(self, task: Any) -> dict[str, Any]:
        """Remove a task."""
        return self._json("DELETE", f"/v1/tasks/{in_path(task)}")

    def set_policy(self, task: Any, gives: bool = True, receives: bool = True) -> None:
        """What a task gives to others, and receives from them."""
        self._json("PUT", f"/v1/tasks/{in_path(task)}/policy", {"gives": gives, "receives": receives})

    def policy(self, task: Any) -> Policy:
        """What a task gives to others, and receives from them."""
        return policy_in(self.task(task))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to a file, as it is now."""
        from weft.store.files import write_atomic

        write_atomic(path, self.to_bytes())

    def to_bytes(self) -> bytes:
        """The model as the bytes of its file."""
        return self._request("GET", "/v1/model", None)

    # --- as a service ---

    def predict(self, x: Any, task: Any = None, *, remember: bool = False, id: str | None = None) -> dict[str, Any]:
        """Score, probability and label; with `remember` also the id under which `feedback` takes the label."""
        event = row_of(x, task)
        if remember:
            event |= {"remember": True, "id": id or uuid.uuid4().hex}
        return self._post("/v1/predict", event)

    def feedback(self, id: str, y: Any, *, correct: bool = False) -> dict[str, Any]:
        """The label of a remembered prediction, which is learned once."""
        return self._post("/v1/feedback", {"id": id, "y": y, "correct": correct})

    def learn(self, events: Iterable[Mapping[str, Any]], *, at_once: int = 5000) -> Uploaded:
        """Learn events: dicts as for POST /v1/events, or records by the schema of the service.

        Each has an id, its own or a new one, and is learned once.
        """
        total, before = Uploaded(0, 0, [], 0), 0
        for group in groups_of(events, at_once):
            body = b"\n".join(map(line_of, group))
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
    named = x.items() if isinstance(x, Mapping) else enumerate(x)
    row = {}
    for name, value in named:
        try:
            row[name] = float(value)
        except (TypeError, ValueError):
            told = f"feature {name!r} is {value!r}, not a number; give a number, or a record without a task beside it"
            raise ValueError(told) from None
    return row if isinstance(x, Mapping) else list(row.values())


def plain_record(record: Any) -> dict[str, Any]:
    """A record as JSON takes it: NaN is missing, a date is its text, numbers of NumPy are numbers."""
    if not isinstance(record, Mapping):
        raise ValueError("the task is missing; name the task of the row, or give a record: a dict by the schema")
    return {str(name): _plain_value(value) for name, value in record.items()}


def _plain_value(value: Any) -> Any:
    if isinstance(value, float):
        return float(value) if math.isfinite(value) else None if math.isnan(value) else str(value)
    if value is None or isinstance(value, str | bool | int):
        return value
    if isinstance(value, Mapping):
        return plain_record(value)
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, Iterable):
        return [_plain_value(each) for each in value]
    return _plain_value(float(value))


def row_of(x: Any, task: Any) -> dict[str, Any]:
    """A row of a task, or a record, as a message."""
    return {"record": plain_record(x)} if task is None else {"task": task, "x": plain_row(x)}


def event_of(x: Any, y: Any, task: Any, weight: float | None, id: str | None) -> dict[str, Any]:
    """An event, or a record with its label, as a message."""
    event = {"id": id or uuid.uuid4().hex, **row_of(x, task)}
    if task is not None or y is not None:
        event["y"] = y
    if weight is not None:
        event["weight"] = weight
    return event


def line_of(event: Mapping[str, Any]) -> bytes:
    """A line of an upload: an event as it is, and anything else as a record."""
    message = event if event.keys() <= FIELDS else {"record": plain_record(event)}
    return json.dumps({"id": uuid.uuid4().hex, **message}, default=list).encode()


def policy_in(figures: Mapping[str, Any]) -> Policy:
    """The policy of a task among its figures."""
    if "gives" not in figures:
        raise ValueError("the learner of this service keeps no policies of tasks; auto, adaptive and mt-ogd do")
    return Policy(figures["gives"], figures["receives"])


def with_tasks(X: Iterable[Any], task: Any) -> list[tuple[Any, Any]]:
    """Rows, each with its task: a list of tasks, one task for all, or none for records."""
    rows = list(X)
    if not isinstance(task, list):
        return [(x, task) for x in rows]
    if len(task) != len(rows):
        raise ValueError(f"there are {len(rows)} rows and {len(task)} tasks; give one task per row")
    return list(zip(rows, task, strict=True))


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
