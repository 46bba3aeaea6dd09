"""`weft replay`: the model of a service from its log."""

from typing import Any

import click

from weft.cli.options import example, json_option, parse_value
from weft.cli.tables import console, plural, print_json


@click.command(
    "replay", epilog=example("weft replay spam --out spam.weft", "weft replay spam --until 1000 --out then.weft")
)
@click.argument("folder", metavar="DIR")
@click.option("--out", required=True, metavar="MODEL", help="The model file to write.")
@click.option("--until", type=click.IntRange(min=0), metavar="SEQ", help="Stop after this entry: the model as it was.")
@click.option(
    "--without-task",
    "without",
    multiple=True,
    metavar="TASK",
    help="Leave a task's entries out, as if they had never come; may be repeated.",
)
@click.option("--corrected", is_flag=True, help="Learn corrected labels in place of those that were learned first.")
@json_option
def command(folder: str, out: str, until: int | None, without: tuple[str, ...], corrected: bool, as_json: bool) -> None:
    """Rebuild a model from the log of DIR, which may be served meanwhile.

    Without options it is the model of the service, byte for byte.
    """
    from weft.serve.recovery import rebuilt
    from weft.store.files import expect_place

    expect_place(out)
    model, seq = rebuilt(_folder(folder), until, _names(without), corrected)
    model.save(out)
    if as_json:
        print_json({"model": out, "seq": seq, "tasks": len(model.tasks), "events": model.tally.total["events"]})
    else:
        console().print(f"Replayed {plural(seq, 'entry').replace('entrys', 'entries')}; wrote {out}.", soft_wrap=True)


def _folder(path: str) -> Any:
    from weft.cli.serve import service_folder

    return service_folder(path)


def _names(texts: tuple[str, ...]) -> frozenset[Any]:
    """Tasks as text, and as what the text says in JSON: "7" leaves out the tasks "7" and 7."""
    from weft.serve.entries import as_task

    found: set[Any] = set(texts)
    for text in texts:
        value = parse_value(text)
        if isinstance(value, int | list) and not isinstance(value, bool):
            found.add(as_task(value))
    return frozenset(found)
