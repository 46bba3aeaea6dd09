"""`weft demo`: the library's main job on a made-up stream, in a few seconds."""

import math
import shlex
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.compiling import announced
from weft.cli.model_lock import locked
from weft.cli.options import example, program
from weft.cli.tables import console, count, new_table, print_json, share
from weft.store.files import expect_place

if TYPE_CHECKING:
    from weft.model import Model
    from weft.stream import Stream


@dataclass(frozen=True)
class Candidate:
    """A learner of the demo: what it is called here, how it is made, what it does in plain words."""

    label: str
    learner: str
    words: str
    parameters: dict[str, Any] = field(default_factory=dict)


C = 0.3  # the same aggressiveness for all that have one, so that nothing but the sharing differs
CANDIDATES = (
    Candidate("auto", "auto", "the default: own and shared parts, nothing to tune"),
    Candidate("independent", "pa", "a model per user, learned from the user's own answers alone", {"C": C}),
    Candidate("pooled", "pa", "one model for all, as if the users were one person", {"C": C, "pooled": True}),
    Candidate(
        "shared loss",
        "implicit",
        "a model per user; answers that arrive together share one step",
        {"C": C},
    ),
)
"""The first letters of the labels differ: they are the marks in the chart."""

SAVED = "auto"


@dataclass
class Result:
    """One learner's run."""

    candidate: Candidate
    model: "Model"
    error: float
    small: float
    loners: float
    seconds: float
    curve: list[float]
    events: dict[str, int]  # behind each of the errors


@click.command("demo", epilog=example("weft demo --events 4000 --tasks 40 --seed 1"))
@click.option("--events", type=click.IntRange(min=200), default=6000, show_default=True, help="Events of the stream.")
@click.option("--tasks", type=click.IntRange(min=8), default=120, show_default=True, help="Tasks of the stream.")
@click.option("--seed", type=int, default=0, show_default=True, help="Another seed, another stream.")
@click.option("--model", "path", default="demo.weft", show_default=True, help="Where to save a model to play with.")
@click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, nothing else.")
def command(events: int, tasks: int, seed: int, path: str, as_json: bool) -> None:
    """See what multitask learning is about: four learners on one made-up stream.

    The stream has many small tasks. Most of them nearly agree; some are loners. The demo lets
    every learner predict each event before it learns it, compares their errors, draws their learning curves,
    and saves a model to go on with.
    """
    from weft.streams.synthetic import related_tasks

    if events < tasks:
        raise ValueError(f"--events {events} is less than --tasks {tasks}: every task needs an event")
    expect_place(path)
    _refuse_to_replace(Path(path))
    loners = max(2, tasks // 6)
    stream = related_tasks(
        tasks=tasks, events=events, groups=1, loners=loners, spread=0.3, noise=0.05, round_size=8, seed=seed
    )
    if not as_json:
        _introduce(stream, loners)
    results = []
    for candidate in CANDIDATES:
        if not as_json and sys.stderr.isatty():
            click.echo(f"learning: {candidate.label} ...\r", err=True, nl=False)
        with announced(candidate.learner):
            results.append(_run(candidate, stream))
    saved = next(result for result in results if result.candidate.label == SAVED)
    with locked(Path(path)):
        saved.model.save(path)
    if as_json:
        print_json(_as_json(results, stream, path))
    else:
        _report(results, stream, path)


def _refuse_to_replace(path: Path) -> None:
    """Only the model of an earlier demo may be written over."""
    from weft.model import load

    if path.exists() and not all(str(name).startswith(("group-", "loner/")) for name in load(path).tasks):
        raise ValueError(f"{path} holds a model that is not from the demo; choose another file with --model")


def _run(candidate: Candidate, stream: "Stream") -> Result:
    import numpy as np

    from weft.model import Model

    Model(candidate.learner, **candidate.parameters).learn(stream.cut(0, 1))  # compiles, so that the clock does not
    model = Model(candidate.learner, **candidate.parameters)
    began = time.perf_counter()
    scores = model.learn(stream)
    seconds = time.perf_counter() - began
    wrong = np.where(scores >= 0.0, 1.0, -1.0) != stream.y
    sizes = np.bincount(stream.task_codes)
    small = sizes <= np.median(sizes)
    alone = np.array([str(name).startswith("loner") for name in stream.task_names])
    return Result(
        candidate,
        model,
        float(np.mean(wrong)),
        float(np.mean(wrong[small[stream.task_codes]])),
        float(np.mean(wrong[alone[stream.task_codes]])),
        seconds,
        _curve(wrong),
        {
            "all": len(wrong),
            "small": int(sizes[small].sum()),
            "loners": int(sizes[alone].sum()),
            "last": len(wrong) // 10,
        },
    )


def _curve(wrong: Any, points: int = 66) -> list[float]:
    """The error over a sliding tenth of the stream (less at its beginning), at evenly spaced places."""
    import numpy as np

    total = np.concatenate([[0.0], np.cumsum(wrong)])
    window = max(20, len(wrong) // 10)
    ends = np.linspace(min(window // 2, len(wrong)), len(wrong), points).astype(int)
    begins = np.maximum(ends - window, 0)
    curve: list[float] = ((total[ends] - total[begins]) / np.maximum(ends - begins, 1)).tolist()
    return curve


def _introduce(stream: "Stream", loners: int) -> None:
    import numpy as np

    sizes = np.bincount(stream.task_codes)
    tasks = len(stream.task_names)
    screen = console()
    screen.print(
        f"Imagine {tasks} users, each with a yes-or-no question: is this message interesting to me? They are "
        f"the tasks. Their answers arrive a handful at a time, {count(len(stream))} in all: the busiest user "
        f"gives {sizes.max()} of them, half of the users at most {int(np.median(sizes))}. {tasks - loners} "
        f"users nearly agree; {loners} are loners with a taste of their own, and every second "
        "loner wants the opposite of the rest. 1 answer in 20 is given by mistake.\n\n"
        "Four learners see the same answers; each predicts an answer before it learns from it:\n"
    )
    for candidate in CANDIDATES:
        screen.print(f"  {candidate.label:<12} {candidate.words}", soft_wrap=True)
    screen.print()


def _report(results: list[Result], stream: "Stream", path: str) -> None:
    from weft.cli.chart import draw

    screen = console()
    table = new_table("learner", "all", "small tasks", "loners", "seconds", title="Error: share of wrong predictions")
    for result in results:
        figures = [share(result.error), share(result.small), share(result.loners), f"{result.seconds:.3f}"]
        table.add_row(result.candidate.label, *figures)
    screen.print(table)
    screen.print("Error as the stream goes by (over the last tenth of it)", style="bold")
    curves = {result.candidate.label: result.curve for result in results}
    for line in draw(curves, len(stream)):
        screen.print(line, soft_wrap=True)
    legend = "   ".join(f"{result.candidate.label[0]} = {result.candidate.label}" for result in results)
    screen.print(f"        {legend}     events ->\n", soft_wrap=True)
    for sentence in findings(results):
        screen.print(sentence)
    name = shlex.quote(path)
    screen.print(f"\nThe {SAVED} model is saved in {path}. Go on with", soft_wrap=True)
    for line in (
        f"{program()} inspect {name}",
        f"{program()} inspect {name} --task loner/01",
        f"{program()} catalogue",
        f"{program()} learn --help",
        f"{program()} serve demo-service --from-model {name}",
    ):
        screen.print(f"  {line}", soft_wrap=True)


def findings(results: list[Result]) -> list[str]:
    """What this run shows, and nothing more: learners that chance alone may set apart are named together."""
    sentences = []
    for what, error, part in _MEASURES:
        ranked = sorted(results, key=error)
        low = error(ranked[0])
        chance = 2.0 * math.sqrt(low * (1.0 - low) / max(results[0].events[part], 1))  # two standard errors
        leading = [result for result in ranked if error(result) - low <= chance]
        if len(leading) == len(ranked):
            span = f"{share(low)} to {share(error(ranked[-1]))}"
            sentences.append(f"- {what}, they differ by no more than chance ({span}).")
            continue
        best = " and ".join(f"{result.candidate.label} ({share(error(result))})" for result in leading)
        verb = "does" if len(leading) == 1 else "do"
        worst = ranked[-1]
        sentences.append(f"- {what}, {best} {verb} best, {worst.candidate.label} worst ({share(error(worst))}).")
    return ["What this run shows:", *sentences, *_caution(results)]


_MEASURES: tuple[tuple[str, Callable[[Result], float], str], ...] = (
    ("Over all events", lambda result: result.error, "all"),
    ("On the small tasks (the smaller half)", lambda result: result.small, "small"),
    ("On the loners", lambda result: result.loners, "loners"),
    ("Over the last tenth of the stream", lambda result: result.curve[-1], "last"),
)


def _caution(results: list[Result]) -> list[str]:
    by_label = {result.candidate.label: result for result in results}
    pooled, shared = by_label.get("pooled"), by_label.get("shared loss")
    if pooled is None or shared is None or pooled.small >= shared.small:
        return []
    return [
        "- Sharing a loss is not sharing weights: it decides which mistakes matter most, while a task still "
        "learns from its own events only. Where small tasks agree, pooling knows more."
    ]


def _as_json(results: list[Result], stream: "Stream", path: str) -> dict[str, Any]:
    rows = [
        {
            "learner": result.candidate.label,
            "name": result.candidate.learner,
            "parameters": result.candidate.parameters,
            "error": result.error,
            "error_small_tasks": result.small,
            "error_loners": result.loners,
            "seconds": result.seconds,
            "curve": result.curve,
        }
        for result in results
    ]
    return {"events": len(stream), "tasks": len(stream.task_names), "model": path, "learners": rows}
