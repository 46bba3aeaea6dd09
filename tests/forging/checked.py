"""Plain mode with the eyes open: what compiled code would do outside of an array is an IndexError here.

`install` has to run before weft is imported. In plain mode an index beyond an array raises by itself. Three things do
not, and are made to: negative indices of a state's arrays, which wrap around; the four lanes of a register, which are
slices; and numbers that were never written, which may lie within by chance. Functions of `math` return NaN or infinity
as compiled code does: their exceptions would hide what comes after them.
"""

import math
import os
from typing import Any

import numpy as np


class Checked(np.ndarray):
    """An array that refuses negative indices."""

    def __getitem__(self, key: Any) -> Any:
        _refuse_negative(key)
        return super().__getitem__(key)

    def __setitem__(self, key: Any, value: Any) -> None:
        _refuse_negative(key)
        super().__setitem__(key, value)


def _refuse_negative(key: Any) -> None:
    for one in key if type(key) is tuple else (key,):
        if isinstance(one, int | np.integer) and one < 0:
            raise IndexError(f"index {one} is negative")


def watched(state: Any) -> Any:
    """A state whose arrays are checked, with the same memory."""
    if isinstance(state, np.ndarray):
        return state.view(Checked)
    if isinstance(state, tuple):
        parts = [watched(part) for part in state]
        return type(state)(*parts) if hasattr(state, "_fields") else tuple(parts)
    return state


def install() -> None:
    """Plain mode from now on."""
    os.environ["WEFT_PLAIN"] = "1"
    for name in ("sqrt", "exp", "log", "pow", "expm1", "log1p", "cosh", "sinh", "ceil", "floor"):
        setattr(math, name, _as_compiled(getattr(math, name)))
    np.empty = _poisoned(np.empty)
    from weft.compiled import lanes

    load, store = lanes.load_four, lanes.store_four

    def load_four(array: Any, at: Any) -> Any:
        _refuse_lanes(array, at, lanes.WIDTH)
        return load(array, at)

    def store_four(array: Any, at: Any, four: Any) -> None:
        _refuse_lanes(array, at, lanes.WIDTH)
        store(array, at, four)

    lanes.load_four, lanes.store_four = load_four, store_four
    from weft.learners.adaptive import do_no_harm

    do_no_harm._assert_bounds = lambda *_: None  # a law of what was learned, not of what a file claims


def _poisoned(empty: Any) -> Any:
    """New arrays hold what is wrong as an index and as a number."""

    def found(*arguments: Any, **options: Any) -> Any:
        array = empty(*arguments, **options)
        if array.dtype.kind in "iuf":  # the largest integer is no index of any array
            array.fill(np.nan if array.dtype.kind == "f" else np.iinfo(array.dtype).max)
        return array

    return found


def _refuse_lanes(array: Any, at: Any, width: int) -> None:
    if not 0 <= int(at) <= array.size - width:
        raise IndexError(f"lanes from {int(at)} of an array of {array.size}")


def _as_compiled(function: Any) -> Any:
    """NaN or infinity where Python raises, as in compiled code; what becomes an integer still raises."""

    def found(*arguments: float) -> Any:
        try:
            return function(*arguments)
        except OverflowError:
            if function.__name__ in ("ceil", "floor"):
                raise
            return math.inf
        except ValueError:
            if function.__name__ in ("ceil", "floor"):
                raise
            return math.nan

    return found
