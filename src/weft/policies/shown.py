"""What a model shows of its tasks, where some are known to their private models alone, or are predicted by them."""

from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiled.arrays import Array
from weft.inspection.borrowing import Borrowing
from weft.inspection.explanation import Explanation, FeatureParts
from weft.inspection.learned import Learned
from weft.learner import Distances
from weft.names import Name
from weft.policies.policy import Private
from weft.stream import Stream
from weft.tally.counts import Tally
from weft.threads.guard import reads


class Shown(Learned):
    """The methods of `Learned` with private models; tasks that never gave come after the others."""

    if TYPE_CHECKING:  # what the model has
        _policies: dict[Name, Private]
        _tally: Tally

        def _told(self, stream: Stream) -> Any: ...

    @property
    @reads
    def tally(self) -> Tally:
        """Counts per task of predictions that were issued before the label was seen.

        A copy if some tasks are known to their private models alone: these come last.
        """
        others = [found.tally for _, found in self._strangers()]
        return self._tally._joined(others) if others else self._tally

    def _strangers(self) -> list[tuple[Name, Private]]:
        """The tasks that only their private models know."""
        tasks = self.vocabulary.tasks
        return [(name, found) for name, found in self._policies.items() if found.slot >= 0 and tasks.find(name) < 0]

    def _private_features(self) -> list[Name]:
        """Features that only private models know."""
        known, found = self.vocabulary.features, dict[Name, None]()
        for private in self._policies.values():
            found.update((name, None) for name in private.model.vocabulary.features if known.find(name) < 0)
        return list(found)

    @property
    @reads
    def tasks(self) -> list[Name]:
        """Names of the tasks known, in order of appearance (declared ones first, those that never gave last)."""
        return [*self.vocabulary.tasks, *(name for name, _ in self._strangers())]

    @property
    @reads
    def features(self) -> list[Name]:
        """Names of the features known: the columns of `weights()`. Those that only private models know come last."""
        return [*self.vocabulary.features, *self._private_features()]

    @reads
    def weights(self) -> Any:
        """(tasks, features) of a linear learner, rows in the order of `tasks`, columns in that of `features`.

        The row of a task with a policy is that of its private model.
        """
        found = super().weights()
        if not self._policies:
            return found
        joined = np.zeros((len(self.tasks), len(self.features)))
        joined[: found.shape[0], : found.shape[1]] = found
        for row, name in enumerate(self.tasks):
            if private := self._of(name):
                joined[row] = self._spread(private, private.model.weights()[private.slot])
        return joined

    @reads
    def parts_of(self, task: Name) -> Any:
        """(3, features): the weights that a task has by itself, from what all share, and from its neighbours."""
        private = self._of(task)
        if private is None:
            found = super().parts_of(task)
            return np.pad(found, [(0, 0), (0, len(self.features) - found.shape[1])]) if self._policies else found
        own = self._spread(private, private.model.parts_of(task).sum(axis=0))
        return np.stack([own, np.zeros_like(own), np.zeros_like(own)])

    def _of(self, task: Name) -> Private | None:
        """What is kept of a task that its private model knows."""
        found = self._policies.get(task)
        return found if found is not None and found.slot >= 0 else None

    def _spread(self, private: Private, weights: Array) -> Array:
        """Weights of a private model over all features."""
        found, places = np.zeros(len(self.features)), {name: at for at, name in enumerate(self.features)}
        found[[places[name] for name in private.model.vocabulary.features]] = weights
        return found

    @reads
    def relations(self) -> Any:
        """(tasks, tasks): how much of a step on one task moves another."""
        found, count = super().relations(), len(self.tasks)
        if not self._policies:
            return found
        joined = np.zeros((count, count))
        joined[: len(found), : len(found)] = found
        for row, name in enumerate(self.tasks):
            if private := self._of(name):
                if not private.policy.gives:
                    joined[:, row] = joined[row] = 0.0
                joined[row] = 0.0
                joined[row, row] = private.model.relations()[private.slot, private.slot]
        return joined

    @reads
    def distances(self) -> Distances:
        """How far every task is from the tasks that it is tied to, in the order of `tasks`."""
        found = super().distances()
        if not self._policies:
            return found
        missing = len(self.tasks) - len(found.own)
        joined = Distances(*(np.append(column, np.full(missing, np.nan)) for column in found))
        for row, name in enumerate(self.tasks):
            if private := self._of(name):
                length = float(np.linalg.norm(private.model.weights()[private.slot]))
                joined.own[row], joined.shared[row], joined.apart[row] = length, 0.0, np.nan
        return joined

    @reads
    def borrowing(self) -> Borrowing:
        """Of `auto`, per task: what it relies on, the losses so far, and the certificate that it did no harm.

        A task that does not receive relies on itself alone, and one that receives without giving on a mixture (see
        `weft.policies.mixing`; `pooled` is what it receives). Losses and certificate are those of its private model.
        """
        found = super().borrowing()
        for name in self.tasks:
            if private := self._of(name):
                own = private.model.borrowing()[name]
                stack, mine, received = private.mixing.weights().values() if private.mixes else (0.0, 1.0, 0.0)
                found[name] = own._replace(stack=stack, own=mine, pooled=received)
        return found

    def _explain_apart(self, private: Private, stream: Stream, per_feature: bool) -> Explanation:
        """The score of a task with a policy: all parts of its private model are its own."""
        task, model = stream.task_names[0], private.model
        found: Explanation = model._explain(stream, per_feature)
        amounts = dict(found.amounts) or {"own": found.own, "shared": found.shared}
        amounts["own"] += amounts.pop("shared")
        features = {name: FeatureParts(parts.total, 0.0, 0.0) for name, parts in found.features.items()}
        found = found._replace(task=task, own=found.own + found.shared, shared=0.0, features=features, amounts=amounts)
        if not private.mixes:
            return found
        received = float(self._told(stream)[0])
        score, shares = private.mixing.score(received, found.score), private.mixing.shares()
        amounts = {name: shares[1] * amount for name, amount in amounts.items()} | {"received": shares[0] * received}
        amounts["mixing"] = amounts.get("mixing", 0.0) + score - shares[0] * received - shares[1] * found.score
        return found._replace(score=score, amounts=amounts, mixture=private.mixing.weights())
