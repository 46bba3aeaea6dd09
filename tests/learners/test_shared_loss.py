"""The shared-loss learners against the oracle."""

import numpy as np
import pytest
import scipy.sparse

import weft
from oracles import shared_loss as oracle
from weft.store.codec import FileError, decode, encode

ALGORITHMS = ("finite-horizon", "infinite-horizon", "implicit")
LOSSES = ("hinge", "epsilon-insensitive", "uniclass")


def close(found, expected, tolerance):
    size = max(1.0, np.abs(expected).max(initial=0.0))
    np.testing.assert_allclose(found, expected, rtol=0, atol=tolerance * size)


def learn(algorithm, X, y, task, rounds, **parameters):
    model = weft.Model(algorithm, **parameters)
    trace = np.zeros((len(task), 4))
    scores = model.learn(weft.Stream(X, y, task, rounds=rounds), trace=trace)
    return model, scores, trace


def agree(algorithm, X, y, task, rounds, **parameters):
    norm = parameters.get("norm", "l2")
    tolerance = 1e-6 if norm.startswith("k(") else 1e-9
    model, scores, trace = learn(algorithm, X, y, task, rounds, **parameters)
    expected, W, steps = oracle.run(algorithm, X, y, task, rounds, **parameters)
    close(scores, expected, tolerance)
    assert list(model.tasks) == list(dict.fromkeys(task))
    close(model.weights(), W, tolerance)
    close(trace[:, 0], steps[:, 0], tolerance)
    close(trace[:, 2], steps[:, 2], tolerance)
    used = steps[:, 3] > 0
    close(trace[used, 3], steps[used, 3], tolerance)
    # Where |v| = 0 the implicit tau is a multiplier without effect, and not unique.
    moved = steps[:, 2] > 0 if algorithm == "implicit" else used
    close(trace[moved, 1], steps[moved, 1], tolerance)
    return model


@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("norm", oracle.NORMS)
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_scores_weights_and_steps_are_those_of_the_oracle(algorithm, norm, loss):
    for seed, C in ((1, 0.3), (2, 0.05)):
        X, y, task, rounds, _ = oracle.problem(seed, rounds=15, loss=loss)
        agree(algorithm, X, y, task, rounds, norm=norm, C=C, loss=loss, epsilon=0.2)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("parameters", [{}, {"R": 4.0}, {"T": 25, "R": 4.0}, {"C": 0.2, "R": 9.0}])
def test_the_default_aggressiveness(algorithm, parameters):
    if algorithm == "infinite-horizon":
        parameters = {name: value for name, value in parameters.items() if name != "T"}
    for norm in ("l1", "l1.5", "linf", "2.5-max", "k(1,2,1.2)"):
        X, y, task, rounds, _ = oracle.problem(3, rounds=12)
        X /= max(1.0, np.sqrt((X**2).sum(axis=1)).max() / 3.9)  # no row longer than R
        agree(algorithm, X, y, task, rounds, norm=norm, **parameters)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_aggressiveness_waits_for_the_first_row_that_is_not_zero(algorithm):
    X = np.array([[0.0, 0.0], [0.0, 0.0], [0.0, 0.0], [3.0, 4.0], [1.0, 0.0], [0.0, 2.0], [1.0, 1.0]])
    y = np.array([1.0, -1.0, 1.0, 1.0, 0.0, -1.0, 1.0])
    task, rounds = ["a", "b", "a", "b", "c", "a", "b"], np.array([0, 0, 1, 1, 1, 2, 2])
    for norm in ("l1", "l2", "linf"):
        model = agree(algorithm, X, y, task, rounds, norm=norm)
        assert np.abs(model.weights()).max() > 0


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("norm", oracle.NORMS)
def test_one_task_or_one_feature(algorithm, norm):
    for tasks, features in ((1, 3), (3, 1), (1, 1)):
        X, y, task, rounds, _ = oracle.problem(5, tasks=tasks, features=features, rounds=12)
        agree(algorithm, X, y, task, rounds, norm=norm, C=0.4)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
@pytest.mark.parametrize("norm", oracle.NORMS)
def test_one_row_per_round_without_rounds(algorithm, norm):
    X, y, task, _, _ = oracle.problem(6, rounds=8, marked=0.0)
    keep = y != 0
    agree(
        algorithm,
        X[keep],
        y[keep],
        [t for t, on in zip(task, keep, strict=True) if on],
        None,
        norm=norm,
        C=0.2,
    )


@pytest.mark.parametrize("norm", ["linf", "1-max", "2-max", "2.5-max", "k(1,inf,2.5)"])
@pytest.mark.parametrize("algorithm", ["finite-horizon", "infinite-horizon"])
def test_ties_go_to_the_lowest_task(algorithm, norm):
    # Small integers and powers of two: every loss is exact, so that a tie is one in both texts.
    rng = np.random.default_rng(7)
    tasks, rounds = 5, 16
    X = np.repeat(rng.integers(-1, 2, size=(rounds, 3)), tasks, axis=0).astype(float)
    y = np.repeat(rng.choice([-1.0, 1.0], size=rounds), tasks)
    task, at = [f"task {j}" for j in range(tasks)] * rounds, np.repeat(np.arange(rounds), tasks)
    parameters = {"norm": norm, "C": 0.25} if algorithm == "finite-horizon" else {"norm": norm, "C": 2.0**-6, "R": 2.0}
    model, scores, trace = learn(algorithm, X, y, task, at, **parameters)
    expected, W, steps = oracle.run(algorithm, X, y, task, at, **parameters)
    np.testing.assert_array_equal(scores, expected)
    np.testing.assert_array_equal(model.weights(), W)
    np.testing.assert_array_equal(trace[:, 1], steps[:, 1])
    for t in range(rounds):
        l, tau = trace[t * tasks : (t + 1) * tasks, :2].T
        assert tau @ l == pytest.approx(oracle.norm_dual(norm, tau) * oracle.norm_value(norm, l), rel=1e-12)


@pytest.mark.parametrize("norm", oracle.NORMS)
def test_identical_rows_get_identical_implicit_steps(norm):
    tasks = 4
    X, y = np.tile([1.0, 2.0], (2 * tasks, 1)), np.ones(2 * tasks)
    task, rounds = list(range(tasks)) * 2, np.repeat([0, 1], tasks)
    model, _, trace = learn("implicit", X, y, task, rounds, norm=norm, C=0.05)
    close(trace[:tasks, 1], np.full(tasks, trace[0, 1]), 1e-12)
    assert trace[0, 1] > 0
    W = oracle.run("implicit", X, y, task, rounds, norm=norm, C=0.05)[1]
    close(model.weights(), W, 1e-6 if norm.startswith("k(") else 1e-9)


@pytest.mark.parametrize("norm", oracle.NORMS)
def test_a_zero_instance_holds_its_share_of_the_budget(norm):
    # Task c cannot move; under linf nobody is pushed below its loss of 1, so nobody moves.
    X = np.array([[1.0, 0.0], [0.5, 0.5], [0.0, 0.0], [0.2, 0.1], [2.0, 0.0]])
    y = np.ones(5)
    task, rounds = list("abcde"), np.zeros(5, int)
    for C in (0.05, 0.7, 3.0, 50.0):
        model = agree("implicit", X, y, task, rounds, norm=norm, C=C)
        if norm in ("linf", "1-max"):
            assert np.abs(model.weights()).max() <= 1e-12
    agree("implicit", np.zeros((3, 2)), np.ones(3), list("abc"), np.zeros(3, int), norm=norm, C=1.0)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_round_in_which_everyone_is_dormant_changes_nothing(algorithm):
    X, y, task, rounds, _ = oracle.problem(8, rounds=7)
    model, _, _ = learn(algorithm, X, y, task, rounds, norm="2-max", C=0.3)
    before = model.weights()
    trace = np.zeros((2, 4))
    scores = model.learn(weft.Stream(X[:2], np.zeros(2), task[:2], rounds=[0, 0]), trace=trace)
    np.testing.assert_array_equal(model.weights(), before)
    np.testing.assert_array_equal(trace, np.zeros((2, 4)))
    close(scores, (X[:2] * before[:2]).sum(axis=1), 1e-12)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_labels_of_one_row(algorithm):
    """All tasks of a round show the same row: neighbours in the table of weights, and tasks in another order."""
    rng = np.random.default_rng(8)
    X, Y = rng.normal(size=(40, 9)) / 2.0, np.sign(rng.normal(size=(40, 6)))
    Y[rng.random(Y.shape) < 0.2] = np.nan
    names, others = ["a", "b", "c", "d", "e", "f"], ["e", "b", "f", "a", "d", "c"]
    model = weft.Model(algorithm, norm="l1", C=0.3)
    halves = [weft.Stream.shared(X[:20], Y[:20], names), weft.Stream.shared(X[20:], Y[20:], others)]
    scores = np.concatenate([np.ravel(model.learn(half)) for half in halves])
    task, rounds = names * 20 + others * 20, np.repeat(range(40), 6)
    expected, W, _ = oracle.run(algorithm, np.repeat(X, 6, 0), Y.ravel(), task, rounds, norm="l1", C=0.3)
    close(scores, expected, 1e-9)
    close(model.weights(), W, 1e-9)


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_a_row_longer_than_the_given_r_is_reported(algorithm):
    parameters = {"R": 1.0} if algorithm == "infinite-horizon" else {"R": 1.0, "T": 4}
    model = weft.Model(algorithm, **parameters)
    model.learn(weft.Stream(np.eye(2), [1, -1], ["a", "b"]))
    with pytest.warns(UserWarning, match="R"):
        model.learn(weft.Stream(np.array([[3.0, 4.0]]), [-1], ["a"]))


@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_sparse_rows_are_dense_rows(algorithm):
    X, y, task, rounds, _ = oracle.problem(9, features=6, rounds=10)
    for norm in ("l1.5", "2.5-max", "k(1,2,1.2)"):
        dense, scores, _ = learn(algorithm, X, y, task, rounds, norm=norm, C=0.3)
        for form in (scipy.sparse.csr_matrix, scipy.sparse.csc_array, scipy.sparse.coo_array):
            sparse, again, _ = learn(algorithm, form(X), y, task, rounds, norm=norm, C=0.3)
            np.testing.assert_array_equal(again, scores)
            np.testing.assert_array_equal(sparse.weights(), dense.weights())


KERNELS = [
    {"name": "linear"},
    {"name": "linear", "normalize": True},
    {"name": "poly", "degree": 2, "gamma": 0.5, "coef0": 1.0},
    {"name": "poly", "degree": 3, "gamma": 1.0, "coef0": 0.5, "normalize": True},
    {"name": "gaussian", "gamma": 0.7},
]


@pytest.mark.parametrize("kernel", KERNELS, ids=lambda kernel: "-".join(str(v) for v in kernel.values()))
@pytest.mark.parametrize("loss", LOSSES[:2])
@pytest.mark.parametrize("algorithm", ALGORITHMS)
def test_the_kernel_form(algorithm, loss, kernel):
    for norm in ("l1", "l2", "2.5-max"):
        X, y, task, rounds, _ = oracle.problem(10, rounds=10, loss=loss)
        parameters = {"norm": norm, "C": 0.3, "loss": loss, "epsilon": 0.2, "kernel": kernel}
        model, scores, trace = learn(algorithm, X, y, task, rounds, **parameters)
        expected, support, steps = oracle.run(algorithm, X, y, task, rounds, **parameters)
        close(scores, expected, 1e-9)
        close(trace[:, 0], steps[:, 0], 1e-9)
        # A zero row may keep a coefficient without effect: compare the rows that count.
        real = [(f"task {j}", c) for j, c, row in support if steps[row, 2] > 0]
        kept = [(name, c) for name, c, row, *_ in model.support() if _squared_norm(kernel, row) > 0]
        assert [name for name, _ in kept] == [name for name, _ in real]
        close(np.array([c for _, c in kept]), np.array([c for _, c in real]), 1e-9)


def _squared_norm(kernel, row):
    x = np.array(list(row.values()), float)
    return oracle.kernel_value(kernel, x, x)


def test_a_file_whose_kept_rows_lie_outside_their_values():
    """Each of the conditions alone; rows that end where the values end are right."""
    model = weft.Model("implicit", kernel="linear")
    model.learn(weft.Stream(np.eye(4), [1, -1, 1, -1], [0, 1, 0, 1]))
    header, arrays = decode(model.to_bytes())
    begin, end = arrays["state.begin"], arrays["state.end"]
    assert arrays["state.newest"].max() == len(begin)
    assert weft.Model.from_bytes(encode(header, arrays)).to_bytes() == model.to_bytes()
    for name, at, value in (("begin", 0, -1), ("begin", 1, end[1] + 1), ("end", -1, end[-1] + 1)):
        other = arrays[f"state.{name}"].copy()
        other[at] = value
        with pytest.raises(FileError, match="kept rows lie outside their values"):
            weft.Model.from_bytes(encode(header, {**arrays, f"state.{name}": other}))
