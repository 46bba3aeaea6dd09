"""Every call of the system that changes the folder of a service fails, or is the last one of the process, in turn.

A shim that is loaded by LD_PRELOAD (shim.c, compiled on the spot) counts writes, flushes, truncations, renames and
removals below one folder, over the service and the processes that write its checkpoints. A small run is repeated with a
fault at each of them: EIO, ENOSPC, kill -9 before it, after it, and in the middle of a write. Afterwards the folder is
recovered without faults: every acknowledged request must be there exactly once, the model must be that of the log, and
a service that met an error must have ended with exit code 70.

`PYTHONPATH=tests python -m attacks.serve_faults` runs all of it; `make test` runs a part.
"""

import argparse
import ctypes
import errno
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import time
from pathlib import Path

SOURCE = Path(__file__).with_name("shim.c")
COUNT, FAIL, BEFORE, AFTER, HALF = range(5)
FORGETS = bool(os.environ.get("WEFT_FORGETS"))
FORGOTTEN = "t3"
MODES = {
    "EIO": (FAIL, errno.EIO),
    "ENOSPC": (FAIL, errno.ENOSPC),
    "kill before": (BEFORE, 0),
    "kill after": (AFTER, 0),
    "kill in the middle of a write": (HALF, 0),
}
EVENTS = 18
BROKEN = 70
MAY_FAIL = ("", "unlink", "fdatasync of a folder")
"""Calls after whose failure a service may go on: the removal of old files, and SQLite's flush of the folder, which weft
has flushed by itself before (by fsync, whose failure is noticed)."""


def why_not():
    """Why the shim cannot be used here; "" if it can."""
    if sys.platform != "linux":
        return "LD_PRELOAD and /proc are those of Linux"
    return "" if shutil.which("cc") else "there is no C compiler (cc)"


def build(folder):
    """Compile the shim; its path."""
    path = Path(folder) / "shim.so"
    subprocess.run(["cc", "-shared", "-fPIC", "-O1", "-o", path, SOURCE, "-ldl"], check=True)
    return path


# --- in the process that has the shim ---


class Shim:
    """The shim that this process was started with."""

    def __init__(self, path):
        self._library = ctypes.CDLL(str(path))
        self._library.weft_count.restype = ctypes.c_long
        self._library.weft_failed.restype = self._library.weft_where.restype = ctypes.c_char_p
        self._library.weft_arm.argtypes = [ctypes.c_char_p, ctypes.c_long, ctypes.c_int, ctypes.c_int]

    def arm(self, folder, at, mode, code):
        self._library.weft_arm(str(folder).encode(), at, mode, code)

    def failed(self):
        return self._library.weft_failed().decode()

    def where(self):
        return self._library.weft_where().decode()

    def count(self):
        return self._library.weft_count()


def run_once(folder, shim, at, mode, code, pipe):
    """The small run, in a child: every acknowledgement goes to the pipe. Does not return."""
    left = BROKEN
    try:
        from serve import engines
        from weft.serve.requests import Done, ToFeedBack, ToForget, ToRemember

        def fail(error):
            os._exit(BROKEN)

        def acknowledge(names, outcomes):
            for name, outcome in zip(names, outcomes, strict=True):
                assert isinstance(outcome, Done), outcome
                os.write(pipe, f"{name} {outcome.seq}\n".encode())

        shim.arm(folder, at, mode, code)
        service = engines.opened(folder, every=4, fail=fail)
        for i in range(0, EVENTS, 3):
            names = range(i, i + 3)
            acknowledge([f"e{j}" for j in names], engines.ask(service, *map(engines.to_learn, names)))
        if FORGETS:
            acknowledge(["gone"], engines.ask(service, ToForget(FORGOTTEN)))
            while service.writer._checkpointing.is_busy:
                time.sleep(0.001)
        else:
            acknowledge(["p"], engines.ask(service, ToRemember("p", "t0", {"a": 1.0})))
            acknowledge(["f"], engines.ask(service, ToFeedBack("p", 1.0)))
        engines.close(service)
        os.write(pipe, f"calls {shim.count()}\n".encode())
        left = 0
    except OSError:
        left = BROKEN
    except BaseException as error:
        from weft.serve.log import Broken

        left = BROKEN if isinstance(error, Broken) else 99
        os.write(2, f"{type(error).__name__}: {error}\n".encode())
    finally:
        os._exit(left)


def attempt(folder, shim, at, mode, code):
    """One run in a child: its exit code, what it acknowledged, and how many calls it made."""
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        run_once(folder, shim, at, mode, code, writing)
    os.close(writing)
    with os.fdopen(reading) as file:
        lines = [line.split() for line in file.read().splitlines()]
    status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
    found = {name: int(number) for name, number in lines}
    return status, found, found.pop("calls", None)


def check(folder, acknowledged):
    """The folder as it was left: all that was acknowledged is there, once, and the same model comes out twice."""
    from serve import engines, histories
    from weft.serve.requests import ToFeedBack

    history = histories.History()
    for i in range(EVENTS):
        history.send(f"e{i}", engines.event(i))
    history.send("p", ("t0", {"a": 1.0}, 1.0))
    for name, seq in acknowledged.items():
        if name != "p":
            history.acknowledge("p" if name == "f" else name, seq)
    service = engines.opened(folder)
    state = service.model.to_bytes()
    if "p" in acknowledged:
        [outcome] = engines.ask(service, ToFeedBack("p", 1.0))
        assert outcome.duplicate or "f" not in acknowledged, outcome
        state = service.model.to_bytes()
    engines.close(service)
    assert histories.check(folder, history, engines.LEARNER) == state
    service = engines.opened(folder)
    assert service.model.to_bytes() == state
    engines.close(service)


def check_forgotten(folder, acknowledged):
    """A folder that was to forget a task: a model that there was, nothing acknowledged lost, and gone is gone."""
    import weft
    from serve import engines

    model = weft.Model(engines.LEARNER)
    states = [model.to_bytes()]
    for i in range(EVENTS):
        task, x, y = engines.event(i)
        model.learn_one(x, y, task)
        if i % 3 == 2:
            states.append(model.to_bytes())
    model.forget(FORGOTTEN)
    states.append(model.to_bytes())
    service = engines.opened(folder)
    state = service.model.to_bytes()
    at = states.index(state)
    assert at >= len([name for name in acknowledged if name.startswith("e")]) // 3, "acknowledged events are lost"
    while service.writer._checkpointing.is_busy:
        time.sleep(0.001)
    has_forgotten = at == len(states) - 1
    assert has_forgotten or "gone" not in acknowledged, "what was to be forgotten is there again"
    named = [path.name for path in folder.iterdir() if FORGOTTEN.encode() in path.read_bytes()]
    assert not (has_forgotten and named), f"{named} still name the task"
    engines.close(service)
    service = engines.opened(folder)
    assert service.model.to_bytes() == state
    engines.close(service)


def attack(shim, place, names, step):
    """Faults of these kinds at every `step`-th call; how many there were."""
    import weft
    from serve import engines
    from weft.serve.run import warm

    warm(weft.Model(engines.LEARNER))
    shim.arm(place, 0, COUNT, 0)  # the counter is shared with all children from here on
    status, acknowledged, calls = attempt(place / "whole", shim, 0, COUNT, 0)
    assert status == 0, status
    expected, verify = (EVENTS + 1, check_forgotten) if FORGETS else (EVENTS + 2, check)
    assert len(acknowledged) == expected
    verify(place / "whole", acknowledged)
    done = 0
    for name in names:
        mode, code = MODES[name]
        for at in range(1, calls + 1, step):
            folder = place / f"{name.replace(' ', '-')}-{at}"
            status, acknowledged, _ = attempt(folder, shim, at, mode, code)
            allowed = (BROKEN, 0) if mode == FAIL else (BROKEN, -signal.SIGKILL, 0)
            assert status in allowed, (name, at, status)
            if status == 0:  # that call was not made this time, or it removes what is not needed any more
                assert shim.failed() in MAY_FAIL, (name, at, shim.failed(), shim.where())
                assert len(acknowledged) == expected, (name, at)
            verify(folder, acknowledged)
            shutil.rmtree(folder)
            done += 1
    return calls, done


def inside(library, names, step):
    place = Path(tempfile.mkdtemp(prefix="weft-faults-"))
    try:
        calls, done = attack(Shim(library), place, names, step)
    finally:
        shutil.rmtree(place, ignore_errors=True)
    print(f"{done} faults at {calls} calls: every acknowledged request was there once, every model that of its log")


def outside(names, step, timeout=3000):
    """Run `inside` in a process that has the shim; what it printed."""
    with tempfile.TemporaryDirectory() as folder:
        library = build(folder)
        tests = str(Path(__file__).parents[1])
        environment = {**os.environ, "LD_PRELOAD": str(library), "PYTHONPATH": tests, "WEFT_SHIM": str(library)}
        words = [sys.executable, "-m", "attacks.serve_faults", "--step", str(step), "--kinds", *names]
        return subprocess.run(
            words, env=environment, capture_output=True, text=True, timeout=timeout, check=False, cwd=tests
        )


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=1, help="every so many calls")
    parser.add_argument("--forget", action="store_true", help="the run forgets a task, which is taken out of the log")
    parser.add_argument("--kinds", nargs="+", default=list(MODES), choices=list(MODES))
    asked = parser.parse_args()
    if asked.forget:
        os.environ["WEFT_FORGETS"] = "1"
    if os.environ.get("WEFT_SHIM"):
        inside(os.environ["WEFT_SHIM"], asked.kinds, asked.step)
        return
    if why_not():
        sys.exit(f"skipped: {why_not()}")
    result = outside(asked.kinds, asked.step)
    print(result.stdout + result.stderr, end="")
    sys.exit(result.returncode)


if __name__ == "__main__":
    main()
