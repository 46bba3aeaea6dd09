"""An upload of NDJSON over several shards: lines go to the shard of their task, in the order in which they came.

Labels of remembered predictions whose id does not say where they belong are asked of one shard after the other, behind
the events of the same block.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from typing import Any

from weft.route.shards import decoded, problem_of
from weft.serve.http import Answer, too_large
from weft.serve.limits import Limits
from weft.serve.problems import Problem

Ask = Callable[[str | None, bytes], Awaitable[Answer]]
"""Uploads lines to a shard; None stands for tasks that are on their way to another one."""
BLOCK = 5_000
"""Lines that are spread over the shards together."""
BYTES = 4 << 20
"""Bytes of them, about."""


class Spread:
    """One upload. `place` says where a line belongs (None: any of `names`), `send` uploads lines to a shard."""

    def __init__(
        self, names: Sequence[str | None], place: Callable[[bytes], str | None], send: Ask, limits: Limits
    ) -> None:
        self._names, self._place, self._send, self._limits = names, place, send, limits
        self._line = self._size = 0
        self._block: list[tuple[int, bytes]] = []
        self._accepted = self._duplicates = self._refused = self._seq = 0
        self._rejected: list[dict[str, Any]] = []

    async def take(self, pieces: AsyncIterator[bytes]) -> None:
        """Spread all lines of a body."""
        rest = b""
        async for piece in pieces:
            *lines, rest = (rest + piece).split(b"\n")
            for line in lines:
                await self._add(line)
            if len(rest) > self._limits.line:
                raise too_large(f"line {self._line + 1}", self._limits.line)
        await self._add(rest)
        await self._flush()

    async def _add(self, line: bytes) -> None:
        self._line += 1
        if not line or line.isspace():
            return
        self._block.append((self._line, line))
        self._size += len(line)
        if len(self._block) >= BLOCK or self._size >= BYTES:
            await self._flush()

    async def _flush(self) -> None:
        block, self._block, self._size = self._block, [], 0
        groups: dict[str, list[tuple[int, bytes]]] = {}
        asked: list[tuple[int, bytes]] = []
        for number, line in block:
            try:
                name = self._place(line)
            except Problem as problem:
                self._reject(number, problem.as_json())
                continue
            if name is None:
                asked.append((number, line))
            else:
                groups.setdefault(name, []).append((number, line))
        await asyncio.gather(*(self._upload(name, lines) for name, lines in groups.items()))
        await self._ask_all(asked)

    async def _upload(self, name: str, lines: list[tuple[int, bytes]]) -> None:
        """Give lines to a shard; if it does not take them, they are refused, and the others are not."""
        try:
            await self._given(name, lines)
        except Problem as problem:
            if problem.status in (401, 403):
                raise
            for number, _ in lines:
                self._reject(number, problem.as_json())

    async def _given(self, name: str | None, lines: list[tuple[int, bytes]], ask_on: bool = False) -> set[int]:
        """The same; with `ask_on` labels of predictions that the shard does not know are returned, not refused."""
        answer = await self._send(name, b"\n".join(line for _, line in lines))
        if answer.status != 200:
            raise problem_of(answer)
        found = decoded(answer)
        self._accepted += found["accepted"]
        self._duplicates += found["duplicates"]
        self._seq = max(self._seq, found["seq"])
        unknown = set()
        for rejected in found["rejected"]:
            number = lines[rejected["line"] - 1][0]
            if ask_on and rejected["error"]["code"] == "unknown_id":
                unknown.add(number)
            else:
                self._reject(number, rejected["error"])
        self._refused += found["rejected_total"] - len(found["rejected"])
        return unknown

    async def _ask_all(self, lines: list[tuple[int, bytes]]) -> None:
        """A label that a shard does not know may be that of a shard which does not answer."""
        why = Problem(
            "unknown_id", 404, "no prediction is remembered under this id, or it has expired",
            'predict with "remember": true, and send the label in time', field="id",
        )  # fmt: skip
        most = self._limits.listed  # so many refused lines an answer names
        for name in self._names:
            left = []
            for part in (lines[at : at + most] for at in range(0, len(lines), most)):
                try:
                    unknown = await self._given(name, part, ask_on=True)
                    left += [line for line in part if line[0] in unknown]
                except Problem as problem:
                    if problem.status in (401, 403):
                        raise
                    why, left = problem, left + part
            lines = left
        for number, _ in lines:
            self._reject(number, why.as_json())

    def _reject(self, line: int, error: dict[str, Any]) -> None:
        self._refused += 1
        if len(self._rejected) < self._limits.listed:
            self._rejected.append({"line": line, "error": error})

    def answer(self) -> dict[str, Any]:
        """What came of it; `seq` is the largest that a shard has answered."""
        self._rejected.sort(key=lambda rejected: int(rejected["line"]))
        return {
            "accepted": self._accepted, "duplicates": self._duplicates, "rejected": self._rejected,
            "rejected_total": self._refused, "seq": self._seq,
        }  # fmt: skip
