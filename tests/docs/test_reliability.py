"""docs/reliability.md names tests as proofs: they exist."""

import ast
import re
from pathlib import Path

TESTS = Path(__file__).parents[1]
PAGE = TESTS.parent / "docs" / "reliability.md"
FILES = {str(path.relative_to(TESTS.parent)): path for path in TESTS.rglob("*.py")}
FUNCTIONS = {
    node.name: name
    for name, path in FILES.items()
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
    if isinstance(node, ast.FunctionDef)
}


def is_there(word):
    """Whether a test, a file of tests or a folder of them is there."""
    place, _, function = word.partition("::")
    if place.startswith("test_") and not place.endswith(".py"):
        return place in FUNCTIONS
    found = [path for name, path in FILES.items() if name == place or name.endswith(f"/{place}")]
    if not found:
        return (TESTS.parent / place).is_dir()
    return not function or any(f"def {function}(" in path.read_text(encoding="utf-8") for path in found)


def test_every_proof_is_there():
    words = re.findall(r"`((?:tests/|test_|\w+\.py\b)[^`\s]*)`", PAGE.read_text(encoding="utf-8"))
    assert len(words) > 100
    assert [word for word in words if not is_there(word)] == []
    assert not is_there("test_that_nobody_wrote")
    assert not is_there("tests/cli/test_unix.py::test_that_nobody_wrote")
    assert not is_there("tests/nowhere/test_unix.py")


def test_every_promise_has_a_proof():
    rows = [line for line in PAGE.read_text(encoding="utf-8").splitlines() if line.startswith("| ")]
    tables = [row for row in rows if row.count(" | ") == 1 and "learner | where" not in row]
    promises = [row for row in tables if not row.startswith(("| promise", "| `smtl", "| `romco", "| `mt-ogd"))]
    assert len(promises) > 50
    assert [row for row in promises if not re.search(r"`[^`]*(test_|tests/|attacks|\.py)", row.split(" | ")[1])] == []
