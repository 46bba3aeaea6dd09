"""The key of a cell: a digest of the code that it runs, of the data that it reads, and of its settings.

The code is everything that `run` can reach: the definitions of its own module that it uses, by name, every module of
weft or of this package that these import, directly or not, and the modules of the learners that the settings name. What
only the report uses does not count, nor do comments and docstrings: rewording a claim does not run anything again.
"""

import ast
import hashlib
import json
from collections.abc import Iterable, Iterator
from functools import lru_cache
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import weft
from weft.learners.catalogue import PLACES
from weft.streams.known import describe
from weft_reproduction.experiment import Experiment, Settings

_LAZY: dict[str, str] = weft._HOMES
"""Where the names live that `import weft` loads when they are used."""

_ROOTS = {"weft": Path(weft.__file__).parent, "weft_reproduction": Path(__file__).parent}
"""The packages whose sources count."""


def key(experiment: Experiment, settings: Settings) -> str:
    """The name under which the figures of a cell are kept."""
    told = {
        "experiment": experiment.name,
        "code": code_digest(experiment, settings),
        "data": {name: describe(name).sha256 for name in experiment.data},
        "settings": settings,
    }
    text = json.dumps(told, sort_keys=True, ensure_ascii=True, allow_nan=False)
    return hashlib.sha256(text.encode()).hexdigest()[:32]


def code_digest(experiment: Experiment, settings: Settings) -> str:
    """A digest of the sources that a cell with these settings runs."""
    return _digest(experiment.run.__module__, experiment.run.__qualname__, tuple(sorted(_learner_modules(settings))))


def _learner_modules(settings: Settings) -> set[str]:
    """Modules of the learners that are named; of all, if a name is not in the catalogue."""
    named = [settings["learner"]] if "learner" in settings else []
    named += settings.get("learners", [])
    if all(isinstance(name, str) and name in PLACES for name in named):
        places = {PLACES[name] for name in named}
    else:
        places = set(PLACES.values())
    return {f"weft.learners.{place.rsplit('.', 1)[0]}" for place in places}


@lru_cache(maxsize=1024)
def _digest(module: str, function: str, learners: tuple[str, ...]) -> str:
    used = _used(_tree(_path(module)), function)
    texts = {module: "\n".join(ast.unparse(node) for node in used)}
    for name in sorted(_closure({*_imports(used), *learners} - {module})):
        texts[name] = _facts(_path(name)).text
    return hashlib.sha256(json.dumps(texts, sort_keys=True).encode()).hexdigest()


def sources(experiment: Experiment, settings: Settings) -> list[str]:
    """The modules that a cell runs, its own left out."""
    module = experiment.run.__module__
    found = _imports(_used(_tree(_path(module)), experiment.run.__qualname__)) | _learner_modules(settings)
    return sorted(_closure(found - {module}))


def _closure(modules: set[str]) -> set[str]:
    """These modules, and all that they import, directly or not."""
    reached: set[str] = set()
    wanted = set(modules)
    while wanted:
        name = wanted.pop()
        if name not in reached:
            reached.add(name)
            wanted |= _facts(_path(name)).imports
    return reached


# --- what a module uses ---


def _used(tree: ast.Module, function: str) -> list[ast.stmt]:
    """The statements of a module that a function reaches by the names in them, in their order."""
    homes: dict[str, list[int]] = {}
    wanted: list[int] = []
    for at, node in enumerate(tree.body):
        names = list(_defined(node))
        for name in names:
            homes.setdefault(name, []).append(at)
        if not names:  # a statement that only acts
            wanted.append(at)
    wanted += homes.get(function.split(".")[0], [])
    reached: set[int] = set()
    while wanted:
        at = wanted.pop()
        if at not in reached:
            reached.add(at)
            named = [node.id for node in ast.walk(tree.body[at]) if isinstance(node, ast.Name)]
            wanted += [home for name in named for home in homes.get(name, [])]
    return [tree.body[at] for at in sorted(reached)]


def _defined(node: ast.stmt) -> Iterator[str]:
    """The names that a statement gives a meaning."""
    if isinstance(node, ast.FunctionDef | ast.ClassDef | ast.AsyncFunctionDef):
        yield node.name
    elif isinstance(node, ast.Import | ast.ImportFrom):
        for alias in node.names:
            yield alias.asname or alias.name.split(".")[0]
    elif isinstance(node, ast.Assign | ast.AnnAssign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        for target in targets:
            for part in ast.walk(target):
                if isinstance(part, ast.Name):
                    yield part.id


def _statements(nodes: Iterable[ast.AST]) -> Iterator[ast.AST]:
    """All statements, at any depth; expressions, which are most of a tree, are left out."""
    for node in nodes:
        yield node
        for part in ("body", "orelse", "finalbody", "handlers", "cases"):
            inner = getattr(node, part, None)
            if isinstance(inner, list):
                yield from _statements(inner)


def _imports(nodes: Iterable[ast.AST]) -> set[str]:
    """Modules of either package that are imported anywhere in these statements."""
    found: set[str] = set()
    nodes = list(nodes)
    for node in _statements(nodes):
        if isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
            found.add(node.module)
            for alias in node.names:
                found |= _member(alias.name) if node.module == "weft" else {f"{node.module}.{alias.name}"}
    if "weft" in found:  # what `weft.Model` means
        for top in nodes:
            for part in ast.walk(top):
                if isinstance(part, ast.Attribute) and isinstance(part.value, ast.Name) and part.value.id == "weft":
                    found |= _member(part.attr)
    return {name for name in found if name.split(".")[0] in _ROOTS and _file(name)}


def _member(name: str) -> set[str]:
    """Where a name of the package lives: in a module that is loaded when it is used, or it is a module."""
    return {_LAZY.get(name, "weft"), f"weft.{name}"}


# --- files ---


class _Facts(NamedTuple):
    """What counts about a source."""

    text: str
    imports: frozenset[str]


def _path(module: str) -> Path:
    path = _file(module) if module.split(".")[0] in _ROOTS else _outside(module)
    if path is None:
        raise ValueError(f"the source of {module} is not here, so that its results could not be kept")
    return path


@lru_cache(maxsize=4096)
def _file(module: str) -> Path | None:
    """The source of a module of either package; packages are their `__init__`."""
    root, *parts = module.split(".")
    here = _ROOTS[root].joinpath(*parts)
    for path in (here.with_suffix(".py"), here / "__init__.py"):
        if path.is_file():
            return path
    return None


def _outside(module: str) -> Path | None:
    spec = find_spec(module)
    return Path(spec.origin) if spec and spec.origin else None


def _tree(path: Path) -> ast.Module:
    """A source without its docstrings, those behind constants included; comments are gone with the parsing."""
    tree = ast.parse(path.read_text(encoding="utf-8"))
    for node in _statements([tree]):
        if isinstance(node, ast.Module | ast.FunctionDef | ast.ClassDef):
            node.body = [part for part in node.body if not _is_text(part)] or [ast.Pass()]
    return tree


def _is_text(node: ast.stmt) -> bool:
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and isinstance(node.value.value, str)


@lru_cache(maxsize=1024)
def _facts(path: Path) -> _Facts:
    tree = _tree(path)
    return _Facts(ast.unparse(tree), frozenset(_imports([tree])))
