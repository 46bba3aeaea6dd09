"""Comparison: the same stream in the same random orders, several learners. Does sharing help on these data?

Every learner runs prequentially (it predicts, then sees the label), so each figure is one of honest
predictions. All learners see the same orders, so their differences are paired (`Comparison.versus`).
"""

import contextlib
import math
import numbers
import os
import sys
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor, as_completed
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.evaluation.clock import Clock
from weft.evaluation.prequential import Entry, Run, Setting, prepare, read_entries, reason, run
from weft.evaluation.results import Comparison, LeftOut
from weft.learner import Target
from weft.learners.catalogue import LEARNERS, loss_for
from weft.stream import Stream


def compare(
    stream: Stream,
    learners: Any,
    shuffles: int = 10,
    seed: int = 0,
    progress: bool = True,
    workers: int | None = None,
    auc: bool = False,
    time_limit: float | None = None,
    leave_out: bool = False,
    scaled: bool = False,
) -> Comparison:
    """Run every learner over the same random orders of a stream's rounds.

    learners    names of the catalogue, (name, parameters) pairs, learners already built, or a mapping from
                labels to any of these; parameters may hold `tasks`, as `weft.Model` takes it, and `scope`: the same
                learner on all tasks "together", on every task "alone", or with all tasks "pooled" as one
    shuffles    number of orders, `stream.shuffled(seed + i)`; 0 is the stream's own order, once
    progress    a bar on stderr, if that is a terminal
    workers     threads (compiled learners run side by side); None: one per core. Only `seconds` depends on it
    auc         also the area under the ROC curve of each run's pooled scores
    time_limit  seconds of processor time that a learner may take for all orders together; one that takes more is
                stopped between two pieces of the stream and listed in `left_out`, without figures. Compiling does
                not count: every learner learns one round first
    leave_out   a learner that refuses these data, or is of another kind than their labels, is listed in `left_out`
                with its reason, and the others go on; otherwise it is an error
    scaled      rows of length 1 with an intercept, for all learners but auto and adaptive, which scale by themselves

    Learners minimise losses of their own kinds (hinge, logistic ...): their `loss` figures do not compare
    with each other, `error` does.

    >>> import numpy as np, weft
    >>> rng = np.random.default_rng(0)
    >>> task = rng.integers(0, 8, 1600)
    >>> U = rng.normal(size=10) + 0.3 * rng.normal(size=(8, 10))
    >>> X = rng.normal(size=(1600, 10))
    >>> y = np.sign(np.sum(U[task] * X, axis=1))
    >>> learners = ["perceptron", ("perceptron", {"pooled": True}), "pa"]
    >>> found = compare(weft.Stream(X, y, task), learners, shuffles=4)
    >>> for row in found.rows():
    ...     print(f"{row['learner']:24} {row['error']:.3f} +- {row['error_se']:.3f}, wins {row['wins']}")
    perceptron               0.158 +- 0.003, wins 0
    perceptron pooled=True   0.123 +- 0.005, wins 6
    pa                       0.131 +- 0.004, wins 2
    >>> found.best, [round(row["difference"], 3) for row in found.versus("perceptron")]
    ('perceptron pooled=True', [-0.035, -0.027])
    """
    if not isinstance(stream, Stream):
        raise ValueError(f"compare takes a weft.Stream, not {type(stream).__name__}; write weft.Stream(X, y, task)")
    _check(shuffles=(shuffles, 0), seed=(seed, 0), workers=(1 if workers is None else workers, 1))
    limit = _seconds(time_limit)
    entries, orders = read_entries(learners), range(max(shuffles, 1))
    with _bar(progress, len(entries) * (1 + len(orders))) as advance:
        setting, refused = prepare(stream.plain(), entries, auc, leave_out, advance, scaled)
        field = _Field(setting, [entry for entry in entries if entry.label not in refused], limit, leave_out)
        field.run_all([seed + order if shuffles else None for order in orders], workers, advance)
    return _collect(field, entries, refused, shuffles, seed)


def whole_catalogue(target: Target = "binary") -> list[tuple[str, dict[str, Any]]]:
    """Every learner of the catalogue as `compare` takes it, with a loss for labels of that kind where it has one.

    >>> whole_catalogue()[:2], whole_catalogue("real")[1]
    ([('perceptron', {}), ('pa', {})], ('pa', {'loss': 'epsilon-insensitive'}))
    """
    return [(name, loss_for(name, target)) for name in LEARNERS]


# --- runs ---


class _Field:
    """The learners that run, each with a clock of its own for all its orders."""

    def __init__(self, setting: Setting, entries: list[Entry], limit: float | None, leave_out: bool) -> None:
        self.setting = setting
        self.entries = entries
        self.limit = limit
        self.leave_out = leave_out
        self.clocks = [Clock(limit) for _ in entries]
        self.runs: dict[tuple[int, int], Run] = {}
        self.refusals: dict[int, str] = {}

    def run_all(self, seeds: list[int | None], workers: int | None, advance: Callable[[], None]) -> None:
        """Every learner over every order, side by side; the first error ends them all."""
        with ThreadPoolExecutor(workers or os.cpu_count() or 1) as pool:
            futures = [
                pool.submit(self.run, which, order, seed)
                for order, seed in enumerate(seeds)
                for which in range(len(self.entries))
            ]
            try:
                for future in as_completed(futures):
                    future.result()
                    advance()
            except BaseException:
                self.stop()
                pool.shutdown(wait=False, cancel_futures=True)
                raise

    def run(self, which: int, order: int, seed: int | None) -> None:
        """One learner over one order, unless it was stopped already."""
        entry, clock = self.entries[which], self.clocks[which]
        try:
            found = run(self.setting, entry, seed, clock) if clock.may_go_on else None
        except (ValueError, MemoryError) as error:
            clock.stop()
            if not self.leave_out:
                raise
            self.refusals.setdefault(which, reason(entry, error))
            return
        if found is not None:
            self.runs[which, order] = found

    def stop(self) -> None:
        """End all runs at their next piece."""
        for clock in self.clocks:
            clock.stop()

    def left_out(self, of: int) -> dict[str, LeftOut]:
        """Who did not come to the end, and why."""
        found = {}
        for which, (entry, clock) in enumerate(zip(self.entries, self.clocks, strict=True)):
            if which in self.refusals:
                found[entry.label] = LeftOut(entry.label, self.refusals[which], clock.events, of)
            elif clock.is_stopped:
                words = f"stopped after {clock.events:,} of {of:,} events by the time limit of {clock.limit:g} s"
                found[entry.label] = LeftOut(entry.label, words, clock.events, of)
        return found


def _collect(field: _Field, entries: list[Entry], refused: dict[str, LeftOut], shuffles: int, seed: int) -> Comparison:
    """The figures of those that came to the end, and who did not."""
    setting, orders = field.setting, range(max(shuffles, 1))
    of = len(setting.stream) * len(orders)
    left_out = {label: absent._replace(of=of) for label, absent in refused.items()} | field.left_out(of)
    remain = [which for which, entry in enumerate(field.entries) if entry.label not in left_out]
    absent = [left_out[entry.label] for entry in entries if entry.label in left_out]
    if not remain:
        raise ValueError(f"no learner is left to compare; {absent[0].learner}: {absent[0].reason}")
    table = [[field.runs[which, order] for order in orders] for which in remain]
    metrics = {
        metric: np.array([[found.metrics[metric] for found in row] for row in table]) for metric in table[0][0].metrics
    }
    sums = np.array([np.sum([found.task_sums for found in row], axis=0) for row in table])  # counts: ties are exact
    whole = np.where(setting.events > 0, setting.events * float(len(table[0])), np.nan)
    curves = np.array([np.mean([found.curve for found in row], axis=0) for row in table])
    tasks = list(setting.stream.task_names)
    labels = [field.entries[which].label for which in remain]
    return Comparison(
        labels,
        setting.target,
        shuffles,
        seed,
        tasks,
        setting.events,
        metrics,
        sums / whole,
        setting.curve_events,
        curves,
        field.limit,
        absent,
        _partners([field.entries[which] for which in remain]),
        {label: found for label, row in zip(labels, table, strict=True) if (found := _reliability(row)) is not None},
        {label: row[0].relations for label, row in zip(labels, table, strict=True) if row[0].relations is not None},
    )


def _reliability(runs: list[Run]) -> Floats | None:
    """Summed over the orders, which all have the same learner."""
    known = [found.reliability for found in runs if found.reliability is not None]
    return np.sum(known, axis=0) if known else None


def _partners(entries: list[Entry]) -> dict[str, dict[str, str]]:
    """The same learner, with equal parameters, in another scope."""
    return {
        entry.label: others
        for entry in entries
        if entry.scope == "together"
        and (others := {str(o.scope): o.label for o in entries if o.learner == entry.learner and o.scope != "together"})
    }


# --- options ---


def _check(**given: tuple[Any, int]) -> None:
    """Integers with a least value."""
    for what, (value, least) in given.items():
        if isinstance(value, bool) or not isinstance(value, int | np.integer) or value < least:
            raise ValueError(f"{what}={value!r} must be an integer of at least {least}")


def _seconds(limit: Any) -> float | None:
    if limit is None:
        return None
    if isinstance(limit, bool) or not isinstance(limit, numbers.Real) or not 0.0 < float(limit) < math.inf:
        raise ValueError(f"time_limit={limit!r} must be a number of seconds above 0, or None for no limit")
    return float(limit)


@contextlib.contextmanager
def _bar(wanted: bool, total: int) -> Iterator[Callable[[], None]]:
    """A progress bar on stderr, if there is someone to see it."""
    if not wanted or not sys.stderr.isatty():
        yield lambda: None
        return
    from rich.console import Console
    from rich.progress import Progress

    with Progress(console=Console(stderr=True), transient=True) as progress:
        bar = progress.add_task("comparing", total=total)
        yield lambda: progress.advance(bar)
