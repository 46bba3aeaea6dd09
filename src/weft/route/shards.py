"""The shards of a router over HTTP: requests are passed on with the client's token, and answers as they are."""

from collections.abc import Sequence
from typing import Any

import httpx
import msgspec

from weft.serve.http import JSON, Answer, Headers
from weft.serve.problems import Problem

PASSED = ("content-type", "retry-after", "www-authenticate", "weft-seq", "content-disposition")
"""Headers of answers that are passed on."""
CONNECT = 2.0
"""Seconds within which a shard must take a connection."""


def moving() -> Problem:
    """The answer for tasks that are on their way to another shard."""
    return Problem("moving", 503, "the task is moving to another shard", "try again in a moment", retry_after=1)


class Shards:
    """Connections to shards, by the address of each."""

    def __init__(self, seconds: float) -> None:
        limits = httpx.Limits(max_connections=512, max_keepalive_connections=128)
        self._client = httpx.AsyncClient(
            timeout=httpx.Timeout(seconds, connect=CONNECT), limits=limits, trust_env=False
        )
        self.is_guarded: dict[str, str] = {}
        """Shards that were seen to ask for tokens, and their addresses; until they are down."""

    async def ask(self, name: str, url: str, method: str, path: str, body: bytes | None, headers: Headers) -> Answer:
        """The answer of a shard; Problem 503 if it does not answer."""
        try:
            found = await self._client.request(method, url.rstrip("/") + path, content=body, headers=headers)
        except httpx.TransportError:
            self.is_guarded.pop(name, None)
            raise Problem(
                "shard_down", 503, f"the shard {name} does not answer", "try again in a moment", retry_after=1
            ) from None
        kept = [(key.encode(), found.headers[key].encode("latin-1")) for key in PASSED if key in found.headers]
        return Answer(found.status_code, found.content, [*kept, (b"weft-shard", name.encode("latin-1", "replace"))])

    def stream(self, url: str, path: str, headers: Headers) -> Any:
        """The answer of a shard piece by piece: a context."""
        return self._client.stream("GET", url.rstrip("/") + path, headers=headers)

    async def close(self) -> None:
        """Close all connections."""
        await self._client.aclose()


def decoded(answer: Answer) -> Any:
    """The JSON of an answer."""
    try:
        return msgspec.json.decode(answer.body)
    except (msgspec.MsgspecError, UnicodeDecodeError):
        raise Problem("shard_answer", 502, "a shard sent an answer that is not JSON", "look at its log") from None


def problem_of(answer: Answer) -> Problem:
    """A refusal of a shard, to be told again."""
    try:
        error = msgspec.json.decode(answer.body)["error"]
        return Problem(error["code"], answer.status, error["message"], error["remedy"], field=error["field"])
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
        return Problem("shard_answer", 502, "a shard sent an answer that weft does not send", "look at its log")


def code_of(answer: Answer) -> str | None:
    """The code of a refusal; None of an answer."""
    if answer.status < 400:
        return None
    try:
        return str(msgspec.json.decode(answer.body)["error"]["code"])
    except (msgspec.MsgspecError, UnicodeDecodeError, KeyError, TypeError):
        return ""


def in_json(value: Any, answers: Sequence[Answer] = ()) -> Answer:
    """An answer of the router's own, with the worst status of those that it is made of."""
    return Answer(max((answer.status for answer in answers), default=200), msgspec.json.encode(value), [JSON])
