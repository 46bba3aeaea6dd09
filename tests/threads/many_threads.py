"""One model in many threads, in a process of its own: `python many_threads.py NAME ...`, a fork per learner.

Writers log, inside of the guard, whose turn it was. The log is then replayed, call by call, on a copy of the model:
scores and bytes must be the same, and whatever a reader saw must be what one of the models in between would have said.
"""

import faulthandler
import hashlib
import os
import sys
import threading
import traceback

import numpy as np

import weft
from contracts.settings import NAMES, Setting
from contracts.streams import make_events
from weft.storage import pairs

SECONDS = 100
WRITERS, ACTIONS = 3, 14
PROBES = [({"f0": 1.0, "f1": -0.5}, "ann"), ({"f2": 0.7, "f0": 0.1}, "bob")]


class Log(list):
    """A tally's buffer that notes in which thread an event was counted."""

    def __init__(self, turns):
        super().__init__()
        self.turns = turns

    def __iadd__(self, events):
        self.turns.append(threading.get_ident())
        return super().__iadd__(events)


def actions(setting, writer):
    """Single events and short streams, with names that are new."""
    events = make_events(setting.target, "single", "named", seed=100 + writer, rounds=3 * ACTIONS)
    rows, found = events.table(), []
    for n in range(ACTIONS):
        row = dict(rows[n])
        if n % 4 == 3 and not setting.on_simplex:
            row[f"new{writer}-{n}"] = 1.0
        label = None if setting.target == "point" else events.labels[n]
        found.append((row, label, events.tasks[n]))
        if n % 5 == 4:
            found.append(events.piece(ACTIONS + n, ACTIONS + n + 4).stream())
    return found


def act(model, action):
    return model.learn(action).tolist() if isinstance(action, weft.Stream) else model.learn_one(*action)


def looks(model, views):
    """All that readers ask for, as values that can be compared."""
    X, tasks = [x for x, _ in PROBES], [task for _, task in PROBES]
    yield "one", lambda: model.predict_one(*PROBES[0])
    yield "bulk", lambda: tuple(model.score(X, tasks))
    yield "bytes", lambda: hashlib.sha256(model.to_bytes()).hexdigest()
    yield "events", lambda: model.tally.total["events"]
    yield "rows", lambda: sum(row["events"] for row in model.tally.rows())
    yield "names", lambda: (len(model.tasks), len(model.features)) and len(model.features)
    if "explain" in views and not model.traits.keeps_rows:
        yield "explained", lambda: model.explain(*PROBES[1]).score
    if model.traits.keeps_rows:
        yield "support", lambda: len(model.support())
    else:
        yield "weights", lambda: model.weights().shape[1]


def together(model, jobs):
    """Run every job in a thread of its own; the first error is raised."""
    errors, start = [], threading.Barrier(len(jobs))

    def run(job):
        try:
            start.wait()
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,)) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    if errors:
        raise errors[0]


def reading(model, expected, times):
    """Threads that only read get the answers of one thread, to the bit."""
    ways = list(looks(model, model.views))

    def job(first):
        for n in range(times):
            name, look = ways[(first + n) % len(ways)]
            assert look() == expected[name], name

    together(model, [lambda first=first: job(first) for first in range(4)])


def writing(setting, model):
    data, turns, seen, results, whose = model.to_bytes(), [], [], {}, {}
    model.tally.buffer, count, left = Log(turns), model.tally.count, [WRITERS]

    def noted(batch, scores):
        turns.append(threading.get_ident())
        count(batch, scores)

    model.tally.count = noted

    def writer(number):
        mine = whose[threading.get_ident()] = actions(setting, number)
        try:
            results[threading.get_ident()] = [act(model, action) for action in mine]
        finally:
            left[0] -= 1

    def reader(first):
        ways = list(looks(model, model.views))
        while left[0] > 0:
            name, look = ways[(first + len(seen)) % len(ways)]
            seen.append((name, look()))

    jobs = [lambda n=n: writer(n) for n in range(WRITERS)] + [lambda n=n: reader(n) for n in range(2)]
    together(model, jobs)
    check(model, weft.Model.from_bytes(data), turns, whose, results, seen)


def check(model, twin, turns, whose, results, seen):
    """Replay the turns; returns if everything was as in this order."""
    possible = {name: {look()} for name, look in looks(twin, twin.views)}
    place = dict.fromkeys(whose, 0)
    assert len(turns) == sum(map(len, whose.values())), "an event was lost, or counted twice"
    for thread in turns:
        n = place[thread]
        place[thread] += 1
        assert act(twin, whose[thread][n]) == results[thread][n], "a score is not that of this order"
        for name, look in looks(twin, twin.views):
            possible[name].add(look())
    assert twin.to_bytes() == model.to_bytes(), "the model is not that of this order"
    for name, value in seen:
        assert value in possible[name], f"a reader saw {name} = {value}"


def run(name):
    setting = Setting(name)
    pairs.DENSE_LIMIT = 400  # regions from the middle on
    model = setting.declared() if setting.counts_tasks else setting.model(tasks=NAMES)
    model.learn(make_events(setting.target, "single", "named", seed=9, rounds=30).stream())
    act(model, actions(setting, 9)[0])
    expected = {key: look() for key, look in looks(model, model.views)}
    act(weft.Model.from_bytes(model.to_bytes()), actions(setting, 9)[-1])  # all is compiled: from here on it is quick
    faulthandler.dump_traceback_later(SECONDS, exit=True)
    sys.setswitchinterval(1e-6)
    reading(model, expected, 60)
    writing(setting, model)


def main():
    failed = []
    for name in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            try:
                np.seterr(all="ignore")
                run(name)
            except BaseException:
                traceback.print_exc()
                os._exit(1)
            os._exit(0)
        code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        if code:
            failed.append(f"{name}: exit code {code}")
    sys.exit("\n".join(failed) or 0)


if __name__ == "__main__":
    main()
