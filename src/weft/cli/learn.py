"""`weft learn`: a file of events into a model file."""

import shlex
import sys
import time
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.options import Reading, example, file_options, json_option, parse_settings, parse_tasks, program
from weft.cli.tables import console, count, plural, print_json, share, tally_table

if TYPE_CHECKING:
    from weft.cli.learning import ModelFile, Run

DEFAULT_LEARNER = "auto"
_MOST_SKIPPED = 10


@click.command("learn", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    "weft learn events.jsonl --model spam.weft --learner pa --set C=0.5",
))  # fmt: skip
@click.argument("file")
@click.option(
    "--model",
    "model_path",
    required=True,
    metavar="MODEL",
    help="The model file: opened, or made if it is not there.",
)
@click.option(
    "--learner",
    metavar="NAME",
    help=f"Learner of a new model; weft catalogue lists them.  [default: {DEFAULT_LEARNER}]",
)
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter of the learner, such as C=0.5; may be repeated.",
)
@click.option(
    "--graph",
    metavar="FILE",
    help="Which tasks teach each other, for learners such as mt-ogd: a CSV file with two tasks and perhaps a weight "
    "per line, a JSON file, or the words complete or none.",
)
@click.option("--tasks", metavar="N|NAMES", help="Declare the tasks of a new model: a number, or names with commas.")
@file_options
@click.option(
    "--every",
    type=click.IntRange(min=1),
    metavar="N",
    help="Save the model every N events, not only at the end.",
)
@click.option("--restart", is_flag=True, help="Learn FILE from its first line, even if it was learned before.")
@click.option("--keep-position", is_flag=True, help="Go on where FILE was left although the model was changed since.")
@click.option("--all-tasks", is_flag=True, help="List every task, not only the 20 largest.")
@json_option
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def command(**given: Any) -> None:
    """Learn FILE, event by event, and save the model.

    FILE holds one event per line: JSON lines {"task": "ann", "x": {"free": 1}, "y": 1}, CSV with a header, or
    SVMlight with the task as qid; - is standard input, .gz is unpacked. Every event is predicted before it is
    learned, so the table at the end tells how well the model would have done. Ctrl-C saves and stops; the
    same command goes on where it stopped, and learns only what is new when the file has grown. A malformed
    line stops everything, and the model file stays as it was.
    """
    _learn(Asked(**given))


@dataclass(frozen=True)
class Asked:
    """What `weft learn` was asked for: its argument and options."""

    file: str
    model_path: str
    learner: str | None
    settings: tuple[str, ...]
    graph: str | None
    tasks: str | None
    reading: Reading
    every: int | None
    restart: bool
    keep_position: bool
    all_tasks: bool
    as_json: bool
    quiet: bool


def _learn(asked: Asked) -> None:
    from weft.cli.learning import ModelFile, learn_chunks, open_or_create, progress_of
    from weft.cli.progress_file import source_key
    from weft.streams.formats import CHUNK, SourceChanged, format_of, read_chunks

    began, file = time.perf_counter(), asked.file
    path = Path(asked.model_path)
    format_of(file, asked.reading.format)
    settings = asked.settings if asked.graph is None else (*asked.settings, f"graph={asked.graph}")
    parameters, tasks = parse_settings(settings), parse_tasks(asked.tasks)
    model, new = open_or_create(path, asked.learner, parameters, tasks, DEFAULT_LEARNER)
    state = progress_of(path, new, asked.restart, asked.keep_position)
    start = None if asked.restart or file == "-" else state.sources.get(source_key(file))
    target = ModelFile(path, model, state)
    before = dict(model.tally.total)
    chunks = read_chunks(
        file,
        target=model.target,
        chunk=min(CHUNK, asked.every or CHUNK),
        start=start.position if start else None,
        **asked.reading.keywords,
    )
    try:
        with _Bar(file, show=not (asked.quiet or asked.as_json)) as bar:
            run = learn_chunks(target, file, chunks, start, asked.every, bar.advance)
    except SourceChanged as changed:
        raise ValueError(f"{changed} with --restart") from None
    seconds = time.perf_counter() - began

    _list_skipped(run, file)
    if asked.as_json:
        print_json(_as_json(target, run, seconds))
    elif not asked.quiet:
        _report(target, run, file, new, before, seconds, asked.all_tasks)
    if run.interrupted:
        click.echo(_stopped(asked, run), err=True)
        raise click.exceptions.Exit(130)


def _report(
    file: "ModelFile",
    run: "Run",
    source: str,
    new: bool,
    before: dict[str, float],
    seconds: float,
    all_tasks: bool,
) -> None:
    screen = console()
    name = "standard input" if source == "-" else source
    if not run.events:
        screen.print(
            f"{name} was learned already, all {count(run.before)} events of it; nothing was done.",
            soft_wrap=True,
        )
        screen.print("To learn it a second time, add --restart.", soft_wrap=True)
        return
    tally = file.model.tally
    screen.print(tally_table(tally, all_tasks, title=f"{file.model.name}: predictions before learning"))
    again = f" (after {count(run.before)} learned earlier)" if run.before else ""
    screen.print(
        f"Learned {plural(run.events, 'event')} of {name}{again} in {seconds:.1f} s; "
        f"{'made' if new else 'updated'} {file.path}.",
        soft_wrap=True,
    )
    if before["events"] and tally.target == "binary":
        mistakes = tally.total["mistakes"] - before["mistakes"]
        screen.print(
            f"Error in this run {share(mistakes / run.events)}; the table counts all "
            f"{count(tally.total['events'])} events that the model has learned.",
            soft_wrap=True,
        )


def _as_json(file: "ModelFile", run: "Run", seconds: float) -> dict[str, Any]:
    return {
        "model": str(file.path),
        "learner": {"name": file.model.name, "parameters": file.model.parameters},
        "events": run.events,
        "events_before": run.before,
        "interrupted": run.interrupted,
        "seconds": round(seconds, 3),
        "skipped": [fault._asdict() for fault in run.skipped],
        "total": file.model.tally.total,
        "tasks": file.model.tally.rows(),
    }


def _list_skipped(run: "Run", source: str) -> None:
    if run.skipped:
        click.echo(f"weft: skipped {plural(len(run.skipped), 'line')} of {source}:", err=True)
        for fault in run.skipped[:_MOST_SKIPPED]:
            click.echo(f"  {fault}", err=True)
        if len(run.skipped) > _MOST_SKIPPED:
            click.echo(f"  ... and {len(run.skipped) - _MOST_SKIPPED:,} more", err=True)


def _stopped(asked: Asked, run: "Run") -> str:
    if asked.file == "-":
        return (
            f"weft: stopped after {count(run.events)} events of standard input, which are saved in {asked.model_path}"
        )
    words = ["learn", asked.file, "--model", asked.model_path, *asked.reading.again()]
    done = count(run.before + run.events)
    return (
        f"weft: stopped after {done} events, which are saved in {Path(asked.model_path)}; go on with\n"
        f"  {program()} {shlex.join(words)}"
    )


class _Bar:
    """A progress bar on standard error: by the file's bytes, or a counter for standard input."""

    def __init__(self, source: str, show: bool) -> None:
        self._progress: Any = None
        self._events = 0
        if not (show and sys.stderr.isatty()):  # importing the bar takes longer than many a file
            return
        from rich.progress import BarColumn, Progress, TaskProgressColumn, TextColumn, TimeRemainingColumn

        self._progress = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TaskProgressColumn(),
            TextColumn("{task.fields[events]:,} events"),
            TimeRemainingColumn(),
            console=console(err=True),
            transient=True,
        )
        self._task = self._progress.add_task(f"learning {source}", total=None if source == "-" else 1.0, events=0)

    def __enter__(self) -> "_Bar":
        if self._progress is not None:
            self._progress.start()
        return self

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()

    def advance(self, chunk: Any) -> None:
        """After every chunk."""
        self._events += len(chunk)
        if self._progress is not None:
            self._progress.update(self._task, completed=chunk.share or 0.0, events=self._events)
