"""One forged file: it is refused with a sentence, or the model works as any other."""

import math
import signal
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

import weft
from contracts.streams import Events
from forging import checked
from weft.compiled import jit
from weft.store.codec import FileError

SECONDS = 200
"""A trial that takes longer hangs. In plain mode a solver takes long that a file sends to its last turn."""

ARITHMETIC = (ZeroDivisionError, OverflowError, FloatingPointError, np.linalg.LinAlgError)
"""What plain Python raises where compiled code has infinity or NaN: no index is wrong."""


class Hang(Exception):
    """The time is over."""


@contextmanager
def limited(seconds: int) -> Iterator[None]:
    def stop(*_: Any) -> None:
        raise Hang(f"not finished after {seconds} s")

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, seconds)  # of the processor's time: others may be using it
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


def trial(data: bytes, events: Events) -> str:
    """ "refused" or "accepted"; anything but a refusal that the model documents is raised."""
    with limited(SECONDS), warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")
        try:
            model = weft.Model.from_bytes(data)
        except FileError:
            return "refused"
        _use(model, events)
        return "accepted"


def _use(model: weft.Model, events: Events) -> None:
    """Score, learn, save, load and inspect."""
    _watch(model)
    for act in (
        lambda: model.score(events.table(), list(events.tasks)),
        lambda: _score_known(model, events),
        lambda: _learn(model, events),
        lambda: _learn_ones(model, events),
        lambda: _save(model),
    ):
        _attempt(act)
    for view in (
        model.weights,
        model.relations,
        model.support,
        model.usage,
        model.distances,
        model.outliers,
        model.borrowing,
        model.tally.rows,
        lambda: model.tally.total,
        lambda: repr(model),
        lambda: [
            model.explain(row, name, per_feature=True) for row in _rows(model, events)[:2] for name in model.tasks[:2]
        ],
        lambda: model.parts_of(model.tasks[0]) if model.tasks else None,
    ):
        _attempt(view)


def _watch(model: weft.Model) -> None:
    """Negative indices raise too, in plain mode."""
    if jit.PLAIN:
        model.state, model._single = checked.watched(model.state), None


def _attempt(act: Callable[[], Any]) -> None:
    try:
        act()
    except (*ARITHMETIC, MemoryError):  # a table over all the columns that a file claims is asked for
        pass
    except ValueError as error:  # what a learner does not have or take; but an integer made of NaN would be an index
        if "convert float" in str(error) or isinstance(error, FileError):
            raise


def _rows(model: weft.Model, events: Events) -> list[dict[Any, float]]:
    """Rows in the model's own names."""
    names = model.vocabulary.features  # `model.features` is a list of all, of which a file may claim 2^32
    return [{names[f % len(names)]: value for f, value in row.items()} for row in events.rows] if len(names) else []


def _score_known(model: weft.Model, events: Events) -> None:
    rows = _rows(model, events)
    for task in [*model.tasks[:12], "nobody"]:
        for row in rows[:2]:
            model.predict_one(row, task)
            model.score([row], [task])


def _explain(model: weft.Model, events: Events) -> None:
    for row in _rows(model, events)[:2]:
        for name in model.tasks[:2]:
            model.explain(row, name, per_feature=True)


def _learn(model: weft.Model, events: Events) -> None:
    for piece in events.cut([0, 1, events.n_rounds]):
        model.learn(piece.stream())
        _watch(model)


def _learn_ones(model: weft.Model, events: Events) -> None:
    tasks = model.tasks
    for i, row in enumerate(_rows(model, events)[:6]):
        label = events.labels[i]
        if not math.isnan(label) and label != 0.0:
            model.learn_one(row, label, tasks[i % len(tasks)])


def _save(model: weft.Model) -> None:
    """What a model writes it reads again."""
    data = model.to_bytes()
    assert weft.Model.from_bytes(data).to_bytes() == data
