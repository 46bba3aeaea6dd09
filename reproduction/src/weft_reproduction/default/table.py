"""The default beside its peers: mean loss of every prediction that is made before its label is seen, set by set.

`auto` and `adaptive` as they are, without a parameter. A model per task, one for all tasks, and own + shared parts, all
by AdaGrad on the same scaling, are parts of them, whose losses come from the same run. Vowpal Wabbit crosses the task
with every feature (-q), once on the raw rows and once on rows that were prepared as a careful user would; river and
scikit-learn have a model per task. river runs on raw rows behind its running standardisation (scaler), the recipe of
its documentation, and without it on prepared rows, where its rate of 0.01 is slow: `today` has it with others.
scikit-learn runs on prepared rows. All peers have their defaults. The constants of `auto` were chosen on most of these
sets: read the table as default against default, not as a race of tuned learners.
"""

import math
from typing import Any

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Floats
from weft.model import Model
from weft.stream import Stream
from weft_reproduction.default.streams import BINARY, EXACT, REAL, prepared, stream_of
from weft_reproduction.experiment import Claim, Experiment, Figure, Figures, Report, Results, Settings, Table
from weft_reproduction.judgement import paired
from weft_reproduction.peers import PEERS, is_here

ORDERS = tuple(range(100, 105))
PEER_ORDERS = ORDERS[:2]
FORMS = {"vw": ("raw", "prepared"), "river": ("raw",), "river-plain": ("prepared",), "sklearn": ("prepared",)}
"""river behind its scaler gets raw rows; plain SGD on raw counts overflows."""

OURS = ("auto", "adaptive", "own + shared", "one per task", "one for all")
THEIRS = {
    "vw raw": "VW -q",
    "vw prepared": "VW -q, prepared",
    "river raw": "river, scaler",
    "river-plain prepared": "river, prepared",
    "sklearn prepared": "scikit-learn",
}

EXPECTED = {
    "landmine19": (0.2012, 0.2029), "landmine29": (0.2023, 0.2042), "pkdd06b": (0.0632, 0.0652),
    "pkdd06a": (0.0258, 0.0259), "sentiment4": (0.3226, 0.3250), "pu_spam": (0.0770, 0.0776),
    "movielens_cf": (0.5872, 0.5909), "school_bin": (0.4323, 0.4406), "school": (0.6487, 0.6855),
    "lenk": (0.5532, 0.5701), "ml_cf_reg": (0.7648, 0.7843),
}  # fmt: skip
"""What a prototype of both learners had on the same orders, by which they were designed: (auto, adaptive)."""


def cells(quick: bool) -> list[Settings]:
    """Ours on five orders; peers, if they are installed, on two."""
    names, orders = (("landmine19", "lenk"), ORDERS[:1]) if quick else ((*BINARY, *REAL), ORDERS)
    rows = 600 if quick else None
    found: list[Settings] = [
        {"stream": name, "order": order, "learners": ["auto", "adaptive"], "rows": rows}
        for name in names
        for order in orders
    ]
    return found + [
        {"stream": name, "order": order, "peer": peer, "form": form, "rows": rows}
        for peer, forms in FORMS.items()
        if is_here(peer)
        for name in names
        for order in orders[: len(PEER_ORDERS)]
        for form in forms
    ]


def run(settings: Settings) -> Figures:
    data, binary = stream_of(settings["stream"]), settings["stream"] in BINARY
    if settings.get("form") == "prepared":
        data = prepared(data)
    order = np.random.default_rng(settings["order"]).permutation(len(data))[: settings["rows"]]
    assert data.task is not None
    X, y, task = data.X[order], data.y[order], data.task[order]
    if "peer" in settings:
        rows = sparse.csr_array(X)
        rows.eliminate_zeros()
        return {"loss": _mean_loss(PEERS[settings["peer"]](rows, y, task, binary), y, binary)}
    return _ours(Stream(X, y, task), y, binary)


def _ours(stream: Stream, y: Floats, binary: bool) -> Figures:
    loss, found = "logistic" if binary else "square", {}
    for name in ("auto", "adaptive"):
        effort: dict[str, Any] = {"effort": "fast"} if name == "auto" else {}
        model, trace = Model(name, loss=loss, **effort), np.zeros((len(stream), 4))
        scores = model.learn(stream, trace=trace)
        found[name] = _mean_loss(1.0 / (1.0 + np.exp(-scores)) if binary else scores, y, binary)
        if name == "auto":
            sure = [part.certificate for part in model.borrowing().values()]
            found |= {"certificate": min(sure), "V": model.state.stack[0].tolist()}
            if binary:
                found |= {"one per task": float(trace[:, 2].mean()), "one for all": float(trace[:, 3].mean())}
        elif binary:
            found["own + shared"] = float(trace[:, 1].mean())
    return found


def _mean_loss(p: Floats, y: Floats, binary: bool) -> float:
    """Log-loss, with p clipped at 1e-6; or the mean square over the variance of all labels."""
    if not binary:
        return float(np.mean((p - y) ** 2) / np.var(y))
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    return float(-np.mean(np.log(np.where(y > 0.0, p, 1.0 - p))))


def report(results: Results) -> Report:
    means = _means(results)
    tables = [_table(means, names, title) for names, title in ((BINARY, "Log-loss"), (REAL, "Mean square / variance"))]
    return Report(tables=[*tables, _against(means)], claims=_claims(results, means))


def _means(results: Results) -> dict[tuple[str, str], list[float]]:
    """(stream, column) -> losses in the order of the seeds."""
    found: dict[tuple[str, str], list[float]] = {}
    for settings, figures in sorted(results, key=lambda pair: int(pair[0]["order"])):
        name = settings["stream"]
        if "peer" in settings:
            found.setdefault((name, THEIRS[f"{settings['peer']} {settings['form']}"]), []).append(figures["loss"])
        for column in OURS:
            if column in figures:
                found.setdefault((name, column), []).append(figures[column])
    return found


def _table(means: dict[tuple[str, str], list[float]], names: tuple[str, ...], title: str) -> Table:
    columns = [c for c in (*OURS, *THEIRS.values()) if any((name, c) in means for name in names)]
    rows: list[list[Any]] = []
    for name in names:
        row: list[Any] = [name]
        for column in columns:
            values = means.get((name, column))
            row.append(None if values is None else Figure(float(np.mean(values)), _error(values), digits=4))
        if any(cell is not None for cell in row[1:]):
            rows.append(row)
    note = "Mean over random orders, five of ours and two of the peers', and its standard error."
    return Table(title, ["stream", *columns], rows, note)


def _error(values: list[float]) -> float | None:
    return float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else None


def _against(means: dict[tuple[str, str], list[float]]) -> Table:
    rows: list[list[Any]] = []
    for name in EXACT:
        if (name, "auto") in means:
            ours = [float(np.mean(means[name, column])) for column in ("auto", "adaptive")]
            ratios = [f"{100.0 * (o / e - 1.0):+.2f} %" for o, e in zip(ours, EXPECTED[name], strict=True)]
            rows.append([name, Figure(ours[0], published=EXPECTED[name][0], digits=4), ratios[0],
                         Figure(ours[1], published=EXPECTED[name][1], digits=4), ratios[1]])  # fmt: skip
    return Table("Beside the prototype, whole sets", ["stream", "auto", "", "adaptive", " "], rows)


def _claims(results: Results, means: dict[tuple[str, str], list[float]]) -> list[Claim]:
    claims = []
    sure = [figures["certificate"] for _, figures in results if "certificate" in figures]
    if sure:
        claims.append(
            Claim(
                "No task is further behind the best of stack, own and pooled model than its bound allows.",
                "guarantee of auto",
                "confirmed" if min(sure) >= -1e-9 else "not confirmed",
                f"the least certificate of any task in any run is {min(sure):.3f}",
            )
        )
    for column in (*OURS[1:], *THEIRS.values()):
        names = [name for name in (*BINARY, *REAL) if (name, column) in means and (name, "auto") in means]
        if len(names) > 1:
            ratios = [
                math.log(float(np.mean(means[name, "auto"])) / float(np.mean(means[name, column]))) for name in names
            ]
            test = paired(ratios, [0.0] * len(names))
            beaten = [name for name, ratio in zip(names, ratios, strict=True) if ratio > 0.0]
            claims.append(
                Claim(
                    f"auto loses less than {column}.",
                    f"{len(names)} streams",
                    "confirmed" if test.p < 0.05 and test.difference < 0.0 else "not confirmed",
                    f"by {-100.0 * (math.exp(test.difference) - 1.0):.1f} % on average (p = {test.p:.2g}); "
                    + (f"beaten on {', '.join(beaten)}" if beaten else "beaten on none"),
                )
            )
    return claims


EXPERIMENT = Experiment(
    name="default-table",
    title="The default beside its peers",
    paper="weft's own",
    data=(
        "landmine", "pkdd06b", "pkdd06a", "mtl16", "sentiment4", "pu_spam", "mhc1", "movielens_cf", "emnist_byclass",
        "reuters21578", "rcv1_2316", "school", "lenk",
    ),
    cells=cells,
    run=run,
    report=report,
    about=__doc__,
)  # fmt: skip
