"""Draw the pictures of the documentation from runs of weft: `python docs/pictures/make.py [folder]`.

    learning-curves.svg  three learners of `weft demo` on its stream, averaged over 20 seeds
    separation.svg       the sequence of Dekel, Long and Singer (2007), Sec. 3, which independent tasks cannot follow
    own-and-shared.svg   the models of mt-ogd as a shared part and own parts, and how b divides a step
    task-variance.svg    the figures of examples/task_variance.py
    budget.svg           the errors that examples/budget.py prints, as docs/budget.md shows them

`weft.drawing` draws them, as it draws reports and `weft inspect --plot`. Lines are named at their ends, so that the
figures are readable without colours.
"""

import importlib.util
import math
import re
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import weft
from weft.cli.demo import CANDIDATES
from weft.drawing.axes import percent
from weft.drawing.charts import Picture
from weft.drawing.looks import dashed, look
from weft.drawing.svg import file_of, panel
from weft.streams import related_tasks

SEEDS, TASKS, EVENTS = 20, 120, 6000  # tasks and events of `weft demo`
BLUE, ORANGE, GREEN, GREY = 0, 1, 2, 5  # numbers of `weft.drawing.looks.look`
HEIGHT = 300


class Line(NamedTuple):
    """A curve: its name, the number of its look, its points, dashed or not."""

    name: str
    look: int
    x: np.ndarray
    y: np.ndarray
    dash: bool = False


def drawn(title: str, x_name: str, lines: list[Line], top: float, write: Callable[[float], str]) -> Picture:
    """Curves from 0 to `top`."""
    return Picture(
        title,
        {line.name: (line.x.tolist(), line.y.tolist()) for line in lines},
        x_name,
        "",
        looks={line.name: dashed(line.look) if line.dash else line.look for line in lines},
        top=top,
        write_y=write,
        marks=False,
    )


def panels_of(pictures: list[Picture], width: int = 430, labels: int = 110) -> str:
    """Panels, one below the other, with room for the names of the lines at the right of each."""
    panels = [panel(picture, width, HEIGHT, labels) for picture in pictures]
    return file_of("; ".join(picture.title for picture in pictures), panels, width, HEIGHT)


# --- learning curves -------------------------------------------------------------------------------------------------


def learning_curves() -> str:
    """Error over the last tenth of the stream: all events, and those of the loners."""
    names = {"auto": "weft: auto", "independent": "one per user", "pooled": "one for all"}
    everyone: dict[str, list[np.ndarray]] = {name: [] for name in names.values()}
    loners: dict[str, list[np.ndarray]] = {name: [] for name in names.values()}
    ends = np.linspace(EVENTS // 20, EVENTS, 60).astype(int)
    for seed in range(SEEDS):
        stream = related_tasks(
            tasks=TASKS, events=EVENTS, groups=1, loners=TASKS // 6, spread=0.3, noise=0.05, round_size=8, seed=seed
        )
        alone = np.array([name.startswith("loner") for name in stream.task_names])[stream.task_codes]
        for candidate in (one for one in CANDIDATES if one.label in names):
            scores = weft.Model(candidate.learner, **candidate.parameters).learn(stream)
            wrong = (scores >= 0.0) != (stream.y > 0.0)
            everyone[names[candidate.label]].append(_sliding(wrong, np.ones(EVENTS), ends))
            loners[names[candidate.label]].append(_sliding(wrong, alone, ends))
    colours = dict(zip(names.values(), (GREEN, BLUE, ORANGE), strict=True))

    def curves_of(title: str, curves: dict[str, list[np.ndarray]], top: float) -> Picture:
        lines = [Line(name, colours[name], ends, np.mean(runs, axis=0)) for name, runs in curves.items()]
        return drawn(title, "events", lines, top, percent)

    return panels_of(
        [curves_of("error, all 120 users", everyone, 0.5), curves_of("error, the 20 loners alone", loners, 1.0)]
    )


def _sliding(wrong: np.ndarray, counted: np.ndarray, ends: np.ndarray) -> np.ndarray:
    """Share of wrong among the counted events of the last tenth of the stream (less at its beginning)."""
    begins = np.maximum(ends - EVENTS // 10, 0)
    mistakes = np.concatenate([[0.0], np.cumsum(wrong * counted)])
    events = np.concatenate([[0.0], np.cumsum(counted)])
    return (mistakes[ends] - mistakes[begins]) / (events[ends] - events[begins])


# --- separation ------------------------------------------------------------------------------------------------------


def separating_stream(k: int, C: float, cycles: int) -> weft.Stream:
    """Labels are all +1. First 1/C rounds of (1,0) for all; then, cycle by cycle, one task after the other gets (0,1)
    while the rest see (1,0), and at last all of them get (0,-1), which undoes the one step that each task made."""
    one, two = np.eye(2)
    rounds = [np.tile(one, (k, 1))] * round(1 / C)
    for _ in range(cycles):
        rounds += [np.where(np.arange(k)[:, None] == j, two, one) for j in range(k)]
        rounds.append(np.tile(-two, (k, 1)))
    T = len(rounds)
    return weft.Stream(np.concatenate(rounds), np.ones(T * k), np.tile(np.arange(k), T), np.repeat(np.arange(T), k))


def separation(k: int = 8, C: float = 2.0**-5, cycles: int = 1000) -> str:
    """The cumulative worst loss of the rounds."""
    stream = separating_stream(k, C, cycles)
    T = stream.n_rounds
    at = np.unique(np.linspace(0, T - 1, 200).astype(int))

    def total(losses: np.ndarray) -> np.ndarray:
        return np.cumsum(losses.reshape(T, k).max(axis=1))[at]

    def run(name: str, **parameters: object) -> np.ndarray:
        trace = np.zeros((len(stream), 4))
        weft.Model(name, C=C, **parameters).learn(stream, trace=trace)
        return total(trace[:, 0])

    best = total(np.maximum(0.0, 1.0 - stream.X.toarray().sum(axis=1)))
    independent, shared = run("finite-horizon", norm="l1"), run("finite-horizon", norm="linf")
    lines = [
        Line("independent tasks", BLUE, at, independent),
        Line("shared loss, linf", GREEN, at, shared),
        Line("best fixed weights", GREY, at, best, dash=True),
    ]
    picture = drawn(f"sum of each round's worst loss, {k} tasks", "rounds", lines, 10_000.0, lambda y: f"{y:,.0f}")
    return panels_of([picture], width=600, labels=150)


# --- own and shared parts --------------------------------------------------------------------------------------------

NAMES = ("ann", "bob", "eve", "joe")


def own_and_shared() -> str:
    """Models of two features as the sum of two parts; and the step of every task at one event, for several b."""
    return file_of("own and shared parts; how b divides a step", [_sums_of_parts(), _divided_steps()], 430, HEIGHT)


def _parts(model: weft.Model) -> tuple[np.ndarray, np.ndarray]:
    learner: Any = model.learner
    return learner.parts(model.state, len(model.tasks), len(model.features))


def _sums_of_parts(left: int = 40, bottom: int = 262, scale: float = 200.0) -> str:
    """mt-ogd after 200 events of four tasks: the shared part from 0, and from its end the own part of every task."""
    truth = np.array([[1.0, 0.95], [1.2, 0.7], [1.05, 0.45], [0.7, 0.6]])
    rng = np.random.default_rng(2)
    model = weft.Model("mt-ogd", b=4.0, eta=0.4, loss="square", tasks=NAMES)
    for event in range(200):
        x = rng.normal(size=2)
        model.learn_one({"first": x[0], "second": x[1]}, float(x @ truth[event % 4]), NAMES[event % 4])
    own, shared = _parts(model)
    out = ['<text class="title" x="40" y="20">models = shared part + own parts</text>']
    out.append(f'<path class="frame" d="M{left} 40V{bottom}H330"/>')
    out.append(f'<text x="{left + 6}" y="50">second weight</text>')
    out.append(f'<text x="330" y="{bottom + 18}" text-anchor="end">first weight</text>')
    tip = _place(shared[0], left, bottom, scale)
    out.append(_arrow((float(left), float(bottom)), tip, GREEN))
    middle = ((left + tip[0]) / 2, (bottom + tip[1]) / 2)
    out.append(
        f'<text class="name" {_filled(GREEN)} x="{middle[0] + 10:.1f}" y="{middle[1] + 14:.1f}">shared by all</text>'
    )
    for name, model_weights in zip(NAMES, own + shared, strict=True):
        end = _place(model_weights, left, bottom, scale)
        side = "start" if end[0] >= tip[0] else "end"
        out.append(_arrow(tip, end, BLUE))
        place = f'x="{end[0] + (6 if side == "start" else -6):.1f}" y="{end[1] + 4:.1f}" text-anchor="{side}"'
        out.append(f'<text class="name" {_filled(BLUE)} {place}>{name}</text>')
    return "\n".join(out)


def _place(weights: np.ndarray, left: int, bottom: int, scale: float) -> tuple[float, float]:
    return left + scale * float(weights[0]), bottom - scale * float(weights[1])


def _arrow(start: tuple[float, float], end: tuple[float, float], at: int) -> str:
    angle = math.atan2(end[1] - start[1], end[0] - start[0])
    tips = [(end[0] - 8 * math.cos(angle + turn), end[1] - 8 * math.sin(angle + turn)) for turn in (-0.45, 0.45)]
    points = " ".join(f"{x:.1f},{y:.1f}" for x, y in (start, end, tips[0], end, tips[1]))
    return f'<polyline class="line" style="stroke: {look(at)[0]}" points="{points}"/>'


def _filled(at: int) -> str:
    return f'style="fill: {look(at)[0]}"'


def _divided_steps(left: int = 44, width: int = 92, longest: float = 78.0) -> str:
    """From zero, one event of ann: every task's own and shared part, as fractions of the step of an independent ann."""
    out = ['<text class="title" x="0" y="20">step of every task when ann learns</text>']
    for at, b in enumerate((0.0, 1.0, 4.0, math.inf)):
        x = left + at * width
        model = weft.Model("mt-ogd", b=b, eta=0.5, loss="square", tasks=NAMES)
        model.learn_one({"first": 1.0}, 1.0, "ann")
        own, shared = _parts(model)
        out.append(f'<text x="{x}" y="52">b = {"inf" if math.isinf(b) else f"{b:g}"}</text>')
        out.append(f'<path class="frame" d="M{x} 62V206"/>')
        for row, name in enumerate(NAMES):
            y, a, c = 80 + 36 * row, longest * float(own[row, 0]), longest * float(shared[row, 0])
            if at == 0:
                out.append(f'<text x="{left - 8}" y="{y + 4}" text-anchor="end">{name}</text>')
            if c > 0:
                out.append(_bar(GREEN, x, y, c))
            if a > 0:
                out.append(_bar(BLUE, x + c, y, a))
    out.append(f'{_bar(GREEN, left, 232, 20)}<text x="{left + 28}" y="236">shared part</text>')
    out.append(f'{_bar(BLUE, left + 140, 232, 20)}<text x="{left + 168}" y="236">own part</text>')
    out.append(f'<text x="{left}" y="266">b = 0: independent tasks; b = inf: one model for all</text>')
    return "\n".join(out)


def _bar(at: int, x: float, y: float, length: float) -> str:
    return f'<rect {_filled(at)} x="{x:.1f}" y="{y - 6.5}" width="{length:.1f}" height="13"/>'


# --- task variance ---------------------------------------------------------------------------------------------------


def task_variance() -> str:
    """Regret by the variance of the tasks, with rates by theory and with adaptive ones."""
    spec = importlib.util.spec_from_file_location("task_variance", ROOT / "examples" / "task_variance.py")
    assert spec is not None
    assert spec.loader is not None
    example: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(example)
    x = np.array(example.VARIANCES)
    table = [example.regrets(variance) for variance in example.VARIANCES]
    lines = {"IT": ("independent", BLUE), "ST": ("one model", ORANGE), "MT best": ("multitask", GREEN)}

    def of_rate(rate: str, title: str, **further: tuple[str, int]) -> Picture:
        curves = [
            Line(label, colour, x, np.array([row[f"{rate} {name}"] for row in table]), name == "Hedge")
            for name, (label, colour) in {**lines, **further}.items()
        ]
        return drawn(title, "variance of the tasks", curves, 250.0, lambda y: f"{y:.0f}")

    theory = of_rate("theory", "regret, rates by theory")
    return panels_of([theory, of_rate("adaptive", "regret, adaptive rates", Hedge=("Hedge", GREY))])


# --- error against budget --------------------------------------------------------------------------------------------


def budget() -> str:
    """A panel per graph, with a line per learner and one for the Perceptron that keeps everything."""
    page = (ROOT / "docs" / "budget.md").read_text(encoding="utf-8")
    head, *rows = page.split("error, %, at a budget of")[1].split("F, %")[0].strip().splitlines()
    x = np.array([float(share) for share in re.findall(r"([\d.]+) %", head)])
    errors = {tuple(row.split()[:2]): np.array(row.split()[2:], float) for row in rows}
    styles = {"mtrbp": (ORANGE, False), "mtforg": (ORANGE, True), "mtbprj": (GREEN, False), "mtbprj-2": (BLUE, False)}

    def of_graph(graph: str, title: str) -> Picture:
        lines = [Line(name, colour, x, errors[f"{name},", graph], dash) for name, (colour, dash) in styles.items()]
        free = float(re.findall(rf"without a budget, {graph} +error ([\d.]+)", page)[0])
        lines.append(Line("no budget", GREY, np.array([0.0, x[-1]]), np.array([free, free]), True))
        return drawn(title, "rows, % of what separate Perceptrons keep", lines, 40.0, lambda y: f"{y:.0f}%")

    return panels_of([of_graph("complete", "error, complete graph"), of_graph("none", "error, no graph")])


ROOT = Path(__file__).parents[2]
PICTURES = {
    "learning-curves.svg": learning_curves,
    "separation.svg": separation,
    "own-and-shared.svg": own_and_shared,
    "task-variance.svg": task_variance,
    "budget.svg": budget,
}


def main(folder: Path) -> None:
    for name, make in PICTURES.items():
        (folder / name).write_text(make(), encoding="utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else Path(__file__).parent)
