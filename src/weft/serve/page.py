"""The page at /: the figures of /metrics for people, without JavaScript."""

from html import escape
from typing import TYPE_CHECKING

from weft.names import show_name
from weft.printable import printable

if TYPE_CHECKING:
    from weft.serve.service import Service

MOST_TASKS = 20


def page(service: "Service") -> str:
    """HTML with all figures, and the tasks with the most events."""
    figures = "".join(
        f"<tr><td>{escape(figure.name)}<td>{figure.value:g}<td>{escape(figure.meaning)}"
        for figure in service.measured()
    )
    listed = service.tasks(MOST_TASKS, "events", True)
    rows = "".join(
        f"<tr><td>{escape(printable(show_name(row.task)))}<td>{row.events}<td>{_number(row.error)}"
        for row in listed.tasks
    )
    return (
        "<!doctype html><html lang=en><meta charset=utf-8><meta name=viewport content='width=device-width'>"
        f"<title>weft</title><h1>weft</h1><p>{escape(service.model.name)}, entry {listed.seq}</p>"
        f"<table><tr><th>figure<th>value<th>meaning{figures}</table>"
        f"<h2>Tasks with the most events ({listed.total} in all)</h2>"
        f"<table><tr><th>task<th>events<th>error{rows}</table></html>"
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.4f}"
