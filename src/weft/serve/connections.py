"""Connections: closed if the head of a request is too long or too late, or if there are too many of them."""

from asyncio import TimerHandle, Transport
from typing import Any, cast

from uvicorn.protocols.http.httptools_impl import HttpToolsProtocol

LONGEST_HEAD = 1 << 16
"""Bytes of a request line with its headers."""
_TOO_MANY = (
    b'{"error":{"code":"connections","message":"too many connections are open","field":null,'
    b'"remedy":"try again in a moment"}}'
)
_BUSY = (
    b"HTTP/1.1 503 Service Unavailable\r\nretry-after: 1\r\nconnection: close\r\ncontent-type: application/json\r\n"
    b"content-length: %d\r\n\r\n%b" % (len(_TOO_MANY), _TOO_MANY)
)


def protocol(seconds: float, most: int) -> type[HttpToolsProtocol]:
    """The protocol of a server that waits so long for the head of a request, and has at most so many connections."""

    class Connection(HttpToolsProtocol):
        """Counts the bytes and the seconds of a head."""

        def connection_made(self, transport: Transport) -> None:  # type: ignore[override]
            self.timer: TimerHandle | None = None
            self.head = 0
            super().connection_made(transport)
            if len(self.connections) > most:
                transport.write(_BUSY)
                transport.close()
                return
            self._begin_head()

        def connection_lost(self, exc: Exception | None) -> None:
            self._end_head()
            super().connection_lost(exc)

        def data_received(self, data: bytes) -> None:
            if self.timer is not None:
                self.head += len(data)
            super().data_received(data)
            if self.timer is not None and self.head > LONGEST_HEAD:
                self._close()

        def on_message_begin(self) -> None:
            super().on_message_begin()
            if self.timer is None:
                self._begin_head()

        def on_headers_complete(self) -> None:
            self._end_head()
            super().on_headers_complete()

        def _begin_head(self) -> None:
            self.head = 0
            self.timer = self.loop.call_later(seconds, self._close)

        def _end_head(self) -> None:
            if self.timer is not None:
                self.timer.cancel()
                self.timer = None

        def _close(self) -> None:
            self._end_head()
            cast(Any, self.transport).abort()

    return Connection
