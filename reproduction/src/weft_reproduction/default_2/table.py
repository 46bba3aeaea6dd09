"""Experts of the default, one by one and together: change of the mean loss against the four that `fast` has.

Every expert learns from its own error alone, so its scores are computed once for a stream and any stack of experts is
evaluated from them. The learners are the prototypes beside this module, which agree with the oracle of `auto` in the
tests. Real sets run in random orders and, where they have dates, in the order of time; made-up streams have one
difficulty each. An expert beyond those of `auto` is kept if the mean over streams falls and no stream rises by more
than 0.3 %.
"""

from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft_reproduction.default_2.scores import BASE, CHEAP, FIRST, PAGE, columns, events_of, losses, stack_of
from weft_reproduction.default_2.streams import IN_TIME, MADE_UP, REAL_SETS, stream
from weft_reproduction.experiment import Claim, Experiment, Figure, Figures, Report, Results, Settings, Table

ORDERS = (100, 101, 102)
KEPT = ("own diagonal", "pooled diagonal", "own betting", "pooled betting")
STACKS: dict[str, tuple[str, ...]] = {
    "fast": (),
    **{f"fast + {name}": (name,) for name in PAGE},
    "cheap four": CHEAP,
    "all six": PAGE,
    "first changes": FIRST,
    **{f"changes + {name}": (*FIRST, name) for name in (*KEPT, "ranks")},
    "everything kept": (*FIRST, *KEPT),
}
QUICK = ("fast", "fast + forget", "fast + level")


def cells(quick: bool) -> list[Settings]:
    """A stream in one order each; the order of made-up streams is their seed."""
    if quick:
        return [{"stream": "opposing groups", "order": 100, "stacks": list(QUICK), "rows": 300, "learner": "auto"}]
    names = [(name, order) for name in (*REAL_SETS, *MADE_UP) for order in ORDERS]
    names += [(name, ORDERS[0]) for name in IN_TIME]
    return [
        {"stream": name, "order": order, "stacks": list(STACKS), "rows": None, "learner": "auto"}
        for name, order in names
    ]


def run(settings: Settings) -> Figures:
    data, rows = stream(settings["stream"], settings["order"]), settings["rows"]
    events = events_of(data.X[:rows], data.y[:rows], data.task[:rows], data.logistic)
    stacks = {name: STACKS[name] for name in settings["stacks"]}
    needed = dict.fromkeys([*BASE, *(expert for stack in stacks.values() for expert in stack)])
    found = {name: columns(events, name) for name in needed}
    young = _young(events.labels.task)
    figures: Figures = {}
    for name, stack in stacks.items():
        answer = stack_of(events, found, stack).answer
        loss = losses(answer, events.labels)
        figures[name] = {"loss": float(loss.mean()), "young": float(loss[young].mean())}
        if data.logistic:
            figures[name]["error"] = float(np.mean((answer > 0.0) != (events.labels.u > 0.0)))
    return figures


def _young(task: Ints, first: int = 10) -> Array:
    """Whether an event is among the first of its task."""
    count = np.zeros(int(task.max()) + 1, np.int64)
    found = np.zeros(len(task), np.bool_)
    for i, k in enumerate(task):
        found[i] = count[k] < first
        count[k] += 1
    return found


def report(results: Results) -> Report:
    means: dict[tuple[str, str, str], list[float]] = {}
    for settings, figures in results:
        for stack, values in figures.items():
            for kind, value in values.items():
                means.setdefault((settings["stream"], stack, kind), []).append(value)
    kinds = (("Real sets, random orders", REAL_SETS), ("Real sets in the order of time", tuple(IN_TIME)))
    tables = [_table(means, names, "loss", title) for title, names in (*kinds, ("Made up", tuple(MADE_UP)))]
    tables.append(_table(means, REAL_SETS, "young", "Real sets, the first ten events of every task"))
    return Report(
        tables=[table for table in tables if table.rows],
        claims=[
            _claim(means, "all six", "first changes"),
            *(_claim(means, "first changes", f"changes + {name}") for name in (*KEPT, "ranks")),
        ],
    )


def _claim(means: dict[tuple[str, str, str], list[float]], before: str, after: str) -> Claim:
    """One stack against another."""
    text = f"{after} lowers the mean loss of {before}, and raises that of no stream by more than 0.3 %."
    names = dict.fromkeys(
        key[0] for key in means if {(key[0], stack, "loss") for stack in (before, after)} <= means.keys()
    )
    changes = [
        100.0 * (float(np.mean(means[name, after, "loss"])) / float(np.mean(means[name, before, "loss"])) - 1.0)
        for name in names
    ]
    if not changes:
        return Claim(text, "all streams", "not testable here", "no stream was run with both")
    good = float(np.mean(changes)) < 0.0 and max(changes) <= 0.3
    why = f"{np.mean(changes):+.2f} % on average, {max(changes):+.2f} % on {list(names)[int(np.argmax(changes))]}"
    return Claim(text, f"{len(changes)} streams", "confirmed" if good else "not confirmed", why)


def _table(means: dict[tuple[str, str, str], list[float]], names: tuple[str, ...], kind: str, title: str) -> Table:
    """The loss of `fast`, and by how many per cent each stack differs from it."""
    stacks = [stack for stack in STACKS if stack != "fast" and any((name, stack, kind) in means for name in names)]
    rows: list[list[Any]] = []
    changes: dict[str, list[float]] = {stack: [] for stack in stacks}
    for name in names:
        if (name, "fast", kind) not in means:
            continue
        base = float(np.mean(means[name, "fast", kind]))
        row: list[Any] = [name, Figure(base, digits=4)]
        for stack in stacks:
            change = 100.0 * (float(np.mean(means[name, stack, kind])) / base - 1.0)
            changes[stack].append(change)
            row.append(Figure(change, digits=2))
        rows.append(row)
    if len(rows) > 1:
        for word, summary in (("mean", np.mean), ("worst", np.max)):
            rows.append([word, None, *(Figure(float(summary(changes[stack])), digits=2) for stack in stacks)])
    return Table(title, ["stream", "fast", *stacks], rows, "Loss of fast, then changes in per cent; minus is better.")


EXPERIMENT = Experiment(
    name="default-2-table",
    title="Further experts of the default",
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
