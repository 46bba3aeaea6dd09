"""Thousands of idle, slow and half-open connections at one time, while others are answered.

`PYTHONPATH=tests python -m attacks.serve_load --count 10000`; `make test` opens some hundred.
"""

import argparse
import http.client
import json
import resource
import select
import socket
import tempfile
import time
from contextlib import ExitStack, closing
from pathlib import Path

from serve.service_process import served


def allow(count):
    """Let this process open so many files; how many it may open."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    most = hard if hard != resource.RLIM_INFINITY else count
    if soft != resource.RLIM_INFINITY and soft < count:
        resource.setrlimit(resource.RLIMIT_NOFILE, (min(count, most), hard))
    return min(count, most)


def ask(port, path="/v1/predict", body=b'{"task": "t", "x": {"a": 1}}'):
    """Status and seconds of one request on a new connection; None if the service closed it before it was sent."""
    began = time.perf_counter()
    with closing(http.client.HTTPConnection("127.0.0.1", port, timeout=30)) as connection:
        try:
            connection.request("POST", path, body)
            answer = connection.getresponse()
            answer.read()
        except (BrokenPipeError, ConnectionResetError):
            return None, time.perf_counter() - began
    return answer.status, time.perf_counter() - began


def attack(count, seconds=60.0):
    """Hold `count` connections: idle ones, half a head, half a body; what was seen meanwhile."""
    if allow(count + 200) < count + 200:
        raise OSError(f"this process may not open {count} files")
    held, waits = [], []
    learn = b'{"task": "t", "x": {"a": 1}, "y": 1}'
    with tempfile.TemporaryDirectory() as place, ExitStack() as opened:
        options = ("--learner", "mt-ogd", "--most-connections", count, "--most-seconds", seconds)
        with served(Path(place) / "s", *options) as service:
            assert ask(service.port, "/v1/learn", learn)[0] == 200
            before = memory(service.process.pid)
            for i in range(count - 1):
                held.append(opened.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=30)))
                if i % 3 == 1:
                    held[-1].sendall(b"POST /v1/learn HTTP/1.1\r\nHost: 127.")
                elif i % 3 == 2:
                    held[-1].sendall(b"POST /v1/learn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: 9999\r\n\r\n{")
            for _ in range(20):
                status, wait = ask(service.port)
                assert status == 200, "the last connection within the limit is refused"
                waits.append(wait)
            assert ask(service.port, "/v1/learn", learn)[0] == 200
            each = (memory(service.process.pid) - before) / count
            held.append(opened.enter_context(socket.create_connection(("127.0.0.1", service.port), timeout=30)))
            refused, _ = ask(service.port)
            assert refused in (503, None), f"beyond the limit the answer is {refused}"
            for one in held[: count // 2]:  # half of them go without a word
                one.close()
            limit = time.monotonic() + 30.0
            while ask(service.port)[0] != 200:
                assert time.monotonic() < limit, "connections that were closed still count"
            with service.client() as client:
                assert json.loads(client._request("GET", "/healthz", None))["seq"] == 2
    return {"p50": sorted(waits)[10], "worst": max(waits), "bytes": each}


def closed_in_time(service, data, seconds):
    """Send the beginning of a request and wait: seconds until the service ends it, and what it said."""
    with socket.create_connection(("127.0.0.1", service.port), timeout=30) as one:
        one.sendall(data)
        began = time.monotonic()
        ready, _, _ = select.select([one], [], [], seconds)
        return time.monotonic() - began, one.recv(100) if ready else None


def memory(process):
    """Bytes that a process holds."""
    return int(Path(f"/proc/{process}/statm").read_text().split()[1]) * resource.getpagesize()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=10_000)
    found = attack(parser.parse_args().count, 300.0)
    print(
        f"connections held: predictions took {1e3 * found['p50']:.1f} ms (median), {1e3 * found['worst']:.1f} ms at "
        f"most; {found['bytes']:.0f} bytes of memory per connection; one more was answered with 503"
    )


if __name__ == "__main__":
    main()
