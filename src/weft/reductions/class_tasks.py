"""What is said of a task of one model per class: what it gives and receives, and that it is to be forgotten."""

from typing import TYPE_CHECKING

from weft.learner import Learner
from weft.methods.forgetting import Forgotten, refuse_to_forget
from weft.model import Model
from weft.names import Name, plain
from weft.policies.policy import Policy
from weft.reductions.class_tally import ClassTally
from weft.threads.guard import Guard, changes, held_back


class ClassTasks:
    """`set_policy`, `policy` and `forget` of a `weft.Multiclass`."""

    if TYPE_CHECKING:  # what it has
        _guard: Guard
        _empty: bytes
        learner: Learner
        models: list[Model]
        tally: ClassTally

        def _blank(self) -> Model: ...

    @changes
    def set_policy(self, task: Name, gives: bool = True, receives: bool = True) -> None:
        """What a task gives and receives, in the models of all classes, also of those to come; as of `weft.Model`."""
        blank = self._blank()
        blank.set_policy(task, gives, receives)  # refuses before anything is changed
        with held_back():
            try:
                for model in self.models:
                    model.set_policy(task, gives, receives)
                self._empty = blank.to_bytes()
            except BaseException as error:
                self._guard.give_up(error, "while a policy was being set")
                raise

    def policy(self, task: Name) -> Policy:
        """What a task gives and receives."""
        return self._blank().policy(task)

    def forget(self, task: Name) -> Forgotten:
        """Forget a task in the models of all classes, as `weft.Model.forget` does; the report adds them up."""
        return self._forget(plain(task, "task"))

    @changes
    def _forget(self, task: Name) -> Forgotten:
        if self.tally.names.find(task) < 0:
            raise ValueError(f"the model does not know the task {task!r}; see model.tasks")
        refuse_to_forget(self.learner)
        with held_back():
            try:
                here = [model for model in self.models if task in model.tasks or task in model.policies()]
                reports = [model.forget(task) for model in here]
                blank = self._blank()
                if task in blank.policies():
                    blank.forget(task)
                    self._empty = blank.to_bytes()
                events = self.tally.forget(task)
            except BaseException as error:
                self._guard.give_up(error, "while a task was being forgotten")
                raise
        weights, rows = sum(one.weights for one in reports), sum(one.rows for one in reports)
        remains = tuple(dict.fromkeys(sentence for one in reports for sentence in one.remains))
        return Forgotten(task, events, weights, rows, remains)
