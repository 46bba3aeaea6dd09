"""Explanations: the parts are what the rule says they are, and add up to the score."""

import numpy as np
import pytest

import weft
from contracts.settings import SETTINGS, Setting
from contracts.streams import make_events
from weft.inspection.explanation import Explanation, weights_of
from weft.storage import pairs

NAMES = ["ann", 7, ("team", 1), "bob", ("a", ("b", 2)), -3, "", "eve", 0]
EDGES = [("eve", "ann"), ("ann", 7, 2.0), (7, ("team", 1)), ("bob", -3, 0.5), (-3, 0)]
GRAPHS = {
    "edges": {"edges": EDGES, "tasks": NAMES[::-1]},
    "cliques": [["eve", "ann", 0], [7, ("team", 1), "bob"], [("a", ("b", 2)), -3], [""]],
    "matrix": {
        "matrix": (2.0 * np.eye(9) + np.diag(np.full(7, -0.7), 2) + np.diag(np.full(7, -0.7), -2)).tolist(),
        "tasks": NAMES[3:] + NAMES[:3],
    },
}
DESCENT = [
    {"b": 3.0},
    {"b": 0.0},
    {"b": float("inf")},
    {"graph": "none"},
    {"loss": "square", "eta": 0.05},
    *({"graph": graph} for graph in GRAPHS.values()),
]
FURTHER = {
    "mt-ogd": [
        *DESCENT,
        {"eta": "adaptive", "D": 0.3, "sigma": 0.3},
        {"eta": "adaptive", "D": 0.3, "sigma": 0.3, "graph": GRAPHS["edges"]},
        {"eta": "adaptive", "D": 0.3, "sigma": 0.3, "graph": GRAPHS["cliques"]},
        {"eta": 0.5, "D": 0.5, "projection": "ball"},
        {"eta": 0.5, "D": 0.5, "projection": "ball", "graph": GRAPHS["edges"]},
        {"eta": 0.5, "D": 0.5, "sigma": 0.2, "projection": "variance"},
        {"eta": 0.5, "D": 0.5, "sigma": 0.2, "projection": "v-sigma"},
    ],
    "mt-pnorm": [*DESCENT, {"domain": "simplex"}, {"eta": "adaptive", "D": 0.3, "sigma": 0.3}],
    "mt-eg": DESCENT[:-1],
    "mt-ftrl": [*DESCENT, {"regularizer": "entropy"}, {"regularizer": "entropy", "graph": GRAPHS["cliques"]}],
    "hedge-mt-ogd": [{"variances": [0.0, 0.5, 1.0], "D": 0.2}],
    "hedge-mt-eg": [{"variances": [0.0, 0.5, 1.0], "loss": "square"}],
}
ALL = SETTINGS + [Setting(name, parameters) for name, further in FURTHER.items() for parameters in further]
LINEAR = [s for s in ALL if not s.keeps_rows and s.target != "point" and not s.reads_unknown]  # they scale rows
DESCENTS = [s for s in LINEAR if s.name in FURTHER]


def learned(setting, form="named", tasks=NAMES):
    model = setting.model(tasks=tasks)
    events = make_events(setting.target, "rounds", form, seed=5)
    model.learn(events.stream())
    return model, events.table()


def rows_of(model, table):
    rows = [row if isinstance(row, dict) else np.asarray(row) for row in table[:6]]
    if isinstance(table[0], dict):
        rows.append({"never seen": 5.0, **table[-1]})
    return rows


def agree(one, other, size):
    assert abs(one - other) <= 1e-12 * size, (one, other, size)


@pytest.mark.parametrize(("form", "limit"), [("dense", pairs.DENSE_LIMIT), ("named", 4)], ids=["table", "hashed"])
@pytest.mark.parametrize("setting", LINEAR, ids=str)
def test_the_parts_add_up_to_the_score(setting, form, limit, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    model, table = learned(setting, form)
    model.learn_one({}, 1.0, "ann")
    for x in rows_of(model, table):
        for task in [*model.tasks, "nobody"]:
            found = model.explain(x, task, per_feature=True)
            size = sum(abs(part) for parts in found.features.values() for part in parts) + 1e-300
            agree(found.own + found.shared + sum(found.neighbours.values()), found.score, size)
            agree(sum(found.parts.values()), found.score, size)
            assert list(map(abs, found.parts.values())) == sorted(map(abs, found.parts.values()), reverse=True)
            agree(sum(parts.total for parts in found.features.values()), found.score, size)
            agree(sum(parts.neighbours for parts in found.features.values()), sum(found.neighbours.values()), size)
            assert found.score == model.score([x], [task])[0]
            assert abs(found.score - model.predict_one(x, task)) <= 1e-12 * size
            assert found[:5] == model.explain(x, task)[:5]
            assert model.explain(x, task).features == {}


@pytest.mark.parametrize("setting", DESCENTS, ids=str)
def test_own_and_shared_are_those_of_the_whole_matrices(setting):
    model, _ = learned(setting)
    tasks, features = len(model.tasks), len(model.features)
    own, shared = model.learner.parts(model.state, tasks, features)
    for slot in range(tasks):
        found = weights_of(model.learner, model.state, slot, tasks, features)
        np.testing.assert_allclose(found[0], own[slot], rtol=1e-12, atol=1e-14)
        np.testing.assert_allclose(found[1] + found[2], shared[slot], rtol=1e-12, atol=1e-14)


@pytest.mark.parametrize("graph", ["edges", "matrix"])
@pytest.mark.parametrize("name", ["mt-ogd", "mt-pnorm"])
def test_neighbours_are_those_who_taught(name, graph):
    """On a graph of named tasks a task hears of what a neighbour learned, by A^-1 or A^-1/2, and nothing else."""
    model = weft.Model(name, graph=GRAPHS[graph], eta=0.5, loss="square", tasks=NAMES, **_plain_norm(name))
    model.learn_one({"x": 1.0}, 1.0, 7)
    model.learn_one({"z": 1.0}, 1.0, "eve")
    reach = model.relations()
    at = {task: slot for slot, task in enumerate(model.tasks)}
    for task in NAMES:
        found = model.explain({"x": 2.0}, task)
        assert found.shared == 0.0
        if name == "mt-ogd":  # eta 0.5, slope -2: G of task 7 is x
            expected = {7: 2.0 * reach[at[task], at[7]]}
            mine = expected.pop(task, 0.0)
            assert found.own == pytest.approx(mine, abs=1e-15)
            assert found.neighbours == pytest.approx({t: v for t, v in expected.items() if v})
        assert set(found.neighbours) <= set(NAMES) - {task}
        agree(found.own + sum(found.neighbours.values()), model.predict_one({"x": 2.0}, task), 2.0)


def _plain_norm(name):
    return {"p": 2.0} if name == "mt-pnorm" else {}


def test_at_two_the_p_norm_splits_by_the_root():
    """p = 2: theta_k = A^-1/2_k7 x, y = theta, so that neighbour k adds A^-1/2_ik A^-1/2_k7."""
    model = weft.Model("mt-pnorm", p=2.0, eta=0.5, loss="square", graph=[("a", "b"), ("b", "c")])
    model.learn_one({"x": 1.0}, 1.0, "c")
    A = np.array([[2.0, -1.0, 0.0], [-1.0, 3.0, -1.0], [0.0, -1.0, 2.0]])
    values, vectors = np.linalg.eigh(A)
    root = vectors @ np.diag(values**-0.5) @ vectors.T
    found = model.explain({"x": 1.0}, "a")
    assert found.own == pytest.approx(root[0, 0] * root[0, 2])
    assert found.neighbours == pytest.approx({"b": root[0, 1] * root[1, 2], "c": root[0, 2] * root[2, 2]})
    assert list(found.neighbours) == sorted(found.neighbours, key=lambda name: -abs(found.neighbours[name]))


def test_independent_tasks_have_own_parts_and_pooled_ones_shared():
    own = weft.Model("pa", C=0.5)
    pooled = weft.Model("pa", C=0.5, pooled=True)
    for model in (own, pooled):
        model.learn_one({"x": 1.0}, 1, "ann")
    assert own.explain({"x": 1.0}, "ann") == Explanation("ann", 0.5, 0.5, 0.0, {}, {})
    assert pooled.explain({"x": 1.0}, "bob") == Explanation("bob", 0.5, 0.0, 0.5, {}, {})
    assert own.explain({"x": 1.0}, "bob").score == 0.0


def test_a_newcomer_has_no_own_part():
    for setting in DESCENTS:
        model, table = learned(setting)
        found = model.explain(table[0], "nobody")
        assert (found.own, found.neighbours) == (0.0, {})
        assert found.score == model.predict_one(table[0], "nobody")


@pytest.mark.parametrize("setting", [s for s in ALL if s.keeps_rows], ids=str)
def test_kernel_forms_are_refused(setting):
    with pytest.raises(ValueError, match=r"model\.support\(\)"):
        learned(setting)[0].explain({"f1": 1.0}, "ann")


def test_points_are_refused():
    model = weft.Model("implicit", loss="uniclass")
    with pytest.raises(ValueError, match="distance"):
        model.explain([1.0], "ann")


def test_explaining_changes_nothing():
    for setting in DESCENTS:
        model, table = learned(setting)
        before = model.to_bytes()
        model.explain(table[0], "ann", per_feature=True)
        model.explain(table[0], "nobody")
        assert model.to_bytes() == before


def test_a_bad_row_is_refused():
    model = weft.Model("pa")
    with pytest.raises(ValueError, match="feature 'x' is not finite"):
        model.explain({"x": float("nan")}, "ann")


@pytest.mark.parametrize("row", [[1.0], [1.0, 2.0, 3.0], np.array([1.0])], ids=str)
@pytest.mark.parametrize("learned", [{"a": 1.0, "b": 2.0}, [1.0, 2.0]], ids=str)
def test_rows_without_names_are_refused_as_for_a_prediction(row, learned):
    model = weft.Model("mt-ogd")
    model.learn_one(learned, 1, "t")
    told = []
    for call in (model.predict_one, model.explain):
        with pytest.raises(ValueError, match="but the model has learned") as caught:
            call(row, "t")
        told.append(str(caught.value))
    assert told[0] == told[1]


def test_words():
    found = Explanation(
        "ann",
        1.0,
        0.25,
        0.0,
        {f"t{k}": 0.5**k for k in range(1, 13)},
        {"x": weft.inspection.explanation.FeatureParts(1, 0, -2)},
    )
    lines = str(found).splitlines()
    assert lines[0].split() == ["score", "of", "ann", "+1.000"]
    assert "shared" not in str(found)
    assert lines[2].split() == ["from", "t1", "+0.500"]
    assert lines[12].split() == ["2", "other", "tasks", "+0.001"]
    assert lines[-2].split() == ["feature", "total", "own", "neighbours"]
    assert lines[-1].split() == ["x", "-1.000", "+1.000", "-2.000"]
    assert len({len(line) for line in lines[:13]}) == 1
    tiny = Explanation("ann", 0.0, 1e-9, -1e-9, {}, {})
    assert "+1.000e-09" in str(tiny)
    assert "shared" in str(Explanation("ann", 0.0, 0.0, 0.0, {}, {}))
    for largest, shown in (
        (1.0, "+1.000"),
        (0.5, "+0.5000"),
        (0.1, "+0.1000"),
        (0.05, "+0.050000"),
        (1e-3, "+0.001000"),
    ):
        assert str(Explanation("ann", largest, largest, 0.0, {}, {})).split()[3] == shown
    assert Explanation("ann", 1.0, 0.25, 0.5, {"bob": -0.75}, {}).parts == {
        "from bob": -0.75,
        "shared": 0.5,
        "own": 0.25,
    }
    amounts = {"own": 1.0, "recent level": -3.0}
    assert Explanation("ann", -2.0, 7.0, 7.0, {}, {}, {}, amounts).parts == {"recent level": -3.0, "own": 1.0}


def test_many_features_are_cut():
    model = weft.Model("pa")
    x = {f"f{k}": float(k + 1) for k in range(14)}
    model.learn_one(x, 1, "ann")
    text = str(model.explain(x, "ann", per_feature=True))
    assert text.splitlines()[-1].strip() == "and 4 more features"
    assert text.index("f13") < text.index("f12")


@pytest.mark.parametrize("setting", LINEAR, ids=str)
def test_shares_have_a_row_per_neighbour_and_an_entry_per_feature(setting):
    model, _ = learned(setting)
    indices = np.arange(3)
    shares = model.learner.explain(model.state, 0, len(model.tasks), indices)
    assert shares.own.shape == shares.shared.shape == (3,)
    assert shares.neighbours.shape == (len(shares.slots), 3)
