"""A warm parent that forks a child per job, which runs lists of tests in plain mode on a copy of the project.

The parent has imported what takes long and does not change (NumPy, SciPy, pytest, Hypothesis, CVXPY), but nothing of
weft. The child puts the copy first on its path, so that it is the copy's text, with the mutant, that runs.
"""

import contextlib
import json
import os
import resource
import select
import shlex
import shutil
import signal
import sys
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

FOLDERS = ("src", "tests", "reproduction")
MEMORY = 6 << 30
"""Memory of a child: a mutant that allocates without end is ended instead of filling the machine. It is watched from
outside and is not a limit on address space, of which large arrays reserve far more than they use."""
PATIENCE = 30.0
"""A child's limit is in seconds of the processor. By the clock it has so many times as long: others use the machine."""


@dataclass(frozen=True)
class Job:
    """Lists of tests to run one after the other, with one file of the copy changed."""

    number: int
    stages: tuple[str, ...]
    seconds: float
    file: str = ""
    text: str = ""
    deselected: tuple[str, ...] = ()


@dataclass(frozen=True)
class Outcome:
    """What became of a job: `passed`, `failed` (by a test), `timeout`, or `crash`."""

    job: Job
    outcome: str
    by: str
    seconds: float
    stage_seconds: tuple[float, ...]


def warm_up(examples: int) -> None:
    """Import what every child needs; Hypothesis draws few examples, always the same, and does not shrink them."""
    for name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"):
        os.environ[name] = "1"
    os.environ["WEFT_PLAIN"] = "1"
    os.environ.pop("WEFT_DATA", None)  # real data sets take minutes in plain mode
    import cvxpy  # noqa: F401
    import hypothesis
    import hypothesis.extra.numpy
    import msgspec  # noqa: F401
    import pytest  # noqa: F401
    import scipy.linalg
    import scipy.optimize
    import scipy.sparse.linalg
    import scipy.stats  # noqa: F401

    before = hypothesis.settings.__init__
    fixed: dict[str, Any] = {
        "derandomize": True,
        "database": None,
        "deadline": None,
        "phases": (hypothesis.Phase.explicit, hypothesis.Phase.generate),
        "suppress_health_check": tuple(hypothesis.HealthCheck),
        "report_multiple_bugs": False,
    }

    def few(self: Any, parent: Any = None, **more: Any) -> None:
        before(
            self, parent, **{**more, **fixed, "max_examples": min(int(more.get("max_examples", examples)), examples)}
        )

    hypothesis.settings.__init__ = few  # type: ignore[method-assign]
    hypothesis.settings.register_profile("mutants", hypothesis.settings())
    hypothesis.settings.load_profile("mutants")
    assert "weft" not in sys.modules, "the parent must not have imported weft"


class _Recorder:
    """A plugin: the first test that failed; contracts restricted to some settings."""

    def __init__(self) -> None:
        self.failed = ""

    def pytest_addoption(self, parser: Any) -> None:
        parser.addoption("--settings", default="", help="learners or folders of learners, with commas")

    def pytest_collection_modifyitems(self, config: Any, items: list[Any]) -> None:
        wanted = [name for name in config.getoption("--settings").split(",") if name]
        if wanted:
            items[:] = [item for item in items if _has_setting(item, wanted)]

    def pytest_runtest_logreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or report.nodeid

    def pytest_collectreport(self, report: Any) -> None:
        if report.failed:
            self.failed = self.failed or f"{report.nodeid} (collection)"


def _has_setting(item: Any, wanted: list[str]) -> bool:
    """Contracts without a setting are of no family."""
    setting = getattr(item, "callspec", None) and item.callspec.params.get("setting")
    if setting is None:
        return False
    module = type(setting.learner).__module__
    return any(setting.name == name or str(setting) == name or f".{name}." in f"{module}." for name in wanted)


def _child(copy: Path, job: Job, report: int) -> None:
    """Runs in the child; ends the process."""
    os.setpgid(0, 0)
    limit = int(job.seconds) + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit + 5))
    null = os.open(os.devnull, os.O_RDWR)
    for stream in (0, 1, 2):
        os.dup2(null, stream)
    os.chdir(copy)
    sys.dont_write_bytecode = True
    here = str(Path(__file__).parents[1])
    sys.path[:] = [str(copy / "src"), str(copy / "tests"), *(path for path in sys.path if path not in ("", here))]
    os.environ["PYTHONPATH"] = os.pathsep.join(sys.path[:2])
    os.environ["WEFT_CACHE"] = str(copy / "cache")
    import pytest

    common = ["-x", "-q", "--tb=no", "--assert=plain", "-p", "no:xdist", "-p", "no:cacheprovider", "-p", "no:randomly"]
    common += ["-o", "addopts=", "--import-mode=importlib", f"--basetemp={copy / 'temporary'}"]
    common += [f"--deselect={test}" for test in job.deselected]
    for stage in job.stages:
        recorder, begin = _Recorder(), time.process_time()
        code = int(pytest.main([*common, *shlex.split(stage)], plugins=[recorder]))
        line = {"stage": stage, "code": code, "by": recorder.failed, "seconds": time.process_time() - begin}
        os.write(report, (json.dumps(line) + "\n").encode())
        if code:
            break
    os._exit(0)


@dataclass
class _Running:
    job: Job
    pid: int
    pipe: int
    begin: float
    received: bytes = b""


class Workers:
    """Runs jobs, at most as many at a time as there are copies of the project."""

    def __init__(self, root: Path, scratch: Path, count: int) -> None:
        self.original = _copy(root, scratch / "original")  # the project itself may be edited during a run
        self.free = [_copy(self.original, scratch / f"copy-{n}") for n in range(count)]
        self.running: dict[Path, _Running] = {}

    def run(self, jobs: Iterable[Job]) -> Iterator[Outcome]:
        """Outcomes in the order in which they come."""
        waiting = iter(jobs)
        try:
            while True:
                while self.free and (job := next(waiting, None)) is not None:
                    self._start(self.free.pop(0), job)
                if not self.running:
                    return
                yield from self._finished()
        finally:
            for copy in list(self.running):
                self._stop(copy)

    def _start(self, copy: Path, job: Job) -> None:
        if job.file:
            (copy / job.file).write_text(job.text)
        receive, send = os.pipe()
        sys.stdout.flush()
        pid = os.fork()
        if pid == 0:
            try:
                os.close(receive)
                _child(copy, job, send)
            finally:
                os._exit(70)
        os.close(send)
        self.running[copy] = _Running(job, pid, receive, time.monotonic())

    def _finished(self) -> Iterator[Outcome]:
        """Wait a little; the pipe of a child ends with it."""
        ready, _, _ = select.select([child.pipe for child in self.running.values()], [], [], 0.2)
        for copy, child in list(self.running.items()):
            late = time.monotonic() - child.begin > PATIENCE * child.job.seconds
            full = _resident(child.pid) > MEMORY
            ended = late or full
            if child.pipe in ready:
                received = os.read(child.pipe, 1 << 16)
                child.received += received
                ended = ended or not received
            if ended:
                seconds = time.monotonic() - child.begin
                status = self._stop(copy)
                yield _outcome(child, None if full else status, late, seconds)

    def _stop(self, copy: Path) -> int:
        """End a child's group and give the copy its own text again."""
        child = self.running.pop(copy)
        os.close(child.pipe)
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child.pid, signal.SIGKILL)
        _, status = os.waitpid(child.pid, 0)
        if child.job.file:
            shutil.copy2(self.original / child.job.file, copy / child.job.file)
        self.free.append(copy)
        return status


def _resident(pid: int) -> int:
    """Bytes of memory that a process has in use; 0 if the system does not say."""
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * os.sysconf("SC_PAGE_SIZE")
    except (OSError, IndexError, ValueError):
        return 0


def _outcome(child: _Running, status: int | None, late: bool, seconds: float) -> Outcome:
    """`status` is how the child ended; None: it had more than MEMORY."""
    lines = [json.loads(line) for line in child.received.decode().splitlines()]
    times = tuple(float(line["seconds"]) for line in lines)
    if lines and lines[-1]["code"]:
        last = lines[-1]
        return Outcome(child.job, "failed", last["by"] or f"{last['stage']} (exit code {last['code']})", seconds, times)
    if len(lines) == len(child.job.stages):
        return Outcome(child.job, "passed", "", seconds, times)
    stage = child.job.stages[len(lines)]
    if status is None:
        return Outcome(child.job, "crash", f"{stage} (memory)", seconds, times)
    out_of_time = late or (os.WIFSIGNALED(status) and os.WTERMSIG(status) in (signal.SIGXCPU, signal.SIGKILL))
    return Outcome(child.job, "timeout" if out_of_time else "crash", stage, seconds, times)


def _copy(root: Path, to: Path) -> Path:
    """The project's text with its bytecode, so that a child compiles the changed file only."""
    import compileall

    for folder in FOLDERS:
        if (root / folder).exists():
            shutil.copytree(root / folder, to / folder, ignore=shutil.ignore_patterns("__pycache__", "*.egg-info"))
    shutil.copy2(root / "pyproject.toml", to / "pyproject.toml")
    compileall.compile_dir(to, quiet=2)
    return to
