"""scikit-learn: its own checks, and the tools that people put around an estimator."""

import warnings

import numpy as np
import pandas as pd
import polars
import pyarrow
import pytest
import sklearn
from scipy import sparse
from sklearn.base import clone
from sklearn.compose import ColumnTransformer
from sklearn.exceptions import UnsetMetadataPassedError
from sklearn.model_selection import GridSearchCV, cross_val_score, cross_validate
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import OneHotEncoder, StandardScaler
from sklearn.utils.estimator_checks import check_estimator

import weft
from weft.sklearn import TaskClassifier, TaskRegressor

pytestmark = pytest.mark.xdist_group("sklearn")


def made(n=240, seed=3, classes=("no", "yes")):
    """Rows whose label depends on the user: what is good for one is bad for another."""
    rng = np.random.default_rng(seed)
    X, user = rng.normal(size=(n, 3)), rng.integers(0, 4, n)
    score = np.where(user % 2, 1, -1) * X[:, 0] + X[:, 1]
    y = np.array(classes)[np.digitize(score, np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1]))]
    return X, y, [f"user {number}" for number in user], score


@pytest.mark.parametrize(
    "estimator",
    [
        TaskClassifier(), TaskRegressor(), TaskClassifier("pa"), TaskClassifier(effort="fast"),
        TaskClassifier("mt-ogd", eta=0.1, b=2.0), TaskRegressor("pa"), TaskRegressor("mt-ogd", loss="square"),
    ],
    ids=str,
)  # fmt: skip
def test_its_own_checks(estimator):
    """All of them, none of them excused."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = check_estimator(estimator, on_fail=None)
    assert [(one["check_name"], str(one["exception"])) for one in found if one["status"] == "failed"] == []
    assert sum(one["status"] == "passed" for one in found) > 45


def test_the_model_is_that_of_weft():
    """Bit for bit, learned at once and in pieces, with tasks as metadata, as a column, and by name."""
    X, y, user, _ = made()
    expected = weft.Model("mt-ogd", eta=0.3, classes=["no", "yes"])
    expected.learn(weft.Stream(X, y, user))
    whole = TaskClassifier("mt-ogd", eta=0.3).fit(X, y, task=user)
    pieces = TaskClassifier("mt-ogd", eta=0.3)
    for lo in range(0, len(y), 50):
        pieces.partial_fit(X[lo : lo + 50], y[lo : lo + 50], classes=["no", "yes"], task=user[lo : lo + 50])
    assert whole.model_.to_bytes() == pieces.model_.to_bytes() == expected.to_bytes()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(user=user)
    by_name = TaskClassifier("mt-ogd", eta=0.3, task="user").fit(frame, y)
    assert by_name.feature_names_in_.tolist() == ["a", "b", "c", "user"]
    assert np.array_equal(by_name.decision_function(frame), whole.decision_function(X, task=user))
    numbered = np.column_stack([X, [int(name[5:]) for name in user]])
    by_position = TaskClassifier("mt-ogd", eta=0.3, task=-1).fit(numbered, y)
    assert np.array_equal(by_position.decision_function(numbered), whole.decision_function(X, task=user))
    as_sparse = TaskClassifier("mt-ogd", eta=0.3, task=3).fit(sparse.csr_array(numbered), y)
    assert np.array_equal(as_sparse.predict(sparse.csr_array(numbered)), whole.predict(X, task=user))


def test_tasks_matter():
    X, y, user, _ = made(n=800)
    alone, told = TaskClassifier().fit(X[:600], y[:600]), TaskClassifier().fit(X[:600], y[:600], task=user[:600])
    assert told.score(X[600:], y[600:], task=user[600:]) > alone.score(X[600:], y[600:]) + 0.1


def test_classes_and_probabilities():
    X, y, user, _ = made()
    usual = TaskClassifier().fit(X, y, task=user)
    turned = TaskClassifier(positive="no").fit(X, y, task=user)
    assert usual.classes_.tolist() == turned.classes_.tolist() == ["no", "yes"]
    assert turned.model_.classes == ("yes", "no")
    for model in (usual, turned):
        proba, scores = model.predict_proba(X, task=user), model.decision_function(X, task=user)
        assert np.allclose(proba.sum(axis=1), 1.0)
        assert np.array_equal(model.predict(X, task=user), np.array(["no", "yes"])[(scores >= 0).astype(int)])
        assert np.array_equal(proba[:, 1] >= 0.5, scores >= 0)
    with pytest.raises(ValueError, match=r"positive='maybe' is not one of the classes"):
        TaskClassifier(positive="maybe").fit(X, y)
    assert not hasattr(TaskClassifier("pa"), "predict_proba")


def test_more_than_two_classes():
    X, y, user, _ = made(n=900, classes=("low", "mid", "top"))
    model = TaskClassifier().fit(X[:700], y[:700], task=user[:700])
    assert isinstance(model.model_, weft.Multiclass)
    assert model.predict_proba(X, task=user).shape == (900, 3)
    assert model.score(X[700:], y[700:], task=user[700:]) > 0.6


@pytest.mark.parametrize("classes", [("no", "yes"), ("low", "mid", "top")])
def test_a_class_that_was_not_told_at_first(classes):
    """Probabilities have a column per class of `classes_`, so that a further one is refused, and nothing learned."""
    X, y, user, _ = made(classes=classes)
    model = TaskClassifier("pa").partial_fit(X, y, classes=classes, task=user)
    before = model.model_.to_bytes()
    with pytest.raises(ValueError, match=r"y has classes that are not among .* such as 'new'"):
        model.partial_fit(X, ["new", *y[1:]], task=user)
    assert model.model_.to_bytes() == before
    assert model.decision_function(X, task=user).shape in ((240,), (240, 3))


def test_names_of_tasks():
    """Tuples as everywhere in weft; one name alone is that of all rows, an integer as well as a string."""
    X, y, user, _ = made()
    parts = [("shop", name) for name in user]
    expected = weft.Model("pa", classes=["no", "yes"])
    expected.learn(weft.Stream(X, y, parts))
    assert TaskClassifier("pa").fit(X, y, task=parts).model_.to_bytes() == expected.to_bytes()
    assert TaskClassifier("pa").fit(X, y, task=7).model_.tasks == [7]
    assert TaskClassifier("pa").fit(X, y, task=np.int64(7)).model_.tasks == [7]


def test_in_a_pipeline_with_named_columns():
    """Columns are scaled and encoded by name, the task passes through; then a search over the learner's parameters."""
    X, y, user, _ = made()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(user=user, colour=["red", "blue", "green"] * 80)
    columns = ColumnTransformer(
        [
            ("numbers", StandardScaler(), ["a", "b", "c"]),
            ("words", OneHotEncoder(sparse_output=False), ["colour"]),
            ("task", "passthrough", ["user"]),
        ],
        verbose_feature_names_out=False,
    ).set_output(transform="pandas")
    pipeline = make_pipeline(columns, TaskClassifier("mt-ogd", task="user", eta=0.1))
    search = GridSearchCV(pipeline, {"taskclassifier__eta": [0.01, 0.5]}, cv=3, error_score="raise").fit(frame, y)
    assert search.best_params_["taskclassifier__eta"] in (0.01, 0.5)
    assert cross_validate(pipeline, frame, y, cv=3, error_score="raise")["test_score"].mean() > 0.5
    shown = search.best_estimator_._repr_html_()
    assert "TaskClassifier" in shown
    assert "eta" in shown


def test_a_table_of_pyarrow():
    X, y, user, _ = made()
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(user=user)
    table = pyarrow.Table.from_pandas(frame)
    model, expected = (TaskClassifier("pa", task="user").fit(given, y) for given in (table, frame))
    assert model.model_.to_bytes() == expected.model_.to_bytes()
    assert model.feature_names_in_.tolist() == ["a", "b", "c", "user"]
    assert np.array_equal(model.predict(table), expected.predict(frame))


@pytest.mark.parametrize("kind", ["pandas", "polars"])
def test_frames_of_other_libraries_give_the_same(kind):
    X, y, user, _ = made(classes=("low", "mid", "top"))
    frame = pd.DataFrame(X, columns=["a", "b", "c"]).assign(user=user)
    columns = ColumnTransformer([("numbers", StandardScaler(), ["a", "b", "c"]), ("task", "passthrough", ["user"])])
    columns.set_output(transform=kind)
    model = make_pipeline(columns, TaskClassifier("pa", task="task__user"))
    given = frame if kind == "pandas" else polars.from_pandas(frame)
    expected = TaskClassifier("pa").fit(StandardScaler().fit_transform(X), y, task=user)
    assert model.fit(given, y)[-1].model_.to_bytes()  # a model per class, in one file
    assert np.array_equal(model.predict(given), expected.predict(StandardScaler().fit_transform(X), task=user))


def test_routed_metadata():
    X, y, user, score = made()
    with sklearn.config_context(enable_metadata_routing=True):
        estimator = TaskClassifier().set_fit_request(task=True).set_score_request(task=True)
        found = cross_val_score(estimator, X, y, cv=3, params={"task": np.array(user)}, error_score="raise")
        assert found.mean() > 0.7
        numbers = TaskRegressor().set_fit_request(task=True).set_score_request(task=True)
        found = cross_val_score(numbers, X, score, cv=3, params={"task": np.array(user)}, error_score="raise")
        assert found.mean() > 0.5


def test_routed_through_searches_and_pipelines():
    """The tasks of the rows of every fold arrive at every step that asks for them."""
    X, y, user, _ = made(n=400)
    tasks = np.array(user)
    with sklearn.config_context(enable_metadata_routing=True):
        last = TaskClassifier("mt-ogd", eta=0.1).set_fit_request(task=True).set_score_request(task=True)
        pipeline = make_pipeline(StandardScaler(), last.set_predict_request(task=True))
        grid = {"taskclassifier__eta": [0.03, 0.3]}
        search = GridSearchCV(pipeline, grid, cv=3, error_score="raise").fit(X, y, task=tasks)
        told = search.best_estimator_.score(X, y, task=tasks)
        assert set(search.best_estimator_[-1].model_.tasks) == set(user)
        found = cross_validate(pipeline, X, y, cv=3, params={"task": tasks}, error_score="raise")["test_score"]
        assert min(told, *found) > 0.8
        with pytest.warns(UserWarning, match="come without"):
            assert np.mean(search.predict(X) == y) < told
        with pytest.raises(UnsetMetadataPassedError):
            make_pipeline(StandardScaler(), TaskClassifier()).fit(X, y, task=tasks)


def test_tasks_that_were_forgotten_are_noticed():
    """A scorer hands no metadata to predict: figures would be those of a task that nobody has."""
    X, y, user, _ = made()
    model = TaskClassifier("pa").fit(X, y, task=user)
    with pytest.warns(UserWarning, match="was fitted with tasks, and these rows come without"):
        model.predict(X)
    with pytest.warns(UserWarning, match="was fitted with tasks"):
        TaskClassifier("mt-ogd").fit(X, y, task=user).predict_proba(X)
    model.predict(X, task="a new one")  # asked for: a task by name, known or not
    TaskClassifier("pa").fit(X, y).predict(X)


def test_losses_of_a_regressor():
    X, _, user, score = made()
    assert TaskRegressor("pa").fit(X, score, task=user).model_.parameters["loss"] == "epsilon-insensitive"
    assert TaskRegressor("mt-ogd").fit(X, score, task=user).model_.parameters["loss"] == "square"
    with pytest.raises(ValueError, match="arow with these parameters predicts no numbers"):
        TaskRegressor("arow").fit(X, score)
    with pytest.raises(ValueError, match="loss='hinge' of pa predicts no numbers; loss='epsilon-insensitive' does"):
        TaskRegressor("pa", loss="hinge").fit(X, score)


def test_parameters_and_clones():
    model = TaskClassifier("mt-ogd", task="user", eta=0.5)
    assert clone(model).get_params() == {"learner": "mt-ogd", "task": "user", "positive": None, "eta": 0.5}
    assert clone(model).set_params(eta=0.7, learner="mt-ftrl").get_params()["eta"] == 0.7
    assert repr(model) == "TaskClassifier(eta=0.5, learner='mt-ogd', task='user')"


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda X, y, user: TaskClassifier(task="user").fit(X, y), "X has no names of columns"),
        (lambda X, y, user: TaskClassifier(task=7).fit(X, y), "no column 7"),
        (lambda X, y, user: TaskClassifier(task=3).fit(sparse.csr_array(X), y), "X has 3 columns, and no column 3"),
        (lambda X, y, user: TaskClassifier(task=-4).fit(pd.DataFrame(X), y), "X has 3 columns, and no column -4"),
        (lambda X, y, user: TaskClassifier(task=True).fit(X, y), "not True"),
        (lambda X, y, user: TaskClassifier(task=0).fit(X, y, task=user), "given twice"),
        (lambda X, y, user: TaskClassifier(task=0).fit(X, y), "numbers that are not integers"),
        (lambda X, y, user: TaskClassifier().fit(X, y, task=user[:3]), "give one name per row"),
        (lambda X, y, user: TaskClassifier().fit(X, ["no"] * len(y)), "one class only"),
        (lambda X, y, user: TaskClassifier().partial_fit(X, y), "classes must be passed on the first call"),
        (lambda X, y, user: TaskClassifier(colour=1).fit(X, y), "colour"),
        (lambda X, y, user: TaskClassifier(positive="maybe").fit(X, user), "is not one of the classes"),
        (lambda X, y, user: TaskClassifier(loss="square").fit(X, y), "TaskRegressor predicts numbers"),
        (lambda X, y, user: TaskRegressor("pa").fit(X, [str(value) for value in X[:, 0]]), "y holds strings"),
        (lambda X, y, user: TaskRegressor("pa").fit(X, np.array(y, object)), "y holds strings"),
    ],
)
def test_refusals(call, message):
    X, y, user, _ = made(40)
    with pytest.raises((ValueError, TypeError), match=message):
        call(X, y, user)


def masked(values, at):
    """As NumPy has it: what is behind the mask is still there."""
    found = np.ma.array(values)
    found[at] = np.ma.masked
    return found


@pytest.mark.parametrize("kind", [TaskClassifier, TaskRegressor])
@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda m, X, y, user: m.fit(masked(X, (5, 1)), y, task=user), "row 5, column 1: X is masked; give it a value"),
        (
            lambda m, X, y, user: m.set_params(task=2).fit(masked(np.round(X), (5, 2)), y),
            "row 5, column 2: X is masked",
        ),
        (lambda m, X, y, user: m.fit(X, masked(y, 3), task=user), "row 3: y is masked"),
        (lambda m, X, y, user: m.fit(X, y, task=masked(user, 4)), "row 4: task is masked"),
        (lambda m, X, y, user: m.fit(X, y, task=user).predict(masked(X, (0, 0)), task=user), "row 0, column 0: X is"),
        (lambda m, X, y, user: m.fit(X, y, task=user).score(X, masked(y, 7), task=user), "row 7: y is masked"),
        (
            lambda m, X, y, user: m.fit(X, y, task=user).score(X, y, masked(np.ones(len(y)), 2), user),
            "row 2: sample_weight is masked",
        ),
    ],
)
def test_what_is_masked_is_refused_by_its_place(kind, call, message):
    X, _, user, score = made(40)
    with pytest.raises(ValueError, match=message):
        call(kind("pa"), X, np.sign(score), np.array(user))


def test_masked_classes_are_refused_and_masks_of_nothing_do_no_harm():
    X, y, user, _ = made(40)
    with pytest.raises(ValueError, match="row 1: classes is masked"):
        TaskClassifier("pa").partial_fit(X, y, classes=np.ma.array(["no", "yes"], mask=[False, True]), task=user)
    plain = TaskClassifier("pa").fit(X, y, task=user)
    same = TaskClassifier("pa").fit(np.ma.array(X), np.ma.array(y), task=np.ma.array(user))
    assert same.model_.to_bytes() == plain.model_.to_bytes()
