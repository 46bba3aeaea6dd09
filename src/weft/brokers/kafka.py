"""Kafka: `kafka://host:9092/topic`. A message's value is one event.

All partitions of the topic are read, also those that are added later, or those that `?partitions=0,1` names. With
`?group=NAME` the topic is subscribed to instead: partitions move between the members of that group, and the group is
told how far it is. A position is the offset of the next message. Options with a dot, as `?security.protocol=SSL`, are
handed to librdkafka.

Reading goes on at the position that was saved with the model. Only where another member of the group has committed a
partition meanwhile it goes on at the larger of the two offsets: commits carry the name of the model, which is kept with
its positions.
"""

import secrets
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

from confluent_kafka import OFFSET_BEGINNING, Consumer, KafkaError, KafkaException, TopicPartition

from weft.brokers.address import Address, take_options
from weft.brokers.broker import PATIENCE, BrokerError, Message, MessagesGone, Pace, Positions

_WAITS = (KafkaError._ALL_BROKERS_DOWN, KafkaError._TRANSPORT, KafkaError._PARTITION_EOF, KafkaError._TIMED_OUT)
"""Errors after which librdkafka tries again by itself."""
MEMBER = "member"
"""Kept with the positions: a name of the model that reads for a group."""
LOOK_EVERY = 30.0
"""Seconds between two looks for partitions that were added."""


class Kafka:
    """One topic."""

    def __init__(self, address: Address) -> None:
        further = {key: value for key, value in address.options.items() if "." in key}
        plain = Address(address.kind, address.host, address.port, address.name, options=_without(address, further))
        options = take_options(plain, ("group", "partitions"))
        self._address = address
        self._positions: Positions = {}
        self._group = options.get("group")
        self._only = _numbers(address, options.get("partitions"))
        if self._group is not None and self._only is not None:
            raise ValueError(f"{address}: a group shares partitions out by itself; leave group or partitions out")
        self._held: set[int] = set()
        self._looked = time.monotonic()
        self._pace = Pace()
        self.before_leaving: Callable[[], None] | None = None
        self.is_ready = False
        settings: dict[str, Any] = {
            "bootstrap.servers": f"{address.host}:{address.port}",
            "group.id": self._group or "weft",
            "log_level": 2,  # it writes to standard error by itself
            "enable.auto.commit": False,
            "session.timeout.ms": 10_000,  # so long a group waits for a member that was killed
            "auto.offset.reset": "error",  # an offset that is gone must not be passed over silently
            "queued.max.messages.kbytes": 65536,
            **({"sasl.username": address.user, "sasl.password": address.password} if address.user else {}),
            **further,
        }
        try:
            self._consumer = Consumer(settings, logger=None)
        except KafkaException as error:
            raise ValueError(f"{address}: {error.args[0].str()}") from None

    def start(self, positions: Positions) -> Positions:
        """Look for the topic, and assign its partitions or subscribe to it."""
        self._positions = dict(positions)
        found = self._partitions()
        if self._group is None:
            missing = (self._only or set()) - found
            if missing:
                raise BrokerError(f"{self._address} has no partition {min(missing)}; it has {len(found)}")
            self._assign(found if self._only is None else self._only)
            return positions
        self._positions.setdefault(MEMBER, secrets.token_hex(16))
        self._consumer.subscribe([self._address.name], on_assign=self._assigned, on_revoke=self._revoked)
        return dict(self._positions)

    def _partitions(self) -> set[int]:
        """The numbers of the topic's partitions."""
        try:
            found = self._consumer.list_topics(self._address.name, timeout=10.0).topics[self._address.name]
        except KafkaException as error:
            raise BrokerError(
                f"{self._address} cannot be read ({error.args[0].str()}); is the broker running?"
            ) from None
        if found.error is not None:
            raise BrokerError(f"{self._address} cannot be read ({found.error.str()}); does the topic exist?")
        return set(found.partitions)

    def _own(self, number: int) -> int:
        return int(self._positions.get(str(number), OFFSET_BEGINNING))

    def _assign(self, numbers: set[int]) -> None:
        self._held |= numbers
        self._consumer.incremental_assign(
            [TopicPartition(self._address.name, number, self._own(number)) for number in sorted(numbers)]
        )
        self.is_ready = True

    # --- members of a group ---

    def _assigned(self, consumer: Any, partitions: list[Any]) -> None:
        """Go on at the model's own positions, or where another member has committed since."""
        try:
            committed = {found.partition: found for found in consumer.committed(partitions, timeout=30.0)}
        except KafkaException as error:
            raise BrokerError(
                f"{self._address}: the group does not say how far it is ({error.args[0].str()}); try again"
            ) from None
        for partition in partitions:
            number = partition.partition
            partition.offset, known = self._own(number), committed[number]
            if known.offset >= 0 and known.metadata != self._positions[MEMBER]:
                partition.offset = max(partition.offset, known.offset)
            if partition.offset >= 0:
                self._positions[str(number)] = str(partition.offset)
        consumer.assign(partitions)
        self._held = {partition.partition for partition in partitions}
        self.is_ready = True

    def _revoked(self, consumer: Any, partitions: list[Any]) -> None:
        """Save and commit what was read, before another member goes on."""
        if self.before_leaving is not None:
            self.before_leaving()
        self._held -= {partition.partition for partition in partitions}

    def commit(self, positions: Positions, wait: bool = False) -> None:
        """Tell the group how far it is. `wait`: until it knows."""
        if self._group is None:
            return
        name = self._positions[MEMBER]
        offsets = [
            TopicPartition(self._address.name, int(key), int(value), name)
            for key, value in positions.items()
            if key != MEMBER and int(key) in self._held  # what other members hold is theirs
        ]
        with suppress(KafkaException):  # the positions beside the model count
            if offsets and wait:
                self._consumer.commit(offsets=offsets, asynchronous=False)
            elif offsets:
                self._consumer.commit(offsets=offsets)

    # --- reading ---

    def read(self) -> list[Message]:
        """The next messages."""
        self._look_for_more()
        messages = []
        message: Any
        for message in self._consumer.consume(self._pace.count, PATIENCE):
            error = message.error()
            if error is None:
                if message.partition() in self._held and message.offset() >= self._own(message.partition()):
                    partition, after = str(message.partition()), str(message.offset() + 1)
                    self._positions[partition] = after
                    messages.append(Message(partition, after, message.value() or b""))
            elif error.code() == KafkaError._AUTO_OFFSET_RESET:
                raise MessagesGone(
                    f"{self._address}: the position {self._positions.get(str(message.partition()))} of partition "
                    f"{message.partition()} is gone ({error.str()}); restore the messages, or start a new model"
                )
            elif error.code() not in _WAITS:
                raise BrokerError(f"{self._address}: {error.str()}")
        self._pace.saw([message.value for message in messages])
        return messages

    def _look_for_more(self) -> None:
        """Partitions that were added to the topic; a group is told of them by itself."""
        if self._group is not None or self._only is not None or time.monotonic() - self._looked < LOOK_EVERY:
            return
        self._looked = time.monotonic()
        with suppress(BrokerError):
            added = self._partitions() - self._held
            if added:
                self._assign(added)

    def lag(self) -> int | None:
        """Messages behind the positions, by the ends of partitions that the broker has told."""
        total = 0
        for number in self._held:
            low, high = self._consumer.get_watermark_offsets(TopicPartition(self._address.name, number), cached=True)
            if high < 0:
                return None
            total += max(0, high - max(self._own(number), low, 0))
        return total

    def close(self) -> None:
        """Leave the group."""
        self._consumer.close()


def _without(address: Address, further: dict[str, str]) -> dict[str, str]:
    return {key: value for key, value in address.options.items() if key not in further}


def _numbers(address: Address, text: str | None) -> set[int] | None:
    if text is None:
        return None
    parts = text.split(",")
    if not all(part.isascii() and part.isdigit() and len(part) < 10 for part in parts):
        raise ValueError(f"{address}: partitions is {text!r}; write their numbers, such as 0,1")
    return set(map(int, parts))
