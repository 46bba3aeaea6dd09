"""The streams of these experiments: real sets in random order and in the order of time, and made-up ones.

Made-up streams have one difficulty each: tasks that oppose each other, change (slow, abrupt, recurring), products of
columns, heavy tails, wrong labels, a hostile task, tasks that come late, many columns of noise, missing values.
"""

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.streams.synthetic import related_tasks
from weft_reproduction.default.streams import BINARY, REAL, stream_of


class Data(NamedTuple):
    """A stream: rows, labels, tasks, and whether labels are -1 and +1."""

    X: Any
    y: Floats
    task: Ints
    logistic: bool


REAL_SETS = (*BINARY, *REAL)


def stream(name: str, order: int = 100) -> Data:
    """One of REAL_SETS in a random order, IN_TIME or MADE_UP (where the order is the seed)."""
    if name in MADE_UP:
        return MADE_UP[name](order)
    if name in IN_TIME:
        return IN_TIME[name]()
    return shuffled(name, order)


def shuffled(name: str, order: int) -> Data:
    data = stream_of(name)
    rows = np.random.default_rng(order).permutation(len(data))
    assert data.task is not None
    return Data(data.X[rows], data.y[rows], data.task[rows].astype(np.int64), name in BINARY)


# In the order of time.


def _by_date(name: str) -> Data:
    data = stream_of(name)
    assert data.task is not None
    known = {"sentiment4": None, "movielens_cf": "timestamp", "ml_cf_reg": "timestamp"}
    key = known[name]
    rows = np.arange(len(data)) if key is None else np.argsort(data.extra[key], kind="stable")
    return Data(data.X[rows], data.y[rows], data.task[rows].astype(np.int64), name in BINARY)


def _by_year(name: str) -> Data:
    """Schools side by side, each by year."""
    data = stream_of(name)
    task = np.asarray(data.task, np.int64)
    number = np.zeros(len(task))
    for k in range(task.max() + 1):
        number[task == k] = np.linspace(0.0, 1.0, int((task == k).sum()), endpoint=False)
    rows = np.argsort(number, kind="stable")
    return Data(data.X[rows], data.y[rows], task[rows], name in BINARY)


def _one_after_the_other(name: str, seed: int = 100) -> Data:
    """Task k begins after k/K of the stream: half of what comes at any time is of tasks that are there, or new."""
    data = shuffled(name, seed)
    tasks = int(data.task.max()) + 1
    place = np.empty(len(data.task))
    for k in range(tasks):
        mine = np.flatnonzero(data.task == k)
        place[mine] = np.linspace(0.8 * k / tasks, 1.0, len(mine), endpoint=False)
    rows = np.argsort(place, kind="stable")
    return Data(data.X[rows], data.y[rows], data.task[rows], data.logistic)


IN_TIME: dict[str, Callable[[], Data]] = {
    "sentiment4 in time": lambda: _by_date("sentiment4"),
    "movielens_cf in time": lambda: _by_date("movielens_cf"),
    "ml_cf_reg in time": lambda: _by_date("ml_cf_reg"),
    "school_bin in time": lambda: _by_year("school_bin"),
    "school in time": lambda: _by_year("school"),
}


# Made up.


def _sign(s: Any) -> Floats:
    return np.where(np.asarray(s) >= 0.0, 1.0, -1.0)


def _related(tasks: int, events: int, seed: int, **more: Any) -> Data:
    made = related_tasks(tasks, events, seed=seed, **more)
    return Data(made.X, made.y, np.unique(np.asarray(made.tasks), return_inverse=True)[1].astype(np.int64), True)


def _moving(seed: int, kind: str, numbers: bool = False, tasks: int = 20, events: int = 12_000) -> Data:
    """Weights that turn slowly, jump at thirds of the stream, or jump to and fro between two every 1,500 events."""
    width = 20
    rng = np.random.default_rng(seed)
    regimes = rng.normal(size=(3, width))
    apart = 0.3 * rng.normal(size=(tasks, width))
    X, task = rng.normal(size=(events, width)), rng.integers(0, tasks, events)
    at = np.arange(events)
    if kind == "slow":
        turn = (at / events * np.pi)[:, None]
        w = np.cos(turn) * regimes[0] + np.sin(turn) * regimes[1]
    else:
        w = regimes[at * 3 // events if kind == "abrupt" else at // 1500 % 2]
    y = np.sum(X * (w + apart[task]), axis=1) + 0.5 * rng.normal(size=events)
    return Data(X, y if numbers else _sign(y), task, not numbers)


def _friedman(seed: int, tasks: int = 20, events: int = 8000) -> Data:
    rng = np.random.default_rng(seed)
    X, task = rng.random((events, 10)), rng.integers(0, tasks, events)
    y = 10 * np.sin(np.pi * X[:, 0] * X[:, 1]) + 20 * (X[:, 2] - 0.5) ** 2 + 10 * X[:, 3] + 5 * X[:, 4]
    return Data(X, y + 2.0 * rng.normal(size=tasks)[task] + rng.normal(size=events), task, False)


def _product(seed: int, own: bool, tasks: int = 10, events: int = 8000) -> Data:
    """XOR of two columns of six; which two is the same for all tasks, or each task's own matter."""
    rng = np.random.default_rng(seed)
    X, task = rng.normal(size=(events, 6)), rng.integers(0, tasks, events)
    first = rng.integers(0, 3, tasks)[task] if own else np.zeros(events, np.int64)
    second = rng.integers(3, 6, tasks)[task] if own else np.full(events, 3)
    at = np.arange(events)
    return Data(X, _sign(X[at, first] * X[at, second] + 0.2 * rng.normal(size=events)), task, True)


def _sensors(seed: int, gaps: float = 0.0, tasks: int = 30, events: int = 6000, width: int = 12) -> Data:
    """Columns that are nearly combinations of two causes; tasks have weights of their own."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(events, 2)) @ rng.normal(size=(2, width)) + 0.1 * rng.normal(size=(events, width))
    task = rng.integers(0, tasks, events)
    w = rng.normal(size=width) + 0.3 * rng.normal(size=(tasks, width))
    y = np.sum(X * w[task], axis=1) + 0.1 * rng.normal(size=events)
    X[rng.random(X.shape) < gaps] = np.nan
    return Data(X, y, task, False)


def _cubed(name: str, seed: int) -> Data:
    """Every column standardised, then cubed: what is left has heavy tails."""
    data = shuffled(name, seed)
    X = (data.X - data.X.mean(axis=0)) / data.X.std(axis=0)
    return data._replace(X=X**3)


def _flipped(name: str, seed: int, share: float) -> Data:
    data = shuffled(name, seed)
    wrong = np.random.default_rng(seed + 1).random(len(data.y)) < share
    return data._replace(y=np.where(wrong, -data.y, data.y))


def with_hostile(data: Data, seed: int) -> tuple[Data, Array]:
    """A task more, as large as all others together: rows of theirs, with the opposite labels; and its events."""
    n = len(data.y)
    rows = np.random.default_rng(seed + 1).permutation(np.concatenate([np.arange(n), np.arange(n)]))
    first = np.zeros(n, np.bool_)
    hostile = np.zeros(2 * n, np.bool_)
    for i, row in enumerate(rows):
        hostile[i] = first[row]
        first[row] = True
    other = int(data.task.max()) + 1
    y = np.where(hostile, -data.y[rows], data.y[rows])
    return Data(data.X[rows], y, np.where(hostile, other, data.task[rows]), True), hostile


def _hostile(name: str, seed: int) -> Data:
    return with_hostile(shuffled(name, seed), seed)[0]


def _wide(seed: int, noise: int) -> Data:
    """Landmine, with columns of noise beside its nine."""
    data = shuffled("landmine19", seed)
    more = np.random.default_rng(seed + 1).normal(size=(len(data.y), noise))
    return data._replace(X=np.hstack([data.X, more]))


def _gappy(seed: int) -> Data:
    data = shuffled("school", seed)
    X = np.array(data.X)
    X[np.random.default_rng(seed + 1).random(X.shape) < 0.2] = np.nan
    return data._replace(X=X)


MADE_UP: dict[str, Callable[[int], Data]] = {
    "opposing groups": lambda seed: _related(30, 3000, seed - 100),
    "opposing groups, larger": lambda seed: _related(60, 12_000, seed - 100),
    "one group": lambda seed: _related(30, 3000, seed - 100, groups=1, loners=5),
    "slow change": lambda seed: _moving(seed, "slow"),
    "abrupt change": lambda seed: _moving(seed, "abrupt"),
    "recurring change": lambda seed: _moving(seed, "recurring"),
    "abrupt change, numbers": lambda seed: _moving(seed, "abrupt", numbers=True),
    "recurring change, numbers": lambda seed: _moving(seed, "recurring", numbers=True),
    "product": lambda seed: _product(seed, own=False),
    "own products": lambda seed: _product(seed, own=True),
    "friedman": _friedman,
    "sensors": _sensors,
    "sensors, gaps": lambda seed: _sensors(seed, 0.2),
    "school, gaps": _gappy,
    "landmine19 cubed": lambda seed: _cubed("landmine19", seed),
    "school_bin cubed": lambda seed: _cubed("school_bin", seed),
    "school cubed": lambda seed: _cubed("school", seed),
    "pkdd06b, 10 % wrong": lambda seed: _flipped("pkdd06b", seed, 0.1),
    "sentiment4, 10 % wrong": lambda seed: _flipped("sentiment4", seed, 0.1),
    "pkdd06b, hostile": lambda seed: _hostile("pkdd06b", seed),
    "landmine19, hostile": lambda seed: _hostile("landmine19", seed),
    "reuters, newcomers": lambda seed: _one_after_the_other("reuters", seed),
    "mhc1, newcomers": lambda seed: _one_after_the_other("mhc1", seed),
    "school_bin, newcomers": lambda seed: _one_after_the_other("school_bin", seed),
    "landmine19, 100 noise": lambda seed: _wide(seed, 100),
}
