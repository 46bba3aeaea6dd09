"""The types of arrays that cross functions."""

from typing import Any, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Floats = NDArray[np.float64]
ShortFloats = NDArray[np.float32]
Ints = NDArray[np.int64]


@runtime_checkable
class ArrayLike(Protocol):
    """What NumPy can turn into an array by itself: arrays, series, columns of a data frame."""

    def __array__(self) -> Array: ...


@runtime_checkable
class Frame(Protocol):
    """A data frame: columns with names."""

    @property
    def columns(self) -> Any: ...

    def to_numpy(self) -> Array: ...
