"""What a forger changes: entries, rows, counts and shapes of arrays, names and parameters of the header."""

from collections.abc import Callable
from typing import Any

import numpy as np

Header = dict[str, Any]
Arrays = dict[str, np.ndarray]

FLOATS = [np.nan, np.inf, -np.inf, -1.0, 0.0, -0.0, 0.5, 1.0, 2.0, 2.0**31, 2.0**53, 1e300, -1e300, 1e-300, 5e-324]
INTEGERS = [-1, 0, 1, 2, 2**31, 2**32, 2**53, 2**62, 2**63 - 1, -(2**63)]


def _some(rng: np.random.Generator, items: list[Any]) -> Any:
    return items[rng.integers(len(items))]


def _sizes(arrays: Arrays) -> list[int]:
    """The lengths in the file, and their neighbours: what an index must not reach."""
    lengths = {n for array in arrays.values() for n in array.shape}
    return sorted({n + more for n in lengths for more in (-1, 0, 1)})


def _value(rng: np.random.Generator, arrays: Arrays, kind: np.dtype) -> Any:
    if rng.random() < 0.4:
        return _some(rng, _sizes(arrays))
    return _some(rng, FLOATS if kind == np.float64 else INTEGERS)


def _array(rng: np.random.Generator, arrays: Arrays) -> str:
    """Small arrays hold the counts and scalars: they are as likely as all others together."""
    names = [name for name, array in arrays.items() if array.size]
    small = [name for name in names if arrays[name].size <= 64]
    return _some(rng, small if small and rng.random() < 0.5 else names)


def one_entry(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    name = _array(rng, arrays)
    arrays[name].reshape(-1)[rng.integers(arrays[name].size)] = _value(rng, arrays, arrays[name].dtype)


def one_column(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """The same value in a whole column, or everywhere."""
    name = _array(rng, arrays)
    array, value = arrays[name], _value(rng, arrays, arrays[name].dtype)
    if array.ndim > 1 and array.shape[-1]:
        array[..., rng.integers(array.shape[-1])] = value
    else:
        array[...] = value


def a_duplicate(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """A row in the place of another."""
    name = _array(rng, arrays)
    array = arrays[name]
    array[rng.integers(len(array))] = array[rng.integers(len(array))]


def a_swap(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """Two rows in each other's place."""
    name = _array(rng, arrays)
    array = arrays[name]
    a, b = rng.integers(len(array), size=2)
    array[[a, b]] = array[[b, a]]


def a_neighbour(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """One more or one less than what was there."""
    name = _array(rng, arrays)
    flat = arrays[name].reshape(-1)
    at = rng.integers(len(flat))
    with np.errstate(all="ignore"):
        flat[at] += _some(rng, [-1, 1])


def another_shape(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """A row less, or the last one twice; often in all arrays of that length, as if the file meant it."""
    name = _array(rng, arrays)
    length, longer = len(arrays[name]), rng.random() < 0.5
    for other in list(arrays) if rng.random() < 0.5 else [name]:
        if arrays[other].ndim and len(arrays[other]) == length and length:
            rows = np.minimum(np.arange(length + 1 if longer else length - 1), length - 1)
            arrays[other] = arrays[other][rows]
    if "state.used" in arrays and len(arrays["state.used"]) and rng.random() < 0.5:
        arrays["state.used"][rng.integers(len(arrays["state.used"]))] += 1 if longer else -1


def another_type(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    name = _some(rng, list(arrays))
    other = np.float64 if arrays[name].dtype == np.int64 else np.int64
    arrays[name] = np.clip(np.nan_to_num(arrays[name]), -9, 9).astype(other)


def other_names(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """A name more or less, or another number of columns."""
    names = header[_some(rng, ["tasks", "features"])]
    if rng.random() < 0.4:
        names["columns"] = _some(rng, [*INTEGERS, *_sizes(arrays), 1.5, None, "3", True])
    elif rng.random() < 0.5 and names["names"]:
        names["names"] = names["names"][:-1]
    else:
        names["names"] = [*names["names"], _some(rng, ["new", 0, -1, "", ["a", 1], [], None, 1.5, {"a": 1}])]
    count = names["columns"] + len(names["names"]) if type(names["columns"]) is int else 0
    if names is header["tasks"] and 0 <= count < 1000 and rng.random() < 0.8:  # so that the tally does not tell
        arrays["tally"] = np.resize(arrays["tally"], (count, arrays["tally"].shape[1]))


def another_parameter(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    """Of the learner in the header, which the state then contradicts."""
    parameters = header["learner"]["parameters"]
    if parameters:
        name = _some(rng, sorted(parameters))
        parameters[name] = _some(rng, [None, 0, 1, 2, -1, 0.5, 1e308, 2**70, "inf", "nan", "", True, [], {}, 1e-300])


def another_field(rng: np.random.Generator, header: Header, arrays: Arrays) -> None:
    field = _some(rng, sorted(header))
    header[field] = _some(rng, [None, 0, "", [], {}, -1, 2**70, 1.5, True])


CHANGES: list[tuple[float, Callable[[np.random.Generator, Header, Arrays], None]]] = [
    (8.0, one_entry),
    (4.0, one_column),
    (3.0, a_neighbour),
    (2.0, a_duplicate),
    (1.0, a_swap),
    (2.0, another_shape),
    (0.3, another_type),
    (1.0, other_names),
    (2.0, another_parameter),
    (0.2, another_field),
]


def forge(rng: np.random.Generator, header: Header, arrays: Arrays) -> list[str]:
    """Change one to three things in place; returns what was changed, for the report."""
    weights = np.array([weight for weight, _ in CHANGES])
    done = []
    for _ in range(1 + int(rng.integers(3))):
        change = CHANGES[rng.choice(len(CHANGES), p=weights / weights.sum())][1]
        if any(array.size for array in arrays.values()):
            change(rng, header, arrays)
            done.append(change.__name__)
        if change is another_field:
            break  # the others rely on the header's form
    return done
