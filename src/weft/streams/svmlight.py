"""SVMlight lines: `label qid:TASK index:value ... # comment`. Features are numbered, the qid is the task."""

import re
from typing import Any

import numpy as np

from weft.names import Name
from weft.streams.records import Block, Fault, Refused, Rules, name_of, show

_LINE = re.compile(r"([^\s:]+)\s+qid:(\S+)((?:\s+\d+:[^\s:]+)*)\s*")
_LARGEST = 2**31


class Parser:
    """Lines to blocks. One pattern checks the form of a line; the numbers of all lines are read at once."""

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    @property
    def ready(self) -> bool:
        """Always true: every line is complete in itself."""
        return True

    def parse(self, first: int, lines: list[bytes]) -> Block:
        """The records of lines that begin at line number `first`."""
        numbers: list[int] = []
        parts: list[tuple[str, str, str]] = []
        faults: list[Fault] = []
        for number, line in enumerate(lines, first):
            try:
                text = line.decode("utf-8").split("#", 1)[0].strip()
                if text:
                    parts.append(_split(text))
                    numbers.append(number)
            except UnicodeDecodeError:
                faults.append(Fault(number, None, "the line is not UTF-8; write the file in UTF-8"))
            except Refused as refused:
                faults.append(Fault(number, refused.field, refused.reason))
        return self._block(numbers, parts, faults)

    def _block(self, numbers: list[int], parts: list[tuple[str, str, str]], faults: list[Fault]) -> Block:
        if not parts:
            return Block([], [], np.zeros(0), None, [], faults)
        try:
            X = _rows([features for _, _, features in parts])
            y = np.array([label for label, _, _ in parts], np.float64)
            if not np.all(np.isfinite(y)):
                raise ValueError("not finite")
        except (ValueError, OverflowError):
            good, bad = self._find_bad(numbers, parts)
            if not bad:
                raise
            return self._block([numbers[i] for i in good], [parts[i] for i in good], faults + bad)
        tasks: list[Name] = [name_of(task) for _, task, _ in parts]
        return Block(numbers, tasks, y, None, X, faults)

    def _find_bad(self, numbers: list[int], parts: list[tuple[str, str, str]]) -> tuple[list[int], list[Fault]]:
        good, bad = [], []
        for i, (number, (label, _, features)) in enumerate(zip(numbers, parts, strict=True)):
            try:
                _number("y", label, self.rules.write)
                _check_features(features)
                good.append(i)
            except Refused as refused:
                bad.append(Fault(number, refused.field, refused.reason))
        return good, bad


def _split(text: str) -> tuple[str, str, str]:
    """Label, task and the text of the features."""
    match = _LINE.fullmatch(text)
    if match:
        return match[1], match[2], match[3]
    words = text.split()
    if len(words) < 2 or not words[1].startswith("qid:") or words[1] == "qid:":
        found = show(words[1]) if len(words) > 1 else "nothing"
        raise Refused("qid", f"{found} instead of the task; write label qid:TASK index:value ...")
    for word in words[2:]:
        index, colon, value = word.partition(":")
        if not (index.isascii() and index.isdigit() and colon and value and ":" not in value):
            raise Refused(index or None, f"{show(word)} is not a feature; write index:value with an integer as index")
    raise Refused("y", f"{show(words[0])} is not a number; write label qid:TASK index:value ...")


def _rows(features: list[str]) -> Any:
    """All features of a block as a CSR array; ValueError if one cannot be read."""
    words = " ".join(features).replace(":", " ").split()
    indices, values = np.array(words[::2], np.int64), np.array(words[1::2], np.float64)
    indptr = np.concatenate([[0], np.cumsum([text.count(":") for text in features])]).astype(np.int64)
    if (len(indices) and int(indices.max()) >= _LARGEST) or not np.all(np.isfinite(values)):
        raise ValueError("index or value out of range")
    row = np.repeat(np.arange(len(features)), np.diff(indptr))
    order = np.lexsort((indices, row))
    if np.any((np.diff(indices[order]) == 0) & (np.diff(row[order]) == 0)):
        raise ValueError("a feature appears twice")
    width = int(indices.max()) + 1 if len(indices) else 0
    from scipy import sparse

    return sparse.csr_array((values, indices, indptr), shape=(len(features), width))


def _check_features(text: str) -> None:
    seen: set[int] = set()
    for word in text.split():
        index, _, value = word.partition(":")
        if int(index) >= _LARGEST:
            raise Refused(index, f"the index of {show(word)} is too large; write indices below {_LARGEST}")
        _number(index, value, "write a number, or leave the feature out")
        if int(index) in seen:
            raise Refused(index, f"the feature appears twice, again with {show(value)}; add the values up or keep one")
        seen.add(int(index))


def _number(where: str, text: str, remedy: str) -> None:
    try:
        value = float(text)
    except ValueError:
        raise Refused(where, f"{show(text)} is not a number; {remedy}") from None
    if not np.isfinite(value):
        raise Refused(where, f"{show(text)} is not finite; {remedy}")
