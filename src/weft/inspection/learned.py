"""What a model is and what it has learned: the methods of `weft.Model` that only look."""

from typing import TYPE_CHECKING, Any

from weft.compiled.arrays import Floats
from weft.inspection import views
from weft.inspection.borrowing import Borrowing
from weft.inspection.explanation import weights_of
from weft.inspection.support import SupportRow, support, usage
from weft.learner import Distances, Learner, Usage
from weft.learners.catalogue import parameters_as_json
from weft.names import Name
from weft.threads.guard import Guard, reads
from weft.vocabulary import Vocabulary


class Learned:
    """A learner with its vocabulary and state, to be looked at, by any thread at any time (`weft.threads.guard`)."""

    if TYPE_CHECKING:  # what the model has
        _guard: Guard
        learner: Learner
        vocabulary: Vocabulary
        state: Any

    @property
    def _sizes(self) -> tuple[int, int]:
        """The numbers of tasks and features."""
        return len(self.vocabulary.tasks), len(self.vocabulary.features)

    # --- what it is ---

    @property
    def paper(self) -> str:
        """Where the learner was published."""
        return self.learner.paper

    @property
    def parameters(self) -> dict[str, Any]:
        """The learner's parameters as JSON takes them: `weft.Model(model.name, **model.parameters)` is its twin."""
        return parameters_as_json(self.learner)

    @property
    def views(self) -> frozenset[str]:
        """What this model can show beside scores: some of "explain", "support", "usage", "distances", ..."""
        return views.views_of(self.learner)

    # --- what was learned ---

    @property
    @reads
    def tasks(self) -> list[Name]:
        """Names of the tasks known, in order of appearance (declared ones first)."""
        return list(self.vocabulary.tasks)

    @property
    @reads
    def features(self) -> list[Name]:
        """Names of the features known: the columns of `weights()`."""
        return list(self.vocabulary.features)

    @reads
    def weights(self) -> Any:
        """(tasks, features) of a linear learner, rows in the order of `tasks`, columns in that of `features`."""
        return self.learner.weights(self.state, *self._sizes)

    @reads
    def parts_of(self, task: Name) -> Any:
        """(3, features): the weights that a task has by itself, from what all share, and from its neighbours."""
        slot = self.vocabulary.tasks.find(task)
        if slot < 0:
            raise ValueError(f"the model does not know the task {task!r}; see model.tasks")
        return weights_of(self.learner, self.state, slot, *self._sizes)

    @reads
    def relations(self) -> Any:
        """(tasks, tasks): how much of a step on one task moves another."""
        return self.learner.relations(self.state, len(self.vocabulary.tasks))

    @reads
    def outliers(self) -> Floats:
        """How far every task goes its own way: the lengths of the personal parts, in the order of `tasks`."""
        return views.expect_outliers(self.learner).outliers(self.state, *self._sizes)

    @reads
    def distances(self) -> Distances:
        """How far every task is from the tasks that it is tied to, in the order of `tasks`."""
        return views.expect_distances(self.learner).distances(self.state, *self._sizes)

    @reads
    def borrowing(self) -> Borrowing:
        """Of `auto`, per task: what it relies on, the losses so far, and the certificate that it did no harm.

        `to_frame()` of the result is a pandas data frame with a row per task; `experts` are those of its stack.
        """
        found = views.expect_borrows(self.learner).borrowing(self.state, len(self.vocabulary.tasks))
        experts = views.expect_stacks(self.learner).stacked(self.state)
        return Borrowing(zip(self.vocabulary.tasks, found, strict=True), experts)

    @reads
    def experts(self) -> dict[str, float]:
        """Of `auto`: the experts that its stack adds up, and what they are worth: their weights."""
        return views.expect_stacks(self.learner).stacked(self.state)

    @reads
    def support(self) -> list[SupportRow]:
        """The rows that a kernel learner keeps: task, coefficient, row and age, oldest first."""
        return support(self.learner, self.state, self.vocabulary)

    @reads
    def usage(self) -> Usage:
        """Of a learner on a budget: rows and bytes kept, how tasks share them, and what evictions cost so far."""
        return usage(self.learner, self.state, self.vocabulary)
