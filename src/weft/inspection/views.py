"""Views: what some learners can show of their state, each a small protocol that a learner fits by having its methods.

Whether a learner has a view is asked here and nowhere else.
"""

from typing import Any, Protocol, runtime_checkable

from weft.compiled.arrays import Floats, Ints
from weft.learner import Borrowed, Distances, Kept, Learner, SeenRow, Shares, Usage
from weft.storage.batch import Batch


@runtime_checkable
class Explains(Protocol):
    """Splits the weights of a task by where they come from."""

    def explain(self, state: Any, slot: int, tasks: int, indices: Ints) -> Shares:
        """For some features; a slot >= tasks is a task that is not known. ValueError where it cannot be said."""


@runtime_checkable
class ScalesRows(Protocol):
    """Brings rows to a scale of its own."""

    def seen_row(self, state: Any, batch: Batch) -> SeenRow:
        """One row as the learner sees it, and what its score is made of."""


@runtime_checkable
class Mixes(Protocol):
    """Predicts by a mixture of models."""

    def mixed(self, state: Any, slot: int) -> dict[str, float]:
        """The weights of a task's mixture."""


@runtime_checkable
class Stacks(Protocol):
    """Adds up the scores of experts by weights that are learned."""

    def stacked(self, state: Any) -> dict[str, float]:
        """The experts by name, and their weights."""


@runtime_checkable
class Borrows(Protocol):
    """Mixes models per task, with a guarantee."""

    def borrowing(self, state: Any, tasks: int) -> list[Borrowed]:
        """Per task: what it relies on, and what that cost."""


@runtime_checkable
class KeepsRows(Protocol):
    """Keeps rows that its models are made of."""

    def support(self, state: Any, tasks: int) -> list[Kept]:
        """The rows, oldest first; ValueError if these parameters keep none."""


@runtime_checkable
class CountsRows(Protocol):
    """Keeps rows on a budget."""

    def usage(self, state: Any, tasks: int) -> Usage:
        """What is kept, and what the budget cost."""


@runtime_checkable
class HasDistances(Protocol):
    """Has an own and a shared part per task."""

    def distances(self, state: Any, tasks: int, features: int) -> Distances:
        """How far every task is from the tasks that it is tied to."""


@runtime_checkable
class HasOutliers(Protocol):
    """Has a personal part per task."""

    def outliers(self, state: Any, tasks: int, features: int) -> Floats:
        """The lengths of the personal parts."""


@runtime_checkable
class Refits(Protocol):
    """Fits all models anew, to all rows so far."""

    def refit(self, state: Any) -> None:
        """Fit all models to the rows that are kept."""

    def fit(self, state: Any, batch: Batch, start: int) -> int:
        """Keep the rows of a batch from round `start` on, and refit after the last; the first round without room."""

    def refuse_fit(self, state: Any, batch: Batch) -> None:
        """Raise ValueError if there is nothing to fit."""


VIEWS: dict[str, Any] = {
    "explain": Explains,
    "scale": ScalesRows,
    "mixture": Mixes,
    "experts": Stacks,
    "borrowing": Borrows,
    "support": KeepsRows,
    "usage": CountsRows,
    "distances": HasDistances,
    "outliers": HasOutliers,
    "fit": Refits,
}
"""The views by the name under which a model offers them."""


def views_of(learner: Learner) -> frozenset[str]:
    """The names of the views that a learner has.

    >>> from weft.learners.catalogue import build
    >>> sorted(views_of(build("auto", {}))), sorted(views_of(build("coml", {})))
    (['borrowing', 'experts', 'explain', 'mixture', 'scale'], ['explain', 'outliers'])
    """
    return frozenset(name for name, view in VIEWS.items() if isinstance(learner, view))


def expect_explains(learner: Learner) -> Explains:
    """The learner, or ValueError if it does not explain."""
    if not isinstance(learner, Explains):
        raise ValueError(f"{learner.name} does not say where a score comes from; see model.weights()")
    return learner


def expect_borrows(learner: Learner) -> Borrows:
    """The learner, or ValueError if it mixes nothing."""
    if not isinstance(learner, Borrows):
        raise ValueError(f"{learner.name} does not mix models per task; auto does")
    return learner


def expect_stacks(learner: Learner) -> Stacks:
    """The learner, or ValueError if it has no stack."""
    if not isinstance(learner, Stacks):
        raise ValueError(f"{learner.name} has no stack of experts; auto has")
    return learner


def expect_keeps_rows(learner: Learner) -> KeepsRows:
    """The learner, or ValueError if it keeps no rows."""
    if not isinstance(learner, KeepsRows):
        raise ValueError(f"{learner.name} keeps no rows; see model.weights()")
    return learner


def expect_counts_rows(learner: Learner) -> CountsRows:
    """The learner, or ValueError if it has no budget."""
    if not isinstance(learner, CountsRows):
        raise ValueError(f"{learner.name} counts no rows; see model.weights() or model.support()")
    return learner


def expect_distances(learner: Learner) -> HasDistances:
    """The learner, or ValueError if it has no shared part."""
    if not isinstance(learner, HasDistances):
        raise ValueError(f"{learner.name} has no own and shared parts to measure; mt-ogd and its relatives have")
    return learner


def expect_outliers(learner: Learner) -> HasOutliers:
    """The learner, or ValueError if it has no personal parts."""
    if not isinstance(learner, HasOutliers):
        raise ValueError(f"{learner.name} has no personal parts; romco-nucl, romco-logd, coml and cw-col have")
    return learner


def expect_refits(learner: Learner) -> Refits:
    """The learner, or ValueError if it does not refit."""
    if not isinstance(learner, Refits):
        raise ValueError(f"{learner.name} learns as it goes, and has no fit; use model.learn(stream)")
    return learner
