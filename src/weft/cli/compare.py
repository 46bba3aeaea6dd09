"""`weft compare`: several learners on the same events."""

import os
import sys
from typing import Any

import click

from weft.cli.compiling import announced
from weft.cli.options import Reading, example, file_options, json_option, parse_learner, quiet_option, regression_option
from weft.cli.pages import expect_page
from weft.cli.schema_options import told_of
from weft.cli.tables import console, plural, print_json, tell

DEFAULT = {"auto": "together", "auto alone": "alone", "auto pooled": "pooled"}
"""The first rows if no learner is named: the default with and without sharing."""
OTHERS = {"binary": ("mt-ogd:loss=logistic", "arow", "pa", "pa:pooled=true"),
          "real": ("mt-ogd:loss=square", "pa:loss=epsilon-insensitive")}  # fmt: skip
"""Learners for labels of each kind that come after those."""
MOST_CLASSES = 20
"""More different integers than this are hardly classes."""
TIME_LIMIT = 60.0
"""Seconds that a learner has, if all are compared and nothing else is said."""


@click.command("compare", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1, "offer": 2}, "y": 1}' > events.jsonl""",
    'weft compare events.jsonl --learner pa --learner "implicit:norm=linf,C=0.5" --shuffles 3',
    "weft compare events.jsonl --all --shuffles 1 --time-limit 5",
    "weft compare events.jsonl --shuffles 2 --report out.html",
))  # fmt: skip
@click.argument("file")
@click.option(
    "--learner",
    "learners",
    multiple=True,
    metavar="NAME[:PARAMETER=VALUE,...]",
    help="A learner with its parameters, among them scope=alone and scope=pooled; may be repeated.  [default: auto, "
    "auto alone, auto pooled, and learners that fit the labels]",
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
@regression_option
@click.option("--in-order", is_flag=True, help="The order of the file, once, instead of random ones.")
@click.option(
    "--raw", is_flag=True, help="Rows as they are. Otherwise they have length 1 and an intercept; auto scales itself."
)
@click.option("--report", "page", metavar="OUT.html", help="Also write a page of HTML: one file, without a network.")
@click.option("--seed", type=int, default=0, show_default=True, help="Seed of the random orders.")
@file_options
@json_option
@quiet_option
def command(
    file: str,
    learners: tuple[str, ...],
    everyone: bool,
    regression: bool,
    time_limit: float | None,
    shuffles: int,
    in_order: bool,
    raw: bool,
    seed: int,
    reading: Reading,
    as_json: bool,
    page: str | None,
    quiet: bool,
) -> None:
    """Compare learners on FILE: does sharing help on these data?

    Every learner learns the same events in several random orders, predicting each before it learns it. The
    table has the lowest error first, with its standard error, the task that fares worst, on how many tasks
    each learner does best, and what an event costs. No model is saved. FILE is as in weft learn, and is read
    whole.

    Without --learner the first rows are auto, auto alone (a model per task that sees nothing of the others) and
    auto pooled (all tasks as one): the gap between them is what sharing gains on these data. scope=alone and
    scope=pooled do the same with any learner, as in --learner mt-ogd:scope=alone.

    With --all the labels decide who takes part: if all are -1 or +1, learners that classify; else, and with
    --regression, learners that predict numbers, those with a choice of losses by the first that does. A learner
    that refuses these data, or takes longer than --time-limit, has no figures; the others go on.
    """
    from weft.evaluation.comparison import compare

    if page is not None:
        expect_page(page, file)
    stream, chosen = _asked(
        file, reading, _given(learners, regression), "real" if regression else None, everyone, quiet
    )
    if everyone and time_limit is None:
        time_limit = TIME_LIMIT
    show = not (as_json or quiet) and sys.stderr.isatty()
    with announced("learners", quiet):
        comparison = compare(
            stream,
            chosen,
            shuffles=0 if in_order else shuffles,
            seed=seed,
            progress=show,
            time_limit=time_limit,
            leave_out=everyone or not learners,
            scaled=not raw,
        )
    if as_json:
        print_json(comparison.as_json())
    else:
        console().print(comparison)
    if page is not None:
        comparison.report(page, os.path.basename(file))
        tell(f"weft: wrote {page}")


def _asked(
    file: str, reading: Reading, given: dict[str, Any], kind: Any, everyone: bool, quiet: bool
) -> tuple[Any, dict[str, Any]]:
    """The events of the file, and who learns them; `kind` is what labels are for, None if they say so themselves."""
    from weft.evaluation.prequential import kind_of

    if given and not everyone:
        return _whole(file, reading, kind or _kind(given), quiet), given
    stream = _whole(file, reading, kind or "class", quiet)
    found = kind or kind_of(stream)
    return stream, _catalogue(found, kind is not None) | given if everyone else _default(found)


def _given(learners: tuple[str, ...], regression: bool) -> dict[str, Any]:
    """The learners as they were typed; wrong names and parameters are refused."""
    from weft.learners.catalogue import build, for_numbers

    chosen: dict[str, Any] = {}
    for text in learners:
        if text in chosen:
            raise ValueError(f"the learner {text!r} is given twice; give each once")
        name, parameters = parse_learner(text)
        build(name, _without_scope(parameters))
        chosen[text] = name, for_numbers(name, _without_scope(parameters)) | parameters if regression else parameters
    return chosen


def _without_scope(parameters: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in parameters.items() if name != "scope"}


def _default(kind: Any) -> dict[str, Any]:
    """The default with and without sharing, then learners for labels of this kind."""
    loss = {} if kind == "binary" else {"loss": "square"}
    first: dict[str, Any] = {label: ("auto", {**loss, "scope": scope}) for label, scope in DEFAULT.items()}
    return first | {text: parse_learner(text) for text in OTHERS.get(kind, ())}


def _kind(chosen: dict[str, Any]) -> Any:
    """What the learners predict, which must be one thing."""
    from weft.learners.catalogue import build

    targets = {build(name, _without_scope(parameters)).target for name, parameters in chosen.values()}
    if len(targets) > 1:
        raise ValueError(
            f"the learners predict different things ({', '.join(sorted(targets))}); compare like with like"
        )
    return targets.pop()


def _catalogue(kind: Any, is_told: bool) -> dict[str, Any]:
    """All learners, as one would type them; those of this kind alone if the user has told it."""
    from weft.evaluation.comparison import whole_catalogue
    from weft.learners.catalogue import build

    return {
        ":".join([name, *(f"{parameter}={value}" for parameter, value in parameters.items())]): (name, parameters)
        for name, parameters in whole_catalogue(kind)
        if not is_told or build(name, parameters).target == kind
    }


def _whole(file: str, reading: Reading, target: Any, quiet: bool) -> Any:
    """The file as one stream."""
    from weft.streams import read_whole

    chunk = read_whole(file, target=target, schema=told_of((file,), reading, quiet).schema, **reading.keywords)
    if chunk.skipped and not quiet:
        tell(f"weft: skipped {plural(len(chunk.skipped), 'line')}; the first is {chunk.skipped[0]}")
    if target == "class":
        _expect_two_classes(file, chunk.label_values, quiet)
    return chunk.stream


def _expect_two_classes(file: str, labels: Any, quiet: bool) -> None:
    """Refuse more than two classes that are not numbers; say that numbers are compared as numbers."""
    import numpy as np

    codes = np.unique(labels.values[~np.isnan(labels.values)])
    if labels.names is None:
        if not quiet and 2 < len(codes) <= MOST_CLASSES and np.all(codes == np.floor(codes)):
            tell("weft: note: labels are numbers, and are compared as such; classes need weft learn --multiclass")
        return
    names = sorted(str(labels.names[int(code)]) for code in codes)
    if len(names) > 2:
        shown = ", ".join(names[:5]) + (", ..." if len(names) > 5 else "")
        raise ValueError(
            f"{file} has {len(names)} classes ({shown}), and weft compare takes two classes or numbers; "
            f"weft learn {file} --model MODEL --multiclass learns all of them, and tells the error"
        )
