"""Single changes to the text of a source file, found in its syntax tree.

Every mutant changes one line. Left out is what has no effect on results, or none in plain mode: docstrings,
annotations, `raise` and `assert` statements, functions that return text, prefetching, and both branches of `if PLAIN`.
"""

import ast
from collections import Counter
from dataclasses import dataclass, replace

from mutants.syntax import (
    PREFETCHING,
    is_plain,
    is_text,
    name_of,
    only_prefetches,
    only_prefetching,
    prefetches,
    returns_text,
    set_more_than_once,
)

OPERATORS = ("compare", "sign", "product", "constant", "index", "drop", "minmax", "andor", "negate")

_COMPARISONS = {
    ast.Lt: ("<", "<="),
    ast.LtE: ("<=", "<"),
    ast.Gt: (">", ">="),
    ast.GtE: (">=", ">"),
    ast.Eq: ("==", "!="),
    ast.NotEq: ("!=", "=="),
}
_BINARY = {
    ast.Add: ("sign", "+", "-"),
    ast.Sub: ("sign", "-", "+"),
    ast.Mult: ("product", "*", "/"),
    ast.Div: ("product", "/", "*"),
}
_SWAPPED = {"min": "max", "max": "min", "minimum": "maximum", "maximum": "minimum"}


@dataclass(frozen=True)
class Mutant:
    """One change: line `before`, in which columns `begin` to `end` are replaced, becomes `after`."""

    file: str
    line: int
    begin: int
    end: int
    operator: str
    function: str
    before: str
    after: str
    nth: int = 0

    @property
    def key(self) -> str:
        """What stays the same when other lines of the file change."""
        return "|".join(
            (self.file, self.function, self.operator, self.before.strip(), self.after.strip(), str(self.nth))
        )

    def applied(self, text: str) -> str:
        """The file with the change."""
        lines = text.splitlines(keepends=True)
        assert lines[self.line - 1].rstrip("\n") == self.before, "the file is not the one in which the mutant was found"
        lines[self.line - 1] = self.after + "\n"
        return "".join(lines)


def mutants_of(file: str, text: str) -> list[Mutant]:
    """All mutants of a file, in the order of the text; a few may not be Python (`is_python`)."""
    finder = _Finder(file, text)
    finder.visit(ast.parse(text))
    found, seen = [], Counter[str]()
    for mutant in sorted(finder.found, key=lambda m: (m.line, m.begin, m.operator, m.after)):
        seen[mutant.key] += 1
        found.append(replace(mutant, nth=seen[mutant.key] - 1))
    return found


def is_python(mutant: Mutant, text: str) -> bool:
    """Does the file with the change compile?"""
    try:
        compile(mutant.applied(text), mutant.file, "exec")
    except SyntaxError:
        return False
    return True


class _Finder(ast.NodeVisitor):
    """Walks a module; only what lies in a function is changed."""

    def __init__(self, file: str, text: str) -> None:
        self.file, self.lines = file, text.splitlines()
        self.functions: list[str] = []
        self.settable: list[set[str]] = []
        self.found: list[Mutant] = []

    # What is found

    def _column(self, line: int, offset: int) -> int:
        """The tree counts columns in bytes of UTF-8."""
        return len(self.lines[line - 1].encode()[:offset].decode())

    def _change(self, operator: str, line: int, begin: int, end: int, new: str) -> None:
        before = self.lines[line - 1]
        after = before[:begin] + new + before[end:]
        if self.functions and after != before:
            name = ".".join(self.functions)
            self.found.append(Mutant(self.file, line, begin, end, operator, name, before, after))

    def _replace(self, operator: str, node: ast.expr | ast.stmt, new: str) -> None:
        """Nodes on one line only."""
        if node.end_lineno == node.lineno and node.end_col_offset is not None:
            begin, end = (self._column(node.lineno, at) for at in (node.col_offset, node.end_col_offset))
            self._change(operator, node.lineno, begin, end, new)

    def _between(self, operator: str, left: ast.expr, right: ast.expr, old: str, new: str) -> None:
        """A sign between two nodes; brackets and line ends may lie between them as well."""
        assert left.end_lineno is not None
        assert left.end_col_offset is not None
        for line in range(left.end_lineno, right.lineno + 1):
            text = self.lines[line - 1]
            begin = self._column(line, left.end_col_offset) if line == left.end_lineno else 0
            end = self._column(line, right.col_offset) if line == right.lineno else len(text.split("#")[0])
            at = text.find(old, begin, end)
            if at >= 0:
                self._change(operator, line, at, at + len(old), new)
                return

    def _text(self, node: ast.expr) -> str:
        assert node.end_col_offset is not None
        line = self.lines[node.lineno - 1]
        return line[self._column(node.lineno, node.col_offset) : self._column(node.lineno, node.end_col_offset)]

    # What is passed over

    def visit_FunctionDef(self, node: ast.FunctionDef) -> None:
        if PREFETCHING.match(node.name) or node.name.startswith("_expect") or returns_text(node):
            return
        self.functions.append(node.name)
        self.settable.append(set_more_than_once(node))
        for statement in node.body:
            self.visit(statement)
        self.functions.pop()
        self.settable.pop()

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        self.functions.append(node.name)
        for statement in node.body:
            if isinstance(statement, ast.FunctionDef | ast.ClassDef):
                self.visit(statement)
        self.functions.pop()

    def visit_Raise(self, node: ast.Raise) -> None:
        """Tests of refusals look at the condition; the message is text."""

    def visit_Assert(self, node: ast.Assert) -> None:
        """Asserted is what is so."""

    def visit_JoinedStr(self, node: ast.JoinedStr) -> None:
        """Text."""

    # What is changed

    def visit_If(self, node: ast.If) -> None:
        if is_plain(node.test) or only_prefetches(node):
            return
        self._negated(node.test)
        self.generic_visit(node)

    def visit_For(self, node: ast.For) -> None:
        if not only_prefetches(node):
            self.generic_visit(node)

    def visit_IfExp(self, node: ast.IfExp) -> None:
        if is_plain(node.test):
            return
        self._negated(node.test)
        self.generic_visit(node)

    def _negated(self, test: ast.expr) -> None:
        if test.lineno != test.end_lineno:
            return
        simple = isinstance(test, ast.Name | ast.Attribute | ast.Subscript | ast.Call)
        if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
            self._replace("negate", test, self._text(test.operand))
        elif not (isinstance(test, ast.Compare) and isinstance(test.ops[0], ast.Eq | ast.NotEq)):  # `compare` has those
            self._replace("negate", test, f"not {self._text(test)}" if simple else f"not ({self._text(test)})")

    def visit_Compare(self, node: ast.Compare) -> None:
        for left, op, right in zip([node.left, *node.comparators], node.ops, node.comparators, strict=False):
            if type(op) in _COMPARISONS:
                self._between("compare", left, right, *_COMPARISONS[type(op)])
        self.generic_visit(node)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        if type(node.op) in _BINARY and not any(is_text(side) for side in (node.left, node.right)):
            operator, old, new = _BINARY[type(node.op)]
            self._between(operator, node.left, node.right, old, new)
        self.generic_visit(node)

    def visit_UnaryOp(self, node: ast.UnaryOp) -> None:
        if isinstance(node.op, ast.USub) and node.lineno == node.operand.lineno:
            begin = self._column(node.lineno, node.col_offset)
            self._change("sign", node.lineno, begin, begin + 1, "")
        self.generic_visit(node)

    def visit_BoolOp(self, node: ast.BoolOp) -> None:
        old, new = ("and", "or") if isinstance(node.op, ast.And) else ("or", "and")
        for left, right in zip(node.values, node.values[1:], strict=False):
            self._between("andor", left, right, old, new)
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        value = node.value
        if isinstance(value, bool):
            self._replace("constant", node, str(not value))
        elif isinstance(value, int):
            self._replace("constant", node, str(value + 1))
        elif isinstance(value, float):
            self._replace("constant", node, repr(2.0 * value if value else 1.0))

    def visit_Call(self, node: ast.Call) -> None:
        name = name_of(node.func)
        if prefetches(node) or name in ("warn", "isinstance", "cast"):
            return
        if name in _SWAPPED and (isinstance(node.func, ast.Name) or len(node.args) == 2):
            end = node.func.end_col_offset
            assert end is not None
            assert node.func.end_lineno is not None
            column = self._column(node.func.end_lineno, end)
            self._change("minmax", node.func.end_lineno, column - len(name), column, _SWAPPED[name])
        self.generic_visit(node)

    def visit_keyword(self, node: ast.keyword) -> None:
        """`zip(..., strict=True)` asserts what is so."""
        if node.arg != "strict":
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        places = node.slice.elts if isinstance(node.slice, ast.Tuple) else [node.slice]
        for place in places:
            if isinstance(place, ast.Name | ast.Attribute | ast.Call | ast.Subscript | ast.BinOp):
                weak = isinstance(place, ast.BinOp) and not isinstance(
                    place.op, ast.Add | ast.Sub | ast.Mult | ast.FloorDiv
                )
                text = f"({self._text(place)})" if weak else self._text(place)
                for change in (" + 1", " - 1"):
                    self._replace("index", place, text + change)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        if only_prefetching(node.targets):
            return
        if all(self._may_be_dropped(target) for target in node.targets):
            self._replace("drop", node, "pass")
        self.generic_visit(node)

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._replace("drop", node, "pass")
        if type(node.op) in _BINARY and not is_text(node.value):
            operator, old, new = _BINARY[type(node.op)]
            self._between(operator, node.target, node.value, f"{old}=", f"{new}=")
        self.generic_visit(node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> None:
        if node.value is not None:
            self.visit(node.value)

    def visit_Expr(self, node: ast.Expr) -> None:
        if isinstance(node.value, ast.Call) and not prefetches(node.value):
            self._replace("drop", node, "pass")
            self.visit(node.value)

    def _may_be_dropped(self, target: ast.expr) -> bool:
        """Without its only assignment a name does not exist, which every test would see."""
        if isinstance(target, ast.Tuple):
            return all(self._may_be_dropped(one) for one in target.elts)
        if isinstance(target, ast.Name):
            return bool(self.settable) and target.id in self.settable[-1]
        return isinstance(target, ast.Subscript | ast.Attribute)
