"""All mutants of the project, and a sample that stays the same while the rest of a file changes."""

import hashlib
from collections import defaultdict
from fnmatch import fnmatch
from pathlib import Path

from mutants.operators import OPERATORS, Mutant, is_python, mutants_of
from mutants.table import FAMILIES, PASSED_OVER, Family


def files_of(root: Path, family: Family) -> list[str]:
    """The files of a family, as paths from the root."""
    found = {path.relative_to(root).as_posix() for pattern in family.sources for path in root.glob(pattern)}
    return sorted(file for file in found if not any(fnmatch(file, pattern) for pattern in PASSED_OVER))


def all_mutants(root: Path) -> dict[str, list[Mutant]]:
    """By family."""
    return {
        family.name: [
            mutant for file in files_of(root, family) for mutant in mutants_of(file, (root / file).read_text())
        ]
        for family in FAMILIES
    }


def sample(root: Path, mutants: list[Mutant], count: int, seed: int) -> list[Mutant]:
    """The operators take turns, each with its mutants in an order that only a mutant's own text and the seed decide; at
    most one mutant of a line."""
    queues: dict[str, list[Mutant]] = defaultdict(list)
    for mutant in sorted(mutants, key=lambda one: _draw(one, seed), reverse=True):
        queues[mutant.operator].append(mutant)
    chosen: list[Mutant] = []
    lines: set[tuple[str, int]] = set()
    while len(chosen) < count and any(queues.values()):
        for operator in OPERATORS:
            queue = queues[operator]
            while queue and ((queue[-1].file, queue[-1].line) in lines or not _is_python(root, queue[-1])):
                queue.pop()
            if queue and len(chosen) < count:
                chosen.append(queue.pop())
                lines.add((chosen[-1].file, chosen[-1].line))
    return chosen


def _is_python(root: Path, mutant: Mutant) -> bool:
    return is_python(mutant, (root / mutant.file).read_text())


def _draw(mutant: Mutant, seed: int) -> str:
    return hashlib.blake2b(f"{seed}|{mutant.key}".encode(), digest_size=8).hexdigest()
