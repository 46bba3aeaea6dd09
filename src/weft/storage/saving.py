"""What of a state is saved, and how it comes back from a file, which may hold anything."""

from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.compiled.arrays import Array
from weft.storage.growth import make_room_for_names, pairs_for_names
from weft.storage.pair_arrays import live_pairs, regions_of, table_slots
from weft.storage.pairs import HASHED, Pairs, pack, unpack
from weft.storage.state import COUNTED, Plan, Sizes, State, replaced


def live(state: Any, plan: Plan, tasks: int, features: int) -> dict[str, Array]:
    """The part of a state that matters, in an order that depends on nothing but what was learned."""
    out: dict[str, Array] = {}
    if plan.has_pairs:
        keys, arrays = live_pairs(state, plan, tasks, features)
        out["pairs"] = np.stack(unpack(keys), axis=1)
        out |= {name: _without_padding(array, plan, name) for name, array in arrays.items()}
    sizes = {"task": tasks, "feature": features}
    if plan.has_counts:
        sizes |= {axis: int(n) for axis, n in zip(COUNTED, state.used, strict=False)}
    for name, axes in plan.axes.items():
        if "pair" not in axes:
            array = getattr(state, name)
            out[name] = array[tuple(slice(0, sizes[a] if isinstance(a, str) else a) for a in axes)].copy()
    return out


def restore(blank: State, plan: Plan, arrays: Mapping[str, Array], tasks: int, features: int) -> State:
    """The state whose live part is `arrays`. Raises ValueError unless every array is what `plan` allows."""
    expected = set(plan.axes) | ({"pairs"} if plan.has_pairs else set())
    if set(arrays) != expected:
        raise ValueError(f"the state holds the arrays {sorted(arrays)}, expected {sorted(expected)}")
    sizes = _saved_sizes(arrays, plan, tasks, features)
    for name in plan.axes:
        _check(name, arrays[name], getattr(blank, name), plan, sizes)
    if plan.check is not None:
        plan.check(arrays)
    found: dict[str, Any] = {
        name: np.array(arrays[name], order="C") for name, axes in plan.axes.items() if "pair" not in axes
    }
    if plan.has_pairs:
        found |= _restored_pairs(blank, plan, arrays, tasks, features)
    return make_room_for_names(replaced(blank, found), plan, tasks, features)


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
        _check_slots("pairs", keys[:, 0], tasks)
        _check_slots("pairs", keys[:, 1], features)
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


def _check_slots(name: str, slots: Array, size: int) -> None:
    if slots.size and (slots.min() < 0 or slots.max() >= size):
        raise ValueError(f"the state's {name} point outside 0..{size - 1}")


def _restored_pairs(blank: Any, plan: Plan, arrays: Mapping[str, Array], tasks: int, features: int) -> dict[str, Any]:
    """The arrays over pairs of a file, as a table or hashed as the counts say."""
    keys = pack(arrays["pairs"][:, 0], arrays["pairs"][:, 1])
    if len(np.unique(keys)) != len(keys):
        raise ValueError("the state holds a (task, feature) pair twice")
    padded = {name: _with_padding(arrays[name], plan, name) for name in plan.pair_arrays}
    grown = pairs_for_names(blank, plan, Sizes(tasks + 1, max(features, 1)))
    found: Pairs = grown.get("pairs", blank.pairs)
    if found.layout[HASHED]:
        return regions_of(tasks + 1, keys, padded)
    slots = table_slots(found, *unpack(keys))
    for name, array in padded.items():
        grown[name][slots] = array
    return grown


def _without_padding(array: Array, plan: Plan, name: str) -> Array:
    return np.ascontiguousarray(array[:, : plan.axes[name][-1]]) if name in plan.padded else array


def _with_padding(array: Array, plan: Plan, name: str) -> Array:
    if name not in plan.padded:
        return array
    found = np.zeros((*array.shape[:-1], plan.padded[name]), array.dtype)
    found[..., : array.shape[-1]] = array
    return found
