"""Every mistake bound of the budget learners holds: all graphs and kernel functions, random and adversarial streams."""

import math

import numpy as np
import pytest

import weft
from guarantees.budget_runs import KINDS, D, N, against, comparators, make_rows
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
from weft.guarantees.task_kernel import gram

pytestmark = pytest.mark.xdist_group("budget-bounds")

BUDGETED = ("mtbprj", "mtbprj-2", "mtrbp", "mtforg")
GRAPHS = {
    "complete": "complete",
    "none": "none",
    "cliques": [[2, 0], [1, 3]],
    "edges": {"edges": [[0, 1], [1, 2, 2.0]], "tasks": [3, 1, 0, 2]},
    "matrix": {
        "matrix": [[2.0, -0.5, 0.0, 0.3], [-0.5, 1.0, 0.2, 0.0], [0.0, 0.2, 1.5, 0.0], [0.3, 0.0, 0.0, 0.8]],
        "tasks": [1, 0, 3, 2],
    },
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
    ("matrix", "gaussian"),
]


def fresh(name, graph="complete", kernel="linear", **parameters):
    tasks = {"tasks": N} if graph in ("complete", "none") else {}
    return weft.Model(name, graph=GRAPHS[graph], kernel=KERNELS[kernel], features=D, **tasks, **parameters)


def truth_of(model, kernel, W):
    """W, whose rows are those of the tasks 0, 1, ..., in the order of the model's tasks, if the kernel is linear."""
    return None if W is None or kernel != "linear" else KernelComparator(W[np.array(model.tasks)])


# --- the record ---


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", ["mt-perceptron", *BUDGETED])
def test_a_record_of_every_learner(name, graph):
    X, y, task, _ = make_rows("noisy", 0, 120)
    model = fresh(name, graph, "gaussian", **({"B": 10} if name in BUDGETED else {}))
    run = record_budget(model, weft.Stream(X, y, task))
    np.testing.assert_allclose(run.A.dense(), model.relations(), atol=1e-12)
    np.testing.assert_array_equal(run.X.toarray(), X)
    assert [model.tasks[slot] for slot in run.task] == task.tolist()
    np.testing.assert_array_equal(run.mistake, run.erred)  # rounds of one row
    cost = budget_cost(run)
    assert cost.kept[-1] == len(model.support())
    assert (run.evicted <= run.erred).all()
    assert ((run.damage == 0) == (run.evicted == 0)).all()
    if name in BUDGETED:
        assert cost.kept.max() == 10
        assert cost.evictions[-1] > 10
    else:
        np.testing.assert_array_equal(cost.kept, np.cumsum(run.erred))
        assert cost.evictions[-1] == 0


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
    with pytest.raises(ValueError, match="contains task 3, which was not declared; give all names in tasks="):
        record_budget(model, stream)
    assert model.tally.total["events"] == 0
    model = fresh("mtrbp")
    record_budget(model, stream)
    with pytest.raises(ValueError, match="new model"):
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
    for g in comparators(runs[0], truth_of(models[0], kernel, W)):
        for eps in (0.1, 0.5, 0.95):
            scaled = g.scaled_to(runs[0], largest_radius(runs[0], eps))
            for bound in (mtrbp_theorem1, mtrbp_sharper, mtrbp_tight):
                assert bound(runs, scaled).holds
        assert mtrbp_tight(runs, g.scaled_to(runs[0], largest_radius(runs[0], 1.5))).holds


def test_a_shifting_truth():
    """The labels flip in the middle, and so does the comparator."""
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


# --- Theorem 2 ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("graph", "kernel"), PAIRS)
def test_the_forgetron(kind, graph, kernel):
    X, y, task, W = make_rows(kind, 3, 300)
    model = fresh("mtforg", graph, kernel, B=83, R=1.0)
    run = record_budget(model, weft.Stream(X, y, task))
    for g in comparators(run, truth_of(model, kernel, W)):
        for share in (0.3, 1.0):
            assert mtforg_theorem2(run, g.scaled_to(run, share * largest_radius(run))).holds


@pytest.mark.parametrize("graph", GRAPHS)
def test_the_forgetron_against_an_adversary(graph):
    """Every label is the opposite of the prediction: all rows are mistakes, and no comparator is much better."""
    X, _, task, _ = make_rows("noise", 4, 300)
    y = against(fresh("mtforg", graph, B=83, R=1.0), X, task)
    run = record_budget(fresh("mtforg", graph, B=83, R=1.0), weft.Stream(X, y, task))
    assert run.erred.all()
    assert run.evicted.sum() == 300 - 83
    for g in comparators(run):
        assert mtforg_theorem2(run, g.scaled_to(run, largest_radius(run))).holds


def test_a_longer_row_than_the_forgetron_was_told_of():
    X, y, task, W = make_rows("separable", 5, 100)
    with pytest.warns(UserWarning, match=r"exceeds R=0\.5"):
        run = record_budget(fresh("mtforg", B=90, R=0.5), weft.Stream(X, y, task))
    with pytest.raises(ValueError, match=r"a row with 1 where R = 0\.5"):
        mtforg_theorem2(run, 0 * W)


# --- rounds ---


@pytest.mark.parametrize("name", ["mtrbp", "mtforg"])
def test_rounds_with_dormant_tasks_and_zero_rows(name):
    """The bounds count the mistakes of the updates; a zero row is one, with a loss of 1 whatever the comparator is."""
    rng = np.random.default_rng(7)
    X, y, _, _ = make_rows("noisy", 7, 400)
    task, rounds = np.tile(np.arange(N), 100), np.repeat(np.arange(100), N)
    X[rng.random(400) < 0.1] = 0.0
    y[rng.random(400) < 0.2] = np.nan
    stream, B = weft.Stream(X, y, task, rounds=rounds), {"mtrbp": 10, "mtforg": 83}[name]
    seeds = [{"seed": seed} for seed in range(20)] if name == "mtrbp" else [{}]
    runs = [record_budget(fresh(name, B=B, **seed), stream) for seed in seeds]
    assert any((run.mistake != run.erred).any() for run in runs)
    assert not any(run.erred[np.isnan(y)].any() for run in runs)
    zero = ~X.any(axis=1) & ~np.isnan(y)
    assert all(run.erred[zero].all() and not run.evicted[zero].any() for run in runs)
    for g in comparators(runs[0]):
        assert (g.losses(runs[0])[zero] == 1).all()
        if name == "mtforg":
            assert mtforg_theorem2(runs[0], g.scaled_to(runs[0], largest_radius(runs[0]))).holds
            continue
        for eps in (0.1, 0.6):
            scaled = g.scaled_to(runs[0], largest_radius(runs[0], eps))
            assert all(bound(runs, scaled).holds for bound in (mtrbp_theorem1, mtrbp_sharper, mtrbp_tight))


# --- what the budget costs ---


def parts_of(model, X):
    """Coefficients (tasks, rows of X): f_l = sum_r C[l, r] K'(x_r, .), from the rows that a model keeps."""
    C = np.zeros((N, len(X)))
    for kept in model.support():
        x = np.zeros(D)
        x[list(kept.row)] = list(kept.row.values())
        at = int(np.flatnonzero((x == X).all(axis=1))[0])
        share = model.relations()[:, model.tasks.index(kept.task)]
        C[:, at] += share * kept.coefficient if kept.coefficients is None else [*kept.coefficients.values()]
    return C


@pytest.mark.parametrize("graph", GRAPHS)
@pytest.mark.parametrize("name", BUDGETED)
def test_the_damage_is_the_length_of_what_an_eviction_changed(name, graph):
    """In the norm of the multitask kernel; for mtbprj-2, which ignores tasks, sum_l |change of f_l|^2."""
    X, y, task, _ = make_rows("noise", 6, 60)
    parameters = {"B": 7, **({"eta": 0.0} if name.startswith("mtbprj") else {})}
    run = record_budget(fresh(name, graph, "gaussian", **parameters), weft.Stream(X, y, task))
    model, K = fresh(name, graph, "gaussian", **parameters), gram(run.kernel, X)
    A = np.eye(N) if name == "mtbprj-2" else run.A.dense(1.0)
    for t in range(len(X)):
        before = parts_of(model, X)
        model.learn(weft.Stream(X[t : t + 1], y[t : t + 1], task[t : t + 1]))
        if not run.evicted[t]:
            assert run.damage[t] == 0
            continue
        before[:, t] += run.A.dense()[:, run.task[t]] * y[t]
        after = parts_of(model, X)
        if name == "mtforg":  # all coefficients shrink by phi first, and the row evicted then is the damage
            before *= after[run.task[t], t] / before[run.task[t], t]
        C = before - after
        assert run.damage[t] == pytest.approx(math.sqrt(max(0.0, np.sum(A * (C @ K @ C.T)))), rel=1e-6, abs=1e-9)
    assert run.evicted.sum() > 5
