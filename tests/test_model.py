"""Model, the public API."""

import copy
import os

import numpy as np
import pytest
from scipy import sparse

import weft
from contracts.settings import SETTINGS
from contracts.streams import make_events
from weft.learners.single_task.passive_aggressive import PassiveAggressive


def test_tasks_declared_by_name_or_number():
    assert weft.Model("pa").tasks == []
    assert weft.Model("pa", tasks=3).tasks == [0, 1, 2]
    assert weft.Model("pa", tasks=["ann", ("b", 1), 7]).tasks == ["ann", ("b", 1), 7]
    model = weft.Model("pa", tasks=(name for name in "ba"))
    model.learn_one({"x": 1.0}, 1, "a")
    assert model.tasks == ["b", "a"]
    assert model.tally.counts.tolist() == [0, 1]


def test_a_learner_that_is_built():
    model = weft.Model(PassiveAggressive(C=0.5))
    assert model.learner.C == 0.5
    with pytest.raises(ValueError, match="already built"):
        weft.Model(PassiveAggressive(), C=1.0)


def test_repr():
    model = weft.Model("perceptron", tasks=["ann"])
    model.learn_one({"x": 1.0, "y": 1.0}, 1, "bob")
    assert repr(model) == "Model(Perceptron(pooled=False), 2 tasks, 2 features, 1 events)"


def test_scores_and_weights_of_a_linear_learner():
    rng = np.random.default_rng(0)
    X, y, tasks = rng.normal(size=(40, 5)), rng.choice([-1, 1], 40), rng.choice(list("abc"), 40)
    model = weft.Model("pa", C=0.1)
    model.learn(weft.Stream(X, y, tasks))
    W = model.weights()
    assert W.shape == (3, 5)
    at = [model.tasks.index(task) for task in tasks]
    np.testing.assert_allclose(model.score(X, tasks), np.sum(X * W[at], axis=1), rtol=1e-12)
    assert model.relations().tolist() == np.eye(3).tolist()


def test_pooled_learners_have_one_row_for_all():
    model = weft.Model("pa", pooled=True)
    model.learn(weft.Stream([[1.0, 0.0], [0.0, 1.0]], [1, -1], ["ann", "bob"]))
    assert model.weights().tolist() == [[1.0, -1.0]] * 2
    assert model.relations().tolist() == [[1.0, 1.0]] * 2
    assert model.predict_one([1.0, 0.0], "nobody") == 1.0


def test_weights_before_the_first_event():
    assert weft.Model("pa").weights().shape == (0, 0)
    assert weft.Model("pa", tasks=2).weights().shape == (2, 0)
    assert weft.Model("pa", tasks=2, pooled=True).weights().shape == (2, 0)


def test_support_of_the_kernel_form():
    model = weft.Model("implicit", kernel="linear", C=1.0)
    model.learn_one({"a": 1.0, "b": 2.0}, 1, "ann")
    model.learn_one({"b": 1.0}, -1, "bob")
    kept = model.support()
    assert [(row.task, row.row) for row in kept] == [("ann", {"a": 1.0, "b": 2.0}), ("bob", {"b": 1.0})]
    assert [row.coefficient for row in kept] == [0.2, -1.0]
    with pytest.raises(ValueError, match="support"):
        model.weights()
    for other in (weft.Model("implicit"), weft.Model("pa")):
        with pytest.raises(ValueError, match="weights"):
            other.support()


def test_the_linear_kernel_is_the_primal_form():
    events = make_events("binary", "rounds", "named", seed=71)
    primal, dual = weft.Model("implicit", C=0.4), weft.Model("implicit", C=0.4, kernel="linear")
    np.testing.assert_allclose(primal.learn(events.stream()), dual.learn(events.stream()), atol=1e-12)
    W = np.zeros_like(primal.weights())
    for task, coefficient, row, *_ in dual.support():
        for name, value in row.items():
            W[dual.tasks.index(task), dual.features.index(name)] += coefficient * value
    np.testing.assert_allclose(W, primal.weights(), atol=1e-12)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_rows_of_every_kind_in_single_events(setting):
    """A dict, a dense row, a sparse row and a table of one row are one event."""
    rng = np.random.default_rng(1)
    y = {"binary": [1.0, -1.0, 1.0], "real": [0.5, -2.0, 1.0], "point": [None] * 3}[setting.target]
    X = rng.normal(size=(3, 4))
    forms = {
        "array": list(X),
        "list": X.tolist(),
        "tuple": [tuple(x) for x in X],
        "csr": [sparse.csr_array(x[None]) for x in X],
        "csr_matrix": [sparse.csr_matrix(x[None]) for x in X],
        "vector": [sparse.coo_array(x) for x in X],
        "dict": [dict(enumerate(x.tolist())) for x in X],
    }
    found = {}
    for form, rows in forms.items():
        model = setting.model()
        scores = [model.learn_one(x, label, "ann") for x, label in zip(rows, y, strict=True)]
        found[form] = (
            scores,
            model.predict_one(rows[0], "ann"),
            model.predict_one(rows[0], "bob"),
            model.features,
        )
    bulk = setting.model()
    scores = bulk.learn(weft.Stream(X, None if setting.target == "point" else y, "ann")).tolist()
    assert bulk.features[:4] == [0, 1, 2, 3]
    expected = scores, *bulk.score(X[[0, 0]], ["ann", "bob"]).tolist(), bulk.features
    assert found == dict.fromkeys(forms, expected)


def test_single_events_grow_everything():
    """Ever more features, tasks and pairs: buffers and states are recreated, and nothing is lost."""
    single, bulk = weft.Model("perceptron"), weft.Model("perceptron")
    rows = [{f"f{(7 * i + j) % 997}": 1.0 + j for j in range(1 + i)} for i in range(120)]
    tasks, labels = [f"t{i % 37}" for i in range(120)], [1 if i % 3 else -1 for i in range(120)]
    scores = [single.learn_one(x, y, task) for x, y, task in zip(rows, labels, tasks, strict=True)]
    assert bulk.learn(weft.Stream(rows, labels, tasks)).tolist() == scores
    assert single.to_bytes() == bulk.to_bytes()


def test_order_and_zeros_of_a_dict_do_not_matter():
    one, other = weft.Model("pa"), weft.Model("pa")
    for model in (one, other):
        model.learn_one({"a": 1.0, "b": 2.0, "c": 3.0}, 1, "ann")
    one.learn_one({"a": 5.0, "c": 1.0}, -1, "ann")
    other.learn_one({"c": 1.0, "b": 0.0, "a": 5}, -1, "ann")
    assert one.to_bytes() == other.to_bytes()


def test_columns_and_names_in_one_model():
    model = weft.Model("perceptron")
    model.learn(weft.Stream([[1.0, 2.0]], [1], "ann"))
    model.learn_one({"age": 3.0, 1: 1.0}, -1, "ann")
    assert model.features == [0, 1, "age"]
    assert model.weights().tolist() == [[1.0, 1.0, -3.0]]
    before = model.to_bytes()
    for refused in (
        lambda: model.learn(weft.Stream([[0.0, 4.0]], [1], "ann")),
        lambda: model.score([[1.0, 0.0]], "ann"),
    ):
        with pytest.raises(ValueError, match="2 columns without names, but the model has learned features with names"):
            refused()
    assert model.to_bytes() == before


def test_a_dense_table_of_another_width():
    model = weft.Model("perceptron")
    model.learn(weft.Stream([[1.0, 2.0]], [1], "ann"))
    before = model.to_bytes()
    for X in ([[1.0]], [[1.0, 2.0, 3.0]]):
        for refused in (
            lambda X=X: model.learn(weft.Stream(X, [1], "ann")),
            lambda X=X: model.learn(weft.Stream(np.array(X), [1], "bob")),
            lambda X=X: model.learn(weft.Stream.shared(X, [[1, -1]], ["ann", "bob"])),
            lambda X=X: model.learn(weft.Stream(X * 2, [1, 1], "ann").cut(0, 1)),
            lambda X=X: model.learn_one(X[0], 1, "ann"),
            lambda X=X: model.predict(X, "ann"),
            lambda X=X: model.score(np.array(X), "ann"),
            lambda X=X: model.predict_one(np.array(X[0]), "ann"),
        ):
            with pytest.raises(ValueError, match=f"has {len(X[0])} columns, but the model has learned tables with 2"):
                refused()
    assert model.to_bytes() == before
    assert model.score(sparse.csr_array([[0.0, 0.0, 1.0]]), "ann").tolist() == [0.0]  # sparse rows have no width


def test_a_row_longer_than_R_is_warned_of_once():
    model = weft.Model("implicit", R=1.0)
    with pytest.warns(UserWarning, match=r"norm 5 exceeds R=1"):
        model.learn_one({"a": 3.0, "b": 4.0}, 1, "ann")
    model.learn_one({"a": 3.0, "b": 5.0}, -1, "ann")


def test_predict_gives_labels():
    model = weft.Model("perceptron")
    model.learn(weft.Stream([[1.0], [-1.0]], [1, -1], "ann"))
    assert model.predict([[2.0], [-2.0], [0.0]], "ann").tolist() == [1, -1, 1]
    assert model.predict([[2.0], [2.0]], ["ann", "bob"]).tolist() == [1, 1]


def test_a_copy_goes_its_own_way(tmp_path):
    model = weft.Model("pa")
    model.learn_one({"a": 1.0}, 1, "ann")
    model.learn_one({"a": 1.0}, 1, "ann")
    twin = weft.Model.from_bytes(model.to_bytes())
    before = model.to_bytes()
    twin.learn_one({"b": 1.0}, -1, "bob")
    assert model.to_bytes() == before
    assert copy.copy(model.learner) == model.learner


def test_saving_over_a_file_that_cannot_be_replaced(tmp_path):
    folder = tmp_path / "model.weft"
    folder.mkdir()
    with pytest.raises(OSError):
        weft.Model("pa").save(folder)
    assert os.listdir(tmp_path) == ["model.weft"]


def test_the_width_of_dense_tables_is_kept():
    """The first dense table decides, whatever was declared; a loaded model knows it, cut streams have it."""
    for declared in (None, 2, 5):
        model = weft.Model("pa", features=declared)
        stream = weft.Stream(np.ones((4, 3)), [1, -1, 1, -1], "ann")
        model.learn(stream.cut(0, 2))
        loaded = weft.Model.from_bytes(model.to_bytes())
        model.learn(stream.cut(2, 4))
        loaded.learn(stream.cut(2, 4))
        whole = weft.Model("pa", features=declared)
        whole.learn(stream)
        assert model.to_bytes() == loaded.to_bytes() == whole.to_bytes()
        before = loaded.to_bytes()
        for width in (2, 4):
            with pytest.raises(ValueError, match=f"has {width} columns, but the model has learned tables with 3"):
                loaded.learn(weft.Stream(np.ones((1, width)), [1], "ann"))
            with pytest.raises(ValueError, match=f"has {width} columns"):
                loaded.predict(np.ones((1, width)), "ann")
        assert loaded.to_bytes() == before
    named = weft.Model("pa", features=["a", "b"])
    named.learn_one({"a": 1.0}, 1, "ann")
    assert weft.Model.from_bytes(named.to_bytes()).predict_one({"b": 1.0}, "ann") == 0.0


@pytest.mark.parametrize("width", [0, 4, -1, 2.0, "3", True])
def test_a_forged_width(width):
    import io

    from weft.store.digests import FileError

    model = weft.Model("pa")
    model.learn(weft.Stream(np.ones((1, 3)), [1], "ann"))
    out = io.BytesIO()
    model.write_to(out.write, {"width": width})
    with pytest.raises(FileError, match="the file's width cannot be used"):
        weft.Model.from_bytes(out.getvalue())


def test_tables_of_pyarrow_are_read_by_name():
    import pyarrow

    model = weft.Model("pa")
    model.learn(weft.Stream(pyarrow.table({"a": [1.0, 0.0], "b": [0.0, 2.0]}), [1, -1], "ann"))
    assert model.features == ["a", "b"]
    turned = pyarrow.table({"b": [2.0], "a": [1.0]})
    assert model.score(turned, "ann")[0] == model.predict_one({"a": 1.0, "b": 2.0}, "ann")


def test_rows_without_known_names_are_reported():
    model = weft.Model()
    model.learn(weft.Stream([{"a": 1.0}, {"b": 1.0}], [1, -1], "ann"))
    rows = [{"a": 1.0, "new": 1.0}, {"new": 1.0}, {}]
    for method in (model.predict, model.predict_proba):
        with pytest.warns(UserWarning, match="row 1 without any feature that the model knows"):
            method(rows, "ann")
    model.score(rows, "ann")  # for programs, which may ask `strange_rows`
    assert model.strange_rows(weft.Stream(rows, None, "ann")).tolist() == [False, True, False]


def test_borrowing_as_a_frame():
    model = weft.Model()
    model.learn(weft.Stream([{"a": 1.0}] * 4, [1, -1, 1, 1], ["ann", ("team", 1), "ann", "ann"]))
    frame = model.borrowing().to_frame()
    assert frame.index.tolist() == ["ann", ("team", 1)]
    assert frame.loc["ann"].to_dict() == pytest.approx(model.borrowing()["ann"]._asdict())
    assert "<td>ann</td>" in model.borrowing()._repr_html_()
    assert model.borrowing().experts == model.experts()
    assert "<td>betting</td>" in model.borrowing()._repr_html_()
    teams = weft.Model()
    teams.learn(weft.Stream([{"a": 1.0}] * 2, [1, -1], [("team", 1), ("team", 2)]))
    assert teams.borrowing().to_frame().index.tolist() == teams.tasks  # a level each would be another name
    assert teams.borrowing().to_frame().index.nlevels == 1


def test_a_frame_without_a_schema_is_told_what_to_do():
    with pytest.raises(ValueError, match=r"give the model a schema, as in weft\.Model\(schema="):
        weft.Model().learn([{"user": "ann", "label": 1}])
