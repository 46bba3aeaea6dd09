"""A folder served over HTTP, until a signal ends it."""

import asyncio
import errno
import logging
import os
import signal
import socket
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass

import uvicorn

from weft.brokers.address import Address
from weft.brokers.dead_letters import DeadLetters
from weft.model import Model
from weft.serve.app import LOCAL, App
from weft.serve.connections import protocol
from weft.serve.folder import Config, Folder
from weft.serve.limits import Limits
from weft.serve.logs import Lines, tell, tell_error
from weft.serve.recovery import recover
from weft.serve.service import Service
from weft.serve.source import Source, metrics_of
from weft.serve.tokens import Tokens
from weft.stream import Stream

BROKEN = 70
"""Exit code when writing or flushing has failed."""
OF_THE_DISK = (errno.EIO, errno.ENOSPC, errno.EDQUOT)
"""Errors of writing that are nobody's mistake."""
DEAD_LETTERS = "dead-letters.jsonl"
"""The file in the folder with messages of sources that could not be used, unless another is named."""
ANSWERING = 0.3
"""Seconds in which new requests are still answered, with 503, when the service stops: those that were on their way."""
DRAIN = 20
"""Seconds in which requests that have begun may end when the service stops."""


@dataclass(frozen=True)
class Asked:
    """How to serve."""

    host: str
    port: int
    limits: Limits
    every: int
    """Entries between two checkpoints."""
    sources: tuple[Address, ...] = ()
    """Brokers that are read."""
    dead_letters: str | None = None
    """The file for their messages that cannot be used; None: in the folder."""


class Server(uvicorn.Server):
    """Leaves signals to `serve`."""

    @contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Not here."""
        yield


def serve(folder: Folder, config: Config, asked: Asked) -> int:
    """Serve a locked folder; the exit code: 0 after SIGTERM, 130 after Ctrl-C."""
    tokens = Tokens(folder.path)
    if not len(tokens) and asked.host not in LOCAL:
        raise ValueError(
            f"a folder without tokens is served on 127.0.0.1 only, not on {asked.host}; "
            f"add one with weft token add {folder.path} --scope admin"
        )
    allow_descriptors(asked.limits.connections + 100)
    listening = listen(asked.host, asked.port)
    app = App(tokens, asked.limits, tell_error)
    log = logging.getLogger("uvicorn")
    log.handlers, log.propagate = [Lines(logging.WARNING)], False
    settings = uvicorn.Config(
        app, http=protocol(asked.limits.seconds, asked.limits.connections), ws="none", lifespan="off",
        access_log=False, proxy_headers=False, log_config=None, server_header=False, date_header=False,
        timeout_graceful_shutdown=DRAIN, timeout_keep_alive=30, backlog=2048,
    )  # fmt: skip
    return asyncio.Runner(loop_factory=settings.get_loop_factory()).run(
        _serve(Server(settings), app, folder, config, asked, listening)
    )


async def _serve(
    server: Server, app: App, folder: Folder, config: Config, asked: Asked, listening: socket.socket
) -> int:
    loop = asyncio.get_running_loop()
    stopped: list[int] = []

    def stop(number: int) -> None:
        app.stopping.set()
        loop.call_later(0.0 if stopped or app.service is None else ANSWERING, leave)
        stopped.append(number)

    def leave() -> None:
        server.should_exit = True

    for number in (signal.SIGTERM, signal.SIGINT):
        with suppress(NotImplementedError):
            loop.add_signal_handler(number, stop, number)
    answering = asyncio.create_task(server.serve([listening]))
    host, port = listening.getsockname()[:2]
    tell(f"listening on http://{f'[{host}]' if ':' in host else host}:{port}, recovering {folder.path}", port=port)
    sources: list[Source] = []
    try:
        service = await asyncio.to_thread(_open, folder, config, asked, sources)
    except BaseException:
        server.should_exit = True
        await answering
        raise
    app.serve(service)
    tell(f"ready at entry {service.seq}", seq=service.seq)
    await answering
    tell("stopping: finishing what is queued, writing a checkpoint")
    for source in sources:
        await asyncio.to_thread(source.stop)
    await asyncio.to_thread(service.writer.stop)
    folder.unlock()
    tell(f"stopped at entry {service.seq}", seq=service.seq)
    return 130 if signal.SIGINT in stopped else 0


def _open(folder: Folder, config: Config, asked: Asked, sources: list[Source]) -> Service:
    recovered = recover(folder, config)
    for note in recovered.notes:
        tell(note, "warning")
    warm(recovered.model)
    service = Service(folder, config, recovered, limits=asked.limits, every=asked.every, fail=_end, tell=tell)
    if asked.sources:
        letters = DeadLetters(asked.dead_letters or folder.path / DEAD_LETTERS)
        sources += [Source(address, service, recovered.log, letters, _end) for address in asked.sources]
        service.further_metrics = lambda: metrics_of(sources)
    service.writer.start()
    for source in sources:
        source.start()
    return service


def _end(error: BaseException) -> None:
    """Nothing is acknowledged any more."""
    tell(f"the service ends without an answer: {error}", "error")
    tell_error(error)
    os._exit(BROKEN)


def warm(model: Model) -> None:
    """Compile what requests need, by a small model of the same learner."""
    tasks = model.tasks[:1] or ["a"]
    with suppress(ValueError):
        twin = Model(model.name, **model.parameters)
        label = None if model.target == "point" else 1.0
        twin.learn_one({"f": 1.0}, label, tasks[0])
        twin.learn_one({"f": 1.0}, label, tasks[0])
        twin.predict_one({"f": 1.0}, tasks[0])
        twin.learn(Stream([{"f": 1.0}], None if label is None else [label], [tasks[0]]))
        twin.score([{"f": 1.0}], [tasks[0]])
        Model.from_bytes(twin.to_bytes())


def allow_descriptors(count: int) -> None:
    """Raise the limit of open files, as far as the system lets; say so if that is not far enough."""
    if sys.platform == "win32":
        return
    import resource

    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    wanted = count if hard == resource.RLIM_INFINITY else min(count, hard)
    if soft != resource.RLIM_INFINITY and soft < wanted:
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, hard))
    if wanted < count:
        tell(f"the system allows {wanted} open files, fewer than --most-connections needs; raise ulimit -n", "warning")


def listen(host: str, port: int) -> socket.socket:
    """A socket that listens once the server takes it; OSError, with a sentence, if the address cannot be had."""
    name = host.strip("[]")
    listening = socket.socket(socket.AF_INET6 if ":" in name else socket.AF_INET)
    listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
    try:
        listening.bind((name, port))
    except (OSError, OverflowError) as error:
        listening.close()
        raise ValueError(
            f"cannot listen on {host}:{port}: {error}; choose another --port, or stop what listens there"
        ) from None
    listening.set_inheritable(True)
    return listening
