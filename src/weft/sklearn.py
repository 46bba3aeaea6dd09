"""Learners of weft as scikit-learn estimators: `TaskClassifier` and `TaskRegressor`.

The task of a row is a column of X (`task="user"`, or its position), or metadata: `fit(X, y, task=names)`, which
pipelines and searches hand on when it is requested (`estimator.set_fit_request(task=True)`). Without either, all rows
belong to one task. `fit` begins with a new model and learns the rows in their order, once; `partial_fit` goes on.

>>> import numpy as np
>>> rng = np.random.default_rng(0); X = rng.normal(size=(300, 4)); user = rng.integers(0, 3, 300)
>>> y = np.where(X[:, 0] + user * X[:, 1] > 0, "buy", "leave")
>>> model = TaskClassifier(task=4).fit(np.column_stack([X, user]), y)
>>> model.classes_.tolist(), bool(model.score(np.column_stack([X, user]), y) > 0.9)
(['buy', 'leave'], True)
"""

import warnings
from inspect import Parameter, Signature
from typing import Any, Self

import numpy as np

try:
    from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
    from sklearn.utils.metaestimators import available_if
    from sklearn.utils.multiclass import check_classification_targets
    from sklearn.utils.validation import check_array, check_is_fitted, column_or_1d, validate_data
except ModuleNotFoundError:
    raise ImportError("weft.sklearn needs scikit-learn; install it with pip install 'weft[sklearn]'") from None

from weft.kinds.frames import as_frame
from weft.labels import plain_label
from weft.learners.catalogue import as_learner, catalogue, for_numbers
from weft.maths.losses import LOGISTIC
from weft.model import Model
from weft.reductions.per_class import Multiclass
from weft.storage.rows import first_masked
from weft.stream import Stream

ONE_TASK = "all"
"""The name of the task where there is only one."""
_OWN = ("learner", "task", "positive")
FORGOTTEN = (
    "this estimator was fitted with tasks, and these rows come without: they count as rows of one more task. Give "
    "task=..., or make the task a column of X and name it; a scorer such as 'roc_auc' hands no tasks on"
)
"""What is said where metadata did not arrive."""


class _AnyParameter:
    """A signature with the parameters of all learners, made when it is asked for.

    scikit-learn takes an attribute that no signature of an estimator's classes names for a mistake.
    """

    def __get__(self, estimator: object, kind: type) -> Signature:
        names = sorted({each.name for entry in catalogue() for each in entry.parameters} - set(_OWN))
        return Signature([Parameter(name, Parameter.KEYWORD_ONLY, default=None) for name in names])


class _TaskEstimator(BaseEstimator):  # type: ignore[misc]
    """What both estimators share: parameters of the learner, tasks and rows."""

    __signature__: Any = _AnyParameter()

    def get_params(self, deep: bool = True) -> dict[str, Any]:
        """The parameters of this estimator and those of its learner that were given."""
        return {name: value for name, value in vars(self).items() if name[0] != "_" and name[-1] != "_"}

    def set_params(self, **parameters: Any) -> Self:
        """Set parameters; a name that is not one of the estimator's own is one of its learner's."""
        for name, value in parameters.items():
            setattr(self, name, value)
        return self

    @property
    def _parameters(self) -> dict[str, Any]:
        """Parameters of the learner."""
        return {name: value for name, value in self.get_params().items() if name not in _OWN}

    def _rows(self, X: Any, task: Any, *, reset: bool) -> tuple[Any, Any]:
        """Features and tasks of X, checked."""
        column = self.task
        _refuse_masked("X", X)
        _refuse_masked("task", task)
        if column is None:
            X = validate_data(self, X, reset=reset, accept_sparse="csr", dtype=np.float64)
            if reset:
                self.has_tasks_ = task is not None
            elif task is None and self.has_tasks_:
                warnings.warn(FORGOTTEN, stacklevel=4)
            return X, ONE_TASK if task is None else _names(task, X.shape[0])
        if task is not None:
            raise ValueError(f"tasks are given twice: by the column {column!r} (task=...) and as metadata; keep one")
        validate_data(self, X, reset=reset, skip_check_array=True)
        rest, names = _split(X, column)
        rest = check_array(rest, accept_sparse="csr", dtype=np.float64, estimator=self)
        return rest, _names(names, rest.shape[0])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = True
        return tags


class TaskClassifier(ClassifierMixin, _TaskEstimator):  # type: ignore[misc]
    """A classifier with a model per task, for any number of classes.

    learner     a name of the catalogue; further keywords are its parameters
    task        the column of X that names the task: its name, or its position
    positive    which of two classes is the positive one for the learner; the larger one by default. It does not change
                the order of `classes_`

    `model_` is the `weft.Model` behind it, or the `weft.Multiclass` if there are more than two classes.
    """

    __signature__ = None  # that of __init__

    def __init__(self, learner: str = "auto", *, task: Any = None, positive: Any = None, **parameters: Any) -> None:
        self.learner = learner
        self.task = task
        self.positive = positive
        for name, value in parameters.items():
            setattr(self, name, value)

    def fit(self, X: Any, y: Any, task: Any = None) -> Self:
        """Learn the rows of X in their order with a new model."""
        return self._learn(X, y, task, None, reset=True)

    def partial_fit(self, X: Any, y: Any, classes: Any = None, task: Any = None) -> Self:
        """Learn further rows; the first call needs all `classes` that there will be."""
        is_new = not hasattr(self, "model_")
        if is_new and classes is None:
            raise ValueError("classes must be passed on the first call to partial_fit; give all classes there will be")
        return self._learn(X, y, task, classes, reset=is_new)

    def _learn(self, X: Any, y: Any, task: Any, classes: Any, *, reset: bool) -> Self:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        rows, names = self._rows(X, task, reset=reset)
        _refuse_masked("y", y)
        _refuse_masked("classes", classes)
        check_classification_targets(y)
        y = column_or_1d(y, warn=True)
        if reset:
            self._begin(np.unique(y if classes is None else np.asarray(classes)))
        elif classes is not None and not np.array_equal(np.unique(classes), self.classes_):
            raise ValueError(f"classes={classes!r} is not the same as on the last call, which were {self.classes_}")
        _expect_classes(y, self.classes_)
        self.model_.learn(Stream(rows, [plain_label(label) for label in y.tolist()], names))
        return self

    def _begin(self, classes: Any) -> None:
        """A new model for these classes."""
        if len(classes) < 2:
            raise ValueError(f"there is one class only, {classes.tolist()}; a classifier needs at least two classes")
        labels = [plain_label(label) for label in classes.tolist()]
        if self.positive is not None and plain_label(self.positive) not in labels:
            raise ValueError(f"positive={self.positive!r} is not one of the classes {labels}")
        built = as_learner(self.learner, self._parameters)
        if built.target != "binary":
            raise ValueError(f"{built.name} with these parameters does not classify; TaskRegressor predicts numbers")
        self.classes_ = classes
        if len(labels) > 2:
            self.model_: Any = Multiclass(self.learner, classes=labels, **self._parameters)
            return
        self.is_turned_ = self.positive is not None and plain_label(self.positive) == labels[0]
        self.model_ = Model(self.learner, classes=labels[::-1] if self.is_turned_ else labels, **self._parameters)

    def decision_function(self, X: Any, task: Any = None) -> Any:
        """A score per row, positive for the second of two classes; a column per class if there are more."""
        check_is_fitted(self)
        rows, names = self._rows(X, task, reset=False)
        if len(self.classes_) > 2:
            return np.log(np.maximum(self._proba(rows, names), np.finfo(float).tiny))
        scores = self.model_.score(rows, names)
        return -scores if self.is_turned_ else scores

    def predict(self, X: Any, task: Any = None) -> Any:
        """The class of every row."""
        found = self.decision_function(X, task)
        return self.classes_[np.argmax(found, axis=1) if found.ndim == 2 else (found >= 0.0).astype(np.int64)]

    def _has_probabilities(self) -> bool:
        """Probabilities need scores that are log-odds."""
        learner = as_learner(self.learner, self._parameters)
        if learner.target != "binary" or learner.tally_loss[0] != LOGISTIC:
            raise AttributeError(f"{learner.name} has scores that are not log-odds, and so no predict_proba")
        return True

    @available_if(_has_probabilities)  # type: ignore[untyped-decorator]
    def predict_proba(self, X: Any, task: Any = None) -> Any:
        """Probabilities, a column per class in the order of `classes_`."""
        check_is_fitted(self)
        return self._proba(*self._rows(X, task, reset=False))

    def _proba(self, rows: Any, names: Any) -> Any:
        found = self.model_.predict_proba(rows, names)
        if found.ndim == 2:
            return found
        both = np.column_stack([1.0 - found, found])
        return both[:, ::-1] if self.is_turned_ else both

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The share of rows whose class is predicted."""
        _refuse_masked("y", y)
        _refuse_masked("sample_weight", sample_weight)
        hits = self.predict(X, task) == column_or_1d(y)
        return float(np.average(hits, weights=sample_weight))


class TaskRegressor(RegressorMixin, _TaskEstimator):  # type: ignore[misc]
    """A regressor with a model per task; `learner` and `task` as in `TaskClassifier`.

    The loss is `square` unless `loss` is given, or the first of the learner's losses that predicts numbers. `model_` is
    the `weft.Model` behind it.
    """

    __signature__ = None  # that of __init__

    def __init__(self, learner: str = "auto", *, task: Any = None, **parameters: Any) -> None:
        self.learner = learner
        self.task = task
        for name, value in parameters.items():
            setattr(self, name, value)

    def fit(self, X: Any, y: Any, task: Any = None) -> Self:
        """Learn the rows of X in their order with a new model."""
        return self._learn(X, y, task, reset=True)

    def partial_fit(self, X: Any, y: Any, task: Any = None) -> Self:
        """Learn further rows."""
        return self._learn(X, y, task, reset=not hasattr(self, "model_"))

    def _learn(self, X: Any, y: Any, task: Any, *, reset: bool) -> Self:
        if y is None:
            raise ValueError("requires y to be passed, but the target y is None")
        rows, names = self._rows(X, task, reset=reset)
        _refuse_masked("y", y)
        y = column_or_1d(y, warn=True)
        if y.dtype.kind in "US" or any(isinstance(label, str) for label in (y if y.dtype.kind == "O" else ())):
            raise ValueError("y holds strings; TaskRegressor predicts numbers, and TaskClassifier classes")
        y = check_array(y, ensure_2d=False, dtype=np.float64, input_name="y")
        if reset:
            self.model_: Any = Model(self.learner, **for_numbers(self.learner, self._parameters))
        self.model_.learn(Stream(rows, y, names))
        return self

    def predict(self, X: Any, task: Any = None) -> Any:
        """The value of every row."""
        check_is_fitted(self)
        return self.model_.score(*self._rows(X, task, reset=False))

    def score(self, X: Any, y: Any, sample_weight: Any = None, task: Any = None) -> float:
        """The coefficient of determination, R^2."""
        from sklearn.metrics import r2_score

        _refuse_masked("y", y)
        _refuse_masked("sample_weight", sample_weight)
        return float(r2_score(y, self.predict(X, task), sample_weight=sample_weight))


def _refuse_masked(what: str, values: Any) -> None:
    """scikit-learn reads what is behind a mask; weft takes it for what it is: not there."""
    if (at := first_masked(values)) is not None:
        where = ", ".join(f"{axis} {i}" for axis, i in zip(("row", "column"), at, strict=False))
        raise ValueError(f"{where}: {what} is masked; give it a value, such as {what}.filled(...), or drop the row")


def _expect_classes(y: Any, classes: Any) -> None:
    """Refuse a class that was not told at first: `classes_` and the columns of probabilities stay as they are."""
    others = np.setdiff1d(y, classes)
    if len(others):
        raise ValueError(f"y has classes that are not among {classes.tolist()}, such as {others.tolist()[0]!r}")


def _names(task: Any, n: int) -> Any:
    """A name per row: integers as such also where a table of floats held them. One name alone is that of all rows."""
    if isinstance(task, str):
        return task
    if isinstance(task, int | np.integer) and not isinstance(task, bool):
        return int(task)
    if isinstance(task, list | tuple) and any(isinstance(name, tuple) for name in task):
        found = np.empty(len(task), object)  # of tuples NumPy would make a table
        found[:] = task
    else:
        found = np.asarray(task, object) if not isinstance(task, np.ndarray) else task
    if found.ndim != 1 or len(found) != n:
        raise ValueError(f"task has shape {found.shape}, X has {n} rows; give one name per row")
    if found.dtype.kind == "f":
        if not np.all(found == np.floor(found)):
            raise ValueError("the task column holds numbers that are not integers; tasks are strings or integers")
        found = found.astype(np.int64)
    return [int(name) if isinstance(name, float) and name.is_integer() else name for name in found.tolist()]


def _split(X: Any, column: Any) -> tuple[Any, Any]:
    """X without the column of tasks, and that column."""
    is_position = isinstance(column, int | np.integer) and not isinstance(column, bool)
    if type(X).__module__.split(".")[0] == "pyarrow":
        X = as_frame(X)  # columns of pyarrow are not found by name
    if hasattr(X, "columns"):  # a data frame of pandas, polars or narwhals
        names = list(X.columns)
        if column not in names and not is_position:
            raise ValueError(f"X has no column {column!r}, which names the task; its columns are {names[:8]}")
        name = column if column in names else names[_position(column, len(names))]
        return X[[other for other in names if other != name]], np.asarray(X[name], object)
    if not is_position:
        raise ValueError(f"X has no names of columns; give the position of the task's column, not {column!r}")
    X = X.tocsc() if hasattr(X, "tocsc") else np.asarray(X)
    if X.ndim != 2:
        raise ValueError(f"X has shape {X.shape}, and no column {column} that names the task")
    at = _position(column, X.shape[1])
    if isinstance(X, np.ndarray):
        return np.delete(X, at, axis=1), X[:, at]
    others = [other for other in range(X.shape[1]) if other != at]
    return X[:, others].tocsr(), np.asarray(X[:, [at]].todense()).ravel()


def _position(column: Any, width: int) -> int:
    """A position from the first column on."""
    if not -width <= column < width:
        raise ValueError(f"X has {width} columns, and no column {column} that names the task")
    return int(column) % width
