"""A router over HTTP, until a signal ends it."""

import asyncio
import signal
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import uvicorn

from weft.route.placement import read_map
from weft.route.router import Router
from weft.route.shards import Shards
from weft.serve.app import LOCAL
from weft.serve.connections import protocol
from weft.serve.limits import Limits
from weft.serve.logs import tell, tell_error
from weft.serve.run import DRAIN, Server, allow_descriptors, listen


@dataclass(frozen=True)
class Asked:
    """How to route."""

    host: str
    port: int
    limits: Limits


def route(path: Path, asked: Asked) -> int:
    """Route by the map in a file; the exit code: 0 after SIGTERM, 130 after Ctrl-C."""
    map_ = read_map(path)
    allow_descriptors(asked.limits.connections + 700)
    listening = listen(asked.host, asked.port)
    host, port = listening.getsockname()[:2]

    async def run() -> int:
        shards = Shards(asked.limits.seconds)
        router = Router(path, shards, asked.limits, tell_error, is_local=asked.host in LOCAL)
        settings = uvicorn.Config(
            router, http=protocol(asked.limits.seconds, asked.limits.connections), ws="none", lifespan="off",
            access_log=False, proxy_headers=False, log_config=None, server_header=False, date_header=False,
            timeout_graceful_shutdown=DRAIN, timeout_keep_alive=30, backlog=2048,
        )  # fmt: skip
        server, stopped, loop = Server(settings), list[int](), asyncio.get_running_loop()

        def stop(number: int) -> None:
            stopped.append(number)
            server.should_exit = True

        for number in (signal.SIGTERM, signal.SIGINT):
            with suppress(NotImplementedError):
                loop.add_signal_handler(number, stop, number)
        answering = asyncio.create_task(server.serve([listening]))
        while not server.started and not answering.done():
            await asyncio.sleep(0.01)
        tell(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}, map {path}", port=port)
        tell(f"ready with {len(map_.shards)} shards", shards=len(map_.shards))
        await answering
        await shards.close()
        tell("stopped")
        return 130 if signal.SIGINT in stopped else 0

    plain = uvicorn.Config(lambda: None)
    return asyncio.Runner(loop_factory=plain.get_loop_factory()).run(run())
