"""`weft predict`: scores for a file of events, without learning."""

import json
import os
import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any

import click

from weft.cli.compiling import announced
from weft.cli.options import Reading, example, file_options, show_name
from weft.cli.tables import count, plural, share, tell
from weft.printable import json_text, printable
from weft.store.files import Output, expect_place

if TYPE_CHECKING:
    from weft.compiled.arrays import Floats
    from weft.labels import Classes
    from weft.streams import Chunk

FORMULA = ("=", "+", "-", "@", "\t", "\r", "\uff1d", "\uff0b", "\uff0d", "\uff20")
"""What makes a spreadsheet read a cell as a formula, also in full width."""

_QUOTED = frozenset(',"\r\n')
"""What a cell of CSV may not hold unless it is quoted."""


@click.command("predict", epilog=example(
    """echo '{"task": "ann", "x": {"free": 1}, "y": 1}' > events.jsonl""",
    "weft learn events.jsonl --model spam.weft && weft predict events.jsonl --model spam.weft",
))  # fmt: skip
@click.argument("file")
@click.option("--model", "model_path", required=True, metavar="MODEL", help="The model file.")
@file_options
@click.option(
    "--out",
    metavar="PATH",
    help="Write the predictions to this file, device or pipe instead of standard output; a link is followed.",
)
@click.option("--json", "as_json", is_flag=True, help="Write a JSON object per line instead of CSV.")
@click.option(
    "--guard-formulas",
    is_flag=True,
    help="For spreadsheets: in CSV, put ' before names that a spreadsheet would run as formulas (=, +, -, @).",
)
def command(
    file: str,
    model_path: str,
    reading: Reading,
    out: str | None,
    as_json: bool,
    guard_formulas: bool,
) -> None:
    """Predict the events of FILE with a model, and learn nothing.

    Writes one line per event, in the order of FILE: its task, the score, and for a classifier the label,
    which is 1 where the score is 0 or more and -1 elsewhere. Labels in FILE may be missing; where they are
    there, the error is reported at the end. A task that the model does not know is predicted as a new one
    would be; features that it does not know are ignored. FILE is as in weft learn.
    """

    def lines_for(target: str) -> Any:
        return _json_lines(target) if as_json else _csv_lines(target, guard_formulas, is_shown=out in (None, "-"))

    _expect_out(out, file, model_path)
    with announced(f"the learner of {model_path}"):
        _predict(file, model_path, reading, out, lines_for)


def _predict(file: str, model_path: str, reading: Reading, out: str | None, lines_for: Callable[[str], Any]) -> None:
    from weft.model import load
    from weft.streams import read_chunks

    model = load(model_path)
    target = model.target
    chunks = read_chunks(file, target=target, classes=model.label_classes, labels=False, **reading.keywords)
    unknown: set[Any] = set()
    skipped = events = 0
    judge = _Judge(target, model.label_classes)
    with _output(out) as write_text:
        lines = lines_for(target)
        for chunk in chunks:
            skipped += len(chunk.skipped)
            if not len(chunk):
                continue
            scores = model.score(chunk.unlabelled)
            events += len(chunk)
            unknown.update(name for name in set(chunk.tasks) if model.vocabulary.tasks.find(name) < 0)
            judge.count(chunk, scores)
            write_text(lines(chunk.tasks, scores.tolist()))
    _report(judge, events, skipped, unknown, out)


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


def _report(judge: "_Judge", events: int, skipped: int, unknown: set[Any], out: str | None) -> None:
    if out is not None and out != "-":
        tell(f"weft: wrote {plural(events, 'prediction')} to {out}")
    if skipped:
        tell(f"weft: skipped {plural(skipped, 'malformed line')}")
    if unknown:
        names = ", ".join(sorted(map(show_name, unknown))[:5])
        tell(f"weft: note: {plural(len(unknown), 'task')} new to the model ({names})")
    if judge.events:
        tell(f"weft: {judge.sentence()}")


def _print(text: str) -> None:
    """As it is: click.echo would remove what looks like a colour from names."""
    sys.stdout.write(text)
    sys.stdout.flush()


@contextmanager
def _output(out: str | None) -> Iterator[Callable[[str], None]]:
    """Standard output; or a file, which appears only when it is complete; or a device or pipe."""
    if out is None or out == "-":
        yield _print
        return
    with Output(out) as output:

        def write(text: str) -> None:
            output.write(text.encode())
            output.flush()

        yield write


def _csv_lines(target: str, guard_formulas: bool, is_shown: bool) -> Any:
    """A function that makes lines of CSV; the first of them has the header, so that an error comes before it."""
    from weft.names import show_name as exact_name

    binary = target == "binary"
    header = ["task,score,label\n" if binary else "task,score\n"]
    in_terminal = is_shown and sys.stdout.isatty()

    def cell(task: Any) -> str:
        name = exact_name(task)
        if guard_formulas and isinstance(task, str) and name.startswith(FORMULA):
            name = f"'{name}"
        if in_terminal:
            name = printable(name)
        return name if _QUOTED.isdisjoint(name) else '"' + name.replace('"', '""') + '"'

    def lines(tasks: list[Any], scores: list[float]) -> str:
        found = [header.pop()] if header else []
        if binary:
            found += [f"{cell(t)},{s!r},{1 if s >= 0.0 else -1}\n" for t, s in zip(tasks, scores, strict=True)]
        else:
            found += [f"{cell(t)},{s!r}\n" for t, s in zip(tasks, scores, strict=True)]
        return "".join(found)

    return lines


def _json_lines(target: str) -> Any:
    def lines(tasks: list[Any], scores: list[float]) -> str:
        found = []
        for task, score in zip(tasks, scores, strict=True):
            line = {"task": task, "score": score}
            if target == "binary":
                line["label"] = 1 if score >= 0.0 else -1
            found.append(json_text(json.dumps(line, ensure_ascii=False)) + "\n")
        return "".join(found)

    return lines


class _Judge:
    """Compares predictions with the labels that happen to be there."""

    def __init__(self, target: str, classes: "Classes") -> None:
        self.target = target
        self.classes = classes
        self.events = 0
        self.wrong = 0.0

    def count(self, chunk: "Chunk", scores: "Floats") -> None:
        import numpy as np

        from weft.labels import Labels

        if self.target == "point":
            return
        y = chunk.labels
        if self.target == "binary":
            y = self.classes.encoded(Labels(y), dormant=chunk.rounds is not None)[0]
        known = ~np.isnan(y)
        if self.target == "binary":
            self.wrong += float(np.sum((scores >= 0.0)[known] != (y[known] > 0.0)))
        else:
            self.wrong += float(np.sum(np.abs(scores[known] - y[known])))
        self.events += int(np.sum(known))

    def sentence(self) -> str:
        """The error, in words."""
        if self.target == "binary":
            part = f"{count(self.wrong)} of {count(self.events)}"
            return f"error {share(self.wrong / self.events)} ({part} labelled events)"
        return f"mean deviation {self.wrong / self.events:.4f} over {count(self.events)} labelled events"
