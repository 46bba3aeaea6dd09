"""Options that several commands share, and the values that people type."""

import functools
import json
import os
import shlex
import shutil
import sys
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, TypeVar

import click

from weft.cli.schema_options import schema_options, split_names, told_fields
from weft.text.printable import printable

Function = TypeVar("Function", bound=Callable[..., Any])


def program() -> str:
    """How to call weft again: by its name if the shell finds it, else by the path of the script that runs."""
    script = sys.argv[0]
    if shutil.which("weft") or os.path.basename(script) != "weft":
        return "weft"
    return shlex.quote(os.path.relpath(script))


def example(*lines: str) -> str:
    """The end of a help text: commands that can be run as they stand."""
    return "\b\nExample:\n" + "\n".join(f"  {line}" for line in lines)


@dataclass(frozen=True)
class Reading:
    """How a file of events is read: the keywords of `weft.streams.read_chunks` that a user chooses."""

    format: str | None = None
    task: str | None = None
    label: str | None = None
    on_error: Any = "stop"
    fields: dict[str, Any] = field(default_factory=dict)
    """What options say about fields of records, without the task and the label: keywords of a schema."""
    separator: str | None = None
    decimal: str | None = None

    @property
    def task_column(self) -> str:
        """The column of the task in a table without a schema."""
        return self.task or "task"

    @property
    def label_column(self) -> str:
        """The column of the label in a table without a schema."""
        return self.label or "y"

    @property
    def told(self) -> dict[str, Any]:
        """The keywords of a schema that options say."""
        named: dict[str, Any] = {} if self.label is None else {"label": self.label}
        if self.task is not None:
            names = split_names(self.task)
            named["task"] = names[0] if len(names) == 1 else names
        return named | self.fields

    @property
    def has_only_fields(self) -> bool:
        """Is anything said that only records with a schema have?"""
        return bool(self.fields)

    @property
    def keywords(self) -> dict[str, Any]:
        """As `read_chunks` takes them."""
        return {
            "format": self.format,
            "task_column": self.task_column,
            "label_column": self.label_column,
            "on_error": self.on_error,
            "separator": self.separator,
            "decimal": self.decimal,
        }

    def again(self, schema: Any = None) -> list[str]:
        """The options that say the same, without those that are the default; with those of a schema that was found."""
        from weft.schema import Schema

        words = ["--format", self.format] if self.format else []
        words += ["--on-error", self.on_error] if self.on_error != "stop" else []
        words += ["--separator", "tab" if self.separator == "\t" else self.separator] if self.separator else []
        words += ["--decimal", self.decimal] if self.decimal else []
        return words + (schema or Schema(**self.told)).options()


def file_options(function: Callable[..., Any]) -> Callable[..., Any]:
    """How a file of events is read: the command gets `reading`, a `Reading`."""
    return _file_options(function, ("--task", "--task-column"))


def file_options_beside_task(function: Callable[..., Any]) -> Callable[..., Any]:
    """The same for a command whose --task names a task: the field of the task is --task-column."""
    return _file_options(function, ("--task-column",))


def _file_options(function: Callable[..., Any], task_names: tuple[str, ...]) -> Callable[..., Any]:

    @functools.wraps(function)
    def gathered(**given: Any) -> Any:
        fields = told_fields(given)
        names = ("format_", "told_task", "told_label", "on_error", "separator", "decimal")
        format_, task, label, on_error, separator, decimal = (given.pop(name) for name in names)
        separator = "\t" if separator in ("tab", r"\t") else separator
        return function(reading=Reading(format_, task, label, on_error, fields, separator, decimal), **given)

    options = [
        click.option("--format", "format_", type=click.Choice(["jsonl", "csv", "tsv", "svmlight", "vw", "parquet",
        "arrow", "weftpack"]),
                     help="Format of FILE; by default its content or its ending says it."),
        click.option(*task_names, "told_task", metavar="FIELDS",
                     help="Field or column that names the task, several with commas for a task of several parts; in "
                     "Vowpal Wabbit text, the namespace that names it.  [default: task, or a usual name]"),
        click.option("--label", "--label-column", "told_label", metavar="FIELD",
                     help="Field or column of the label.  [default: y, or a usual name]"),
        click.option("--separator", metavar="CHARACTER",
                     help=r"Between the cells of CSV; tab or \t is a tab.  [default: the one that fits the header]"),
        click.option("--decimal", type=click.Choice([".", ","]),
                     help="Decimal point in CSV.  [default: . and, between semicolons, also ,]"),
        click.option("--on-error", type=click.Choice(["stop", "skip"]), default="stop", show_default=True,
                     help="At a malformed line: stop, or skip and list it."),
    ]  # fmt: skip
    found: Callable[..., Any] = schema_options(gathered)
    for option in reversed(options):
        found = option(found)
    return found


@dataclass(frozen=True)
class Saving:
    """When a model is saved before the end: after so many events, or so many seconds."""

    events: int | None = None
    seconds: float | None = None


_UNITS = {"s": 1.0, "m": 60.0, "h": 3600.0}


def seconds_of(text: str | None) -> float | None:
    """A time that a user types: 60s, 5m, 1h, or seconds alone.

    >>> seconds_of("90"), seconds_of("5m"), seconds_of("0.5h")
    (90.0, 300.0, 1800.0)
    """
    if text is None:
        return None
    digits, unit = (text[:-1], text[-1]) if text[-1:] in _UNITS else (text, "s")
    try:
        seconds = float(digits) * _UNITS[unit]
    except ValueError:
        seconds = -1.0
    if not 0.0 < seconds < float("inf"):
        raise ValueError(f"{text!r} is not a time; write 60s, 5m or 1h")
    return seconds


quiet_option = click.option("--quiet", is_flag=True, help="Print no remarks: what was asked for, and errors.")
regression_option = click.option(
    "--regression",
    is_flag=True,
    help="Labels are numbers: the same as --set loss=square, or the learner's own loss for numbers.",
)
json_option = click.option("--json", "as_json", is_flag=True, help="Print JSON on standard output, nothing else.")


_PYTHON = {"None": None, "True": True, "False": False}


def parse_value(text: str) -> Any:
    """JSON if it is JSON (0.5, true, [0, 1], {"name": "poly"}), None, True or False, else the text (3-max, inf)."""
    try:
        return json.loads(text)
    except ValueError:
        return _PYTHON.get(text, text)


def parse_setting(text: str) -> tuple[str, Any]:
    """`name=value`."""
    name, equals, value = text.partition("=")
    if not equals or not name.strip():
        raise ValueError(f"{text!r} is not a setting; write NAME=VALUE, such as C=0.5")
    return name.strip(), parse_value(value.strip())


def parse_settings(texts: tuple[str, ...] | list[str]) -> dict[str, Any]:
    """Several settings, each parameter once; a graph may be a file."""
    settings: dict[str, Any] = {}
    for text in texts:
        name, value = parse_setting(text)
        if name in settings:
            raise ValueError(f"{name} is set twice; keep one of the two")
        settings[name] = value
    if isinstance(settings.get("graph"), str):
        from weft.cli.graph_file import read_graph

        settings["graph"] = read_graph(settings["graph"])
    return settings


def parse_learner(text: str) -> tuple[str, dict[str, Any]]:
    """`learner` or `learner:name=value,name=value`.

    >>> parse_learner('implicit:norm=3-max,kernel={"name": "poly", "degree": 2}')
    ('implicit', {'norm': '3-max', 'kernel': {'name': 'poly', 'degree': 2}})
    """
    name, _, rest = text.partition(":")
    return name.strip(), parse_settings(_split_outside_brackets(rest)) if rest.strip() else {}


def _split_outside_brackets(text: str) -> list[str]:
    parts, depth = [""], 0
    for character in text:
        depth += (character in "{[(") - (character in "}])")
        if character == "," and depth == 0:
            parts.append("")
        else:
            parts[-1] += character
    return parts


def parse_tasks(text: str | None) -> Any:
    """`100`, or names with commas between."""
    if text is None:
        return None
    value = parse_value(text)
    if isinstance(value, int):
        return value
    from weft.streams.records import name_of

    return [name_of(part.strip()) for part in text.split(",") if part.strip()]


def find_task(model: Any, text: str) -> Any:
    """The task of a model that a user means: its name as text, as an integer, as a JSON list, or parts with commas."""
    value = parse_value(text)
    from weft.model import Model

    known = {*model.tasks, *(model.policies() if isinstance(model, Model) else ())}
    for name in (text, value, _tuple(value)):
        if isinstance(name, str | int | tuple) and not isinstance(name, bool) and name in known:
            return name
    parts = split_names(text)
    of_parts = [name for name in known if isinstance(name, tuple) and [show_name(part) for part in name] == parts]
    if len(of_parts) == 1:
        return of_parts[0]
    from difflib import get_close_matches

    close = get_close_matches(text, [show_name(name) for name in known], 3)
    hint = f"did you mean {', '.join(close)}?" if close else "weft inspect MODEL --all-tasks lists them"
    raise ValueError(f"the model has no task {text!r}; {hint}")


def task_named(text: str) -> Any:
    """The name that a text stands for: an integer, a JSON list as a tuple, or the text itself."""
    from weft.names import plain

    value = _tuple(parse_value(text))
    is_name = isinstance(value, int | tuple) and not isinstance(value, bool)
    return plain(value, "--task") if is_name else text


def _tuple(value: Any) -> Any:
    return tuple(_tuple(part) for part in value) if isinstance(value, list) else value


def show_name(name: Any) -> str:
    """A name as people write it, for a terminal; imported late, because a help text should not wait for NumPy."""
    from weft.names import show_name

    return printable(show_name(name))


def show_value(value: Any) -> str:
    """A parameter's value in a line of text; a kernel with what matters to it, a graph by its size."""
    if isinstance(value, dict) and "coef0" in value:
        parameters = {"poly": ("degree", "gamma", "coef0", "normalize"), "gaussian": ("gamma",)}
        held = parameters.get(value["name"], ("normalize",))
        return f"{value['name']}({', '.join(f'{name}={value[name]}' for name in held)})"
    if not isinstance(value, dict) or not {"edges", "cliques", "entries"} & value.keys():
        return str(value)
    if "cliques" in value:
        sizes = [len(clique) for clique in value["cliques"]]
        return f"(cliques of {', '.join(map(str, sizes[:8]))}{', ...' if len(sizes) > 8 else ''} tasks)"
    what, entries = ("edges", value["edges"]) if "edges" in value else ("entries", value["entries"])
    return f"({len(entries):,} {what}, {len(value['tasks']):,} tasks)"
