"""Low rank + personal: the learner against the dense oracle, its two ways to take a step, what it says and refuses."""

import numpy as np
import pytest

import weft
from learners.robust_runs import KINDS, beside, events, weights
from oracles.robust import Romco
from weft.learners.low_rank import pieces
from weft.learners.low_rank import rounds as romco_rounds
from weft.maths.proximal import group_soft, logdet_prox, nuclear_prox
from weft.store.codec import FileError, decode, encode

pytestmark = pytest.mark.xdist_group("romco")

NAMES = {"romco-nucl": "nucl", "romco-logd": "logd"}
PARAMETERS = {
    "defaults": {},
    "strong": {"eta1": 0.3, "eta2": 0.2, "lam1": 0.3, "lam2": 0.4},
    "no penalty": {"lam1": 0.0, "lam2": 0.0},
    "tiny": {"lam1": 1e-6, "lam2": 1e-7},
    "sqrt": {"schedule": "sqrt", "lam1": 0.1, "lam2": 0.1},
    "geometric": {"schedule": "geometric", "kappa": 0.97, "lam1": 0.1},
    "rho from 1": {"rho0": 1.0, "rho_only": True, "schedule": "sqrt"},
    "always": {"always_prox": True, "lam1": 0.05, "lam2": 0.05, "eta1": 0.5, "eta2": 0.5},
}


@pytest.fixture(params=["small", "whole", "pieces"])
def way(request, monkeypatch):
    """In compiled code, as few tasks are; or as more of them would be, on the whole of U or on its pieces."""
    if request.param != "small":
        monkeypatch.setattr(romco_rounds, "SMALL", 0)
    if request.param == "pieces":
        monkeypatch.setattr(romco_rounds, "WORTH", 0)
    return request.param


SOME = [(parameters, kind) for parameters in ("strong", "tiny", "geometric", "always") for kind in ("all", "late")]


@pytest.mark.parametrize(("parameters", "kind"), [(parameters, kind) for parameters in PARAMETERS for kind in KINDS])
@pytest.mark.parametrize("name", NAMES)
def test_equals_the_oracle(name, parameters, kind):
    compare_with_the_oracle(name, parameters, kind)


@pytest.mark.parametrize("way", ["whole", "pieces"], indirect=True)
@pytest.mark.parametrize(("parameters", "kind"), SOME)
@pytest.mark.parametrize("name", NAMES)
def test_every_way_equals_the_oracle(name, parameters, kind, way):
    compare_with_the_oracle(name, parameters, kind)


def compare_with_the_oracle(name, parameters, kind):
    found = events(kind, rounds=90 if kind == "single" else 40)
    model = weft.Model(name, tasks=5, features=9, **PARAMETERS[parameters])
    oracle = Romco(NAMES[name], 5, 9, **PARAMETERS[parameters])
    scores = model.learn(found.stream)
    np.testing.assert_allclose(scores, beside(oracle, found), atol=1e-7)
    np.testing.assert_allclose(model.weights(), weights(oracle), atol=1e-7)
    low, personal = model.learner.parts(model.state, 5, 9)
    np.testing.assert_allclose(low.T, oracle.U, atol=1e-7)
    np.testing.assert_allclose(personal.T, oracle.V, atol=1e-7)
    np.testing.assert_allclose(model.outliers(), np.linalg.norm(oracle.V, axis=0), atol=1e-7)
    assert model.state.scalars[romco_rounds.T] == oracle.t
    assert model.state.scalars[romco_rounds.NUCLEAR] == pytest.approx(np.linalg.norm(oracle.U, "nuc"), abs=1e-6)
    assert np.abs(scores).max() > 0.04


@pytest.mark.parametrize(("small", "worth"), [(16, 0), (0, 0), (0, 400)], ids=["small", "pieces", "both"])
@pytest.mark.parametrize("name", NAMES)
def test_two_thousand_steps_equal_full_singular_value_decompositions(name, small, worth, monkeypatch):
    """One task a round, sparse rows, and now and then all tasks at once, so that both ways follow each other."""
    monkeypatch.setattr(romco_rounds, "SMALL", small)
    monkeypatch.setattr(romco_rounds, "WORTH", worth)
    rng = np.random.default_rng(3)
    d, m, steps, eta, lam = 40, 9, 2000, 0.1, 0.01
    prox = {"romco-nucl": nuclear_prox, "romco-logd": logdet_prox}[name]
    truth = rng.normal(size=(d, 3)) @ rng.normal(size=(3, m))
    present = [np.arange(m) if t % 50 == 49 else rng.integers(m, size=1) for t in range(steps)]
    task, rounds = np.concatenate(present), np.repeat(np.arange(steps), [len(p) for p in present])
    X = rng.normal(size=(len(task), d)) * (rng.random((len(task), d)) < 0.2)
    y = np.where((X * truth[:, task].T).sum(axis=1) >= 0, 1.0, -1.0)
    model = weft.Model(name, tasks=m, features=d, eta1=eta, eta2=eta, lam1=lam, lam2=lam)
    stream, ways, scores = weft.Stream(X, y, task, rounds), [], []
    for t in range(0, steps, 25):  # a piece ends before, or with, a round of all tasks
        scores.append(model.learn(stream.cut(t, t + 25)))
        ways.append(int(model.state.counts[pieces.LOOSE]))
    U, V, expected = np.zeros((d, m)), np.zeros((d, m)), np.zeros(len(task))
    for t in range(steps):
        at = np.flatnonzero(rounds == t)
        expected[at] = (X[at] * (U + V)[:, task[at]].T).sum(axis=1)
        active = at[y[at] * expected[at] < 1.0]
        if len(active):
            U[:, task[active]] += eta * (y[active, None] * X[active]).T
            V[:, task[active]] += eta * (y[active, None] * X[active]).T
            U, V = prox(U, eta * lam).matrix, group_soft(V, eta * lam)
    np.testing.assert_allclose(np.concatenate(scores), expected, atol=1e-7)
    np.testing.assert_allclose(model.weights(), (U + V).T, atol=1e-7)
    assert np.abs(U).max() > 0.1
    assert set(ways) == ({1} if worth == 0 else {0, 1})


@pytest.mark.parametrize(
    ("small", "worth"),
    [(16, 0), (3, 60), (0, 0), (0, 60), (0, 1 << 19)],
    ids=["small", "grows", "pieces", "both", "whole"],
)
@pytest.mark.parametrize("kind", ["some", "single", "late"])
def test_chunking_and_files_are_invisible(kind, small, worth, monkeypatch):
    monkeypatch.setattr(romco_rounds, "SMALL", small)
    monkeypatch.setattr(romco_rounds, "WORTH", worth)
    found = events(kind, rounds=200)
    whole, model = weft.Model("romco-nucl", lam1=0.1), weft.Model("romco-nucl", lam1=0.1)
    scores = whole.learn(found.stream)
    rng, pieces, at = np.random.default_rng(6), [], 0
    while at < 200:
        to = min(at + int(rng.integers(1, 40)), 200)
        pieces.append(model.learn(found.stream.cut(at, to)))
        at = to
        model = weft.Model.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(np.concatenate(pieces), scores)
    assert model.to_bytes() == whole.to_bytes()
    np.testing.assert_array_equal(whole.score(found.X, found.task), model.score(found.X, found.task))


def test_long_rows_among_short_ones():
    """X is full because of its numbers, and has not grown to all of its room: nothing of that may show."""
    rng = np.random.default_rng(7)
    d = romco_rounds.NONZEROS * 2 // 3
    X = rng.normal(size=(14, d)) / np.sqrt(d)
    X[np.arange(14) % 3 != 1, 6:] = 0.0
    stream = weft.Stream(X, rng.choice([-1, 1], 14), rng.integers(3, size=14))
    whole, model = (weft.Model("romco-logd", features=d, tasks=3) for _ in range(2))
    expected, scores = whole.learn(stream), []
    for t in range(14):
        piece = stream.cut(t, t + 1)
        before = model.score(piece)
        scores.append(model.learn(piece))
        np.testing.assert_array_equal(scores[-1], before)
        model = weft.Model.from_bytes(model.to_bytes())
    np.testing.assert_array_equal(np.concatenate(scores), expected)
    assert model.to_bytes() == whole.to_bytes()


def test_files_that_lead_outside(monkeypatch):
    monkeypatch.setattr(romco_rounds, "WORTH", 0)
    model = weft.Model("romco-nucl")
    model.learn(events("some", rounds=10).stream)
    header, arrays = decode(model.to_bytes())
    assert arrays["state.used"][0] > 3
    for name, at, value in [
        ("begins", 0, 1),
        ("begins", 2, 0),
        ("begins", -1, 10**6),
        ("indices", 0, 9),
        ("indices", -1, -1),
        ("used", 0, 10**6),
        ("used", 1, 0),
        ("counts", 0, 10),
        ("counts", 1, 6),
        ("counts", 2, 2),
    ]:
        other = arrays[f"state.{name}"].copy()
        other[at] = value
        with pytest.raises(FileError, match="state"):
            weft.Model.from_bytes(encode(header, {**arrays, f"state.{name}": other}))


def test_absent_tasks_are_shrunk_and_newcomers_are_zero(way):
    model = weft.Model("romco-nucl", eta1=0.5, eta2=0.5, lam1=0.2, lam2=0.2, tasks=["ann", "bob", "eve"])
    model.learn_one({"a": 1.0}, 1, "ann")
    before = model.learner.parts(model.state, 3, 1)
    model.learn_one({"b": 1.0}, 1, "bob")
    after = model.learner.parts(model.state, 3, 2)
    np.testing.assert_allclose(after[0][0, 0], before[0][0, 0] - 0.1)
    np.testing.assert_allclose(after[1][0, 0], before[1][0, 0] - 0.1)
    np.testing.assert_array_equal(model.weights()[2], 0.0)
    assert model.predict_one({"a": 1.0, "b": 1.0}, "eve") == 0.0
    assert model.predict_one({"a": 1.0, "b": 1.0}, "nobody") == 0.0


def test_relations_and_rank(way):
    rng = np.random.default_rng(4)
    X, task = rng.normal(size=(800, 12)), np.tile(np.arange(4), 200)
    y = np.sign(X @ rng.normal(size=12)) * np.where(task == 3, -1, 1)  # dave wants the contrary
    names = np.array(["ann", "bob", "eve", "dave"])[task]
    stream = weft.Stream(X, y, names, rounds=np.arange(800) // 4)
    model = weft.Model("romco-nucl", tasks=["ann", "bob", "eve", "dave", "new"], eta1=0.05, lam1=0.1, lam2=0.1)
    model.learn(stream)
    R = model.relations()
    np.testing.assert_allclose(R, R.T)
    np.testing.assert_array_equal(np.diag(R), 1.0)
    assert (R[:3, :3] > 0.8).all()
    assert (R[3, :3] < -0.8).all()
    np.testing.assert_array_equal(R[4, :4], 0.0)
    ranks = []
    for lam1 in (0.0, 0.8, 1e6):
        model = weft.Model("romco-nucl", eta1=0.05, lam1=lam1)
        model.learn(stream)
        ranks.append(model.learner.rank(model.state))
    assert ranks[0] == 4
    assert 1 <= ranks[1] <= 3
    assert ranks[2] == 0
    blank = weft.Model("romco-logd")
    assert blank.learner.rank(blank.state) == 0


def test_the_parts_of_a_score(way):
    found = events("some")
    model = weft.Model("romco-logd", lam2=0.05, tasks=5)
    model.learn(found.stream)
    x = found.X[7]
    parts = model.explain(x, 1, per_feature=True)
    low, personal = model.learner.parts(model.state, 5, 9)
    assert parts.shared == pytest.approx(low[1] @ x)
    assert parts.own == pytest.approx(personal[1] @ x)
    assert parts.own + parts.shared == pytest.approx(parts.score)
    stranger = model.explain(x, "stranger")
    assert (stranger.score, stranger.own, stranger.shared) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    "parameters",
    [{"eta1": 10.0, "lam1": 0.5}, {"rho0": 4.5}, {"rho0": 5.0, "rho_only": True, "schedule": "sqrt"}],
)
def test_a_shrinkage_that_leaps_is_remarked(parameters):
    model = weft.Model("romco-logd", **parameters)
    with pytest.warns(UserWarning, match="rho = .* is above 4"):
        model.learn_one({"a": 1.0}, 1, "ann")
    model.learn_one({"a": 1.0}, 1, "ann")  # once is enough
    weft.Model("romco-nucl", **parameters).learn_one({"a": 1.0}, 1, "ann")


@pytest.mark.parametrize("name", NAMES)
def test_too_many_tasks_or_features(name):
    model = weft.Model(name, matrix_limit=1000)
    model.learn_one({"a": 1.0}, 1, "ann")
    before = model.to_bytes()
    wide = {f"f{j}": 1.0 for j in range(100)}
    with pytest.raises(
        ValueError, match=r"whole tables of 1 tasks x 101 features: 1,632 bytes, more than matrix_limit"
    ):
        model.learn_one(wide, 1, "ann")
    with pytest.raises(ValueError, match=r"whole tables of 11 tasks x 1 features.*raise matrix_limit"):
        model.learn(weft.Stream([{"a": 1.0}] * 10, [1] * 10, list(range(10))))
    assert model.to_bytes() == before


@pytest.mark.parametrize(
    ("parameter", "value"),
    [
        ("eta1", 0.0),
        ("eta2", -1.0),
        ("lam1", -1e-9),
        ("lam2", float("inf")),
        ("schedule", "linear"),
        ("kappa", 0.0),
        ("kappa", 1.1),
        ("rho0", -1.0),
        ("rho_only", 1),
        ("always_prox", "yes"),
        ("matrix_limit", 0),
    ],
)
@pytest.mark.parametrize("name", NAMES)
def test_bad_parameters(name, parameter, value):
    with pytest.raises(ValueError, match=f"{name}: {parameter}=.* must be"):
        weft.Model(name, **{parameter: value})


def test_rows_longer_than_the_store(monkeypatch):
    """A row with more numbers than X can hold goes into B at once."""
    monkeypatch.setattr(romco_rounds, "WORTH", 0)
    rng = np.random.default_rng(5)
    d = romco_rounds.NONZEROS + 10
    X = rng.normal(size=(6, d)) / np.sqrt(d)
    X[::2, 20:] = 0.0
    y, task = np.array([1.0, -1.0, 1.0, 1.0, -1.0, -1.0]), np.array([0, 1, 0, 2, 1, 0])
    model, oracle = weft.Model("romco-nucl", lam1=0.01, tasks=3), Romco("nucl", 3, d, lam1=0.01)
    scores = model.learn(weft.Stream(X, y, task))
    expected = [oracle.learn_round(X[i : i + 1], y[i : i + 1], task[i : i + 1])[0] for i in range(6)]
    np.testing.assert_allclose(scores, expected, atol=1e-12)
    np.testing.assert_allclose(model.weights(), weights(oracle), atol=1e-12)
