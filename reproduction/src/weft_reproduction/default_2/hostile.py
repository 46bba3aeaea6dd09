"""One hostile task: what the others lose by it, and whether a limit on what a task may move makes that less.

A stream of real tasks runs alone, and again with one task more: as large as all others together, with rows of theirs
and the opposite labels. What others lose by it is by how many per cent their mean loss rises. The limit: with N events
so far, of T tasks, and n of this task, gradients are multiplied by

    min(1, most N / (T n))

so that a task counts at most as `most` tasks of mean size: gradients of the shared parts of the gradient, the betting
and the pooled expert (*parts*), of the weights of the stack, which are the same for all tasks (*stack*), or of both.
Other experts are as they are. The sets run without a hostile task as well, to see what the limit costs.
"""

import math
from typing import Any

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft_reproduction.default_2 import linear
from weft_reproduction.default_2.linear import error
from weft_reproduction.default_2.rows import Labels, Rows, prototype
from weft_reproduction.default_2.scores import BASE, PAGE, Events, columns, events_of, losses, stack_of
from weft_reproduction.default_2.streams import Data, shuffled, with_hostile
from weft_reproduction.experiment import Claim, Experiment, Figure, Figures, Report, Results, Settings, Table

SETS = ("pkdd06b", "landmine19", "mtl16", "sentiment4", "school_bin", "mhc1")
"""With labels of two classes, and tasks that have much in common."""
ORDERS = (100, 101, 102)
STACKS: dict[str, tuple[str, ...]] = {"fast": (), "all six": PAGE}
MOST = {"4": 4.0, "1": 1.0, "0.25": 0.25}
LIMITS = ("no limit", *(f"{what} {most}" for what in ("parts", "stack", "both") for most in MOST))
AIM, COST = 5.0, 0.3
"""Per cent: the most that others may lose by a hostile task, and what the limit may cost where there is none."""


@prototype
def allowances(task: Ints, most: float) -> Floats:
    """By what the gradients of shared parts are multiplied, for every event."""
    count, tasks, out = np.zeros(task.max() + 1), 0, np.ones(len(task))
    for i in range(len(task)):
        tasks += count[task[i]] == 0.0
        count[task[i]] += 1.0
        out[i] = min(1.0, most * (i + 1.0) / (tasks * count[task[i]]))
    return out


@prototype
def limited_adagrad(R: Rows, L: Labels, own: bool, allowed: Floats) -> Floats:
    """Shared part, and own part if there is one, by AdaGrad; `allowed` multiplies the shared part's gradients."""
    n, d = len(L.u), len(R.seat) + 1
    w, g = np.zeros((L.task.max() + 1 if own else 1, d)), np.zeros((L.task.max() + 1 if own else 1, d))
    w0, g0, out = np.zeros(d), np.zeros(d), np.zeros(n)
    for i in range(n):
        k = L.task[i] if own else 0
        for a in range(R.ptr[i], R.ptr[i + 1]):
            out[i] += (w[k, R.idx[a]] + w0[R.idx[a]]) * R.z[a]
        r = error(out[i], L.u[i], L.ready[i], L.logistic)
        for a in range(R.ptr[i], R.ptr[i + 1]):
            h, j = r * R.z[a], R.idx[a]
            if h == 0.0:
                continue
            if own:
                g[k, j] += h * h
                w[k, j] -= 0.4 * h / math.sqrt(g[k, j] + 1e-8)
            h *= allowed[i]
            g0[j] += h * h
            w0[j] -= 0.4 * h / math.sqrt(g0[j] + 1e-8)
    return out


@prototype
def limited_betting(R: Rows, L: Labels, allowed: Floats) -> Floats:
    """Own + shared part by coin betting; `allowed` multiplies the shared part's gradients."""
    n, d = len(L.u), len(R.seat) + 1
    own, shared, out = np.zeros((L.task.max() + 1, d, 4)), np.zeros((d, 4)), np.zeros(n)
    for i in range(n):
        k = L.task[i]
        for a in range(R.ptr[i], R.ptr[i + 1]):
            out[i] += (linear.bet(own[k, R.idx[a]]) + linear.bet(shared[R.idx[a]])) * R.z[a]
        r = error(out[i], L.u[i], L.ready[i], L.logistic)
        for a in range(R.ptr[i], R.ptr[i + 1]):
            h = r * R.z[a]
            if h != 0.0:
                linear.stake(own[k, R.idx[a]], h, 0.0)
                linear.stake(shared[R.idx[a]], h * allowed[i], 0.0)
    return out


def cells(quick: bool) -> list[Settings]:
    """A set in one order each, alone and with the hostile task."""
    if quick:
        return [{"stream": "pkdd06b", "order": 100, "limits": ["no limit", "both 1"], "rows": 300, "learner": "auto"}]
    return [
        {"stream": name, "order": order, "limits": list(LIMITS), "rows": None, "learner": "auto"}
        for name in SETS
        for order in ORDERS
    ]


def run(settings: Settings) -> Figures:
    data = shuffled(settings["stream"], settings["order"])
    data = Data(data.X[: settings["rows"]], data.y[: settings["rows"]], data.task[: settings["rows"]], True)
    both, is_hostile = with_hostile(data, settings["order"])
    others = Data(both.X[~is_hostile], both.y[~is_hostile], both.task[~is_hostile], True)
    alone, beside = _losses(others, settings["limits"]), _losses(both, settings["limits"])
    return {
        name: {"alone": float(alone[name].mean()), "beside": float(beside[name][~is_hostile].mean())} for name in alone
    }


def _losses(data: Data, limits: list[str]) -> dict[str, Array]:
    """Of every event, for every stack and limit."""
    events = events_of(data.X, data.y, data.task, data.logistic)
    found = {name: columns(events, name) for name in dict.fromkeys([*BASE, *PAGE])}
    out = {}
    for limit in limits:
        what, most = limit.split()
        allowed: Any = allowances(events.labels.task, MOST.get(most, math.inf))
        scores = found | _limited(events, allowed) if what in ("parts", "both") else found
        for stack, experts in STACKS.items():
            result = stack_of(events, scores, experts, allowed if what in ("stack", "both") else None)
            out[f"{stack}, {limit}"] = losses(result.answer, events.labels)
    return out


def _limited(events: Events, allowed: Floats) -> dict[str, Floats]:
    """The scores of the experts that have shared parts of their own, with the limit."""
    scores = {
        "gradient": limited_adagrad(*events, True, allowed),
        "betting": limited_betting(*events, allowed),
        "pooled": limited_adagrad(*events, False, allowed),
    }
    return {name: np.asarray(column).reshape(-1, 1) for name, column in scores.items()}


def report(results: Results) -> Report:
    means: dict[tuple[str, str, str], list[float]] = {}
    for settings, figures in results:
        for name, values in figures.items():
            for kind, value in values.items():
                means.setdefault((settings["stream"], name, kind), []).append(value)
    streams = [name for name in SETS if any(key[0] == name for key in means)]
    names = [name for name in _names() if any(key[1] == name for key in means)]
    by_it: dict[str, list[float]] = {name: [] for name in names}
    cost: dict[str, list[float]] = {name: [] for name in names}
    for stream in streams:
        for name in names:
            plain = f"{name.split(', ')[0]}, no limit"
            alone, beside, base = (
                float(np.mean(means[stream, of, kind]))
                for of, kind in ((name, "alone"), (name, "beside"), (plain, "alone"))
            )
            by_it[name].append(100.0 * (beside / alone - 1.0))
            cost[name].append(100.0 * (alone / base - 1.0))
    tables = [
        _table("Loss of the others by the hostile task, in per cent", streams, by_it),
        _table("Loss by the limit where no task is hostile, in per cent", streams, cost),
    ]
    claims = [_claim(name, by_it[name], cost[name]) for name in names if not name.endswith("no limit")]
    return Report(tables=tables if streams else [], claims=claims)


def _names() -> list[str]:
    return [f"{stack}, {limit}" for stack in STACKS for limit in LIMITS]


def _table(title: str, streams: list[str], values: dict[str, list[float]]) -> Table:
    rows: list[list[Any]] = [
        [stream, *(Figure(values[name][n], digits=2) for name in values)] for n, stream in enumerate(streams)
    ]
    return Table(title, ["stream", *values], rows)


def _claim(name: str, by_it: list[float], cost: list[float]) -> Claim:
    text = f"{name}: others lose at most {AIM:g} % by a hostile task, and no stream {COST:g} % by the limit."
    good = max(by_it) <= AIM and max(cost) <= COST
    why = f"at most {max(by_it):+.2f} % by the task, {max(cost):+.2f} % by the limit"
    return Claim(text, f"{len(by_it)} streams", "confirmed" if good else "not confirmed", why)


EXPERIMENT = Experiment(
    name="default-2-hostile",
    title="The default beside a hostile task",
    paper="weft's own",
    data=("landmine", "pkdd06b", "mtl16", "sentiment4", "mhc1", "school"),
    cells=cells,
    run=run,
    report=report,
    about=__doc__,
)
