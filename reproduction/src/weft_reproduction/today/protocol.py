"""How `today` runs a learner or a peer on a stream, and what it measures.

A stream is the first events of a random order. On its leading tenth the one parameter of a learner is chosen, by the
errors that are made there before labels are seen. Then the learner goes through the whole stream, with its defaults and
with what was chosen; what it predicted after the tenth, before every label was seen, is what counts.
"""

import time
import warnings
from collections.abc import Callable, Mapping, Sequence
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Floats, Ints
from weft.evaluation.rounds import auc
from weft.maths.losses import LOGISTIC
from weft.model import Model
from weft.stream import Stream
from weft.streams.known import Known
from weft.streams.preparation import with_constant
from weft_reproduction.default.streams import prepared, stream_of
from weft_reproduction.peers import PEERS, Models, bytes_of

FORMS: dict[str, Callable[[Known], Known]] = {
    "raw": lambda data: data,
    "prepared": prepared,
    "with constant": lambda data: with_constant(prepared(data), 0.2 if sparse.issparse(data.X) else 1.0),
}
"""As they are; as a careful user prepares them; and with a constant column, for learners without an intercept."""
CLIP = 1e-6
"""Probabilities are kept so far from 0 and 1 in the log-loss."""
FIRST_FIT = 50
"""Events after which learners that refit are fitted for the first time; then whenever there are twice as many."""


class Events(NamedTuple):
    """Rows, labels and tasks in the order in which they come."""

    X: Any
    y: Floats
    task: Ints

    def first(self, count: int) -> "Events":
        """The leading part."""
        return Events(self.X[:count], self.y[:count], self.task[:count])


@lru_cache(maxsize=1)
def _stream(name: str) -> Known:
    return stream_of(name)


@lru_cache(maxsize=3)
def events(name: str, form: str, order: int, rows: int) -> Events:
    """The first rows of a random order, which is the same for all forms of rows."""
    data = FORMS[form](_stream(name))
    at = np.random.default_rng(order).permutation(len(data))[:rows]
    assert data.task is not None
    return Events(data.X[at], data.y[at], data.task[at])


def leading(count: int) -> int:
    """How many events the choice is made on, of so many.

    >>> leading(6000), leading(7)
    (600, 1)
    """
    return max(1, count // 10)


# --- who runs ---


class Sizes(NamedTuple):
    """Of a stream; `nonzeros` are those of all rows."""

    events: int
    tasks: int
    features: int
    nonzeros: int


class Limit(NamedTuple):
    """What grows faster than the stream, in words and as a number, and how much of it is run here."""

    words: str
    number: Callable[[Sizes], float]
    most: float


_SMOOTHED = Limit("non-zeros x tasks^2", lambda n: n.nonzeros * n.tasks**2, 6e7)
LIMITS = {
    "smtl-e": _SMOOTHED,
    "smtl-t": _SMOOTHED,
    "omtrl-vonneumann": Limit("events x tasks^3", lambda n: n.events * n.tasks**3, 2e9),
    "trml": Limit("non-zeros x tasks", lambda n: n.nonzeros * n.tasks, 4e6),
    "hedge-mt-eg": Limit("non-zeros x tasks", lambda n: n.nonzeros * n.tasks, 6e7),
    "hedge-mt-ogd": Limit("events x features x tasks", lambda n: n.events * n.features * n.tasks, 1e8),
    "mtfl": Limit(
        "tasks x the lesser of events and features, squared", lambda n: n.tasks * min(n.events, n.features) ** 2, 1.2e8
    ),
}
"""So set, from cells of order 200 that were timed, that a cell should take a minute or so, and none more than 90 s."""


def sizes_of(given: Events) -> Sizes:
    """What the limits look at."""
    return Sizes(len(given.y), len(np.unique(given.task)), given.X.shape[1], sparse.csr_array(given.X).nnz)


def too_large(learner: str, given: Events, part: float = 1.0) -> str:
    """Why a stream is too large for a learner here, or nothing: by sizes alone, so that every machine says the same.

    `part`: of the limits, for a quick run.
    """
    sizes, limit = sizes_of(given), LIMITS.get(learner)
    if limit is not None and limit.number(sizes) > part * limit.most:
        return f"{limit.words} is {limit.number(sizes):,.0f}, more than {part * limit.most:,.0f}"
    try:
        Model(learner).learner.hooks.refuse(sizes.tasks, sizes.features)
    except ValueError as reason:
        return str(reason)
    return ""


# --- a pass ---


class Passed(NamedTuple):
    """What a pass gave: scores (or probabilities) before every label, whether they are log-odds, cost."""

    scores: Floats
    kind: str
    """ "margin", "log-odds" or "probability"."""
    seconds: float
    bytes: int


def pass_of(learner: str, parameters: Mapping[str, Any], given: Events) -> Passed:
    """A learner of the catalogue over a stream of single events."""
    model = Model(learner, **parameters)
    stream = Stream(*given)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # parameters at the ends of the grids are remarked upon
        scores = _doubling(model, stream) if model.traits.refit_every else model.learn(stream)
    seconds = time.process_time() - began
    kind = "log-odds" if model.learner.tally_loss[0] == LOGISTIC else "margin"
    return Passed(scores, kind, seconds, _bytes(model.state))


def _doubling(model: Model, stream: Stream) -> Floats:
    """Scores of a learner that refits: 0 before its first fit, then those of the last one."""
    scores, done, due = np.zeros(len(stream)), 0, FIRST_FIT
    while due < len(stream):
        model.fit(stream.cut(done, due))
        done, due = due, 2 * due
        rest = stream.cut(done, min(due, len(stream)))
        scores[done : done + len(rest)] = model.score(rest)
    return scores


def pass_of_peer(peer: str, parameter: float | None, given: Events) -> Passed:
    """A peer, asked and taught event by event."""
    rows = sparse.csr_array(given.X, copy=True)
    rows.eliminate_zeros()
    models: Models = {}
    began = time.process_time()
    p = PEERS[peer](rows, given.y, given.task, True, parameter, models)
    return Passed(p, "probability", time.process_time() - began, bytes_of(peer, models))


def _bytes(tree: Any) -> int:
    """Of all arrays of a state, with the room that they have to grow."""
    return sum(map(_bytes, tree)) if isinstance(tree, tuple) else int(tree.nbytes)


# --- what it was worth ---


def errors(passed: Passed, y: Floats) -> Floats:
    """1 for every event whose sign was not predicted; a score in the middle says +1."""
    middle = 0.5 if passed.kind == "probability" else 0.0
    return np.asarray((passed.scores >= middle) != (y > 0.0), np.float64)


def log_losses(passed: Passed, y: Floats) -> Floats | None:
    """Of every event; None if scores are no log-odds."""
    if passed.kind == "margin":
        return None
    p = passed.scores if passed.kind == "probability" else np.exp(-np.logaddexp(0.0, -passed.scores))
    p = np.clip(p, CLIP, 1.0 - CLIP)
    return np.asarray(-np.log(np.where(y > 0.0, p, 1.0 - p)))


def measures(passed: Passed, y: Floats) -> dict[str, float | None]:
    """Over what comes after the leading tenth; time and memory are those of the whole stream."""
    since = leading(len(y))
    losses = log_losses(passed, y)
    return {
        "error": float(errors(passed, y)[since:].mean()),
        "log_loss": None if losses is None else float(losses[since:].mean()),
        "auc": auc(passed.scores[since:], y[since:]),
        "seconds": passed.seconds / len(y),
        "bytes": passed.bytes,
    }


def chosen(found: Sequence[float]) -> int:
    """The place of the least error; of equals the first, which is that of the defaults."""
    return int(np.argmin(found))


def tried(run: Callable[[Any, Events], Passed], choices: Sequence[Any], given: Events) -> dict[str, Any]:
    """Choose on the leading tenth, then run the defaults (the first choice) and what was chosen on everything."""
    part = given.first(leading(len(given.y)))
    tenth = [float(errors(run(choice, part), part.y).mean()) for choice in choices]
    best = chosen(tenth)
    default = measures(run(choices[0], given), given.y)
    return {
        "events": len(given.y) - len(part.y),
        "positive": float(np.mean(given.y[len(part.y) :] > 0.0)),
        "tenth": tenth,
        "chosen": best,
        "default": default,
        "tuned": default if best == 0 else measures(run(choices[best], given), given.y),
    }
