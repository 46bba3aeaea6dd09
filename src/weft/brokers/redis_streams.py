"""Redis Streams: `redis://host:6379/stream`. A message is the field `event` of an entry.

Entries are read by XREAD from the last one on, without a consumer group: which entries were learned is known here, and
a group would be a second opinion. A position is the id of the last entry and its number in the stream, which tells
whether entries that follow it were trimmed (Redis 7 counts all entries that were ever added).
"""

import time
from typing import Any

import redis

from weft.brokers.address import Address, take_options
from weft.brokers.broker import PATIENCE, BrokerError, Message, MessagesGone, Pace, Positions

FIELD = b"event"
BEGINNING = "0-0"


class RedisStream:
    """One stream of a Redis server."""

    is_ready = True
    before_leaving = None

    def __init__(self, address: Address) -> None:
        options = take_options(address, ("db",))
        database = options.get("db", "0")
        if not (database.isascii() and database.isdigit()):
            raise ValueError(f"{address}: db is {database!r}; write the number of a database")
        self._address = address
        self._last, self._number, self._added = BEGINNING, 0, 0
        self._pace = Pace()
        self._client: Any = redis.Redis(
            host=address.host,
            port=address.port,
            db=int(database),
            username=address.user,
            password=address.password,
            ssl=address.kind == "rediss",
            socket_timeout=10.0,
            socket_connect_timeout=5.0,
        )

    def start(self, positions: Positions) -> Positions:
        """Connect, and see that nothing is missing since the last entry."""
        last, _, number = positions.get("", BEGINNING).partition(" ")
        try:
            self._client.ping()
            known = self._client.exists(self._address.name)
            info = self._client.xinfo_stream(self._address.name) if known else {}
        except redis.RedisError as error:
            raise BrokerError(f"{self._address} cannot be read ({error}); is the server running?") from None
        self._last, self._number = last, int(number or _removed(info))
        self._expect_nothing_removed(info)
        return positions

    def read(self) -> list[Message]:
        """The next entries. They are read together with the number of those that were removed."""
        name = self._address.name
        try:
            with self._client.pipeline(transaction=True) as together:
                together.xread({name: self._last}, count=self._pace.count)
                together.xinfo_stream(name)
                found, info = together.execute(raise_on_error=False)
            if isinstance(found, redis.RedisError):
                raise found
            if isinstance(info, redis.RedisError):
                info = {}
            if not found:
                self._client.xread({name: self._last}, count=1, block=round(1000 * PATIENCE))
        except (redis.ConnectionError, redis.TimeoutError):  # also while a server that was restarted reads its files
            time.sleep(PATIENCE)
            return []
        except redis.RedisError as error:
            raise BrokerError(f"{self._address} cannot be read ({error})") from None
        self._expect_nothing_removed(info)
        self._added = max(info.get("entries-added", 0), self._number)
        messages = []
        for entry, fields in _entries(found):
            self._last, self._number = entry.decode(), self._number + 1
            messages.append(Message("", f"{self._last} {self._number}", (fields or {}).get(FIELD, b"")))
        self._pace.saw([message.value for message in messages])
        return messages

    def _expect_nothing_removed(self, info: dict[str, Any]) -> None:
        removed = _removed(info)
        if removed > self._number:
            raise MessagesGone(
                f"{self._address} was trimmed: {removed - self._number} entries after {self._last} are gone; restore "
                "them, or start a new model"
            )

    def commit(self, positions: Positions, wait: bool = False) -> None:
        """Redis need not know."""

    def lag(self) -> int:
        """Entries that were added after the last one."""
        return max(0, self._added - self._number)

    def close(self) -> None:
        """End the connection."""
        self._client.close()


def _removed(info: dict[str, Any]) -> int:
    """How many entries a stream has lost; before Redis 7 it does not say."""
    return int(info.get("entries-added", info.get("length", 0)) - info.get("length", 0))


def _entries(found: Any) -> Any:
    """The entries in an answer, which has another form in each version of the protocol."""
    if not found:
        return []
    return next(iter(found.values()))[0] if isinstance(found, dict) else found[0][1]
