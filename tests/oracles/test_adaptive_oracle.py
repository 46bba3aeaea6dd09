"""The oracle of `adaptive` and `auto`: printed figures, laws of scale and symmetry, and the two guarantees."""

import copy
import math
import os
from itertools import pairwise
from pathlib import Path

import numpy as np
import pytest

from oracles.adaptive import BIAS, PRIOR, SMAX, Adaptive, Auto, Zeros, sigma
from oracles.adaptive_cases import (
    ADVERSARIES,
    ODD_UNITS,
    POWERS_OF_TWO,
    TOY,
    huge_and_tiny,
    outlier,
    padded,
    relabelled,
    renamed,
    scaled,
    shifted,
    silent,
    stream,
)

BOTH = pytest.mark.parametrize("loss", ["logistic", "square"])
FOUR = [(kind, loss) for kind in (Auto, Adaptive) for loss in ("logistic", "square")]
ALL = pytest.mark.parametrize(("kind", "loss"), FOUR)

PRINTED = {
    (Auto, "logistic"): (
        [0.5, 0.5694227785, 0.5760862709, 0.5578462739, 0.4200964281, 0.5715735333, 0.3217744883, 0.8400624030],
        [0.4874472585, 0.5047581781, -0.0165703392, 0.0052385486],
    ),
    (Adaptive, "logistic"): (
        [0.5, 0.5744425158, 0.5803753404, 0.5627382925, 0.4173807669, 0.5751592889, 0.3014416469, 0.8733744309],
        None,
    ),
    (Auto, "square"): (
        [0, 3, 4.75, 5.1799030942, 9.3925921717, 3.9877825217, 8.2158683449, 12.0],
        [0.3920747842, 0.3878169331, -0.0713644798, -0.0477606818],
    ),
    (Adaptive, "square"): (
        [0, 3, 4.75, 5.1258182528, 9.3872678730, 4.0521184774, 8.2983594893, 12.0],
        [0.3907202523, 0.3862372938],
    ),
}


def run(kind, loss, events):
    model = kind(loss)
    return model, [model.learn(row, y, k) for k, row, y in events]


def state(model):
    return copy.deepcopy(vars(model))


def numbers(value):
    """All floats of a state."""
    if isinstance(value, dict):
        value = list(value.values())
    if isinstance(value, list):
        return [x for one in value for x in numbers(one)]
    return [value] if isinstance(value, float) else []


# What the page prints.


@pytest.mark.parametrize("case", PRINTED)
def test_toy(case):
    kind, loss = case
    said, V = PRINTED[case]
    model, found = kind(loss), []
    for k, row, sign, y in TOY:
        found.append(model.probability(row, k) if loss == "logistic" else model.score(row, k))
        model.learn(row, sign if loss == "logistic" else y, k)
    np.testing.assert_allclose(found, said, rtol=0, atol=1e-8)
    if V:
        np.testing.assert_allclose(model.V, V, rtol=0, atol=1e-8)
    if case == (Auto, "logistic"):
        expected = [0.8092645008, 0.0764082327, 0.1143272664]
        np.testing.assert_allclose(model.borrowing()["b"]["weights"], expected, rtol=0, atol=1e-8)


def test_the_cost_of_returning_to_the_prior():
    model, costs = Auto(), {}
    for n in range(1, 1001):
        model.learn({}, 1.0, "k")
        costs[n] = model.cost["k"]
    assert [round(costs[n], 2) for n in (20, 100, 1000)] == [0.68, 1.07, 1.64]


def real(name):
    """Rows, labels and tasks of a data set, constant columns dropped, in the order of seed 100."""
    folder = os.environ.get("WEFT_DATA")
    if not folder:
        pytest.skip("WEFT_DATA does not name the folder with the data sets")
    data = np.load(Path(folder) / f"{name}.npz", allow_pickle=False)
    kept = np.isin(data["task"], data["tasks19"]) if name == "landmine" else np.full(len(data["y"]), True)
    X, y, tasks = (data[part][kept] for part in ("X", "y", "task"))
    X = X[:, X.std(axis=0) > 0]
    for i in np.random.default_rng(100).permutation(len(y)):
        yield int(tasks[i]), {int(j): float(X[i, j]) for j in np.flatnonzero(X[i])}, float(y[i])


@pytest.mark.parametrize(("kind", "figure"), [(Auto, 0.201245)])
def test_log_loss_on_landmine(kind, figure):
    events = list(real("landmine"))
    _, scores = run(kind, "logistic", events)
    p = np.clip([sigma(s) for s in scores], 1e-6, 1 - 1e-6)
    losses = -np.log(np.where([y > 0 for _, _, y in events], p, 1 - p))
    assert abs(losses.mean() - figure) < 1e-6


@pytest.mark.parametrize(("kind", "figure"), [(Auto, 0.544135), (Adaptive, 0.563367)])
def test_square_loss_on_lenk(kind, figure):
    events = list(real("lenk"))
    _, answers = run(kind, "square", events)
    y = np.array([label for _, _, label in events])
    assert abs(np.mean((np.array(answers) - y) ** 2) / y.var() - figure) < 1e-6


# Laws.


@ALL
def test_scoring_is_pure_and_learning_returns_the_score(kind, loss):
    model = kind(loss)
    for k, row, y in stream(1, 60, loss):
        before = state(model)
        said = model.score(row, k)
        model.explain(row, k)
        model.weights(k)
        model.score({"never seen": 3.0, **row}, "nobody")
        assert vars(model) == before
        assert model.learn(row, y, k) == said


@ALL
def test_zeros_count_as_absent(kind, loss):
    events = list(stream(2, 200, loss))
    ordered = [(k, {f: row[f] for f in sorted(row, key=lambda f: int(f[1:]))}, y) for k, row, y in events]
    (sparse, scores), (dense, again) = run(kind, loss, ordered), run(kind, loss, padded(events))
    assert scores == again
    assert vars(sparse) == vars(dense)


@ALL
def test_columns_times_constants(kind, loss):
    """Powers of two, of either sign, leave every bit; other constants leave the scores."""
    events = list(stream(3, 300, loss))
    _, scores = run(kind, loss, events)
    for factors, tolerance in ((POWERS_OF_TWO, 0.0), (ODD_UNITS, 1e-9)):
        np.testing.assert_allclose(run(kind, loss, scaled(events, factors))[1], scores, rtol=0, atol=tolerance)


@pytest.mark.parametrize("kind", [Auto, Adaptive])
@pytest.mark.parametrize(("a", "b"), [(1e6, -3e7), (1e-6, 5.0), (1.0, 1e9)])
def test_target_times_a_plus_b(kind, a, b):
    events = list(stream(4, 300, "square"))
    _, answers = run(kind, "square", events)
    _, moved = run(kind, "square", relabelled(events, a, b))
    assert moved[0] == 0.0
    error = np.finfo(float).eps * (abs(b) / a + 10)  # what the labels themselves lose
    np.testing.assert_allclose((np.array(moved[1:]) - b) / a, answers[1:], rtol=0, atol=20 * error)


@ALL
def test_shift_of_dense_columns_without_zeros(kind, loss):
    events = list(stream(5, 300, loss))
    here, there = (run(kind, loss, shifted(events, by))[1] for by in (0.0, 1000.0))
    np.testing.assert_allclose(there, here, rtol=0, atol=1e-6)


@ALL
def test_a_new_task_is_one_that_was_silent(kind, loss):
    """A task that only asks changes nothing, and starts where a task nobody has heard of starts."""
    heard, quiet = kind(loss), kind(loss)
    for k, row, y in silent(6, 250, loss):
        late = math.isnan(y)
        heard.number(row)  # names get their numbers from rows without a label too
        first = [] if late else heard.learn_round([row], [y], [k])
        second = quiet.learn_round([row], [y], [k])
        assert late or first == second
    assert vars(heard) == vars(quiet)


@ALL
def test_names_of_tasks_do_not_matter(kind, loss):
    events = list(stream(7, 200, loss))
    names = [2, 0, 3, 1]
    _, scores = run(kind, loss, events)
    assert run(kind, loss, renamed(events, names))[1] == scores


@pytest.mark.parametrize("kind", [Auto, Adaptive])
def test_all_labels_flipped(kind):
    """Log-odds change their sign, to rounding."""
    events = list(stream(8, 300, "logistic"))
    scores = np.array(run(kind, "logistic", events)[1])
    np.testing.assert_allclose(run(kind, "logistic", relabelled(events, -1.0, 0.0))[1], -scores, rtol=0, atol=1e-9)


@BOTH
def test_with_one_task_own_is_shared_is_pooled(loss):
    model, _ = run(Auto, loss, list(stream(9, 200, loss, tasks=1)))
    for own, shared in (("wO", "wP"), ("gO", "gP"), ("wA", "wA0"), ("gA", "gA0"), ("th", "th0"), ("R", "R0")):
        assert {j: x for (_, j), x in getattr(model, own).items()} == getattr(model, shared)
    assert model.V[2] == model.V[3]


@ALL
def test_a_round_is_scored_before_it_is_learned(kind, loss):
    events = list(stream(10, 120, loss))
    together, alone = kind(loss), kind(loss)
    for start in range(0, 120, 3):
        tasks, rows, ys = zip(*events[start : start + 3], strict=True)
        expected = [alone.score(row, k) for k, row in zip(tasks, rows, strict=True)]
        assert together.learn_round(rows, ys, tasks) == pytest.approx(expected, rel=0, abs=1e-12)
        for k, row, y in events[start : start + 3]:
            alone.learn(row, y, k)
    assert numbers(together.V) == pytest.approx(numbers(alone.V), rel=0, abs=1e-12)


# Corners of scaling and of the target's frame.


def test_a_constant_column_weighs_but_does_not_speak():
    model = Adaptive()
    for t in range(1, 9):
        row = model.row({"c": 5.0, "x": float(t)})
        z, D = model.scale(row)
        assert "c" not in z
        assert sorted(D) == ["c", "x"]
        if t > 1:
            x = np.arange(1.0, t + 1)
            assert z["x"] == pytest.approx((t - x.mean()) / x.std() / math.sqrt(2))
        model.learn(row, 1.0, "k")
    assert "c" in model.dense_list
    z, _ = model.scale({"c": 6.0, "x": 1.0})
    c = np.array([5.0] * 8 + [6.0])
    assert z["c"] == pytest.approx((6 - c.mean()) / c.std() / math.sqrt(2))
    z, _ = model.scale({"c": 5.000001, "x": 1.0})  # spread below 1e-6 of the mean
    assert "c" not in z


def test_on_sparse_data_only_nearly_full_columns_are_centred():
    """Density 0.7 is dense among 12 columns, not among hundreds; a column that turns rare leaves."""
    model = Adaptive()
    for t in range(100):
        model.learn({"full": 1.0 + t % 3, **({"often": 2.0} if t % 10 < 7 else {}), f"rare{t}": 1.0}, 1.0, "k")
    assert model.nnz < 0.1 * model.t * len(model.cnt)
    assert model.dense_list == ["full"]
    z, D = model.scale({"often": 8.0, "new": 3.0})
    assert list(D) == ["full"]
    often = math.sqrt(8 / math.sqrt((70 * 4 + 64) / 71))
    assert z["often"] / z["new"] == pytest.approx(often)
    assert z["new"] == pytest.approx(1 / math.sqrt(often**2 + 1 + 1))
    x = np.array([1.0 + t % 3 for t in range(100)] + [0.0])
    assert z["full"] == pytest.approx(-x.mean() / x.std() / math.sqrt(often**2 + 2))


def test_features_of_the_row_itself_are_not_known_yet():
    """Seventy of a hundred rows hold x: still centred in a row of 20 new names, no longer in the one after it."""
    model = Adaptive()
    for t in range(100):
        model.learn({"x": 1.0 + t % 3} if t % 10 < 7 else {}, 1.0, "k")
    model.learn({"x": 2.0, **{f"new{j}": 1.0 for j in range(20)}}, 1.0, "k")
    assert model.dense_list == ["x"]
    model.learn({"x": 2.0}, 1.0, "k")
    assert model.dense_list == []


def test_the_dense_list_fills_holes_with_its_last_element():
    model = Adaptive()
    model.learn({"a": 1.0, "b": 1.0, "c": 1.0, "d": 1.0}, 1.0, "k")
    assert model.dense_list == ["a", "b", "c", "d"]
    model.learn({"d": 1.0, "c": 2.0, "e": 1.0}, 1.0, "k")
    assert model.dense_list == ["a", "b", "c", "d", "e"]
    model.learn({"d": 2.0, "c": 3.0}, 1.0, "k")
    assert model.dense_list == ["d", "c"]
    assert list(model.scale({})[0]) == ["d", "c", BIAS]
    model.learn({"b": 1.0}, 1.0, "k")
    assert model.dense_list == ["d", "c", "b"]


def test_sparse_values_are_capped_and_rows_have_unit_length():
    model = Adaptive()
    for t in range(40):
        model.learn({f"g{t}": 1.0, **({"x": 1.0} if t % 4 == 0 else {})}, 1.0, "k")
    z, D = model.scale({"x": 1e6, "g1": -1.0})
    assert not D
    assert z["x"] ** 2 + z["g1"] ** 2 == pytest.approx(1)
    assert z["x"] / z["g1"] == pytest.approx(-math.sqrt(math.sqrt(11)))  # |x| / rms = sqrt(11): below the cap of 25
    model.t, model.nnz, model.cnt["x"], model.s2["x"] = 10**6, 10**6, 899.0, 899.0
    assert model.scale({"x": 1e9, "g1": -1.0})[0]["x"] == pytest.approx(5 / math.sqrt(26))  # sqrt(900) is above it


def test_dense_values_are_capped():
    model = Adaptive()
    for t in range(100):
        model.learn({"x": 1.0 + t % 2}, 1.0, "k")
    assert model.scale({"x": -1e6})[0]["x"] == -5.0
    assert model.scale({"x": 1e6})[0]["x"] == 5.0


@pytest.mark.parametrize(
    ("W", "YY", "n0"),
    [(0.0, 24.0, 0.01), (8.0, 24.0, 1.0), (16.0, 8.0 + 1e-3, 100.0), (16.0, 8.0 - 1e-15, 1.0)],
)
def test_task_means_are_shrunk_as_much_as_the_tasks_agree(W, YY, n0):
    """Eight labels of mean 1 and their squares, eight deviations inside tasks: n0 is within over between, in bounds."""
    model = Auto("square")
    model.t, model.Y, model.YY, model.W, model.wc, model.y0, model.DEV = 8, 8.0, YY, W, 8.0, 30.0, 16.0
    model.n["k"], model.ysum["k"], model.dev["k"] = 2.0, 6.0, 5.0
    frame, new = model.frame("k"), model.frame("new")
    assert frame.mk == frame.mu == pytest.approx(30 + (6 + n0) / (2 + n0))
    assert frame.sd == pytest.approx(math.sqrt((5 + 3 * 16 / 8) / 5))
    assert new.mu == 31.0
    assert new.sd == pytest.approx(math.sqrt(YY / 8 - 1) if YY > 8 else 1.0)
    assert new.ready == (YY > 8)


def test_labels_that_differ_by_rounding_teach_nothing():
    model = Auto("square")
    for t in range(50):
        assert abs(model.learn({"x": float(t)}, 1e9 + 1e-4 * (t % 2), t % 3) - 1e9) < 1e-3 or t == 0
    assert not model.wA
    assert not model.th0
    assert model.V == [0.5, 0.5, 0.0, 0.0]
    model.wO[0, BIAS] = model.wA0[BIAS] = 1.0  # errors are 0 without a frame, whatever the experts say
    model.learn({}, 1e9, 0)
    assert not model.gO
    assert not model.gA0
    assert model.V == [0.5, 0.5, 0.0, 0.0]


@pytest.mark.parametrize("kind", [Auto, Adaptive])
def test_targets_are_learned_up_to_five_spreads(kind):
    """Beyond, only the frame sees the label."""
    model, _ = run(kind, "square", list(stream(11, 100, "square")))
    row = {"f0": 2.0, "f1": 1.0}
    frame = model.view(model.row(row), 0).frame
    just, far = copy.deepcopy(model), copy.deepcopy(model)
    just.learn(row, frame.mu + 5.000001 * frame.sd, 0)
    far.learn(row, frame.mu + 500 * frame.sd, 0)
    assert just.uhi == far.uhi == 5.0
    for name in ("V", "H", "wA", "wA0", "th", "L0", "R", "wO", "gP", *(["Lk", "loss"] if kind is Auto else [])):
        assert getattr(just, name) == getattr(far, name)
    assert far.dev[0] > just.dev[0]


@ALL
def test_first_event_one_class_empty_rows(kind, loss):
    model = kind(loss)
    assert model.score({"x": 3.0}, "k") == 0.0
    for t in range(60):
        model.learn({} if t % 2 else {"x": 1.0}, 1.0, "k")
        model.learn({}, -1.0, "j")
    assert model.score({}, "k") > 0.5
    assert model.score({}, "j") < -0.5
    assert all(map(math.isfinite, numbers(vars(model))))


@pytest.mark.parametrize("kind", [Auto, Adaptive])
@pytest.mark.parametrize("y", [7.25, -1e9 / 3, 1e-9, 0.0])
def test_a_constant_target_is_exact_from_the_second_event(kind, y):
    events = [(k, row, y) for k, row, _ in stream(12, 80, "square")]
    model, answers = run(kind, "square", events)
    assert answers == [0.0] + [y] * 79
    assert model.score({"new": 1.0}, "nobody") == y


@ALL
def test_huge_and_tiny_values_mixed(kind, loss):
    model, answers = run(kind, loss, huge_and_tiny(loss))
    assert all(map(math.isfinite, answers))
    assert all(map(math.isfinite, numbers(vars(model))))


def test_one_outlier_does_not_freeze_the_stack():
    """A column bets on values near 0 after a huge one that taught nothing; the next huge one must not end learning."""
    *events, last = outlier("square")
    model, _ = run(Auto, "square", events)
    k, row, y = last
    assert max(map(abs, model.view(model.row(row), k).e)) > 1e100
    model.learn(row, y, k)
    assert max(model.H) < 1e6


def test_where_log_odds_are_clipped():
    """At 8 where they enter stack and mixture, at 14 in the expert's own error."""
    model = Auto()
    model.wO["k", BIAS], model.wP[BIAS], model.V = 20.0, -9.0, [0.5, 0.5, 3.0, -1.0]
    view = model.view({}, "k")
    assert view.e[2:] == [20.0, -9.0]
    assert view.c[2:] == view.f[1:] == [8.0, -8.0]
    assert view.s == 32.0
    model.learn({}, -1.0, "k")
    losses = [-math.log(1 - sigma(q)) for q in (14.0, 8.0, -8.0)]
    assert model.loss["k"][:3] == pytest.approx(losses, rel=1e-12)
    assert model.loss["k"][0] == pytest.approx(14.0, abs=1e-6)
    assert model.gO["k", BIAS] == sigma(14.0) ** 2
    assert model.gP[BIAS] == sigma(-9.0) ** 2
    assert model.H[2:] == [1.0 + (8 * sigma(14.0)) ** 2] * 2


@BOTH
@pytest.mark.parametrize("value", [math.nan, math.inf, -1.1e150])
def test_values_that_are_refused(loss, value):
    model, _ = run(Auto, loss, list(stream(14, 20, loss)))
    before = state(model)
    for call in (model.score, lambda row, k: model.learn(row, 1.0, k)):
        with pytest.raises(ValueError, match="1e150"):
            call({"f1": 1.0, "x": value}, 0)
    assert vars(model) == before


# The guarantees.


@BOTH
@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("adversary", [stream, *ADVERSARIES])
def test_no_task_is_ever_harmed_beyond_the_bound(adversary, seed, loss):
    events = stream(seed, 400, loss) if adversary is stream else adversary(seed, loss)
    model, issued = Auto(loss), Zeros()
    for k, row, y in events:
        view = model.view(model.row(row), k)
        model.learn(row, y, k)
        assert min(model.slack(k)) >= -1e-9
        assert sum(model.mixture(k)) == pytest.approx(1, rel=0, abs=1e-12)
        if loss == "logistic":
            issued[k] -= math.log(view.p if y > 0 else 1 - view.p)
            assert issued[k] == pytest.approx(model.loss[k][3])
    for k, shown in model.borrowing().items():
        assert shown["certificate"] == min(model.slack(k)) >= -1e-9
        assert shown["n"] == model.n[k] > 0


@pytest.mark.parametrize("seed", range(3))
def test_the_square_bound_holds_where_the_rate_falls(seed):
    """A hand-made run of the layer with errors of up to ten spreads, where squared loss is not exp-concave."""
    rng, model, rates = np.random.default_rng(seed), Auto("square"), []
    for n in range(300):
        model.n["k"] += 1
        w, u = model.mixture("k"), float(rng.choice([-5.0, 5.0]))
        right = u if rng.random() < 0.6 else -u
        f = [float(rng.uniform(-5, 5)), right if n < 150 else -right, -right if n < 150 else right]
        p = sum(x * y for x, y in zip(w, f, strict=True))
        model.judge("k", model.view({}, "k")._replace(f=f, w=w, p=p), u)
        rates.append(model.eta_k["k"])
        assert min(model.slack("k")) >= -1e-9
    assert all(b <= a for a, b in pairwise(rates))
    assert rates[-1] < 0.1


def test_the_mixture_follows_a_change_of_the_best_expert():
    """A hand-made run of the layer: own is right for 300 events, then pooled; never far behind either."""
    model = Auto()
    for n in range(600):
        model.n["k"] += 1
        f = [0.0, 3.0, -3.0] if n < 300 else [0.0, -3.0, 3.0]
        w = model.mixture("k")
        p = sum(x * sigma(y) for x, y in zip(w, f, strict=True))
        model.judge("k", model.view({}, "k")._replace(f=f, w=w, p=p), 1.0)
    switching = 600 * -math.log(sigma(3.0)) - math.log(PRIOR[1]) + model.cost["k"] + math.log(40 * 301)
    assert model.loss["k"][3] <= switching + 1e-9
    assert model.mixture("k")[2] > 0.99


# What is shown.


@ALL
def test_the_split_adds_up_to_the_stack(kind, loss):
    model, _ = run(kind, loss, list(stream(16, 300, loss)))
    for k, row, _ in stream(17, 40, loss):
        view, split = model.view(model.row(row), k), model.explain(row, k)
        assert all(abs(e) < SMAX for e in view.e)
        assert list(split) == list(view.z)
        assert BIAS in split
        assert sum(map(sum, split.values())) == pytest.approx(view.s, rel=0, abs=1e-12)
        weights = model.weights(k)
        assert sum(weights[j] * z for j, z in view.z.items()) == pytest.approx(view.s, rel=0, abs=1e-12)
    assert all(own == 0.0 for own, _ in model.explain(row, "nobody").values())
