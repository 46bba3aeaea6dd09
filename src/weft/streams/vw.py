"""Vowpal Wabbit text: `label importance 'tag|namespace name:value name ... |namespace ...`.

The careful reader: it reads what `weft.scan.vw` hands on. The task is the one name in the namespace that is
called so, or else the tag. A feature without a value is 1; the values of a name that appears twice are added up; a
namespace may have a value that multiplies those of its features.
"""

import re

from weft.encoding.careful import weight_of
from weft.names import Name
from weft.streams.records import (
    MISSING,
    Block,
    Fault,
    Refused,
    Rules,
    check_row,
    name_of,
    number_of,
    show,
    task_of,
)

PLAIN_SPACES = ("", "x")
"""Namespaces whose features are known by their own names; others are known as namespace^name."""

WEIGHT = "importance weight"
_BLANKS = re.compile(r"[ \t]+")


class Parser:
    """Lines to records."""

    has_rounds = False
    is_ready = True

    def __init__(self, rules: Rules, space: str) -> None:
        self.rules = rules
        self.space = space
        """The namespace that names the task."""

    def parse(self, numbers: list[int], lines: list[bytes]) -> Block:
        """The records of lines, given with their numbers."""
        block = Block()
        for number, line in zip(numbers, lines, strict=True):
            try:
                text = line.decode("utf-8").rstrip("\r\n").strip(" \t")
                if text:
                    self._add(block, text)
                    block.lines.append(number)
            except UnicodeDecodeError:
                block.faults.append(Fault(number, None, "the line is not UTF-8; write the file in UTF-8"))
            except Refused as refused:
                block.faults.append(Fault(number, refused.field, refused.reason))
        if all(weight == 1.0 for weight in block.weights):
            block.weights.clear()  # as in lines that have none
        return block

    def _add(self, block: Block, text: str) -> None:
        head, *spaces = text.split("|")
        if not spaces:
            raise Refused(None, f"{show(text)} has no bar; write label 'TASK | name:value ...")
        label, weight, tag = self._head(head)
        row: dict[Name, float] = {}
        for space in spaces:
            name, *words = _BLANKS.split(space.rstrip(" \t"))
            name, colon, factor = name.partition(":")
            scale = number_of(name, factor, "write a number, or no colon") if colon else 1.0
            if name == self.space and name:
                if len(words) != 1 or ":" in words[0] or not words[0]:
                    raise Refused(name, f"{show(' '.join(words))} is not one task; write its name and nothing else")
                tag = words[0]
            else:
                _add_features(row, "" if name in PLAIN_SPACES else f"{name}^", words, scale)
        check_row(row)
        if not tag:
            remedy = f"write it as the tag, such as 1 'ann | ..., or as |{self.space} ann, and name that with --task"
            raise Refused("task", f"the task is missing; {remedy}")
        task = task_of(tag, "task")
        block.tasks.append(task)
        block.labels.append(label)
        block.weights.append(weight)
        block.rows.append(row)

    def _head(self, head: str) -> tuple[float, float, str]:
        """Label, importance weight and tag of what is before the first bar."""
        is_attached = bool(head) and head[-1] not in " \t"
        words = head.split()
        tag = ""
        if words and (words[-1].startswith("'") or (is_attached and len(words) > 1)):
            tag = words.pop().removeprefix("'")
        if not words:
            return MISSING, 1.0, tag
        label = number_of("y", words[0], self.rules.write)
        weight = weight_of(WEIGHT, number_of(WEIGHT, words[1], "write a number from 0 on")) if words[1:] else 1.0
        if words[2:] and number_of("initial score", words[2], "write 0, or leave it out") != 0.0:
            raise Refused("initial score", f"{show(words[2])} is not supported; write 0, or leave it out")
        if len(words) > 3:
            raise Refused(None, f"{show(' '.join(words))} is not a label; write label 'TASK | name:value ...")
        return label, weight, tag


def _add_features(row: dict[Name, float], prefix: str, words: list[str], scale: float) -> None:
    for word in words:
        if not word:
            continue
        name, colon, text = word.partition(":")
        if not name:
            raise Refused(None, f"{show(word)} is a feature without a name; write name:value")
        value = number_of(name, text, "write a number, or leave the feature out") if colon else 1.0
        full = name_of(prefix + name)
        row[full] = row[full] + value * scale if full in row else value * scale
