"""`weft tune`: the parameters of a learner that predict a file best."""

import shlex
import sys
from typing import Any

import click

from weft.cli.compiling import announced
from weft.cli.options import (
    Reading,
    example,
    file_options,
    json_option,
    parse_settings,
    program,
    quiet_option,
    regression_option,
)
from weft.cli.schema_options import told_of
from weft.cli.tables import console, count, plural, print_json, share, tell
from weft.text.printable import printable


@click.command("tune", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    "weft tune events.jsonl --learner mt-ogd --candidates 9",
))  # fmt: skip
@click.argument("file")
@click.option("--learner", default="mt-ogd", show_default=True, metavar="NAME", help="The learner to tune.")
@click.option(
    "--set",
    "settings",
    multiple=True,
    metavar="NAME=VALUE",
    help="A parameter that stays as it is, such as loss=square; may be repeated.",
)
@regression_option
@click.option("--names", metavar="NAMES", help="The parameters to tune, with commas; by default the usual ones.")
@click.option("--candidates", type=click.IntRange(min=1), default=30, show_default=True, help="How many to try.")
@click.option(
    "--metric",
    type=click.Choice(["error", "loss"]),
    default="error",
    show_default=True,
    help="What is to be small: wrong classes or the mean deviation; or the learner's mean loss.",
)
@click.option("--sampler", type=click.Choice(["random", "optuna"]), help="Optuna by default, if it is installed.")
@click.option("--workers", type=click.IntRange(min=1), metavar="N", help="Threads.  [default: one per processor]")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the candidates.")
@file_options
@json_option
@quiet_option
def command(
    file: str,
    learner: str,
    settings: tuple[str, ...],
    regression: bool,
    reading: Reading,
    as_json: bool,
    quiet: bool,
    names: str | None,
    **search: Any,
) -> None:
    """Find the parameters of a learner that predict FILE best.

    Every candidate predicts the events of FILE in their order, each before it learns it. All of them learn the
    first part of FILE, the better third goes on, and so on: the last few have learned all of it. Ctrl-C ends the
    search with the best so far. The last lines are the command and the Python to use. FILE is as in weft learn,
    and is read whole.
    """
    from weft.evaluation.tuning import tune
    from weft.learners.catalogue import build, for_numbers
    from weft.streams import read_whole

    fixed = parse_settings(settings)
    fixed = for_numbers(learner, fixed) if regression else fixed
    chosen = [name.strip() for name in names.split(",")] if names else []
    target = build(learner, fixed).target
    schema = told_of((file,), reading, quiet).schema
    stream = read_whole(file, target=target, schema=schema, **reading.keywords).stream
    with announced(learner, quiet), _Bar(show=not (as_json or quiet) and sys.stderr.isatty()) as advance:
        found = tune(stream, learner, names=chosen, on_progress=advance, **search, **fixed)
    if as_json:
        print_json(found.as_json())
    else:
        _report(found, file, len(stream), target == "binary")
        _say_how(found, file, reading.again(schema), schema)
    if found.was_stopped:
        raise click.exceptions.Exit(130)


def _report(found: Any, file: str, events: int, is_share: bool) -> None:
    from rich.table import Table

    screen, show = console(), share if is_share else _figure
    table = Table(box=None, pad_edge=False)
    for name in ("parameters", "events", "error", "loss"):
        table.add_column(name, justify="left" if name == "parameters" else "right", overflow="fold")
    rows = [("the defaults", found.default), *(("", one) for one in found.candidates[:8] if not one.problem)]
    for name, one in rows:
        words = " ".join(f"{key}={value}" for key, value in one.parameters.items())
        table.add_row(name or words, count(one.events), show(one.error), _figure(one.loss))
    if found.was_stopped:
        tell(f"weft: stopped; this is the best so far, of {plural(len(found.candidates), 'candidate')}")
    screen.print(
        f"{found.learner}: {count(events)} events of {printable(file)}", soft_wrap=True, markup=False, highlight=False
    )
    screen.print(table)
    failed = [one for one in found.candidates if one.problem]
    if failed:
        tell(f"weft: {len(failed)} candidates were refused, such as: {failed[0].problem}")
    screen.print(_verdict(found), soft_wrap=True)


def _verdict(found: Any) -> str:
    """What the last lines have: the best, or the defaults."""
    if found.best is not found.default:
        some = (
            "" if found.best.events == found.default.events else f" after the first {count(found.best.events)} events"
        )
        return f"Better than the defaults{some}:"
    return (
        "Nothing tried so far beats the defaults."
        if found.was_stopped
        else ("Nothing beats the defaults on these events.")
    )


def _figure(value: float) -> str:
    """A figure in the width of a column, also that of a learner that has diverged."""
    return f"{value:.4f}" if not abs(value) >= 1e7 else f"{value:.1e}"


def _say_how(found: Any, file: str, options: list[str], schema: Any) -> None:
    """The command and the Python that learn with what was found, with the same fields."""
    words = [word for setting in found.settings for word in ("--set", setting)]
    line = shlex.join(["learn", file, "--model", "MODEL", "--learner", found.learner, *words, *options])
    python = found.python
    if schema is not None:
        fields = ", ".join(f"{name}={value!r}" for name, value in schema.to_json().items())
        python = f"{python[:-1]}, schema=weft.Schema({fields}))"
    screen = console()
    for text in (f"{program()} {line}", python):
        screen.print(text, soft_wrap=True, markup=False, highlight=False)


class _Bar:
    """A progress bar on standard error."""

    def __init__(self, show: bool) -> None:
        self._show = show
        self._progress: Any = None
        self._task: Any = None

    def __enter__(self) -> Any:
        if self._show:
            from rich.console import Console
            from rich.progress import Progress

            self._progress = Progress(console=Console(stderr=True), transient=True)
            self._progress.start()
            self._task = self._progress.add_task("trying", total=None)
        return self._advance

    def _advance(self, done: int, total: int) -> None:
        if self._progress is not None:
            self._progress.update(self._task, completed=done, total=total)

    def __exit__(self, *_: object) -> None:
        if self._progress is not None:
            self._progress.stop()
