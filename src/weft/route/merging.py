"""Answers of several shards as one: tasks, figures."""

import re
from typing import Any

from weft.cluster.placement import virtual_shard
from weft.serve.entries import as_task

_SAMPLE = re.compile(r"([a-zA-Z_:][a-zA-Z0-9_:]*)(\{.*\})? (.+)")


def merged_tasks(answers: dict[str, Any], owners: list[str], limit: int, sort: str) -> dict[str, Any]:
    """The lists of shards as one list, in the order that was asked for.

    A task that has moved is listed where it is now, also while the shard that had it has not forgotten it yet.
    """
    rows, left_over = [], 0
    for name, answer in answers.items():
        for row in answer["tasks"]:
            if owners[virtual_shard(as_task(row["task"]))] == name:
                rows.append(row)
            else:
                left_over += 1
    field = sort.removeprefix("-")
    rows.sort(key=lambda row: _key(row, field), reverse=sort.startswith("-"))
    total = sum(answer["total"] for answer in answers.values()) - left_over
    return {
        "tasks": rows[:limit],
        "total": total,
        "seq": max((answer["seq"] for answer in answers.values()), default=0),
    }


def _key(row: dict[str, Any], field: str) -> Any:
    """As a shard sorts: names by their text; what is unknown comes before every number."""
    if field == "task":
        return str(as_task(row["task"]))
    value = row.get(field)
    return -1.0 if value is None else value


def merged_metrics(texts: dict[str, str]) -> list[str]:
    """The figures of all shards, each with the label `shard`, and what a figure means once."""
    heads: dict[str, list[str]] = {}
    samples: dict[str, list[str]] = {}
    for name, text in texts.items():
        label = f'shard="{escaped(name)}"'
        current = ""
        for line in text.splitlines():
            if line.startswith("# HELP "):
                current = line.split(" ")[2]
                heads.setdefault(current, [line])
            elif line.startswith("# TYPE "):
                if len(heads[current]) < 2:
                    heads[current].append(line)
            elif found := _SAMPLE.fullmatch(line):
                inner = f"{found[2][1:-1]}," if found[2] else ""
                samples.setdefault(current, []).append(f"{found[1]}{{{inner}{label}}} {found[3]}")
    return [line for name, lines in samples.items() for line in [*heads[name], *lines]]


def escaped(text: str) -> str:
    """The value of a label."""
    return text.replace("\\", "\\\\").replace('"', '\\"').replace("\n", "\\n")
