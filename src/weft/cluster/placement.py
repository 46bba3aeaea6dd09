"""Which shard a task belongs to: by a hash of its name that is the same in every process, for ever."""

import hashlib
import json

from weft.names import Name

VIRTUAL_SHARDS = 256
"""A task belongs to one of so many virtual shards, and these are spread over the shards in runs of neighbours."""


def virtual_shard(task: Name) -> int:
    """The virtual shard of a task: the string "7" and the integer 7 are different names."""
    text = json.dumps(task, ensure_ascii=True, separators=(",", ":"))
    return hashlib.blake2b(text.encode(), digest_size=8).digest()[0]


def shard_of(task: Name, shards: int) -> int:
    """The shard of a task, from 0 to shards - 1.

    >>> [shard_of(name, 4) for name in ("ann", "bob", 7, ("team", 1))]
    [1, 2, 3, 2]
    """
    return virtual_shard(task) * shards // VIRTUAL_SHARDS


def expect_shards(shards: int) -> int:
    """Refuse a number of shards that there cannot be."""
    if isinstance(shards, bool) or not isinstance(shards, int) or not 1 <= shards <= VIRTUAL_SHARDS:
        raise ValueError(f"shards={shards!r} is not a number of shards; give an integer from 1 to {VIRTUAL_SHARDS}")
    return shards
