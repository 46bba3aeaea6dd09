"""Code matrices: a row of -1 and +1 per label, a column per binary task.

A label is learned as its row; the signs that the tasks predict are decoded to the nearest row. A code of
distance d (the fewest places in which two rows differ) puts up with any (d - 1) // 2 wrong signs.

>>> M = exhaustive_code(5)
>>> M.shape, code_distance(M)
((5, 15), 8)
>>> signs = M[3].copy()
>>> signs[[0, 6, 11]] *= -1
>>> decode_hamming(M, signs[None, :]).tolist()
[3]

Interpretation. The paper says that distance 8 corrects 4 mistakes; it corrects 3, with 4 the nearest row may not
be unique.
"""

from typing import Any

import numpy as np

from weft.compiled.arrays import Ints

MOST_EXHAUSTIVE = 12
"""More labels than this would need more than 2047 binary tasks."""


def one_vs_rest(s: int) -> Ints:
    """2I - 1: a task per label.

    >>> one_vs_rest(3).tolist()
    [[1, -1, -1], [-1, 1, -1], [-1, -1, 1]]
    """
    return 2 * np.eye(_count(s, 1), dtype=np.int64) - 1


def log2_code(s: int) -> Ints:
    """The label's number in ceil(log2 s) bits (one bit if s = 1), the highest first; + stands for 1.

    >>> log2_code(3).tolist()
    [[-1, -1], [-1, 1], [1, -1]]
    """
    bits = max(1, (_count(s, 1) - 1).bit_length())
    return 2 * (np.arange(s)[:, None] >> np.arange(bits)[::-1] & 1) - 1


def exhaustive_code(s: int) -> Ints:
    """All 2^(s-1) - 1 columns with + in row one, but for that of + alone; rows differ in 2^(s-2) places.

    The columns are sorted: rows 2 .. s read as a binary number, + before -. It is the largest code without
    useless or repeated columns, and it doubles with every label: at most 12 labels.

    >>> exhaustive_code(3).tolist()
    [[1, 1, 1], [1, -1, -1], [-1, 1, -1]]
    """
    if _count(s, 2) > MOST_EXHAUSTIVE:
        raise ValueError(
            f"an exhaustive code for {s} labels has 2^{s - 1} - 1 columns; "
            f"it is limited to {MOST_EXHAUSTIVE} labels, "
            'use coding="one-vs-rest" or "log2", or give a code matrix'
        )
    columns = np.arange(1, 2 ** (s - 1))
    return 1 - 2 * (columns[None, :] >> np.arange(s)[::-1, None] & 1)


def code_distance(M: Any) -> int:
    """The fewest places in which two rows differ."""
    M = read_code(M)
    if len(M) < 2:
        raise ValueError("a code of one row has no distance; give at least two rows")
    agreement = M @ M.T
    np.fill_diagonal(agreement, -M.shape[1])
    return int((M.shape[1] - agreement.max()) // 2)


def decode_hamming(M: Any, signs: Any) -> Ints:
    """For every row of `signs` the number of the nearest row of M; among equals the first."""
    M = read_code(M)
    signs = np.asarray(signs)
    if signs.ndim != 2 or signs.shape[1] != M.shape[1]:
        raise ValueError(f"signs has shape {signs.shape}, expected (n, {M.shape[1]}): a column per column of the code")
    if not np.all(np.abs(signs) == 1):
        raise ValueError("signs must be -1 and +1")
    agreement: Ints = signs.astype(np.int64) @ M.T
    nearest: Ints = np.argmax(agreement, axis=1)  # the first among equals
    return nearest


def read_code(M: Any) -> Ints:
    """A code matrix, checked: two dimensions, -1 and +1 only."""
    M = np.asarray(M)
    if M.ndim != 2 or 0 in M.shape:
        raise ValueError(f"the code has shape {M.shape}; give a row per label and a column per binary task")
    if M.dtype.kind not in "fiu" or not np.all(np.abs(M) == 1):
        raise ValueError("a code holds -1 and +1 only")
    return np.array(M, np.int64)


def _count(s: Any, least: int) -> int:
    if isinstance(s, bool) or not isinstance(s, int | np.integer) or s < least:
        raise ValueError(f"s={s!r} labels; a code needs an integer of at least {least}")
    return int(s)
