"""A service that is asked to stop: what came in before is answered, what comes then is refused with a sentence."""

import asyncio
import http.client
import json
import signal
import socket
import time

from serve import engines
from serve.asgi import answer
from serve.service_process import served
from weft.serve.app import App
from weft.serve.limits import Limits
from weft.serve.tokens import Tokens

EVENT = json.dumps({"id": "late", "task": "t", "x": {"a": 1.0}, "y": 1}).encode()


def expect_stopping(status, headers, body):
    assert (status, body["error"]["code"]) == (503, "stopping")
    assert body["error"]["message"] == "the service is stopping"
    assert body["error"]["remedy"]
    assert int(headers[b"retry-after"]) > 0
    assert headers[b"connection"] == b"close"


def test_what_comes_while_it_stops_is_refused_with_a_sentence(tmp_path):
    service = engines.opened(tmp_path / "s")

    async def attack():
        app = App(Tokens(tmp_path / "s"), Limits(), lambda error: None)
        app.serve(service)
        assert (await answer(app, "/readyz", [b""], "GET"))[0] == 200
        app.stopping.set()
        for path, pieces in (("/v1/learn", [EVENT]), ("/v1/predict", [EVENT]), ("/v1/events", [EVENT, b"\n", EVENT])):
            *found, left = await answer(app, path, pieces)
            expect_stopping(*found)
            assert not left  # all was read, so that the client reads the answer
        expect_stopping(*(await answer(app, "/readyz", [b""], "GET"))[:3])
        assert (await answer(app, "/healthz", [b""], "GET"))[0] == 200

    asyncio.run(attack())
    assert service.seq == 0
    engines.close(service)


def test_a_body_that_never_ends_is_answered_when_waiting_ends(tmp_path):
    service = engines.opened(tmp_path / "s")

    async def attack():
        app = App(Tokens(tmp_path / "s"), Limits(), lambda error: None)
        app.serve(service)
        for path in ("/v1/learn", "/v1/events"):
            app.stopping.clear()
            task = asyncio.create_task(answer(app, path, [EVENT[:9], None, b""]))
            await asyncio.sleep(0)
            app.stopping.set()
            for _ in range(20):
                await asyncio.sleep(0)
            assert not task.done()
            task.cancel()
            expect_stopping(*(await task)[:3])

    asyncio.run(attack())
    assert service.seq == 0
    engines.close(service)


def test_a_request_that_had_begun_is_learned_and_answered(tmp_path):
    with served(tmp_path / "s", "--learner", engines.LEARNER) as service:
        begun = socket.create_connection(("127.0.0.1", service.port), timeout=60)
        head = f"POST /v1/learn HTTP/1.1\r\nHost: 127.0.0.1\r\nContent-Length: {len(EVENT)}\r\n\r\n"
        begun.sendall(head.encode() + EVENT[:10])
        with service.client() as client:
            client.learn_one({"a": 1.0}, 1, "t")
        service.process.send_signal(signal.SIGTERM)
        limit = time.monotonic() + 30
        while time.monotonic() < limit:
            other = http.client.HTTPConnection("127.0.0.1", service.port, timeout=30)
            try:
                other.request("GET", "/readyz")
                if other.getresponse().status == 503:
                    break
            except OSError:  # it does not accept connections any more
                break
            finally:
                other.close()
        begun.sendall(EVENT[10:])
        found = http.client.HTTPResponse(begun)
        found.begin()
        assert (found.status, json.loads(found.read())["seq"]) == (200, 2)
        begun.close()
        assert service.stop() == 0
    with served(tmp_path / "s") as service, service.client() as client:
        assert client.task("t")["events"] == 2
