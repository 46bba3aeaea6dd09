"""A flipped bit at every byte of the folder of a small service: the same model, or a refusal.

Files of a service that was stopped: configuration, log, checkpoints. The folder is then recovered; a model that differs
from the one before is a failure. For a service that was killed, whose write-ahead log is still there, a damaged last
commit looks like a write that was cut short: then the model before it is right too, if it is reported.

`PYTHONPATH=tests python -m attacks.serve_flips` flips a bit of every byte, in a quarter of an hour where temporary
files are in memory; `--step 4 --start 0` to `--start 3` are its four parts. `make test` takes some bytes.
"""

import argparse
import random
import shutil
import tempfile
from collections import Counter
from pathlib import Path

import weft
from serve import engines
from weft.serve.folder import Folder
from weft.serve.recovery import recover
from weft.serve.requests import ToFeedBack, ToRemember

FILES = ("config.json", "log.sqlite", "log.sqlite-wal", "checkpoint")
JOBS = 4


def make(folder, killed):
    """A small folder; the bytes of its model after every job."""
    service = engines.opened(folder, every=6)
    states = [service.model.to_bytes()]
    for i in range(0, 3 * JOBS, 3):
        engines.ask(service, *map(engines.to_learn, range(i, i + 3)))
        states.append(service.model.to_bytes())
    engines.ask(service, ToRemember("p", "t0", {"a": 1.0}))
    states.append(service.model.to_bytes())
    engines.ask(service, ToFeedBack("p", 1.0))
    states.append(service.model.to_bytes())
    if killed:  # a copy while the log is open: what a killed process leaves
        engines.settle(service)
        copy = folder.with_name(folder.name + "-copy")
        shutil.copytree(folder, copy)
        engines.close(service)
        shutil.rmtree(folder)
        copy.rename(folder)
        assert (folder / "log.sqlite-wal").stat().st_size > 0
    else:
        engines.close(service)
    return states


def outcome(folder, states):
    """What comes of a folder: "same", "refused" or "reported"; AssertionError if it is anything else."""
    found = Folder(folder)
    try:
        config = found.config()
        recovered = recover(found, config)
    except ValueError:
        return "refused"
    state, notes = recovered.model.to_bytes(), recovered.notes
    recovered.log.close()
    if state == states[-1]:
        return "same"
    assert any("cut short" in note for note in notes), "another model came out, and nothing was said"
    assert state in states, "a model came out that there never was"
    return "reported"


def attack(killed, step, seed=0, start=None):
    """Flip a bit of every `step`-th byte, from `start` (or any) on; how often each outcome came."""
    chance, counts, failures = random.Random(seed), Counter(), []
    with tempfile.TemporaryDirectory() as place:
        original, damaged = Path(place) / "s", Path(place) / "d"
        states = make(original, killed)
        for path in sorted(original.iterdir()):
            if not path.name.startswith(FILES):
                continue
            data = path.read_bytes()
            for at in range(chance.randrange(step) if start is None else start, len(data), step):
                shutil.rmtree(damaged, ignore_errors=True)
                shutil.copytree(original, damaged)
                flipped = bytearray(data)
                flipped[at] ^= 1 << chance.randrange(8)
                (damaged / path.name).write_bytes(flipped)
                try:
                    result = outcome(damaged, states)
                    counts[result] += 1
                except Exception as error:
                    failures.append(f"{path.name}, byte {at}: {type(error).__name__}: {error}")
    assert not failures, f"{len(failures)} of {sum(counts.values())}: {failures[:5]}"
    return counts


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--step", type=int, default=1, help="every so many bytes")
    parser.add_argument("--start", type=int, default=0, help="the first byte of each file")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--kinds", nargs="+", choices=["stopped", "killed"], default=["stopped", "killed"])
    asked = parser.parse_args()
    weft.Model(engines.LEARNER).learn_one({"a": 1.0}, 1, "t")
    for kind in asked.kinds:
        counts = attack(kind == "killed", asked.step, asked.seed, asked.start)
        print(f"{sum(counts.values())} flips in the folder of a {kind} service: {dict(counts)}", flush=True)


if __name__ == "__main__":
    main()
