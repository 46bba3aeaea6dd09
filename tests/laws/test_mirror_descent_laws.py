"""Laws of multitask mirror descent: learners at the limits of their parameters, and special cases of one another."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from learners.descent_runs import deviation, learn, make_events
from oracles.mirror_descent_trial import table_of_variances

pytestmark = pytest.mark.xdist_group("mt-laws")

N, D = 4, 5
seeds, losses = st.integers(0, 2**32 - 1), st.sampled_from(["logistic", "hinge", "square", "absolute"])
rates = st.sampled_from([0.02, 0.1, 0.3])
law = settings(deadline=None, max_examples=15)


def events_of(seed, loss, together=False):
    return make_events(seed, loss, together=together, N=N, d=D, T=25, length=2.0)


def same(first, second, tolerance=1e-12):
    """Scores and models, tasks by name."""
    order = [second.model.tasks.index(name) for name in first.model.tasks]
    assert deviation(first.scores, second.scores) <= tolerance
    assert deviation(first.model.weights(), second.model.weights()[order]) <= tolerance


# --------------------------------------------------------------------------------------- independent and pooled

ALONE = {
    "mt-ogd": [{}, {"projection": "ball", "D": 0.4}],
    "mt-pnorm": [{"p": 1.5}, {"p": 1.1}, {"domain": "simplex"}],
    "mt-eg": [{}],
    "mt-ftrl": [{}, {"regularizer": "entropy"}],
}
FORMS = st.sampled_from([(name, more) for name, settings in ALONE.items() for more in settings])


@law
@given(FORMS, losses, seeds, rates, st.booleans())
def test_without_b_tasks_are_separate_learners(form, loss, seed, eta, together):
    name, more = form
    events = events_of(seed, loss, together)
    parameters = {"loss": loss, "eta": eta, "b": 0.0, **more}
    run = learn(name, events, tasks=N, **parameters)
    for i in np.unique(events.task):
        rows = np.flatnonzero(events.task == i)
        single = weft.Model(name, tasks=1, features=D, **parameters)
        alone = weft.Stream(events.X[rows], events.y[rows], np.zeros(len(rows), int), rounds=np.arange(len(rows)))
        assert deviation(run.scores[rows], single.learn(alone)) <= 1e-12
        assert deviation(run.model.weights()[i], single.weights()[0]) <= 1e-12


@law
@given(FORMS, losses, seeds, rates)
def test_with_b_inf_tasks_are_one_learner_with_an_nth_of_the_rate(form, loss, seed, eta):
    name, more = form
    events = events_of(seed, loss)
    run = learn(name, events, tasks=N, loss=loss, eta=eta, b=math.inf, **more)
    pooled = events._replace(task=np.zeros(len(events.task), int))
    one = learn(name, pooled, tasks=1, loss=loss, eta=eta / N, **more)
    assert deviation(run.scores, one.scores) <= 1e-12
    assert deviation(run.model.weights(), np.repeat(one.model.weights(), N, axis=0)) <= 1e-12


@law
@given(losses, seeds, rates)
def test_with_b_inf_the_mahalanobis_ball_is_that_of_the_one_model(loss, seed, eta):
    events = events_of(seed, loss)
    more = {"loss": loss, "projection": "mahalanobis"}
    run = learn("mt-ogd", events, tasks=N, eta=eta, b=math.inf, radius=0.3, **more)
    pooled = events._replace(task=np.zeros(len(events.task), int))
    one = learn("mt-ogd", pooled, tasks=1, eta=eta / N, radius=0.3 / math.sqrt(N), **more)
    assert deviation(run.scores, one.scores) <= 1e-12


# --------------------------------------------------------------------------------------------------- special cases


@law
@given(losses, seeds, rates, st.sampled_from([None, 0.0, 2.0, math.inf]), st.booleans())
def test_the_p_norm_of_two_is_gradient_descent(loss, seed, eta, b, together):
    events = events_of(seed, loss, together)
    for squared, plain in (
        ({"eta": eta}, {"eta": eta}),
        ({"eta": eta, "radius": 0.4}, {"eta": eta, "projection": "mahalanobis", "radius": 0.4}),
        ({}, {}),
        # Prop. 5 bounds |u|^2 for any norm, which costs a factor of 2 under the root
        ({"D": 1.0, "L": 3.0, "sigma": 0.5, "T": 50.0}, {"D": 1.0, "L": 3.0, "sigma": 0.5, "T": 25.0}),
    ):
        first = learn("mt-pnorm", events, tasks=N, loss=loss, p=2.0, b=b, **squared)
        second = learn("mt-ogd", events, tasks=N, loss=loss, b=b, **plain)
        same(first, second, 1e-11)


@law
@given(losses, seeds, rates, st.sampled_from([None, 0.0, 2.0, math.inf]), st.booleans())
def test_the_leader_with_a_constant_rate_is_mirror_descent(loss, seed, eta, b, together):
    events = events_of(seed, loss, together)
    more = {"tasks": N, "loss": loss, "eta": eta}
    same(learn("mt-ftrl", events, b=b, **more), learn("mt-ogd", events, b=b, **more))
    strength = float(N) if b is None else b  # mt-eg has another b where none is given
    same(learn("mt-ftrl", events, b=b, regularizer="entropy", **more), learn("mt-eg", events, b=strength, **more))


@pytest.mark.parametrize("graph", [[(0, 1), (1, 2, 2.0)], [[0, 2], [1]]])
def test_the_leader_with_a_constant_rate_is_mirror_descent_on_graphs(graph):
    events = make_events(1, "square", N=3, d=D, T=40, together=True)
    more = {"graph": graph, "loss": "square", "eta": 0.05}
    same(learn("mt-ftrl", events, **more), learn("mt-ogd", events, **more))
    same(learn("mt-ftrl", events, regularizer="entropy", **more), learn("mt-eg", events, **more))


# ------------------------------------------------------------------------------------------------- forms of a graph

PARAMETERS = {
    "mt-ogd": [
        {"eta": 0.1},
        {"eta": 0.1, "projection": "mahalanobis", "radius": 0.4},
        {"eta": "adaptive", "D": 0.4, "sigma": 0.3},
        {"eta": 0.1, "projection": "ball", "D": 0.4},
    ],
    "mt-pnorm": [{"eta": 0.1, "p": 1.5}, {"eta": 0.1, "p": 1.5, "radius": 0.4}, {"eta": 0.3, "domain": "simplex"}],
    "mt-eg": [{"eta": 0.3}],
    "mt-ftrl": [{"eta0": 0.3}, {"eta0": 0.3, "regularizer": "entropy"}],
}
ALL = st.sampled_from([(name, more) for name, settings in PARAMETERS.items() for more in settings])
EVERYBODY = [(i, j) for i in range(N) for j in range(i)]


def tolerance(more):
    return 1e-8 if more.get("projection") == "ball" else 1e-11


@law
@given(ALL, seeds, st.booleans())
def test_the_complete_graph_in_all_its_forms_is_b_equal_to_n(form, seed, together):
    name, more = form
    events = events_of(seed, "logistic", together)
    expected = learn(name, events, tasks=N, b=float(N), **more)
    same(expected, learn(name, events, tasks=N, graph="complete", b=float(N), **more), 0.0)
    same(expected, learn(name, events, graph=[list(range(N))], **more), tolerance(more))
    same(expected, learn(name, events, graph=EVERYBODY, **more), tolerance(more))
    same(expected, learn(name, events, graph=(np.ones((N, N)) - np.eye(N), list(range(N))), **more), tolerance(more))
    same(expected, learn(name, events, graph=[[*range(N)]], graph_strength=1.0, **more), tolerance(more))
    if name in ("mt-ogd", "mt-ftrl"):
        same(expected, learn(name, events, tasks=N, graph="complete", **more), 0.0)
    alone = learn(name, events, tasks=N, b=0.0, **more)
    same(alone, learn(name, events, tasks=N, graph="none", **more), 0.0)


@law
@given(ALL, seeds, st.booleans(), st.sampled_from([1.0, 0.3]))
def test_disjoint_cliques_are_the_graph_of_their_edges(form, seed, together, strength):
    name, more = form
    events = events_of(seed, "hinge", together)
    more = {"loss": "hinge", "graph_strength": strength, **more}
    cliques = learn(name, events, graph=[[0, 3, 2], [1]], **more)
    edges = learn(name, events, graph={"edges": [(0, 3), (3, 2), (2, 0)], "tasks": [0, 1, 2, 3]}, **more)
    same(cliques, edges, tolerance(more))


@law
@given(FORMS, seeds, rates, st.booleans())
def test_disjoint_cliques_are_separate_models(form, seed, eta, together):
    name, more = form
    events = events_of(seed, "square", together)
    parameters = {"loss": "square", "eta": eta, **more}
    cliques = [[2, 0, 3], [1]]
    run = learn(name, events, graph=cliques, **parameters)
    for clique in cliques:
        rows = np.flatnonzero(np.isin(events.task, clique))
        if not len(rows):
            continue
        part = weft.Model(name, tasks=clique, features=D, b=float(len(clique)), **parameters)
        stream = weft.Stream(events.X[rows], events.y[rows], events.task[rows], rounds=events.rounds[rows])
        assert deviation(run.scores[rows], part.learn(stream)) <= tolerance(more)
        order = [run.model.tasks.index(i) for i in clique]
        assert deviation(run.model.weights()[order], part.weights()) <= tolerance(more)


# ---------------------------------------------------------------------------------------------- the task variance


def test_the_gain_follows_the_task_variance():
    """Cumulative losses against independent tasks, at sigma^2 = 0.01, 0.09 and 0.25: figures of five seeds."""

    def scores(X, y, task, N, **parameters):
        model = weft.Model("mt-ogd", tasks=N, features=X.shape[1], **parameters)
        return model.learn(weft.Stream(X, y, task))

    table = table_of_variances(scores, variances=(0.01, 0.09, 0.25), seeds=3)
    for rule, expected in {"best": (0.43, 0.58, 0.84), "paper": (0.49, 0.55, 0.82)}.items():
        np.testing.assert_allclose(table[rule]["MT/IT"].mean(axis=0), expected, rtol=0, atol=0.06)
    assert np.all(table["best"]["MT/ST"].mean(axis=0) <= 1.02)
