"""Forgetting a task: what a model holds of it goes, from memory and from the file that is written next.

The state is made anew without the slot of the task (`storage.forgetting`), which costs as much as saving and loading
the model. What the task has taught to others stays with them, and the report says so.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiled.arrays import Array
from weft.learner import Hooks, Learner, Traits
from weft.names import Name, Names, plain, show_name
from weft.storage import saving
from weft.storage.forgetting import says_how, without_task
from weft.storage.state import SUPPORT, UPDATED_TASK, Plan
from weft.tally.counts import Tally
from weft.threads.guard import Guard, changes, held_back
from weft.vocabulary import Vocabulary


@dataclass(frozen=True)
class Forgotten:
    """What was forgotten of a task, and what cannot be undone.

    `events` were counted, `weights` were its own numbers by feature (pairs that were not zero), `rows` were kept.
    `remains` says in sentences where its influence stays; empty if there is none.
    """

    task: Name
    events: int
    weights: int
    rows: int
    remains: tuple[str, ...]

    def __str__(self) -> str:
        held = ", ".join(
            f"{count} {noun}" + ("" if count == 1 else "s")
            for count, noun in ((self.events, "event"), (self.weights, "own weight"), (self.rows, "kept row"))
        )
        return "\n".join([f"Forgot {show_name(self.task)}: {held}.", *self.remains])


class Forgetting:
    """`forget` of a model."""

    if TYPE_CHECKING:  # what the model has
        _guard: Guard
        _hooks: Hooks
        _policies: dict[Name, Any]
        _slots: dict[Name, int]
        learner: Learner
        traits: Traits
        vocabulary: Vocabulary
        state: Any
        _tally: Tally

        @property
        def _sizes(self) -> tuple[int, int]: ...
        def _replace_state(self, state: Any) -> None: ...
        def _make_room_for_names(self, tasks: int, features: int, one_by_one: bool = False) -> None: ...

    @changes
    def forget(self, task: Name) -> Forgotten:
        """Forget a task: its own weights, its name, its counts and the rows that are kept of it.

        Returns what was forgotten, and what cannot be undone: what it has taught to others. Names of features stay
        known. If the task comes again, it is a new one, which gives and receives. The whole state is copied.

        >>> import weft
        >>> model = weft.Model("pa")
        >>> _ = model.learn_one({"free": 1.0}, +1, task="ann"), model.learn_one({"free": 1.0}, +1, task="bob")
        >>> print(model.forget("ann"))
        Forgot ann: 1 event, 1 own weight, 0 kept rows.
        >>> model.tasks
        ['bob']
        """
        learner, slot = self.learner, self.vocabulary.tasks.find_plain(plain(task, "task"))
        private = self._policies.get(plain(task, "task"))
        if slot < 0 and private is None:
            raise ValueError(f"the model does not know the task {task!r}; see model.tasks")
        if slot < 0:
            return self._forget_private(plain(task, "task"))
        refuse_to_forget(learner)
        tasks, features = self._sizes
        names = [name for at, name in enumerate(self.vocabulary.tasks) if at != slot]
        arrays = saving.live(self.state, learner.plan, tasks, features)
        blank, state, kept = learner.init(names), None, 0
        if names:
            after = without_task(arrays, learner.plan, slot, self.traits.pooled)
            if pointer := _pointer(learner.plan):
                _cut_row(arrays, after, learner.plan, pointer, slot)
            state = saving.restore(blank, learner.plan, after, len(names), features)
            kept = int(after["used"][SUPPORT]) if learner.plan.has_counts else 0
        vocabulary = Vocabulary(Names(names), self.vocabulary.features, self.vocabulary.fields)
        vocabulary.reads_missing = self.traits.reads_missing
        self._tally.flush()
        with held_back():
            try:
                events = self._tally.forget(slot, vocabulary.tasks)
                self._policies.pop(plain(task, "task"), None)
                self.vocabulary, self._slots = vocabulary, vocabulary.tasks.slots
                self._replace_state(blank if state is None else state)
                self._make_room_for_names(len(names), features)
                if state is None:  # nobody is left: the model begins anew
                    self._hooks.admit(self.state, vocabulary.features.columns)
            except BaseException as error:
                self._guard.give_up(error, "while a task was being forgotten")
                raise
        rows = int(arrays["used"][SUPPORT]) - kept if learner.plan.has_counts else 0
        remains = remains_of(learner) if names else ()
        return Forgotten(plain(task, "task"), events, _own_numbers(learner, arrays, slot), rows, remains)

    def _forget_private(self, task: Name) -> Forgotten:
        """Forget a task that is known to its private model alone: it has taught nothing to others."""
        private = self._policies.pop(task)
        plan, model = private.model.learner.plan, private.model
        weights = _own_numbers(model.learner, saving.live(model.state, plan, *model._sizes), 0) if model.tasks else 0
        return Forgotten(task, int(private.tally.total["events"]), weights, 0, ())


def refuse_to_forget(learner: Learner) -> None:
    """Raise ValueError for a learner that cannot be without one of its tasks."""
    traits = learner.traits
    reason = traits.cannot_forget
    if traits.task_names:
        reason = "its graph names its tasks, and ties the others to this one"
    elif not reason and not says_how(learner.plan) and not _pointer(learner.plan):
        reason = "its state counts tasks or keeps rows, and its plan does not say how one of them is taken out"
    if reason:
        raise ValueError(
            f"{learner.name} with these parameters cannot forget a task: {reason}; learn the others again without it"
        )


def _pointer(plan: Plan) -> str:
    """The array that says which row of those that only some tasks have is a task's, from 1 on; "" if there is none.

    A plan with a `forget` of its own sees to it there; one that keeps rows or counts tasks needs one.
    """
    axes = {axis for found in plan.axes.values() for axis in found}
    if plan.forget is not None or axes & {"support", "nonzero"} or "task" in plan.names.values():
        return ""
    found = [name for name, most in plan.counts.items() if most == ("updated_task",) and plan.axes[name] == ("task",)]
    counts_tasks = any("task" in most for most in plan.counts.values())
    return found[0] if len(found) == 1 and not counts_tasks else ""


def _cut_row(before: Mapping[str, Array], after: dict[str, Array], plan: Plan, pointer: str, slot: int) -> None:
    """Take the row of the task out of all arrays of rows that only some tasks have."""
    row = int(before[pointer][slot])
    if not row:
        return
    for name, axes in plan.axes.items():
        if "updated_task" in axes:
            after[name] = np.ascontiguousarray(np.delete(after[name], row, axes.index("updated_task")))
    after[pointer] -= after[pointer] > row
    after["used"][UPDATED_TASK] -= 1


def _own_numbers(learner: Learner, arrays: Mapping[str, Array], slot: int) -> int:
    """How many features a task had numbers of its own for."""
    plan = learner.plan
    if plan.has_pairs:
        return 0 if learner.traits.pooled else int(np.sum(arrays["pairs"][:, 0] == slot))
    for name, axes in plan.axes.items():
        if "task" in axes and "feature" in axes:
            own = np.moveaxis(np.take(arrays[name], [slot], axes.index("task")), axes.index("feature"), 0)
            return int(np.sum(np.any(own.reshape(len(own), -1) != 0, axis=1)))
    return 0


def remains_of(learner: Learner) -> tuple[str, ...]:
    """Where the influence of a task that was forgotten stays."""
    traits, plan = learner.traits, learner.plan
    apart = {"task", "pair", "support", "nonzero"}
    shared = any(name != "used" and apart.isdisjoint(axes) for name, axes in plan.axes.items())
    if traits.pooled:
        return ("All tasks have one model: what its events moved there stays.",)
    if traits.refit_every:
        return ("The models of the others were fitted with its rows; the next fit will do without them.",)
    if traits.counts_tasks and plan.has_counts:
        return ("Its rows count for nobody any more; rows that made way for them do not come back.",)
    if shared or traits.counts_tasks:
        return ("What its events moved in what all tasks share, or in the models of others, stays there.",)
    return ()
