"""`weft compare`: several learners on the same events."""

import sys
from typing import Any

import click

from weft.cli.options import example, file_options, json_option, parse_learner
from weft.cli.tables import console, plural, print_json

DEFAULT_LEARNERS = ("pa", "pa:pooled=true", "implicit")


@click.command("compare", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    'weft compare events.jsonl --learner pa --learner "implicit:norm=linf,C=0.5" --shuffles 3',
))  # fmt: skip
@click.argument("file")
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="NAME[:LETTER=VALUE,...]",
    help="A learner with its parameters; may be repeated.  [default: pa, pa:pooled=true, implicit]",
)
@click.option(
    "--shuffles",
    type=click.IntRange(min=1),
    default=10,
    show_default=True,
    help="How many random orders of the events to average over.",
)
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random orders.")
@file_options
@json_option
def command(
    file: str,
    learners: tuple[str, ...],
    shuffles: int,
    seed: int,
    format_: str | None,
    task_column: str,
    label_column: str,
    on_error: Any,
    as_json: bool,
) -> None:
    """Compare learners on FILE: does sharing help on these data?

    Every learner learns the same events in several random orders, predicting each before it learns it. The
    table gives the error with its standard error, the task that fares worst, and on how many tasks each
    learner does best. No model is saved. FILE is as in weft learn, and is read whole.
    """
    from weft.learners.catalogue import build

    chosen: dict[str, Any] = {}
    for text in learners or DEFAULT_LEARNERS:
        if text in chosen:
            raise ValueError(f"the learner {text!r} is given twice; give each once")
        chosen[text] = parse_learner(text)
    targets = {build(name, parameters).target for name, parameters in chosen.values()}
    if len(targets) > 1:
        raise ValueError(
            f"the learners predict different things ({', '.join(sorted(targets))}); compare like with like"
        )
    stream = _whole(file, format_, targets.pop(), on_error, task_column, label_column)

    from weft.evaluation.comparison import compare

    comparison = compare(stream, chosen, shuffles=shuffles, seed=seed, progress=not as_json and sys.stderr.isatty())
    if as_json:
        print_json(comparison.as_json())
    else:
        console().print(comparison)


def _whole(file: str, format_: str | None, target: Any, on_error: Any, task_column: str, label_column: str) -> Any:
    """The file as one stream."""
    from weft.streams import read_chunks

    chunk = next(
        read_chunks(
            file,
            format_,
            target=target,
            chunk=sys.maxsize,
            on_error=on_error,
            task_column=task_column,
            label_column=label_column,
        )
    )
    if chunk.skipped:
        click.echo(f"weft: skipped {plural(len(chunk.skipped), 'line')}; the first is {chunk.skipped[0]}", err=True)
    return chunk.stream
