"""How similar models are: cosines between them."""

import numpy as np

from weft.compiled.arrays import Floats


def cosines(models: Floats) -> Floats:
    """(n, n) of the rows of `models`; 0 where one of the two is 0, and 1 on the diagonal.

    Columns after the last that is not 0 are left out, so that room for features to come does not show in the bits.

    >>> cosines(np.array([[3.0, 4.0, 0.0], [4.0, 3.0, 0.0], [0.0, 0.0, 0.0]]))
    array([[1.  , 0.96, 0.  ],
           [0.96, 1.  , 0.  ],
           [0.  , 0.  , 1.  ]])
    """
    used = np.flatnonzero(np.any(models, axis=0))
    models = np.ascontiguousarray(models[:, : used[-1] + 1 if len(used) else 0])
    largest = np.max(np.abs(models), axis=1, initial=0.0)
    models = models / np.where(largest > 0.0, largest, 1.0)[:, None]
    products = np.einsum("ia,ja->ij", models, models)
    lengths = np.sqrt(np.diagonal(products))
    lengths = np.where(lengths > 0.0, lengths, 1.0)
    found: Floats = np.clip(products / (lengths[:, None] * lengths), -1.0, 1.0)
    np.fill_diagonal(found, 1.0)
    return found
