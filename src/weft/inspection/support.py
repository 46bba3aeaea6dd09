"""The rows that a kernel learner keeps, by the names of their tasks and features, and how it uses its budget."""

from typing import Any, NamedTuple

from weft.inspection.views import expect_counts_rows, expect_keeps_rows
from weft.learner import Learner, Usage
from weft.names import Name
from weft.vocabulary import Vocabulary


class SupportRow(NamedTuple):
    """A row that a kernel learner keeps: whose, with which coefficient, what it holds, and since when.

    `age` is the number of labelled events since it came. Where every task has weights of its own, `coefficients` has
    one for each, and `coefficient` is the one of the task that brought the row. None: not known.
    """

    task: Name
    coefficient: float
    row: dict[Name, float]
    age: int | None = None
    coefficients: dict[Name, float] | None = None


def support(learner: Learner, state: Any, vocabulary: Vocabulary) -> list[SupportRow]:
    """The rows that are kept, oldest first."""
    kept = expect_keeps_rows(learner).support(state, len(vocabulary.tasks))
    tasks, names = vocabulary.tasks, vocabulary.features.__getitem__
    return [
        SupportRow(
            tasks[found.task],
            found.coefficient,
            dict(zip(map(names, found.indices.tolist()), found.values.tolist(), strict=True)),
            found.age,
            None if found.coefficients is None else dict(zip(tasks, found.coefficients.tolist(), strict=True)),
        )
        for found in kept
    ]


def usage(learner: Learner, state: Any, vocabulary: Vocabulary) -> Usage:
    """What is kept, and what the budget cost; `kept` is in the order of the tasks."""
    return expect_counts_rows(learner).usage(state, len(vocabulary.tasks))
