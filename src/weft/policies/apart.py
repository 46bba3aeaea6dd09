"""Tasks with a policy: events of a task that does not give, and predictions of one that does not receive.

A task with a policy has a *private model*: a model of the same learner that learns this task's events and nothing else,
with a vocabulary, row scaling and all other statistics of its own. So it is, bit for bit, the model that there would be
if this were the only task.

    gives  receives   its events are learned by                its predictions are those of
    yes    yes        the model of all (no private model)      the model of all
    yes    no         the private model, and the model of all  the private model
    no     no         the private model                        the private model
    no     yes        the private model                        a mixture of both (`mixing`)

What a task does not give never reaches the model of all: not its state, not the names of its features, not the number
of its tasks. So nothing that another task's prediction reads can have changed. In a round, tasks with a policy are
scored and learned first.
"""

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.labels import PLAIN, UNKNOWN, Classes
from weft.learner import Learner, Target, Traits
from weft.methods.refusals import has_log_odds, refuse_new_tasks
from weft.names import Addition, Name, plain
from weft.policies.mixing import Mixing
from weft.policies.policy import DEFAULT, Policy, Private, blank_tally, new_private, private_model
from weft.storage.batch import empty_batch
from weft.store.policies import Saved
from weft.stream import Stream
from weft.tally.counts import Tally
from weft.threads.guard import Guard, changes, held_back, reads
from weft.vocabulary import Proposal, Vocabulary


class Policies:
    """Policies of a model's tasks."""

    if TYPE_CHECKING:  # what the model has
        _guard: Guard
        _classes: Classes
        _policies: dict[Name, Private]
        _tally: Tally
        learner: Learner
        name: str
        target: Target
        traits: Traits
        vocabulary: Vocabulary

        def to_bytes(self) -> bytes: ...
        def _set_classes(self, classes: Classes) -> None: ...
        def _make_room_for_names(self, tasks: int, features: int, one_by_one: bool = False) -> None: ...
        def _checked(self, stream: Stream, classes: Classes | None = None) -> Proposal: ...
        def _learn_all(self, stream: Stream, scores: Floats, trace: Floats, count: bool = True) -> str | None: ...
        def _score_all(self, stream: Stream, reads_unknown: bool) -> Floats: ...

    # --- flags ---

    @changes
    def set_policy(self, task: Name, gives: bool = True, receives: bool = True) -> None:
        """Say whether a task's events move what other tasks use, and whether its predictions use what others gave.

        For `auto`, `adaptive` and `mt-ogd`. It counts from the next event on: what was given stays given, and the
        private model of a task that does not give or does not receive knows the events since then. A task that gives
        and receives again has no private model any more. The task need not be known yet.

        >>> import weft
        >>> model = weft.Model("mt-ogd")
        >>> model.set_policy("ann", gives=False)
        >>> print(model.policy("ann"), "/", model.policy("bob"))
        does not give, receives / gives, receives
        """
        policy, name = self._expect_policy(task, gives, receives)
        found = self._policies.get(name)
        if (DEFAULT if found is None else found.policy) == policy:
            return
        with held_back():
            try:
                if found is None:
                    self._policies[name] = new_private(self, name, policy)
                    return
                if policy.gives and found.slot >= 0 and self.vocabulary.tasks.find(name) < 0:
                    self._move_tally(name, found)
                found.policy = policy
                if policy == DEFAULT:
                    del self._policies[name]
            except BaseException as error:
                self._guard.give_up(error, "while a policy was being set")
                raise

    @reads
    def policy(self, task: Name) -> Policy:
        """What a task gives and receives: `gives` and `receives`, both true unless `set_policy` said otherwise."""
        found = self._policies.get(plain(task, "task"))
        return DEFAULT if found is None else found.policy

    @reads
    def policies(self) -> dict[Name, Policy]:
        """The policies of all tasks that have one other than to give and to receive."""
        return {name: found.policy for name, found in self._policies.items()}

    def _expect_policy(self, task: Any, gives: Any, receives: Any) -> tuple[Policy, Name]:
        """The policy and the task's name; ValueError if there can be none."""
        refuse_policy(self.learner)
        for flag, value in (("gives", gives), ("receives", receives)):
            if not isinstance(value, bool | np.bool_):
                raise ValueError(f"{flag}={value!r} is neither True nor False")
        name = plain(task, "task")
        if self.vocabulary.tasks.find(name) < 0:
            refuse_new_tasks(self.learner, [name])
        return Policy(bool(gives), bool(receives)), name

    def _move_tally(self, name: Name, found: Private) -> None:
        """The task is known to the model of all from now on, which goes on counting its predictions."""
        self._make_room_for_names(len(self.vocabulary.tasks) + 1, len(self.vocabulary.features))
        self.vocabulary.tasks.add(Addition([name]))
        self._tally._take_over(self.vocabulary.tasks.find(name), found.tally)
        found.tally = blank_tally(self._tally, name)

    # --- files ---

    def _saved_policies(self) -> tuple[Saved, ...]:
        return tuple(found.saved() for found in self._policies.values())

    def _restored_policies(self, saved: tuple[Saved, ...]) -> dict[Name, Private]:
        """The policies of a file; ValueError if they do not fit the model."""
        if saved:
            refuse_policy(self.learner)
        made: dict[Name, Private] = {}
        for one in saved:
            model, policy = private_model(type(self), one.model), Policy(one.gives, one.receives)
            known = self.traits.task_names or (one.task,)
            if model.learner != self.learner or not set(model.vocabulary.tasks) <= set(known):
                raise ValueError(f"the private model of {one.task!r} is not one of this learner and this task")
            if policy == DEFAULT:
                raise ValueError(f"the task {one.task!r} has a private model, although it gives and receives")
            tally = blank_tally(self._tally, one.task, one.tally, one.recent)
            made[one.task] = Private(one.task, policy, model, tally, Mixing(has_log_odds(self.learner), one.mixing))
        return made

    # --- learning and scoring ---

    def _is_apart(self, task: Any) -> bool:
        """Has a task a policy?"""
        return task is not None and plain(task, "task") in self._policies

    def _apart(self, stream: Stream) -> dict[Name, Ints]:
        """The examples of every task of a stream that has a policy."""
        codes, names = stream._coded_tasks
        found = {}
        for code in np.unique(codes).tolist():
            if names[code] in self._policies:
                found[names[code]] = np.flatnonzero(codes == code)
        return found

    def _learn_apart(self, stream: Stream, apart: dict[Name, Ints], scores: Floats, trace: Floats) -> None:
        """Learn a stream in which tasks with a policy occur; nothing is changed if any part of it is refused."""
        known = stream.classes if self._classes == UNKNOWN else self._classes
        labels, classes = stream.targets(self.target, known)
        is_given = np.ones(len(stream), bool)
        for name, examples in apart.items():
            is_given[examples] = self._policies[name].policy.gives
        parts = {name: stream.only(examples).relabelled(labels[examples]) for name, examples in apart.items()}
        given = np.flatnonzero(is_given)
        if len(given):
            self._checked(stream.only(given), classes)
        for name, part in parts.items():
            self._policies[name].model._checked(part, PLAIN)
        with held_back():
            try:
                if classes is not self._classes:
                    self._set_classes(classes)
                told = self._learn_given(stream, given, self._receiving(apart), (scores, trace))
                for name, examples in apart.items():
                    self._learn_private(name, parts[name], told[examples], examples, (scores, trace))
                self._count(apart, stream._coded_tasks, labels, scores)
            except BaseException as error:
                self._guard.give_up(error, "while tasks with a policy were being learned")
                raise

    def _receiving(self, apart: dict[Name, Ints]) -> Ints:
        """The examples of tasks that receive without giving."""
        found = [examples for name, examples in apart.items() if self._policies[name].mixes]
        return np.sort(np.concatenate(found)) if found else np.zeros(0, np.int64)

    def _learn_private(
        self, name: Name, part: Stream, told: Floats, examples: Ints, issued: tuple[Floats, Floats]
    ) -> None:
        """The private model of a task learns its examples, which are `part`; fills their scores and their trace."""
        private, own = self._policies[name], np.empty(len(examples))
        steps = _trace_for(issued[1], len(examples))
        private.model._learn_all(part, own, steps, count=False)
        if private.mixes:
            weight = np.ones(len(part)) if part.weight is None else part.weight
            self._mix(private, told, own, np.where(weight > 0.0, part.label_values.values, np.nan))
        issued[0][examples] = own
        issued[1][examples if len(steps) else []] = steps

    def _learn_given(self, stream: Stream, given: Ints, receiving: Ints, issued: tuple[Floats, Floats]) -> Floats:
        """Learn what is given, in pieces between the events of tasks that receive; returns what these are told."""
        told, rounds = np.zeros(len(stream)), np.searchsorted(stream.rounds, np.arange(len(stream)), "right")
        numbers, first = np.unique(rounds[receiving], return_index=True)
        stops, done = np.searchsorted(rounds[given], numbers), 0
        heard = [*np.split(receiving, first[1:]), receiving[:0]] if len(first) else [receiving]
        for stop, here in zip([*stops.tolist(), len(given)], heard, strict=True):
            piece = given[done:stop]
            if len(piece):
                own, steps = np.empty(len(piece)), _trace_for(issued[1], len(piece))
                self._learn_all(stream.only(piece), own, steps, count=False)
                issued[0][piece] = own
                issued[1][piece if len(steps) else []] = steps
            if len(here):
                told[here] = self._told(stream.only(here))
            done = stop
        return told

    def _told(self, stream: Stream) -> Floats:
        """What the model of all says of examples of tasks that receive without giving.

        Names that it does not know are dropped, since their slots would depend on the other examples of the stream;
        columns of tables have their own numbers.
        """
        return self._score_all(stream, self.traits.reads_unknown and stream.columns is not None)

    def _mix(self, private: Private, received: Floats, own: Floats, labels: Floats) -> None:
        """Mix the scores of a task that receives without giving, event after event; the result is in `own`."""
        mixing, loss = private.mixing, self.learner.tally_loss
        for at in range(len(own)):
            scores = float(received[at]), float(own[at])
            own[at] = mixing.score(*scores)
            if labels[at] == labels[at]:
                mixing.update(*scores, float(labels[at]), loss)

    def _count(self, apart: dict[Name, Ints], tasks: tuple[Ints, list[Name]], labels: Floats, scores: Floats) -> None:
        """Count all predictions: those of tasks that the model of all does not know in tallies of their own."""
        codes, names = tasks
        slots = np.full(len(names), -1, np.int64)
        present = np.unique(codes)
        slots[present] = [self.vocabulary.tasks.find(names[code]) for code in present.tolist()]
        task = slots[codes]
        ours = task >= 0
        if ours.any():
            self._tally.count(empty_batch()._replace(task=task[ours], label=labels[ours]), scores[ours])
        for name, examples in apart.items():
            if not ours[examples[0]]:
                here = empty_batch()._replace(task=np.zeros(len(examples), np.int64), label=labels[examples])
                self._policies[name].tally.count(here, scores[examples])

    def _score_apart(self, stream: Stream, apart: dict[Name, Ints]) -> Floats:
        """Scores of a stream in which tasks with a policy occur."""
        scores, ours = np.empty(len(stream)), np.ones(len(stream), bool)
        for name, examples in apart.items():
            private, part = self._policies[name], stream.only(examples)
            ours[examples] = False
            own = private.model._score_all(part, reads_unknown=self.traits.reads_unknown)
            if private.mixes:
                received = self._told(part)
                pairs = zip(received.tolist(), own.tolist(), strict=True)
                own = np.array([private.mixing.score(*pair) for pair in pairs])
            scores[examples] = own
        if ours.any():
            scores[ours] = self._score_all(stream.only(np.flatnonzero(ours)), self.traits.reads_unknown)
        return scores


def _trace_for(trace: Floats, examples: int) -> Floats:
    """Room for what is traced of some examples; none if nothing is."""
    return np.zeros((examples if len(trace) else 0, trace.shape[1]))


def refuse_policy(learner: Learner) -> None:
    """Raise ValueError for a learner whose tasks have no policies."""
    if not learner.traits.has_policies:
        raise ValueError(
            f"{learner.name} has no policies of tasks; auto, adaptive and mt-ogd have, and a task that shall neither "
            "give nor receive can be a model of its own"
        )
