"""Bodies and answers over ASGI: read within limits of size and time, written as JSON."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, MutableMapping
from typing import Any, NamedTuple

import msgspec

from weft.serve.problems import Problem

Scope = MutableMapping[str, Any]
Receive = Callable[[], Awaitable[MutableMapping[str, Any]]]
Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
Headers = list[tuple[bytes, bytes]]

JSON = (b"content-type", b"application/json")
encode = msgspec.json.Encoder().encode


class Gone(Exception):
    """The client has closed the connection."""


class Answer(NamedTuple):
    """What is sent: a status, a body and headers."""

    status: int
    body: bytes
    headers: Headers


def json_answer(body: Any, status: int = 200) -> Answer:
    """An answer whose body is a message."""
    return Answer(status, encode(body), [JSON])


def problem_answer(problem: Problem) -> Answer:
    """A refused request."""
    headers: Headers = [JSON]
    if problem.retry_after is not None:
        headers.append((b"retry-after", str(problem.retry_after).encode()))
    if problem.code == "stopping":
        headers.append((b"connection", b"close"))
    if problem.allow is not None:
        headers.append((b"allow", problem.allow.encode()))
    if problem.status == 401:
        headers.append((b"www-authenticate", b"Bearer"))
    return Answer(problem.status, encode({"error": problem.as_json()}), headers)


async def send_answer(send: Send, answer: Answer) -> None:
    """Send it whole."""
    length = (b"content-length", str(len(answer.body)).encode())
    await send({"type": "http.response.start", "status": answer.status, "headers": [*answer.headers, length]})
    await send({"type": "http.response.body", "body": answer.body})


def header(scope: Scope, name: bytes) -> bytes | None:
    """The value of a header, by its name in small letters."""
    for key, value in scope["headers"]:
        if key == name:
            return bytes(value)
    return None


async def pieces(
    receive: Receive, most: int, seconds: float, first: MutableMapping[str, Any] | None = None
) -> AsyncIterator[bytes]:
    """A body piece by piece: at most so many bytes, and at most so many seconds between two pieces.

    `first` is the first message, if that was received already.
    """
    total, more = 0, True
    while more:
        message = await _within(receive, seconds) if first is None else first
        first = None
        if message["type"] == "http.disconnect":
            raise Gone
        body = message.get("body", b"")
        total += len(body)
        if total > most:
            raise too_large("the body", most)
        more = message.get("more_body", False)
        if body:
            yield body


async def read_body(scope: Scope, receive: Receive, most: int, seconds: float) -> bytes:
    """A whole body; refused by its announced length, or while it streams."""
    announced = header(scope, b"content-length")
    if announced is not None and announced.isdigit() and int(announced) > most:
        raise too_large("the body", most)
    message = await _within(receive, seconds)
    if message["type"] == "http.request" and not message.get("more_body", False):  # nearly always
        body: bytes = message.get("body", b"")
        if len(body) <= most:
            return body
        raise too_large("the body", most)
    return b"".join([piece async for piece in pieces(receive, most, seconds, message)])


async def pass_over(receive: Receive, most: int, seconds: float) -> None:
    """Read what is left of a body: an answer is lost where a connection is closed while the client still sends."""
    async for _ in pieces(receive, most, seconds):
        pass


def too_large(what: str, most: int) -> Problem:
    """Beyond a limit of bytes."""
    return Problem("too_large", 413, f"{what} has more than {most:,} bytes", "send less at once, or raise the limit")


async def _within(receive: Receive, seconds: float) -> MutableMapping[str, Any]:
    """The next message; 408 if it does not come in time. A timer is cheaper than asyncio.wait_for."""
    task = asyncio.current_task()
    assert task is not None
    is_late = False

    def give_up() -> None:
        nonlocal is_late
        is_late = True
        task.cancel()

    timer = asyncio.get_running_loop().call_later(seconds, give_up)
    try:
        return await receive()
    except asyncio.CancelledError:
        if not is_late:
            raise
        raise Problem(
            "too_slow", 408, f"the body did not come within {seconds:g} seconds", "send it faster, or in smaller parts"
        ) from None
    finally:
        timer.cancel()
