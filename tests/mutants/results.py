"""Results as lines of JSON, survivors that are explained, and the summary."""

import hashlib
import json
import tomllib
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from mutants.operators import Mutant

KILLED = ("failed", "timeout", "crash")
EFFORTS = ("short", "all", "thorough")
"""Which tests a mutant is run with: short lists of its family, all of them, or all tests of the files in the lists."""


@dataclass(frozen=True)
class Result:
    """What became of a mutant."""

    family: str
    file: str
    line: int
    function: str
    operator: str
    before: str
    after: str
    outcome: str
    killer: str
    seconds: float
    key: str
    source: str
    tests: str

    @property
    def survived(self) -> bool:
        return self.outcome not in KILLED


class Results:
    """A file of results that grows with every mutant; what is in it already is not run again.

    A killed mutant stays killed as long as its file has the same text. A survivor is tried again when a test changes,
    or when more tests are asked for.
    """

    def __init__(self, path: Path, tests: str, effort: str = "all") -> None:
        """`effort` is one of EFFORTS; a survivor of a greater effort is one of a smaller effort, too."""
        self.path = path
        self.accepted = tuple(f"{tests} {effort}" for effort in EFFORTS[EFFORTS.index(effort) :])
        self.tests = self.accepted[0]
        lines = path.read_text().splitlines() if path.exists() else []
        self.known = {(one.key, one.source): one for one in (Result(**json.loads(line)) for line in lines)}

    def of(self, mutant: Mutant, source: str) -> Result | None:
        """The result, if it still holds."""
        found = self.known.get((mutant.key, source))
        return None if found is None or (found.survived and found.tests not in self.accepted) else found

    def add(self, result: Result) -> None:
        self.known[result.key, result.source] = result
        self.path.parent.mkdir(parents=True, exist_ok=True)
        with self.path.open("a") as file:
            file.write(json.dumps(result.__dict__) + "\n")


def digest(paths: Iterable[Path]) -> str:
    """Of the text of some files."""
    found = hashlib.blake2b(digest_size=8)
    for path in sorted(paths):
        found.update(path.read_bytes())
    return found.hexdigest()


@dataclass(frozen=True)
class Explanation:
    """Why mutants of one line survive: they are equivalent, or out of reach of any test in plain mode."""

    file: str
    line: str
    operator: str
    reason: str
    after: str = ""

    def covers(self, mutant: Mutant | Result) -> bool:
        return (
            mutant.file == self.file
            and mutant.before.strip() == self.line
            and mutant.operator == self.operator
            and self.after in ("", mutant.after.strip())
        )


def read_explained(path: Path, mutants: Iterable[Mutant]) -> list[Explanation]:
    """All explanations. One that matches nothing any more is an error: its line has changed, and so may its reason."""
    entries = tomllib.loads(path.read_text()).get("survivor", []) if path.exists() else []
    found = [Explanation(**entry) for entry in entries]
    candidates: dict[tuple[str, str, str], list[Mutant]] = {}
    for mutant in mutants:
        candidates.setdefault((mutant.file, mutant.before.strip(), mutant.operator), []).append(mutant)
    lost = [
        one
        for one in found
        if not any(one.covers(mutant) for mutant in candidates.get((one.file, one.line, one.operator), []))
    ]
    if lost:
        listed = "\n".join(f"  {one.file}: {one.line!r} ({one.operator})" for one in lost)
        raise SystemExit(f"{path.name}: no mutant matches these entries; correct or remove them:\n{listed}")
    return found


def summary(results: list[Result], explained: list[Explanation]) -> str:
    """A table per family in Markdown, then every survivor as a difference of one line."""
    rows = ["| family | mutants | killed | of these by time | explained | survived |", "|---|---:|---:|---:|---:|---:|"]
    groups: dict[str, list[Result]] = {}
    for result in results:
        groups.setdefault(result.family, []).append(result)
    total: Counter[str] = Counter()
    open_ones: list[Result] = []
    for family, members in groups.items():
        count: Counter[str] = Counter(mutants=len(members))
        for one in members:
            if not one.survived:
                count.update(killed=1, time=int(one.outcome == "timeout"))
            elif any(entry.covers(one) for entry in explained):
                count.update(explained=1)
            else:
                count.update(survived=1)
                open_ones.append(one)
        total.update(count)
        rows.append(_row(family, count))
    rows.append(_row("**all**", total))
    return "\n".join([*rows, "", *(text for one in open_ones for text in _difference(one))])


def _row(name: str, count: Counter[str]) -> str:
    return (
        f"| {name} | "
        + " | ".join(str(count[c]) for c in ("mutants", "killed", "time", "explained", "survived"))
        + " |"
    )


def _difference(one: Result) -> list[str]:
    return [
        f"{one.file}:{one.line} {one.function} ({one.operator})",
        f"-{one.before.strip()}",
        f"+{one.after.strip()}",
        "",
    ]


def result_of(family: str, mutant: Mutant, outcome: Any, source: str, tests: str) -> Result:
    """From what a worker found."""
    return Result(
        family=family,
        file=mutant.file,
        line=mutant.line,
        function=mutant.function,
        operator=mutant.operator,
        before=mutant.before,
        after=mutant.after,
        outcome="survived" if outcome.outcome == "passed" else outcome.outcome,
        killer=outcome.by,
        seconds=round(outcome.seconds, 2),
        key=mutant.key,
        source=source,
        tests=tests,
    )
