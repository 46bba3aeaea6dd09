"""The default at its three efforts, on all streams: mean loss of predictions that are made before labels are seen.

`weft.Model("auto", effort=...)` itself, on real sets in random orders and in the order of time, and on made-up streams
of one difficulty each. Streams with missing values are left to `default-2-table`. Vowpal Wabbit, if it is installed,
has raw rows with the task crossed with every feature (-q): linear, with a layer of 20 units (--nn 20), and by coin
betting (--coin); its defaults otherwise.
"""

import importlib.util
from typing import Any

import numpy as np
from scipy import sparse

from weft.compiled.arrays import Floats
from weft.model import Model
from weft.stream import Stream
from weft_reproduction.default_2.scoring import figures_of
from weft_reproduction.default_2.streams import IN_TIME, MADE_UP, REAL_SETS, Data, stream
from weft_reproduction.experiment import Claim, Experiment, Figure, Figures, Report, Results, Settings, Table

EFFORTS = ("fast", "balanced", "best")
PEERS = {"VW": "", "VW --nn 20": "--nn 20", "VW --coin": "--coin"}
ORDER = 100
STREAMS = tuple(name for name in (*REAL_SETS, *IN_TIME, *MADE_UP) if not name.endswith("gaps"))


def cells(quick: bool) -> list[Settings]:
    """Every effort, and every setting of Vowpal Wabbit, on one order of every stream."""
    names, rows = (("opposing groups",), 300) if quick else (STREAMS, None)
    kinds = (*EFFORTS, *(PEERS if importlib.util.find_spec("vowpalwabbit") and not quick else ()))
    return [
        {"stream": name, "order": ORDER, "kind": kind, "rows": rows, "learner": "auto"}
        for name in names
        for kind in kinds
    ]


def run(settings: Settings) -> Figures:
    data = stream(settings["stream"], settings["order"])
    rows, kind = settings["rows"], settings["kind"]
    data = Data(data.X[:rows], data.y[:rows], data.task[:rows], data.logistic)
    if kind in PEERS:
        return figures_of(_vowpal_wabbit(data, PEERS[kind]), data)
    model = Model("auto", loss="logistic" if data.logistic else "square", effort=kind)
    answer = model.learn(Stream(data.X, data.y, data.task))
    return figures_of(1.0 / (1.0 + np.exp(-answer)) if data.logistic else answer, data)


def _vowpal_wabbit(data: Data, options: str) -> Floats:
    from vowpalwabbit import Workspace

    loss = "--loss_function logistic --link logistic" if data.logistic else "--loss_function squared"
    model, X, p = Workspace(f"--quiet -b 22 -q tx {options} {loss}"), sparse.csr_array(data.X), np.empty(len(data.y))
    for i in range(len(p)):
        here = slice(X.indptr[i], X.indptr[i + 1])
        row = " ".join(f"{j}:{x:.7g}" for j, x in zip(X.indices[here].tolist(), X.data[here].tolist(), strict=True))
        example = model.parse(f"{data.y[i]:g} |t {data.task[i]} |x {row}")
        p[i] = model.predict(example)
        model.learn(example)
        model.finish_example(example)
    model.finish()
    return p


def report(results: Results) -> Report:
    found: dict[tuple[str, str, str], float] = {}
    for settings, figures in results:
        for what, value in figures.items():
            found[settings["stream"], settings["kind"], what] = value
    tables = [table for table in (_table(found, "loss"), _table(found, "error")) if table.rows]
    return Report(tables=tables, claims=[_claim(found, kind) for kind in EFFORTS[1:]])


def _claim(found: dict[tuple[str, str, str], float], kind: str) -> Claim:
    """Against fast."""
    text = f"{kind} lowers the mean loss over all streams, and raises none by more than 0.5 %."
    both = [name for name in STREAMS if {(name, kind, "loss"), (name, "fast", "loss")} <= found.keys()]
    if not both:
        return Claim(text, "all streams", "not testable here", "no stream was run")
    changes = [100.0 * (found[name, kind, "loss"] / found[name, "fast", "loss"] - 1.0) for name in both]
    good = float(np.mean(changes)) < 0.0 and max(changes) <= 0.5
    why = f"{np.mean(changes):+.2f} % on average, {max(changes):+.2f} % on {both[int(np.argmax(changes))]}"
    return Claim(text, f"{len(both)} streams", "confirmed" if good else "not confirmed", why)


def _table(found: dict[tuple[str, str, str], float], what: str) -> Table:
    kinds = [kind for kind in (*EFFORTS, *PEERS) if any(key[1:] == (kind, what) for key in found)]
    rows: list[list[Any]] = []
    for name in STREAMS:
        values = [found.get((name, kind, what)) for kind in kinds]
        if any(value is not None for value in values):
            rows.append([name, *(None if value is None else Figure(value, digits=4) for value in values)])
    return Table(f"Mean {what}, one order", ["stream", *kinds], rows)


EXPERIMENT = Experiment(
    name="default-2-efforts",
    title="The default at its three efforts",
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
