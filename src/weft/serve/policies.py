"""What a task gives to others and receives from them."""

from typing import Any, NamedTuple

from weft.model import Model
from weft.policies.apart import refuse_policy


class TaskPolicy(NamedTuple):
    """Whether a task gives and receives."""

    gives: bool
    receives: bool


def policy_of(model: Model, task: Any) -> TaskPolicy:
    """The policy of a task; ValueError, with the learner's sentence, if the learner keeps none."""
    refuse_policy(model.learner)
    found = model.policy(task)
    return TaskPolicy(bool(found.gives), bool(found.receives))
