"""Small data sets as files, correct or with a fault."""

import hashlib
import io

import numpy as np

from weft.streams.known_sets import KnownSet

DENSE = {
    "X": np.arange(8, dtype=np.float32).reshape(4, 2),
    "y": np.array([1, -1, 1, 1], np.int8),
    "task": np.array([0, 1, 1, 0], np.int32),
    "task_names": np.array(["ann", "bob"]),
    "feature_names": np.array(["a", "b"]),
    "date": np.array([3, 1, 2, 0], np.int32),
    "groups": np.array([1, 0], np.int8),
}
SPARSE = {
    "data": np.array([1, 2, 3], np.int16),
    "indices": np.array([2, 0, 1], np.int32),
    "indptr": np.array([0, 1, 1, 3], np.int64),
    "shape": np.array([3, 3]),
    "y": np.array([1, -1, 1], np.int8),
    "task": np.array([0, 1, 0], np.int32),
    "task_names": np.array(["ann", "bob"]),
    "feature_names_utf8": np.frombuffer("a\nb\nü".encode(), np.uint8),
}
TOPICS = {
    **{name: SPARSE[name] for name in ("data", "indices", "indptr", "shape")},
    "label_indices": np.array([1, 0, 1], np.int32),
    "label_indptr": np.array([0, 1, 1, 3], np.int64),
    "label_names": np.array(["sport", "money"]),
}
SHAPES = {
    "dense": (DENSE, (4, 2, 2, "binary", False), ("date",), ("groups",)),
    "sparse": (SPARSE, (3, 3, 2, "binary", True), (), ()),
    "topics": (TOPICS, (3, 3, 2, "topics", True), (), ()),
}


def made(kind, changes=()):
    """The bytes of a small set, and its description."""
    arrays, sizes, by_row, more = SHAPES[kind]
    arrays = {name: array for name, array in {**arrays, **dict(changes)}.items() if array is not None}
    file = io.BytesIO()
    np.savez(file, **arrays)
    content = file.getvalue()
    total = hashlib.sha256(content).hexdigest()
    return content, KnownSet("tiny", "a set", *sizes, "here", "free", len(content), total, by_row, more)
