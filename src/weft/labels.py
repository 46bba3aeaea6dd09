"""Labels: which of them a learner takes. Readers of files, streams and single events all ask here.

A label is checked once: by the reader that found it in a line of a file, by the stream that was given an array, or by
the model that was given one event. Who has checked labels says so, see `weft.stream.Stream.of_checked`.
"""

import math
import numbers
from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.learner import Target

LARGEST_LABEL = 1e100
"""Labels beyond this are refused: squares of what is predicted from them stay finite."""

SIZE = f"labels lie within -{LARGEST_LABEL:g} .. {LARGEST_LABEL:g}, scale them or leave the row out"
CLASSES = 'classification takes -1 and +1 (map 0/1 labels by 2 * y - 1), numbers need loss="square" or the like'


def wrong_labels(y: Floats, target: Target, *, dormant: bool, missing: bool = False) -> Array:
    """Which labels a learner of that kind does not take, as a mask.

    In a stream with rounds a task may be `dormant`: its label is NaN, or 0 for classification. `missing`: a label may
    be left out altogether, as when nothing is learned.

    >>> wrong_labels(np.array([1.0, 0.0, np.nan, 2.0]), "binary", dormant=True).tolist()
    [False, False, False, True]
    """
    if target == "point":
        return np.zeros(len(y), bool)
    is_nan = np.isnan(y)
    wrong = too_large(y)
    if target == "binary":
        wrong = ~((y == 1.0) | (y == -1.0) | is_nan)
        if dormant:
            wrong &= y != 0.0
    return np.asarray(wrong if dormant or missing else wrong | is_nan)


def too_large(y: Floats) -> Array:
    """Which labels no learner takes, because they are infinite or nearly so, as a mask."""
    return np.asarray(np.abs(y) > LARGEST_LABEL)


def one_label(y: Any, target: Target) -> float:
    """The label of a single event, as a learner of that kind takes it."""
    if target == "point" and y is None:
        return 0.0
    label = scalar_label(y)
    if target == "binary" and abs(label) != 1.0:
        raise ValueError(f"label {y!r}; {CLASSES}")
    return 0.0 if target == "point" else label


def scalar_label(y: Any) -> float:
    """One label as a float."""
    if isinstance(y, bool | np.bool_) or not isinstance(y, numbers.Real):
        raise ValueError(f"label {y!r} is not a number; give a finite number")
    try:
        value = float(y)
    except OverflowError:
        raise ValueError("the label is too large a number; give a finite one") from None
    if not math.isfinite(value):
        raise ValueError(f"label {y!r} is not finite; give a finite number, or leave the event out")
    if abs(value) > LARGEST_LABEL:
        raise ValueError(f"label {y!r} is too large; {SIZE}")
    return value


def label_array(y: Any) -> Floats:
    """A new array of floats; what is not a number is refused by its row."""
    try:
        array = np.asarray(y)
    except ValueError:  # lists of different lengths
        array = np.array(list(y), object)
    if array.ndim == 0:
        raise ValueError(f"y is {y!r}; give one label per row")
    if array.dtype.kind not in "fiu":
        array = np.asarray(y, object) if array.dtype.kind != "O" else array
        for place, label in np.ndenumerate(array):
            if isinstance(label, bool | np.bool_) or not isinstance(label, numbers.Real):
                raise ValueError(
                    f"row {place[0]}: label {label!r} is not a number; classification takes -1 and +1 "
                    "(map True/False by 2 * y - 1), weft.reductions takes labels of any kind"
                )
    try:
        return array.astype(np.float64)
    except OverflowError:
        raise ValueError("y holds a label that is too large a number; labels must be finite") from None
