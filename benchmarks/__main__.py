"""Run the benchmarks and print one table: `python -m benchmarks [--write] [--quick] [words of a name ...]`.

`--write` also puts the figures into `RESULTS.md`, a section per benchmark; `--quick` runs those that users feel, in
about five minutes.

A figure is a ratio to a peer in the same run, so that the machine's speed cancels out, or is compared with a limit.
"""

import json
import sys
import time
from pathlib import Path

from rich.console import Console
from rich.table import Table

from benchmarks import (
    batch,
    budget,
    default,
    fresh,
    labels,
    low_rank,
    many_tasks,
    one_event,
    own_and_shared,
    per_task_models,
    records,
    results,
    saving,
    simplex,
    smoothed,
    start_up,
    threads,
    whole_process,
)
from benchmarks.figures import Figure

BENCHMARKS = {
    "per-task models": per_task_models.run,
    "labels": labels.run,
    "one event": one_event.run,
    "many tasks": many_tasks.run,
    "own and shared": own_and_shared.run,
    "default": default.run,
    "fresh": fresh.run,
    "simplex": simplex.run,
    "budget": budget.run,
    "smoothed": smoothed.run,
    "low rank": low_rank.run,
    "batch": batch.run,
    "threads": threads.run,
    "saving": saving.run,
    "records": records.run,
    "start-up": start_up.run,
    "whole process": whole_process.run,
}


QUICK = ("one event", "fresh", "saving", "start-up", "whole process")
"""First passes, single events, files and processes: what users feel."""


def main(words: list[str]) -> None:
    console = Console(width=150)
    options = {word for word in words if word.startswith("--")}
    words = [*(word for word in words if word not in options), *(QUICK if "--quick" in options else ())]
    figures: list[Figure] = []
    for name, run in BENCHMARKS.items():
        if words and not any(word in name for word in words):
            continue
        began = time.perf_counter()
        console.print(f"[dim]{name} ...[/dim]", end=" ")
        found = run()
        figures += found
        if "--write" in options:  # section by section: a benchmark that fails does not lose those before it
            results.write({name: found})
        console.print(f"[dim]{time.perf_counter() - began:.0f} s[/dim]")
    table = Table("what", "weft", "peer", "figure", "target", "", box=None, pad_edge=False, title_justify="left")
    for figure in figures:
        met = "" if figure.met is None else ("[green]met[/green]" if figure.met else "[red]missed[/red]")
        table.add_row(figure.what, figure.ours, figure.peer, figure.text, figure.target, met)
    console.print(table)
    folder = Path("bench-results")
    folder.mkdir(exist_ok=True)
    path = folder / time.strftime("%Y%m%d-%H%M%S.json")
    path.write_text(json.dumps([figure._asdict() for figure in figures], indent=1))
    console.print(f"[dim]saved as {path}[/dim]")


if __name__ == "__main__":
    main(sys.argv[1:])
