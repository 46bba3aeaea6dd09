"""Learners that are defined elsewhere: by name, in files, in the catalogue; and what is refused."""

from dataclasses import dataclass, make_dataclass
from typing import ClassVar

import numpy as np
import pytest

import weft
from task_mean import TaskMean
from weft.learners import catalogue
from weft.store.codec import FileError


@pytest.fixture(autouse=True)
def nothing_registered(monkeypatch):
    monkeypatch.setattr(catalogue, "_REGISTERED", {})


def stream(n=40, seed=0):
    rng = np.random.default_rng(seed)
    return weft.Stream(rng.normal(size=(n, 3)), rng.normal(size=n), rng.integers(0, 4, n))


def test_by_name_in_a_file_and_in_the_catalogue(tmp_path):
    assert weft.register(TaskMean) is TaskMean
    model = weft.Model("task-mean", start=0.5)
    events = stream()
    scores = model.learn(events)
    first = {task: i for i, task in reversed(list(enumerate(events.tasks)))}
    assert all(scores[i] == 0.5 for i in first.values())
    again = events.tasks.index(events.tasks[39])
    mine = [i for i in range(39) if events.tasks[i] == events.tasks[39]]
    assert again in mine
    assert scores[39] == pytest.approx(events.y[mine].mean())
    model.save(tmp_path / "m.weft")
    loaded = weft.load(tmp_path / "m.weft")
    assert (loaded.name, loaded.parameters) == ("task-mean", {"start": 0.5})
    assert np.array_equal(loaded.learn(stream(seed=1)), model.learn(stream(seed=1)))
    assert loaded.to_bytes() == model.to_bytes()
    entry = weft.catalogue()[-1]
    assert (entry.name, entry.summary) == ("task-mean", "The mean of a task's labels so far.")
    assert entry.advice == ""  # it need not say when to take it
    assert [(p.name, p.default) for p in entry.parameters] == [("start", 0.0)]
    found = weft.compare(events, ["task-mean", ("mt-ogd", {"loss": "square"})], shuffles=0, workers=1)
    assert found.learners == ["task-mean", "mt-ogd loss=square"]


def test_one_event_at_a_time_and_in_pieces():
    weft.register(TaskMean)
    events, whole, pieces, single = stream(), weft.Model("task-mean"), weft.Model("task-mean"), weft.Model("task-mean")
    scores = whole.learn(events)
    assert np.array_equal(scores, np.concatenate([pieces.learn(events.cut(0, 13)), pieces.learn(events.cut(13, 40))]))
    rows = events.X.toarray()
    assert scores.tolist() == [
        single.learn_one(dict(enumerate(x)), y, task) for x, y, task in zip(rows, events.y, events.tasks, strict=True)
    ]


def test_a_file_of_a_learner_that_is_not_registered(tmp_path):
    path = tmp_path / "m.weft"
    weft.Model(TaskMean()).save(path)  # a learner that is built needs no name
    with pytest.raises(FileError, match=r"'task-mean' is not known.*register it with weft\.register first"):
        weft.load(path)
    weft.register(TaskMean)
    assert weft.load(path).name == "task-mean"
    with pytest.raises(ValueError, match=r"unknown learner 'task-men'.*did you mean 'task-mean'"):
        weft.Model("task-men")


def test_a_newer_version_takes_the_place_of_the_older():
    weft.register(TaskMean)
    newer = type("TaskMean", (TaskMean,), {"__module__": TaskMean.__module__, "__qualname__": "TaskMean"})
    assert weft.register(newer) is newer
    assert type(weft.Model("task-mean").learner) is newer


@dataclass(frozen=True)
class Taken(TaskMean):
    name: ClassVar[str] = "pa"


@dataclass(frozen=True)
class Alias(TaskMean):
    name: ClassVar[str] = "osgl"


@dataclass(frozen=True)
class Spaced(TaskMean):
    name: ClassVar[str] = "task mean: new"


@dataclass
class Lacking:
    """Nothing but a name."""

    name: ClassVar[str] = "lacking"
    traits: ClassVar[dict] = {}


@dataclass(frozen=True)
class WrongTraits(TaskMean):
    name: ClassVar[str] = "wrong"
    traits: ClassVar[dict] = {}


class Loose:
    """A plain class with every part."""


for part in catalogue.PARTS:
    setattr(Loose, part, "loose")


@pytest.mark.parametrize(
    ("kind", "reason"),
    [
        (TaskMean(), "is not a class; register the class"),
        (Taken, "the name 'pa' is taken already; give Taken another one"),
        (Alias, "the name 'osgl' is taken already"),
        (Spaced, "must be letters, digits"),
        (Lacking, "Lacking lacks paper, hooks, plan, target, tally_loss, hyper, kernels, init, weights, relations; "),
        (Loose, "Loose is not a frozen dataclass"),
        (make_dataclass("Bare", [("x", float, 0.0)], bases=(TaskMean,), frozen=True), "the field x has no meaning"),
        (WrongTraits, r"traits is not a weft\.learner\.Traits"),
    ],
    ids=str,
)
def test_what_is_refused(kind, reason):
    before = list(catalogue.LEARNERS)
    with pytest.raises(ValueError, match=reason):
        weft.register(kind)
    assert list(catalogue.LEARNERS) == before


def test_another_class_of_a_registered_name():
    weft.register(TaskMean)
    other = type("Other", (TaskMean,), {"__module__": "elsewhere"})
    with pytest.raises(ValueError, match="the name 'task-mean' is taken already; give Other another one"):
        weft.register(other)
