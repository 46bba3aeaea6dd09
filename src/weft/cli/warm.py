"""`weft warm`: compile learners ahead of their first use."""

import sys
import time
from typing import Any

import click

from weft.cli.options import example, json_option
from weft.cli.tables import console, plural, print_json

DEFAULT = "auto"


@click.command("warm", epilog=example("weft warm", "weft warm auto mt-ogd pa"))
@click.argument("learners", nargs=-1, metavar="[LEARNER]...")
@click.option("--all", "all_of_them", is_flag=True, help="Every learner of the catalogue (several minutes).")
@json_option
@click.option("--quiet", is_flag=True, help="Print nothing but errors.")
def command(learners: tuple[str, ...], all_of_them: bool, as_json: bool, quiet: bool) -> None:
    """Compile LEARNERs now, so that their first use need not wait; without a name, the default learner auto.

    Learners are compiled on first use, and the machine code is kept in the cache folder (WEFT_CACHE). Run this when
    you build a container image or set up a machine, as the user who will run weft.
    """
    from weft.learners.catalogue import build, catalogue

    names = [entry.name for entry in catalogue()] if all_of_them else list(learners or (DEFAULT,))
    for name in names:
        build(name, {})  # an unknown name is refused before anything is compiled
    report = []
    for name in names:
        if sys.stderr.isatty() and not quiet:
            click.echo(f"compiling {name} ...", err=True)
        report.append(_warm(name))
    if as_json:
        print_json(report)
    elif not quiet:
        for row in report:
            console().print(_sentence(row), soft_wrap=True)


def _warm(name: str) -> dict[str, Any]:
    from weft.compiled.compilation import watched

    began = time.perf_counter()
    with watched() as compilation:
        _use_once(name)
    return {
        "learner": name,
        "functions_compiled": compilation.functions,
        "seconds": round(time.perf_counter() - began, 3),
    }


def _use_once(name: str) -> None:
    """Everything that a first use would compile: learn, predict, single events, save and load."""
    import weft

    model = weft.Model(name, tasks=["a", "b"])
    labels = None if model.target == "point" else [1.0, -1.0]
    model.learn(weft.Stream([{"f": 1.0}, {"g": 2.0}], labels, ["a", "b"]))
    label = None if labels is None else 1.0
    model.learn_one({"f": 1.0}, label, "a")
    model.predict_one({"f": 1.0}, "a")
    model.predict([{"f": 1.0}], ["a"])
    weft.Model.from_bytes(model.to_bytes())
    if labels is not None:
        _read_once(name)


def _read_once(name: str) -> None:
    """What reading files of records compiles: JSON lines and CSV, with a text, a name and a number, and without."""
    import tempfile
    from pathlib import Path

    import weft

    schema = weft.Schema(task="task", label="y", text=["words"])
    files = {
        "a.jsonl": """{"task": "a", "words": "one two", "kind": "k", "size": 1.5, "y": 1}\n{"task": "b", "y": -1}\n""",
        "a.csv": "task,words,kind,size,y\na,one two,k,1.5,1\nb,,,,-1\n",
    }
    with tempfile.TemporaryDirectory() as folder:
        for file, text in files.items():
            path = Path(folder, file)
            path.write_text(text)
            model = weft.Model(name, schema=schema)
            for stream in weft.read(path, schema):
                model.learn(stream)
            model.predict([{"task": "a", "words": "one"}])


def _sentence(row: dict[str, Any]) -> str:
    if not row["functions_compiled"]:
        return f"{row['learner']}: was compiled already"
    return f"{row['learner']}: compiled {plural(row['functions_compiled'], 'function')} in {row['seconds']:.1f} s"
