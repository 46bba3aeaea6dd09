"""`adaptive` and `auto`: known figures, guarantees at every moment and on any data, and independence of units."""

import math
import os

import numpy as np
import pytest

import weft
from learners.adaptive_runs import specified
from oracles.adaptive_cases import TOY
from oracles.test_adaptive_oracle import PRINTED
from weft.learners.adaptive.state import Stack
from weft_reproduction.default.streams import BINARY, REAL, stream_of

CHECK_POINTS = {
    "landmine19": (0.201245, 0.202483),
    "pkdd06b": (0.062728, 0.065285),
    "pkdd06a": (0.025781, 0.025798),
    "sentiment4": (0.321733, 0.324296),
    "pu_spam": (0.073517, 0.074364),
    "movielens_cf": (0.586867, 0.589868),
    "school_bin": (0.432529, 0.440849),
    "school": (0.648687, 0.684075),
    "lenk": (0.544135, 0.563367),
    "ml_cf_reg": (0.765025, 0.782040),
}


def sigma(score):
    return 1.0 / (1.0 + np.exp(-np.asarray(score)))


def events_of(name, seed=100):
    if not os.environ.get("WEFT_DATA"):
        pytest.skip("WEFT_DATA does not name the folder with the data sets")
    data = stream_of(name)
    order = np.random.default_rng(seed).permutation(len(data))
    return weft.Stream(data.X[order], data.y[order], data.task[order])


def mean_loss(scores, y, loss):
    if loss == "square":
        return np.mean((scores - y) ** 2) / np.var(y)
    p = np.clip(sigma(scores), 1e-6, 1 - 1e-6)
    return -np.mean(np.log(np.where(y > 0, p, 1 - p)))


def least_margin(model):
    return min(found.certificate for found in model.borrowing().values())


@pytest.mark.parametrize("case", PRINTED, ids=lambda case: f"{case[0].__name__}-{case[1]}")
def test_toy(case):
    kind, loss = case
    expected_scores, V = PRINTED[case]
    model, found = specified(kind.__name__.lower(), loss=loss), []
    for k, row, sign, y in TOY:
        score = model.predict_one(row, k)
        found.append(float(sigma(score)) if loss == "logistic" else score)
        assert model.learn_one(row, sign if loss == "logistic" else y, k) == score
    np.testing.assert_allclose(found, expected_scores, rtol=0, atol=1e-8)
    if V:
        np.testing.assert_allclose(model.state.stack[Stack.WEIGHT, : len(V)], V, rtol=0, atol=1e-8)
    if kind.__name__ == "Auto" and loss == "logistic":
        expected = [0.8092645008, 0.0764082327, 0.1143272664]
        np.testing.assert_allclose(model.borrowing()["b"][1:4], expected, rtol=0, atol=1e-8)


@pytest.mark.parametrize("name", [*BINARY, *REAL])
def test_figures_and_guarantees_on_data_sets(name):
    stream, loss = events_of(name), "logistic" if name in BINARY else "square"
    for at, kind in enumerate(("auto", "adaptive") if name in CHECK_POINTS else ("auto",)):
        model = specified(kind, loss=loss)
        scores = model.learn(stream)
        assert np.isfinite(scores).all()
        if name in CHECK_POINTS:
            assert abs(mean_loss(scores, stream.y, loss) - CHECK_POINTS[name][at]) < 2e-4
        if kind == "auto":
            assert least_margin(model) >= -1e-9


def flips(rng, t, k, x):
    return -1.0 if (t // 7) % 2 else 1.0


def opposed(rng, t, k, x):
    return (1.0 if x.get("a", 0.0) > 0 else -1.0) * (-1.0 if k % 2 else 1.0)


def adversarial(rng, t, k, x):
    return rng.choice([-1.0, 1.0]) if k else -math.copysign(1.0, x.get("a", 0.0))


def jumps(rng, t, k, x):
    return 1.0 if x.get("b", 0.0) > 0 else -1.0


@pytest.mark.parametrize("loss", ["logistic", "square"])
@pytest.mark.parametrize("label", [flips, opposed, adversarial, jumps])
@pytest.mark.parametrize("effort", ["fast", "balanced", "best"])
def test_guarantees_hold_at_every_moment_on_adversarial_streams(label, loss, effort):
    rng = np.random.default_rng(7)
    model = weft.Model("auto", loss=loss, effort=effort)
    for t in range(600):
        k = 0 if label is adversarial and t % 2 else int(rng.integers(5))
        scale = 1e12 ** ((t // 50) % 3 - 1) if label is jumps else 1.0
        x = {name: scale * float(rng.normal()) for name in "abcd" if rng.random() < 0.7}
        y = label(rng, t, k, x)
        score = model.learn_one(x, y if loss == "logistic" else y * scale + rng.normal(), f"task {k}")
        assert math.isfinite(score)
        if t % 10 == 0:
            assert least_margin(model) >= -1e-9
    assert np.isfinite(model.state.stack).all()
    assert np.isfinite(model.weights()).all()


def made(seed=3, n=1500, tasks=6, zeros=True):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 8)) + 3.0
    if zeros:
        X[:, 4:] *= rng.random((n, 4)) < 0.2
    task = rng.integers(0, tasks, n)
    weights = rng.normal(size=8) + 0.5 * rng.normal(size=(tasks, 8))
    s = np.sum((X - 3.0) * weights[task], axis=1)
    return X, np.where(s + rng.normal(size=n) > 0, 1.0, -1.0), s + rng.normal(size=n), task


@pytest.mark.parametrize("kind", ["adaptive", "auto"])
def test_units_of_columns_do_not_matter(kind):
    X, y, _, task = made()
    base = weft.Model(kind).learn(weft.Stream(X, y, task))
    units = 10.0 ** np.array([-4, 4, 3, -2, 1, -3, 4, -1])
    np.testing.assert_allclose(weft.Model(kind).learn(weft.Stream(X * units, y, task)), base, atol=1e-9)
    X, y, _, task = made(zeros=False)
    base = weft.Model(kind).learn(weft.Stream(X, y, task))
    np.testing.assert_allclose(weft.Model(kind).learn(weft.Stream(X + 1000.0, y, task)), base, atol=1e-6)


@pytest.mark.parametrize("kind", ["adaptive", "auto"])
def test_units_of_labels_do_not_matter(kind):
    X, _, y, task = made()
    base = weft.Model(kind, loss="square").learn(weft.Stream(X, y, task))
    other = weft.Model(kind, loss="square").learn(weft.Stream(X, 1e6 * y - 3e7, task))
    np.testing.assert_allclose((other[1:] + 3e7) / 1e6, base[1:], atol=1e-8)


def test_tasks_with_flipped_labels_keep_their_own_models():
    """The labels of ten of fifty alleles change sign: their loss grows little, that of the others less."""
    stream = events_of("mhc1")
    flipped = np.isin(stream.task_codes, [stream.task_names.index(k) for k in range(10)])
    scores = [
        weft.Model().learn(weft.Stream(stream.X, y, stream.task_codes))
        for y in (stream.y, np.where(flipped, -stream.y, stream.y))
    ]
    scores[1][flipped] *= -1.0
    for chosen, most in ((flipped, 1.10), (~flipped, 1.06)):
        before, after = (mean_loss(found[chosen], stream.y[chosen], "logistic") for found in scores)
        assert after < most * before


def test_a_new_task_profits_from_the_others():
    X, y, _, task = made(n=4000, tasks=10)
    new = np.where(np.arange(4000) < 3800, task % 9, 9)
    model, single_task = weft.Model(), weft.Model()
    scores = model.learn(weft.Stream(X, y, new))
    mine = new == 9
    assert mean_loss(scores[mine], y[mine], "logistic") < 0.9 * mean_loss(
        single_task.learn(weft.Stream(X[mine], y[mine], new[mine])), y[mine], "logistic"
    )


@pytest.mark.parametrize("kind", ["adaptive", "auto"])
def test_refused_labels_and_values_leave_the_model_unchanged(kind):
    model = weft.Model(kind)
    model.learn_one({"a": 1.0}, 1, "ann")
    before = model.to_bytes()
    for x, y, words in (
        ({"a": 1.0}, 3.5, 'loss="square"'),
        ({"a": 1.1e150}, 1, "1e\\+150"),
        ({"a": math.nan}, 1, "1e\\+150"),
        ({"a": math.inf}, 1, "1e\\+150"),
    ):
        with pytest.raises(ValueError, match=words):
            model.learn_one(x, y, "ann")
        with pytest.raises(ValueError, match=words):
            model.learn(weft.Stream([x], [y], ["ann"]))
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match="loss"):
        weft.Model(kind, loss="hinge")
