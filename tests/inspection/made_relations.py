"""Relations that were made up, for tests of how they are arranged and drawn."""

import numpy as np

from weft.inspection.relations import Relations, fence_of


def made(values, apart=None, names=None):
    values = np.asarray(values, float)
    names = names or [f"t{i}" for i in range(len(values))]
    fence = np.inf if apart is None else fence_of(apart)
    return Relations("test", [[name] for name in names], values, apart, "length" if apart is not None else "", fence)


def blocks_of(label, inside=0.8, outside=0.1):
    """Relations of tasks with these groups."""
    label = np.asarray(label)
    values = np.where(label[:, None] == label, inside, outside)
    np.fill_diagonal(values, 1.0)
    return values
