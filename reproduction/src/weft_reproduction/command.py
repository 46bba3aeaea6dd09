"""`weft reproduce`: the published tables and figures, run again."""

import os
import shlex
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import example, json_option, program
from weft.cli.tables import console, count, new_table, plural, print_json

if TYPE_CHECKING:
    from weft_reproduction.cells import Cell, Done
    from weft_reproduction.experiment import Experiment
    from weft_reproduction.page import Section
    from weft_reproduction.running import Failure, Outcome

QUICK = "This was a quick run: few shuffles of small streams. It shows that everything works, and judges nothing."
_MOST_FAILURES = 10
_LONGEST_VALUE = 40


@click.command("reproduce", epilog=example(
    "weft reproduce",
    "weft reproduce mirror-variance --quick --report out.html",
))  # fmt: skip
@click.argument("names", metavar="[NAME ...|all]", nargs=-1)
@click.option(
    "--quick",
    is_flag=True,
    help="Few shuffles of small streams: seconds, figures that mean little, and nothing is judged.",
)
@click.option("--report", "page", metavar="FILE", help="Write everything to one page of HTML.")
@click.option(
    "--processes",
    type=click.IntRange(min=1),
    metavar="N",
    help="How many cells run at a time.  [default: the number of cores]",
)
@click.option(
    "--cache",
    "folder",
    metavar="DIR",
    help="Where finished cells are kept.  [default: results in the user's cache]",
)
@click.option(
    "--data",
    metavar="PATH",
    help="A file of events, or a folder of them: default-2 runs on these, in their order, beside river's forest if it "
    "is installed.",
)
@click.option("--no-run", is_flag=True, help="Run nothing: report what is kept.")
@json_option
def command(
    names: tuple[str, ...],
    quick: bool,
    page: str | None,
    processes: int | None,
    folder: str | None,
    data: str | None,
    no_run: bool,
    as_json: bool,
) -> None:
    """Run the experiments of the papers again, and judge what the papers claim.

    Without a NAME, lists the experiments. The beginning of names stands for all of them: default-2 for
    default-2-table and its like. Each consists of cells: a learner, a data set, a shuffle. A finished cell is kept
    on disk until the code that it runs, its data or its settings change; Ctrl-C loses only the cells at work, and
    the same command goes on. A cell that fails is reported, and the others go on; the exit code is then 1.
    """
    from weft_reproduction import cells, shelf

    place = Path(folder) if folder else cells.default_folder()
    if not names:
        _list(place, quick, as_json)
        return
    if page is not None and not Path(page).absolute().parent.is_dir():
        raise ValueError(f"cannot write {page}: the folder {Path(page).parent} does not exist")
    wanted = list(dict.fromkeys(one for name in names for one in shelf.named(name)))
    experiments = _taking(data, [shelf.experiment(name) for name in wanted])
    plan = {experiment.name: cells.cells_of(experiment, quick) for experiment in experiments}
    outcome = _run(experiments, plan, place, 0 if no_run else processes or os.cpu_count() or 1, as_json)
    if outcome.interrupted:
        again = shlex.join(["reproduce", *names, *(["--quick"] if quick else []), *_told(page, folder, data)])
        kept = plural(len(outcome.done), "finished cell")
        click.echo(f"weft: stopped; {kept} of {count(_all(plan))} kept in {place}. Go on with", err=True)
        click.echo(f"  {program()} {again}", err=True)
        raise click.exceptions.Exit(130)
    sections = _sections(experiments, plan, outcome, quick)
    if as_json:
        print_json([_as_json(section, outcome, plan) for section in sections])
    else:
        for section in sections:
            _show(section)
        if quick:
            console().print(QUICK, style="bold")
    if page is not None:
        from weft.store.files import write_atomic
        from weft_reproduction.page import render

        write_atomic(page, render(sections).encode())
        click.echo(f"weft: wrote {page}", err=True)
    if outcome.failures:
        _list_failures(outcome.failures)
        raise click.exceptions.Exit(1)


def _taking(data: str | None, experiments: list["Experiment"]) -> list["Experiment"]:
    """The experiments that run on files which were given, or all if none were."""
    from weft_reproduction.default_2.given import PLACE

    if data is None:
        os.environ.pop(PLACE, None)
        return experiments
    found = [experiment for experiment in experiments if experiment.takes_files]
    if not found:
        raise ValueError(f"{experiments[0].name} runs on data of its own; leave --data out, or name default-2")
    os.environ[PLACE] = data
    return found


def _told(page: str | None, folder: str | None, data: str | None) -> list[str]:
    given = {"--report": page, "--cache": folder, "--data": data}
    return [word for name, value in given.items() if value for word in (name, value)]


def _all(plan: dict[str, list["Cell"]]) -> int:
    return sum(len(cells) for cells in plan.values())


# --- the list ---


def _list(folder: Path, quick: bool, as_json: bool) -> None:
    from weft_reproduction import cells, shelf

    rows: list[dict[str, Any]] = []
    for name in shelf.names():
        experiment = shelf.experiment(name)
        plan = cells.cells_of(experiment, quick)
        kept = sum(cells.load(folder, cell) is not None for cell in plan)
        rows.append(
            {"name": name, "title": experiment.title, "paper": experiment.paper, "data": list(experiment.data)}
            | {"cells": len(plan), "kept": kept}
        )
    if as_json:
        print_json(rows)
        return
    table = new_table("name", "paper", "data", "cells", "kept", title="Experiments" + (" (quick)" if quick else ""))
    for at in (1, 2):
        table.columns[at].justify, table.columns[at].no_wrap = "left", False
    for row in rows:
        table.add_row(row["name"], row["paper"], ", ".join(row["data"]) or "made up", count(row["cells"]),
                      count(row["kept"]))  # fmt: skip
    screen = console()
    screen.print(table)
    screen.print(f"Finished cells are kept in {folder}.", soft_wrap=True)
    screen.print(f"Run one: {program()} reproduce {rows[0]['name']}", soft_wrap=True)
    screen.print(f"Run all: {program()} reproduce all --report out.html", soft_wrap=True)


# --- running ---


def _run(
    experiments: list["Experiment"], plan: dict[str, list["Cell"]], folder: Path, processes: int, as_json: bool
) -> "Outcome":
    """All cells of all experiments; none is run if there are 0 processes."""
    from weft_reproduction import cells, running

    everything = [cell for experiment in experiments for cell in plan[experiment.name]]
    if processes == 0:
        found = {cell.key: cells.load(folder, cell) for cell in everything}
        return running.Outcome({key: done for key, done in found.items() if done is not None})
    able, failures = _with_data(everything)
    with _Progress(plan, processes, show=not as_json) as progress:
        outcome = running.run(able, folder, min(processes, max(1, len(able))), progress.finished)
    outcome.failures[:0] = failures
    return outcome


def _with_data(everything: list["Cell"]) -> tuple[list["Cell"], list["Failure"]]:
    """The cells whose data are here; one failure for every experiment and set that is not."""
    from weft.streams.known import find, missing
    from weft_reproduction.running import Failure

    able, failures = [], {}
    for cell in everything:
        own = cell.settings.get("data")  # a cell may name the one set that it reads
        needed = (own,) if own in cell.experiment.data else cell.experiment.data
        absent = [name for name in needed if find(name) is None]
        if absent:
            failures[cell.experiment.name, absent[0]] = Failure(cell, missing(absent[0]))
        else:
            able.append(cell)
    return able, list(failures.values())


class _Progress:
    """Cells and time left on standard error; without a terminal a line when an experiment is finished."""

    def __init__(self, plan: dict[str, list["Cell"]], processes: int, show: bool) -> None:
        self._left = {name: len(cells) for name, cells in plan.items()}
        self._all, self._processes, self._show = _all(plan), processes, show
        self._seconds: dict[str, list[float]] = {name: [] for name in plan}
        self._began = time.perf_counter()
        self._progress: Any = None
        if show and sys.stderr.isatty():
            from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn

            self._progress = Progress(
                TextColumn("{task.description}"),
                BarColumn(),
                MofNCompleteColumn(),
                TextColumn("{task.fields[left]}"),
                console=console(err=True),
                transient=True,
            )
            self._task = self._progress.add_task("reproducing", total=self._all, left="")

    def __enter__(self) -> "_Progress":
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def finished(self, cell: "Cell", done: "Done | None", kept: bool) -> None:
        """After every cell."""
        name = cell.experiment.name
        self._left[name] -= 1
        if done is not None:
            self._seconds[name].append(done.seconds)
        if self._progress is not None:
            words = f"about {_span(self.seconds_left())} left"
            self._progress.update(self._task, advance=1, description=name, left=words)
        if self._left[name] == 0 and self._show:
            spent = time.perf_counter() - self._began
            (self._progress.console.print if self._progress else _remark)(f"weft: {name} finished after {_span(spent)}")

    def seconds_left(self) -> float:
        """Cells to come, each as long as those of its experiment so far, or as those of all."""
        everyone = [seconds for known in self._seconds.values() for seconds in known]
        usual = sum(everyone) / max(1, len(everyone))
        total = 0.0
        for name, left in self._left.items():
            known = self._seconds[name]
            total += left * (sum(known) / len(known) if known else usual)
        return total / self._processes


def _remark(text: str) -> None:
    click.echo(text, err=True)


def _span(seconds: float) -> str:
    """
    >>> _span(3.2), _span(75), _span(4000)
    ('3 s', '1:15 min', '1:06 h')
    """
    whole = round(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60}:{whole % 60:02d} min"
    return f"{whole // 3600}:{whole % 3600 // 60:02d} h"


# --- what was found ---


def _sections(
    experiments: list["Experiment"], plan: dict[str, list["Cell"]], outcome: "Outcome", quick: bool
) -> list["Section"]:
    from weft_reproduction.judgement import unjudged
    from weft_reproduction.page import Section

    found = []
    for experiment in experiments:
        results = outcome.results(plan[experiment.name])
        report = experiment.report(results)
        report = unjudged(report) if quick else report
        found.append(Section(experiment, report, len(results), len(plan[experiment.name]), quick))
    return found


def _show(section: "Section") -> None:
    from weft_reproduction.writing import cell

    screen, name = console(), section.experiment.name
    quick = " (quick: nothing is judged)" if section.quick else ""
    screen.print(f"{name}: {section.experiment.title}{quick}", style="bold")
    screen.print(f"{section.experiment.paper}; {section.finished:,} of {section.cells:,} cells", soft_wrap=True)
    for found in section.report.tables:
        table = new_table(*found.columns, title=found.title)
        for column in table.columns[1:]:
            column.no_wrap = False  # a wide table is folded, not cut
        for row in found.rows:
            table.add_row(*(cell(value) for value in row))
        screen.print(table)
        if found.note:
            screen.print(found.note)
    for claim in section.report.claims:
        screen.print(f"{claim.judgement}: {claim.text} ({claim.where})", style="bold")
        screen.print(f"  {claim.why}")
    screen.print()


def _as_json(section: "Section", outcome: "Outcome", plan: dict[str, list["Cell"]]) -> dict[str, Any]:
    from dataclasses import asdict

    mine = {cell.key for cell in plan[section.experiment.name]}
    return {
        "name": section.experiment.name,
        "cells": section.cells,
        "finished": section.finished,
        "seconds": sum(outcome.done[key].seconds for key in mine if key in outcome.done),
        "failures": [
            {"settings": failure.cell.settings, "reason": failure.reason}
            for failure in outcome.failures
            if failure.cell.key in mine
        ],
        "tables": [asdict(table) for table in section.report.tables],
        "claims": [asdict(claim) for claim in section.report.claims],
    }


def _brief(value: object) -> str:
    words = str(value)
    return words if len(words) <= _LONGEST_VALUE else f"{words[:_LONGEST_VALUE]}…"


def _list_failures(failures: list["Failure"]) -> None:
    click.echo(f"weft: {plural(len(failures), 'failure')}; the other cells are finished and kept:", err=True)
    for failure in failures[:_MOST_FAILURES]:
        settings = ", ".join(f"{name}={_brief(value)}" for name, value in failure.cell.settings.items())
        click.echo(f"  {failure.cell.experiment.name} ({settings}): {failure.reason}", err=True)
    if len(failures) > _MOST_FAILURES:
        click.echo(f"  ... and {len(failures) - _MOST_FAILURES:,} more", err=True)
