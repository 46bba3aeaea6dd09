"""A graph of tasks from a file: CSV with one edge per line, or JSON as `weft.graphs.reading` reads it.

A line of CSV has two tasks, and perhaps a weight; a task alone on its line has no neighbours. Names are as in a CSV
file of events: `7` is the integer 7, `007` is text. The first line is a header if it says so: its third cell is
`weight`, or its first two are `task,task`, `task,neighbour`, `from,to` or `source,target`. Anything else is an edge.
"""

import csv
import json
import math
from pathlib import Path
from typing import Any

WORDS = ("complete", "none")
_HEADERS = {("task", "task"), ("task", "neighbour"), ("task", "neighbor"), ("from", "to"), ("source", "target")}


def read_graph(text: str) -> Any:
    """What `--graph` names: a word, or the graph of a file."""
    from weft.graphs.reading import parse

    if text in WORDS:
        return parse(text)
    path = Path(text)
    try:
        content = path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no file {text}; a graph is a CSV or JSON file, complete, or none") from None
    except UnicodeDecodeError:
        raise ValueError(f"{text} is not UTF-8; write the graph in UTF-8") from None
    if path.suffix.lower() == ".json":
        return _from_json(text, content)
    return _from_csv(text, content)


def _from_json(name: str, content: str) -> Any:
    from weft.graphs.reading import parse

    try:
        data = json.loads(content)
    except json.JSONDecodeError as error:
        raise ValueError(f"{name}, line {error.lineno}: this is not JSON ({error.msg})") from None
    except RecursionError:
        raise ValueError(f"{name}: lists are nested too deeply; write edges as pairs of names") from None
    if not isinstance(data, dict):
        raise ValueError(
            f'{name}, line 1: a graph in JSON is an object such as {{"edges": [["ann", "bob"]]}} or '
            f'{{"cliques": [["ann", "bob"], ["eve"]]}}, not {"a list" if isinstance(data, list) else json.dumps(data)}'
        )
    try:
        return parse(data)
    except ValueError as error:
        raise ValueError(f"{name}: {error}") from None


def _from_csv(name: str, content: str) -> Any:
    from weft.graphs.reading import parse

    edges: dict[frozenset[Any], tuple[Any, ...]] = {}
    tasks: dict[Any, None] = {}
    first_of: dict[frozenset[Any], int] = {}
    rows = csv.reader(content.splitlines())
    first = True
    for cells in rows:
        place = f"{name}, line {rows.line_num}"
        row = [cell.strip() for cell in cells]
        while row and not row[-1]:
            row.pop()
        if not row:
            continue
        if first and _is_header(row):
            first = False
            continue
        first = False
        ends, weight = _edge(row, place)
        tasks.update(dict.fromkeys(ends))
        pair = frozenset(ends)
        if len(ends) == 1:
            continue
        if len(pair) == 1:
            raise ValueError(f"{place}: {row[0]} is joined to itself; an edge joins two different tasks")
        if pair in edges:
            raise ValueError(
                f"{place}: {row[0]} and {row[1]} are joined already in line {first_of[pair]}; give every pair once"
            )
        edges[pair], first_of[pair] = (*ends, weight), rows.line_num
    if not tasks:
        raise ValueError(f"{name} has no edges; write two tasks per line, or use --graph none")
    return parse({"edges": list(edges.values()), "tasks": list(tasks)})


def _is_header(row: list[str]) -> bool:
    words = [cell.lower() for cell in row]
    return (len(words) == 3 and words[2] == "weight") or tuple(words) in _HEADERS


def _edge(row: list[str], place: str) -> tuple[list[Any], float]:
    """The tasks of a line, and its weight."""
    from weft.streams.records import name_of

    if len(row) > 3:
        raise ValueError(f"{place}: {len(row)} cells; an edge is two tasks, and perhaps a weight")
    if not row[0] or (len(row) > 1 and not row[1]):
        raise ValueError(f"{place}: a task is missing; an edge is two tasks, and perhaps a weight")
    ends = [name_of(cell) for cell in row[:2]]
    if len(row) < 3:
        return ends, 1.0
    try:
        weight = float(row[2])
    except ValueError:
        weight = math.nan
    if not 0.0 <= weight < math.inf:
        raise ValueError(f"{place}: the weight {row[2]!r} must be a finite number >= 0 (a header ends in weight)")
    return ends, weight
