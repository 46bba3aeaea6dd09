"""How fast `weft serve` answers, on this machine, with the load generator beside it: `make bench-serve`.

Durable learning over 64 connections, predictions over 16, an upload of NDJSON, the restart after it, and the same with
many tasks. Every acknowledgement was flushed to disk. Figures are printed, with the 99th percentile of waiting times.
"""

import argparse
import asyncio
import json
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

FEATURES = 10


class Served:
    """A service in a process of its own."""

    def __init__(self, folder: Path, *options: str) -> None:
        began = time.perf_counter()
        words = [sys.executable, "-m", "weft.cli.main", "serve", str(folder), "--port", "0", *options]
        self.process = subprocess.Popen(words, stderr=subprocess.PIPE, text=True)
        self.port = 0
        assert self.process.stderr is not None
        for line in self.process.stderr:
            if found := re.search(r'"port": (\d+)', line):
                self.port = int(found[1])
            if '"message": "ready' in line:
                break
        else:
            raise RuntimeError("the service did not start")
        self.seconds = time.perf_counter() - began

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.communicate()


def event(i: int, tasks: int) -> dict[str, object]:
    x = {f"f{(i * 31 + j * 17) % 200}": ((i * 7 + j) % 13) / 13.0 for j in range(FEATURES)}
    return {"task": f"t{i * 7919 % tasks}", "x": x, "y": 1 if i * 13 % 7 > 3 else -1}


def request(path: str, body: bytes) -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)


async def load(port: int, path: str, bodies: list[bytes], connections: int, seconds: float) -> tuple[float, float]:
    """Requests answered per second, and the 99th percentile of their waiting times in ms."""
    waits: list[float] = []
    turn = iter(range(10**9))
    end = time.perf_counter() + seconds

    async def one() -> None:
        reader, writer = await asyncio.open_connection("127.0.0.1", port)
        while (began := time.perf_counter()) < end:
            writer.write(request(path, bodies[next(turn) % len(bodies)]))
            head = await reader.readuntil(b"\r\n\r\n")
            assert head.startswith(b"HTTP/1.1 200"), head
            length = int(re.search(rb"content-length: (\d+)", head)[1])  # type: ignore[index]
            await reader.readexactly(length)
            waits.append(time.perf_counter() - began)
        writer.close()

    began = time.perf_counter()
    await asyncio.gather(*(one() for _ in range(connections)))
    waits.sort()
    return len(waits) / (time.perf_counter() - began), 1e3 * waits[int(0.99 * len(waits))]


def upload(port: int, count: int, tasks: int) -> float:
    """Events per second of one upload."""
    import http.client

    body = b"\n".join(json.dumps(event(i, tasks)).encode() for i in range(count))
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=600)
    began = time.perf_counter()
    connection.request("POST", "/v1/events", body)
    found = json.loads(connection.getresponse().read())
    seconds = time.perf_counter() - began
    connection.close()
    assert found["accepted"] == count, found
    return count / seconds


def measure(place: Path, learner: str, tasks: int, seconds: float, count: int) -> dict[str, float]:
    folder = place / f"{learner}-{tasks}"
    never = ("--checkpoint-every", "1000000000", "--learner", learner)
    service = Served(folder, *never)
    bodies = [json.dumps(event(i, tasks)).encode() for i in range(5000)]
    plain = [
        json.dumps({key: value for key, value in event(i, tasks).items() if key != "y"}).encode() for i in range(5000)
    ]
    found: dict[str, float] = {}
    found["NDJSON, events/s"] = upload(service.port, count, tasks)
    found["learn, 64 connections, answers/s"], found["learn, p99, ms"] = asyncio.run(
        load(service.port, "/v1/learn", bodies, 64, seconds)
    )
    found["predict, 16 connections, answers/s"], found["predict, p99, ms"] = asyncio.run(
        load(service.port, "/v1/predict", plain, 16, seconds)
    )
    service.end(signal.SIGKILL)
    again = Served(folder, *never)
    found["restart, s"] = again.seconds
    again.end(signal.SIGTERM)
    found["load average"] = os.getloadavg()[0]
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--tasks", type=int, nargs="+", default=[100, 100_000])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--events", type=int, default=1_000_000)
    asked = parser.parse_args()
    for tasks in asked.tasks:
        with tempfile.TemporaryDirectory() as place:
            found = measure(Path(place), asked.learner, tasks, asked.seconds, asked.events)
        print(f"{asked.learner}, {tasks:,} tasks, {asked.events:,} events uploaded")
        for name, value in found.items():
            print(f"  {name:36} {value:12,.1f}")


if __name__ == "__main__":
    main()
