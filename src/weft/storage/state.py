"""A learner's state as a set of named arrays: the axes that every array runs over.

A learner declares a `Plan`. Growing by doubling (`growth`), slicing to what is in use and checking what a file holds
(`saving`) are then generic, so that no learner writes a `save` of its own.

Axes: `task` and `feature` follow the vocabulary; `pair` the (task, feature) pairs; `support` and `nonzero` the rows
that a learner keeps, and `updated_task` the tasks that have been updated at least once, with their numbers in use
counted in the state's array `used`; an integer is a fixed size.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple, TypeVar

from weft.compiled.arrays import Array
from weft.storage.batch import Batch

State = TypeVar("State", bound=tuple[Any, ...])
Axes = Mapping[str, tuple[str | int, ...]]

COUNTED = ("support", "nonzero", "updated_task")
SUPPORT, NONZERO, UPDATED_TASK = range(3)
"""Positions in a state's array `used`, which may leave out the last."""

NO_LIMIT = 1 << 62

MOST_COUNTED = 1 << 52
"""No count in a file is larger. One more is always another number, also as a float, for longer than any run lasts."""


class Sizes(NamedTuple):
    """How much of each axis is needed."""

    task: int
    feature: int
    support: int = 0
    nonzero: int = 0
    updated_task: int = 0


@dataclass(frozen=True)
class Plan:
    """The shape of a state: the `axes` of its arrays, what their integers may be, and how pairs are laid out.

    names         arrays of slots -> the axis that they point into
    task_major    a table of pairs goes task by task; else feature by feature
    always_dense  pairs are never hashed
    counts        arrays of integers from 0 -> the largest: an axis or a number, per entry
    counters      arrays of floats that count something, integers from 0 on -> where, on the last axis; (): everywhere
    scratch       working space: it grows, and is not saved
    most          axis -> the most it can need
    padded        array -> its last axis in memory; the zeros at its end are not saved
    check         of (arrays, lengths of all axes): what else a file must satisfy; raises ValueError
    extra_pairs   of (state, batch, done): how many pairs an example of the round after `done` rounds may open that are
                  not in its row, and how many pairs a task can have; None: none, and one per feature
    forget        of (live arrays with a task, the same without its slot and its pairs, its slot): change the latter
                  where more than that has to go; None: nothing more, see `forgetting`
    optional      arrays that are left out of a file if they hold nothing but zeros
    """

    axes: Axes
    names: Mapping[str, str] = field(default_factory=dict)
    task_major: bool = True
    always_dense: bool = False
    counts: Axes = field(default_factory=dict)
    counters: Mapping[str, tuple[int, ...]] = field(default_factory=dict)
    scratch: Axes = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)
    padded: Mapping[str, int] = field(default_factory=dict)
    check: Callable[[Mapping[str, Array], Mapping[str, int]], None] | None = None
    extra_pairs: Callable[[Any, Batch, int], tuple[int, int]] | None = None
    forget: Callable[[Mapping[str, Array], dict[str, Array], int], None] | None = None
    optional: tuple[str, ...] = ()

    @property
    def pair_arrays(self) -> list[str]:
        """The arrays over pairs."""
        return [name for name, axes in self.axes.items() if "pair" in axes]

    @property
    def has_pairs(self) -> bool:
        """Does the state have numbers per (task, feature) pair, and `pairs` that say where they are?"""
        return bool(self.pair_arrays)

    @property
    def has_counts(self) -> bool:
        """Does the state count in `used` how many rows it keeps?"""
        return "used" in self.axes

    def memory_axes(self, name: str) -> tuple[str | int, ...]:
        """The axes of an array in memory, with its padding."""
        axes = self.axes.get(name) or self.scratch[name]
        return (*axes[:-1], self.padded[name]) if name in self.padded else axes


def replaced(state: State, arrays: Mapping[str, Any]) -> State:
    """The state with some of its arrays replaced."""
    named: Any = state  # a NamedTuple, which no type says of tuples in general
    found: State = named._replace(**arrays)
    return found
