"""Every mistake bound of the learners on a budget holds: all graphs and kernels, random and hostile streams."""

import math

import numpy as np
import pytest

import weft
from evaluation.budget_runs import KINDS, D, N, against, comparators, make_rows
from weft.evaluation import (
    KernelComparator,
    budget_cost,
    largest_radius,
    mtforg_theorem2,
    mtrbp_sharper,
    mtrbp_theorem1,
    mtrbp_tight,
    record_budget,
)
from weft.geometry.task_kernel import multitask_gram

pytestmark = pytest.mark.xdist_group("budget-bounds")

if "mtrbp" not in {entry.name for entry in weft.catalogue()}:
    pytest.skip("the learners on a budget are not in the catalogue", allow_module_level=True)

LEARNERS = ("mt-perceptron", "mtbprj", "mtbprj-2", "mtrbp", "mtforg")
GRAPHS = {
    "complete": "complete",
    "none": "none",
    "cliques": [[2, 0], [1, 3]],
    "edges": {"edges": [[0, 1], [1, 2, 2.0]], "tasks": [3, 1, 0, 2]},
}
KERNELS = {
    "linear": {"name": "linear", "normalize": False},
    "poly": {"name": "poly", "degree": 2, "normalize": True},
    "gaussian": {"name": "gaussian", "gamma": 0.5},
}
PAIRS = [
    ("complete", "linear"),
    ("complete", "gaussian"),
    ("none", "poly"),
    ("cliques", "linear"),
    ("cliques", "gaussian"),
    ("edges", "linear"),
    ("edges", "poly"),
]


def fresh(name, graph="complete", kernel="linear", **letters):
    tasks = {"tasks": N} if graph in ("complete", "none") else {}
    return weft.Model(name, graph=GRAPHS[graph], kernel=KERNELS[kernel], features=D, **tasks, **letters)


def in_order(run_model, W):
    """The rows of W, whose tasks are 0, 1, ..., in the order of the model's tasks."""
    return W[np.array(run_model.tasks)]


# --- the record ---


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", LEARNERS)
def test_a_record_of_every_learner(name, graph):
    X, y, task, _ = make_rows("noisy", 0, 120)
    model = fresh(name, graph, "gaussian", **({} if name == "mt-perceptron" else {"B": 10}))
    run = record_budget(model, weft.Stream(X, y, task))
    np.testing.assert_allclose(run.A.dense(), model.relations(), atol=1e-12)
    np.testing.assert_array_equal(run.X.toarray(), X)
    assert [model.tasks[slot] for slot in run.task] == task.tolist()
    np.testing.assert_array_equal(run.mistake, run.erred)  # rounds of one row
    cost = budget_cost(run)
    assert cost.kept.max() <= (math.inf if name == "mt-perceptron" else 10)
    assert (np.diff(cost.evictions, prepend=0.0) <= run.erred).all()
    assert ((run.damage == 0) | (run.evicted > 0)).all()
    assert cost.evictions[-1] == (0 if name == "mt-perceptron" else pytest.approx(run.evicted.sum()))


@pytest.mark.parametrize("name", ["mtrbp", "mtforg"])
def test_in_a_round_the_mistake_is_that_of_the_update(name):
    """Two equal rows of one round: both are scored with the empty function, and the first corrects the second."""
    X, y, task = np.ones((2, 1)), np.array([1.0, 1.0]), np.array([0, 1])
    model = weft.Model(name, graph="complete", kernel={"name": "linear", "normalize": False}, B=10, tasks=2)
    run = record_budget(model, weft.Stream(X, y, task, rounds=[0, 0]))
    assert run.mistake.tolist() == [True, True]
    assert run.erred.tolist() == [True, False]


def test_undeclared_tasks_used_models_and_other_learners_are_refused():
    X, y, task, _ = make_rows("noisy", 0, 20)
    stream = weft.Stream(X, y, task)
    model = weft.Model("mtrbp", graph="complete", tasks=[0, 1, 2])
    with pytest.raises(ValueError, match="brings 3, which was not declared; give tasks="):
        record_budget(model, stream)
    assert model.tally.total["events"] == 0
    model = fresh("mtrbp")
    record_budget(model, stream)
    with pytest.raises(ValueError, match="fresh model"):
        record_budget(model, stream)
    with pytest.raises(ValueError, match="pa has other guarantees or none"):
        record_budget(weft.Model("pa"), stream)


# --- Theorem 1 ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("graph", "kernel"), PAIRS)
def test_the_randomised_perceptron(kind, graph, kernel):
    X, y, task, W = make_rows(kind, 1, 120)
    stream = weft.Stream(X, y, task)
    models = [fresh("mtrbp", graph, kernel, B=8, seed=seed) for seed in range(20)]
    runs = [record_budget(model, stream) for model in models]
    if kind != "separable":
        assert all(run.evicted.sum() > 0 for run in runs)
    truth = None if W is None or kernel != "linear" else KernelComparator(in_order(models[0], W))
    for g in comparators(runs[0], truth):
        for eps in (0.1, 0.5, 0.95):
            scaled = g.scaled_to(runs[0], largest_radius(runs[0], eps))
            for bound in (mtrbp_theorem1, mtrbp_sharper, mtrbp_tight):
                assert bound(runs, scaled).holds
        assert mtrbp_tight(runs, g.scaled_to(runs[0], largest_radius(runs[0], 1.5))).holds


def test_a_shifting_truth():
    """The labels turn over in the middle, and so does the comparator."""
    X, y, task, W = make_rows("separable", 2, 400)
    y[200:] *= -1
    models = [fresh("mtrbp", B=20, seed=seed) for seed in range(20)]
    runs = [record_budget(model, weft.Stream(X, y, task)) for model in models]
    for eps in (0.2, 0.5, 0.8):
        g = KernelComparator(W).scaled_to(runs[0], largest_radius(runs[0], eps))
        turned = KernelComparator(-g.coefficients)
        moved = mtrbp_theorem1(runs, [(g, 0), (turned, 200)])
        assert moved.holds
        assert moved.right < mtrbp_theorem1(runs, g).right
        fixed = mtrbp_theorem1(runs[:1], [(g, 0)])
        assert fixed.right == pytest.approx(mtrbp_theorem1(runs[:1], g).right)


@pytest.mark.parametrize("name", ["mtrbp", "mtforg"])
def test_a_budget_of_bytes_has_no_number_of_rows(name):
    """The theorems are about B rows; how many the bytes hold depends on the rows that come."""
    X, y, task, W = make_rows("noisy", 1, 60)
    run = record_budget(fresh(name, budget=2000), weft.Stream(X, y, task))
    assert run.evicted.sum() > 0
    with pytest.raises(ValueError, match="no budget of rows"):
        (mtrbp_tight if name == "mtrbp" else mtforg_theorem2)(run, 0 * W)


# --- Theorem 2 ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("graph", "kernel"), PAIRS)
def test_the_forgetron(kind, graph, kernel):
    X, y, task, W = make_rows(kind, 3, 300)
    model = fresh("mtforg", graph, kernel, B=83, R=1.0)
    run = record_budget(model, weft.Stream(X, y, task))
    truth = None if W is None or kernel != "linear" else KernelComparator(in_order(model, W))
    for g in comparators(run, truth):
        for share in (0.3, 1.0):
            assert mtforg_theorem2(run, g.scaled_to(run, share * largest_radius(run))).holds


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_forgetron_against_an_adversary(graph):
    """Every label is the one that it does not expect: all rows are mistakes, and no comparator is much better."""
    X, _, task, _ = make_rows("noise", 4, 300)
    y = against(fresh("mtforg", graph, B=83, R=1.0), X, task)
    run = record_budget(fresh("mtforg", graph, B=83, R=1.0), weft.Stream(X, y, task))
    assert run.erred.all()
    assert run.evicted.sum() == 300 - 83
    for g in comparators(run):
        assert mtforg_theorem2(run, g.scaled_to(run, largest_radius(run))).holds


def test_a_longer_row_than_the_forgetron_was_told_of():
    X, y, task, W = make_rows("separable", 5, 100)
    with pytest.warns(UserWarning, match="exceeds R"):
        run = record_budget(fresh("mtforg", B=90, R=0.5), weft.Stream(X, y, task))
    with pytest.raises(ValueError, match=r"a row with 1 where R = 0\.5"):
        mtforg_theorem2(run, 0 * W)


# --- what the budget costs ---


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_damage_of_a_random_eviction_is_the_length_of_the_row(graph):
    """mtrbp drops y phi, whose length is sqrt((A^-1)_ii K'(x, x))."""
    X, y, task, _ = make_rows("noise", 6, 150)
    run = record_budget(fresh("mtrbp", graph, B=9), weft.Stream(X, y, task))
    lengths = np.sqrt(np.diagonal(multitask_gram(run.kernel, run.A, run.X, run.task)))
    dropped = run.damage[run.evicted > 0]
    assert len(dropped) == run.erred.sum() - 9
    assert all(np.isclose(lengths, found, rtol=1e-9).any() for found in dropped)
    assert budget_cost(run).damage[-1] == pytest.approx(dropped.sum())
