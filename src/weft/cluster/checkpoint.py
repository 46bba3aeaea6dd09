"""The state of a shard beside its model, as bytes: where it is in its files, and what no version has of it yet."""

from collections import deque

import numpy as np

from weft.cluster.folder import Folder
from weft.cluster.reading import Place, Source
from weft.cluster.rule import Rule
from weft.cluster.shard import Pending, Shard
from weft.model import Model
from weft.store.codec import decode, encode

FORMAT = 1


def where(number: int) -> str:
    """The folder of a shard's checkpoints."""
    return f"shard-{number:03}"


def state_of(place: Place, begin: int, orders: list[int], pending: "deque[Pending] | tuple[()]" = ()) -> bytes:
    """What is stored beside a model, see `Shard`."""
    header = {"state": FORMAT, "place": list(place), "begin": begin, "pending": [one.block for one in pending]}
    arrays = {"orders": np.array(orders, np.int64)}
    for at, one in enumerate(pending):
        arrays[f"{at}.touched"] = one.touched
        for name, rows in one.before.items():
            arrays |= {f"{at}.before.{name}": rows, f"{at}.after.{name}": one.after[name]}
    return encode(header, arrays)


def save(folder: Folder, shard: Shard) -> str:
    """Write a checkpoint of a shard, which has taken over the version of its next block; returns the model's path."""
    state = state_of(shard.place, shard.begin, shard.orders, shard.pending)
    with shard.replica.alone() as model:
        return str(folder.save(where(shard.number), shard.next, model, state))


def restore(folder: Folder, number: int, rule: Rule, source: Source, most: int) -> Shard:
    """The shard as its newest checkpoint before a block has it, or at that block."""

    def read(model: Model, data: bytes, block: int) -> Shard:
        header, arrays = decode(data)
        place = Place(*header["place"])
        shard = Shard(number, rule, model, source, place, block)
        shard.begin, shard.orders = header["begin"], arrays["orders"].tolist()
        for at, pending in enumerate(header["pending"]):
            rows = {
                when: {
                    name.removeprefix(f"{at}.{when}."): array
                    for name, array in arrays.items()
                    if name.startswith(f"{at}.{when}.")
                }
                for when in ("before", "after")
            }
            shard.pending.append(Pending(pending, arrays[f"{at}.touched"], rows["before"], rows["after"]))
        return shard

    found: Shard = folder.newest(where(number), most, read)
    return found


def orders_of(folder: Folder, number: int, block: int) -> list[int]:
    """Where the tasks of a checkpoint came first."""
    orders: list[int] = decode(folder.load_state(where(number), block))[1]["orders"].tolist()
    return orders
