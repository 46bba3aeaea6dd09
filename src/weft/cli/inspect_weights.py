"""The features that weigh most for a task, in `weft inspect --task`."""

from typing import TYPE_CHECKING, Any

from weft.cli.options import show_name
from weft.cli.tables import new_table

if TYPE_CHECKING:
    from weft.model import Model


def heaviest(model: "Model", task: Any, top: int) -> list[dict[str, Any]] | None:
    """The features with the largest weights of a task, in parts if it has some; None if there are no weights."""
    import numpy as np

    features = model.features
    try:
        own, shared, neighbours = model.parts_of(task)
    except ValueError:
        return None  # a kernel learner, or one that predicts points
    others = shared + neighbours
    largest = np.maximum(np.abs(own), np.abs(others))
    order = [i for i in np.argsort(-largest, kind="stable")[:top].tolist() if largest[i] != 0.0]
    parts = not model.views.isdisjoint(("distances", "scale"))
    return [
        {"feature": features[i], "weight": float(own[i] + others[i])}
        | ({"own": float(own[i]), "shared": float(others[i])} if parts else {})
        for i in order
    ]


def print_weights(screen: Any, weights: list[dict[str, Any]], title: str = "Heaviest features") -> None:
    """A table with bars; own and shared weights side by side if there are both."""
    if not weights:
        screen.print("All its weights are zero.")
        return
    if "own" in weights[0]:
        _print_parts(screen, weights, title)
        return
    table = new_table("feature", "weight", "", title=title)
    table.columns[2].justify = "left"
    largest = abs(weights[0]["weight"])
    for item in weights:
        table.add_row(show_name(item["feature"]), f"{item['weight']:+.4f}", _bar(item["weight"], largest, 30))
    screen.print(table)


def _bar(weight: float, largest: float, width: int) -> str:
    return ("+" if weight > 0 else "-") * max(weight != 0.0, round(width * abs(weight) / largest))


def _print_parts(screen: Any, weights: list[dict[str, Any]], title: str) -> None:
    """Own and shared weights side by side, with bars of one scale."""
    table = new_table("feature", "weight", "own", "", "shared", "", title=f"{title}: own + shared = weight")
    largest = max(abs(item[part]) for item in weights for part in ("own", "shared"))
    for column in (3, 5):
        table.columns[column].justify = "left"
    for item in weights:
        cells = [f"{item['weight']:+.4f}"]
        for part in ("own", "shared"):
            cells += [f"{item[part]:+.4f}", _bar(item[part], largest, 15)]
        table.add_row(show_name(item["feature"]), *cells)
    screen.print(table)
