"""NATS JetStream: `nats://host:4222/subject`. A message is one event; its stream must keep messages.

A pull consumer that nobody else uses delivers from a sequence number on and expects no acknowledgements. A position is
the sequence number of the last message in its stream.
"""

import asyncio
import contextlib
import json
from typing import Any, NamedTuple

import nats
from nats.errors import Error as NatsError
from nats.js.api import AckPolicy, ConsumerConfig, DeliverPolicy, RetentionPolicy

from weft.brokers.address import Address, take_options
from weft.brokers.broker import PATIENCE, BrokerError, Message, MessagesGone, Pace, Positions

_PATIENT_READS = 15
"""After so many reads without a message the consumer is made anew: a server that was restarted has forgotten it."""
_PULL = 2.0
"""Seconds that the server waits for messages to a pull; less than the reads above take."""
_GATHER = 0.02
"""Seconds to wait for more, when some messages are there."""


class JetStream:
    """One subject of a NATS server. Its client is asynchronous: every method runs its loop for a moment."""

    is_ready = True
    before_leaving = None

    def __init__(self, address: Address) -> None:
        self._stream = take_options(address, ("stream",)).get("stream")
        self._address = address
        self._last = 0
        self._empty = self._delivered = self._asked = 0
        self._found: list[Any] = []
        self._arrived = asyncio.Event()
        self._inbox = self._next = ""
        self._pending: int | None = None
        self._pace = Pace()
        self._loop = asyncio.new_event_loop()
        self._client: Any = None
        self._subscription: Any = None

    def start(self, positions: Positions) -> Positions:
        """Connect, and see that nothing is missing since the last message."""
        self._last = int(positions.get("", "0"))
        try:
            self._loop.run_until_complete(self._start())
        except BrokerError:
            raise
        except (NatsError, OSError) as error:
            raise BrokerError(
                f"{self._address} cannot be read ({error or type(error).__name__}); is the server running, with a "
                "stream for this subject?"
            ) from None
        return positions

    async def _start(self) -> None:
        address = self._address
        _, probe = await asyncio.wait_for(asyncio.open_connection(address.host, address.port), 5.0)
        probe.close()  # the client would try for ever
        host = f"[{address.host}]" if ":" in address.host else address.host
        self._client = await asyncio.wait_for(
            nats.connect(
                f"nats://{host}:{address.port}",
                user=address.user,
                password=address.password,
                max_reconnect_attempts=-1,
                reconnect_time_wait=PATIENCE,
                connect_timeout=5,
                error_cb=_ignore,
            ),
            10.0,
        )
        stream = self._client.jetstream()
        self._stream = self._stream or await stream.find_stream_name_by_subject(address.name)
        info = await stream.stream_info(self._stream)
        if info.config.retention not in (None, RetentionPolicy.LIMITS):
            raise MessagesGone(
                f"{address}: the stream {self._stream} drops messages once they were read (retention "
                f"{info.config.retention}), so that none could be read again after a kill; make one with limits"
            )
        if info.state.last_seq < self._last:
            raise MessagesGone(
                f"{address}: the stream ends with message {info.state.last_seq}, and {self._last} was read already: it "
                "was made anew; restore it, or start a new model"
            )
        if self._last:
            self._expect_nothing_removed(info.state.first_seq)
        await self._subscribe()

    def _expect_nothing_removed(self, first: int) -> None:
        if first > self._last + 1:
            raise MessagesGone(
                f"{self._address}: messages {self._last + 1} to {first - 1} were removed; restore them, or start a new "
                "model"
            )

    async def _subscribe(self) -> None:
        """A consumer that begins behind the last message; what the earlier one still sends is not taken."""
        config = ConsumerConfig(
            deliver_policy=DeliverPolicy.BY_START_SEQUENCE,
            opt_start_seq=self._last + 1,
            ack_policy=AckPolicy.NONE,
            filter_subject=self._address.name,
            inactive_threshold=300.0,
        )
        if self._subscription is not None:
            with contextlib.suppress(NatsError, OSError):
                await self._subscription.unsubscribe()
        self._empty = self._delivered = self._asked = 0
        self._found = []
        found: list[Any] = self._found

        async def take(message: Any) -> None:
            found.append(message)
            if len(found) >= self._asked or _is_status(message):
                self._arrived.set()

        info = await self._client.jetstream().add_consumer(self._stream, config)
        self._inbox = self._client.new_inbox()
        self._subscription = await self._client.subscribe(self._inbox, cb=take)
        self._next = f"$JS.API.CONSUMER.MSG.NEXT.{self._stream}.{info.name}"

    def read(self) -> list[Message]:
        """The next messages."""
        return self._loop.run_until_complete(self._read())

    async def _read(self) -> list[Message]:
        try:
            if self._empty >= _PATIENT_READS:
                await self._subscribe()
            found = await self._fetched()
            if found and not self._follow_each_other(found):
                await self._subscribe()
                return []
            info = None
            if found and self._last and found[0].stream > self._last + 1:  # removed, or of another subject
                info = await self._client.jetstream().stream_info(self._stream)
        except (NatsError, OSError):
            self._empty = _PATIENT_READS
            await asyncio.sleep(PATIENCE)
            return []
        if info is not None:
            self._expect_nothing_removed(info.state.first_seq)
        return self._taken(found) if found else []

    async def _fetched(self) -> list["_Delivered"]:
        """What has come until now, or comes within PATIENCE. A pull that ended is followed by another one."""
        if not self._asked:
            self._asked = self._pace.count
            pull = {"batch": self._asked, "expires": round(1e9 * _PULL)}
            await self._client.publish(self._next, json.dumps(pull).encode(), reply=self._inbox)
        self._arrived.clear()
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), _GATHER if self._found else PATIENCE)
        found = list(self._found)
        self._found.clear()
        messages = [_Delivered.of(message) for message in found if not _is_status(message)]
        is_over = len(messages) < len(found)
        self._empty = 0 if found else self._empty + 1
        self._asked = 0 if is_over else self._asked - len(messages)
        return messages

    def _follow_each_other(self, found: list["_Delivered"]) -> bool:
        """Whether no message of the consumer was lost on its way, as happens with a connection that breaks."""
        first = self._delivered + 1
        return [message.number for message in found] == list(range(first, first + len(found)))

    def _taken(self, found: list["_Delivered"]) -> list[Message]:
        messages = [Message("", str(message.stream), message.value) for message in found]
        self._delivered += len(found)
        self._last, self._pending = found[-1].stream, found[-1].pending
        self._pace.saw([message.value for message in messages])
        return messages

    def commit(self, positions: Positions, wait: bool = False) -> None:
        """The server need not know."""

    def lag(self) -> int | None:
        """Messages behind the last one, as of when it came."""
        return self._pending

    def close(self) -> None:
        """End the connection."""
        if self._client is not None:
            with contextlib.suppress(NatsError, OSError):
                self._loop.run_until_complete(asyncio.wait_for(self._client.close(), 5.0))
        self._loop.close()


class _Delivered(NamedTuple):
    """A message, its number in the stream and among those that the consumer has sent, and how many come behind it."""

    value: bytes
    stream: int
    number: int
    pending: int

    @classmethod
    def of(cls, message: Any) -> "_Delivered":
        """By the subject to which it would be acknowledged, which has 9 parts, or 11 and more with a domain."""
        parts = message.reply.split(".")
        at = 5 if len(parts) == 9 else 7
        return cls(message.data, int(parts[at]), int(parts[at + 1]), int(parts[at + 3]))


def _is_status(message: Any) -> bool:
    """Whether a pull has ended, in place of a message."""
    return not message.reply and message.headers is not None and "Status" in message.headers


async def _ignore(error: Exception) -> None:
    """Errors of the connection show in what is read."""
