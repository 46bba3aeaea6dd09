"""Kernel learners on a budget: time per event against B, beside BLAS and scikit-learn, and the spam set of the paper.

Rows are dense (100 columns, Gaussian kernel) or text (80 of 2^16 words that follow Zipf's law, polynomial kernel), of
20 tasks on the complete graph. Scoring is `model.score` over many events. An update is what `model.learn` takes beyond
that on a stream in which every event is a mistake and evicts a row.

The picture goes to `bench-results/budget-cost.svg`; the one in the documentation is a copy from such a run.
"""

import importlib.util
import math
import os
import time
from collections.abc import Callable
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from scipy import sparse
from scipy.linalg import blas

import weft
from benchmarks.figures import Figure, alternately, best, limit
from weft.learners.budget.active_set import REBUILDS
from weft.learners.budget.inverse import Gram, rebuild

BUDGETS = (50, 100, 200, 500, 1000, 2000)
LARGER = 200  # exponents are fitted from here on
TASKS, WIDTH, WORDS, NONZEROS = 20, 100, 1 << 16, 80
EVENTS = 1_000


def dense_rows(count: int, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).normal(size=(count, WIDTH)) / math.sqrt(WIDTH)


def text_rows(count: int, seed: int) -> sparse.csr_array:
    """Unit rows of 80 words: the word of rank r is drawn with a probability proportional to 1 / (r + 10)."""
    rng = np.random.default_rng(seed)
    ends = np.cumsum(1.0 / (np.arange(WORDS) + 10.0))
    slots = np.random.default_rng(0).permutation(WORDS)  # a word's rank is independent of its slot
    columns = []
    for _ in range(count):
        words = np.searchsorted(ends, rng.random(4 * NONZEROS) * ends[-1])
        columns.append(np.sort(slots[words[np.sort(np.unique(words, return_index=True)[1])[:NONZEROS]]]))
    values = rng.integers(1, 4, (count, NONZEROS)).astype(float)
    values /= np.sqrt(np.sum(values * values, axis=1, keepdims=True))
    bounds = np.arange(0, count * NONZEROS + 1, NONZEROS)
    return sparse.csr_array((values.ravel(), np.concatenate(columns), bounds), shape=(count, WORDS))


class Kind(NamedTuple):
    """A kind of rows, their number of features, and the kernel function of the learners."""

    name: str
    rows: Callable[[int, int], Any]
    features: int
    kernel: str


KINDS = (
    Kind(f"{WIDTH} dense features", dense_rows, WIDTH, "gaussian"),
    Kind(f"{NONZEROS} words of 2^16", text_rows, WORDS, "poly"),
)


@cache
def stream(kind: Kind, count: int, seed: int) -> weft.Stream:
    rng = np.random.default_rng(seed)
    return weft.Stream(kind.rows(count, seed), rng.choice([-1, 1], count), rng.integers(0, TASKS, count))


def full_model(name: str, B: int, kernel: Any, kind: Kind) -> weft.Model:
    """A model that keeps B rows."""
    model = weft.Model(name, B=B, kernel=kernel, tasks=TASKS, features=kind.features)
    kept, seed = 0, 0
    while kept < B:
        seed += 1
        model.learn(stream(kind, max(50, B - kept), seed))
        kept = len(model.support())
    return model


# --- time against B --------------------------------------------------------------------------------------------------


class Cost(NamedTuple):
    """Seconds per event: of scoring it, of the update beyond that, and of a peer."""

    score: float
    update: float = math.nan
    peer: float = math.nan


def mistakes(model: weft.Model, kind: Kind, count: int) -> weft.Stream:
    """Events with the labels that the model gets wrong, one after the other."""
    X, task, y = kind.rows(count, 99), np.arange(count) % TASKS, np.empty(count)
    for i in range(count):
        event, owner = X[i : i + 1], task[i : i + 1]
        y[i] = -1.0 if model.score(event, owner)[0] > 0.0 else 1.0
        model.learn(weft.Stream(event, y[i : i + 1], owner))
    return weft.Stream(X, y, task)


def cost(name: str, B: int, kind: Kind, peer: Callable[[], object] = int) -> Cost:
    """In turns: the same mistakes are learned from the same state, the same events scored, and the peer runs.

    Recomputing the inverse is subtracted, and added as often as in a long run: once in B evictions.
    """
    model, events = full_model(name, B, kind.kernel, kind), stream(kind, EVENTS, 98)
    begin = model.to_bytes()
    wrong = mistakes(model, kind, int(np.clip(20_000_000 // (B * B), 60, 2000)))
    state, space = model.state, np.empty((B, B))
    recomputing = best(lambda: rebuild(Gram(state.gram, state.inverse), B, space), 2)
    turns = []
    for _ in range(3 if B > 500 else 7):
        model = weft.Model.from_bytes(begin)
        rebuilds, began = model.state.scalars[REBUILDS], time.perf_counter()
        model.learn(wrong)
        learning = time.perf_counter() - began - recomputing * (model.state.scalars[REBUILDS] - rebuilds)
        turns.append((learning, *alternately(lambda m=model: m.score(events), peer, repeats=1)))
    learning, scoring, beside = np.min(turns, axis=0)
    score = scoring / EVENTS
    return Cost(score, learning / len(wrong) - score + recomputing / B, beside)


def score_cost(name: str, B: int, kind: Kind) -> Cost:
    model, events = full_model(name, B, kind.kernel, kind), stream(kind, EVENTS, 98)
    return Cost(best(lambda: model.score(events)) / EVENTS)


def rank_one_and_product(B: int) -> Callable[[], object]:
    """What BLAS takes to change a symmetric B x B matrix by a rank-one matrix and to multiply one with a vector."""
    rng = np.random.default_rng(0)
    A, x = np.asfortranarray(rng.normal(size=(B, B))), rng.normal(size=B)

    def run() -> None:
        blas.dsyr(1e-9, x, lower=1, a=A, overwrite_a=1)
        blas.dgemv(1.0, A, x)

    return run


def exponent(times: dict[int, float]) -> float:
    larger = [B for B in times if B >= LARGER]
    return float(np.polyfit(np.log(larger), np.log([times[B] for B in larger]), 1)[0])


def growth(what: str, times: dict[int, float], most: float) -> Figure:
    grown, text = exponent(times), " ".join(f"{seconds * 1e6:.3g}" for seconds in times.values())
    return Figure(what, f"{text} us", "", f"B^{grown:.2f}", f"<= B^{most}", bool(grown <= most))


def against_B() -> list[Figure]:
    figures, lines = [], []
    beside = {B: rank_one_and_product(B) for B in BUDGETS}
    for kind in KINDS:
        for name in ("mtbprj", "mtbprj-2"):
            costs = {B: cost(name, B, kind, beside[B]) for B in BUDGETS}
            scores, updates = ({B: getattr(c, field) for B, c in costs.items()} for field in ("score", "update"))
            lines.append((f"{name}, {kind.name}", scores, updates))
            figures.append(growth(f"{name}, {kind.name}: score", scores, 1.1))
            figures.append(growth(f"{name}, {kind.name}: update", updates, 2.2))
            ours, peer = costs[500].update, costs[500].peer
            text = f"dsyr + dgemv {peer * 1e6:.0f} us"
            times = f"{ours / peer:.2f} x"
            figures.append(
                Figure("  update, B = 500", f"{ours * 1e6:.0f} us", text, times, "<= 3 x", bool(ours <= 3 * peer))
            )
        for name in ("mtrbp", "mtforg"):
            scores = {B: score_cost(name, B, kind).score for B in BUDGETS}
            figures.append(growth(f"{name}, {kind.name}: score", scores, 1.1))
    folder = Path("bench-results")
    folder.mkdir(exist_ok=True)
    (folder / "budget-cost.svg").write_text(_picture(lines), encoding="utf-8")
    return figures


def _picture(costs: list[tuple[str, dict[int, float], dict[int, float]]]) -> str:
    """Microseconds per event over B: scoring and updating."""
    place = Path(__file__).parent.parent / "docs" / "pictures" / "make.py"
    spec: Any = importlib.util.spec_from_file_location("pictures", place)
    pictures: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(pictures)
    colours = (pictures.BLUE, pictures.GREEN, pictures.ORANGE, pictures.GREY)
    panels = []
    for at, title in ((1, "score: microseconds an event"), (2, "update: microseconds a mistake")):
        lines = [
            pictures.Line(entry[0], colour, np.array(list(entry[at])), np.array(list(entry[at].values())) * 1e6)
            for entry, colour in zip(costs, colours, strict=True)
        ]
        most = max(float(line.y.max()) for line in lines)
        step = 5.0 * 10.0 ** math.floor(math.log10(most / 5.0))
        panels.append(
            pictures.drawn(title, "rows kept, B", lines, step * math.ceil(most / step), lambda v: f"{v:,.0f}")
        )
    return str(pictures.side_by_side(panels, width=620, labels=210))


# --- beside scikit-learn ---------------------------------------------------------------------------------------------

UNSCALED = {"gamma": 1.0, "normalize": False}
METRICS: dict[str, tuple[dict[str, Any], dict[str, float]]] = {
    "linear": ({"name": "linear", **UNSCALED}, {}),
    "poly": ({"name": "poly", "degree": 2, **UNSCALED}, {"degree": 2, "gamma": 1.0, "coef0": 1.0}),
    "rbf": ({"name": "gaussian", **UNSCALED}, {"gamma": 1.0}),
}


def beside_pairwise_kernels() -> list[Figure]:
    """Event by event, as in a stream, and all events in one call."""
    figures = []
    for kind in KINDS:
        for metric in METRICS:
            found = {B: _pairwise(kind, metric, B) for B in BUDGETS}
            ours, single, bulk = (np.array([times[at] for times in found.values()]) for at in range(3))
            for way, peer, target in (("an event a call", single, 20.0), ("all in one call", bulk, None)):
                figures.append(
                    Figure(
                        f"score, {kind.name}, {metric}, B = 50 .. 2000" if target else "",
                        " ".join(f"{t * 1e6:.3g}" for t in ours) + " us" if target else "",
                        f"pairwise_kernels, {way}: " + " ".join(f"{t * 1e6:.0f}" for t in peer) + " us",
                        " ".join(f"{times:.3g}" for times in peer / ours) + " x",
                        f">= {target:g} x" if target else "",
                        bool(np.all(peer >= target * ours)) if target else None,
                    )
                )
    return figures


def _pairwise(kind: Kind, metric: str, B: int) -> list[float]:
    """Seconds per event: ours, scikit-learn event by event, and in one call."""
    from sklearn.metrics.pairwise import pairwise_kernels

    kernel, parameters = METRICS[metric]
    model, events = full_model("mtrbp", B, kernel, kind), stream(kind, EVENTS, 98)
    kept, b = kind.rows(B, 1), np.random.default_rng(0).normal(size=B)
    X = kind.rows(EVENTS, 98)
    some = [X[i : i + 1] for i in range(20)]

    def one_by_one() -> None:
        for x in some:
            pairwise_kernels(x, kept, metric, **parameters) @ b

    def bulk() -> None:
        pairwise_kernels(X, kept, metric, **parameters) @ b

    ours, single, together = alternately(lambda: model.score(events), one_by_one, bulk, repeats=5)
    return [ours / EVENTS, single / len(some), together / EVENTS]


# --- the spam set ----------------------------------------------------------------------------------------------------


def spam() -> list[Figure]:
    """7,500 mails to 3 users; the budget is 5 % of what independent Perceptrons keep (Table 1 of the paper)."""
    folder = os.environ.get("WEFT_DATA")
    if not folder or not (Path(folder) / "pkdd06a.npz").exists():
        return [
            Figure("spam, 7,500 mails: WEFT_DATA does not name a folder with pkdd06a.npz", "skipped", "", "", "", None)
        ]
    data = np.load(Path(folder) / "pkdd06a.npz", allow_pickle=False)
    X = sparse.csr_array((data["data"].astype(float), data["indices"], data["indptr"]), shape=tuple(data["shape"]))
    X = sparse.csr_array(sparse.diags_array(1.0 / np.sqrt(X.multiply(X).sum(axis=1))) @ X)
    order = np.random.default_rng(0).permutation(X.shape[0])
    mails = weft.Stream(X[order], data["y"][order], data["task"][order])
    kernel = METRICS["poly"][0]
    independent = weft.Model("mt-perceptron", graph="none", kernel=kernel)
    independent.learn(mails)
    B = max(1, round(0.05 * len(independent.support())))
    figures = []
    for name in ("mtbprj", "mtbprj-2", "mtrbp", "mtforg"):
        further = {"R": 2.0} if name == "mtforg" else {}  # K'(x, x) = (1 + |x|^2)^2
        weft.Model(name, B=B, kernel=kernel, **further).learn(mails)
        seconds = best(
            lambda name=name, further=further: weft.Model(name, B=B, kernel=kernel, **further).learn(mails), 3
        )
        figures.append(limit(f"spam, 7,500 mails, {name}, B = {B}", seconds, "s", 10))
    return figures


def run() -> list[Figure]:
    return [*against_B(), *beside_pairwise_kernels(), *spam()]
