"""What the learners on a budget refuse, that they say what is allowed, and what they take in their stride."""

import math
import re

import numpy as np
import pytest
from scipy import sparse

import weft

pytestmark = pytest.mark.xdist_group("budget")

BUDGETED = ("mtbprj", "mtbprj-2", "mtrbp", "mtforg")
NAMES = ("mt-perceptron", *BUDGETED)
EDGE = [("ann", "bob")]
PLAIN = {"name": "linear", "normalize": False}

every_learner = pytest.mark.parametrize("name", NAMES)
every_budget = pytest.mark.parametrize("name", BUDGETED)


# -------------------------------------------------------------------------------------------------------- parameters


def numbers():
    """Every parameter that is a number, with values out of its range."""
    odd = [math.nan, -math.inf, -1, True, [1.0], "many"]
    for entry in weft.catalogue():
        for parameter in entry.parameters if entry.name in NAMES else ():
            bad = {
                "B": [*odd, 0, 1.5, 0.999, "5"],
                "budget": [*odd, 0, 0.5, 10.5, math.inf, "", "0", "0 kB", "16 TB", "16M5", "MB", "1e6", "-1MB", "lots"],
                "eta": [*odd, math.inf, -1e-300, None],
                "R": [*odd, math.inf, 0.0, None],
                "seed": [*odd, 0.5, math.inf, None],
            }.get(parameter.name, ())
            for value in bad:
                yield pytest.param(entry.name, parameter, value, id=f"{entry.name}-{parameter.name}={value}")


@pytest.mark.parametrize(("name", "parameter", "value"), list(numbers()))
def test_numbers_out_of_range(name, parameter, value):
    words = f"{name}: {parameter.name}={value!r} must be {parameter.allowed}"
    with pytest.raises(ValueError, match=f"^{re.escape(words)}$"):
        weft.Model(name, **{parameter.name: value})


KERNELS = {
    "no such kernel": ("rbf", "unknown kernel 'rbf'; choose one of linear, poly, gaussian"),
    "no such kernel in a dict": ({"name": "cosine"}, "unknown kernel 'cosine'; choose one of linear, poly, gaussian"),
    "no such parameter": ({"name": "poly", "sigma": 1.0}, "unknown kernel parameter 'sigma'; allowed: ['coef0', "),
    "degree 0": ({"name": "poly", "degree": 0}, "degree=0 must be an integer from 1 to 100"),
    "degree 1.5": ({"name": "poly", "degree": 1.5}, "degree=1.5 must be an integer from 1 to 100"),
    "degree 101": ({"name": "poly", "degree": 101}, "degree=101 must be an integer from 1 to 100"),
    "gamma 0": ({"name": "gaussian", "gamma": 0}, "gamma=0 must be > 0"),
    "gamma -1": ({"name": "poly", "gamma": -1.0}, "gamma=-1.0 must be > 0"),
    "gamma inf": ({"name": "gaussian", "gamma": math.inf}, "gamma=inf must be a finite number"),
    "coef0": ({"name": "poly", "coef0": -0.5}, "coef0=-0.5 must be >= 0"),
    "normalize": ({"name": "poly", "normalize": 1}, "normalize=1 must be True or False"),
    "none at all": (None, "these learners keep rows, not weights"),
    "a number": (3, "a kernel is a name (linear, poly, gaussian), a dict"),
}


@every_learner
@pytest.mark.parametrize("case", KERNELS)
def test_kernels(case, name):
    kernel, words = KERNELS[case]
    with pytest.raises(ValueError, match=re.escape(words)) as refusal:
        weft.Model(name, kernel=kernel)
    assert str(refusal.value).startswith(f"{name}: kernel={kernel!r} must be ")


GRAPHS = {
    "word": ({"graph": "ring"}, "'ring' is not a graph"),
    "negative weight": ({"graph": [("ann", "bob", -1.0)]}, "weights are finite and >= 0"),
    "task in two cliques": ({"graph": [["ann", "bob"], ["bob"]]}, "every task has one place"),
    "indefinite": (
        {"graph": {"matrix": [[1.0, 2.0], [2.0, 1.0]], "tasks": ["ann", "bob"]}},
        "is not positive definite: its smallest eigenvalue is -1",
    ),
    "other tasks": ({"graph": EDGE, "tasks": ["ann", "eve"]}, "the graph names the task 'bob', which tasks does not"),
}


@every_learner
@pytest.mark.parametrize("case", GRAPHS)
def test_graphs(case, name):
    parameters, words = GRAPHS[case]
    with pytest.raises(ValueError, match=re.escape(words)):
        weft.Model(name, **parameters)


@every_budget
@pytest.mark.parametrize("B", [1, 200, 10**6])
def test_a_budget_is_of_rows_or_of_bytes(B, name):
    words = f"{name}: B={B:g} and budget=16000000 are both given; give one of them"
    with pytest.raises(ValueError, match=re.escape(words)):
        weft.Model(name, B=B, budget="16MB")


def test_parameters_that_others_have():
    for name, parameter in (
        ("mt-perceptron", "B"),
        ("mt-perceptron", "budget"),
        ("mtrbp", "eta"),
        ("mtbprj", "seed"),
        ("mtforg", "seed"),
        ("mtbprj-2", "R"),
    ):
        with pytest.raises(ValueError, match=f"{name} has no parameter '{parameter}'; it takes kernel, graph"):
            weft.Model(name, **{parameter: 1})


SIZES = {"16MB": 16_000_000, "16 mb": 16_000_000, "1.5 GiB": 3 << 29, "2k": 2000, "2KiB": 2048, "77 B": 77, "77": 77}


@every_budget
def test_sizes(name):
    for text, size in SIZES.items():
        learner = weft.Model(name, budget=text).learner
        assert (learner.budget, learner.B) == (size, math.inf)
    assert weft.Model(name, budget=512.0).learner.budget == 512
    assert weft.Model(name).learner.B == 200
    assert math.isinf(weft.Model(name, budget=None, B="inf").learner.B)


# ----------------------------------------------------------------------------------------------------------- streams


def refuses(model, words, action):
    """Nothing is learned: the model's bytes are what they were."""
    before = model.to_bytes()
    with pytest.raises(ValueError, match=re.escape(words)):
        action(model)
    assert model.to_bytes() == before


def taught(name, **parameters):
    model = weft.Model(name, **parameters)
    model.learn(weft.Stream([{"x": 1.0, "z": 2.0}, {"x": -1.0, "z": 0.5}], [1, -1], ["ann", "bob"]))
    assert model.support()
    return model


@every_learner
@pytest.mark.parametrize("graph", [EDGE, [["ann", "bob"]]], ids=["edges", "cliques"])
def test_tasks_outside_a_named_graph(graph, name):
    model = taught(name, graph=graph)
    words = f"the graph of {name} does not name the task 'eve'; its tasks are 'ann', 'bob'"
    rows = [{"x": 1.0}, {"new": 1.0}]
    refuses(model, words, lambda model: model.learn(weft.Stream(rows, [1, 1], ["ann", "eve"])))
    refuses(model, words, lambda model: model.learn_one({"x": 1.0}, 1, "eve"))


@every_learner
def test_labels_other_than_minus_and_plus_one(name):
    model, rows, tasks = taught(name), np.eye(2), ["ann", "bob"]
    for label in (0.5, 2.0, 0.0):
        words = f"row 1: label {label:g}; classification takes two classes"
        refuses(model, words, lambda model, label=label: model.learn(weft.Stream(rows, [1, label], tasks)))
    for label in (3, 0, 0.5):
        words = f"label {label!r}; classification takes two classes"
        refuses(model, words, lambda model, label=label: model.learn_one({"x": 1.0}, label, "ann"))
    refuses(model, "label None is not a number", lambda model: model.learn_one({"x": 1.0}, None, "ann"))
    refuses(model, "the stream has no labels", lambda model: model.learn(weft.Stream(rows, None, tasks)))


@every_learner
def test_there_are_no_weights_but_rows(name):
    model = taught(name)
    for action in (lambda: model.weights(), lambda: model.explain({"x": 1.0}, "ann")):
        with pytest.raises(ValueError, match=rf"{name} keeps rows, and has no weight.*; see model.support\(\)"):
            action()
    for other in ("pa", "mt-ogd"):
        with pytest.raises(ValueError, match=rf"{other} keeps no rows; see model.weights\(\)"):
            weft.Model(other).support()
        with pytest.raises(ValueError, match=rf"{other} counts no rows; see model.weights\(\)"):
            weft.Model(other).usage()


# ----------------------------------------------------------------------------------------------- taken in their stride


@every_learner
@pytest.mark.parametrize(
    "kernel", ["linear", PLAIN, {"name": "poly", "coef0": 0.0}, {"name": "poly", "coef0": 0.0, "normalize": False}]
)
def test_zero_rows_never_enter(kernel, name):
    """K'(x, x) = 0: the score is 0 whatever was learned, which is a mistake, and there is nothing to learn from it."""
    model = weft.Model(name, kernel=kernel, **({"R": 9.0} if name == "mtforg" else {}))
    assert model.learn_one([], 1, "ann") == 0.0
    assert model.learn_one([0.0, 0.0], -1, "bob") == 0.0
    assert model.usage()[:3] == (pytest.approx([0, 0]), model.usage().most_rows, 0)
    assert model.usage().mistakes == 0
    model.learn(weft.Stream(np.array([[0.0, 0.0], [1.0, 2.0], [0.0, 0.0]]), [1, -1, 1], ["ann", "bob", "ann"]))
    assert [row.row for row in model.support()] == [{0: 1.0, 1: 2.0}]
    assert model.tally.total["events"] == 5


@every_learner
@pytest.mark.parametrize("kernel", ["linear", "poly", "gaussian"])
def test_more_columns_than_ever_seen(kernel, name):
    """A wider table is learned; the scores are those of a model that knew all columns from the start."""
    rng = np.random.default_rng(1)
    narrow, wide = rng.normal(size=(40, 3)), sparse.csr_array(rng.normal(size=(40, 5)))
    y, task = rng.choice([-1, 1], 40), rng.choice(["ann", "bob"], 40)
    grown, known = weft.Model(name, kernel=kernel), weft.Model(name, kernel=kernel, features=5)
    grown.learn(weft.Stream(narrow, y, task))
    known.learn(weft.Stream(np.pad(narrow, ((0, 0), (0, 2))), y, task))
    np.testing.assert_array_equal(grown.learn(weft.Stream(wide, y, task)), known.learn(weft.Stream(wide, y, task)))
    assert max(max(row.row) for row in grown.support()) == 4


@every_learner
def test_scoring_ignores_features_that_were_never_seen(name):
    """Of an unnormalised linear kernel nothing is lost; other kernels measure the length of a row, and there it is."""
    seen, strange = {"x": 1.0, "z": 0.5}, {"x": 1.0, "z": 0.5, "new": 2.0}
    for kernel, same in ((PLAIN, True), ("linear", False), ("poly", False), ("gaussian", False)):
        model = taught(name, kernel=kernel, tasks=["ann", "bob"], **({"R": 3.0} if name == "mtforg" else {}))
        before = model.predict_one(seen, "ann")
        assert model.predict_one(strange, "ann") == before
        assert model.score([strange], ["ann"])[0] == before
        assert (model.learn_one(strange, 1, "ann") == pytest.approx(before, rel=1e-12)) == same
