"""What a piece of syntax is, as far as mutants are concerned: text, prefetching, a branch of plain mode."""

import ast
import re
from collections import Counter
from collections.abc import Iterator

PREFETCHING = re.compile(r"_?(ask|asked|prefetch|next_row|next_table_row|coming|upcoming|hold)(_|$)")
"""Names of functions and variables that only serve prefetching, or keep arrays alive."""

_TEXT = (ast.JoinedStr, ast.List, ast.Tuple, ast.ListComp, ast.Starred)


def name_of(node: ast.expr) -> str:
    return node.attr if isinstance(node, ast.Attribute) else node.id if isinstance(node, ast.Name) else ""


def is_plain(test: ast.expr) -> bool:
    return any(isinstance(node, ast.Name) and node.id in ("PLAIN", "TYPE_CHECKING") for node in ast.walk(test))


def is_text(node: ast.expr) -> bool:
    return isinstance(node, _TEXT) or (isinstance(node, ast.Constant) and isinstance(node.value, str | bytes))


def returns_text(node: ast.FunctionDef) -> bool:
    return isinstance(node.returns, ast.Name) and node.returns.id in ("str", "NoReturn")


def only_prefetches(node: ast.stmt) -> bool:
    """A condition or a loop around nothing but prefetching has no effect on results."""
    if isinstance(node, ast.If | ast.For):
        return all(only_prefetches(inner) for inner in [*node.body, *node.orelse])
    return isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) and prefetches(node.value)


def prefetches(call: ast.Call) -> bool:
    return bool(PREFETCHING.match(name_of(call.func)))


def only_prefetching(targets: list[ast.expr]) -> bool:
    return all(isinstance(target, ast.Name) and PREFETCHING.match(target.id) for target in targets)


def set_more_than_once(function: ast.FunctionDef) -> set[str]:
    """Arguments that are set, and names that are set twice."""
    arguments = function.args
    count = Counter(a.arg for a in [*arguments.posonlyargs, *arguments.args, *arguments.kwonlyargs])
    count.update(name.id for name in _names_set(function))
    return {name for name, times in count.items() if times > 1}


def _names_set(function: ast.FunctionDef) -> Iterator[ast.Name]:
    for node in ast.walk(function):
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node
