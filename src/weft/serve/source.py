"""A broker that feeds a service: a thread that reads messages, hands them to the writer, and commits what was learned.

How far it was read is written in the transaction of the events, together with them; only then the broker is told. What
cannot be used is in the file of dead letters before that. At most two groups of messages are on their way, so that a
writer that has much to do slows the reading down.
"""

import queue
import threading
import time
from collections import deque
from collections.abc import Callable
from typing import NamedTuple

from weft.brokers.address import Address
from weft.brokers.broker import Broker, BrokerError, Message, MessagesGone, Positions
from weft.brokers.dead_letters import DeadLetters
from weft.brokers.opening import open_broker
from weft.serve.decoding import line_to_request
from weft.serve.http import too_large
from weft.serve.log import Broken, Log
from weft.serve.logs import tell, tell_error
from weft.serve.positions import move, positions_of
from weft.serve.preparing import Pending
from weft.serve.problems import Problem
from weft.serve.requests import Done, Outcome, Request
from weft.serve.service import Service
from weft.serve.writer import Job

ON_THEIR_WAY = 2
"""Groups of messages that wait for the writer."""
PAUSE = 0.02
"""Seconds to wait when the writer's queue is full."""
PATIENCE = (0.5, 15.0)
"""Seconds between two attempts to reach a broker: the first time, and at most."""


class Batch(NamedTuple):
    """Messages that are learned together, or not at all."""

    messages: list[Message]
    requests: list[Request]
    places: list[int]
    """The message of each request."""
    refused: dict[int, Problem]
    """Messages that are not requests, by their position."""
    positions: Positions


class Source:
    """One broker; `start` begins, `stop` ends after what was read has been learned."""

    def __init__(
        self, address: Address, service: Service, log: Log, letters: DeadLetters, fail: Callable[[BaseException], None]
    ) -> None:
        """`log` is read here, before the writer begins to use it; `fail` ends the process."""
        self._fail = fail
        self.name = str(address)
        self._address, self._service, self._letters = address, service, letters
        self._positions = positions_of(log, self.name)
        self._finished: queue.SimpleQueue[tuple[Batch, list[Outcome]]] = queue.SimpleQueue()
        self._flying: deque[Batch] = deque()
        self._stopping = threading.Event()
        self._told = ""
        self.is_up = False
        self.lag: int | None = None
        self.messages = self.rejected = self.duplicates = 0
        self._thread = threading.Thread(target=self._run, name="weft-source", daemon=True)

    def start(self) -> None:
        """Begin to read."""
        self._thread.start()

    def stop(self) -> None:
        """End; everything that was handed to the writer has been learned then."""
        self._stopping.set()
        self._thread.join()

    # --- in the thread ---

    def _run(self) -> None:
        wait, most = PATIENCE
        while not self._stopping.is_set():
            began = time.monotonic()
            try:
                self._follow()
            except MessagesGone as error:
                self._tell(f"the source is not read any more: {error}")
                break
            except BrokerError as error:
                self._tell(str(error))
            except Broken as error:
                self._fail(error)
                break
            except Exception as error:
                tell_error(error)
                self._tell(f"{self.name} is not read any more, because of an error inside of weft")
                break
            finally:
                self.is_up = False
            wait = PATIENCE[0] if time.monotonic() - began > most else min(2.0 * wait, most)
            self._stopping.wait(wait)

    def _tell(self, text: str) -> None:
        """Once, however often it happens."""
        if text != self._told:
            self._told = text
            tell(text, "error")

    def _follow(self) -> None:
        """Read until the service stops, or the broker does not answer."""
        broker = open_broker(self._address)
        broker.before_leaving = lambda: self._leave(broker)
        try:
            begun = broker.start(self._positions)
            kept = {key: value for key, value in begun.items() if key not in self._positions}
            self.is_up = True
            while not self._stopping.is_set():
                messages = broker.read()
                if messages:
                    self._hand_over(self._batch(messages, kept))
                    kept = {}
                self._settle(broker, ON_THEIR_WAY if messages else 0)
                self.lag = broker.lag()
        finally:
            self._settle(broker, 0)
            broker.close()

    def _batch(self, messages: list[Message], kept: Positions) -> Batch:
        batch = Batch(messages, [], [], {}, dict(kept))
        limits, schema = self._service.limits, self._service.model.schema
        for at, message in enumerate(messages):
            batch.positions[message.partition] = message.after
            try:
                if len(message.value) > limits.line:
                    raise too_large("the message", limits.line)
                batch.requests.append(line_to_request(limits, schema, message.value))
                batch.places.append(at)
            except Problem as problem:
                batch.refused[at] = problem
            except Exception as error:  # it would come again after every restart
                tell_error(error)
                batch.refused[at] = Problem("internal", 500, "something went wrong inside of weft")
        return batch

    def _hand_over(self, batch: Batch) -> None:
        def within(log: Log, placed: list[Pending | Outcome]) -> None:
            self._keep(log, batch, placed)

        def done(outcomes: list[Outcome]) -> None:
            self._finished.put((batch, outcomes))

        job, most = Job(batch.requests, done, within=within), self._service.limits.queue
        while True:
            try:
                self._service.writer.put(job, most)
                break
            except Problem:  # the queue is full; while a source runs the service is not stopping
                time.sleep(PAUSE)
        self._flying.append(batch)

    def _keep(self, log: Log, batch: Batch, placed: list[Pending | Outcome]) -> None:
        """In the writer's transaction: what was refused goes to the dead letters, and the positions move."""
        refused = dict(batch.refused)
        refused |= {at: found for at, found in zip(batch.places, placed, strict=True) if isinstance(found, Problem)}
        self._bury(batch, refused)
        move(log, self.name, batch.positions)

    def _bury(self, batch: Batch, refused: dict[int, Problem]) -> None:
        if refused:
            try:
                self._letters.write(self.name, [(batch.messages[at], _reason(refused[at])) for at in sorted(refused)])
            except OSError as error:
                raise Broken(str(error)) from None

    def _settle(self, broker: Broker, most: int) -> None:
        """Wait until at most so many groups are on their way; those that are learned are committed."""
        while self._flying and (len(self._flying) > most or not self._finished.empty()):
            batch, outcomes = self._finished.get()
            self._flying.popleft()
            late = {at: found for at, found in zip(batch.places, outcomes, strict=True) if isinstance(found, Problem)}
            self._bury(batch, late)  # those that only the model itself refused are not there yet
            self.messages += len(batch.messages)
            self.rejected += len(batch.refused) + len(late)
            self.duplicates += sum(isinstance(found, Done) and found.duplicate for found in outcomes)
            self._positions |= batch.positions
            broker.commit(batch.positions)

    def _leave(self, broker: Broker) -> None:
        """Before partitions go to another member of a group."""
        self._settle(broker, 0)
        broker.commit(self._positions, wait=True)


def _reason(problem: Problem) -> str:
    where = f"{problem.field}: " if problem.field else ""
    return f"{where}{problem.message}" + (f"; {problem.remedy}" if problem.remedy else "")


def metrics_of(sources: list[Source]) -> str:
    """Figures of all sources as Prometheus text."""
    kinds: list[tuple[str, str, str, Callable[[Source], float | None]]] = [
        ("weft_source_up", "gauge", "Whether the source is read.", lambda source: float(source.is_up)),
        ("weft_source_lag", "gauge", "Messages that wait at the broker.", lambda source: source.lag),
        ("weft_source_messages_total", "counter", "Messages that were read.", lambda source: source.messages),
        ("weft_source_rejected_total", "counter", "Those in the dead letters.", lambda source: source.rejected),
        ("weft_source_duplicates_total", "counter", "Those with a known id.", lambda source: source.duplicates),
    ]
    lines = []
    for name, kind, meaning, of in kinds if sources else []:
        lines += [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]
        for source in sources:
            value = of(source)
            if value is not None:
                lines.append(f"{name}{{source={_quoted(source.name)}}} {value:g}")
    return "".join(line + "\n" for line in lines)


def _quoted(text: str) -> str:
    escaped = text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
    return f'"{escaped}"'
