"""NDJSON uploads: lines are learned in groups while they stream, and one bad line harms no other."""

import asyncio
from collections.abc import AsyncIterator

from weft.serve import messages
from weft.serve.decoding import line_to_request
from weft.serve.http import too_large
from weft.serve.limits import Limits
from weft.serve.problems import Problem
from weft.serve.requests import Outcome, Request
from weft.serve.service import Service

GROUP = 1000
"""Lines that are handed to the writer together."""
LONGEST_WAIT = 0.2
"""Seconds that a line waits for others."""


class Upload:
    """The lines of one upload so far."""

    def __init__(self, service: Service) -> None:
        self._service = service
        self._limits: Limits = service.limits
        self._line = 0
        self._turn = asyncio.Lock()
        self._requests: list[Request] = []
        self._places: list[int] = []
        self._flying: tuple[list[int], asyncio.Future[list[Outcome]]] | None = None
        self.accepted = self.duplicates = self.refused = self.seq = 0
        self.rejected: list[messages.Rejected] = []

    async def take(self, pieces: AsyncIterator[bytes]) -> None:
        """Learn all lines of a body."""
        ticking = asyncio.create_task(self._tick())
        try:
            await self._take(pieces, ticking)
        finally:
            ticking.cancel()
            await asyncio.wait([ticking])

    async def _tick(self) -> None:
        """Lines of a client that is slow do not wait until there is a group of them."""
        while True:
            await asyncio.sleep(LONGEST_WAIT)
            await self._flush()

    async def _take(self, pieces: AsyncIterator[bytes], ticking: asyncio.Task[None]) -> None:
        rest = bytearray()
        async for piece in pieces:
            _expect_running(ticking)
            *lines, after = piece.split(b"\n")
            if lines and rest:
                lines[0], rest = bytes(rest) + lines[0], bytearray()
            rest += after
            for line in lines:
                self._add(line)
                if len(self._requests) >= GROUP:
                    await self._flush()
            if len(rest) > self._limits.line:
                raise too_large(f"line {self._line + 1}", self._limits.line)
        self._add(bytes(rest))
        await self._flush()
        async with self._turn:
            _expect_running(ticking)
            await self._settle()

    def _add(self, line: bytes) -> None:
        self._line += 1
        if not line or line.isspace():
            return
        try:
            if len(line) > self._limits.line:
                raise too_large("the line", self._limits.line)
            self._requests.append(line_to_request(self._limits, self._service.model.schema, line))
            self._places.append(self._line)
        except Problem as problem:
            self._reject(self._line, problem)

    async def _flush(self) -> None:
        async with self._turn:
            if not self._requests:
                return
            requests, places = self._requests, self._places
            self._requests, self._places = [], []
            await self._settle()
            self._flying = places, asyncio.ensure_future(self._service.submit(requests))
            await asyncio.sleep(0)  # it is queued now, before anything that comes later

    async def _settle(self) -> None:
        """Wait for the group that was handed on; the next one is read while that is learned."""
        if self._flying is None:
            return
        places, found = self._flying
        self._flying = None
        for place, outcome in zip(places, await found, strict=True):
            if isinstance(outcome, Problem):
                self._reject(place, outcome)
                continue
            self.duplicates += outcome.duplicate
            self.accepted += not outcome.duplicate
            self.seq = max(self.seq, outcome.seq)

    def _reject(self, line: int, problem: Problem) -> None:
        self.refused += 1
        if len(self.rejected) < self._limits.listed:
            self.rejected.append(messages.Rejected(line, messages.ErrorDetail(**problem.as_json())))

    def answer(self) -> messages.EventsAnswer:
        """What came of it."""
        self.rejected.sort(key=lambda rejected: rejected.line)
        seq = self.seq or self._service.seq
        return messages.EventsAnswer(self.accepted, self.duplicates, self.rejected, self.refused, seq)


def _expect_running(ticking: "asyncio.Task[None]") -> None:
    """Raise what ended it."""
    if ticking.done():
        ticking.result()
