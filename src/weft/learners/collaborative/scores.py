"""What both collaborative learners share: the score by a task's own model, and the trace."""

from weft.compiled.arrays import Floats
from weft.compiled.jit import inlined_only
from weft.storage.batch import Batch
from weft.storage.sparse_rows import product_with_row, row_of


@inlined_only
def score(u: Floats, batch: Batch, i: int) -> float:
    """u_k.x of example i, by the model of its task."""
    x = row_of(batch, i)
    return product_with_row(u, batch.task[i], x)


@inlined_only
def record(trace: Floats, i: int, s: float, y: float, n2: float, rate: float) -> None:
    """The loss, whether the personal model moves, |x|^2, and C or r, if they are asked for."""
    if trace.shape[0]:
        moves = 1.0 if y * s < 1.0 and n2 > 0.0 else 0.0
        trace[i, 0], trace[i, 1], trace[i, 2], trace[i, 3] = max(0.0, 1.0 - y * s), moves, n2, rate
