"""What a learner on a budget says that it keeps, against its rows and the record of its run."""

import math

import numpy as np
import pytest
from scipy import sparse

import weft
from learners.budget_runs import GRAPHS, NAMES, ORACLES, Base, N, dense_events, learn_beside, text_events
from weft.evaluation import budget_cost, record_budget

pytestmark = pytest.mark.xdist_group("budget")

BUDGETED = ("mtbprj", "mtbprj-2", "mtrbp", "mtforg")
LEARNERS = ("mt-perceptron", *BUDGETED)
GAUSSIAN = {"name": "gaussian", "gamma": 0.1}


def make(name, graph, kernel=GAUSSIAN, **parameters):
    theirs = GRAPHS[graph][0]
    return weft.Model(name, kernel=kernel, graph=theirs, tasks=NAMES if isinstance(theirs, str) else None, **parameters)


def counted_bytes(model):
    """16 a non-zero, 56 a row, 16 a pair of rows of the Projectrons, and 8 a task with weights and row of the second.

    All tasks have erred in these streams.
    """
    rows, name = model.support(), model.learner.name
    total = sum(16 * len(row.row) + 56 for row in rows)
    if name.startswith("mtbprj"):
        total += 16 * len(rows) ** 2
    if name == "mtbprj-2":
        total += 8 * N * len(rows)
    return total


@pytest.mark.parametrize("name", LEARNERS)
@pytest.mark.parametrize("graph", ["complete", "none", "cliques", "path"])
def test_usage_is_that_of_the_rows_and_of_the_run(graph, name):
    parameters = {} if name == "mt-perceptron" else {"B": 9}
    model, events = make(name, graph, **parameters), dense_events(30, T=300)
    run = record_budget(model, events.stream(NAMES))
    found, rows, cost = model.usage(), model.support(), budget_cost(run)
    assert dict(zip(model.tasks, found.kept, strict=True)) == {
        task: sum(row.task == task for row in rows) for task in model.tasks
    }
    assert found.rows == len(rows) == run.kept[-1]
    assert (found.most_rows, found.most_bytes) == (parameters.get("B", math.inf), math.inf)
    assert found.bytes == counted_bytes(model)
    assert found.mistakes == run.erred.sum()
    assert found.evictions == cost.evictions[-1]
    assert found.damage == pytest.approx(cost.damage[-1], rel=1e-12)
    assert found.oldest == rows[0].age == max(row.age for row in rows)
    assert found.too_large == 0
    if name == "mt-perceptron":
        assert math.isnan(found.mean_damage)
    else:
        assert found.mean_damage == pytest.approx(found.damage / found.evictions)
        assert found.evictions > 30


@pytest.mark.parametrize("name", BUDGETED)
@pytest.mark.parametrize("graph", ["complete", "cliques", "path"])
def test_a_budget_of_bytes_is_kept(graph, name):
    model, events = make(name, graph, "linear", budget="4kB"), text_events(31, T=400)
    assert model.usage().rows == 0
    assert model.usage().oldest is None
    for first in range(0, 400, 40):
        model.learn(events.part(first, first + 40)[0].stream(NAMES))
        assert 0 < model.usage().bytes <= 4000
    found = model.usage()
    assert found.bytes == counted_bytes(model) > 3000
    assert (found.most_rows, found.most_bytes) == (math.inf, 4000)
    assert found.evictions > 20
    assert found.too_large == 0


@pytest.mark.parametrize("name", ["mtbprj", "mtbprj-2"])
@pytest.mark.parametrize("graph", ["complete", "cliques", "path"])
def test_a_long_row_evicts_several(graph, name):
    """A budget of bytes against the oracle, which makes room until what it holds is small enough."""
    model, events = make(name, graph, "linear", budget="4kB"), text_events(31, T=150, words=6)
    X = events.X.toarray()
    X[::5] = text_events(32, T=30, words=80).X.toarray()
    events = events._replace(X=sparse.csr_array(X))
    oracle = ORACLES[name](Base("linear"), GRAPHS[graph][1], N, B=math.inf)
    erred, step = set(), oracle.mistake

    def mistake(t):
        erred.add(t.task)
        step(t)

    def is_over():
        movers = 0 if name == "mtbprj" else N if graph == "path" else len(erred)
        size, rows = sum(16 * np.count_nonzero(item.row) + 56 for item in oracle.S), len(oracle.S)
        return size + 16 * rows**2 + 8 * movers * rows > 4000

    oracle.mistake, oracle.is_over = mistake, is_over
    learn_beside(model, oracle, events)
    times = [eviction.time for eviction in oracle.evictions]
    assert len(times) > len(set(times)) + 2


@pytest.mark.parametrize("name", BUDGETED)
def test_rows_larger_than_the_whole_budget(name):
    """They are mistakes that teach nothing, and do not drive out what is there."""
    model = weft.Model(name, budget=200, tasks=["ann"])
    model.learn_one({"x": 1.0}, 1, "ann")
    kept = model.support()[0].row
    for value in range(1, 4):
        model.learn_one({f"w{i}": float(i + value) for i in range(20)}, -1, "ann")
    found = model.usage()
    assert (found.rows, found.mistakes, found.too_large, found.evictions) == (1, 4, 3, 0)
    assert model.support()[0].row == kept


@pytest.mark.parametrize("name", LEARNERS)
def test_usage_is_part_of_a_file(name):
    parameters = {} if name == "mt-perceptron" else {"B": 7}
    model = make(name, "complete", **parameters)
    model.learn(dense_events(32, T=200).stream(NAMES))
    found, again = model.usage(), weft.Model.from_bytes(model.to_bytes()).usage()
    np.testing.assert_array_equal(found.kept, again.kept)
    assert found[1:] == again[1:]


@pytest.mark.parametrize("width", range(4, 20))
def test_rows_with_gaps_of_every_width(width):
    """Kept rows are read as blocks if they lack no feature; four features over any width are not such a row."""
    rng = np.random.default_rng(width)
    X = np.zeros((2, 20))
    X[0, :4], X[1, [0, 1, 2, width]] = rng.normal(size=(2, 4)) + 2.0
    model = weft.Model("mt-perceptron", kernel={"name": "linear", "normalize": False}, graph="none", features=20)
    model.learn(weft.Stream(X, [1, -1], [0, 0]))
    kept = [row.coefficient for row in model.support()]
    assert len(kept) == 2
    x = rng.normal(size=(1, 20))
    np.testing.assert_allclose(model.score(x, [0]), [kept @ (X @ x[0])], rtol=1e-12)


def test_relations_are_those_of_the_graph():
    model = weft.Model("mt-perceptron")
    assert model.relations().shape == (0, 0)
    model.learn(weft.Stream(np.eye(3), [1, -1, 1], ["a", "b", "c"]))
    np.testing.assert_allclose(model.relations(), (np.eye(3) + 1.0) / 4.0, rtol=1e-12)
