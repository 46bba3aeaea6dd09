"""`mt-ogd` on a clique, 20 tasks, 80 of 2^18 features: the same loop in C, Vowpal Wabbit -q from its cache, river."""

import ctypes
import shutil
import subprocess
import tempfile
from collections.abc import Callable
from pathlib import Path

import numpy as np
from scipy import sparse

import weft
from benchmarks import vw
from benchmarks.figures import Figure, alternately, best, ratio

EVENTS, TASKS, FEATURES, NONZEROS = 200_000, 20, 1 << 18, 80
B, ETA = float(TASKS), 0.05
REPEATS = 7


def stream(events: int = EVENTS, seed: int = 0):
    """Rows with evenly distributed features; labels from models that agree in most of their weights."""
    rng = np.random.default_rng(seed)
    width = FEATURES // NONZEROS
    columns = rng.integers(0, width, (events, NONZEROS)) + width * np.arange(NONZEROS)
    values = rng.normal(size=(events, NONZEROS))
    task = rng.integers(0, TASKS, events)
    common, apart = rng.normal(size=FEATURES), rng.normal(size=(TASKS, FEATURES)) / 2
    margin = np.einsum("ij,ij->i", values, common[columns] + apart[task[:, None], columns])
    y = np.where(margin > 0, 1, -1)
    X = sparse.csr_array(
        (values.ravel(), columns.ravel(), np.arange(0, events * NONZEROS + 1, NONZEROS)), shape=(events, FEATURES)
    )
    return X, y, task


def run() -> list[Figure]:
    X, y, task = stream()
    events = weft.Stream(X, y, task)

    def learn() -> weft.Model:
        model = weft.Model("mt-ogd", b=B, eta=ETA, tasks=TASKS)
        model.learn(events)
        return model

    learn()
    twin = _twin(X, y, task)
    ours, in_c = (seconds / EVENTS for seconds in alternately(learn, twin or learn, repeats=REPEATS))
    name = "mt-ogd, 80 of 2^18 features, 20 tasks"
    figures = [
        ratio("  against Vowpal Wabbit -q, from its cache", ours, "vw", _vw(X, y, task, ""), 3),
        ratio("  against Vowpal Wabbit -q --sgd, from its cache", ours, "vw", _vw(X, y, task, "--sgd")),
        ratio("  against river, own and shared features", ours, "river", _river(X, y, task, shared=True), 80),
        ratio("  against river, a model per task", ours, "river", _river(X, y, task, shared=False)),
    ]
    if twin is not None:
        share = in_c / ours
        figures.insert(
            0,
            Figure(
                f"{name}: the same loop in C",
                f"{ours * 1e6:.3f} us",
                f"C {in_c * 1e6:.3f} us",
                f"{share:.2f} of its rate",
                ">= 0.8",
                share >= 0.8,
            ),
        )
    return figures


def _twin(X: sparse.csr_array, y: np.ndarray, task: np.ndarray) -> Callable[[], None] | None:
    """The same run in C, or None without a compiler; its scores must equal weft's."""
    compiler = shutil.which("cc") or shutil.which("gcc") or shutil.which("clang")
    if compiler is None:
        return None
    with tempfile.TemporaryDirectory() as folder:
        library = Path(folder) / "twin.so"
        source = Path(__file__).parent / "twin.c"
        flags = ["-O3", "-march=native", "-shared", "-fPIC"]
        subprocess.run([compiler, *flags, str(source), "-o", str(library), "-lm"], check=True)
        function = ctypes.CDLL(str(library)).learn
    number, pointer = ctypes.c_int64, ctypes.c_void_p
    function.argtypes = [number, number, *[pointer] * 5, ctypes.c_double, ctypes.c_double, *[pointer] * 3]
    task, label = task.astype(np.int64), y.astype(np.float64)
    indptr, indices, values = X.indptr.astype(np.int64), X.indices.astype(np.int64), X.data
    rates = ETA / (1 + B), ETA * B / ((1 + B) * TASKS)
    scores = np.empty(len(y))

    def run() -> None:  # with new models, as in weft
        own, shared = np.zeros(TASKS * FEATURES), np.zeros(FEATURES)
        rows = (a.ctypes.data for a in (task, label, indptr, indices, values))
        function(len(y), FEATURES, *rows, *rates, *(a.ctypes.data for a in (own, shared, scores)))

    run()
    model = weft.Model("mt-ogd", b=B, eta=ETA, tasks=TASKS)
    gap = float(np.abs(model.learn(weft.Stream(X, y, task)) - scores).max())
    if gap > 1e-9:
        raise AssertionError(f"the loop in C issued scores that differ by up to {gap:g}")
    return run


def _vw(X: sparse.csr_array, y: np.ndarray, task: np.ndarray, options: str) -> float:
    return vw.seconds(vw.own_and_shared_lines(X, y, task), f"{vw.OWN_AND_SHARED} {options}") / len(y)


def _river(X: sparse.csr_array, y: np.ndarray, task: np.ndarray, shared: bool, events: int = 3_000) -> float:
    """One regression over (task, feature) and feature, which is the same model, or one regression per task."""
    from river import linear_model, optim

    starts = X.indptr
    rows = [
        dict(
            zip(X.indices[starts[i] : starts[i + 1]].tolist(), X.data[starts[i] : starts[i + 1]].tolist(), strict=True)
        )
        for i in range(events)
    ]
    labels, tasks = (y[:events] > 0).tolist(), task[:events].tolist()
    if shared:
        rows = [x | {(t, j): v for j, v in x.items()} for x, t in zip(rows, tasks, strict=True)]
        tasks = [0] * events

    def run() -> None:
        models = {t: linear_model.LogisticRegression(optim.SGD(ETA)) for t in range(TASKS)}
        for x, label, t in zip(rows, labels, tasks, strict=True):
            models[t].predict_proba_one(x)
            models[t].learn_one(x, label)

    return best(run, 3) / events
