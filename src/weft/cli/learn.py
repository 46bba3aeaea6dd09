"""`weft learn`: a file of events into a model file."""

import shlex
import sys
import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.compiling import Watch, announced
from weft.cli.options import (
    Reading,
    Saving,
    example,
    file_options,
    json_option,
    parse_settings,
    parse_tasks,
    program,
    seconds_of,
)
from weft.cli.schema_options import Fields
from weft.cli.tables import console, count, plural, print_json, share, tally_table, tell
from weft.printable import printable

if TYPE_CHECKING:
    from weft.cli.learning import ModelFile, Run
    from weft.cli.progress_file import Entry
    from weft.model import Model

DEFAULT_LEARNER = "auto"
LEAST_FOR_RATE = 10_000
_MOST_SKIPPED = 10


@click.command("learn", epilog=example(
    """printf '%s\\n' '{"user": "ann", "text": "free money now", "label": "spam"}' """
    """'{"user": "bob", "text": "see you at lunch", "label": "ham"}' > mail.jsonl""",
    "weft learn mail.jsonl --model mail.weft --task user --label label --text text",
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    "weft learn events.jsonl --model spam.weft --learner pa --set C=0.5",
))  # fmt: skip
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
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
@click.option("--regression", is_flag=True, help="Labels are numbers: the same as --set loss=square.")
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
@click.option("--save-every", metavar="TIME", help="Save the model after so much time as well: 60s, 5m, 1h.")
@click.option(
    "--predictions",
    metavar="OUT",
    help="Write the predictions issued before learning to this file: CSV, or .jsonl or .parquet by its name.",
)
@click.option("--restart", is_flag=True, help="Learn FILE from its first line, even if it was learned before.")
@click.option("--keep-position", is_flag=True, help="Go on where FILE was left although the model was changed since.")
@click.option("--all-tasks", is_flag=True, help="List every task, not only the 20 largest.")
@json_option
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def command(**given: Any) -> None:
    """Learn FILE, event by event, and save the model.

    FILE holds one event per line or row. Records such as {"user": "ann", "text": "free money", "label": "spam"},
    in JSON lines, CSV or Parquet, are learned by their fields: options say what the fields are, and what they
    do not say is inferred and told. Events {"task": "ann", "x": {"free": 1}, "y": 1}, SVMlight with the task
    as qid and Vowpal Wabbit text need no options. - is standard input, .gz is unpacked. Every event is
    predicted before it is learned, so the table at the end tells how well the model would have done. Ctrl-C
    saves and stops; the same command goes on where it stopped, and learns only what is new when the file has
    grown. A malformed line stops everything, and the model file stays as it was.
    """
    _learn(Asked(**given))


@dataclass(frozen=True)
class Asked:
    """What `weft learn` was asked for: its argument and options."""

    files: tuple[str, ...]
    model_path: str
    learner: str | None
    settings: tuple[str, ...]
    regression: bool
    graph: str | None
    tasks: str | None
    reading: Reading
    every: int | None
    save_every: str | None
    predictions: str | None
    restart: bool
    keep_position: bool
    all_tasks: bool
    as_json: bool
    quiet: bool


def _learn(asked: Asked) -> None:
    from weft.cli.learning import expect_model_file
    from weft.cli.model_lock import locked
    from weft.streams.formats import format_of

    began, path = time.perf_counter(), Path(asked.model_path)
    for file in asked.files:
        format_of(file, asked.reading.format)
    expect_model_file(path)
    settings = asked.settings if asked.graph is None else (*asked.settings, f"graph={asked.graph}")
    if asked.regression and not any(text.replace(" ", "").startswith("loss=") for text in settings):
        settings = (*settings, "loss=square")
    parameters, tasks = parse_settings(settings), parse_tasks(asked.tasks)
    what = asked.learner or (f"the learner of {path}" if path.exists() else DEFAULT_LEARNER)
    with locked(path), announced(what, asked.quiet) as compilation:
        file, run = _learn_locked(asked, path, parameters, tasks, Watch(began, compilation))
    if run.stopped is not None:
        from weft.cli.signals import exit_code

        for line in _stopped(asked, file, run):
            tell(line)
        raise click.exceptions.Exit(exit_code(run.stopped))


def _learn_locked(asked: Asked, path: Path, parameters: dict[str, Any], tasks: Any, watch: Watch) -> "tuple[str, Run]":
    from weft.cli.learning import Run, open_or_create
    from weft.cli.predictions import Form, columns_of, writing
    from weft.store.files import expect_place

    if asked.predictions is not None:
        expect_place(asked.predictions)
    model, new, fields = open_or_create(path, asked, parameters, tasks, DEFAULT_LEARNER)
    if not asked.quiet:
        for line in fields.lines:
            tell(f"weft: {line}")
    before, whole, target, file = dict(model.tally.total), Run(), None, asked.files[0]
    with writing(Form(asked.predictions)) if asked.predictions else nullcontext() as write:

        def issued(chunk: Any, scores: Any) -> None:
            if write is not None:
                write(columns_of(model, chunk, scores))

        for file in asked.files:
            target, run = _learn_file(asked, path, model, file, fields, issued)
            model = target.model
            _list_skipped(run, file)
            whole = whole.with_run(run)
            if run.stopped is not None:
                break
    assert target is not None  # there is at least one file
    if asked.as_json:
        print_json(_as_json(target, whole, watch))
    elif not asked.quiet:
        _report(target, whole, asked.files, new, before, watch, asked.all_tasks)
    return file, whole


def _learn_file(
    asked: Asked, path: Path, model: "Model", file: str, fields: Fields, issued: Callable[[Any, Any], None]
) -> "tuple[ModelFile, Run]":
    """Learn one of the files; the model may be another one afterwards, see `_resume`."""
    from weft.cli.learning import Learning, learn_chunks
    from weft.streams.formats import CHUNK, SourceChanged, read_chunks

    try:
        target, known, start, grown = _resume(asked, path, model, file)
        read = partial(
            read_chunks,
            file,
            target=model.target,
            classes=model.label_classes,
            schema=fields.schema,
            chunk=min(CHUNK, asked.every or CHUNK),
            start=start.position if start else None,
            **asked.reading.keywords,
        )
        with _Bar(file, show=not (asked.quiet or asked.as_json)) as bar:
            learning = Learning(target, file, known, start, issued)
            run = learn_chunks(
                learning,
                lambda on_wait: read(on_wait=on_wait) if grown else iter(()),
                Saving(asked.every, seconds_of(asked.save_every)),
                bar.advance,
            )
    except SourceChanged as changed:
        raise ValueError(f"{changed} with --restart") from None
    return target, run


def _resume(
    asked: Asked, path: Path, model: "Model", file: str
) -> "tuple[ModelFile, Entry | None, Entry | None, bool]":
    """The model to go on with, how far FILE was learned, where to begin, and whether there is anything to read.

    The last round of a file may have continued since. It is then learned again as a whole, with the model as it was
    before that round.
    """
    from weft.cli.learning import ModelFile, is_resumable, model_before, progress_of
    from weft.cli.progress_file import source_key
    from weft.streams.formats import has_grown

    state = progress_of(path, not path.exists(), asked.restart, asked.keep_position)
    if asked.restart or not is_resumable(file):
        return ModelFile(path, model, state), None, None, True
    known, last = state.sources.get(source_key(file)), state.open_round
    if known is None or last is None or last.source != source_key(file):
        return ModelFile(path, model, state), known, known, True
    if not has_grown(file, known.position):
        return ModelFile(path, model, state), known, known, False
    before = model_before(path, last)
    if before is None:
        return ModelFile(path, model, state), known, known, True
    return ModelFile(path, before, state), known, last.entry, True


def _report(
    file: "ModelFile",
    run: "Run",
    sources: tuple[str, ...],
    new: bool,
    before: dict[str, float],
    watch: Watch,
    all_tasks: bool,
) -> None:
    seconds, screen = watch.seconds, console()
    name = ", ".join("standard input" if source == "-" else source for source in sources)
    if not run.events:
        was, them = ("was", "it") if len(sources) == 1 else ("were", "them")
        done = f"{name} {was} learned already, all {count(run.before)} events of {them}; nothing was done."
        screen.print(done, soft_wrap=True)
        screen.print(f"To learn {them} a second time, add --restart.", soft_wrap=True)
        return
    tally = file.model.tally
    screen.print(tally_table(tally, all_tasks, title=f"{file.model.name}: predictions before learning"))
    again = f" (after {count(run.before)} learned earlier)" if run.before else ""
    # With few events it would be the rate of starting a process.
    rate = f" ({count(run.events / seconds)} events/s)" if run.events >= LEAST_FOR_RATE and seconds > 0.0 else ""
    screen.print(
        f"Learned {plural(run.events, 'event')} of {name}{again} in {seconds:.1f} s{rate}"
        f"{watch.left_out}; "
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


def _as_json(file: "ModelFile", run: "Run", watch: Watch) -> dict[str, Any]:
    return {
        "model": str(file.path),
        "learner": {"name": file.model.name, "parameters": file.model.parameters},
        "events": run.events,
        "events_before": run.before,
        "interrupted": run.stopped is not None,
        "seconds": round(watch.seconds, 3),
        "compile_seconds": round(watch.compilation.seconds, 3),
        "skipped": [fault._asdict() for fault in run.skipped],
        "total": file.model.tally.total,
        "tasks": file.model.tally.rows(),
    }


def _list_skipped(run: "Run", source: str) -> None:
    if run.skipped:
        tell(f"weft: skipped {plural(len(run.skipped), 'line')} of {source}:")
        for fault in run.skipped[:_MOST_SKIPPED]:
            tell(f"  {fault}")
        if len(run.skipped) > _MOST_SKIPPED:
            tell(f"  ... and {len(run.skipped) - _MOST_SKIPPED:,} more")


def _stopped(asked: Asked, file: str, run: "Run") -> tuple[str, ...]:
    from weft.cli.learning import is_resumable

    if not is_resumable(file):
        name = "standard input" if file == "-" else file
        return (f"weft: stopped after {count(run.events)} events of {name}, which are saved in {asked.model_path}",)
    words = ["learn", *asked.files, "--model", asked.model_path, *asked.reading.again()]
    done = count(run.before + run.events)
    return (
        f"weft: stopped after {done} events, which are saved in {Path(asked.model_path)}; go on with",
        f"  {program()} {shlex.join(words)}",
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
        self._task = self._progress.add_task(
            printable(f"learning {source}"), total=None if source == "-" else 1.0, events=0
        )

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
