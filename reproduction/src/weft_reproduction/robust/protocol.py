"""Sec. 6.1 of Yang, Zhao and Gao (2017): three streams of several tasks, learned in one pass, scored before learning.

Round t holds row t of every task that still has one. What is counted is the cumulative error rate of every task and
the F-measures of its two classes. How rows are scaled, which features were kept, and how tasks of different sizes meet
in rounds is not said.
"""

import time
import warnings
from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import lru_cache
from typing import Any

import numpy as np
from scipy import sparse

from weft.model import Model
from weft.stream import Stream
from weft.streams.known import Known, known
from weft.streams.preparation import log_counts, offset_columns, rows_of, tasks_of, unit_rows, with_constant
from weft.streams.term_weights import frequent_columns, inverse_frequencies

SETS = ("pu_spam", "mhc1", "movielens_cf")
TITLES = {
    "pu_spam": "Spam Email",
    "mhc1": "MHC-I (a newer curation in the place of the paper's)",
    "movielens_cf": "Films (MovieLens in the place of EachMovie)",
}
SHORT = {"pu_spam": "Spam Email", "mhc1": "MHC-I", "movielens_cf": "Films"}
STAND_INS = ("mhc1", "movielens_cf")
WORDS = 1458
"""Columns of the paper's mails (its Table 1)."""
ALLELES, PEPTIDES = 12, 1555
"""The paper has 18,664 peptides of 12 alleles."""
USERS = 30
AMINO_ACIDS = "ACDEFGHIKLMNPQRSTVWY"

# --- rows ---


def pairs_of_letters(data: Known) -> Known:
    """Counts of the 400 pairs of neighbouring amino acids in every peptide."""
    codes = np.full(128, -1)
    codes[[ord(letter) for letter in AMINO_ACIDS]] = np.arange(len(AMINO_ACIDS))
    texts = np.asarray(data.extra["peptide"])
    letters = codes[texts.view(np.uint32).reshape(len(texts), -1)]
    if letters.min() < 0:
        raise ValueError(f"pairs_of_letters: {data.name} has peptides with other letters than {AMINO_ACIDS}")
    columns = len(AMINO_ACIDS) * letters[:, :-1] + letters[:, 1:]
    ends = np.arange(len(texts) + 1) * columns.shape[1]
    X = sparse.csr_array((np.ones(columns.size), columns.ravel(), ends), shape=(len(texts), len(AMINO_ACIDS) ** 2))
    X.sum_duplicates()
    names = [a + b for a in AMINO_ACIDS for b in AMINO_ACIDS]
    return replace(data, X=X, feature_names=names)


def _words(data: Known) -> Known:
    return inverse_frequencies(log_counts(frequent_columns(data, WORDS)))


def _own_words(data: Known) -> Known:
    return inverse_frequencies(log_counts(frequent_columns(offset_columns(data), len(data.task_names) * WORDS)))


READINGS: dict[str, dict[str, Callable[[Known], Known]]] = {
    "pu_spam": {
        "1,458 shared columns, unit tf-idf": lambda data: unit_rows(_words(data)),
        "1,458 shared columns, tf-idf as it is": _words,
        "a dictionary per user, unit tf-idf": lambda data: unit_rows(_own_words(data)),
        "a dictionary per user, tf-idf as it is": _own_words,
        "all shared columns, unit tf-idf": lambda data: unit_rows(inverse_frequencies(log_counts(data))),
        "all shared columns, tf-idf as it is": lambda data: inverse_frequencies(log_counts(data)),
        "1,458 shared columns and a constant, unit tf-idf": lambda data: unit_rows(
            with_constant(unit_rows(_words(data)), 0.2)
        ),
        "1,458 shared columns, unit tf-idf without logarithm": lambda data: unit_rows(
            inverse_frequencies(frequent_columns(data, WORDS))
        ),
        "1,458 shared columns, unit log counts without idf": lambda data: unit_rows(
            log_counts(frequent_columns(data, WORDS))
        ),
        "1,458 shared columns by their mean share of users, unit tf-idf": lambda data: unit_rows(
            inverse_frequencies(log_counts(frequent_columns(data, WORDS, per_task=True)))
        ),
        "1,458 shared columns, unit tf-idf of every user": lambda data: unit_rows(
            inverse_frequencies(log_counts(frequent_columns(data, WORDS)), per_task=True)
        ),
    },
    "mhc1": {
        "400 pairs of letters, unit rows": lambda data: unit_rows(pairs_of_letters(data)),
        "400 pairs of letters and a constant, unit rows": lambda data: unit_rows(with_constant(pairs_of_letters(data))),
        "180 columns of letter and place, unit rows": unit_rows,
    },
    "movielens_cf": {
        "ratings, unit rows": unit_rows,
        "ratings and a constant, unit rows": lambda data: unit_rows(with_constant(data, 5.0)),
        "ratings as they are": lambda data: data,
    },
}
"""How rows may be prepared; the first is the one of the tables."""
TAKEN = {name: next(iter(readings)) for name, readings in READINGS.items()}
ORDERS = ("rounds", "one by one")
"""Row t of every task that still has one in round t; or all rows in a random order, one a round."""


@lru_cache(maxsize=2)
def _prepared(name: str, reading: str) -> Known:
    data = known(name)
    if name == "mhc1":
        sizes = np.bincount(np.asarray(data.task))
        data = tasks_of(data, np.argsort(-sizes, kind="stable")[:ALLELES])
    elif name == "movielens_cf":
        data = tasks_of(data, np.arange(USERS))
    return READINGS[name][reading](data)


def shuffle(name: str, reading: str, order: str, seed: int, rows: int | None = None) -> Stream:
    """The stream of a shuffle, or its first `rows` of every task."""
    data, rng = _prepared(name, reading), np.random.default_rng(seed)
    task = np.asarray(data.task)
    chosen, number = [], []
    for one in np.unique(task):
        of_task = rng.permutation(np.flatnonzero(task == one))
        of_task = of_task[: min(PEPTIDES if name == "mhc1" else len(of_task), rows or len(of_task))]
        chosen.append(of_task)
        number.append(np.arange(len(of_task)))
    places, rounds = np.concatenate(chosen), np.concatenate(number)
    if order == "rounds":
        at = np.argsort(rounds, kind="stable")
        rounds = rounds[at]
    else:
        at, rounds = rng.permutation(len(places)), np.arange(len(places))
    part = rows_of(data, places[at])
    names = data.task_names
    return Stream(part.X, part.y, [names[k] for k in np.asarray(part.task).tolist()], rounds)


# --- a pass ---

POINTS = 20
"""Of the curve of the cumulative error: after every twentieth of each task's rows."""


def passed(stream: Stream, learner: str, parameters: Mapping[str, Any], batch: bool = False) -> dict[str, Any]:
    """One pass: per task, in the order of their names, the error, the F-measures of + and of -, a curve; and seconds.

    `warmup`, a parameter of learners that learn relations, is a share of the events here. `batch`: the learner is
    fitted to all rows seen whenever these have doubled, from FIRST on.
    """
    given = dict(parameters)
    if "warmup" in given:
        given["warmup"] = int(given["warmup"] * len(stream))
    names = sorted(stream.task_names, key=str)
    model = Model(learner, tasks=names, **given)
    began = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # parameters at the ends of the grids are remarked upon
        scores = _doubling(model, stream) if batch else model.learn(stream)
    seconds = time.process_time() - began
    task = np.array([names.index(name) for name in stream.task_names])[stream.task_codes]
    found: dict[str, Any] = measures(scores, stream.y, task, len(names))
    return found | {"curve": curve_of(scores, stream.y, task, len(names)), "seconds": seconds}


FIRST = 100
"""Rows after which batch learners are fitted for the first time."""


def _doubling(model: Model, stream: Stream) -> Any:
    """Scores of a batch learner: before its first fit 0, then those of its last one."""
    scores, bounds, done, due = np.zeros(len(stream)), stream.rounds, 0, FIRST
    while due < len(stream):
        at = int(np.searchsorted(bounds, due))
        model.fit(stream.cut(done, at))
        done, due = at, 2 * due
        until = min(int(np.searchsorted(bounds, due)), stream.n_rounds)
        scores[bounds[at] : bounds[until]] = model.score(stream.cut(at, until))
    return scores


def measures(scores: Any, y: Any, task: Any, tasks: int) -> dict[str, list[float]]:
    """Per task: error rate, F-measure of +1 and of -1 (0 where a class is neither there nor predicted), share of zeros.

    A score of 0 predicts +1.
    """
    scores = np.asarray(scores)
    guess = np.where(scores >= 0.0, 1.0, -1.0)
    found: dict[str, list[float]] = {"error": [], "plus": [], "minus": [], "zero": []}
    for k in range(tasks):
        here, true = guess[task == k], y[task == k]
        found["zero"].append(float(np.mean(scores[task == k] == 0.0)))
        found["error"].append(float(np.mean(here != true)))
        for name, label in (("plus", 1.0), ("minus", -1.0)):
            hit, both = np.sum((here == label) & (true == label)), np.sum(here == label) + np.sum(true == label)
            found[name].append(float(2.0 * hit / both) if both else 0.0)
    return found


def curve_of(scores: Any, y: Any, task: Any, tasks: int) -> list[list[float]]:
    """Per task the error rate over its first 1/20, 2/20 ... of rows."""
    wrong = np.where(np.asarray(scores) >= 0.0, 1.0, -1.0) != y
    found = []
    for k in range(tasks):
        so_far = np.cumsum(wrong[task == k])
        ends = np.maximum(np.arange(1, POINTS + 1) * len(so_far) // POINTS, 1)
        found.append((so_far[ends - 1] / ends).tolist())
    return found
