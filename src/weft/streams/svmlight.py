"""SVMlight lines: `label qid:TASK index:value ... # comment`. Features are numbered, the qid is the task.

The careful reader: it reads what `weft.scan.svmlight` hands on, and says what is wrong with a line.
"""

import re

from weft.names import Name
from weft.streams.records import Block, Fault, Refused, Rules, check_row, number_of, show, task_of

_LINE = re.compile(r"([^\s:]+)\s+qid:(\S+)((?:\s+[0-9]+:[^\s:]+)*)\s*")
_LARGEST = 2**31


class Parser:
    """Lines to records."""

    has_rounds = False
    is_ready = True

    def __init__(self, rules: Rules) -> None:
        self.rules = rules

    def parse(self, numbers: list[int], lines: list[bytes]) -> Block:
        """The records of lines, given with their numbers."""
        block = Block()
        for number, line in zip(numbers, lines, strict=True):
            try:
                text = line.decode("utf-8").split("#", 1)[0].strip()
                if text:
                    label, task, features = _split(text)
                    y, row = number_of("y", label, self.rules.write), _row(features)
                    block.tasks.append(task_of(task, "qid"))
                    block.labels.append(y)
                    block.rows.append(row)
                    block.lines.append(number)
            except UnicodeDecodeError:
                block.faults.append(Fault(number, None, "the line is not UTF-8; write the file in UTF-8"))
            except Refused as refused:
                block.faults.append(Fault(number, refused.field, refused.reason))
        return block


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


def _row(text: str) -> dict[Name, float]:
    row: dict[Name, float] = {}
    for word in text.split():
        index, _, value = word.partition(":")
        if len(index) > 20 or int(index) >= _LARGEST:
            raise Refused(index[:20], f"the index of {show(word)} is too large; write indices below {_LARGEST}")
        found = number_of(index, value, "write a number, or leave the feature out")
        if int(index) in row:
            raise Refused(index, f"the feature appears twice, again with {show(value)}; add the values up or keep one")
        row[int(index)] = found
    check_row(row)
    return row
