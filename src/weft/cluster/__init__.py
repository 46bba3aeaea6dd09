"""Learning in shards: tasks spread over processes and machines, with what all of them share exchanged in versions."""

from weft.cluster.on_ray import on_ray
from weft.cluster.partition import partition
from weft.cluster.placement import VIRTUAL_SHARDS, shard_of
from weft.cluster.run import Learned, learn

__all__ = ["VIRTUAL_SHARDS", "Learned", "learn", "on_ray", "partition", "shard_of"]
