"""Apply single changes to the source, run the tests that belong to the changed file, and list the survivors."""

import argparse
import json
import signal
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterator
from fnmatch import fnmatch
from itertools import accumulate
from pathlib import Path

from mutants import results, warm
from mutants.operators import OPERATORS, Mutant
from mutants.sampling import all_mutants, sample
from mutants.table import FAMILIES

ROOT = Path(__file__).parents[2]
EXPLAINED = Path(__file__).with_name("explained.toml")
CONTROL_SECONDS = 300.0
SHORT = 10.0
"""Seconds of the processor that the lists of a short run take together, or more with the last of them."""
SLOWER, MORE = 3.0, 15.0
"""A mutant may take this many times as long as the unchanged text, and so many seconds more."""


def _options(arguments: list[str] | None) -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="mutants", description=__doc__)
    parser.add_argument(
        "--per-family", type=int, default=20, metavar="N", help="mutants of a family (large ones: twice)"
    )
    parser.add_argument("--seed", type=int, default=1, help="another seed draws other mutants")
    parser.add_argument("--family", action="append", choices=[family.name for family in FAMILIES], help="only these")
    parser.add_argument("--files", default="*", metavar="GLOB", help="only files like this, such as '*/budget/*'")
    parser.add_argument(
        "--only", action="append", default=[], metavar="FILE:LINE", help="only these of the sample: 'arow.py:79'"
    )
    parser.add_argument("--operator", action="append", choices=OPERATORS, help="only these")
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--examples", type=int, default=8, metavar="N", help="examples of a property")
    parser.add_argument("--deselect", action="append", default=[], metavar="TEST", help="a test that fails at present")
    parser.add_argument("--results", type=Path, default=ROOT / "mutants-results" / "results.jsonl", metavar="FILE")
    effort = parser.add_mutually_exclusive_group()
    effort.add_argument("--short", action="store_true", help=f"only the first lists of tests, about {SHORT:g} seconds")
    effort.add_argument("--thorough", action="store_true", help="survivors are tried with all tests of their family")
    parser.add_argument("--list", action="store_true", help="only list the mutants of the sample")
    parser.add_argument("--report", action="store_true", help="only the summary of what was run before")
    return parser.parse_args(arguments)


def main(arguments: list[str] | None = None) -> int:
    options = _options(arguments)
    signal.signal(signal.SIGTERM, lambda *_: sys.exit("ended"))  # children and copies go as well
    everything = all_mutants(ROOT)
    explained = results.read_explained(EXPLAINED, (one for many in everything.values() for one in many))
    chosen = _chosen(options, everything)
    if options.short:
        chosen = [(name, one) for name, one in chosen if not any(entry.covers(one) for entry in explained)]
    if options.list:
        for family, mutant in chosen:
            print(f"{family}: {mutant.file}:{mutant.line} ({mutant.operator})")
            print(f"  -{mutant.before.strip()}\n  +{mutant.after.strip()}")
        return 0
    sources = {file: results.digest([ROOT / file]) for file in {mutant.file for _, mutant in chosen}}
    effort = "short" if options.short else "thorough" if options.thorough else "all"
    store = results.Results(options.results, _tests(), effort)
    if not options.report:
        _run(options, chosen, store, sources)
    done = [store.of(mutant, sources[mutant.file]) for _, mutant in chosen]
    text = results.summary([one for one in done if one is not None], explained)
    options.results.with_suffix(".md").write_text(text + "\n")
    print(text)
    return 0


def _tests() -> str:
    """A digest of all tests."""
    return results.digest(path for path in (ROOT / "tests").rglob("*.py") if path.parent.name != "mutants")


def _chosen(options: argparse.Namespace, everything: dict[str, list[Mutant]]) -> list[tuple[str, Mutant]]:
    found = []
    for family in FAMILIES:
        if options.family and family.name not in options.family:
            continue
        mutants = [
            one
            for one in everything[family.name]
            if fnmatch(one.file, options.files) and (not options.operator or one.operator in options.operator)
        ]
        found += [(family.name, one) for one in sample(ROOT, mutants, options.per_family * family.share, options.seed)]
    return _at(options.only, found) if options.only else found


def _at(places: list[str], found: list[tuple[str, Mutant]]) -> list[tuple[str, Mutant]]:
    """Those at some places; a place is the end of a path, and a line. One without a mutant is an error."""
    taken: dict[str, list[tuple[str, Mutant]]] = {
        place: [(name, one) for name, one in found if f"/{one.file}:{one.line}".endswith(f"/{place}")]
        for place in places
    }
    if lost := [place for place, some in taken.items() if not some]:
        raise SystemExit(f"--only {', '.join(lost)}: the sample has no mutant there; --list lists the sample")
    return [pair for some in taken.values() for pair in some]


def _in_turns(chosen: list[tuple[str, Mutant]]) -> list[tuple[str, Mutant]]:
    """One of every family, then the next of every family: a run that is ended has something of all."""
    seen: Counter[str] = Counter()
    turns = []
    for name, mutant in chosen:
        turns.append((seen[name], name, mutant))
        seen[name] += 1
    return [(name, mutant) for _, name, mutant in sorted(turns, key=lambda turn: turn[0])]


def _run(
    options: argparse.Namespace, chosen: list[tuple[str, Mutant]], store: results.Results, sources: dict[str, str]
) -> None:
    families = {family.name: family for family in FAMILIES}
    missing = _in_turns([(name, one) for name, one in chosen if store.of(one, sources[one.file]) is None])
    if not missing:
        return
    warm.warm_up(options.examples)
    with tempfile.TemporaryDirectory(prefix="mutants-") as scratch:
        workers = warm.Workers(ROOT, Path(scratch), options.workers)
        lists = [families[name].tests_of(one.file, options.thorough) for name, one in missing]
        control = _control(options, workers, lists)

        def jobs() -> Iterator[warm.Job]:
            for number, (_, one) in enumerate(missing):
                stages = _first(lists[number], control) if options.short else lists[number]
                seconds = SLOWER * sum(control[stage] for stage in stages) + MORE
                text = one.applied((workers.original / one.file).read_text())
                yield warm.Job(number, stages, seconds, one.file, text, tuple(options.deselect))

        begin = time.monotonic()
        for count, outcome in enumerate(workers.run(jobs()), 1):
            name, one = missing[outcome.job.number]
            result = results.result_of(name, one, outcome, sources[one.file], store.tests)
            store.add(result)
            spent = time.monotonic() - begin
            place = f"{one.file.removeprefix('src/weft/')}:{one.line} {one.operator}: {one.after.strip()[:70]}"
            print(
                f"[{count}/{len(missing)} {spent:.0f} s] {result.outcome:8} {result.seconds:6.1f} s {place}", flush=True
            )


def _first(stages: tuple[str, ...], control: dict[str, float]) -> tuple[str, ...]:
    """Up to the list with which SHORT seconds are reached, or whose time is not known yet."""
    times = (control.get(stage, SHORT) for stage in stages)
    return stages[: 1 + sum(total < SHORT for total in accumulate(times))]


def _control(options: argparse.Namespace, workers: warm.Workers, lists: list[tuple[str, ...]]) -> dict[str, float]:
    """The unchanged copy must pass every list that is run, and says how long each takes.

    Times are kept until a source or test changes. Which lists a short run has depends on the times of the first ones.
    """
    found: dict[str, float] = {}
    while True:
        needed = [_first(stages, found) if options.short else stages for stages in lists]
        unknown = sorted({test for stages in needed for test in stages} - found.keys())
        if not unknown:
            return found
        found = _timed(options, workers, unknown)


def _timed(options: argparse.Namespace, workers: warm.Workers, lists: list[str]) -> dict[str, float]:
    """The seconds of these lists, and of all that are known already."""
    path = options.results.with_name("control.json")
    state = results.digest((ROOT / "src").rglob("*.py")) + _tests()
    known = json.loads(path.read_text()) if path.exists() else {}
    found: dict[str, float] = known["seconds"] if known.get("state") == state else {}
    todo = [test for test in lists if test not in found]
    faults = []
    jobs = (warm.Job(n, (test,), CONTROL_SECONDS, deselected=tuple(options.deselect)) for n, test in enumerate(todo))
    for outcome in workers.run(jobs):
        test = outcome.job.stages[0]
        print(f"control {outcome.outcome:8} {outcome.seconds:6.1f} s {test} {outcome.by}", flush=True)
        if outcome.outcome == "passed":
            found[test] = round(outcome.stage_seconds[0], 2)
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(json.dumps({"state": state, "seconds": found}, indent=1) + "\n")
        else:
            faults.append(f"  {test}: {outcome.outcome} {outcome.by}")
    if faults:
        raise SystemExit(
            "These lists fail without any mutant, so that they say nothing about mutants:\n" + "\n".join(faults)
        )
    return found


if __name__ == "__main__":
    sys.exit(main())
