"""`weft compare`: several learners on the same events."""

import sys
from typing import Any

import click

from weft.cli.compiling import announced
from weft.cli.options import Reading, example, file_options, json_option, parse_learner
from weft.cli.schema_options import find_fields
from weft.cli.tables import console, plural, print_json, tell

DEFAULT_LEARNERS = ("auto", "pa", "pa:pooled=true", "implicit")
TIME_LIMIT = 60.0
"""Seconds that a learner has, if all are compared and nothing else is said."""


@click.command("compare", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    'weft compare events.jsonl --learner pa --learner "implicit:norm=linf,C=0.5" --shuffles 3',
    "weft compare events.jsonl --all --shuffles 1 --time-limit 5",
))  # fmt: skip
@click.argument("file")
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="NAME[:PARAMETER=VALUE,...]",
    help="A learner with its parameters; may be repeated.  [default: auto, pa, pa:pooled=true, implicit]",
)
@click.option(
    "--all",
    "everyone",
    is_flag=True,
    help="Compare every learner of the catalogue by its defaults, and those of --learner as well; the foot of the "
    "table says who was left out and why.",
)
@click.option(
    "--time-limit",
    type=click.FloatRange(min=0.0, min_open=True),
    metavar="SECONDS",
    help="Seconds that each learner may take for all orders together; one that takes more is stopped and left out. "
    "Compiling does not count.  [default: 60 with --all, else no limit]",
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
    everyone: bool,
    time_limit: float | None,
    shuffles: int,
    seed: int,
    reading: Reading,
    as_json: bool,
) -> None:
    """Compare learners on FILE: does sharing help on these data?

    Every learner learns the same events in several random orders, predicting each before it learns it. The
    table has the lowest error first, with its standard error, the task that fares worst, on how many tasks
    each learner does best, and what an event costs. No model is saved. FILE is as in weft learn, and is read
    whole.

    With --all the labels decide who takes part: if all are -1 or +1, learners that classify; else learners
    that predict numbers, those with a choice of losses by the first that does. A learner that refuses these
    data, or takes longer than --time-limit, has no figures; the others go on.
    """
    from weft.evaluation.comparison import compare

    chosen = _given(learners if everyone else learners or DEFAULT_LEARNERS)
    if everyone:
        stream = _whole(file, reading, "real")
        chosen = _catalogue(stream) | chosen
        time_limit = TIME_LIMIT if time_limit is None else time_limit
    else:
        stream = _whole(file, reading, _kind(chosen))
    show = not as_json and sys.stderr.isatty()
    with announced("learners"):
        comparison = compare(
            stream, chosen, shuffles=shuffles, seed=seed, progress=show, time_limit=time_limit, leave_out=everyone
        )
    if as_json:
        print_json(comparison.as_json())
    else:
        console().print(comparison)


def _given(learners: tuple[str, ...]) -> dict[str, Any]:
    """The learners as they were typed; wrong names and parameters are refused."""
    from weft.learners.catalogue import build

    chosen: dict[str, Any] = {}
    for text in learners:
        if text in chosen:
            raise ValueError(f"the learner {text!r} is given twice; give each once")
        chosen[text] = parse_learner(text)
        build(*chosen[text])
    return chosen


def _kind(chosen: dict[str, Any]) -> Any:
    """What the learners predict, which must be one thing."""
    from weft.learners.catalogue import build

    targets = {build(name, parameters).target for name, parameters in chosen.values()}
    if len(targets) > 1:
        raise ValueError(
            f"the learners predict different things ({', '.join(sorted(targets))}); compare like with like"
        )
    return targets.pop()


def _catalogue(stream: Any) -> dict[str, Any]:
    """All learners, as one would type them."""
    from weft.evaluation.comparison import whole_catalogue
    from weft.evaluation.prequential import kind_of

    return {
        ":".join([name, *(f"{parameter}={value}" for parameter, value in parameters.items())]): (name, parameters)
        for name, parameters in whole_catalogue(kind_of(stream))
    }


def _whole(file: str, reading: Reading, target: Any) -> Any:
    """The file as one stream."""
    from weft.streams import read_whole

    fields = find_fields((file,), reading, None)
    for line in fields.lines:
        tell(f"weft: {line}")
    chunk = read_whole(file, target=target, schema=fields.schema, **reading.keywords)
    if chunk.skipped:
        tell(f"weft: skipped {plural(len(chunk.skipped), 'line')}; the first is {chunk.skipped[0]}")
    return chunk.stream
