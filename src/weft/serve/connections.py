"""Connections: closed if the head of a request is too long or too late, or if there are too many of them."""

from asyncio import AbstractEventLoop, TimerHandle, Transport
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

from weft.serve.http import encode
from weft.serve.problems import Problem

LONGEST_HEAD = 1 << 16
"""Bytes of a request line with its headers."""


def _last_answer(status: bytes, code: str, message: str, remedy: str, *headers: bytes) -> bytes:
    """An answer after which the connection is closed."""
    body = encode({"error": Problem(code, 0, message, remedy).as_json()})
    head = [b"HTTP/1.1 " + status, *headers, b"connection: close", b"content-type: application/json"]
    return b"\r\n".join([*head, b"content-length: %d" % len(body), b"", body])


_BUSY = _last_answer(
    b"503 Service Unavailable", "connections", "too many connections are open", "try again in a moment",
    b"retry-after: 1",
)  # fmt: skip
_NOT_HTTP = _last_answer(
    b"400 Bad Request", "bad_request", "the request is not HTTP/1.1 as this service reads it",
    "see docs/serve.md for how to ask",
)  # fmt: skip


class Joined:
    """A transport whose first write waits for a second one: head and body of an answer leave in one system call."""

    def __init__(self, transport: Transport, loop: AbstractEventLoop) -> None:
        self._transport, self._loop = transport, loop
        self._held = b""
        self.get_extra_info = transport.get_extra_info
        self.is_closing = transport.is_closing
        self.pause_reading, self.resume_reading = transport.pause_reading, transport.resume_reading
        self.set_protocol = transport.set_protocol

    def write(self, data: bytes) -> None:
        """Hold the data until more comes, or until the loop has a turn."""
        if self._held:
            self._transport.write(self._held + data)
            self._held = b""
        elif data:
            self._held = data
            self._loop.call_soon(self._flush)

    def _flush(self) -> None:
        if self._held:
            self._transport.write(self._held)
            self._held = b""

    def close(self) -> None:
        """After what is held."""
        self._flush()
        self._transport.close()

    def abort(self) -> None:
        """At once."""
        self._transport.abort()


def protocol(seconds: float, most: int) -> type[HttpToolsProtocol]:
    """The protocol of a server that waits so long for the head of a request, and has at most so many connections."""

    class Connection(HttpToolsProtocol):
        """Counts the bytes and the seconds of a head."""

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            self.timer: TimerHandle | None = None
            self.since: float | None = None
            self.head = 0
            super().connection_made(cast(Transport, Joined(transport, self.loop)))
            if len(self.connections) > most:
                transport.write(_BUSY)
                transport.close()
                return
            self._begin_head()
            self.timer = self.loop.call_later(seconds, self._look)

        def connection_lost(self, exc: Exception | None) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.since is not None:
                self.head += len(data)
            super().data_received(data)
            if self.since is not None and self.head > LONGEST_HEAD:
                cast(Any, self.transport).abort()

        def send_400_response(self, msg: str) -> None:
            self.transport.write(_NOT_HTTP)
            self.transport.close()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self.since is None:
                self._begin_head()

        def on_headers_complete(self) -> None:
            self.since = None
            super().on_headers_complete()

        def _begin_head(self) -> None:
            self.head = 0
            self.since = self.loop.time()

        def _look(self) -> None:
            """One timer for all requests of a connection: it is moved on when it has run down."""
            now = self.loop.time()
            left = seconds if self.since is None else self.since + seconds - now
            if left <= 0.0:
                self.timer = None
                cast(Any, self.transport).abort()
            else:
                self.timer = self.loop.call_at(now + left, self._look)

    return Connection
