"""The mutants themselves: what is changed and what is left alone, samples, explanations, and a run on a toy project."""

import os
import sys
from pathlib import Path
from textwrap import dedent

import pytest

from mutants import warm
from mutants.__main__ import main
from mutants.operators import OPERATORS, is_python, mutants_of
from mutants.results import Explanation, Result, Results, read_explained, summary
from mutants.sampling import all_mutants, files_of, sample
from mutants.table import FAMILIES
from mutants.warm import Job, Workers

ROOT = Path(__file__).parents[2]


def changes(body, operator=None):
    """The lines that the body of a function may become."""
    text = "def f(a, b, i, x):\n" + "".join(f"    {line}\n" for line in dedent(body).strip().splitlines())
    return {m.after.strip() for m in mutants_of("file.py", text) if operator in (None, m.operator)}


@pytest.mark.parametrize(
    ("operator", "line", "expected"),
    [
        ("compare", "return a < b <= x", {"return a <= b <= x", "return a < b < x"}),
        ("compare", "return (a) != (b)", {"return (a) == (b)"}),
        ("sign", "return -a + b", {"return a + b", "return -a - b"}),
        ("sign", "a -= b", {"a += b"}),
        ("product", "return a * b / x", {"return a / b / x", "return a * b * x"}),
        ("product", "a /= b", {"a *= b"}),
        ("constant", "return 3, 0.5, 0.0, True", {f"return {t}" for t in (
            "4, 0.5, 0.0, True", "3, 1.0, 0.0, True", "3, 0.5, 1.0, True", "3, 0.5, 0.0, False")}),
        ("index", "return a[i]", {"return a[i + 1]", "return a[i - 1]"}),
        ("index", "return a[i, :]", {"return a[i + 1, :]", "return a[i - 1, :]"}),
        ("drop", "a[i] = x", {"pass"}),
        ("drop", "a.sort()", {"pass"}),
        ("minmax", "return np.minimum(a, min(b, x))", {
            "return np.maximum(a, min(b, x))", "return np.minimum(a, max(b, x))"}),
        ("andor", "return a and b and x", {"return a or b and x", "return a and b or x"}),
        ("negate", "return a if b > x else i", {"return a if not (b > x) else i"}),
        ("negate", "return a if not b else i", {"return a if b else i"}),
    ],
)  # fmt: skip
def test_operators(operator, line, expected):
    assert changes(line, operator) == expected


@pytest.mark.parametrize(
    "body",
    [
        '"""a + 1"""',
        'raise ValueError(f"{a + 1}")',
        "assert a < b",
        "prefetch_some(a, i + 1)",
        "coming = next_row(a, i + 1)",
        "if i + 1 < x:\n    for j in range(i + 1):\n        prefetch(a, b[j + 1])",
        "if PLAIN:\n    a[i] = 1\nelse:\n    a[i] = 2",
        'return "a" + b',
        "return zip(a, b, strict=True)",
        "y: 'a + 1' = x",
    ],
)
def test_what_is_left_alone(body):
    assert changes(body) == set()


def test_an_only_assignment_is_not_dropped():
    """Without it every test would fail for want of a name, which says nothing."""
    assert changes("y = x\nreturn y", "drop") == set()
    assert changes("y = x\ny = a\nreturn y", "drop") == {"pass"}
    assert changes("x = a\nreturn x", "drop") == {"pass"}


def test_a_mutant_changes_one_line_and_is_python():
    text = (ROOT / "src/weft/maths/losses.py").read_text()
    for mutant in mutants_of("src/weft/maths/losses.py", text):
        assert is_python(mutant, text)
        before, after = text.splitlines(), mutant.applied(text).splitlines()
        assert [n for n, (old, new) in enumerate(zip(before, after, strict=True), 1) if old != new] == [mutant.line]


def test_columns_are_characters():
    assert {m.after for m in mutants_of("f.py", 'def f(a):\n    return "ä", a + 1\n') if m.operator == "sign"} == {
        '    return "ä", a - 1'
    }


def test_every_family_has_files_tests_and_mutants_of_every_kind():
    found = all_mutants(ROOT)
    for family in FAMILIES:
        assert files_of(ROOT, family), family.name
        assert len(found[family.name]) > 80, family.name
        for test in {test for file in files_of(ROOT, family) for test in family.tests_of(file)}:
            path = next(word for word in test.split() if "/" in word)
            assert (ROOT / path).exists(), test
    assert {mutant.operator for many in found.values() for mutant in many} == set(OPERATORS)
    learners = {path.name for path in (ROOT / "src/weft/learners").iterdir() if path.is_dir() and path.name[0] != "_"}
    assert learners <= {family.name for family in FAMILIES}


def test_a_sample_depends_on_the_seed_and_on_the_mutants_own_lines(tmp_path):
    def drawn(seed):
        return sample(tmp_path, mutants_of("losses.py", path.read_text()), 12, seed)

    path, text = tmp_path / "losses.py", (ROOT / "src/weft/maths/losses.py").read_text()
    path.write_text(text)
    one, other = drawn(1), drawn(2)
    assert len({mutant.line for mutant in one}) == len(one) == 12
    assert [m.key for m in other] != [m.key for m in one]
    path.write_text("# a line more\n" + text)
    assert [m.key for m in drawn(1)] == [m.key for m in one]


def a_result(outcome, before="    a = b + c", after="    a = b - c", **more):
    fields = {"family": "maths", "file": "f.py", "line": 3, "function": "f", "operator": "sign", "killer": "", **more}
    return Result(before=before, after=after, outcome=outcome, seconds=1.0, key=before, source="s", tests="t", **fields)


def test_results_are_kept_as_long_as_they_hold(tmp_path):
    mutant = mutants_of("f.py", "def f(b, c):\n    return b + c\n")[0]
    killed = Result(**{**a_result("failed").__dict__, "key": mutant.key})
    path = tmp_path / "results.jsonl"
    Results(path, "t").add(killed)
    assert Results(path, "t").of(mutant, "s") == Results(path, "other").of(mutant, "s") == killed
    assert Results(path, "t").of(mutant, "another text") is None
    survivor = Result(**{**killed.__dict__, "outcome": "survived"})
    Results(path, "t").add(Result(**{**survivor.__dict__, "tests": "t all"}))
    assert Results(path, "t").of(mutant, "s") == Results(path, "t", effort="short").of(mutant, "s") is not None
    assert Results(path, "other").of(mutant, "s") is None
    assert Results(path, "t", effort="thorough").of(mutant, "s") is None
    tried = Results(path, "t", effort="thorough")
    tried.add(Result(**{**survivor.__dict__, "tests": tried.tests}))
    assert Results(path, "t", effort="thorough").of(mutant, "s") == Results(path, "t").of(mutant, "s") is not None


def test_explained_survivors_are_counted_apart():
    some = [a_result("survived"), a_result("failed"), a_result("timeout"), a_result("survived", before="    a = c + b")]
    table = summary(some, [Explanation("f.py", "a = b + c", "sign", "c is 0")])
    assert "| maths | 4 | 2 | 1 | 1 | 1 |" in table
    assert "-a = c + b" in table
    assert "-a = b + c" not in table


def test_an_explanation_without_a_mutant_is_an_error(tmp_path):
    path = tmp_path / "explained.toml"
    path.write_text('[[survivor]]\nfile = "f.py"\nline = "return b + c"\noperator = "sign"\nreason = "c is 0"\n')
    assert read_explained(path, mutants_of("f.py", "def f(b, c):\n    return b + c\n"))
    with pytest.raises(SystemExit, match="no mutant matches"):
        read_explained(path, mutants_of("f.py", "def f(b, c):\n    return c + b\n"))


def test_the_explanations_of_the_project_match():
    read_explained(Path(__file__).with_name("explained.toml"), [m for many in all_mutants(ROOT).values() for m in many])


TOY = """
def total(values):
    n = 0
    while n < len(values):
        n += 1
    return n
"""


def test_workers_on_a_toy_project(tmp_path):
    """A mutant that fails, one that hangs, and the file as it was afterwards."""
    root, name = tmp_path / "root", "src/toy_of_mutants.py"
    for folder in ("src", "tests"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (root / name).write_text(TOY)
    (root / "tests/test_toy.py").write_text(
        "from toy_of_mutants import total\n\ndef test_total():\n    assert total([1, 2]) == 2\n"
    )
    mutants = {m.after.strip(): m for m in mutants_of(name, TOY)}
    texts = [TOY, *(mutants[line].applied(TOY) for line in ("n = 1", "n -= 1", "pass", "while n <= len(values):")), TOY]
    limits = [60.0, 60.0, 2.0, 2.0, 60.0, 60.0]  # of the two that hang; a busy machine does not count as hanging
    jobs = [Job(n, ("tests/test_toy.py",), limits[n], name if n else "", text) for n, text in enumerate(texts)]
    workers = Workers(root, tmp_path / "copies", 1)
    outcomes = {one.job.number: one for one in workers.run(jobs)}
    assert [outcomes[n].outcome for n in range(6)] == ["passed", "passed", "timeout", "timeout", "failed", "passed"]
    assert outcomes[4].by == "tests/test_toy.py::test_total"
    assert (tmp_path / "copies/copy-0" / name).read_text() == TOY


HUNGRY = """
import mmap

def use(bytes):
    with mmap.mmap(-1, 1 << 36, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS | 0x4000):
        room = bytearray(bytes)
    while len(room) > 1:
        pass
    return len(room)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is watched in /proc")
def test_a_child_may_reserve_address_space_and_not_use_memory_without_end(tmp_path, monkeypatch):
    root, name = tmp_path / "root", "src/hungry_of_mutants.py"
    for folder in ("src", "tests"):
        (root / folder).mkdir(parents=True)
    (root / "pyproject.toml").write_text("[tool.pytest.ini_options]\n")
    (root / name).write_text(HUNGRY)
    (root / "tests/test_hungry.py").write_text(
        "from hungry_of_mutants import use\n\ndef test_use():\n    assert use(1) == 1\n"
    )
    monkeypatch.setattr(warm, "MEMORY", warm._resident(os.getpid()) + (1 << 28))
    much = HUNGRY.replace("bytearray(bytes)", "bytearray(1 << 29)")
    jobs = [Job(n, ("tests/test_hungry.py",), 60.0, name, text) for n, text in enumerate((HUNGRY, much))]
    outcomes = list(Workers(root, tmp_path / "copies", 1).run(jobs))
    assert [one.outcome for one in outcomes] == ["passed", "crash"]
    assert outcomes[1].by == "tests/test_hungry.py (memory)"


def test_only_some_places_of_the_sample(capsys):
    main(["--list", "--per-family", "3", "--family", "maths"])
    places = [line.split()[1] for line in capsys.readouterr().out.splitlines() if line.startswith("maths: ")]
    assert len(places) == 3
    short = places[1].removeprefix("src/weft/")
    main(["--list", "--per-family", "3", "--family", "maths", "--only", short])
    assert [line.split()[1] for line in capsys.readouterr().out.splitlines() if ": " in line][:1] == [places[1]]
    main(["--list", "--per-family", "3", "--family", "maths", "--only", places[2], "--only", places[0]])
    assert len([line for line in capsys.readouterr().out.splitlines() if line.startswith("maths: ")]) == 2
    with pytest.raises(SystemExit, match=r"f\.py:1: the sample has no mutant there"):
        main(["--list", "--per-family", "3", "--family", "maths", "--only", "f.py:1"])
