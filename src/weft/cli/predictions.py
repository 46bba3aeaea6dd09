"""Predictions as lines of CSV or JSON, or as a Parquet file: `id,task,score,probability,label`."""

import io
import json
import math
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from weft.store.files import Output
from weft.text.printable import json_text, printable

if TYPE_CHECKING:
    from weft.compiled.arrays import Floats
    from weft.model import Model
    from weft.reductions.class_scores import ClassPredictions
    from weft.reductions.per_class import Multiclass
    from weft.stream import Stream
    from weft.streams import Chunk

    Issued = Floats | ClassPredictions
    """Scores; of a model per class, the classes that are predicted with their scores and probabilities."""

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes a spreadsheet read a cell as a formula, also in full width."""

_QUOTED = frozenset(',"\r\n')
"""What a cell of CSV may not hold unless it is quoted."""

Columns = dict[str, list[Any]]


@dataclass(frozen=True)
class Form:
    """How predictions are written."""

    out: str | None = None
    as_json: bool = False
    guard_formulas: bool = False

    @property
    def is_shown(self) -> bool:
        """Do they go to standard output?"""
        return self.out in (None, "-")

    @property
    def kind(self) -> str:
        """csv, jsonl or parquet, by the ending of the file name."""
        name = (self.out or "").lower()
        if self.as_json or name.endswith((".jsonl", ".ndjson")):
            return "jsonl"
        return "parquet" if name.endswith(".parquet") else "csv"


def learned(model: "Model | Multiclass", stream: "Stream") -> "Issued":
    """Learn a stream; returns what was predicted before."""
    from weft.reductions.per_class import Multiclass

    return model.learn_with_scores(stream) if isinstance(model, Multiclass) else model.learn(stream)


def scored(model: "Model | Multiclass", stream: "Stream") -> "Issued":
    """What is predicted of a stream."""
    from weft.reductions.per_class import Multiclass

    found: Issued = model.predict_with_scores(stream) if isinstance(model, Multiclass) else model.score(stream)
    return found


def joined(parts: "list[Issued]") -> "Issued":
    """The predictions of several parts of a stream as those of the whole."""
    import numpy as np

    from weft.reductions.class_scores import ClassPredictions

    if isinstance(parts[0], ClassPredictions):
        return ClassPredictions(*(np.concatenate(columns) for columns in zip(*parts, strict=True)))
    return np.concatenate(parts)


def columns_of(model: "Model | Multiclass", chunk: "Chunk", issued: "Issued") -> Columns:
    """The columns of the predictions of some events: an id and a probability where there is one."""
    import numpy as np

    from weft.labels import named_classes
    from weft.reductions.per_class import Multiclass

    found: Columns = {} if chunk.ids is None else {"id": chunk.ids}
    found["task"] = chunk.tasks
    if isinstance(model, Multiclass):
        label, *figures = issued
        score, probability = ([None if value != value else value for value in part.tolist()] for part in figures)
        shown = {"probability": probability} if model.has_probabilities else {}
        return found | {"score": score, **shown, "label": label.tolist()}
    scores: Any = issued
    found["score"] = scores.tolist()
    if model.has_probabilities:
        found["probability"] = [1.0 / (1.0 + math.exp(-s)) if s > -700.0 else 0.0 for s in found["score"]]
    if model.target == "binary":
        found["label"] = named_classes(model.label_classes)[(scores >= 0.0).astype(np.int64)].tolist()
    return found


@contextmanager
def writing(form: Form) -> Iterator[Callable[[Columns], None]]:
    """What takes columns and writes them: to standard output; or to a file, which appears only when it is complete."""
    if form.kind == "parquet":
        with _parquet(form) as write:
            yield write
        return
    lines = _json_lines if form.kind == "jsonl" else _CsvLines(form)
    if form.is_shown:
        yield lambda columns: _print(lines(columns))
        return
    assert form.out is not None  # it is not shown
    with Output(form.out) as output:

        def put(columns: Columns) -> None:
            output.write(lines(columns).encode())
            output.flush()

        yield put


@contextmanager
def _parquet(form: Form) -> Iterator[Callable[[Columns], None]]:
    from weft.streams.arrow import import_pyarrow

    arrow, parts = import_pyarrow(), list[Columns]()
    assert form.out is not None  # its name ends in .parquet
    with Output(form.out) as output:
        yield parts.append
        from pyarrow import parquet

        whole = {name: [value for part in parts for value in part[name]] for name in (parts[0] if parts else ())}
        table = arrow.table({name: arrow.array(_of_one_type(values)) for name, values in whole.items()})
        buffer = io.BytesIO()
        parquet.write_table(table, buffer)
        output.write(buffer.getvalue())


def _of_one_type(values: list[Any]) -> list[Any]:
    """Values that a column can hold: as they are if they have one type, else as text."""
    from weft.names import show_name

    if len({type(value) for value in values if value is not None}) <= 1 and not any(type(v) is tuple for v in values):
        return values
    return [value if value is None or isinstance(value, str) else show_name(value) for value in values]


def _print(text: str) -> None:
    """As it is: click.echo would remove what looks like a colour from names."""
    sys.stdout.write(text)
    sys.stdout.flush()


class _CsvLines:
    """Makes lines of CSV; the first of them has the header, so that an error comes before it."""

    def __init__(self, form: Form) -> None:
        self._guard_formulas = form.guard_formulas
        self._in_terminal = form.is_shown and sys.stdout.isatty()
        self._has_header = False

    def __call__(self, columns: Columns) -> str:
        cells = [[self._cell(name, value) for value in values] for name, values in columns.items()]
        lines = [] if self._has_header else [",".join(columns) + "\n"]
        self._has_header = True
        return "".join(lines + [",".join(row) + "\n" for row in zip(*cells, strict=True)])

    def _cell(self, column: str, value: Any) -> str:
        if column in ("score", "probability"):
            return "" if value is None else repr(value)
        text = _text(value)
        if self._guard_formulas and isinstance(value, str) and text.startswith(FORMULA):
            text = f"'{text}"
        if self._in_terminal:
            text = printable(text)
        return text if _QUOTED.isdisjoint(text) else '"' + text.replace('"', '""') + '"'


def _text(value: Any) -> str:
    """A name, a label or an id as CSV has it."""
    from weft.names import show_name

    if value is None:
        return ""
    if isinstance(value, bool):
        return "true" if value else "false"
    return value if isinstance(value, str) else show_name(value)


def _json_lines(columns: Columns) -> str:
    rows = zip(*columns.values(), strict=True)
    return "".join(
        json_text(json.dumps(dict(zip(columns, row, strict=True)), ensure_ascii=False, default=str)) + "\n"
        for row in rows
    )
