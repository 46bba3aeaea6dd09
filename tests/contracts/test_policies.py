"""Policies: what a task does not give changes nothing for others, and without receiving it is the only task."""

from dataclasses import replace

import numpy as np
import pytest

from contracts.streams import VARIETIES, make_events, random_edges
from weft import Model

APART = {"ann": (False, True), 7: (False, False), ("team", 1): (True, False)}
"""A policy of every kind."""


def some(events, keep):
    """The events of some tasks, as if there had been no others."""
    at = [i for i, task in enumerate(events.tasks) if keep(task)]
    names = ("rows", "tasks", "labels", "rounds")
    numbers = {number: n for n, number in enumerate(dict.fromkeys(events.rounds[i] for i in at))}
    form = "dense" if events.form == "shared" else events.form
    found = replace(events, form=form, **{name: tuple(getattr(events, name)[i] for i in at) for name in names})
    return np.array(at), replace(found, rounds=tuple(numbers[number] for number in found.rounds))


def with_policies(setting):
    model = setting.model()
    for task, (gives, receives) in APART.items():
        model.set_policy(task, gives=gives, receives=receives)
    return model


@pytest.fixture
def policies(setting):
    return with_policies(setting)


sharing = pytest.mark.only(lambda traits: traits.has_policies)
"""For learners whose tasks have policies."""


@pytest.mark.only(lambda traits: not traits.has_policies)
def test_others_have_none(setting):
    model = setting.model()
    with pytest.raises(ValueError, match=f"{model.name} has no policies of tasks"):
        model.set_policy("ann", gives=False)
    assert model.policy("ann") == (True, True)


@sharing
@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_what_is_not_given_is_not_noticed(setting, policies, kind, form, soon_hashed):
    events = make_events(setting.target, kind, form, seed=71)
    at, others = some(events, lambda task: task not in APART or APART[task][0])
    scores, plain = policies.learn(events.stream()), setting.model()
    expected = plain.learn(others.stream())
    ours = np.array([task not in APART for task in others.tasks])
    assert np.array_equal(scores[at][ours], expected[ours])
    assert ours.sum() > 5
    table = make_events(setting.target, "single", "dense" if form == "shared" else form, seed=72).table()
    for task in ("bob", "eve", "nobody yet") if not setting.traits.task_names else ("bob", "eve"):
        assert np.array_equal(policies.score(table, task), plain.score(table, task))


@sharing
@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_who_does_not_receive_is_the_only_task(setting, policies, kind, form, soon_hashed):
    events = make_events(setting.target, kind, form, seed=73)
    scores = policies.learn(events.stream())
    for task in (7, ("team", 1)):
        at, own = some(events, lambda name, task=task: name == task)
        alone = setting.model()
        assert np.array_equal(scores[at], alone.learn(own.stream()))
        tasks = [task] * len(at)
        assert np.array_equal(policies.score(own.table(), tasks), alone.score(own.table(), tasks))
        assert policies.tally[task] == alone.tally[task]


@sharing
@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_cuts_and_files_do_not_show(setting, policies, kind, form, soon_hashed):
    events, rng = make_events(setting.target, kind, form, seed=74), np.random.default_rng(75)
    scores = policies.learn(events.stream())
    for _ in range(2):
        edges = random_edges(rng, events.n_rounds)
        model, found = with_policies(setting), []
        for piece in events.cut(edges):
            found.append(model.learn(piece.stream()))
            model = Model.from_bytes(model.to_bytes())
        assert np.array_equal(np.concatenate(found), scores)
        assert model.to_bytes() == policies.to_bytes()
        assert {task: tuple(policy) for task, policy in model.policies().items()} == APART


@sharing
def test_single_events(setting, policies):
    events = make_events(setting.target, "single", "named", seed=76)
    scores, table = policies.learn(events.stream()), events.table()
    model = with_policies(setting)
    for x, y, task, score in zip(table, events.labels, events.tasks, scores, strict=True):
        if setting.traits.reads_unknown:  # others drop features that are new, which changes the order of a sum
            assert model.predict_one(x, task) == score
        elif task in APART:
            assert model.predict_one(x, task) == pytest.approx(score, rel=1e-12, abs=1e-14)
        assert model.learn_one(x, y, task) == score
    assert model.to_bytes() == policies.to_bytes()


@sharing
def test_traces(setting, policies):
    events = make_events(setting.target, "rounds", "dense", seed=77)
    stream = events.stream()
    trace = np.full((len(stream), len(setting.traits.trace)), np.nan)
    assert np.array_equal(policies.learn(stream, trace=trace), with_policies(setting).learn(stream))
    assert np.all(np.isfinite(trace))
    at, own = some(events, lambda task: task == 7)
    alone = np.zeros((len(at), trace.shape[1]))
    setting.model().learn(own.stream(), trace=alone)
    assert np.array_equal(trace[at], alone)
