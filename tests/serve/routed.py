"""Shards and a router as processes of their own, for tests."""

from contextlib import ExitStack, contextmanager

from serve.service_process import Served, served
from weft.route.placement import Map, Shard, evenly, write_map

LEARNER = ("--learner", "pa")


class Routed(Served):
    """A running router."""

    words = ("route", "serve")


@contextmanager
def routed(place, names="ab", *options):
    """A router over shards that have as many virtual shards each; and these shards by their names."""
    with ExitStack() as stack:
        shards = {name: stack.enter_context(served(place / name, *LEARNER, *options)) for name in names}
        path = place / "map.json"
        if not path.exists():
            write_map(path, split(shards))
        router = Routed(path)
        try:
            yield router, shards, path
        finally:
            if router.process.poll() is None:
                assert router.stop() == 0, router.lines


def split(shards):
    parts = zip(shards.items(), evenly(len(shards)), strict=True)
    return Map(shards={name: Shard(shard.url, virtual) for (name, shard), virtual in parts})
