"""What `weft learn` tells at its end: the table, how fast it was, what was skipped, and how to go on."""

import shlex
from pathlib import Path
from typing import TYPE_CHECKING, Any

from weft.brokers.address import shown
from weft.cli.compiling import Watch
from weft.cli.options import program
from weft.cli.tables import console, count, plural, share, tally_table, tell

if TYPE_CHECKING:
    from weft.cli.learning import ModelFile, Run

LEAST_FOR_RATE = 10_000
_MOST_SKIPPED = 10


def report(
    file: "ModelFile",
    run: "Run",
    sources: tuple[str, ...],
    new: bool,
    before: dict[str, float],
    watch: Watch,
    all_tasks: bool,
) -> None:
    seconds, screen = watch.seconds, console()
    name = ", ".join("standard input" if source == "-" else shown(source) for source in sources)
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
    if before["events"] and tally.target in ("binary", "class"):
        mistakes = tally.total["mistakes"] - before["mistakes"]
        screen.print(
            f"Error in this run {share(mistakes / run.events)}; the table counts all "
            f"{count(tally.total['events'])} events that the model has learned.",
            soft_wrap=True,
        )


def as_json(file: "ModelFile", run: "Run", watch: Watch) -> dict[str, Any]:
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


def list_skipped(run: "Run", source: str) -> None:
    if run.skipped:
        tell(f"weft: skipped {plural(len(run.skipped), 'line')} of {source}:")
        for fault in run.skipped[:_MOST_SKIPPED]:
            tell(f"  {fault}")
        if len(run.skipped) > _MOST_SKIPPED:
            tell(f"  ... and {len(run.skipped) - _MOST_SKIPPED:,} more")


def stopped(asked: Any, file: str, run: "Run") -> tuple[str, ...]:
    from weft.cli.learning import is_resumable

    if not is_resumable(file):
        name = "standard input" if file == "-" else shown(file)
        return (f"weft: stopped after {count(run.events)} events of {name}, which are saved in {asked.model_path}",)
    words = ["learn", *asked.files, "--model", asked.model_path, *asked.reading.again()]
    done = count(run.before + run.events)
    return (
        f"weft: stopped after {done} events, which are saved in {Path(asked.model_path)}; go on with",
        f"  {program()} {shlex.join(words)}",
    )
