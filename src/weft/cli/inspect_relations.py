"""What `weft inspect` tells of the relations of tasks: in words, in a terminal, as JSON, as a picture."""

import os
from typing import TYPE_CHECKING, Any

from weft.cli.tables import console, count, plural, tell
from weft.store.files import expect_place, is_special, write_atomic

if TYPE_CHECKING:
    from weft.model import Model


def summary_of(model: "Model") -> dict[str, Any]:
    """How a step on one task moves the others, in words, with the strongest pairs if there is a choice."""
    import numpy as np

    from weft.inspection.relations import LARGEST_MATRIX

    n = len(model.tasks)
    if n < 2:
        return {"summary": "one task, no relations"} if n else {"summary": "no tasks yet"}
    if n * n > LARGEST_MATRIX:
        return {"summary": f"{count(n)} tasks: too many for a matrix of relations"}
    try:
        matrix = np.array(model.relations(), np.float64)
    except ValueError as error:
        return {"summary": str(error)}
    others = matrix[~np.eye(n, dtype=bool)]
    if not np.all(np.isfinite(others)):
        return {"summary": "undefined between some tasks, which have not learned anything yet"}
    if model.traits.similarities:
        return _strongest(model, matrix, others)
    if not np.any(others):
        return {"summary": "none: an event moves its own task's weights only"}
    if np.all(others == others[0]) and np.all(np.diag(matrix) == others[0]):
        return {"summary": "pooled: all tasks have the same weights"}
    if np.allclose(others, others[0]):
        return {"summary": f"every task moves every other by {others[0]:.4g} of its own step"}
    return _strongest(model, matrix, others)


def _strongest(model: "Model", matrix: Any, others: Any) -> dict[str, Any]:
    """The range of the relations, and the largest of them."""
    import numpy as np

    first, second = np.triu_indices(len(matrix), 1)  # every pair once, by its stronger direction
    matrix = np.where(np.abs(matrix) >= np.abs(matrix.T), matrix, matrix.T)
    strongest = np.argsort(-np.abs(matrix[first, second]), kind="stable")[:5]
    pairs = [
        {"tasks": [model.tasks[i], model.tasks[j]], "relation": float(matrix[i, j])}
        for i, j in zip(first[strongest].tolist(), second[strongest].tolist(), strict=True)
    ]
    return {"summary": f"between {others.min():.4g} and {others.max():.4g}", "strongest": pairs}


def matrix_of(model: "Model") -> dict[str, Any]:
    """The whole matrix, related tasks side by side; nothing where there is none: the summary says why."""
    from weft.inspection.relations import arranged, read_relations

    try:
        found = arranged(read_relations(model), len(model.tasks))
    except ValueError:
        return {"order": None, "matrix": None, "apart": None}
    order = [tasks[0] for tasks in found.members]
    apart = None
    if found.apart is not None:
        far = [task for task, is_far in zip(order, found.far, strict=True) if is_far]
        apart = {"measure": found.measure, "values": found.apart.tolist(), "stand_apart": far}
    return {"order": order, "matrix": found.values.tolist() if found.has_matrix else None, "apart": apart}


def print_matrix(model: "Model") -> None:
    """In the terminal; a sentence where there is nothing to print."""
    from weft.cli.blocks import print_relations
    from weft.inspection.relations import read_relations

    try:
        found = read_relations(model)
    except ValueError as error:
        console().print(f"{str(error)[0].upper()}{str(error)[1:]}.", soft_wrap=True)
        return
    print_relations(console(), found)


def expect_svg(plot: str, model_path: str) -> None:
    """Refuse what cannot become a picture before anything else is done."""
    if not plot.lower().endswith(".svg") and not is_special(plot):
        raise ValueError(f"--plot {plot}: the picture is SVG; end its name in .svg")
    if os.path.realpath(plot) == os.path.realpath(model_path):
        raise ValueError(f"--plot {plot} would replace the model; give the picture another name")
    expect_place(plot)


def plot_relations(model: "Model", plot: str, quiet: bool) -> None:
    """Draw the relations into a file."""
    from weft.drawing.heat_map import MOST_DRAWN, draw
    from weft.inspection.relations import read_relations

    found = read_relations(model)
    write_atomic(plot, draw(found).encode())
    if quiet:
        return
    what = "relations" if found.has_matrix else "personal parts"
    gathered = f", in {MOST_DRAWN} clusters" if found.has_matrix and found.tasks > MOST_DRAWN else ""
    tell(f"weft: drew the {what} of {plural(found.tasks, 'task')}{gathered} into {plot}")
