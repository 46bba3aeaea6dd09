"""`weft serve` is killed (kill -9) at random moments while clients learn, and started again.

Clients send events under ids, send them again when no answer comes, and note every acknowledgement. At the end
`serve.histories` reads the log without weft: acknowledged = learned exactly once, and the model of the service is the
one that the log gives. `PYTHONPATH=tests python -m attacks.serve_kills --count 200` runs many; `make test` runs a few.
Servers are forked from this process, which has imported and compiled everything.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress
from pathlib import Path

import weft
from serve import engines, histories
from weft.client import ServiceError

CLIENTS = 4


def fork(folder, port_file, every, log_settings=None):
    """`weft serve` in a child of this process; its process id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.setsid()
        out = os.open(port_file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        os.dup2(out, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        from weft.serve.folder import Folder
        from weft.serve.limits import Limits
        from weft.serve.run import Asked, serve

        locked = Folder(folder).locked()
        if not locked.is_there:
            locked.make(engines.configured())
        code = serve(locked, locked.config(), Asked("127.0.0.1", 0, Limits(), every))
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)


def port_of(port_file, child):
    """The port of a server that is ready, None if it ended before."""
    for _ in range(3000):
        text = Path(port_file).read_text() if Path(port_file).exists() else ""
        if '"message": "ready' in text:
            return int(text.split('"port": ')[1].split("}")[0])
        if os.waitpid(child, os.WNOHANG)[0]:
            raise AssertionError(f"the server ended by itself: {text}")
        time.sleep(0.01)
    raise AssertionError("the server did not become ready")


class Trial:
    """One folder, killed again and again while clients send to it."""

    def __init__(self, folder, chance):
        self.folder, self.chance = folder, chance
        self.history = histories.History()
        self.lock = threading.Lock()
        self.port = None
        self.next = 0
        self.is_over = False
        self.errors = []

    def run(self, kills, events):
        clients = [threading.Thread(target=self.send, args=(events,)) for _ in range(CLIENTS)]
        child = self.start()
        for client in clients:
            client.start()
        try:
            for acknowledged in sorted(self.chance.sample(range(events - CLIENTS), kills)):
                self.wait_for(acknowledged)
                time.sleep(self.chance.expovariate(1.0 / 0.004))
                os.kill(child, signal.SIGKILL)
                assert os.waitpid(child, 0)[0] == child
                child = self.start()
            for client in clients:
                client.join(60.0)
            assert not self.errors, self.errors
        except BaseException:
            with suppress(ProcessLookupError, ChildProcessError):  # it may have been killed, and not be there again
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            raise
        finally:
            self.is_over = True
        with weft.Client(f"http://127.0.0.1:{self.port}") as client:
            served = client.to_bytes()
        os.kill(child, signal.SIGTERM)
        assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
        assert len(self.history.acknowledged) == events
        assert histories.check(self.folder, self.history, engines.LEARNER) == served

    def wait_for(self, count):
        """Until so many events are acknowledged: how many kills fit between them does not depend on the machine."""
        end = time.monotonic() + 60.0
        while len(self.history.acknowledged) < count:
            assert not self.errors, self.errors
            assert time.monotonic() < end, f"{len(self.history.acknowledged)} of {count} events in a minute"
            time.sleep(0.0005)

    def start(self):
        port_file = self.folder.with_name(self.folder.name + ".out")
        port_file.unlink(missing_ok=True)
        child = fork(self.folder, port_file, self.chance.choice([1, 5, 40]))
        try:
            self.port = port_of(port_file, child)
        except BaseException:  # a server that is not ready in time is not left behind
            with suppress(ProcessLookupError, ChildProcessError):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            raise
        return child

    def send(self, events):
        """One client: takes the next event, and sends it until it is acknowledged."""
        try:
            while not self.is_over:
                with self.lock:
                    i, self.next = self.next, self.next + 1
                if i >= events:
                    return
                task, x, y = engines.event(i)
                self.history.send(f"e{i}", (task, x, y))
                self.history.acknowledge(f"e{i}", self.until_acknowledged(f"e{i}", task, x, y))
        except BaseException as error:
            self.errors.append(error)

    def until_acknowledged(self, id, task, x, y):
        body = {"id": id, "task": task, "x": x, "y": y}
        while not self.is_over:
            try:
                with weft.Client(f"http://127.0.0.1:{self.port}", timeout=5.0, retries=0) as client:
                    return client._post("/v1/learn", body)["seq"]
            except (ConnectionError, ServiceError) as error:
                if isinstance(error, ServiceError) and error.status != 503:
                    raise
                time.sleep(0.002)
        raise AssertionError("the trial ended")


def attack(count, seed, events_per_kill=25):
    """So many kills, in several folders; how many there were, and how many events were acknowledged."""
    chance, kills, acknowledged = random.Random(seed), 0, 0
    with tempfile.TemporaryDirectory() as place:
        while kills < count:
            turn = min(count - kills, 20)
            trial = Trial(Path(place) / f"s{kills}", chance)
            trial.run(turn, turn * events_per_kill)
            kills += turn
            acknowledged += len(trial.history.acknowledged)
    return kills, acknowledged


def warm():
    """Import and compile what the forked servers need."""
    import asyncio  # noqa: F401

    import uvloop  # noqa: F401

    from weft.serve.run import warm as compile_all

    compile_all(weft.Model(engines.LEARNER))


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=200)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warm()
    began = time.perf_counter()
    kills, acknowledged = attack(asked.count, asked.seed)
    print(
        f"{kills} kills in {time.perf_counter() - began:.0f} s; all {acknowledged} acknowledged events were learned "
        "exactly once, and every model was that of its log"
    )


if __name__ == "__main__":
    main()
