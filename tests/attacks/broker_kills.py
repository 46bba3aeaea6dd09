"""A broker, or who learns from it, is killed (kill -9) while events come: nothing is lost, nothing learned twice.

For Redis, NATS and Kafka (librdkafka's mock), for `weft learn` and for `weft serve --from`. Events have no ids, so that
nothing but the positions can prevent that one is learned twice. At the end the log has all events in the order in which
they were sent, and its model is the one that they give; so is the model of `weft learn`. `--control` breaks one of the
rules, and must be noticed. `PYTHONPATH=tests python -m attacks.broker_kills --count 20` runs everything.
Learners are forked from this process, which has imported and compiled everything.
"""

import argparse
import json
import os
import random
import signal
import sqlite3
import sys
import tempfile
import time
import traceback
from pathlib import Path

import weft
from attacks.serve_kills import warm
from brokers.feeds import FEEDS
from serve import engines
from serve.histories import entries_of

PER_KILL = 150
PATIENCE = 60.0


def line(i):
    task, x, y = engines.event(i)
    return json.dumps({"task": task, "x": x | {"n": float(i)}, "y": y}).encode()


def fork(work, out):
    """`work` in a child; its process id."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        os.setsid()
        told = os.open(out, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        os.dup2(told, 2)
        os.dup2(os.open(os.devnull, os.O_RDWR), 1)
        for number in (signal.SIGTERM, signal.SIGINT):
            signal.signal(number, signal.SIG_DFL)
        code = work()
    except BaseException:
        traceback.print_exc(file=sys.stderr)
        sys.stderr.flush()
    finally:
        os._exit(code)


class Serve:
    """`weft serve --from`."""

    def __init__(self, folder, source):
        self.folder, self._source = folder / "s", source

    def work(self):
        from weft.brokers.address import parse_address
        from weft.serve.folder import Folder
        from weft.serve.limits import Limits
        from weft.serve.run import Asked, serve

        locked = Folder(self.folder).locked()
        if not locked.is_there:
            locked.make(engines.configured())
        return serve(locked, locked.config(), Asked("127.0.0.1", 0, Limits(), 400, (parse_address(self._source),)))

    def count(self):
        """Events that are learned durably."""
        return len(self.numbers())

    def numbers(self):
        if not (self.folder / "log.sqlite").exists():
            return []
        try:
            return [int(fields[1]["n"]) for _, (kind, *fields) in entries_of(self.folder) if kind == "learn"]
        except sqlite3.OperationalError:  # it is being made
            return []

    def check(self, sent):
        found = self.numbers()
        assert len(set(found)) == len(found), f"{len(found) - len(set(found))} events were learned twice"
        assert found == list(range(sent)), f"{sent - len(found)} events are missing, or in another order"
        service = engines.opened(self.folder)
        try:
            assert service.model.to_bytes() == model_of(sent)
        finally:
            engines.close(service)


class Learn:
    """`weft learn`."""

    def __init__(self, folder, source):
        self._model, self._source = folder / "m.weft", source

    def work(self):
        from weft.cli.main import cli

        words = ["learn", self._source, "--model", str(self._model), "--learner", engines.LEARNER, "--every", "60"]
        return cli([*words, "--save-every", "1s", "--quiet"], standalone_mode=False) or 0

    def count(self):
        if not self._model.exists():
            return 0
        return weft.load(self._model).tally.total["events"]

    def check(self, sent):
        model = weft.load(self._model)
        found = model.tally.total["events"]
        assert found == sent, f"{found} events were learned, {sent} were sent"
        assert model.to_bytes() == model_of(sent), "the model is not the one that the events give"


def model_of(count):
    model = weft.Model(engines.LEARNER)
    for i in range(count):
        found = json.loads(line(i))
        model.learn_one(found["x"], found["y"], found["task"])
    return model.to_bytes()


class Trial:
    """One broker and one learner; one of the two is killed again and again."""

    def __init__(self, folder, kind, learner, chance):
        self.folder, self.chance, self.sent = folder, chance, 0
        self.feed = FEEDS[kind](folder)
        self.learner = (Learn if learner == "learn" else Serve)(folder, self.feed.source)
        self.out = folder / "out"
        self.child = None

    def run(self, kills):
        self.feed.start()
        try:
            self.put()
            self.begin()
            for _ in range(kills):
                self.put()
                self.while_it_learns()
                if self.chance.random() < 0.5:
                    self.feed.kill()
                    time.sleep(self.chance.uniform(0.0, 0.2))
                    self.feed.start()
                else:
                    self.end()
                    self.begin()
            self.put()
            self.wait()
        finally:
            self.end(signal.SIGTERM if self.sent else signal.SIGKILL)
            self.feed.close()
        self.learner.check(self.sent)

    def while_it_learns(self):
        """A random moment: mostly soon after something new was saved, sometimes while the learner starts."""
        before, end = self.learner.count(), time.monotonic() + 10.0
        if self.chance.random() < 0.8:
            while before == self.learner.count() < self.sent and time.monotonic() < end:
                time.sleep(0.005)
            time.sleep(self.chance.expovariate(1.0 / 0.02))
        else:
            time.sleep(self.chance.uniform(0.0, 0.4))

    def put(self):
        self.feed.put([line(i) for i in range(self.sent, self.sent + PER_KILL)])
        self.sent += PER_KILL

    def begin(self):
        self.child = fork(self.learner.work, self.out)

    def end(self, number=signal.SIGKILL):
        if self.child is not None:
            os.kill(self.child, number)
            os.waitpid(self.child, 0)
            self.child = None

    def wait(self):
        end = time.monotonic() + PATIENCE
        while (count := self.learner.count()) < self.sent:
            ended, status = os.waitpid(self.child, os.WNOHANG)
            if ended:
                self.child = None
                raise AssertionError(f"the learner ended by itself with {status}: {self.out.read_text()[-2000:]}")
            if time.monotonic() > end:
                raise AssertionError(f"{count} of {self.sent} events in {PATIENCE:g} s: {self.out.read_text()[-2000:]}")
            time.sleep(0.02)
        time.sleep(0.3)  # what is learned twice may come behind


def attack(kind, learner, kills, seed):
    """Kills of one broker and one learner; the number of events."""
    with tempfile.TemporaryDirectory() as place:
        trial = Trial(Path(place), kind, learner, random.Random(f"{seed} {kind} {learner}"))
        trial.run(kills)
        return trial.sent


# --- controls: who breaks a rule is noticed ---


def late_positions():
    """Positions in a transaction of their own, behind that of the events."""
    from weft.serve import source

    settle, move = source.Source._settle, source.move

    def settled(self, broker, most):
        before = len(self._flying)
        settle(self, broker, most)
        if before > len(self._flying):
            time.sleep(0.2)
            self._service.writer.put(
                source.Job([], lambda _: None, within=lambda log, _: move(log, self.name, self._positions)), 10**6
            )

    source.Source._settle = settled
    source.move = lambda *_: None


def early_positions():
    """Positions that are saved with the model run ahead of what was learned."""
    from weft.brokers import reading

    chunks = reading.as_text

    def ahead(positions):
        found = dict(positions)
        if "" in found and found[""].isdigit():
            found[""] = str(int(found[""]) + 7)
        for key in found:
            if key.isdigit():
                found[key] = str(int(found[key]) + 7)
        if " " in found.get("", ""):
            entry, number = found[""].split()
            stamp, _, at = entry.partition("-")
            found[""] = f"{stamp}-{int(at) + 7} {int(number) + 7}"
        return chunks(found)

    reading.as_text = ahead


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20, help="kills of each broker and learner")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", default=sorted(FEEDS), choices=sorted(FEEDS))
    parser.add_argument("--learners", nargs="+", default=["learn", "serve"], choices=["learn", "serve"])
    parser.add_argument("--control", action="store_true", help="break a rule: every trial must fail")
    asked = parser.parse_args()
    warm()
    import weft.brokers.jetstream
    import weft.brokers.kafka
    import weft.brokers.redis_streams
    import weft.cli.learn
    import weft.serve.run  # noqa: F401

    if asked.control:
        late_positions()
        early_positions()
    for kind in asked.kinds:
        for learner in asked.learners:
            began = time.perf_counter()
            try:
                sent = attack(kind, learner, asked.count, asked.seed)
            except AssertionError as error:
                if not asked.control:
                    raise
                print(f"{kind}, weft {learner}: the fault was noticed: {str(error)[:100]}", flush=True)
                continue
            if asked.control:
                sys.exit(f"{kind}, weft {learner}: the fault was not noticed")
            seconds = time.perf_counter() - began
            print(
                f"{kind}, weft {learner}: {asked.count} kills in {seconds:.0f} s; all {sent} events were learned "
                "exactly once, in their order",
                flush=True,
            )


if __name__ == "__main__":
    main()
