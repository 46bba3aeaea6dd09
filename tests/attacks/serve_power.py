"""Power cuts: the file system under a service is shut down while it learns, and what is in memory is lost.

An ext4 file system in a file, over a loop device, is shut down by FS_IOC_SHUTDOWN without flushing its journal; then it
is mounted again, as after a power cut. Whatever was acknowledged must be there. The control has synchronous=NORMAL,
which does not flush at a commit, and must lose acknowledged events, else the cut was none.

Needs root and loop devices. `PYTHONPATH=tests python -m attacks.serve_power --count 20`.
"""

import argparse
import fcntl
import math
import os
import random
import signal
import struct
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from weft.store.digests import FileError

SHUTDOWN = 0x8004587D
NO_FLUSH = 2


def why_not():
    """Why this cannot be done here; "" if it can."""
    if sys.platform != "linux" or os.geteuid() != 0:
        return "needs root on Linux"
    if not Path("/dev/loop-control").exists():
        return "there are no loop devices"
    with tempfile.TemporaryDirectory() as place:
        try:
            disk = Disk(Path(place))
            disk.mount()
            disk.unmount()
        except (OSError, subprocess.CalledProcessError) as error:
            return f"a file system cannot be mounted here: {error}"
    return ""


class Disk:
    """A file system in a file."""

    def __init__(self, place):
        self.image, self.point = place / "disk.img", place / "mounted"
        self.point.mkdir()
        with open(self.image, "wb") as file:
            file.truncate(64 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-F", str(self.image)], check=True, capture_output=True)

    def mount(self):
        subprocess.run(["mount", "-o", "loop", str(self.image), str(self.point)], check=True, capture_output=True)

    def unmount(self):
        subprocess.run(["umount", str(self.point)], check=True, capture_output=True)

    def cut(self):
        descriptor = os.open(self.point, os.O_RDONLY)
        fcntl.ioctl(descriptor, SHUTDOWN, struct.pack("I", NO_FLUSH))
        os.close(descriptor)


def learn_for_ever(folder, synchronous, pipe):
    """In a child: learn event after event, and tell the pipe what was acknowledged."""
    try:
        from serve import engines
        from weft.serve import recovery
        from weft.serve.log import Log

        recovery.Log = lambda path, **settings: Log(path, synchronous=synchronous, **settings)
        service = engines.opened(folder, every=50, fail=lambda error: os._exit(70))
        start = service.seq
        for i in range(start, start + 1_000_000):
            [outcome] = engines.ask(service, engines.to_learn(i))
            os.write(pipe, f"{outcome.seq} {time.monotonic()}\n".encode())
    finally:
        os._exit(70)


def cut_once(disk, synchronous, seconds):
    """Learn, cut the power, mount again: events acknowledged before the cut, during it, and those in the log."""
    from weft.serve.folder import Folder
    from weft.serve.recovery import recover

    folder = disk.point / "s"
    reading, writing = os.pipe()
    child = os.fork()
    if not child:
        os.close(reading)
        learn_for_ever(folder, synchronous, writing)
    os.close(writing)
    told = os.read(reading, 1 << 16)  # the clock starts with the first acknowledgement
    time.sleep(seconds)
    cut_at = time.monotonic()
    disk.cut()  # what is acknowledged from here on could not have left a machine without power
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    while piece := os.read(reading, 1 << 20):
        told += piece
    os.close(reading)
    time.sleep(0.05)
    disk.unmount()
    disk.mount()
    acknowledged, during = _last(told, cut_at), _last(told, math.inf)
    found = Folder(folder)
    if not found.is_there:
        return acknowledged, during, 0
    try:
        recovered = recover(found, found.config())
    except FileError:
        return acknowledged, during, 0
    seq = recovered.seq
    model = engines_model(seq)
    assert recovered.model.to_bytes() == model, "the recovered model is not that of the log"
    recovered.log.close()
    return acknowledged, during, seq


def _last(told, before):
    """The last entry that was acknowledged before a time, by lines of which the last may be cut off."""
    lines = [line.split() for line in told.decode().rpartition("\n")[0].splitlines()]
    return max((int(seq) for seq, at in lines if float(at) < before), default=0)


def engines_model(count):
    """The model that the first so many events give."""
    import weft
    from serve import engines

    model = weft.Model(engines.LEARNER)
    for i in range(count):
        task, x, y = engines.event(i)
        model.learn_one(x, y, task)
    return model.to_bytes()


def attack(count, seed, synchronous="FULL"):
    """So many cuts; how many acknowledged events were lost, how many there were, and how many acknowledged during
    the shutdown itself, which takes a while where a power cut does not, were lost.
    """
    chance, lost, total, unsure = random.Random(seed), 0, 0, 0
    for _ in range(count):
        with tempfile.TemporaryDirectory() as place:
            disk = Disk(Path(place))
            disk.mount()
            try:
                for _ in range(2):  # the second one meets a log that was recovered
                    acknowledged, during, seq = cut_once(disk, synchronous, chance.uniform(0.0, 0.3))
                    lost += max(0, acknowledged - seq)
                    total += acknowledged
                    unsure += max(0, during - max(seq, acknowledged))
                    if acknowledged > seq:
                        break
            finally:
                disk.unmount()
    return lost, total, unsure


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--seed", type=int, default=0)
    asked = parser.parse_args()
    if why_not():
        sys.exit(f"skipped: {why_not()}")
    engines_model(1)
    lost, total, unsure = attack(asked.count, asked.seed)
    print(
        f"{2 * asked.count} power cuts: {lost} of {total} acknowledged events were lost, {unsure} during the shutdown"
    )
    control, total, _ = attack(max(2, asked.count // 4), asked.seed, "NORMAL")
    print(f"the control with synchronous=NORMAL: {control} of {total} were lost")
    sys.exit(0 if lost == 0 and control else 1)


if __name__ == "__main__":
    main()
