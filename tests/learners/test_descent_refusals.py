"""What the learners of multitask mirror descent refuse, and that they say what is allowed."""

import math
import re

import numpy as np
import pytest

import weft

pytestmark = pytest.mark.xdist_group("mt-refusals")

NAMES = ("mt-ogd", "mt-pnorm", "mt-eg", "mt-ftrl", "hedge-mt-ogd", "hedge-mt-eg")
EDGE = [("ann", "bob")]
MATRIX = {"matrix": [[2.0, 1.0], [1.0, 2.0]], "tasks": ["ann", "bob"]}  # A^-1/2 has a negative entry


def numbers():
    """Every parameter that is a number, with numbers out of its range."""
    for entry in weft.catalogue():
        if entry.name in NAMES:
            for parameter in entry.parameters:
                if "finite number" in parameter.allowed:
                    yield entry.name, parameter


def bad_values(allowed):
    values = [math.nan, -math.inf, -0.5, True, [1.0], "1"]
    if "or inf" not in allowed:
        values.append(math.inf)
    if "> 0" in allowed or "> 1" in allowed:
        values.append(0.0)
    if "> 1" in allowed:
        values.append(1.0)
    if "<= 1" in allowed:
        values += [1.0 + 1e-9, 2.0]
    if "<= 2" in allowed:
        values.append(2.5)
    if "None" not in allowed:
        values.append(None)
    return values


@pytest.mark.parametrize(("name", "parameter"), list(numbers()), ids=lambda part: getattr(part, "name", part))
def test_numbers_out_of_range(name, parameter):
    for value in bad_values(parameter.allowed):
        with pytest.raises(ValueError) as refusal:
            weft.Model(name, **{parameter.name: value})
        assert f"{name}: {parameter.name}={value!r} must be {parameter.allowed}" in str(refusal.value)


def test_every_parameter_of_the_paper_is_among_the_numbers():
    found = {(name, parameter.name) for name, parameter in numbers()}
    assert {("mt-ogd", each) for each in ("b", "eta", "D", "L", "sigma", "T", "radius")} <= found
    assert {("mt-pnorm", "p"), ("mt-eg", "sigma"), ("mt-ftrl", "eta0"), ("hedge-mt-ogd", "eta_h")} <= found


THEORY = {"D": 1.0, "L": 2.0, "sigma": 0.3, "T": 50.0}
REFUSED = {
    # words
    "loss": ("mt-ogd", {"loss": "log"}, 'loss=\'log\' must be one of "logistic", "hinge", "square", "absolute"'),
    "rule": ("mt-ogd", {"rule": "worst"}, 'rule=\'worst\' must be one of "paper", "best"'),
    "projection": ("mt-ogd", {"projection": "cube"}, 'must be one of "none", "mahalanobis", "ball", "variance"'),
    "rate": ("mt-ogd", {"eta": "fast"}, "eta='fast' must be a finite number > 0 or \"adaptive\" or None"),
    "leader's rate": ("mt-ftrl", {"eta": "adaptive"}, 'must be a finite number > 0 or "sqrt"'),
    "regularizer": ("mt-ftrl", {"regularizer": "l1"}, 'must be one of "euclidean", "entropy"'),
    "domain": ("mt-pnorm", {"domain": "ball"}, 'must be one of "space", "simplex"'),
    "no such parameter": ("hedge-mt-ogd", {"b": 1.0}, "has no parameter 'b'; it takes variances, loss"),
    # rates
    "mt-ogd, D and L": ("mt-ogd", {"D": 1.0, "L": 1.0}, "(or give eta) needs D, L, sigma, T; missing: sigma, T"),
    "mt-ogd, T": ("mt-ogd", {"T": 9.0}, "(or give eta) needs D, L, sigma, T; missing: D, L, sigma"),
    "mt-ogd, D and a ball": ("mt-ogd", {"D": 1.0, "projection": "ball"}, "missing: L, sigma, T"),
    "mt-pnorm, D, T": ("mt-pnorm", {"D": 1.0, "T": 4.0}, "(or give eta) needs D, L, sigma, T; missing: L, sigma"),
    "adaptive": ("mt-ogd", {"eta": "adaptive"}, 'eta="adaptive" needs D, sigma; missing: D, sigma'),
    "adaptive, D": ("mt-ogd", {"eta": "adaptive", "D": 1.0}, 'eta="adaptive" needs D, sigma; missing: sigma'),
    "mt-pnorm, adaptive": ("mt-pnorm", {"eta": "adaptive", "sigma": 0.2}, "needs D, sigma; missing: D"),
    "theory on a graph": ("mt-ogd", {**THEORY, "graph": EDGE}, 'do not determine the rate; give eta or "adaptive"'),
    "mt-pnorm, graph": ("mt-pnorm", {**THEORY, "graph": EDGE}, 'do not determine the rate; give eta or "adaptive"'),
    "best without sigma": ("mt-ogd", {"rule": "best"}, 'rule="best" finds b from sigma; give sigma'),
    "best with a rate": ("mt-ogd", {"rule": "best", "eta": 0.1}, 'rule="best" finds b from sigma; give sigma'),
    # projections
    "mahalanobis": ("mt-ogd", {"eta": 0.1, "projection": "mahalanobis"}, "(or give radius) needs D, sigma"),
    "ball": ("mt-ogd", {"eta": 0.1, "projection": "ball"}, 'projection="ball" needs D; missing: D'),
    "variance": ("mt-ogd", {"eta": 0.1, "projection": "variance", "D": 1.0}, "needs D, sigma; missing: sigma"),
    "v-sigma": ("mt-ogd", {"eta": 0.1, "projection": "v-sigma", "sigma": 0.1}, "needs D, sigma; missing: D"),
    "radius": ("mt-ogd", {"eta": 0.1, "radius": 1.0}, 'radius belongs to projection="mahalanobis"'),
    "radius of balls": (
        "mt-ogd",
        {"eta": 0.1, "radius": 1.0, "D": 1.0, "projection": "ball"},
        'radius belongs to projection="mahalanobis"',
    ),
    "variance on a graph": (
        "mt-ogd",
        {"eta": 0.1, "projection": "variance", "D": 1.0, "sigma": 0.1, "graph": EDGE},
        'projection="variance" is for the clique of all tasks; a graph takes "none", "mahalanobis" or "ball"',
    ),
    "v-sigma on a graph": (
        "mt-ogd",
        {"eta": 0.1, "projection": "v-sigma", "D": 1.0, "sigma": 0.1, "graph": [["ann", "bob"]]},
        'a graph takes "none", "mahalanobis" or "ball"',
    ),
    "simplex, D": ("mt-pnorm", {"domain": "simplex", "D": 1.0}, 'domain="simplex" takes no D, no radius'),
    "simplex, radius": ("mt-pnorm", {"domain": "simplex", "radius": 1.0}, 'domain="simplex" takes no D, no radius'),
    "simplex, adaptive": ("mt-pnorm", {"domain": "simplex", "eta": "adaptive"}, 'and no eta="adaptive"'),
    # graphs
    "b and edges": ("mt-ogd", {"b": 2.0, "graph": EDGE}, "b=2 and graph are both given; b ties all tasks together"),
    "b and none": ("mt-eg", {"b": 2.0, "graph": "none"}, "b=2 and graph are both given"),
    "b and cliques": ("mt-ftrl", {"b": 0.0, "graph": [["ann"]]}, "b=0 and graph are both given"),
    "strength alone": ("mt-ogd", {"graph_strength": 2.0}, "graph_strength multiplies the Laplacian of edges, cliques"),
    "strength, complete": ("mt-pnorm", {"graph_strength": 2.0, "graph": "complete"}, "mt-pnorm: graph_strength mult"),
    "strength, none": ("mt-eg", {"graph_strength": 2.0, "graph": "none"}, "mt-eg: graph_strength multiplies"),
    "strength, matrix": ("mt-ogd", {"graph_strength": 2.0, "graph": MATRIX}, "mt-ogd: graph_strength multiplies"),
    "sigma and b": (
        "mt-eg",
        {"sigma": 0.2, "b": 1.0},
        "sigma and b are both given; either says how the tasks are tied",
    ),
    "sigma and graph": ("mt-eg", {"sigma": 0.2, "graph": EDGE}, "sigma and graph are both given; either says how"),
    "word": ("mt-ogd", {"graph": "ring"}, '\'ring\' is not a graph: a graph is "complete", "none", a list of edges'),
    "asymmetric": (
        "mt-ogd",
        {"graph": {"matrix": [[1.0, 0.2], [0.0, 1.0]], "tasks": ["ann", "bob"]}},
        "must be symmetric, but the entry of 'ann' and 'bob' is 0.2 and the entry of 'bob' and 'ann' is 0.0",
    ),
    "indefinite": (
        "mt-ogd",
        {"graph": {"matrix": [[1.0, 2.0], [2.0, 1.0]], "tasks": ["ann", "bob"]}},
        "is not positive definite: its smallest eigenvalue is -1",
    ),
    "unknown task of an edge": (
        "mt-ogd",
        {"graph": {"edges": [("ann", "eve")], "tasks": ["ann", "bob"]}},
        "names 'eve', which is not among the tasks 'ann', 'bob'",
    ),
    "negative weight": ("mt-ogd", {"graph": [("ann", "bob", -1.0)]}, "weights are finite and >= 0"),
    "task in two cliques": ("mt-ogd", {"graph": [["ann", "bob"], ["bob"]]}, "every task has one place"),
    "mt-eg, matrix": ("mt-eg", {"graph": MATRIX}, "A^-1/2 must be non-negative with unit row sums"),
    "mt-pnorm, matrix": (
        "mt-pnorm",
        {"domain": "simplex", "graph": MATRIX},
        "on the simplex A^-1/2 must be non-negative with unit row sums",
    ),
    "mt-ftrl, matrix": (
        "mt-ftrl",
        {"regularizer": "entropy", "graph": MATRIX},
        "with the entropy A^-1/2 must be non-negative with unit row sums",
    ),
    "tasks and graph": ("mt-ogd", {"graph": EDGE, "tasks": ["ann", "eve"]}, "the task 'bob', which tasks does not"),
    "fewer tasks": (
        "mt-eg",
        {"graph": EDGE, "tasks": ["ann"]},
        "the graph names the task 'bob', which tasks does not; add it, or leave tasks out",
    ),
    "number of tasks": ("mt-ogd", {"graph": EDGE, "tasks": 2}, "names the task 'ann', which tasks does not"),
    "task without a row": (
        "mt-ogd",
        {"graph": MATRIX, "tasks": [*MATRIX["tasks"], "joe"]},
        "the matrix has no row for the task 'joe'; give the matrix a row and a column for every task",
    ),
    # Hedge
    "T without L": ("hedge-mt-ogd", {"T": 9.0}, "with T the experts' rates follow theory, which needs L; give L, or"),
    "mt-eg, T without L": ("hedge-mt-eg", {"T": 9.0}, "which needs L; give L, or leave T out"),
    "no variances": ("hedge-mt-ogd", {"variances": []}, "a list of different numbers from 0 to 1: give at least one"),
    "variance above 1": ("hedge-mt-eg", {"variances": [0.2, 1.2]}, "must be a list of different numbers from 0 to 1"),
    "variance below 0": ("hedge-mt-ogd", {"variances": [-0.2]}, "must be a list of different numbers from 0 to 1"),
    "variance NaN": ("hedge-mt-ogd", {"variances": [math.nan]}, "must be a list of different numbers from 0 to 1"),
    "variance twice": ("hedge-mt-eg", {"variances": [0.2, 0.2]}, "give at least one, none twice"),
    "variances in words": ("hedge-mt-ogd", {"variances": "0.1"}, "give a list of numbers"),
    "one variance": ("hedge-mt-ogd", {"variances": 0.3}, "give a list of numbers"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_what_does_not_fit_together(case):
    name, parameters, words = REFUSED[case]
    with pytest.raises(ValueError, match=re.escape(words)):
        weft.Model(name, **parameters)


# ----------------------------------------------------------------------------------------------------------- streams


def refuses(model, words, action):
    """Nothing is learned: the model's bytes are what they were."""
    before = model.to_bytes()
    with pytest.raises(ValueError, match=re.escape(words)):
        action(model)
    assert model.to_bytes() == before


def on_graph(name, **parameters):
    model = weft.Model(name, graph=EDGE, eta=0.1, **parameters)
    model.learn(weft.Stream([{"x": 1.0, "z": 2.0}, {"x": -1.0, "z": 0.5}], [1, -1], ["ann", "bob"]))
    return model


@pytest.mark.parametrize(
    "model",
    [
        lambda: on_graph("mt-ogd"),
        lambda: on_graph("mt-ogd", projection="ball", D=0.5),
        lambda: on_graph("mt-pnorm"),
        lambda: on_graph("mt-eg"),
        lambda: on_graph("mt-ftrl"),
    ],
    ids=["mt-ogd", "ball", "mt-pnorm", "mt-eg", "mt-ftrl"],
)
def test_tasks_outside_a_named_graph(model):
    words = "does not name the task 'eve'; its tasks are 'ann', 'bob'"
    rows = [{"x": 1.0}, {"new": 1.0}]
    refuses(model(), words, lambda model: model.learn(weft.Stream(rows, [1, 1], ["ann", "eve"])))
    refuses(model(), words, lambda model: model.learn_one({"x": 1.0}, 1, "eve"))


@pytest.mark.parametrize("name", NAMES)
def test_labels_of_the_wrong_kind(name):
    rows, tasks = np.eye(2), ["ann", "bob"]
    for loss in ("logistic", "hinge"):
        for label in (0.5, 2.0):
            refuses(
                weft.Model(name, loss=loss),
                f"row 1: label {label:g}; classification takes two classes",
                lambda model, label=label: model.learn(weft.Stream(rows, [1, label], tasks)),
            )
        refuses(
            weft.Model(name, loss=loss),
            "classification takes two classes",
            lambda model: model.learn_one({"x": 1.0, "z": 1.0}, 3, "ann"),
        )
    for loss in ("square", "absolute", "epsilon-insensitive"):
        for label in (math.inf, math.nan):
            with pytest.raises(ValueError, match="label"):
                weft.Model(name, loss=loss).learn_one({"x": 1.0, "z": 1.0}, label, "ann")
        refuses(
            weft.Model(name, loss=loss),
            "the stream has no labels; give y",
            lambda model: model.learn(weft.Stream(rows, None, tasks)),
        )


@pytest.mark.parametrize(
    ("name", "parameters"),
    [
        ("mt-eg", {}),
        ("mt-pnorm", {"domain": "simplex"}),
        ("mt-ftrl", {"regularizer": "entropy"}),
        ("hedge-mt-eg", {}),
    ],
)
def test_a_simplex_has_two_corners(name, parameters):
    words = f"{name} spreads weight over features and needs at least 2, not 1; declare them up front with features="
    refuses(weft.Model(name, **parameters), words, lambda model: model.learn(weft.Stream([[1.0]], [1], ["ann"])))
    refuses(weft.Model(name, **parameters), words, lambda model: model.learn_one({"x": 1.0}, 1, "ann"))
    refuses(weft.Model(name, features=["x"], **parameters), words, lambda model: model.learn_one({"x": 1.0}, 1, "ann"))
    assert weft.Model(name, features=["x", "z"], **parameters).learn_one({"x": 1.0}, 1, "ann") == 0.5


def test_a_task_twice_in_a_round():
    refuses(
        weft.Model("mt-ogd"),
        "rows 0 and 1: task 'ann' appears twice in one round",
        lambda model: model.learn(weft.Stream(np.eye(2), [1, -1], ["ann", "ann"], rounds=[0, 0])),
    )
