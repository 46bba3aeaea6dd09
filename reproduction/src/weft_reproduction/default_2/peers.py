"""The default beside learners of other kinds: forests, factorisation, naive Bayes, and trees fitted again and again.

The first rows of some streams, one random order; every row is predicted before it is learned. river and MOA: adaptive
random forests of ten trees, which are told the task by a column per task. Factorisation: river's BiasedMF, from the
numbers of user and film alone. Naive Bayes: river's Gaussian for dense rows, scikit-learn's Bernoulli for others, one
model for each task and one for all. LightGBM is fitted to all rows before it at the events 64, 128, 256, ..., with the
task as a category: it sees every row many times, and is an outside limit rather than a peer. All with their defaults. A
peer that is not installed is left out; MOA needs Java, jpype and the path of moa.jar in MOA_JAR (capymoa carries it).
Trees of streams were not run on texts.
"""

import importlib.util
import os
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Floats
from weft.model import Model
from weft.stream import Stream
from weft_reproduction.default.streams import stream_of
from weft_reproduction.default_2.scoring import figures_of
from weft_reproduction.default_2.streams import Data, stream
from weft_reproduction.experiment import Claim, Experiment, Figure, Figures, Report, Results, Settings, Table

ORDER, ROWS = 100, 2000
EFFORTS = ("fast", "balanced", "best")
DENSE = (
    "landmine19", "mtl16", "emnist", "school_bin", "movielens_cf", "school", "lenk", "ml_cf_reg", "abrupt change",
    "recurring change", "product", "friedman", "sensors",
)  # fmt: skip
TEXTS = ("sentiment4", "pu_spam", "reuters", "rcv1", "mhc1")
PACKAGES = {
    "river forest": ("river",),
    "MOA forest": ("jpype",),
    "factorisation": ("river",),
    "naive Bayes, own": ("river", "sklearn"),
    "naive Bayes, pooled": ("river", "sklearn"),
    "LightGBM": ("lightgbm",),
}


def is_here(kind: str) -> bool:
    """Is the peer installed?"""
    found = all(importlib.util.find_spec(package) for package in PACKAGES[kind])
    return found and (kind != "MOA forest" or "MOA_JAR" in os.environ)


def fits(kind: str, name: str) -> bool:
    """Is the peer made for such a stream?"""
    if kind == "factorisation":
        return name == "ml_cf_reg"
    if kind.startswith("naive Bayes"):
        return name not in ("school", "lenk", "ml_cf_reg", "friedman", "sensors")
    return kind == "LightGBM" or name in DENSE


def cells(quick: bool) -> list[Settings]:
    """Every effort, and every peer that is installed, on the streams that it is made for."""
    if quick:
        return [{"stream": "opposing groups", "kind": kind, "rows": 300, "learner": "auto"} for kind in EFFORTS]
    return [
        {"stream": name, "kind": kind, "rows": ROWS, "learner": "auto"}
        for name in (*DENSE, *TEXTS)
        for kind in (*EFFORTS, *PACKAGES)
        if kind in EFFORTS or (is_here(kind) and fits(kind, name))
    ]


def run(settings: Settings) -> Figures:
    data, rows, kind = stream(settings["stream"], ORDER), settings["rows"], settings["kind"]
    data = Data(data.X[:rows], data.y[:rows], data.task[:rows], data.logistic)
    if kind in EFFORTS:
        answer = Model("auto", loss="logistic" if data.logistic else "square", effort=kind).learn(
            Stream(data.X, data.y, data.task)
        )
        return figures_of(1.0 / (1.0 + np.exp(-answer)) if data.logistic else answer, data)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return figures_of(PEERS[kind](data), data)


def _with_task(data: Data) -> Any:
    """The rows with a column per task."""
    ones = np.ones(len(data.y))
    tasks = sparse.csr_array((ones, (np.arange(len(ones)), data.task)), shape=(len(ones), int(data.task.max()) + 1))
    return sparse.csr_array(sparse.hstack([sparse.csr_array(data.X), tasks]))


def _river_forest(data: Data) -> Floats:
    from river import forest

    dense, p = _with_task(data).toarray(), np.empty(len(data.y))
    model = forest.ARFClassifier(seed=1) if data.logistic else forest.ARFRegressor(seed=1)
    for i, values in enumerate(dense):
        row = dict(enumerate(values.tolist()))
        if data.logistic:
            p[i] = model.predict_proba_one(row).get(True, 0.5)
            model.learn_one(row, bool(data.y[i] > 0.0))
        else:
            p[i] = model.predict_one(row) or 0.0
            model.learn_one(row, float(data.y[i]))
    return p


def _factorisation(data: Data) -> Floats:
    from river import reco

    known = stream_of("ml_cf_reg")
    items = known.extra["item"][np.random.default_rng(ORDER).permutation(len(known))]
    model, p = reco.BiasedMF(seed=1), np.empty(len(data.y))
    for i, (user, item) in enumerate(zip(data.task.tolist(), items[: len(p)].tolist(), strict=True)):
        p[i] = model.predict_one(user, item)
        model.learn_one(user, item, float(data.y[i]))
    return p


def _naive_bayes(data: Data, own: bool) -> Floats:
    return _bernoulli(data, own) if sparse.issparse(data.X) else _gaussian(data, own)


def _gaussian(data: Data, own: bool) -> Floats:
    from river.naive_bayes import GaussianNB

    models: dict[int, Any] = {}
    p = np.full(len(data.y), 0.5)
    for i, values in enumerate(np.asarray(data.X).tolist()):
        model, row = models.setdefault(int(data.task[i]) if own else 0, GaussianNB()), dict(enumerate(values))
        p[i] = model.predict_proba_one(row).get(True, 0.0 if i else 0.5)
        model.learn_one(row, bool(data.y[i] > 0.0))
    return np.asarray(np.nan_to_num(p, nan=0.5))


def _bernoulli(data: Data, own: bool) -> Floats:
    from sklearn.naive_bayes import BernoulliNB

    models: dict[int, Any] = {}
    X, p = sparse.csr_array(data.X), np.full(len(data.y), 0.5)
    for i in range(len(p)):
        k, row = int(data.task[i]) if own else 0, X[[i]]
        if k in models:
            p[i] = models[k].predict_proba(row)[0, 1]
        else:
            models[k] = BernoulliNB()
        models[k].partial_fit(row, data.y[[i]] > 0.0, [False, True])
    return np.asarray(np.nan_to_num(p, nan=0.5))


def _light_gbm(data: Data) -> Floats:
    import lightgbm

    task = sparse.csr_array(data.task[:, None].astype(float))
    X: Any = sparse.csr_matrix(sparse.hstack([task, sparse.csr_array(data.X)]))
    X = X if sparse.issparse(data.X) else X.toarray()
    kind = lightgbm.LGBMClassifier if data.logistic else lightgbm.LGBMRegressor
    seen = np.cumsum(data.y > 0.0) / np.arange(1, len(data.y) + 1) if data.logistic else None
    means = np.cumsum(data.y) / np.arange(1, len(data.y) + 1)
    p = np.concatenate([[0.5 if data.logistic else 0.0], (means if seen is None else seen)[:-1]])
    begin = 64
    while begin < len(p):
        end = min(2 * begin, len(p))
        if len(np.unique(data.y[:begin])) > 1:
            model = kind(verbose=-1, n_jobs=1, random_state=1)
            model.fit(X[:begin], data.y[:begin], categorical_feature=[0])
            p[begin:end] = model.predict_proba(X[begin:end])[:, 1] if data.logistic else model.predict(X[begin:end])
        begin = end
    return np.asarray(p)


def _moa_forest(data: Data) -> Floats:
    import jpype

    if not jpype.isJVMStarted():
        jpype.startJVM("-Xmx2g", classpath=[os.environ["MOA_JAR"]])
    core, moa = jpype.JPackage("com").yahoo.labs.samoa.instances, jpype.JPackage("moa")
    X = _with_task(data).toarray()
    columns = jpype.java.util.ArrayList()
    for j in range(X.shape[1]):
        columns.add(core.Attribute(f"c{j}"))
    if data.logistic:
        classes = jpype.java.util.ArrayList()
        classes.add("no")
        classes.add("yes")
        columns.add(core.Attribute("y", classes))
        model = moa.classifiers.meta.AdaptiveRandomForest()
    else:
        columns.add(core.Attribute("y"))
        model = moa.classifiers.meta.AdaptiveRandomForestRegressor()
    header = core.Instances("stream", columns, 0)
    header.setClassIndex(X.shape[1])
    model.ensembleSizeOption.setValue(10)
    model.prepareForUse()
    model.setModelContext(core.InstancesHeader(header))
    p = np.full(len(data.y), 0.5 if data.logistic else 0.0)
    labels = (data.y > 0.0).astype(float) if data.logistic else data.y
    for i in range(len(p)):
        row = core.DenseInstance(1.0, jpype.JArray(jpype.JDouble)([*X[i].tolist(), float(labels[i])]))
        row.setDataset(header)
        votes = np.array(model.getVotesForInstance(row), float)
        if not data.logistic:
            p[i] = votes[0] if len(votes) else 0.0
        elif votes.sum() > 0.0:
            p[i] = votes[1] / votes.sum() if len(votes) > 1 else 0.0
        model.trainOnInstance(row)
    return p


PEERS: dict[str, Callable[[Data], Floats]] = {
    "river forest": _river_forest,
    "MOA forest": _moa_forest,
    "factorisation": _factorisation,
    "naive Bayes, own": lambda data: _naive_bayes(data, own=True),
    "naive Bayes, pooled": lambda data: _naive_bayes(data, own=False),
    "LightGBM": _light_gbm,
}


def report(results: Results) -> Report:
    found = {(settings["stream"], settings["kind"]): float(figures["loss"]) for settings, figures in results}
    kinds = [kind for kind in (*EFFORTS, *PACKAGES) if any(key[1] == kind for key in found)]
    names = dict.fromkeys(name for name, _ in found)
    rows: list[list[Any]] = [
        [name, *(None if (name, kind) not in found else Figure(found[name, kind], digits=4) for kind in kinds)]
        for name in names
    ]
    tables = [Table(f"Mean loss of the first {ROWS:,} events", ["stream", *kinds], rows)]
    return Report(tables=tables, claims=[_claim(found)])


def _claim(found: dict[tuple[str, str], float]) -> Claim:
    """LightGBM looks at all rows again and again, and is not counted."""
    text = "No online learner of another kind has a smaller loss than balanced."
    online = [kind for kind in PACKAGES if kind != "LightGBM"]
    pairs = [(name, kind) for name, kind in found if kind in online and (name, "balanced") in found]
    if not pairs:
        return Claim(text, "all streams", "not testable here", "none of the other packages is installed")
    lost = [f"{kind} on {name}" for name, kind in pairs if found[name, kind] < found[name, "balanced"]]
    why = "; ".join(lost) if lost else "on none of them"
    return Claim(text, f"{len(pairs)} pairs of stream and learner", "not confirmed" if lost else "confirmed", why)


EXPERIMENT = Experiment(
    name="default-2-peers",
    title="The default beside forests, factorisation, naive Bayes and LightGBM",
    paper="weft's own",
    data=(
        "landmine", "mtl16", "sentiment4", "pu_spam", "mhc1", "movielens_cf", "emnist_byclass", "reuters21578",
        "rcv1_2316", "school", "lenk",
    ),
    cells=cells,
    run=run,
    report=report,
    about=__doc__,
)  # fmt: skip
