"""What every broker does: give messages from a position on."""

from collections.abc import Callable
from typing import NamedTuple, Protocol

PATIENCE = 0.2
"""Seconds that a read waits for messages, at most: so often a stop is noticed."""
MOST = 1000
"""Messages that are read at once, at most."""
BYTES = 8 << 20
"""Bytes that are read at once, about."""


class Message(NamedTuple):
    """One message: the partition it came from ("" where there are none), where to go on after it, and its content."""

    partition: str
    after: str
    value: bytes


Positions = dict[str, str]
"""Where to go on, by partition."""


class BrokerError(OSError):
    """A broker cannot be reached, or does not have what is asked for."""


class MessagesGone(BrokerError):
    """The broker has dropped messages that were not read yet: trying again does not help."""


class Pace:
    """How many messages to read at once, by the size of those that came: memory stays bounded."""

    def __init__(self) -> None:
        self.count = 64

    def saw(self, values: list[bytes]) -> None:
        """These came."""
        if values:
            fits = BYTES * len(values) // (sum(map(len, values)) + 1)
            self.count = max(1, min(MOST, 4 * self.count, fits))


class Broker(Protocol):
    """A connection. Positions are texts whose meaning only the broker knows."""

    is_ready: bool
    """Whether messages can come: a member of a group waits for its partitions first."""
    before_leaving: Callable[[], None] | None
    """Called in `read` before partitions go to another member of a group: everything that was read is to be saved and
    committed."""

    def start(self, positions: Positions) -> Positions:
        """Connect, and go on at these positions; at the beginning where there is none.

        What is to be kept with the positions from now on: the same, and what the broker wants to know again.
        BrokerError if the broker cannot be reached; MessagesGone if messages are missing.
        """

    def read(self) -> list[Message]:
        """The next messages, in the order of each partition; none if none came within PATIENCE.

        A broker that went away is waited for.
        """

    def commit(self, positions: Positions, wait: bool = False) -> None:
        """Tell the broker how far its messages were learned, where it wants to know. It may fail without harm."""

    def lag(self) -> int | None:
        """Messages that are there and were not read yet, if the broker says so."""

    def close(self) -> None:
        """End the connection."""
