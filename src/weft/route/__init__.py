"""Several services as one: a router that sends each task to the service, a shard, that has it.

A task belongs to one of 256 virtual shards by a hash of its name (`weft.cluster.placement`), and a map says which shard
serves which of them. Shards are ordinary services of `weft serve`, and know nothing of each other.
"""
