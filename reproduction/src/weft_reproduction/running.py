"""Run cells on several cores: each in a process of its own kind, each kept as soon as it is finished.

Workers are started afresh (not forked), ignore Ctrl-C, which is the parent's to handle, and write a finished cell to
disk themselves. A worker that dies takes one cell with it; the others go on.
"""

import multiprocessing
import os
import signal
import time
import traceback
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from multiprocessing.connection import Connection, wait
from pathlib import Path
from typing import Any

from weft.compiled.blas import one_thread
from weft_reproduction.cells import Cell, Done, load, store
from weft_reproduction.experiment import Report, Results, Settings


@dataclass(frozen=True)
class Failure:
    """A cell that has no figures, and why."""

    cell: Cell
    reason: str


@dataclass
class Outcome:
    """What there is after a run: finished cells by their keys, how many of them were run now, and what failed."""

    done: dict[str, Done] = field(default_factory=dict)
    ran: int = 0
    failures: list[Failure] = field(default_factory=list)
    interrupted: bool = False

    def results(self, cells: Iterable[Cell]) -> Results:
        """Settings and figures of the finished ones among these cells, in their order."""
        return [(cell.settings, self.done[cell.key].figures) for cell in cells if cell.key in self.done]


def run(
    cells: Sequence[Cell],
    folder: Path,
    processes: int,
    finished: Callable[[Cell, Done | None, bool], None] = lambda cell, done, kept: None,
) -> Outcome:
    """Finish all cells; `finished` hears of each, whether it has figures, and whether they were kept from before."""
    outcome = Outcome()
    waiting = []
    for cell in cells:
        kept = load(folder, cell)
        if kept is None:
            waiting.append(cell)
        else:
            outcome.done[cell.key] = kept
            finished(cell, kept, True)
    try:
        runs = _alone(waiting, folder) if processes == 1 else _together(waiting, folder, processes)
        for cell, result in runs:
            if isinstance(result, Failure):
                outcome.failures.append(result)
                finished(cell, None, False)
            else:
                outcome.done[cell.key] = result
                outcome.ran += 1
                finished(cell, result, False)
    except KeyboardInterrupt:
        outcome.interrupted = True
    turn = {cell.key: at for at, cell in enumerate(cells)}
    outcome.failures.sort(key=lambda failure: turn[failure.cell.key])
    return outcome


def work(cell: Cell, folder: Path) -> Done | Failure:
    """Run one cell and keep what it finds."""
    began = time.perf_counter()
    try:
        with one_thread():
            figures = cell.experiment.run(cell.settings)
        seconds = time.perf_counter() - began
        if not isinstance(figures, dict):
            raise TypeError(f"run gave {type(figures).__name__}; figures are a dict of plain JSON values")
        store(folder, cell, figures, seconds)
    except Exception as error:
        return Failure(cell, _words(error))
    kept = load(folder, cell)  # as every later run will see it
    return kept if kept is not None else Failure(cell, f"its figures could not be read back from {folder}")


def _words(error: Exception) -> str:
    """What went wrong, and where."""
    frames = traceback.extract_tb(error.__traceback__)
    place = f" ({Path(frames[-1].filename).name}, line {frames[-1].lineno})" if frames else ""
    return f"{type(error).__name__}: {error}{place}"


def _alone(cells: Iterable[Cell], folder: Path) -> Iterator[tuple[Cell, Done | Failure]]:
    for cell in cells:
        yield cell, work(cell, folder)


# --- several processes ---


@dataclass
class _Worker:
    process: Any
    pipe: Connection
    cell: Cell | None = None


def _together(cells: list[Cell], folder: Path, processes: int) -> Iterator[tuple[Cell, Done | Failure]]:
    context = multiprocessing.get_context("spawn")
    queue = list(reversed(cells))
    workers = [_start(context, folder) for _ in range(min(processes, len(queue)))]
    try:
        for at in range(len(workers)):
            _give(workers, at, queue, context, folder)
        while busy := [at for at, worker in enumerate(workers) if worker.cell]:
            ready = wait([workers[at].pipe for at in busy])
            for at in busy:
                worker = workers[at]
                if worker.pipe in ready:
                    cell, result = _hear(worker)
                    worker.cell = None
                    _give(workers, at, queue, context, folder)
                    yield cell, result
    finally:
        for worker in workers:
            _stop(worker)


def _start(context: Any, folder: Path) -> _Worker:
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, str(folder), os.getpid()), daemon=True)
    with _ignoring_interrupts():  # from its first instruction on the worker ignores Ctrl-C
        process.start()
    theirs.close()
    return _Worker(process, ours)


def _give(workers: list[_Worker], at: int, queue: list[Cell], context: Any, folder: Path) -> None:
    """Hand the next cell to a worker; one that has died is replaced first."""
    if not queue:
        return
    cell = queue.pop()
    told = replace(cell, experiment=replace(cell.experiment, cells=_no_cells, report=_no_report))
    try:
        workers[at].pipe.send(told)
    except OSError:
        _stop(workers[at])
        workers[at] = _start(context, folder)
        workers[at].pipe.send(told)
    workers[at].cell = cell


def _no_cells(quick: bool) -> list[Settings]:
    """A worker is told its cell."""
    return []


def _no_report(results: Results) -> Report:
    """A worker reports nothing but figures."""
    return Report()


def _hear(worker: _Worker) -> tuple[Cell, Done | Failure]:
    """The result of a worker's cell; a worker that hangs up instead is dead, or as good as that."""
    cell = worker.cell
    assert cell is not None
    try:
        result: Done | Failure = worker.pipe.recv()
    except (EOFError, OSError):
        worker.process.join(5)
        code = worker.process.exitcode
        _stop(worker)
        return cell, Failure(cell, f"its process ended without a result (exit code {code}; -9 is often want of memory)")
    return cell, Failure(cell, result.reason) if isinstance(result, Failure) else result


def _stop(worker: _Worker) -> None:
    worker.pipe.close()
    worker.process.terminate()
    worker.process.join(5)
    if worker.process.is_alive():
        worker.process.kill()
        worker.process.join()


def _serve(pipe: Connection, folder: str, parent: int) -> None:
    """What a worker does until its parent hangs up."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
    while os.getppid() == parent:
        try:
            cell = pipe.recv()
        except (EOFError, OSError):
            return
        result = work(cell, Path(folder))
        try:
            pipe.send(result)
        except (OSError, ValueError):
            return


@contextmanager
def _ignoring_interrupts() -> Iterator[None]:
    """A process that is started here inherits it; only the main thread may say so."""
    try:
        before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    except ValueError:
        yield
        return
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, before)
