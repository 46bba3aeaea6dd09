"""How fast `weft serve` answers, on this machine, with the load generator beside it: `make bench-serve`.

An upload of NDJSON, learning over 64 connections and over one, predictions over 16 and over one, with many tasks too,
and the restart after all of it, killed and not. Every acknowledgement of weft was flushed to disk. Beside it river and
Vowpal Wabbit behind a small web framework, and Vowpal Wabbit's own daemon, which answers one connection at a time
(`benchmarks.serve_peers`); they keep nothing. CPU is that of the server's processes: it depends less on what else the
machine does than rates do. `benchmarks.serve_pause` measures what checkpoints cost.
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
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

FEATURES = 10
PEER_TASKS = 100
TICKS = os.sysconf("SC_CLK_TCK")


class Served:
    """A service in a process of its own, which says that it is ready, and on which port."""

    def __init__(self, words: list[str]) -> None:
        began = time.perf_counter()
        self.process = subprocess.Popen([sys.executable, "-m", *words], stderr=subprocess.PIPE, text=True)
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

    def cpu(self) -> float:
        """Seconds of CPU so far, of the process and those that it started."""
        return sum(map(_cpu, _with_children(self.process.pid)))

    def memory(self) -> float:
        """Bytes that it holds."""
        return int(Path(f"/proc/{self.process.pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")

    def end(self, number: int) -> None:
        self.process.send_signal(number)
        self.process.communicate()


def _cpu(process: int) -> float:
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def _with_children(process: int) -> list[int]:
    children = Path(f"/proc/{process}/task/{process}/children").read_text().split()
    return [process, *(found for child in children for found in _with_children(int(child)))]


@contextmanager
def running(words: list[str]) -> Iterator[Served]:
    """Ends with SIGTERM, whatever happens."""
    found = Served(words)
    try:
        yield found
    finally:
        if found.process.poll() is None:
            found.end(signal.SIGTERM)


def event(i: int, tasks: int) -> dict[str, object]:
    x = {f"f{(i * 31 + j * 17) % 200}": ((i * 7 + j) % 13) / 13.0 for j in range(FEATURES)}
    return {"task": f"t{i * 7919 % tasks}", "x": x, "y": 1 if i * 13 % 7 > 3 else -1}


def request(path: str, body: bytes) -> bytes:
    return b"POST %s HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: %d\r\n\r\n%b" % (path.encode(), len(body), body)


class Load(NamedTuple):
    """Answers per second, percentiles of waiting times in ms, CPU of the server per answer in microseconds."""

    rate: float
    p50: float
    p99: float
    cpu: float


def is_answered(data: bytes) -> bool:
    """Whether an answer over HTTP is there as a whole; it must be one of 200."""
    head, separator, body = data.partition(b"\r\n\r\n")
    if not separator or len(body) < int(head.lower().split(b"content-length: ")[1].split(b"\r\n")[0]):
        return False
    assert head.startswith(b"HTTP/1.1 200"), data
    return True


class Caller(asyncio.Protocol):
    """One connection: sends a request when the answer to the last one is there."""

    is_whole: Callable[[bytes], bool] = staticmethod(is_answered)

    def __init__(self, requests: list[bytes], start: int, end: float, waits: list[float]) -> None:
        self._requests, self._at, self._end, self._waits = requests, start, end, waits
        self._buffer = b""
        self.done = asyncio.get_running_loop().create_future()

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        self._transport: asyncio.Transport = transport  # type: ignore[assignment]
        self._send()

    def _send(self) -> None:
        self._began = time.perf_counter()
        if self._began >= self._end:
            self._transport.close()
            return
        self._transport.write(self._requests[self._at % len(self._requests)])
        self._at += 1

    def data_received(self, data: bytes) -> None:
        self._buffer += data
        if not self.is_whole(self._buffer):
            return
        self._buffer = b""
        self._waits.append(time.perf_counter() - self._began)
        self._send()

    def connection_lost(self, error: Exception | None) -> None:
        self.done.set_result(None)


class LineCaller(Caller):
    """The same with lines, as Vowpal Wabbit's daemon takes them."""

    is_whole = staticmethod(lambda data: data.endswith(b"\n"))


def load(
    served: Served, requests: list[bytes], connections: int, seconds: float, caller: type[Caller] = Caller
) -> Load:
    """Keep so many connections busy."""
    waits: list[float] = []

    async def run() -> float:
        loop, began = asyncio.get_running_loop(), time.perf_counter()
        callers = [
            caller(requests, at * len(requests) // connections, began + seconds, waits) for at in range(connections)
        ]
        await asyncio.gather(*(loop.create_connection(lambda c=c: c, "127.0.0.1", served.port) for c in callers))  # type: ignore[misc]
        await asyncio.gather(*(caller.done for caller in callers))
        return time.perf_counter() - began

    import uvloop

    before = served.cpu()
    took = asyncio.Runner(loop_factory=uvloop.new_event_loop).run(run())
    cpu = served.cpu() - before
    waits.sort()
    count = len(waits)
    return Load(count / took, 1e3 * waits[count // 2], 1e3 * waits[int(0.99 * count)], 1e6 * cpu / count)


def upload(served: Served, count: int, tasks: int, first: int = 0) -> Load:
    """One upload."""
    import http.client

    body = b"\n".join(json.dumps(event(first + i, tasks)).encode() for i in range(count))
    connection = http.client.HTTPConnection("127.0.0.1", served.port, timeout=3600)
    before, began = served.cpu(), time.perf_counter()
    connection.request("POST", "/v1/events", body)
    found = json.loads(connection.getresponse().read())
    seconds = time.perf_counter() - began
    connection.close()
    assert found["accepted"] == count, found
    return Load(count / seconds, float("nan"), float("nan"), 1e6 * (served.cpu() - before) / count)


def measure(served: Served, tasks: int, seconds: float, count: int) -> dict[str, Load]:
    """The loads over HTTP."""
    events = [event(i, tasks) for i in range(5000)]
    learn = [request("/v1/learn", json.dumps(found).encode()) for found in events]
    plain = [{key: found[key] for key in ("task", "x")} for found in events]
    predict = [request("/v1/predict", json.dumps(found).encode()) for found in plain]
    return {
        "NDJSON": upload(served, count, tasks),
        "learn, 64 connections": load(served, learn, 64, seconds),
        "learn, 1 connection": load(served, learn, 1, seconds / 3),
        "predict, 16 connections": load(served, predict, 16, seconds),
        "predict, 1 connection": load(served, predict, 1, seconds / 3),
    }


def measure_lines(served: Served, tasks: int, seconds: float, count: int) -> dict[str, Load]:
    """The loads as lines of Vowpal Wabbit over one connection: its daemon leaves others waiting."""
    from benchmarks.serve_peers import as_line

    events = [event(i, tasks) for i in range(5000)]
    learn = [as_line(found["task"], found["x"], found["y"]) for found in events]  # type: ignore[arg-type]
    predict = [as_line(found["task"], found["x"]) for found in events]  # type: ignore[arg-type]
    return {
        "lines in one go": stream_lines(served, (learn * (count // len(learn) + 1))[:count]),
        "learn, 1 connection": load(served, learn, 1, seconds / 3, LineCaller),
        "predict, 1 connection": load(served, predict, 1, seconds / 3, LineCaller),
    }


def stream_lines(served: Served, lines: list[bytes]) -> Load:
    """All lines, without waiting for answers, which are read meanwhile."""
    import socket
    import threading

    before, began = served.cpu(), time.perf_counter()
    with socket.create_connection(("127.0.0.1", served.port)) as connection:
        sending = threading.Thread(target=connection.sendall, args=(b"".join(lines),))
        sending.start()
        answers = 0
        while answers < len(lines):
            answers += connection.recv(1 << 16).count(b"\n")
        sending.join()
    seconds = time.perf_counter() - began
    nan = float("nan")
    return Load(len(lines) / seconds, nan, nan, 1e6 * (served.cpu() - before) / len(lines))


def show(name: str, found: dict[str, Load]) -> None:
    for kind, result in found.items():
        waits = "" if result.p50 != result.p50 else f"{result.p50:9.1f} {result.p99:9.1f}"
        print(f"{name:22} {kind:24} {result.rate:10,.0f} {waits:19} {result.cpu:8.1f}", flush=True)


def measure_weft(place: Path, learner: str, tasks: int, seconds: float, count: int) -> None:
    """weft, the memory of its tasks, and its restart after kill -9 and after SIGTERM."""
    never = ["--port", "0", "--checkpoint-every", "1000000000", "--learner", learner]
    words = ["weft.cli.main", "serve", str(place / f"{learner}-{tasks}"), *never]
    with running(words) as served:
        empty = served.memory()
        show(f"weft, {tasks:,} tasks", measure(served, tasks, seconds, count))
        print(f"  memory: {(served.memory() - empty) / 1e6:.0f} MB more than empty, with {tasks:,} tasks")
        served.end(signal.SIGKILL)
    with running(words) as served:
        print(f"  restart after kill -9, with all of that in the log since the last checkpoint: {served.seconds:.1f} s")
        served.end(signal.SIGTERM)
    with running(words) as served:
        print(f"  restart after SIGTERM: {served.seconds:.1f} s")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--learner", default="auto")
    parser.add_argument("--tasks", type=int, nargs="*", default=[100, 100_000])
    parser.add_argument("--seconds", type=float, default=10.0)
    parser.add_argument("--events", type=int, default=1_000_000)
    parser.add_argument("--peer-events", type=int, default=50_000, help="for the peers, which are slower")
    parser.add_argument("--peers", nargs="*", default=["river", "vw", "vw-daemon"])
    asked = parser.parse_args()
    print(f"{'':22} {'':24} {'per s':>10} {'p50, ms':>9} {'p99, ms':>9} {'CPU, us':>8}")
    for tasks in asked.tasks:
        with tempfile.TemporaryDirectory() as place:
            measure_weft(Path(place), asked.learner, tasks, asked.seconds, asked.events)
    for peer in asked.peers:
        with running(["benchmarks.serve_peers", peer, "--port", "0"]) as served:
            how = measure_lines if peer == "vw-daemon" else measure
            show(f"{peer}, {PEER_TASKS} tasks", how(served, PEER_TASKS, asked.seconds, asked.peer_events))
    print(f"load average {os.getloadavg()[0]:.1f} on {os.cpu_count()} cores")


if __name__ == "__main__":
    main()
