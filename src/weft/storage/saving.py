"""What of a state is saved, and how it comes back from a file, which may hold anything."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array
from weft.storage.arena import read_only
from weft.storage.growth import make_room_for_names, pairs_for_names
from weft.storage.pair_arrays import arrays_over_pairs, joined, listing, regions_of, table_slots
from weft.storage.pairs import HASHED, Pairs, pack
from weft.storage.regions import ANY_ORDER, OUTSIDE, order_of
from weft.storage.state import COUNTED, MOST_COUNTED, Plan, Sizes, State, replaced

_BLOCK_BYTES = 1 << 20


class Blocks(NamedTuple):
    """An array that is not in one piece: its blocks follow each other on the first axis."""

    kind: np.dtype[Any]
    shape: tuple[int, ...]
    blocks: Iterable[Array]


def live(state: Any, plan: Plan, tasks: int, features: int) -> dict[str, Array]:
    """The part of a state that matters, in an order that depends on nothing but what was learned."""
    found = live_blocks(state, plan, tasks, features)
    return {name: joined(part.blocks, (0, *part.shape[1:]), part.kind) for name, part in found.items()}


def live_blocks(state: Any, plan: Plan, tasks: int, features: int) -> dict[str, Blocks]:
    """The same, block by block, to be gone through in this order while nothing is learned: most blocks are views."""
    out: dict[str, Blocks] = {}
    if plan.has_pairs:
        found = listing(state, plan, tasks, features)
        out["pairs"] = Blocks(np.dtype(np.int64), (found.count, 2), found.pairs())
        for name, array in arrays_over_pairs(state, plan).items():
            wide = plan.axes[name][-1] if name in plan.padded else None
            shape = (found.count, *array.shape[1:]) if wide is None else (found.count, *array.shape[1:-1], int(wide))
            out[name] = Blocks(array.dtype, shape, (block[..., :wide] for block in found.numbers(name)))
    sizes = {"task": tasks, "feature": features}
    if plan.has_counts:
        sizes |= {axis: int(n) for axis, n in zip(COUNTED, state.used, strict=False)}
    for name, axes in plan.axes.items():
        if "pair" not in axes:
            array = getattr(state, name)[tuple(slice(0, sizes[a] if isinstance(a, str) else a) for a in axes)]
            if name in plan.optional and not array.any():
                continue
            out[name] = Blocks(array.dtype, array.shape, _in_rows(array))
    return out


def _in_rows(array: Array) -> Iterator[Array]:
    """An array in blocks of some rows."""
    step = max(1, _BLOCK_BYTES * len(array) // max(array.nbytes, 1))
    for lo in range(0, len(array), step):
        yield array[lo : lo + step]


def restore(blank: State, plan: Plan, arrays: Mapping[str, Array], tasks: int, features: int) -> State:
    """The state whose live part is `arrays`. Raises ValueError unless every array is what `plan` allows."""
    expected = set(plan.axes) | ({"pairs"} if plan.has_pairs else set())
    if set(arrays) | set(plan.optional) != expected:
        raise ValueError(f"the state holds the arrays {sorted(arrays)}, expected {sorted(expected)}")
    sizes = _saved_sizes(arrays, plan, tasks, features)
    arrays = {name: _zeros(getattr(blank, name), plan.axes[name], sizes) for name in plan.optional} | dict(arrays)
    for name in plan.axes:
        _check(name, arrays[name], getattr(blank, name), plan, sizes)
    if plan.check is not None:
        plan.check(arrays, sizes)
    found: dict[str, Any] = {
        name: np.array(arrays[name], order="C") for name, axes in plan.axes.items() if "pair" not in axes
    }
    if plan.has_pairs:
        found |= _restored_pairs(blank, plan, arrays, tasks, features)
    return make_room_for_names(replaced(blank, found), plan, tasks, features)


def _zeros(like: Array, axes: tuple[str | int, ...], sizes: Mapping[str, int]) -> Array:
    """What an array that is not in a file holds."""
    return np.zeros(tuple(sizes[a] if isinstance(a, str) else a for a in axes), like.dtype)


def _saved_sizes(arrays: Mapping[str, Array], plan: Plan, tasks: int, features: int) -> dict[str, int]:
    """The length of every axis, by what a file says."""
    sizes = {"task": tasks, "feature": features, "pair": 0}
    if plan.has_counts:
        used = arrays["used"]
        if used.shape != plan.axes["used"] or used.dtype != np.int64 or np.any(used < 0):
            raise ValueError(f"the state's counts of what is kept are not {plan.axes['used'][0]} integers")
        sizes |= {axis: int(n) for axis, n in zip(COUNTED, used, strict=False)}
        for axis, most in plan.most.items():
            if sizes[axis] > most:
                raise ValueError(f"the state's axis {axis} has {sizes[axis]} entries, more than {most}")
    if plan.has_pairs:
        keys = arrays["pairs"]
        if keys.dtype != np.int64 or keys.ndim != 2 or keys.shape[1] != 2:
            raise ValueError("the state's pairs are not (task, feature) slots")
        _check_pairs(keys, tasks, features)
        sizes["pair"] = len(keys)
    return sizes


def _check(name: str, array: Array, like: Array, plan: Plan, sizes: Mapping[str, int]) -> None:
    """Refuse an array of the wrong type or shape, and integers that are out of range."""
    want = tuple(sizes[a] if isinstance(a, str) else a for a in plan.axes[name])
    if array.dtype != like.dtype or array.shape != want:
        raise ValueError(f"the state's {name} is {array.dtype} {array.shape}, expected {like.dtype} {want}")
    if name in plan.names:
        _check_slots(name, array, sizes[plan.names[name]])
    if name in plan.counts:
        most = np.array([sizes[a] if isinstance(a, str) else a for a in plan.counts[name]])
        if np.any(array < 0) or np.any(array > most):
            raise ValueError(f"the state's {name} are not numbers from 0 to {most.tolist()}")
    if name in plan.counters:
        refuse_counters(name, array[..., list(plan.counters[name])] if plan.counters[name] else array)


def refuse_counters(name: str, array: Array) -> None:
    """Raise ValueError unless all numbers are counts: integers from 0 to MOST_COUNTED, although their type is float."""
    if not np.all((array >= 0.0) & (array <= MOST_COUNTED) & (array == np.floor(array))):
        raise ValueError(f"the {name} of the file count in numbers that are not integers from 0 to {MOST_COUNTED}")


def _check_slots(name: str, slots: Array, size: int) -> None:
    if slots.size and (slots.min() < 0 or slots.max() >= size):
        raise ValueError(f"the state's {name} point outside 0..{size - 1}")


def _check_pairs(pairs: Array, tasks: int, features: int) -> None:
    """Refuse pairs outside of the names, and a pair that appears twice; files list them in ascending order."""
    order = order_of(read_only(pairs), tasks, features)
    if order == OUTSIDE:
        _check_slots("pairs", pairs[:, 0], tasks)
        _check_slots("pairs", pairs[:, 1], features)
    if order == ANY_ORDER and len(np.unique(pack(pairs[:, 0], pairs[:, 1]))) != len(pairs):
        raise ValueError("the state holds a (task, feature) pair twice")


def _restored_pairs(blank: Any, plan: Plan, arrays: Mapping[str, Array], tasks: int, features: int) -> dict[str, Any]:
    """The arrays over pairs of a file, as a table or hashed as the counts say."""
    pairs, numbers = arrays["pairs"], {name: arrays[name] for name in plan.pair_arrays}
    grown = pairs_for_names(blank, plan, Sizes(tasks + 1, max(features, 1)))
    found: Pairs = grown.get("pairs", blank.pairs)
    if found.layout[HASHED]:
        return regions_of(tasks + 1, pairs, numbers, plan.padded)
    slots = table_slots(found, pairs[:, 0], pairs[:, 1])
    for name, array in numbers.items():
        rows = grown[name] if name not in plan.padded else grown[name][..., : array.shape[-1]]
        rows[slots] = array
    return grown
