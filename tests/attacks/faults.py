"""Every call of the system that writers make fails in turn, before or after it has done its work.

`PYTHONPATH=tests python -m attacks.faults` runs all of it; `make test` runs one kind of fault per call.
"""

import argparse
import errno
import json
import os
import sys
import tempfile
from contextlib import ExitStack, contextmanager
from pathlib import Path
from unittest import mock

from click.testing import CliRunner

import weft
from weft.cli import model_lock
from weft.cli.main import cli
from weft.reductions import Multiclass
from weft.store import files, locks

CALLS = {"open", "close", "fsync", "replace", "unlink", "fstat", "stat", "fchmod", "fchown", "dup", "listdir", "access"}
CALLS |= {"ftruncate", "pwrite", "pread", "fdopen"}
MEMORY = "/dev/shm" if os.path.isdir("/dev/shm") else None  # flushing takes no time there
ERRORS = tuple(
    getattr(errno, name) for name in ("ENOSPC", "EIO", "EACCES", "EROFS", "EDQUOT", "ENAMETOOLONG", "EMFILE", "ESTALE")
)


class Plan:
    """Counts calls and makes one of them fail."""

    def __init__(self, at=None, code=errno.EIO, after=False):
        self.at, self.code, self.after = at, code, after
        self.count = 0
        self.failed = None

    def call(self, name, function, *arguments, **settings):
        self.count += 1
        if self.count != self.at:
            return function(*arguments, **settings)
        self.failed = name
        if self.after and name not in ("open", "fdopen", "dup"):  # what is opened and not handed on could not be closed
            function(*arguments, **settings)
        raise OSError(self.code, os.strerror(self.code))


class FaultyFile:
    """An open file whose writes can fail."""

    def __init__(self, file, plan):
        self._file, self._plan = file, plan

    def write(self, data):
        return self._plan.call("write", self._file.write, data)

    def flush(self):
        return self._plan.call("flush", self._file.flush)

    def close(self):
        return self._plan.call("close", self._file.close)

    def fileno(self):
        return self._file.fileno()

    def __del__(self):
        self._file.close()


class FaultyModule:
    """A module some of whose functions can fail."""

    def __init__(self, module, names, plan):
        self._module, self._names, self._plan = module, names, plan

    def __getattr__(self, name):
        found = getattr(self._module, name)
        if name not in self._names:
            return found
        if name == "fdopen":
            return lambda *a, **k: FaultyFile(self._plan.call(name, found, *a, **k), self._plan)
        return lambda *a, **k: self._plan.call(name, found, *a, **k)


@contextmanager
def faults(plan):
    """The system as the writers of weft see it, with one call that fails."""
    with ExitStack() as stack:
        for module in (files, model_lock):
            stack.enter_context(mock.patch.object(module, "os", FaultyModule(os, CALLS, plan)))
        if sys.platform != "win32":
            stack.enter_context(mock.patch.object(locks, "fcntl", FaultyModule(locks.fcntl, {"flock"}, plan)))
        files._swept.clear()
        yield


def invoke(*arguments):
    """`weft ...`: the exit code and what it said."""
    result = CliRunner().invoke(cli, [str(a) for a in arguments], prog_name="weft")
    assert result.exception is None or isinstance(result.exception, SystemExit), repr(result.exception)
    return result.exit_code, result.stderr


def event(i):
    x = {"a": i % 3 - 1.0, f"f{i % 5}": 0.5}
    return json.dumps({"task": f"t{i % 4}", "x": x, "y": 1 - 2 * (i * 7 % 5 > 2), "round": i // 3}) + "\n"


class Writer:
    """Something that writes files: `write` does it, `check` says whether the old or the new ones are there."""

    name: str

    def __init__(self, folder):
        self.folder = folder
        self.model = weft.Model("mt-ogd")
        for i in range(20):
            line = json.loads(event(i))
            self.model.learn_one(line["x"], line["y"], line["task"])
        self.prepare()

    def prepare(self):
        """Before every fault: the old files."""

    def refused(self, told):
        """An error is one sentence with the name of a file and a remedy."""
        assert told.startswith("weft: cannot "), told
        assert told.count("\n") == 1, told
        assert "; " in told, told
        assert str(self.folder) in told or self.target in told, told


class Replaced(Writer):
    """A single file that is replaced."""

    target = "out"

    def prepare(self):
        (self.folder / self.target).write_bytes(b"old")

    def check(self, plan, code, told):
        found = (self.folder / self.target).read_bytes()
        assert found in (b"old", self.expected()), found
        if code:
            self.refused(told)
        else:
            assert found == self.expected()
        left = {path.name for path in self.folder.iterdir()} - self.others - {self.target}
        assert not left or plan.failed == "unlink", left
        for name in left:
            (self.folder / name).unlink()


class Save(Replaced):
    """Model.save."""

    name, others = "Model.save", frozenset()

    def expected(self):
        return self.model.to_bytes()

    def write(self):
        try:
            self.model.save(self.folder / self.target)
        except OSError as error:
            return 2, f"weft: {error.strerror}\n"
        return 0, ""


class Reduction(Save):
    """A reduction's save."""

    name = "Multiclass.save"

    def __init__(self, folder):
        super().__init__(folder)
        self.multiclass = Multiclass(labels=["a", "b", "c"])
        self.multiclass.learn([[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]], ["a", "b", "c"])
        self.multiclass.save(folder / "first")
        self.bytes = (folder / "first").read_bytes()
        (folder / "first").unlink()

    def expected(self):
        return self.bytes

    def write(self):
        self.model = self.multiclass
        return super().write()


class Predict(Replaced):
    """weft predict --out."""

    name, target, others = "weft predict --out", "out.csv", frozenset(("m.weft", "e.jsonl"))

    def __init__(self, folder):
        super().__init__(folder)
        self.model.save(folder / "m.weft")
        (folder / "e.jsonl").write_text("".join(map(event, range(30))))
        self.bytes = CliRunner().invoke(cli, self.arguments()[:-2]).stdout_bytes

    def arguments(self):
        place = [str(self.folder / name) for name in ("e.jsonl", "m.weft", self.target)]
        return ["predict", place[0], "--model", place[1], "--out", place[2]]

    def expected(self):
        return self.bytes

    def write(self):
        return invoke(*self.arguments())


class Plot(Predict):
    """weft inspect --plot."""

    name, target = "weft inspect --plot", "out.svg"

    def __init__(self, folder):
        super().__init__(folder)
        (folder / self.target).unlink()
        assert invoke(*self.arguments())[0] == 0
        self.bytes = (folder / self.target).read_bytes()

    def arguments(self):
        return ["inspect", str(self.folder / "m.weft"), "--plot", str(self.folder / self.target)]


class Learn(Writer):
    """weft learn --every: after any fault the same command gives the model of the whole file."""

    name, target = "weft learn --every", "m.weft"

    def __init__(self, folder):
        (folder / "e.jsonl").write_text("".join(map(event, range(30))))
        assert invoke(*self.arguments(folder, "whole.weft"))[0] == 0
        self.whole = (folder / "whole.weft").read_bytes()
        super().__init__(folder)

    def arguments(self, folder, model):
        place = [str(folder / name) for name in ("e.jsonl", model)]
        return ["learn", place[0], "--model", place[1], "--learner", "mt-ogd", "--every", "12", "--quiet"]

    def prepare(self):
        for path in self.folder.iterdir():
            if path.name not in ("e.jsonl", "whole.weft", "whole.weft.progress"):
                path.unlink()

    def write(self):
        return invoke(*self.arguments(self.folder, self.target))

    def check(self, plan, code, told):
        path = self.folder / self.target
        if path.exists():
            weft.load(path)
        if code:
            self.refused(told)
        else:
            assert path.read_bytes() == self.whole
        files._swept.clear()
        code, told = invoke(*self.arguments(self.folder, self.target))
        assert code == 0, told
        assert path.read_bytes() == self.whole


WRITERS = (Save, Reduction, Predict, Plot, Learn)


def attack(writer, errors):
    """Let every call fail with every error, before and after its work; the number of faults."""
    with tempfile.TemporaryDirectory(dir=MEMORY) as folder:
        made = writer(Path(folder))
        made.prepare()
        plan = Plan()
        with faults(plan):
            assert made.write()[0] == 0
        done = 0
        for at in range(1, plan.count + 1):
            for after in (False, True):
                for code in errors:
                    made.prepare()
                    one = Plan(at, code, after)
                    with faults(one):
                        left, told = made.write()
                    made.check(one, left, told)
                    done += 1
    assert done >= plan.count
    return done


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--errors", type=int, default=len(ERRORS), help="how many kinds of errors")
    count = parser.parse_args().errors
    total = 0
    for writer in WRITERS:
        done = attack(writer, ERRORS[:count])
        total += done
        print(f"{writer.name}: {done} faults, the old or the new files were there each time")
    print(f"{total} faults")


if __name__ == "__main__":
    main()
