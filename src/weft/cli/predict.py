"""`weft predict`: scores for a file of events, without learning."""

import csv
import json
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

import click

from weft.cli.options import Reading, example, file_options, show_name
from weft.cli.tables import count, plural, share

if TYPE_CHECKING:
    from weft.compiled.arrays import Floats
    from weft.streams import Chunk


@click.command("predict", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1}, "y": 1}' > events.jsonl""",
    "weft learn events.jsonl --model spam.weft && weft predict events.jsonl --model spam.weft",
))  # fmt: skip
@click.argument("file")
@click.option("--model", "model_path", required=True, metavar="MODEL", help="The model file.")
@file_options
@click.option("--out", metavar="PATH", help="Write the predictions to this file instead of standard output.")
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object per line instead of CSV.")
def command(
    file: str,
    model_path: str,
    reading: Reading,
    out: str | None,
    as_json: bool,
) -> None:
    """Predict the events of FILE with a model, and learn nothing.

    Writes one line per event, in the order of FILE: its task, the score, and for a classifier the label,
    which is 1 where the score is 0 or more and -1 elsewhere. Labels in FILE may be missing; where they are
    there, the error is reported at the end. A task that the model does not know is predicted as a new one
    would be; features that it does not know are ignored. FILE is as in weft learn.
    """
    from weft.model import load
    from weft.streams import read_chunks

    model = load(model_path)
    target = model.target
    chunks = read_chunks(file, target=target, labels=False, **reading.keywords)
    unknown: set[Any] = set()
    skipped = events = 0
    judge = _Judge(target)
    with _output(out) as stream:
        write = _json_writer(stream, target) if as_json else _csv_writer(stream, target)
        for chunk in chunks:
            skipped += len(chunk.skipped)
            if not len(chunk):
                continue
            scores = model.score(chunk.X, chunk.tasks)
            events += len(chunk)
            unknown.update(name for name in set(chunk.tasks) if model.vocabulary.tasks.find(name) < 0)
            judge.count(chunk, scores)
            write(chunk.tasks, scores.tolist())
    _report(judge, events, skipped, unknown, out)


def _report(judge: "_Judge", events: int, skipped: int, unknown: set[Any], out: str | None) -> None:
    if out is not None:
        click.echo(f"weft: wrote {plural(events, 'prediction')} to {out}", err=True)
    if skipped:
        click.echo(f"weft: skipped {plural(skipped, 'malformed line')}", err=True)
    if unknown:
        names = ", ".join(sorted(map(show_name, unknown))[:5])
        click.echo(f"weft: note: {plural(len(unknown), 'task')} new to the model ({names})", err=True)
    if judge.events:
        click.echo(f"weft: {judge.sentence()}", err=True)


@contextmanager
def _output(out: str | None) -> Iterator[IO[str]]:
    """Standard output, or a file that appears only when it is complete."""
    if out is None:
        yield sys.stdout
        return
    part = Path(f"{out}.part")
    try:
        with open(part, "w", encoding="utf-8", newline="") as stream:
            yield stream
        os.replace(part, out)
    finally:
        part.unlink(missing_ok=True)


def _csv_writer(stream: IO[str], target: str) -> Any:
    writer = csv.writer(stream, lineterminator="\n")
    binary = target == "binary"
    writer.writerow(["task", "score", "label"] if binary else ["task", "score"])

    def write(tasks: list[Any], scores: list[float]) -> None:
        names = map(show_name, tasks)
        if binary:
            labels = [1 if score >= 0.0 else -1 for score in scores]
            writer.writerows(zip(names, scores, labels, strict=True))
        else:
            writer.writerows(zip(names, scores, strict=True))

    return write


def _json_writer(stream: IO[str], target: str) -> Any:
    def write(tasks: list[Any], scores: list[float]) -> None:
        for task, score in zip(tasks, scores, strict=True):
            line = {"task": task, "score": score}
            if target == "binary":
                line["label"] = 1 if score >= 0.0 else -1
            stream.write(json.dumps(line, ensure_ascii=False) + "\n")

    return write


class _Judge:
    """Compares predictions with the labels that happen to be there."""

    def __init__(self, target: str) -> None:
        self.target = target
        self.events = 0
        self.wrong = 0.0

    def count(self, chunk: "Chunk", scores: "Floats") -> None:
        import numpy as np

        known = ~np.isnan(chunk.labels)
        if self.target == "point":
            return
        if self.target == "binary":
            known &= chunk.labels != 0.0
            self.wrong += float(np.sum((scores >= 0.0)[known] != (chunk.labels[known] > 0.0)))
        else:
            self.wrong += float(np.sum(np.abs(scores[known] - chunk.labels[known])))
        self.events += int(np.sum(known))

    def sentence(self) -> str:
        """The error, in words."""
        if self.target == "binary":
            part = f"{count(self.wrong)} of {count(self.events)}"
            return f"error {share(self.wrong / self.events)} ({part} labelled events)"
        return f"mean deviation {self.wrong / self.events:.4f} over {count(self.events)} labelled events"
