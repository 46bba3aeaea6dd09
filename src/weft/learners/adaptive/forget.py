r"""The expert that forgets: own + shared weights like the gradient expert's, whose steps do not become small.

    H <- KEEP H + h^2,    w <- w - eta h / sqrt(H + eps)

at every step of a coordinate, so that a coordinate forgets by its own clock, not by the stream's. It follows relations
that change, where the other experts have settled.
"""

from weft.compiled.arrays import Floats, ShortFloats
from weft.compiled.bundle import Bundle, opened
from weft.compiled.jit import helper_no_alloc, inlined_only
from weft.learners.adaptive.coordinates import Step, dot, step_all, step_one
from weft.learners.adaptive.experts import EPS
from weft.learners.adaptive.scratch import Context
from weft.learners.adaptive.state import Part, Pooled

KEEP = 0.95
OWN, SHARED = Part.FORGET.value, Pooled.FORGET.value


@inlined_only
def score_forget(context: Bundle[Context], own: ShortFloats, pooled: Floats, k: int, count: int) -> float:
    """The score."""
    _, state, _, scratch = opened(context)
    score = dot(pooled, SHARED, scratch.shared_starts, scratch.z, count) + state.bias[0, OWN]
    return float(score + dot(own, OWN, scratch.own_starts, scratch.z, count) + state.own_bias[k, OWN])


@helper_no_alloc
def update_forget(context: Bundle[Context], k: int, count: int, error: float) -> None:
    """Learn from the expert's error."""
    hyper, state, _, scratch = opened(context)
    shared, own = Step(error, hyper.eta, EPS, KEEP), Step(error, hyper.eta, EPS + hyper.own_prior, KEEP)
    step_all(state.pooled, SHARED, scratch.shared_starts, scratch.z, count, shared)
    step_all(state.own, OWN, scratch.own_starts, scratch.z, count, own)
    step_one(state.bias, 0, OWN, error, shared)
    step_one(state.own_bias, k, OWN, error, own)
