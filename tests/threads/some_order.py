"""Records, classes and forgetting in many threads, in a process of their own: `python some_order.py CASE ...`.

As `many_threads`, for what is not a matter of one learner: threads bring the same new names at once, records lack
values, classes are new, and tasks are forgotten meanwhile. Every call that changes the model is noted inside of the
guard and replayed on a twin: results and bytes must be the same, and what readers saw must be what one of the models in
between says.
"""

import copy
import faulthandler
import hashlib
import os
import pickle
import random
import sys
import threading
import traceback

import weft
from threads.many_threads import Log, together

SECONDS = 100
CALLS = 24
SCHEMA = weft.Schema(task="user", label="y", category=["city"])


def noted(model, turns):
    """Note whose turn it is when an event is counted or a task is forgotten."""
    count = model.tally.count

    def counted(*arguments):
        turns.append(threading.get_ident())
        count(*arguments)

    model.tally.count = counted
    if isinstance(model, weft.Model):
        model.tally.buffer, forget = Log(turns), model.tally.forget

        def forgotten(*arguments):
            turns.append(threading.get_ident())
            return forget(*arguments)

        model.tally.forget = forgotten


def digest(model):
    return hashlib.sha256(model.to_bytes()).hexdigest()


def in_some_order(make, scripts, looks):
    """Run every script, a list of calls, in a thread of its own, beside two readers; then replay."""
    model, twin, turns, seen, results, whose = make(), make(), [], [], {}, {}
    assert digest(model) == digest(twin)
    left = [len(scripts)]
    noted(model, turns)

    def write(script):
        mine = whose[threading.get_ident()] = []
        try:
            for call in script:
                before = turns.count(threading.get_ident())
                result = call(model)
                if turns.count(threading.get_ident()) > before:  # not refused
                    mine.append((call, result))
        finally:
            results[threading.get_ident()] = mine
            left[0] -= 1

    def read(first):
        n = first
        while left[0] > 0 and n < 4000:
            name, look = looks[n % len(looks)]
            seen.append((name, look(model)))
            n += 1

    jobs = [lambda s=s: write(s) for s in scripts] + [lambda n=n: read(n) for n in range(2)]
    sys.setswitchinterval(1e-6)
    together(model, jobs)
    sys.setswitchinterval(5e-3)
    possible, place = {name: {look(twin)} for name, look in looks}, dict.fromkeys(whose, 0)
    assert len(turns) == sum(map(len, results.values())), "a call was lost, or counted twice"
    for thread in turns:
        call, result = whose[thread][place[thread]]
        place[thread] += 1
        assert call(twin) == result, "a result is not that of this order"
        for name, look in looks:
            possible[name].add(look(twin))
    assert digest(twin) == digest(model), "the model is not that of this order"
    for name, value in seen:
        assert value in possible[name], f"a reader saw {name} = {value}"


def forget(task):
    def call(model):
        try:
            return model.forget(task)
        except ValueError:  # nobody has learned it again
            return None

    return call


# --- the cases ---


def names(learner="pa", **parameters):
    """All writers bring the same new names, in the same order; tasks are forgotten and come again."""

    def make():
        model = weft.Model(learner, **parameters)
        model.learn(weft.Stream([{"a": 1.0}, {"a": -1.0}], [1, -1], ["ann", "bob"]))
        return model

    def learn(n):
        return lambda model: model.learn_one({"a": 1.0, f"f{n}": 0.5}, 1 if n % 3 else -1, f"t{n % 7}")

    def stream(n):
        rows = [{"a": 0.5, f"f{n}": 1.0}, {f"g{n}": 1.0}]
        return lambda model: model.learn(weft.Stream(rows, [1, -1], [f"t{n % 7}", "ann"])).tolist()

    script = [stream(n) if n % 6 == 5 else learn(n) for n in range(CALLS)]
    looks = [
        ("one", lambda model: model.predict_one({"a": 1.0, "f3": 1.0}, "t3")),
        ("bulk", lambda model: tuple(model.score([{"a": 1.0, "f3": 1.0}, {"f9": 1.0}], ["t3", "nobody"]))),
        ("bytes", digest),
        ("copy", lambda model: digest(copy.deepcopy(model))),
        ("pickle", lambda model: digest(pickle.loads(pickle.dumps(model)))),
        ("tasks", lambda model: tuple(model.tasks)),
        ("rows", lambda model: str(model.tally.rows())),
        ("task", lambda model: str(model.tally["bob"])),
    ]
    forgetting = [forget(f"t{n}") for n in (3, 1, 4, 1, 5, 2, 6)]
    in_some_order(make, [script, script, script, forgetting], looks)


def records(effort):
    """Records that lack values, with fields that are new: which values are missing depends on the order."""

    def make():
        model = weft.Model("auto", schema=SCHEMA, effort=effort)
        model.learn([{"user": "ann", "y": 1, "a": 1.0, "city": "x"}, {"user": "bob", "y": -1, "a": -1.0, "city": "y"}])
        return model

    def learn(writer, n):
        record = {"user": f"t{n % 3}", "y": 1 if n % 2 else -1, "a": n / 7, "city": "xyz"[n % 3]}
        if n % 4 == writer:
            record[f"b{writer}{n}"] = 1.0
        return lambda model: model.learn_one(record)

    probe = {"user": "t1", "a": 0.3, "city": "x"}
    looks = [
        ("one", lambda model: model.predict_one(probe)),
        ("bulk", lambda model: tuple(model.score([probe, {"user": "eve", "city": "y"}]))),
        ("bytes", digest),
    ]
    scripts = [[learn(writer, n) for n in range(CALLS)] for writer in range(3)]
    in_some_order(make, [*scripts, [forget("t2"), forget("t0")]], looks)


def classes(learner):
    """Every writer brings new classes and new tasks."""

    def learn(writer, n):
        label = "abcdefgh"[(n + 2 * writer) % (2 + n // 4)]
        return lambda model: model.learn_one({"x": n / 5, label: 1.0}, label, f"t{n % 4}")

    def known(model):
        return tuple(model.classes)

    probe = {"x": 0.3, "a": 1.0}
    looks = [
        ("classes", known),
        ("proba", lambda model: tuple(model.predict_proba([probe], "t1")[0])),
        ("one", lambda model: model.predict_one(probe, "t2")),
        ("bytes", digest),
        ("copy", lambda model: digest(copy.deepcopy(model))),
        ("rows", lambda model: str(model.tally.rows())),
    ]
    scripts = [[learn(writer, n) for n in range(CALLS)] for writer in range(3)]
    in_some_order(lambda: weft.Multiclass(learner, classes=["a", "b"]), scripts, looks)


CASES = {
    "names-pa": names,
    "names-auto-balanced": lambda: names("auto", effort="balanced"),
    "names-auto-best": lambda: names("auto", effort="best"),
    "records-fast": lambda: records("fast"),
    "records-balanced": lambda: records("balanced"),
    "records-best": lambda: records("best"),
    "classes-pa": lambda: classes("pa"),
    "classes-auto": lambda: classes("auto"),
}


def main():
    failed = []
    for name in sys.argv[1:]:
        child = os.fork()
        if child == 0:
            try:
                faulthandler.dump_traceback_later(SECONDS, exit=True)
                random.seed(name)
                CASES[name]()
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
