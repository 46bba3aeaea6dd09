"""Peers of `weft serve`, as people build them: a library behind Starlette and uvicorn, a model per task, in memory.

    python -m benchmarks.serve_peers river --port 8001
    python -m benchmarks.serve_peers vw --port 8002
    python -m benchmarks.serve_peers vw-daemon --port 8003

The routes and messages are those of `weft serve`, for the same load. Nothing is durable: what was learned is gone with
the process. river: standardisation and logistic regression per task. Vowpal Wabbit: one workspace with the task crossed
with every feature (`-q tx`), by its Python package. `vw-daemon` is Vowpal Wabbit's own daemon (`--daemon`, which
that package holds too): lines of its text format over TCP, one connection at a time per process; processes share
nothing.
"""

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import closing
from typing import Any, NamedTuple

from benchmarks.vw import OWN_AND_SHARED

PORT = 8001
LOGISTIC = f"{OWN_AND_SHARED} --link logistic"


class Peer(NamedTuple):
    """What answers."""

    learn: Callable[[Any, dict[str, float], int], float]
    predict: Callable[[Any, dict[str, float]], float]


def river() -> Peer:
    from river import linear_model, preprocessing

    models: dict[Any, Any] = {}

    def model_of(task: Any) -> Any:
        if task not in models:
            models[task] = preprocessing.StandardScaler() | linear_model.LogisticRegression()
        return models[task]

    def predict(task: Any, x: dict[str, float]) -> float:
        return float(model_of(task).predict_proba_one(x).get(True, 0.5))

    def learn(task: Any, x: dict[str, float], y: int) -> float:
        before = predict(task, x)
        model_of(task).learn_one(x, y > 0)
        return before

    return Peer(learn, predict)


def vw() -> Peer:
    from vowpalwabbit import Workspace

    workspace = Workspace(f"--quiet {LOGISTIC}")

    def predict(task: Any, x: dict[str, float]) -> float:
        return float(workspace.predict(as_line(task, x).decode()))

    def learn(task: Any, x: dict[str, float], y: int) -> float:
        example = workspace.example(as_line(task, x, y).decode())
        before = float(workspace.predict(example))
        workspace.learn(example)
        workspace.finish_example(example)
        return before

    return Peer(learn, predict)


def as_line(task: Any, x: dict[str, float], y: int | None = None) -> bytes:
    """An event in Vowpal Wabbit's text format, with a label or without."""
    label = "" if y is None else "1 " if y > 0 else "-1 "
    return f"{label}|t {task} |x {' '.join(f'{name}:{value}' for name, value in x.items())}\n".encode()


def daemon(port: int) -> None:
    """Vowpal Wabbit's daemon in processes of its own, until SIGTERM."""
    with closing(socket.socket()) as free:
        free.bind(("127.0.0.1", port))
        port = free.getsockname()[1]
    options = f"--quiet --daemon --foreground --num_children 1 --port {port} {LOGISTIC}"
    code = f"from vowpalwabbit import Workspace; Workspace({options!r}).run_parser()"
    child = subprocess.Popen([sys.executable, "-c", code], start_new_session=True, stdout=subprocess.DEVNULL)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit(0))
    try:
        for _ in range(600):
            time.sleep(0.1)
            with closing(socket.socket()) as one:
                if one.connect_ex(("127.0.0.1", port)) == 0:
                    break
        else:
            raise RuntimeError("the daemon does not listen")
        print(json.dumps({"message": "ready", "port": port}), file=sys.stderr, flush=True)
        child.wait()
    finally:
        os.killpg(child.pid, signal.SIGKILL)


def application(peer: Peer) -> Any:
    from starlette.applications import Starlette
    from starlette.requests import Request
    from starlette.responses import JSONResponse
    from starlette.routing import Route

    async def learn(request: Request) -> JSONResponse:
        event = await request.json()
        return JSONResponse({"probability": peer.learn(event["task"], event["x"], event["y"])})

    async def predict(request: Request) -> JSONResponse:
        event = await request.json()
        return JSONResponse({"probability": peer.predict(event["task"], event["x"])})

    async def events(request: Request) -> JSONResponse:
        count = 0
        for line in (await request.body()).splitlines():
            event = json.loads(line)
            peer.learn(event["task"], event["x"], event["y"])
            count += 1
        return JSONResponse({"accepted": count})

    table = [("/v1/learn", learn), ("/v1/predict", predict), ("/v1/events", events)]
    return Starlette(routes=[Route(path, handler, methods=["POST"]) for path, handler in table])


def main() -> None:
    import uvicorn

    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("peer", choices=["river", "vw", "vw-daemon"])
    parser.add_argument("--port", type=int, default=PORT)
    asked = parser.parse_args()
    if asked.peer == "vw-daemon":
        daemon(asked.port)
        return
    app = application({"river": river, "vw": vw}[asked.peer]())
    settings = uvicorn.Config(app, host="127.0.0.1", port=asked.port, access_log=False, log_level="warning")
    server = uvicorn.Server(settings)

    async def serve() -> None:
        answering = asyncio.ensure_future(server.serve())
        while not server.started:
            await asyncio.sleep(0.01)
        port = server.servers[0].sockets[0].getsockname()[1]
        print(json.dumps({"message": "ready", "port": port}), file=sys.stderr, flush=True)
        await answering

    asyncio.run(serve())


if __name__ == "__main__":
    main()
