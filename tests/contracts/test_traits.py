"""Traits tell the truth: what a learner says of itself is what it does, where that can be seen."""

import math

import numpy as np
import pytest
from scipy import sparse

import weft
from contracts.settings import NAMES, SETTINGS
from contracts.streams import make_events
from weft.learner import PARTS, Hooks, Learner, Traits, missing_parts

SOMEBODY = "somebody"
"""A task that no event has."""


def learned(setting, seed=91, **more):
    model = setting.model(**more)
    model.learn(make_events(setting.target, "rounds", "dense", seed).stream())
    return model


def models_of(setting, model):
    """What learning changes, as something that can be compared."""
    if setting.keeps_rows:
        return [row._replace(age=0) for row in model.support()]
    return model.weights().tolist()


def label(setting, score):
    """One that costs nothing: the score itself, or its sign."""
    if setting.target == "point":
        return None
    return score if setting.target == "real" else 1.0 if score >= 0 else -1.0


def test_parts_are_those_of_the_protocol(setting):
    asked = {name for name in vars(Learner) if not name.startswith("_")} | set(Learner.__annotations__)
    assert asked == set(PARTS)
    assert missing_parts(type(setting.learner)) == []
    assert isinstance(setting.traits, Traits)
    assert isinstance(setting.learner.hooks, Hooks)


def test_views_agree_with_traits(setting):
    views = setting.model().views
    assert ("fit" in views) == setting.refits
    assert "support" in views or not setting.keeps_rows


def test_weights_or_rows(setting):
    model = learned(setting)
    if setting.keeps_rows:
        assert model.support()
        with pytest.raises(ValueError, match=r"see model\.support"):
            model.weights()
    else:
        assert np.any(model.weights()[0]) or setting.refits
        with pytest.raises(ValueError, match="keeps no rows"):
            model.support()


def test_relations(setting):
    model = learned(setting)
    if not setting.relates:
        with pytest.raises(ValueError, match="relates every task to a shared part"):
            model.relations()
        return
    found = model.relations()
    assert found.shape == (len(model.tasks), len(model.tasks))
    if setting.traits.similarities:
        assert np.array_equal(found, found.T)
        assert np.all(np.diag(found) == 1.0)


def test_a_pooled_learner_has_one_model(setting):
    """Different tasks end in one model if and only if the learner is pooled; learners that refit aside, see `stl`."""
    if setting.keeps_rows or setting.refits:
        assert not setting.traits.pooled
        return
    W = learned(setting).weights()
    tied = setting.parameters.get("b") == math.inf  # one model for all by its parameters, not by pooling
    assert np.all(W[0] == W) == (setting.traits.pooled or tied)


def test_only_the_tasks_of_a_graph(setting):
    model = setting.model()
    y = None if setting.target == "point" else 1.0
    if setting.named:
        assert model.tasks == list(setting.traits.task_names)
        with pytest.raises(ValueError, match="does not name the task 'somebody'"):
            model.learn_one({"a": 1.0}, y, SOMEBODY)
    else:
        model.learn_one({"a": 1.0}, y, SOMEBODY)
        assert model.tasks == [SOMEBODY]


def test_least_features(setting):
    model = weft.Model(setting.name, **setting.parameters)
    y = None if setting.target == "point" else 1.0
    if setting.traits.least_features:
        with pytest.raises(ValueError, match=f"needs at least {setting.traits.least_features}"):
            model.learn_one({"a": 1.0}, y, "ann")
    else:
        model.learn_one({"a": 1.0}, y, "ann")
        assert model.features == ["a"]


def test_unknown_features(setting):
    model = learned(setting)
    X = make_events(setting.target, "rounds", "dense", seed=92).table()[:, : len(model.features)]
    wide = sparse.csr_array(np.hstack([X, np.full((len(X), 2), 5.0)]))
    same = np.array_equal(model.score(wide, "ann"), model.score(X, "ann"))
    assert same != setting.traits.reads_unknown


def test_refitting_every_so_many_events(setting):
    model = setting.model()
    if not setting.refits:
        return
    every = setting.traits.refit_every
    for i in range(every - 1):
        model.learn_one({"a": float(i % 5) - 2.0}, 1.0 if i % 5 > 2 else -1.0, NAMES[i % 3])
    assert not np.any(model.weights())
    model.learn_one({"a": 2.0}, 1.0, NAMES[0])
    assert np.any(model.weights())


# --- what moves ------------------------------------------------------------------------------------------------


def test_who_is_not_conservative_moves_without_loss(setting):
    """Rounds of labels that agree with the scores by a wide margin change the models somewhere."""
    if setting.traits.conservative:
        return  # test_tasks holds them to it
    model = learned(setting)
    before, names = models_of(setting, model), list(model.tasks)
    X = make_events(setting.target, "rounds", "dense", seed=93).table()
    for x in [*X[:40], *(30.0 * X[:40])]:
        scores = model.score(np.repeat(x[None], len(names), 0), names)
        calm = np.flatnonzero((np.abs(scores) >= 1) | (setting.target == "real")).tolist()
        if not calm:
            continue
        kept, y = [names[i] for i in calm], [label(setting, float(scores[i])) for i in calm]
        model.learn(weft.Stream(np.repeat(x[None], len(kept), 0), y, kept, rounds=[0] * len(kept)))
        if not setting.refits and models_of(setting, model) != before:
            break
    assert models_of(setting, model) != before


def test_who_is_not_driven_by_mistakes_moves_within_the_margin(setting):
    """A right sign by less than the margin changes the models somewhere."""
    if setting.target != "binary" or setting.traits.mistake_driven or setting.refits:
        return  # test_tasks holds those that are to it, and who refits learns from every row
    model = learned(setting)
    before, moved = models_of(setting, model), False
    for x in make_events(setting.target, "rounds", "dense", seed=94).table()[:60]:
        score = model.score([x], [NAMES[0]])[0]
        if 0.0 < abs(score) < 1.0:
            model.learn_one(x, label(setting, score), NAMES[0])
            moved = moved or models_of(setting, model) != before
    assert moved


def with_one_more(setting):
    """The scores of a stream, learned without and with a further task that never has an event."""
    events = make_events(setting.target, "rounds", "dense", seed=95)
    one, other = setting.model(tasks=NAMES), setting.model(tasks=[*NAMES, SOMEBODY])
    one.learn(events.stream())
    other.learn(events.stream())
    tasks = list(events.tasks)
    return one.score(events.table(), tasks), other.score(events.table(), tasks)


def test_who_does_not_count_tasks_is_not_moved_by_one_more(setting):
    if setting.counts_tasks or setting.named:
        return  # see below; and the tasks of a graph are all there can be
    one, other = with_one_more(setting)
    assert setting.close(one, other) if setting.sums_over_tasks else np.array_equal(one, other)


COUNTING = sorted({s.name for s in SETTINGS if s.counts_tasks and not s.named})


@pytest.mark.parametrize("name", COUNTING)
def test_who_counts_tasks_is_moved_by_one_more(name):
    """In one of its settings at least: with b = 0, say, tasks are independent however many there are."""
    scores = [with_one_more(s) for s in SETTINGS if s.name == name and s.counts_tasks and not s.named]
    assert any(not np.array_equal(one, other) for one, other in scores)


PROJECTING = sorted({s.name for s in SETTINGS if s.traits.projects and not s.named})


def newcomer_moves(setting):
    """Does the first event of a new task find other models than its score said?"""
    model = learned(setting, tasks=NAMES)
    rows = make_events(setting.target, "rounds", "dense", seed=96).table()
    before = model.score(rows, NAMES[0])
    model.learn_one(np.zeros(rows.shape[1]), label(setting, 0.0), SOMEBODY)
    return not np.allclose(model.score(rows, NAMES[0]), before, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("name", PROJECTING)
def test_who_projects_moves_others_when_a_task_comes(name):
    """In one of its settings at least: a ball that is large enough holds all models anyway."""
    assert any(newcomer_moves(s) for s in SETTINGS if s.name == name and s.traits.projects and not s.named)
