"""The streams on which the default is judged: every public set as one task per user, school, allele, field or topic.

Rows are raw, as a user would bring them. Sets whose rows belong to many topics become a stream of questions "is this
document about that topic?", a quarter of them to be answered with yes; the largest sets are cut to a fixed part. Where
parts are drawn, the seed is 12345.
"""

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
from scipy import sparse

from weft.streams.known import Known, known
from weft.streams.preparation import binarised, rows_of, sorted_by, square_roots, standardised, tasks_of, unit_rows

SEED = 12345
BINARY = (
    "landmine19", "landmine29", "pkdd06b", "pkdd06a", "mtl16", "sentiment4", "pu_spam", "mhc1", "movielens_cf",
    "emnist", "reuters", "rcv1", "school_bin",
)  # fmt: skip
REAL = ("school", "lenk", "mhc1_reg", "ml_cf_reg")
EXACT = (
    "landmine19", "landmine29", "pkdd06b", "pkdd06a", "sentiment4", "pu_spam", "movielens_cf", "school_bin", "school",
    "lenk", "ml_cf_reg",
)  # fmt: skip
"""Streams that are whole sets: nothing about them was left to chance but the order."""


def stream_of(name: str) -> Known:
    """One of BINARY or REAL, in the order of its file."""
    return _MAKERS[name]()


def prepared(data: Known) -> Known:
    """What a careful user does for a learner that leaves scaling to them.

    Counts: square roots, rows of unit length. Dense columns: standardised over the whole set, which looks ahead.
    """
    if not sparse.issparse(data.X):
        return standardised(data)
    return unit_rows(square_roots(data))


def _part(data: Known, rows: int) -> Known:
    return rows_of(data, np.sort(np.random.default_rng(SEED).permutation(len(data))[:rows]))


def _without_constants(data: Known) -> Known:
    return replace(data, X=data.X[:, data.X.std(axis=0) > 0.0], feature_names=None)


def _mines() -> Known:
    data = known("landmine")
    return tasks_of(data, data.extra["tasks19"])


def _rated(name: str, label: str) -> Known:
    data = known(name)
    return replace(data, y=np.asarray(data.extra[label], np.float64))


def _affinities() -> Known:
    data = _rated("mhc1", "log10_ic50")
    return _part(rows_of(data, np.flatnonzero(data.extra["quantitative"] != 0)), 15_000)


def _asked(X: Any, members: list[np.ndarray], names: list[str], name: str) -> Known:
    """A stream of questions: for every topic its documents (at most 100), and three others for each."""
    rng = np.random.default_rng(SEED)
    rows, task, y = [], [], []
    for k, inside in enumerate(members):
        yes = rng.permutation(inside)[:100]
        outside = np.setdiff1d(np.arange(X.shape[0]), inside)
        no = rng.permutation(outside)[: 3 * len(yes)]
        rows += [yes, no]
        task.append(np.full(len(yes) + len(no), k))
        y += [np.ones(len(yes)), -np.ones(len(no))]
    return Known(name, X[np.concatenate(rows)], np.concatenate(y), np.concatenate(task), names, None)


def _topics(name: str, least: int) -> Known:
    """Topics with at least so many documents."""
    data = known(name)
    members = sparse.csc_array(data.y)
    inside = [np.sort(members.indices[members.indptr[k] : members.indptr[k + 1]]) for k in range(members.shape[1])]
    kept = [k for k, rows in enumerate(inside) if len(rows) >= least]
    return _asked(data.X, [inside[k] for k in kept], [data.task_names[k] for k in kept], name)


def _characters() -> Known:
    data = known("emnist_byclass")
    X = sparse.csr_array(data.X)
    rng = np.random.default_rng(SEED)
    members = [rng.permutation(np.flatnonzero(data.y == k))[:50] for k in range(len(data.task_names))]
    return _asked(X, members, data.task_names, "emnist")


_MAKERS: dict[str, Callable[[], Known]] = {
    "landmine19": _mines,
    "landmine29": lambda: known("landmine"),
    "pkdd06b": lambda: known("pkdd06b"),
    "pkdd06a": lambda: known("pkdd06a"),
    "mtl16": lambda: _part(known("mtl16"), 12_000),
    "sentiment4": lambda: sorted_by(known("sentiment4"), "date"),
    "pu_spam": lambda: known("pu_spam"),
    "mhc1": lambda: _part(known("mhc1"), 15_000),
    "movielens_cf": lambda: known("movielens_cf"),
    "emnist": _characters,
    "reuters": lambda: _topics("reuters21578", 30),
    "rcv1": lambda: _topics("rcv1_2316", 30),
    "school_bin": lambda: _without_constants(binarised(known("school"), 75)),
    "school": lambda: _without_constants(known("school")),
    "lenk": lambda: _without_constants(known("lenk")),
    "mhc1_reg": _affinities,
    "ml_cf_reg": lambda: _rated("movielens_cf", "rating"),
}
