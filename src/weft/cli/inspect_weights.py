"""The features that weigh most for a task, in `weft inspect --task`."""

from typing import TYPE_CHECKING, Any

from weft.cli.options import show_name
from weft.cli.tables import BAR, fitting_table

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
    largest = abs(weights[0]["weight"])
    lines = [
        ([show_name(item["feature"]), f"{item['weight']:+.4f}", _bar(item["weight"], largest, 30)], "")
        for item in weights
    ]
    screen.print(fitting_table(["feature", "weight", f"weight{BAR}"], lines, (f"weight{BAR}",), title))


def _bar(weight: float, largest: float, width: int) -> str:
    return ("+" if weight > 0 else "-") * max(weight != 0.0, round(width * abs(weight) / largest))


def _print_parts(screen: Any, weights: list[dict[str, Any]], title: str) -> None:
    """Own and shared weights side by side, with bars of one scale."""
    largest = max(abs(item[part]) for item in weights for part in ("own", "shared"))
    lines = []
    for item in weights:
        cells = [show_name(item["feature"]), f"{item['weight']:+.4f}"]
        for part in ("own", "shared"):
            cells += [f"{item[part]:+.4f}", _bar(item[part], largest, 15)]
        lines.append((cells, ""))
    bars = f"own{BAR}", f"shared{BAR}"
    columns = ["feature", "weight", "own", bars[0], "shared", bars[1]]
    screen.print(fitting_table(columns, lines, bars, f"{title}: own + shared = weight"))
