"""`weft learn`: a file of events into a model file."""

import time
from collections.abc import Callable
from contextlib import nullcontext
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.brokers.address import is_address, parse_address, shown
from weft.cli.compiling import Watch, announced
from weft.cli.learn_report import as_json, list_skipped, report, stopped
from weft.cli.learn_shards import Sharding, learn_shards, shard_options
from weft.cli.options import (
    Reading,
    Saving,
    example,
    file_options,
    json_option,
    parse_settings,
    parse_tasks,
    regression_option,
    seconds_of,
)
from weft.cli.progress_bar import Bar
from weft.cli.schema_options import Fields
from weft.cli.tables import print_json, tell

if TYPE_CHECKING:
    from weft.cli.learning import ModelFile, Run
    from weft.cli.progress_file import Entry
    from weft.model import Model
    from weft.reductions.per_class import Multiclass

DEFAULT_LEARNER = "auto"


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
@regression_option
@click.option("--multiclass", is_flag=True, help="Labels are more than two classes: a model per class, in one file.")
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
@click.option(
    "--idle",
    type=click.FloatRange(min=0.0),
    metavar="SECONDS",
    help="Stop when a broker has been silent for so long.  [default: go on until Ctrl-C]",
)
@click.option(
    "--dead-letters",
    metavar="FILE",
    help="Append messages of a broker that cannot be read to this file, and go on; without it the first one stops.",
)
@shard_options
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
    grown. A malformed line stops everything, and the model file stays as it was. FILE may be a broker:
    kafka://HOST:PORT/TOPIC, redis://HOST:PORT/STREAM or nats://HOST:PORT/SUBJECT, whose messages are lines of
    JSON; the position is saved with the model, so that no message is lost or learned twice. With --shards tasks
    are learned in shards, which may be on several machines.
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
    multiclass: bool
    graph: str | None
    tasks: str | None
    reading: Reading
    every: int | None
    save_every: str | None
    predictions: str | None
    idle: float | None
    dead_letters: str | None
    sharding: Sharding
    restart: bool
    keep_position: bool
    all_tasks: bool
    as_json: bool
    quiet: bool


def _learn(asked: Asked) -> None:
    from weft.cli.learning import expect_model_file
    from weft.cli.model_lock import locked
    from weft.learners.catalogue import loss_for
    from weft.streams.formats import format_of

    began, path = time.perf_counter(), Path(asked.model_path)
    for file in asked.files:
        if is_address(file):
            parse_address(file)
        else:
            format_of(file, asked.reading.format)
    expect_model_file(path)
    settings = asked.settings if asked.graph is None else (*asked.settings, f"graph={asked.graph}")
    if asked.regression and not any(text.replace(" ", "").startswith("loss=") for text in settings):
        loss = loss_for(asked.learner or DEFAULT_LEARNER, "real").get("loss", "square")
        settings = (*settings, f"loss={loss}")
    if asked.regression and asked.multiclass:
        raise ValueError("labels are numbers with --regression, and classes with --multiclass; give one of the two")
    asked = replace(asked, sharding=asked.sharding.counted(asked.files))
    asked.sharding.expect_shards()
    parameters, tasks = parse_settings(settings), parse_tasks(asked.tasks)
    what = asked.learner or (f"the learner of {path}" if path.exists() else DEFAULT_LEARNER)
    with locked(path), announced(what, asked.quiet) as compilation:
        if asked.sharding.shards is not None:
            learn_shards(asked, path, parameters, Watch(began, compilation))
            return
        file, run = _learn_locked(asked, path, parameters, tasks, Watch(began, compilation))
    if run.stopped is not None:
        from weft.cli.signals import exit_code

        for line in stopped(asked, file, run):
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
            list_skipped(run, shown(file))
            whole = whole.with_run(run)
            if run.stopped is not None:
                break
    assert target is not None  # there is at least one file
    if asked.as_json:
        print_json(as_json(target, whole, watch))
    elif not asked.quiet:
        report(target, whole, asked.files, new, before, watch, asked.all_tasks)
    return file, whole


def _learn_file(
    asked: Asked, path: Path, model: "Model | Multiclass", file: str, fields: Fields, issued: Callable[[Any, Any], None]
) -> "tuple[ModelFile, Run]":
    """Learn one of the files; the model may be another one afterwards, see `_resume`."""
    if is_address(file):
        from weft.cli.learn_broker import learn_broker

        with Bar(shown(file), show=not (asked.quiet or asked.as_json), endless=True) as bar:
            return learn_broker(asked, path, model, file, fields.schema, issued, bar.advance)
    from weft.cli.learning import Learning, key_of, learn_chunks
    from weft.labels import UNKNOWN
    from weft.model import Model
    from weft.streams.formats import CHUNK, SourceChanged, read_chunks

    try:
        target, known, start, grown = _resume(asked, path, model, file)
        read = partial(
            read_chunks,
            file,
            target=model.target,
            classes=model.label_classes if isinstance(model, Model) else UNKNOWN,
            schema=fields.schema,
            chunk=min(CHUNK, asked.every or CHUNK),
            start=start.position if start else None,
            **asked.reading.keywords,
        )
        with Bar(file, show=not (asked.quiet or asked.as_json)) as bar:
            learning = Learning(target, key_of(file), known, start, issued)
            learning.source = shown(file)
            run = learn_chunks(
                learning,
                lambda on_wait: read(on_wait=on_wait) if grown else iter(()),
                Saving(asked.every, seconds_of(asked.save_every)),
                bar.advance,
                fields.stopped,
            )
    except SourceChanged as changed:
        raise ValueError(f"{changed} with --restart") from None
    return target, run


def _resume(
    asked: Asked, path: Path, model: "Model | Multiclass", file: str
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
