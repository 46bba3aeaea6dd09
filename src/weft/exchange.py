"""Exchange: what shards of a learner share, as data: which arrays of its state, and how their numbers are merged.

`weft.cluster` does it; a learner declares it in its traits.
"""

from collections.abc import Callable, Mapping
from enum import Enum
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Ints


class Merge(Enum):
    """How the numbers of several shards become one number, from that which all of them began with.

    Every shard that changed the number has a difference to what it began with.
    """

    SUM = "the sum of the differences"
    GAIN = "the sum of the differences, but not below 0"
    STEP = "the sum of the differences, each times the root of the shard's sum of squares over that of all"
    MEAN = "the mean of the differences"
    MEAN_FROM_0 = "the mean of the differences, but not below 0"
    LARGEST = "the largest number"
    LEAST = "the smallest number"
    TURN = "the number of one shard, whose turn it is"


class Exchanged(NamedTuple):
    """An array of the state that shards exchange: how every column is merged; None: every shard keeps its own.

    `squares` has the column of the sum of squared gradients of every column that is merged as a STEP, unless all
    numbers have one sum, which is at the position `all_squares` of an array that does not run over features. With
    `transposed` the array has a row per kind of number, and not a column.
    """

    name: str
    columns: tuple[Merge | None, ...]
    squares: Mapping[int, int] = MappingProxyType({})
    transposed: bool = False
    all_squares: tuple[str, int] | None = None


def _begin_nothing(state: Any, label: float) -> None:
    """Nothing depends on the first label."""


def _settle_nothing(state: Any, touched: Ints, before: Mapping[str, Array]) -> None:
    """Nothing follows from the merged numbers."""


def _list_nothing(state: Any) -> Ints:
    return np.zeros(0, np.int64)


def _adopt_nothing(state: Any, listed: Ints) -> None:
    """There is no list."""


def _count_no_tasks(state: Any, tasks: int) -> None:
    """The rule does not contain the number of tasks."""


def _start_at_zero(state: Any, name: str, slots: Ints, rows: Array) -> None:
    """What a feature begins with is 0."""


class Exchange(NamedTuple):
    """What shards of a learner exchange, for `weft.cluster`: arrays of shared numbers, and what follows from them.

    begin(state, label)
        Before the first event of all shards, which has this label.
    unify(state, label)
        After the first events of a shard: its numbers in units that all shards have, given that first label.
    start(state, name, slots, rows)
        Put what features begin with that nobody has learned from into their rows.
    settle(state, touched, before)
        Work out what follows from merged numbers; `before` has the rows of the touched features as they were.
    listed(state), adopt(state, listed)
        Integers that put slots in the same order everywhere: read them, and take them over.
    always(state)
        Slots of features that an event may change without having them.
    set_tasks(state, tasks)
        There are so many tasks in all shards together.
    """

    arrays: tuple[Exchanged, ...]
    begin: Callable[[Any, float], None] = _begin_nothing
    unify: Callable[[Any, float], None] = _begin_nothing
    start: Callable[[Any, str, Ints, Array], None] = _start_at_zero
    settle: Callable[[Any, Ints, Mapping[str, Array]], None] = _settle_nothing
    listed: Callable[[Any], Ints] = _list_nothing
    adopt: Callable[[Any, Ints], None] = _adopt_nothing
    always: Callable[[Any], Ints] = _list_nothing
    set_tasks: Callable[[Any, int], None] = _count_no_tasks
