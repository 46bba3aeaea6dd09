"""The rule of a run: what its result depends on, beside the learner and the events; not on where shards are."""

from collections.abc import Iterator
from typing import NamedTuple

LEAST = 16
"""Events of the first blocks."""
GROWTH = 20
"""A block is so many times smaller than all that was learned before it, until it has `exchange` events."""


class Rule(NamedTuple):
    """How many shards there are, and when they exchange what they share.

    A block has `exchange` events of all shards together, and fewer at the beginning, where every event teaches more: a
    twentieth of those before it, but at least 16. It is learned with the version that is `staleness` blocks older than
    it could be.
    """

    shards: int
    exchange: int
    staleness: int = 0
    is_partition: bool = False

    def sizes(self, block: int) -> Iterator[int]:
        """The events of a block that a shard reads, and of those after it, for ever.

        >>> rule, sizes = Rule(2, 18), []
        >>> for size in rule.sizes(19):
        ...     sizes.append(size)
        ...     if len(sizes) == 6:
        ...         break
        >>> sizes
        [16, 16, 16, 17, 18, 18]
        """
        before, number = 0, 0
        while True:
            size = min(self.exchange, max(LEAST, before // GROWTH))
            if number >= block:
                yield -(-size // self.shards) if self.is_partition else size
            if size == self.exchange:
                number = max(number, block - 1)  # all others are as large
            before, number = before + size, number + 1
