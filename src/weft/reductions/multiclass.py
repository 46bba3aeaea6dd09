"""Multiclass: one label out of many, by binary tasks that share a row and a loss.

Dekel, Long and Singer (2007), Sec. 1. Every event is a round in which all binary tasks see the same row.

    one-vs-rest  a task per label, the highest score wins        linf: one wrong task is as bad as many
    log2         a task per bit of the label's number            linf: one wrong bit is as bad as many
    ecoc         a task per column of an error-correcting code   r-max: d/2 wrong columns are as bad as more

With the code given as a matrix, or by `"ecoc"` the exhaustive one, the predicted signs are decoded to the
nearest row.

>>> import numpy as np
>>> rng = np.random.default_rng(7)
>>> y = rng.integers(0, 5, 2000)
>>> X = rng.normal(size=(5, 20))[y] + rng.normal(size=(2000, 20))
>>> for coding in ("one-vs-rest", "log2", "ecoc"):
...     learner = Multiclass("implicit", coding=coding, labels=range(5), C=0.01)
...     predicted = learner.learn(X, y)
...     print(f"{coding:12} {learner.error:.3f}")
one-vs-rest  0.052
log2         0.058
ecoc         0.049

Interpretation. One-vs-rest without declared `labels` may meet a new label at any time: all labels known so far,
the new one included, take part in the round that brings it, but only those known before could be predicted.
The default r of r-max is max(1, d/2) with d the distance of the code, as the introduction of the paper has
it (Sec. 8.2 says 5 where that is 4).
"""

import os
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.learner import Learner
from weft.reductions import codes, files
from weft.reductions.labels import as_list, check_label, declared, refuse_unknown, same_count
from weft.reductions.same_row import build_model, learn_pieces, read_table, score_pieces
from weft.storage.rows import as_table
from weft.store.digests import FileError

CODINGS = ("one-vs-rest", "log2", "ecoc")


class Multiclass:
    """One label per event, of any hashable kind but None.

    learner     a name of the catalogue with its `parameters`, or a learner already built; it must classify
    coding      "one-vs-rest", "log2", "ecoc" (the exhaustive code) or a matrix of -1 and +1, a row per label
    labels      the labels, in order; only one-vs-rest can do without, and then takes them as they come
    norm        for learners that have one; None: linf, or r-max with r = max(1, d/2) for a code of distance d

    >>> learner = Multiclass()
    >>> learner.learn([[1, 0], [0, 1], [1, 0], [0, 1]], ["cat", "dog", "cat", "dog"])
    [None, 'cat', 'cat', 'dog']
    >>> learner.labels, learner.mistakes, learner.predict([[2, 1]])
    (['cat', 'dog'], 2, ['cat'])
    """

    def __init__(
        self,
        learner: str | Learner = "implicit",
        *,
        coding: Any = "one-vs-rest",
        labels: Iterable[Hashable] | None = None,
        norm: Any = None,
        **parameters: Any,
    ) -> None:
        self._numbers = declared(labels)
        self._grows = labels is None
        self.code = _code(coding, len(self._numbers))
        tasks = None if self._grows else len(self._numbers) if self.code is None else self.code.shape[1]
        if norm is not None:
            parameters["norm"] = norm
        self.model = build_model(learner, tasks, "binary", {"norm": _default_norm(coding, self.code)}, parameters)
        self.events = 0
        self.mistakes = 0

    def __repr__(self) -> str:
        coding = "one-vs-rest" if self.code is None else f"{self.code.shape[1]} binary tasks"
        return f"Multiclass({self.model.learner!r}, {coding}, {len(self._numbers)} labels, {self.events} events)"

    @property
    def labels(self) -> list[Hashable]:
        """The labels known, in the order of their numbers."""
        return list(self._numbers)

    @property
    def error(self) -> float:
        """Share of events whose label was not predicted; NaN before the first."""
        return self.mistakes / self.events if self.events else float("nan")

    def learn(self, X: Any, y: Any) -> list[Any]:
        """Learn a table of rows with a label each; returns the labels predicted before each label was used.

        A prediction before any label is known is None. What is refused leaves no trace.
        """
        rows = read_table(X)
        target, labels = self._read(y, rows.length)
        if self.code is None:
            known = len(self._numbers)
            width = np.maximum.accumulate(np.maximum(target + 1, known))
            before = np.concatenate([[known], width[:-1]])
        else:
            width = np.full(rows.length, self.code.shape[1])
            before = width
        predicted: list[Any] = []
        for piece in learn_pieces(
            self.model, rows, width, lambda start, stop, tasks: self._signs(target[start:stop], tasks)
        ):
            here = slice(piece.start, piece.stop)
            found = self._decode(piece.scores, before[here])
            predicted += [labels[number] if number >= 0 else None for number in found.tolist()]
            for label in labels[len(self._numbers) : int(width[piece.stop - 1])] if self._grows else ():
                self._numbers[label] = len(self._numbers)
            self.events += piece.stop - piece.start
            self.mistakes += int(np.sum(found != target[here]))
        return predicted

    def learn_one(self, x: Any, y: Hashable) -> Any:
        """Learn one event; returns the label predicted before. `x`: a dict, a dense or a sparse row."""
        return self.learn(as_table(x), [y])[0]

    def scores(self, X: Any) -> Floats:
        """Scores without learning: a column per label (one-vs-rest) or per column of the code."""
        tasks = len(self._numbers) if self.code is None else self.code.shape[1]
        return score_pieces(self.model, read_table(X), tasks)

    def predict(self, X: Any) -> list[Any]:
        """Labels without learning; None if no label is known."""
        scores, labels = self.scores(X), self.labels
        found = self._decode(scores, np.full(len(scores), scores.shape[1]))
        return [labels[number] if number >= 0 else None for number in found.tolist()]

    def predict_one(self, x: Any) -> Any:
        """The label of one event, without learning."""
        return self.predict(as_table(x))[0]

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; labels must be strings, integers or tuples of those."""
        facts = {
            "labels": files.storable(self.labels),
            "grows": int(self._grows),
            "code": None if self.code is None else self.code.tolist(),
            "events": self.events,
            "mistakes": self.mistakes,
        }
        files.save(path, self.model, "multiclass", facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Multiclass":
        """Read what `save` wrote."""
        model, facts = files.load(path, "multiclass")
        found = cls.__new__(cls)
        found.model, found._numbers = model, files.stored_labels(facts)
        found._grows = bool(files.stored_number(facts, "grows", int))
        found.code = None if facts.get("code") is None else codes.read_code(facts["code"])
        found.events = files.stored_number(facts, "events", int)
        found.mistakes = files.stored_number(facts, "mistakes", int)
        labels, tasks = len(found._numbers), len(model.tasks)
        if (labels, tasks) != ((tasks, labels) if found.code is None else found.code.shape):
            raise FileError(f"{os.fspath(path)}: {labels} labels do not fit {tasks} tasks")
        return found

    # --- inside ---

    def _read(self, y: Any, n: int) -> tuple[Ints, list[Any]]:
        """Numbers of the labels, and all labels known after them."""
        values = as_list(y, "y")
        same_count(len(values), n, "y")
        numbers = dict(self._numbers) if self._grows else self._numbers
        target = np.empty(n, np.int64)
        for row, label in enumerate(values):
            check_label(label, f"row {row}")
            number = numbers.get(label, -1)
            if number < 0:
                if not self._grows:
                    refuse_unknown(label, row, numbers)
                numbers[label] = number = len(numbers)
            target[row] = number
        return target, list(numbers)

    def _signs(self, target: Ints, tasks: int) -> Any:
        if self.code is not None:
            return self.code[target]
        return np.where(np.arange(tasks) == target[:, None], 1.0, -1.0)

    def _decode(self, scores: Floats, known: Ints) -> Ints:
        """Label numbers from scores, of which the first `known` of each event count; -1 if there is none."""
        if self.code is not None:
            return codes.decode_hamming(self.code, np.where(scores >= 0.0, 1, -1))
        if scores.shape[1] == 0:
            return np.full(len(scores), -1)
        possible = np.where(np.arange(scores.shape[1]) < known[:, None], scores, -np.inf)
        return np.where(known > 0, np.argmax(possible, axis=1), -1)  # argmax takes the first among equals


def _code(coding: Any, labels: int) -> Ints | None:
    """The code matrix; None for one-vs-rest, which is decoded by the highest score."""
    if isinstance(coding, str):
        if coding not in CODINGS:
            raise ValueError(f"coding={coding!r}; choose one of {', '.join(CODINGS)}, or give a code matrix")
        if coding == "one-vs-rest":
            return None
    if labels == 0:
        raise ValueError("this coding needs to know the labels: give labels=[...], or use coding='one-vs-rest'")
    if isinstance(coding, str):
        return codes.log2_code(labels) if coding == "log2" else codes.exhaustive_code(labels)
    code = codes.read_code(coding)
    if len(code) != labels:
        raise ValueError(f"the code has {len(code)} rows for {labels} labels; give a row per label")
    if len(np.unique(code, axis=0)) != len(code):
        raise ValueError("two labels have the same row in the code; no decoding could tell them apart")
    return code


def _default_norm(coding: Any, code: Ints | None) -> str:
    if code is None or len(code) < 2 or (isinstance(coding, str) and coding == "log2"):
        return "linf"
    return f"{max(1.0, codes.code_distance(code) / 2)!r}-max"
