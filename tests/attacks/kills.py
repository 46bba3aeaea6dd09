"""`weft learn --every 1` is killed and signalled at random points, and started again until it has learned the file.

Whatever was killed where, the model is that of one run. `PYTHONPATH=tests python -m attacks.kills --count 300` runs
many; `make test` runs a few. Runs are forked from this process, which has imported and compiled everything.
"""

import argparse
import json
import os
import random
import re
import signal
import tempfile
import time
import traceback
from pathlib import Path

import weft
from weft.cli.main import main as weft_main

SIGNALS = (signal.SIGKILL,) * 5 + (signal.SIGTERM, signal.SIGINT, signal.SIGHUP)
CODES = {0, -signal.SIGKILL} | {128 + number for number in SIGNALS[5:]}
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # flushing takes no time there
EARLY = {-number for number in SIGNALS[5:]}  # before a handler is there, a signal ends the process as usual


def event(i, with_rounds):
    line = {"task": f"t{i % 5}", "x": {"a": i % 3 - 1.0, f"f{i % 7}": 0.5}, "y": 1 - 2 * (i * 7 % 5 > 2)}
    return json.dumps(line | ({"round": i // 4} if with_rounds else {})) + "\n"


def fork(arguments):
    """`weft ...` as a process of its own."""
    child = os.fork()
    if child:
        return child
    code = 99
    try:
        for descriptor in (0, 1, 2):
            os.dup2(os.open(os.devnull, os.O_RDWR), descriptor)
        signal.signal(signal.SIGINT, signal.default_int_handler)
        weft_main(arguments)
    except SystemExit as left:
        code = left.code or 0
    except BaseException:
        Path(arguments[1]).with_name("traceback").write_text(traceback.format_exc())
    finally:
        os._exit(code)


def finish(child):
    """Its exit code, negative if a signal ended it."""
    return os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])


class Trial:
    """One model in a folder of its own, learned in runs that are killed."""

    def __init__(self, folder, chance, events, with_rounds, is_link):
        self.folder, self.chance = folder, chance
        self.lines = [event(i, with_rounds) for i in range(events)]
        self.real = folder / "real" / "m.weft"
        self.real.parent.mkdir()
        self.given = folder / "m.weft" if is_link else self.real
        if is_link:
            self.given.symlink_to("real/m.weft")
        self.source = folder / "e.jsonl"

    def arguments(self, model):
        every = str(self.chance.choice([1, 2, 3]))
        return ["learn", str(self.source), "--model", str(model), "--learner", "mt-ogd", "--every", every, "--quiet"]

    def run(self, most):
        """Learn the growing file with up to `most` kills; how many there were."""
        self.source.write_text("".join(self.lines))
        began = time.perf_counter()
        assert finish(fork(self.arguments(self.folder / "whole.weft"))) == 0
        seconds = time.perf_counter() - began
        kills = 0
        self.source.write_text("".join(self.lines[: self.chance.randrange(1, len(self.lines))]))
        while kills < most:
            kills += self.killed(seconds)
            if self.chance.random() < 0.2:  # the file grows, perhaps inside a round
                held = len(self.source.read_text().splitlines())
                more = min(len(self.lines), held + self.chance.randrange(1, 9))
                self.source.write_text("".join(self.lines[:more]))
        self.source.write_text("".join(self.lines))
        assert finish(fork(self.arguments(self.given))) == 0
        self.check()
        return kills

    def killed(self, seconds):
        """One run that is killed at a random point; 0 if it was faster."""
        child = fork(self.arguments(self.given))
        time.sleep(self.chance.uniform(0.0, seconds))
        number = self.chance.choice(SIGNALS)
        os.kill(child, number)  # it is not waited for yet, so the number is still its own
        code = finish(child)
        trace = self.folder / "traceback"
        assert code in CODES | EARLY, trace.read_text() if trace.exists() else code
        if self.real.exists():
            weft.load(self.real)
        return code != 0

    def check(self):
        assert self.real.read_bytes() == (self.folder / "whole.weft").read_bytes()
        names = {path.name for path in self.real.parent.iterdir()}
        left = {name for name in names if re.fullmatch(r"\..*\.weft-[0-9a-f]{16}\.tmp", name)}
        kept = {name for name in names if re.fullmatch(r"m\.weft\.before-[0-9a-f]{16}", name)}
        assert names - left - kept == {"m.weft", "m.weft.progress"}, names
        with self.source.open("a") as file:  # one more save sweeps what killed processes left
            file.write(self.lines[-1].replace(f'"round": {(len(self.lines) - 1) // 4}', '"round": 123456'))
        assert finish(fork(self.arguments(self.given))) == 0
        names = {path.name for path in self.real.parent.iterdir()}
        last = json.loads((self.real.parent / "m.weft.progress").read_text())["states"][-1].get("open_round")
        wanted = {"m.weft", "m.weft.progress"} | ({f"m.weft.before-{last['name']}"} if last else set())
        assert names == wanted, (names, wanted)


def attack(count, seed, events=40):
    """At least so many kills and signals; their number."""
    chance, kills = random.Random(seed), 0
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        trial = 0
        while kills < count:
            place = Path(folder) / str(trial)
            place.mkdir()
            with_rounds, is_link = bool(trial % 2), bool(trial // 2 % 2)
            kills += Trial(place, chance, events, with_rounds, is_link).run(min(count - kills, chance.randrange(5, 15)))
            trial += 1
    return kills


def warm():
    """Import and compile in this process what the forked ones need."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "e.jsonl"
        path.write_text("".join(event(i, True) for i in range(9)))
        assert finish(fork(["learn", str(path), "--model", f"{folder}/m.weft", "--learner", "mt-ogd", "--quiet"])) == 0
        weft.load(f"{folder}/m.weft").learn_one({"a": 1.0}, 1, "t0")
        from weft.cli import learn, learning  # noqa: F401
        from weft.streams import read_chunks

        model = weft.Model("mt-ogd")
        for chunk in read_chunks(path):
            model.learn(chunk.stream)
        model.to_bytes()


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=300)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    warm()
    began = time.perf_counter()
    kills = attack(asked.count, asked.seed)
    print(f"{kills} kills and signals in {time.perf_counter() - began:.0f} s; every model was that of one run")


if __name__ == "__main__":
    main()
