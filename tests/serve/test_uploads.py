"""Uploads of clients that are slow: lines are learned soon after they came, and a line may come in many pieces."""

import asyncio
import json
import socket
import time

import pytest

from serve import engines
from serve.service_process import served
from weft.serve.limits import Limits
from weft.serve.problems import Problem
from weft.serve.uploads import Upload


def line(i, **more):
    task, x, y = engines.event(i)
    return json.dumps({"id": f"e{i}", "task": task, "x": x, "y": y, **more}).encode() + b"\n"


def uploaded(service, pieces):
    upload = Upload(service)
    asyncio.run(upload.take(pieces()))
    return upload.answer()


def test_lines_of_a_slow_client_are_learned_before_it_is_done(tmp_path):
    with served(tmp_path / "s", "--learner", engines.LEARNER) as service, service.client() as client:
        slow = socket.create_connection(("127.0.0.1", service.port), timeout=60)
        with slow, slow.makefile("rb") as answers:
            lines = [line(i) for i in range(4)]
            length = sum(map(len, lines))
            slow.sendall(b"POST /v1/events HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n" % length)
            for i, sent in enumerate(lines[:3]):
                slow.sendall(sent)
                limit = time.monotonic() + 20
                while client.predict({"a": 1.0}, "t0")["seq"] != i + 1:
                    assert time.monotonic() < limit, "the line waits for others"
                    time.sleep(0.02)
            slow.sendall(lines[3])
            assert answers.readline() == b"HTTP/1.1 200 OK\r\n"


def test_all_lines_are_answered_once_whatever_the_pieces(tmp_path, monkeypatch):
    """Groups are handed on by the clock and by their size at the same time."""
    monkeypatch.setattr("weft.serve.uploads.LONGEST_WAIT", 0.0)
    monkeypatch.setattr("weft.serve.uploads.GROUP", 7)
    service = engines.opened(tmp_path / "s")
    body = b"".join(b"no json\n" if i % 50 == 3 else line(i % 400) for i in range(500))

    async def pieces():
        at = 0
        for i in range(len(body)):
            size = 1 + i * 37 % 211
            if at >= len(body):
                return
            yield body[at : at + size]
            at += size
            if i % 3 == 0:
                await asyncio.sleep(0)

    found = uploaded(service, pieces)
    assert [rejected.line for rejected in found.rejected] == list(range(4, 500, 50))
    assert found.accepted + found.duplicates + found.rejected_total == 500
    assert (found.accepted, found.seq, service.seq) == (392, 392, 392)
    engines.close(service)


def test_a_full_queue_is_said_whoever_hands_lines_on(tmp_path, monkeypatch):
    monkeypatch.setattr("weft.serve.uploads.LONGEST_WAIT", 0.0)
    service = engines.opened(tmp_path / "s")

    async def refuse(requests):
        raise Problem("busy", 503, "too many requests are waiting", "try again in a moment", retry_after=1)

    monkeypatch.setattr(service, "submit", refuse)

    async def pieces():
        yield line(0)
        for _ in range(20):
            await asyncio.sleep(0)
        yield line(1)

    with pytest.raises(Problem, match="too many requests"):
        uploaded(service, pieces)
    engines.close(service)


def test_a_line_in_single_bytes_is_refused_at_its_limit(tmp_path):
    """A million bytes without an end of line, one at a time."""
    service = engines.opened(tmp_path / "s")
    most = Limits().line

    async def pieces():
        for _ in range(most + 1):
            yield b" "

    with pytest.raises(Problem, match="line 1 has more than"):
        uploaded(service, pieces)
    engines.close(service)
