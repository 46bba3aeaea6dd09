"""Peers on the same events: Vowpal Wabbit, river and scikit-learn, each asked for a prediction before it learns.

They are no dependencies of weft: `pip install "weft[bench]"` brings them. Labels are -1 and +1 (predictions are
probabilities of +1) or numbers. Each has its defaults, but for what is said here and one `parameter` that may be given:
`-l` of Vowpal Wabbit, the rate of river's SGD, `alpha` of scikit-learn. A peer that is used in two ways has a
second name, which goes on after a "-".
"""

import importlib.util
import math
from collections.abc import Callable
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints

MODULES = {
    "vw": "vowpalwabbit",
    "river": "river",
    "sklearn": "sklearn",
}
Models = dict[int, Any]
"""A peer's model for every task; who gives an empty dict finds them there after the last event."""
_BITS = 22
"""Vowpal Wabbit has a table of 2^22 entries."""


def is_here(peer: str) -> bool:
    """Is a peer installed?"""
    return importlib.util.find_spec(MODULES[_package(peer)]) is not None


def _package(peer: str) -> str:
    """The key of MODULES, without the way to use it.

    >>> _package("river-plain")
    'river'
    """
    return peer.split("-")[0]


def bytes_of(peer: str, models: Models) -> int:
    """What its models take: a whole table, 4 floats an entry (Vowpal Wabbit); the weights; or what river itself counts.

    river does not see its weights, which are no Python objects: 16 bytes each, for the key and the value, are added.
    """
    if _package(peer) == "vw":
        return 16 << _BITS
    if _package(peer) == "river":
        return sum(int(model._raw_memory_usage) + 16 * len(_linear(model).weights) for model in models.values())
    return sum(int(model.coef_.nbytes + model.intercept_.nbytes) for model in models.values())


def _linear(model: Any) -> Any:
    """river's linear model, which is the last step if it stands behind a scaler."""
    from river.compose import Pipeline

    return list(model.steps.values())[-1] if isinstance(model, Pipeline) else model


def vw(
    X: Any, y: Floats, task: Ints, binary: bool, parameter: float | None = None, models: Models | None = None
) -> Floats:
    """Vowpal Wabbit with a task crossed with every feature (-q), beside the features themselves: one model for all."""
    from vowpalwabbit import Workspace

    options = "--loss_function logistic --link logistic" if binary else "--loss_function squared"
    rate = "" if parameter is None else f" -l {parameter:g}"
    model = Workspace(f"--quiet -b {_BITS} -q tx {options}{rate}")
    p = np.empty(len(y))
    for i in range(len(y)):
        lo, hi = X.indptr[i], X.indptr[i + 1]
        row = " ".join(f"{j}:{v:.9g}" for j, v in zip(X.indices[lo:hi].tolist(), X.data[lo:hi].tolist(), strict=True))
        example = model.parse(f"{y[i]:g} |t {task[i]} |x {row}")
        p[i] = model.predict(example)
        model.learn(example)
        model.finish_example(example)
    model.finish()
    return p


def river(
    X: Any, y: Floats, task: Ints, binary: bool, parameter: float | None = None, models: Models | None = None
) -> Floats:
    """river: a running standardisation and a linear model for every task."""
    from river import preprocessing

    return _river(X, y, task, binary, parameter, models, lambda model: preprocessing.StandardScaler() | model)


def river_plain(
    X: Any, y: Floats, task: Ints, binary: bool, parameter: float | None = None, models: Models | None = None
) -> Floats:
    """river: a linear model for every task, on the rows as they are given."""
    return _river(X, y, task, binary, parameter, models, lambda model: model)


def _river(
    X: Any,
    y: Floats,
    task: Ints,
    binary: bool,
    parameter: float | None,
    models: Models | None,
    whole: Callable[[Any], Any],
) -> Floats:
    """`whole` puts before a task's linear model what its rows pass first."""
    from river import linear_model, optim

    kind = linear_model.LogisticRegression if binary else linear_model.LinearRegression
    models = {} if models is None else models
    p = np.empty(len(y))
    for i in range(len(y)):
        lo, hi = X.indptr[i], X.indptr[i + 1]
        row = dict(zip(X.indices[lo:hi].tolist(), X.data[lo:hi].tolist(), strict=True))
        model = models.get(int(task[i]))
        if model is None:
            rate = {} if parameter is None else {"optimizer": optim.SGD(parameter)}
            model = models[int(task[i])] = whole(kind(**rate))
        if binary:
            p[i] = model.predict_proba_one(row).get(True, 0.5)
            model.learn_one(row, bool(y[i] > 0))
        else:
            p[i] = model.predict_one(row)
            model.learn_one(row, float(y[i]))
    return p


def sklearn(
    X: Any, y: Floats, task: Ints, binary: bool, parameter: float | None = None, models: Models | None = None
) -> Floats:
    """scikit-learn: SGDClassifier (log-loss) or SGDRegressor with partial_fit for every task."""
    from sklearn.linear_model import SGDClassifier, SGDRegressor

    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)  # it takes no others
    models = {} if models is None else models
    given = {} if parameter is None else {"alpha": parameter}
    p = np.full(len(y), 0.5 if binary else 0.0)
    for i in range(len(y)):
        row, model = X[i : i + 1], models.get(int(task[i]))
        if model is None:
            model = SGDClassifier(loss="log_loss", **given) if binary else SGDRegressor(**given)
            models[int(task[i])] = model
        elif binary:
            p[i] = _sigma(float(model.decision_function(row)[0]))
        else:
            p[i] = float(model.predict(row)[0])
        if binary:
            model.partial_fit(row, [y[i]], classes=[-1.0, 1.0])
        else:
            model.partial_fit(row, [y[i]])
    return p


def _sigma(score: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(score, -700.0), 700.0)))


PEERS: dict[str, Callable[..., Floats]] = {"vw": vw, "river": river, "river-plain": river_plain, "sklearn": sklearn}
