"""`weft predict`: scores for a file of events, without learning."""

import os
import sys
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from weft.cli.compiling import announced
from weft.cli.options import Reading, example, file_options, quiet_option, show_name
from weft.cli.predictions import Form, columns_of, scored, writing
from weft.cli.schema_options import Fields, find_fields
from weft.cli.tables import count, plural, share, tell
from weft.store.files import expect_place

if TYPE_CHECKING:
    from collections.abc import Iterator

    from weft.cli.predictions import Issued
    from weft.model import Model
    from weft.reductions.per_class import Multiclass
    from weft.stream import Stream
    from weft.streams import Chunk


@click.command("predict", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1}, "y": 1}' > events.jsonl""",
    "weft learn events.jsonl --model spam.weft && weft predict events.jsonl --model spam.weft",
))  # fmt: skip
@click.argument("files", metavar="FILE...", nargs=-1, required=True)
@click.option("--model", "model_path", required=True, metavar="MODEL", help="The model file.")
@file_options
@click.option(
    "--out",
    metavar="PATH",
    help="Write the predictions to this file, device or pipe instead of standard output; a link is followed.",
)
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object per line instead of CSV.")
@quiet_option
@click.option(
    "--guard-formulas",
    is_flag=True,
    help="For spreadsheets: in CSV, put ' before names that a spreadsheet would run as formulas (=, +, -, @).",
)
def command(
    files: tuple[str, ...],
    model_path: str,
    reading: Reading,
    out: str | None,
    as_json: bool,
    guard_formulas: bool,
    quiet: bool,
) -> None:
    """Predict the events of FILE with a model, and learn nothing.

    Writes one line per event, in the order of FILE: id,task,score,probability,label. The id is there if the
    model's schema has one, the probability if the learner has one, and the label, one of the model's
    classes, for a classifier. Labels in FILE may be missing; where they are there, the error is reported at
    the end. A task that the model does not know is predicted as a new one would be; features that it does not
    know are ignored. At a malformed line the predictions of the lines before it are written, and it is told
    what is wrong. FILE is as in weft learn; - is standard input, answered line by line.
    """
    form = Form(out, as_json, guard_formulas)
    for file in files:
        _expect_out(out, file, model_path)
    with announced(f"the learner of {model_path}", quiet):
        found = _predict(files, model_path, reading, form)
    if not quiet:
        _report(found, form, _learned(files, model_path))
    if found.stopped is not None:
        raise found.stopped


def _predict(files: tuple[str, ...], model_path: str, reading: Reading, form: Form) -> "_Found":
    from weft.reductions.per_class import load

    model = load(model_path)
    fields = find_fields(files, reading, model)
    found = _Found(judge=_Judge(model))
    with writing(form) as write:
        for chunk in _until_refused(files, model, reading, fields, found):
            found.skipped += len(chunk.skipped)
            if len(chunk):
                stream = chunk.unlabelled
                issued = scored(model, stream)
                found.add(model, chunk, stream, issued)
                write(columns_of(model, chunk, issued))
    return found


def _until_refused(
    files: tuple[str, ...], model: "Model | Multiclass", reading: Reading, fields: Fields, found: "_Found"
) -> "Iterator[Chunk]":
    """The chunks of all files up to a line that is refused: the error is told when what comes before it is written."""
    from weft.streams.records import InputError

    try:
        for file in files:
            yield from _chunks(file, model, reading, fields)
    except InputError as error:
        if not found.events:
            raise
        found.stopped = error


def _chunks(file: str, model: "Model | Multiclass", reading: Reading, fields: Fields) -> Any:
    from weft.labels import UNKNOWN
    from weft.model import Model
    from weft.streams import read_chunks

    return read_chunks(
        file,
        target=model.target,
        classes=model.label_classes if isinstance(model, Model) else UNKNOWN,
        labels=False,
        schema=fields.schema,
        **reading.keywords,
    )


@dataclass
class _Found:
    """What is to be reported at the end."""

    judge: "_Judge"
    events: int = 0
    skipped: int = 0
    strange: int = 0  # rows without any feature that the model knows
    unknown: set[Any] = field(default_factory=set)
    stopped: ValueError | None = None
    """Why the rest was not read."""

    def add(self, model: "Model | Multiclass", chunk: "Chunk", stream: "Stream", issued: "Issued") -> None:
        """Count the events of a chunk."""
        self.events += len(chunk)
        self.strange += int(model.strange_rows(stream).sum())
        known = model.tally.names
        new = {name for name in set(chunk.tasks) if known.find(name) < 0}
        self.unknown.update(new.difference(model.tasks) if new else ())
        self.judge.count(chunk, issued)


def _learned(files: tuple[str, ...], model_path: str) -> list[str]:
    """The files that the model has learned, which it predicts better than new events."""
    from weft.cli.progress_file import last_state, source_key
    from weft.store.reading import stored_digest

    path = Path(model_path)
    known = last_state(path, stored_digest(path)).sources
    return [file for file in files if file != "-" and source_key(file) in known]


def _expect_out(out: str | None, file: str, model_path: str) -> None:
    """Refuse what cannot be written, and what should not be, before anything is read."""
    if out is None or out == "-":
        if sys.stdout is None:
            raise ValueError("standard output is closed; give --out PATH")
        return
    for path, what in ((model_path, "the model"), (file, "the events")):
        if path != "-" and os.path.isfile(out) and os.path.realpath(out) == os.path.realpath(path):
            raise ValueError(f"--out {out} would replace {what}; give the predictions another name")
    expect_place(out)


def _report(found: _Found, form: Form, learned: list[str]) -> None:
    if not form.is_shown:
        rest = "" if found.stopped is None else ", those before the line that is refused"
        tell(f"weft: wrote {plural(found.events, 'prediction')} to {form.out}{rest}")
    if found.skipped:
        tell(f"weft: skipped {plural(found.skipped, 'malformed line')}")
    if found.unknown:
        names = ", ".join(sorted(map(show_name, found.unknown))[:5])
        tell(f"weft: note: {plural(len(found.unknown), 'task')} new to the model ({names})")
    if found.strange:
        tell(f"weft: note: {plural(found.strange, 'event')} without any feature that the model knows")
    for file in learned:
        tell(f"weft: note: the model has learned {file}; these are not honest predictions")
    if found.judge.events:
        tell(f"weft: {found.judge.sentence()}")


class _Judge:
    """Compares predictions with the labels that happen to be there."""

    def __init__(self, model: "Model | Multiclass") -> None:
        self.model = model
        self.target = model.target
        self.events = 0
        self.wrong = 0.0

    def count(self, chunk: "Chunk", issued: "Issued") -> None:
        """Count the events of a chunk that have a label."""
        import numpy as np

        from weft.reductions.class_scores import judged
        from weft.reductions.per_class import Multiclass

        if isinstance(self.model, Multiclass):
            wrong, events = judged(issued[0], chunk.label_values, self.model.classes)
            self.wrong, self.events = self.wrong + wrong, self.events + events
            return
        if self.target == "point":
            return
        scores: Any = issued
        y = chunk.labels
        if self.target == "binary":
            y = self.model.label_classes.encoded(chunk.label_values, dormant=chunk.rounds is not None)[0]
        known = ~np.isnan(y)
        if self.target == "binary":
            self.wrong += float(np.sum((scores >= 0.0)[known] != (y[known] > 0.0)))
        else:
            self.wrong += float(np.sum(np.abs(scores[known] - y[known])))
        self.events += int(np.sum(known))

    def sentence(self) -> str:
        """The error, in words."""
        if self.target != "real":
            part = f"{count(self.wrong)} of {count(self.events)}"
            return f"error {share(self.wrong / self.events)} ({part} labelled events)"
        return f"mean deviation {self.wrong / self.events:.4f} over {count(self.events)} labelled events"
