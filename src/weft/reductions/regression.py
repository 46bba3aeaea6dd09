"""Vector regression: several numbers per event, one task per output.

Dekel, Long and Singer (2007), Sec. 1. With the l2 norm and epsilon = 0 the shared loss of an event is the
Euclidean distance |e| between the true and the predicted vector. All outputs see the same row, so the
implicit update has a closed form:

    W += e x^T / |x|^2    if |e| <= C |x|^2,    else    W += C (e / |e|) x^T

>>> import numpy as np
>>> rng = np.random.default_rng(3)
>>> X = rng.normal(size=(500, 4))
>>> Y = X @ rng.normal(size=(4, 3)) + 0.1 * rng.normal(size=(500, 3))
>>> learner = VectorRegression(C=0.1)
>>> predicted = learner.learn(X, Y)
>>> deviation = np.linalg.norm(Y - predicted, axis=1)
>>> [round(float(part.mean()), 3) for part in (deviation[:100], deviation[100:])]
[0.741, 0.226]
"""

import os
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.learner import Learner
from weft.reductions import files
from weft.reductions.labels import same_count
from weft.reductions.same_row import build_model, learn_pieces, read_table, score_pieces
from weft.storage.rows import as_table


class VectorRegression:
    """A vector of numbers per event; the first table that is learned says how many.

    learner   a name of the catalogue with its `parameters`, or a learner already built; it must predict
              numbers (a named one that has a choice of losses is given the epsilon-insensitive one)
    norm      for learners that have one: what the deviations of an event's outputs add up to
    epsilon   for learners that have one: deviations up to this cost nothing

    An entry of Y that is NaN is unknown: the output is predicted, not learned.

    >>> learner = VectorRegression()
    >>> learner.learn([[1, 0], [1, 0]], [[3, 4], [3, 4]]).tolist()
    [[0.0, 0.0], [0.6, 0.8]]
    >>> learner.error
    4.5
    """

    def __init__(
        self,
        learner: str | Learner = "implicit",
        *,
        norm: Any = "l2",
        epsilon: float = 0.0,
        **parameters: Any,
    ) -> None:
        defaults = {"norm": "l2", "epsilon": 0.0, "loss": "epsilon-insensitive"}
        given = {"norm": norm, "epsilon": epsilon}
        parameters |= {name: value for name, value in given.items() if value != defaults[name]}
        self.model = build_model(learner, None, "real", defaults, parameters)
        self.events = 0
        self._deviation = 0.0

    def __repr__(self) -> str:
        return f"VectorRegression({self.model.learner!r}, {self.outputs} outputs, {self.events} events)"

    @property
    def outputs(self) -> int:
        """Numbers per event; 0 before the first."""
        return len(self.model.tasks)

    @property
    def error(self) -> float:
        """Mean Euclidean distance between the true and the predicted vectors; NaN before the first event."""
        return self._deviation / self.events if self.events else float("nan")

    def learn(self, X: Any, Y: Any) -> Floats:
        """Learn a table of rows with a vector each; returns the predictions issued before, shaped as Y."""
        rows = read_table(X)
        Y = self._read(Y, rows.length)
        predicted = np.empty(Y.shape)
        width = np.full(rows.length, Y.shape[1])
        for piece in learn_pieces(self.model, rows, width, lambda start, stop, _: Y[start:stop]):
            here = slice(piece.start, piece.stop)
            predicted[here] = piece.scores
            gap = np.nan_to_num(Y[here] - piece.scores)
            self.events += len(gap)
            for distance in np.sqrt(np.sum(gap * gap, axis=1)).tolist():  # one by one: pieces must not show
                self._deviation += distance
        return predicted

    def learn_one(self, x: Any, y: Any) -> Floats:
        """Learn one event; returns the vector predicted before. `x`: a dict, a dense or a sparse row."""
        predicted: Floats = self.learn(as_table(x), [y])[0]
        return predicted

    def predict(self, X: Any) -> Floats:
        """(rows, outputs) without learning."""
        if not self.outputs:
            raise ValueError("nothing was learned yet, so the number of outputs is not known; learn first")
        return score_pieces(self.model, read_table(X), self.outputs)

    def predict_one(self, x: Any) -> Floats:
        """The vector of one event, without learning."""
        predicted: Floats = self.predict(as_table(x))[0]
        return predicted

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file."""
        files.save(path, self.model, "vector regression", {"events": self.events, "deviation": self._deviation})

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "VectorRegression":
        """Read what `save` wrote."""
        found = cls.__new__(cls)
        found.model, facts = files.load(path, "vector regression")
        found.events = files.stored_number(facts, "events", int)
        found._deviation = files.stored_number(facts, "deviation", float)
        return found

    def _read(self, Y: Any, n: int) -> Floats:
        try:
            Y = np.asarray(Y)
        except ValueError:
            raise ValueError("the rows of Y differ in length; give a row per event and a column per output") from None
        if Y.ndim != 2 or Y.shape[1] == 0 or Y.dtype.kind not in "fiu":
            raise ValueError(f"Y is {Y.dtype} {Y.shape}; give numbers, a row per event and a column per output")
        same_count(len(Y), n, "Y")
        if self.outputs and Y.shape[1] != self.outputs:
            raise ValueError(f"Y has {Y.shape[1]} columns, {self.outputs} outputs were learned so far")
        bad = np.argwhere(np.isinf(Y))
        if len(bad):
            row, column = bad[0]
            raise ValueError(f"row {row}: output {column} is {Y[row, column]}; numbers must be finite, NaN if unknown")
        numbers: Floats = Y.astype(np.float64)
        return numbers
