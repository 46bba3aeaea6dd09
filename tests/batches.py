"""Batches made by hand, for tests."""

import numpy as np

from weft.storage import pairs
from weft.storage.batch import Batch


def batch_of(rows, row=None):
    """A batch of one round over dense rows."""
    indptr, indices, values = [0], [], []
    for x in rows:
        at = np.flatnonzero(x)
        indices += at.tolist()
        values += np.asarray(x, float)[at].tolist()
        indptr.append(len(indices))
    row = np.arange(len(rows)) if row is None else np.array(row, np.int64)
    n = len(row)
    ints = [np.array(a, np.int64) for a in (indptr, indices)]
    return Batch(np.arange(n), np.ones(n), row, *ints, np.array(values, float), np.array([0, n]))


def event(features, values, task=0):
    """A batch of one event with the features as they are."""
    ints = [np.array(a, np.int64) for a in ([task], [0], [0, len(features)], features, [0, 1])]
    return Batch(ints[0], np.ones(1), ints[1], ints[2], ints[3], np.array(values, float), ints[4])


def find(index, task, batch):
    """The slots of the batch's first row, -1 for a pair that does not exist."""
    slots = np.empty(batch.indptr[1], np.int64)
    pairs.find_row(index.keys, index.table, np.zeros(1), task, batch.indices, 0, batch.indptr[1], slots)
    return slots


def open_pairs(index, task, batch):
    """The slots of the batch's first row; missing pairs are created."""
    slots = find(index, task, batch)
    pairs.open_row(*index, task, batch.indices, 0, batch.indptr[1], slots)
    return slots
