"""Labels and weights as users give them beside rows: checked, as arrays."""

from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.encoding.careful import LARGEST_WEIGHT
from weft.labels import Labels, label_array
from weft.storage.events import refuse_masked, same_length
from weft.storage.rows import first_masked


def read_labels(y: Any, n: int) -> Labels | None:
    """Labels as they are; NaN stays (a dormant task), infinity does not."""
    if y is None:
        return None
    labels = label_table(y)
    if labels.values.ndim != 1:
        raise ValueError(f"y has {labels.values.ndim} dimensions; give one label per row")
    same_length("y", len(labels.values), n)
    return labels


def label_table(y: Any) -> Labels:
    """New arrays of labels; a masked one is missing, as NaN is."""
    labels = label_array(y)
    if first_masked(y) is not None:
        labels.values[np.ma.getmaskarray(y)] = np.nan
    return labels


def read_weights(weight: Any, n: int) -> Floats:
    """Weights of events: numbers from 0 to LARGEST_WEIGHT."""
    refuse_masked("weight", weight)
    found = np.array(weight, np.float64, ndmin=1)
    if found.ndim != 1:
        raise ValueError(f"weight has {found.ndim} dimensions; give one number per row")
    same_length("weight", len(found), n)
    wrong = ~((found >= 0.0) & (found <= LARGEST_WEIGHT))
    if np.any(wrong):
        at = int(np.argmax(wrong))
        raise ValueError(f"row {at}: weight {found[at]:g}; weights are numbers from 0 to {LARGEST_WEIGHT:g}")
    return found
