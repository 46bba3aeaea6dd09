"""The policy of a task, and the private model of a task that has one."""

from dataclasses import dataclass
from typing import Any, NamedTuple

from weft.compiled.arrays import Floats
from weft.labels import PLAIN
from weft.methods.refusals import has_log_odds
from weft.names import Name, Names
from weft.policies.mixing import Mixing
from weft.store.model_file import unpack_model
from weft.store.policies import Saved
from weft.tally.counts import Tally


class Policy(NamedTuple):
    """Does a task give, so that its events move what others use? Does it receive, so that others' events count for it?

    >>> Policy(gives=False).receives
    True
    """

    gives: bool = True
    receives: bool = True

    def __str__(self) -> str:
        given = "gives" if self.gives else "does not give"
        return f"{given}, {'receives' if self.receives else 'does not receive'}"


DEFAULT = Policy()


@dataclass
class Private:
    """What is kept of a task with a policy: a model of its own events alone, and what it counts.

    `mixing` weighs that model against the one of all, `tally` counts a task that the model of all does not know.
    """

    name: Name
    policy: Policy
    model: Any
    tally: Tally
    mixing: Mixing

    @property
    def mixes(self) -> bool:
        """Is the task predicted by a mixture, because it receives without giving?"""
        return self.policy.receives and not self.policy.gives

    @property
    def slot(self) -> int:
        """The task's slot in the private model; -1 before its first event there."""
        return int(self.model.vocabulary.tasks.find(self.name))

    def saved(self) -> Saved:
        """As a file holds it."""
        tables = self.tally.live[0], self.tally.live_recent[0]
        return Saved(self.name, *self.policy, self.model.to_bytes(), self.mixing.numbers(), *tables)


def blank_twin(model: Any) -> Any:
    """A model of the same learner that has learned nothing.

    Features that were declared are declared to it as well: as long as nothing was learned, these are all there are.
    """
    names, features = model.vocabulary.features, None
    if model._tally._is_empty and len(names):
        features = names.columns if names.has_only_columns else list(names)
    return type(model)(model.learner, features=features, classes=PLAIN.shown if model.target == "binary" else None)


def new_private(model: Any, name: Name, policy: Policy) -> Private:
    """What is kept of a task from the moment on at which it has a policy."""
    tally = blank_tally(model._tally, name)
    return Private(name, policy, blank_twin(model), tally, Mixing(has_log_odds(model.learner)))


def private_model(kind: Any, data: bytes) -> Any:
    """The private model in a file; ValueError if it has policies itself."""
    parts = unpack_model(data)
    if parts.policies:
        raise ValueError("a private model has policies of its own")
    model = kind.__new__(kind)
    model._set(parts)
    return model


def blank_tally(like: Tally, name: Name, table: Floats | None = None, recent: Floats | None = None) -> Tally:
    """A tally of one task."""
    tables = (None if row is None else row[None].copy() for row in (table, recent))
    found = like._like(Names([name]), *tables)
    found.reserve(1)
    return found
