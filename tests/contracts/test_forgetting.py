"""A task is forgotten: what a model holds of it goes; learners that cannot do so say why, and change nothing."""

from dataclasses import replace

import numpy as np
import pytest

import weft
from contracts.settings import FEATURES
from contracts.streams import make_events
from weft.streams import read_chunks

NAME = "a task that nobody else mentions"
REFUSES = ("omtrl-logdet", "omtrl-vonneumann", "omtrl-cov", "romco-nucl", "romco-logd")
NOTHING_SHARED = ("perceptron", "pa", "arow")


def can_forget(setting):
    return not (setting.named or setting.name in REFUSES or "neighbours" in setting.parameters)


def renamed(setting, kind, form, old):
    """Events in which one task has a name that a file can be searched for."""
    events = make_events(setting.target, kind, form)
    return replace(events, tasks=tuple(NAME if task == old else task for task in events.tasks))


@pytest.mark.parametrize(("kind", "form", "old"), [("single", "named", "ann"), ("rounds", "sparse", "bob")])
def test_nothing_of_the_task_is_left(setting, layout, kind, form, old):
    if not can_forget(setting):
        expect_refusal(setting, kind, form)
        return
    events = renamed(setting, kind, form, old)
    model, stream = setting.model(), events.stream()
    model.learn(stream)
    others = [name for name in model.tasks if name != NAME]
    counts = {name: model.tally[name] for name in others}
    known = model.tally[NAME]["events"]
    report = model.forget(NAME)
    assert (report.task, report.events) == (NAME, known)
    assert known > 0
    assert model.tasks == model.tally.tasks == others
    np.testing.assert_equal({name: model.tally[name] for name in others}, counts)
    data = model.to_bytes()
    assert NAME.encode() not in data
    twin = weft.Model.from_bytes(data)
    assert twin.to_bytes() == data
    # It can come again, as a new task: in memory as after a file.
    again = model.learn(stream)
    np.testing.assert_array_equal(again, twin.learn(stream))
    assert np.isfinite(again).all()
    assert model.to_bytes() == twin.to_bytes()
    assert model.tasks == [*others, NAME]


def expect_refusal(setting, kind, form):
    model = setting.declared()
    model.learn(make_events(setting.target, kind, form).stream())
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"cannot forget a task: .*; learn the others again without it"):
        model.forget("ann")
    assert model.to_bytes() == before


def test_the_others_are_scored_as_before(setting):
    """Where a rule neither counts tasks nor keeps rows in common, no score of the others changes by a bit."""
    if not can_forget(setting) or setting.counts_tasks or setting.name == "mtbprj-2":
        return
    events = renamed(setting, "single", "sparse", "ann")
    model, stream = setting.model(), events.stream()
    model.learn(stream)
    rest = stream.take(np.array([i for i, task in enumerate(events.tasks) if task != NAME]))
    before = model.score(rest)
    model.forget(NAME)
    np.testing.assert_array_equal(model.score(rest), before)


def test_models_on_a_clique_stay(setting):
    """Gradient descent without a ball: the models of the others, own and shared part, are as they were."""
    given = setting.parameters
    if setting.name != "mt-ogd" or not can_forget(setting) or "projection" in given or given.get("eta") == "adaptive":
        return
    model = setting.model()
    model.learn(renamed(setting, "rounds", "dense", "bob").stream())
    before = dict(zip(model.tasks, model.weights(), strict=True))
    assert model.forget(NAME).weights > 0 or given.get("b") == np.inf
    for name, row in zip(model.tasks, model.weights(), strict=True):
        np.testing.assert_array_equal(row, before[name])


def test_the_last_task_leaves_a_model_that_is_as_new(setting):
    if not can_forget(setting):
        return
    events = make_events(setting.target, "single", "dense")
    model, fresh = setting.model(features=FEATURES), setting.model(features=FEATURES)
    model.learn(events.stream())
    for name in model.tasks:
        report = model.forget(name)
    assert report.remains == ()
    assert model.tasks == []
    np.testing.assert_array_equal(model.learn(events.stream()), fresh.learn(events.stream()))


def test_where_nothing_is_shared_it_was_never_there(setting):
    """Single events, and features that are known before: the file is that of a model that never saw the task."""
    if setting.name not in NOTHING_SHARED or setting.traits.pooled:
        return
    events = renamed(setting, "single", "dense", "ann")
    stream = events.stream()
    model, never = setting.model(features=FEATURES), setting.model(features=FEATURES)
    model.learn(stream)
    never.learn(stream.take(np.array([i for i, task in enumerate(events.tasks) if task != NAME])))
    assert model.to_bytes() != never.to_bytes()
    assert model.forget(NAME).remains == ()
    assert model.to_bytes() == never.to_bytes()


def test_unknown_tasks_are_refused():
    model = weft.Model("pa")
    model.learn_one({"x": 1.0}, 1, task="ann")
    for task in ("eve", 3, ("ann", 1)):
        with pytest.raises(ValueError, match="does not know the task"):
            model.forget(task)
    with pytest.raises(ValueError, match="is a bool"):
        model.forget(True)


def test_single_events_go_on():
    model = weft.Model()
    for i in range(40):
        model.learn_one({"x": 1.0, f"f{i % 3}": 1.0}, 1 if i % 2 else -1, task=("ann", "bob", "eve")[i % 3])
    held = model.tally
    assert "what all tasks share" in str(model.forget("bob"))
    assert held is model.tally
    assert model.tally.tasks == ["ann", "eve"]
    before = model.tally["eve"]["events"]
    model.learn_one({"x": 1.0}, 1, task="eve")
    model.learn_one({"x": 1.0}, 1, task="bob")
    assert model.tally["eve"]["events"] == before + 1
    assert model.tally["bob"]["events"] == 1


def test_readers_of_files_find_the_new_slots(tmp_path):
    """The slots of codes are kept between chunks: they change with the tasks."""
    path = tmp_path / "events.csv"
    path.write_text("task,y,x\n" + "".join(f"{'abc'[i % 3]},{1 if i % 2 else -1},{i % 5}\n" for i in range(30)))
    model = weft.Model("pa")
    first, second, _ = read_chunks(str(path), chunk=10)
    model.learn(first.stream)
    model.forget("a")
    model.learn(second.stream)
    assert model.tasks == ["b", "c", "a"]
    assert [model.tally[name]["events"] for name in "abc"] == [3, 7, 6]
