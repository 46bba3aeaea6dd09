"""Every learner in many threads, as a careless program would use one model, in a process of its own.

Four threads predict from a loaded model, and must get the answers of one thread. Then three threads learn, two look at
everything that a model shows, and one saves, pickles and copies it, for seconds; every event must be counted, and every
file must be readable. Then tasks are forgotten meanwhile. `PYTHONPATH=tests python -m attacks.threads --seconds 5`
runs all learners; `tests/threads` replays the order of the calls, for fewer of them.
"""

import argparse
import copy
import faulthandler
import os
import pickle
import random
import sys
import tempfile
import threading
import time
import traceback
from contextlib import suppress

import numpy as np

import weft

TASKS = [f"t{i}" for i in range(4)]
LOOKS = 10
"""Readers and the thread that saves get at least so many turns."""
LONGEST = 120
"""Seconds after which a learner hangs."""


def events(seed, count):
    chance = random.Random(seed)
    for _ in range(count):
        row = {f"f{chance.randrange(6)}": chance.gauss(0, 1) for _ in range(3)} | {"a": chance.gauss(0, 1)}
        yield row, 1 if row["a"] > 0 else -1, chance.choice(TASKS)


def together(jobs):
    errors = []

    def run(job):
        try:
            job()
        except BaseException:
            errors.append(traceback.format_exc())

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(LONGEST)
        assert not thread.is_alive(), "a thread hangs"
    assert not errors, errors[0]


class Attack:
    """One learner."""

    def __init__(self, name, seconds):
        model = weft.Model(name)
        for row, label, task in events(0, 40):
            model.learn_one(row, label, task)
        self.data, self.seconds = model.to_bytes(), seconds
        self.model = weft.Model.from_bytes(self.data)
        self.rows, _, self.tasks = zip(*events(1, 50), strict=True)
        self.learned, self.seen, self.files, self.left = [0] * 9, 0, [], 0

    def run(self):
        self.predict()
        before, self.left = self.events(), 3
        self.end = time.monotonic() + self.seconds
        together([*(lambda k=k: self.learn(k, 10**6) for k in range(3)), self.look, self.look, self.save])
        assert self.events() == before + sum(self.learned), "an event was lost, or counted twice"
        for data in self.files[::3]:
            weft.Model.from_bytes(data)
        again = weft.Model.from_bytes(self.model.to_bytes())
        assert again.score(self.rows, self.tasks).tolist() == self.model.score(self.rows, self.tasks).tolist()
        self.left, self.end = 2, 0.0
        together([self.forget, lambda: self.learn(3, 60), self.look])
        weft.Model.from_bytes(self.model.to_bytes())
        return f"{sum(self.learned):,} events learned, {self.seen} looks, {len(self.files)} files"

    def events(self):
        return self.model.tally.total["events"]

    def predict(self):
        expected = [self.model.predict_one(row, task) for row, task in zip(self.rows, self.tasks, strict=True)]
        bulk = self.model.score(self.rows, self.tasks).tolist()

        def job():
            for _ in range(5):
                for row, task, score in zip(self.rows, self.tasks, expected, strict=True):
                    assert self.model.predict_one(row, task) == score, "a wrong prediction"
            assert self.model.score(self.rows, self.tasks).tolist() == bulk, "wrong scores"

        together([job] * 4)
        assert self.model.to_bytes() == self.data, "predicting changed the model"

    def is_over(self):
        late = time.monotonic() - self.end
        return late > 0 and (self.end == 0.0 or late > 20 or (self.seen >= LOOKS and len(self.files) >= LOOKS))

    def learn(self, k, limit):
        try:
            for n, (row, label, task) in enumerate(events(10 + k, limit)):
                if n >= 60 and self.is_over():
                    break
                if n % 10 == 9:
                    self.model.learn(weft.Stream([row], [label], [task]))
                else:
                    self.model.learn_one(row, label, task)
                self.learned[k] += 1
        finally:
            self.left -= 1

    def look(self):
        model = self.model
        while True:
            model.predict_one(self.rows[0], self.tasks[0])
            model.score(self.rows[:5], self.tasks[:5])
            model.predict(self.rows[:5], self.tasks[:5])
            if "explain" in model.views and not model.traits.keeps_rows:
                model.explain(self.rows[0], self.tasks[0])
            model.tally.rows(), model.tally.recent, repr(model), model.tasks, model.features
            self.seen += 1
            if self.left <= 0:
                return

    def save(self):
        with tempfile.TemporaryDirectory() as folder:
            while True:
                self.model.save(f"{folder}/m.weft")
                self.files.append(self.model.to_bytes())
                pickle.loads(pickle.dumps(self.model)).predict_one(self.rows[0], self.tasks[0])
                copy.deepcopy(self.model).learn_one(self.rows[0], 1, self.tasks[0])
                if self.left <= 0:
                    return

    def forget(self):
        try:
            for task in TASKS:
                with suppress(ValueError):  # some learners cannot forget
                    self.model.forget(task)
        finally:
            self.left -= 1


def attack(names, seconds):
    """Each in a process of its own, two at a time; the names of those that failed."""
    running, failed = {}, []

    def reap():
        child, status = os.wait()
        name = running.pop(child)
        if status:
            failed.append(f"{name}: exit code {os.waitstatus_to_exitcode(status)}")

    for name in names:
        if len(running) == 2:
            reap()
        child = os.fork()
        if not child:
            code = 1
            try:
                faulthandler.dump_traceback_later(LONGEST + 60, exit=True)
                np.seterr(all="ignore")
                made = Attack(name, seconds)
                sys.setswitchinterval(1e-6)
                print(f"{name}: {made.run()}", flush=True)
                code = 0
            except BaseException:
                traceback.print_exc()
            finally:
                os._exit(code)
        running[child] = name
    while running:
        reap()
    return failed


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--seconds", type=float, default=1.5, help="of learning, per learner")
    parser.add_argument("--only", action="append", help="this learner; can be given several times")
    asked = parser.parse_args()
    names = asked.only or [entry.name for entry in weft.catalogue()]
    failed = attack(names, asked.seconds)
    print(f"{len(names)} learners, {len(failed)} failed")
    sys.exit("\n".join(failed) or 0)


if __name__ == "__main__":
    main()
