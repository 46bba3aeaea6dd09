"""Multilabel: a set of labels per event, one binary task per label, all tied by a shared loss.

Dekel, Long and Singer (2007), Sec. 8.1. Whether a task is wrong on an event is e_j = 1 if y_j s_j <= 0 (a
score of exactly 0 is wrong); the 1-error of an event is the share of its tasks that are wrong, its
inf-error whether any is. The l1 norm is made for the first, linf for the second.

>>> import numpy as np
>>> rng = np.random.default_rng(5)
>>> X = np.column_stack([rng.normal(size=(3000, 30)) / 5, np.ones(3000)])
>>> Y = X @ rng.normal(size=(31, 10)) > 1.0
>>> for norm in ("l1", "linf"):
...     learner = Multilabel(norm=norm, C=0.03)
...     predicted = learner.learn(X, Y)
...     print(f"{norm:4} {learner.one_error:.3f} {learner.inf_error:.3f}")
l1   0.085 0.566
linf 0.056 0.437
"""

import os
from collections.abc import Hashable, Iterable
from typing import Any

import numpy as np

from weft.compiled.arrays import ArrayLike, Floats, Ints
from weft.learner import Learner
from weft.reductions import files
from weft.reductions.labels import as_list, check_label, declared, refuse_unknown, same_count
from weft.reductions.same_row import build_model, learn_pieces, read_table, score_pieces
from weft.storage.rows import as_table, is_sparse
from weft.store.digests import FileError

SETS, ZERO_ONE, SIGNS, SPARSE = "sets", "0/1", "-1/+1", "sparse"


class Multilabel:
    """A set of labels per event, of any hashable kind but None.

    learner   a name of the catalogue with its `parameters`, or a learner already built; it must classify
    labels    the labels, in order: the columns of a matrix. Without them a first matrix makes them 0, 1, 2
              ..., and sets may bring new labels at any time (the new ones of one set in sorted order)
    norm      for learners that have one: what the losses of an event's labels add up to

    A label is predicted when its score is >= 0. Predictions come in the form of the labels that were given.

    >>> learner = Multilabel()
    >>> found = learner.learn([[1, 0], [0, 1], [1, 1]], [{"money"}, {"sport"}, {"money", "sport"}])
    >>> [sorted(labels) for labels in found]
    [[], ['money'], ['money', 'sport']]
    >>> learner.labels, learner.inf_error
    (['money', 'sport'], 0.6666666666666666)
    """

    def __init__(
        self,
        learner: str | Learner = "implicit",
        *,
        labels: Iterable[Hashable] | None = None,
        norm: Any = "linf",
        **parameters: Any,
    ) -> None:
        self._numbers = declared(labels)
        self._grows = labels is None
        if norm != "linf":
            parameters["norm"] = norm
        self.model = build_model(learner, len(self._numbers) or None, "binary", {"norm": "linf"}, parameters)
        self.events = 0
        self._one, self._inf = 0.0, 0
        self._form = SETS

    def __repr__(self) -> str:
        return f"Multilabel({self.model.learner!r}, {len(self._numbers)} labels, {self.events} events)"

    @property
    def labels(self) -> list[Hashable]:
        """The labels known, in the order of the columns."""
        return list(self._numbers)

    @property
    def one_error(self) -> float:
        """Mean share of an event's labels that were wrong; NaN before the first event."""
        return self._one / self.events if self.events else float("nan")

    @property
    def inf_error(self) -> float:
        """Share of events with any label wrong; NaN before the first event."""
        return self._inf / self.events if self.events else float("nan")

    def learn(self, X: Any, Y: Any) -> Any:
        """Learn a table of rows with labels each; returns what was predicted before they were used.

        Y is a list of sets, or a matrix with a column per label: dense (0/1 or -1/+1) or SciPy sparse (0/1).
        What is refused leaves no trace.
        """
        rows = read_table(X)
        form, truth, width, labels = self._read(Y, rows.length)
        known = np.concatenate([[len(self._numbers)], width[:-1]]) if form == SETS else width

        def signs(start: int, stop: int, tasks: int) -> Floats:
            block: Floats = 2.0 * truth[start:stop, :tasks].toarray() - 1.0
            return block

        predicted: list[Any] = []
        for piece in learn_pieces(self.model, rows, width, signs):
            here, tasks = slice(piece.start, piece.stop), piece.scores.shape[1]
            for label in labels[len(self._numbers) : tasks]:
                self._numbers[label] = len(self._numbers)
            wrong = piece.active & (signs(piece.start, piece.stop, tasks) * piece.scores <= 0.0)
            self._count(wrong, width[here])
            found = (piece.scores >= 0.0) & (np.arange(tasks) < known[here, None])
            predicted += self._in_form(form, found)
        self._form = form
        return _joined(form, predicted)

    def learn_one(self, x: Any, y: Iterable[Hashable]) -> set[Any]:
        """Learn one event with its set of labels; returns the set predicted before."""
        form, predicted = self._form, self.learn(as_table(x), [set(y)])[0]
        self._form = form
        found: set[Any] = predicted
        return found

    def scores(self, X: Any) -> Floats:
        """Scores without learning, a column per label."""
        return score_pieces(self.model, read_table(X), len(self._numbers))

    def predict(self, X: Any) -> Any:
        """What is predicted without learning, in the form of the labels last learned (sets before that)."""
        return _joined(self._form, self._in_form(self._form, self.scores(X) >= 0.0))

    def predict_one(self, x: Any) -> set[Any]:
        """The set of labels of one event, without learning."""
        found: set[Any] = self._in_form(SETS, self.scores(as_table(x)) >= 0.0)[0]
        return found

    # --- files ---

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write everything to one file; labels must be strings, integers or tuples of those."""
        facts = {
            "labels": files.storable(self.labels),
            "grows": int(self._grows),
            "form": self._form,
            "events": self.events,
            "one": self._one,
            "inf": self._inf,
        }
        files.save(path, self.model, "multilabel", facts)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> "Multilabel":
        """Read what `save` wrote."""
        model, facts = files.load(path, "multilabel")
        found = cls.__new__(cls)
        found.model, found._numbers = model, files.stored_labels(facts)
        found._grows = bool(files.stored_number(facts, "grows", int))
        found.events = files.stored_number(facts, "events", int)
        found._one = files.stored_number(facts, "one", float)
        found._inf = files.stored_number(facts, "inf", int)
        found._form = facts.get("form", "")
        if found._form not in (SETS, ZERO_ONE, SIGNS, SPARSE) or len(found._numbers) != len(model.tasks):
            raise FileError(f"{os.fspath(path)}: the labels do not fit the tasks")
        return found

    # --- inside ---

    def _count(self, wrong: Any, width: Ints) -> None:
        self.events += len(wrong)
        self._inf += int(np.sum(wrong.any(axis=1)))
        for share in (wrong.sum(axis=1) / np.maximum(width, 1)).tolist():  # one by one: pieces must not show
            self._one += share

    def _in_form(self, form: str, found: Any) -> list[Any]:
        """Predicted labels of some events: a list of sets, or of one matrix."""
        if form == SETS:
            labels = self.labels
            return [{labels[number] for number in np.flatnonzero(row)} for row in found]
        if form == SPARSE:
            from scipy import sparse  # here and below: most commands load this module, and few of them need SciPy

            return [sparse.csr_array(found.astype(np.int64))]
        return [found.astype(np.int64) if form == ZERO_ONE else np.where(found, 1, -1)]

    # --- reading ---

    def _read(self, Y: Any, n: int) -> tuple[str, Any, Ints, list[Any]]:
        """The form, the labels as a sparse matrix, how many labels each event has, all labels after them."""
        if not is_sparse(Y) and not isinstance(Y, ArrayLike):
            Y = as_list(Y, "Y")
            if Y and all(isinstance(entry, set | frozenset) for entry in Y):
                same_count(len(Y), n, "Y")
                return SETS, *self._read_sets(Y)
        form, truth = _read_matrix(Y, self._form)
        same_count(truth.shape[0], n, "Y")
        k = truth.shape[1]
        if self._numbers and k != len(self._numbers):
            raise ValueError(f"Y has {k} columns for {len(self._numbers)} labels; give a column per label")
        return form, truth, np.full(n, k), self.labels or list(range(k))

    def _read_sets(self, Y: list[Any]) -> tuple[Any, Ints, list[Any]]:
        from scipy import sparse

        numbers = dict(self._numbers)
        width, row, column = np.empty(len(Y), np.int64), [], []
        for event, entry in enumerate(Y):
            for label in entry:
                check_label(label, f"row {event}")
            for label in _in_order(label for label in entry if label not in numbers):
                if not self._grows:
                    refuse_unknown(label, event, numbers)
                numbers[label] = len(numbers)
            row += [event] * len(entry)
            column += [numbers[label] for label in entry]
            width[event] = len(numbers)
        truth = sparse.csr_array((np.ones(len(row)), (row, column)), shape=(len(Y), len(numbers)))
        return truth, width, list(numbers)


def _in_order(labels: Iterable[Any]) -> list[Any]:
    """New labels of one set in an order that does not depend on hashes."""
    found = list(labels)
    is_plain = all(isinstance(label, str) for label in found) or all(isinstance(label, int | float) for label in found)
    return sorted(found) if is_plain else sorted(found, key=repr)


def _read_matrix(Y: Any, last: str) -> tuple[str, Any]:
    """The form of a matrix of labels, and where it is positive; all ones could be either: then as last."""
    from scipy import sparse

    was_sparse = sparse.issparse(Y)
    try:
        Y = sparse.csr_array(Y) if was_sparse else np.asarray(Y)
    except ValueError:
        raise ValueError("the rows of Y differ in length; give a list of sets, or a matrix") from None
    if Y.ndim != 2 or Y.shape[1] == 0 or Y.dtype.kind not in "fiub":
        raise ValueError(f"Y is {Y.dtype} {Y.shape}; give a list of sets, or a matrix with a column per label")
    truth = sparse.csr_array(Y == 1)
    if was_sparse:
        _refuse_entries(sparse.coo_array(Y), lambda value: (value == 0) | (value == 1), "a sparse Y holds 0 and 1")
        return SPARSE, truth
    dense = sparse.coo_array(np.asarray(Y, np.float64))
    negative = bool(np.any(Y == -1))
    if negative:
        zero = np.argwhere(Y == 0)
        if len(zero):
            raise ValueError(f"row {zero[0][0]}: label {zero[0][1]} is 0, others are -1; use 0/1 or -1/+1, not both")
    _refuse_entries(dense, lambda value: np.abs(value) == 1, "Y holds 0/1 or -1/+1")
    ambiguous = not negative and bool(np.all(Y == 1))
    return SIGNS if negative or (ambiguous and last == SIGNS) else ZERO_ONE, truth


def _refuse_entries(Y: Any, allowed: Any, remedy: str) -> None:
    bad = np.flatnonzero(~allowed(Y.data))
    if len(bad):
        at = bad[np.argmin(Y.row[bad])]
        raise ValueError(f"row {Y.row[at]}: label {Y.col[at]} is {Y.data[at]:g}; {remedy}")


def _joined(form: str, parts: list[Any]) -> Any:
    if form == SETS:
        return parts
    if form == SPARSE:
        from scipy import sparse

        return sparse.vstack(parts, format="csr")
    return np.concatenate(parts)
