r"""What shards of gradient descent on the clique exchange: the shared part m, the squares of gradients, and N.

All tasks move m alike, so that the moves of all shards add up; with adaptive steps each as long as it would have been
with the squares of all shards. N counts the tasks of all shards: b, the rate and the
shares of A^-1 follow from it. A projection needs the lengths of all models, and a graph the tasks at both ends of an
edge, so that neither can be learned in shards.
"""

from collections.abc import Callable
from typing import Any

from weft.exchange import Exchange, Exchanged, Merge
from weft.learners.descent.cliques_ball import numbers_for
from weft.learners.descent.positions import CliqueScalar as S
from weft.learners.descent.positions import Count
from weft.learners.descent.rule import ADAPTIVE, NONE, Rule


def exchange(rule: Rule) -> Exchange:
    """What shards exchange."""
    scalars: list[Merge | None] = [None] * len(S)
    scalars[S.SQUARES] = scalars[S.ROUNDS] = Merge.SUM
    if rule.rate == ADAPTIVE:
        shared = Exchanged("shared", (Merge.STEP,), transposed=True, all_squares=("scalars", S.SQUARES))
    else:
        shared = Exchanged("shared", (Merge.SUM,), transposed=True)
    return Exchange((shared, Exchanged("scalars", tuple(scalars))), set_tasks=_setting(rule))


def reason(rule: Rule, has_graph: bool) -> str:
    """Why there can be no shards with this rule; "" if there can."""
    if has_graph:
        return "a graph ties tasks to each other that would be in different shards; leave the graph out"
    if rule.projection != NONE:
        return 'a projection needs the models of all tasks at every event; take projection="none"'
    return ""


def _setting(rule: Rule) -> Callable[[Any, int], None]:
    def set_tasks(state: Any, tasks: int) -> None:
        state.counts[[Count.TASKS, Count.TUNED]] = tasks
        where = [S.ETA, S.B, S.OWN, S.SHARED, S.LIMIT]
        state.scalars[where] = numbers_for(rule, tasks) if tasks else 0.0

    return set_tasks
