"""Shards in actors of Ray: `workers=on_ray(...)` of `learn`.

Ray runs the processes and moves bytes; what was learned, where files were left and what has happened already is kept
by weft. A call of an actor runs at most once and may fail although it has run, and so every call goes through
`_Calls.result`: if the actor is gone, its shards are given to another, which is restored from the folder of the run,
and the call is repeated. A second actor stands by with weft imported and the rule compiled, so that this takes less
than starting one.
"""

import ipaddress
import os
import secrets
import socket
import sys
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from dataclasses import dataclass, replace
from typing import Any

from weft.cluster.records import Outlook, Report, Version
from weft.cluster.worker import Setup, Worker

LOOPBACK = "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER"
"""With 0 a Ray without other machines listens on 127.0.0.1 alone, which is its default on Windows and macOS."""
MOST_TRIES = 20
"""Of one call: if as many actors in a row are lost with it, something else is wrong."""
PATIENCE = 600.0
"""Seconds that one call may take, before its actor is given up."""
STORE_BYTES = 256 << 20
"""Of Ray's memory for objects on this machine: versions and reports, of which a few are alive at a time."""


def on_ray(
    actors: int | None = None, address: str | None = None, patience: float = PATIENCE
) -> Callable[[Setup], AbstractContextManager[Any]]:
    """Where the shards are: in so many actors, one per shard without a number, of the Ray cluster at an address.

    Without an address Ray is started in this process's name, on 127.0.0.1 and with a token of its own, and stopped at
    the end; if it runs already in this process, it is used. All machines see the run's folder and its files.
    """

    @contextmanager
    def workers(setup: Setup) -> Iterator[OnRay]:
        ray = import_ray(is_alone=address is None)
        started = not ray.is_initialized()
        count = min(actors or setup.rule.shards, setup.rule.shards)
        if started:
            start(ray, address, count)
        found = OnRay(ray, setup, count, patience)
        try:
            yield found
        finally:
            found.close()
            if started:
                ray.shutdown()

    return workers


def import_ray(is_alone: bool = True) -> Any:
    """Ray, with usage statistics off and calls that need a token, and on 127.0.0.1 only if this machine `is_alone`.

    Ray decides these when it is imported.
    """
    if "ray" in sys.modules and os.environ.get("RAY_AUTH_MODE") != "token":
        raise ValueError(
            "ray was imported without RAY_AUTH_MODE=token, so that anybody who reaches it could run code here; "
            "set that in the environment, or let weft import ray"
        )
    os.environ["RAY_USAGE_STATS_ENABLED"] = "0"
    os.environ.setdefault("RAY_AUTH_MODE", "token")
    os.environ.setdefault("RAY_ACCEL_ENV_VAR_OVERRIDE_ON_ZERO", "0")
    if is_alone:
        os.environ.setdefault(LOOPBACK, "0")
    try:
        import ray
    except ImportError:
        raise ValueError("actors need the package ray; install it with pip install 'weft[ray]'") from None
    return ray


def start(ray: Any, address: str | None, actors: int) -> None:
    """Connect to a cluster in a private network, or start Ray on this machine for itself."""
    quiet: dict[str, Any] = {"log_to_driver": False, "logging_level": "ERROR", "configure_logging": False}
    if os.environ["RAY_AUTH_MODE"] != "token":
        raise ValueError("RAY_AUTH_MODE is not token: anybody who reaches Ray could run code here; unset it")
    if address is not None:
        expect_private(address)
        ray.init(address=address, **quiet)
        return
    if not ("RAY_AUTH_TOKEN" in os.environ or "RAY_AUTH_TOKEN_PATH" in os.environ):
        os.environ["RAY_AUTH_TOKEN"] = secrets.token_hex(32)
    ray.init(
        num_cpus=actors + 1,
        num_gpus=0,
        include_dashboard=False,
        object_store_memory=STORE_BYTES,
        **quiet,
    )
    here = ray.util.get_node_ip_address()
    if not ipaddress.ip_address(here).is_loopback:
        ray.shutdown()
        raise ValueError(
            f"Ray would listen on {here}: it was imported without {LOOPBACK}=0; set that in the environment"
        )


def expect_private(address: str) -> None:
    """Refuse an address that can be reached from everywhere: whoever reaches Ray and has its token runs code there."""
    host = address.removeprefix("ray://").rsplit(":", 1)[0].strip("[]")
    if host in ("auto", "local"):
        return
    try:
        found = {entry[4][0] for entry in socket.getaddrinfo(host, None)}
    except OSError:
        raise ValueError(
            f"there is no machine {host!r}; give the address of a Ray cluster, such as 10.0.0.5:6379"
        ) from None
    for number in found:
        if not ipaddress.ip_address(number).is_private:
            raise ValueError(
                f"{host} is the public address {number}; keep Ray in a private network, and give its address there"
            )


class Actor:
    """A worker behind Ray, which carries reports and versions: their arrays are not copied on the same machine."""

    def __init__(self, setup: dict[str, Any]) -> None:
        self._worker = Worker(Setup.from_json(setup))
        self._worker.warm()

    def process(self) -> int:
        """The number of its process."""
        return os.getpid()

    def outlooks(self, number: int, block: int) -> list[Outlook]:
        """See `Worker`."""
        return self._worker.outlooks(number, block)

    def step(self, number: int, block: int, version: Version) -> Report:
        """See `Worker`."""
        return self._worker.step(number, block, version)

    def finish(self, number: int, end: int) -> str:
        """See `Worker`."""
        return self._worker.finish(number, end)


@dataclass
class _Call:
    """A call of an actor that was made."""

    slot: int
    method: str
    arguments: tuple[Any, ...]
    actor: Any
    reference: Any


class OnRay:
    """The shards of a run in actors; shard n is in actor n modulo their number."""

    def __init__(self, ray: Any, setup: Setup, actors: int, patience: float) -> None:
        self._ray, self._setup, self._shards = ray, setup, range(setup.rule.shards)
        self._patience = patience
        self._kind = ray.remote(num_cpus=1, max_restarts=0, max_task_retries=0)(Actor)
        self.actors = [self._new() for _ in range(actors)]
        self._spare = self._new()
        self.replaced = 0

    def outlooks(self, block: int) -> list[list[Outlook]]:
        calls = [self._call(number, "outlooks", number, block) for number in self._shards]
        return [self._result(call) for call in calls]

    def start(self, block: int, version: Version) -> list[_Call]:
        data = self._ray.put(replace(version))  # without the bytes that are stored
        return [self._call(number, "step", number, block, data) for number in self._shards]

    def reports(self, started: list[_Call]) -> list[Report]:
        return [self._result(call) for call in started]

    def finish(self, end: int) -> list[str]:
        calls = [self._call(number, "finish", number, end) for number in self._shards]
        return [self._result(call) for call in calls]

    def processes(self) -> list[int]:
        """The processes of the actors."""
        return [self._result(self._call(slot, "process")) for slot in range(len(self.actors))]

    def close(self) -> None:
        """End the actors."""
        for actor in (*self.actors, self._spare):
            with suppress(Exception):
                self._ray.kill(actor)

    def _new(self) -> Any:
        return self._kind.options(scheduling_strategy="SPREAD").remote(self._setup.to_json())

    def _call(self, number: int, method: str, *arguments: Any) -> _Call:
        slot = number % len(self.actors)
        actor = self.actors[slot]
        return _Call(slot, method, arguments, actor, getattr(actor, method).remote(*arguments))

    def _result(self, call: _Call) -> Any:
        """What a call returns; if its actor is lost, or silent for too long, of another: the only way to a result."""
        errors = self._ray.exceptions
        for _ in range(MOST_TRIES):
            try:
                return self._ray.get(call.reference, timeout=self._patience)
            except errors.RayTaskError as error:
                cause = error.cause
                if isinstance(cause, errors.RayError) or not isinstance(cause, Exception):
                    self._replace(call)
                else:
                    raise cause from None
            except errors.RayError:
                self._replace(call)
            call.actor = self.actors[call.slot]
            call.reference = getattr(call.actor, call.method).remote(*call.arguments)
        raise RuntimeError(f"{MOST_TRIES} actors were lost, one after the other, in {call.method}; see the logs of Ray")

    def _replace(self, call: _Call) -> None:
        """Give the shards of a lost actor to the spare one; another call may have done so already."""
        if self.actors[call.slot] is not call.actor:
            return
        with suppress(Exception):
            self._ray.kill(call.actor)
        self.actors[call.slot], self._spare = self._spare, self._new()
        self.replaced += 1
