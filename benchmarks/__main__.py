"""Run the benchmarks and print one table: `python -m benchmarks [words of a name ...]`.

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
    labels,
    low_rank,
    many_tasks,
    one_event,
    own_and_shared,
    per_task_models,
    simplex,
    smoothed,
    start_up,
)
from benchmarks.figures import Figure

BENCHMARKS = {
    "per-task models": per_task_models.run,
    "labels": labels.run,
    "one event": one_event.run,
    "many tasks": many_tasks.run,
    "own and shared": own_and_shared.run,
    "default": default.run,
    "simplex": simplex.run,
    "budget": budget.run,
    "smoothed": smoothed.run,
    "low rank": low_rank.run,
    "batch": batch.run,
    "start-up": start_up.run,
}


def main(words: list[str]) -> None:
    console = Console(width=150)
    figures: list[Figure] = []
    for name, run in BENCHMARKS.items():
        if words and not any(word in name for word in words):
            continue
        began = time.perf_counter()
        console.print(f"[dim]{name} ...[/dim]", end=" ")
        figures += run()
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
