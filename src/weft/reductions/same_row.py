"""Rounds in which all tasks see one row: what every reduction learns from.

The tasks are numbered 0, 1, 2 ...; a round's width says how many of them take part, so that labels may be
new at any time. Streams are learned piece by piece, which bounds memory and changes no bit.
"""

from collections.abc import Callable, Iterator, Mapping
from dataclasses import fields
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.learner import Learner, Target
from weft.learners.catalogue import LEARNERS
from weft.model import Model
from weft.storage.rows import Rows, read_rows
from weft.stream import Stream

PIECE = 1 << 17
"""Most examples (events x tasks) in one piece."""

_KINDS = {"binary": "a classifier", "real": "a learner that predicts numbers"}


def build_model(
    learner: str | Learner,
    tasks: int | None,
    target: Target,
    defaults: Mapping[str, Any],
    parameters: Mapping[str, Any],
) -> Model:
    """A model; `defaults` are given to a learner that is named and has such parameters."""
    if isinstance(learner, str) and learner in LEARNERS:
        known = {field.name for field in fields(LEARNERS[learner])}
        parameters = {name: value for name, value in defaults.items() if name in known} | dict(parameters)
    model = Model(learner, tasks=tasks, **parameters)
    if model.target != target:
        raise ValueError(f"{model.name} with these parameters is not {_KINDS[target]}, which is needed here")
    return model


def read_table(X: Any) -> Rows:
    """Rows, at least one."""
    rows = read_rows(X)
    if rows.length == 0:
        raise ValueError("X is empty; give at least one row")
    return rows


class Piece(NamedTuple):
    """Events start .. stop-1: which (event, task) took part, and the scores issued (0 where none was)."""

    start: int
    stop: int
    active: Any
    scores: Floats


def learn_pieces(model: Model, rows: Rows, width: Ints, label: Callable[[int, int, int], Any]) -> Iterator[Piece]:
    """Learn piece by piece; `label(start, stop, tasks)` gives the (events, tasks) block of labels."""
    for start, stop in _cuts(width):
        active = _active(width[start:stop])
        y = np.asarray(label(start, stop, active.shape[1]), np.float64)[active]
        scores = np.zeros(active.shape)
        if active.any():
            scores[active] = model.learn(_stream(rows, start, stop, active, y))
        yield Piece(start, stop, active, scores)


def score_pieces(model: Model, rows: Rows, tasks: int) -> Floats:
    """(rows, tasks) scores without learning."""
    width, scores = np.full(rows.length, tasks), np.zeros((rows.length, tasks))
    for start, stop in _cuts(width) if tasks else ():
        stream = _stream(rows, start, stop, _active(width[start:stop]), None)
        scores[start:stop] = model.score(stream).reshape(stop - start, tasks)
    return scores


def _cuts(width: Ints) -> Iterator[tuple[int, int]]:
    """Pieces of whole events within the limit; `width` never falls."""
    start = 0
    while start < len(width):
        room = np.searchsorted(np.cumsum(width[start : start + PIECE]), PIECE, "right")
        stop = start + max(1, int(room))
        yield start, stop
        start = stop


def _active(width: Ints) -> Any:
    return np.arange(width.max()) < width[:, None]


def _stream(rows: Rows, start: int, stop: int, active: Any, y: Floats | None) -> Stream:
    edge = rows.indptr[start : stop + 1]
    held = slice(int(edge[0]), int(edge[-1]))
    piece = Rows(edge - edge[0], rows.indices[held], rows.values[held], rows.features)
    row, task = np.nonzero(active)
    bounds = np.concatenate([[0], np.cumsum(active.sum(axis=1))]).astype(np.int64)
    return Stream.of_parts(piece, row, y, task, list(range(active.shape[1])), bounds, True)
