"""What the pages of the dashboard say, gathered from a service: plain facts, not HTML."""

import json
import math
from contextlib import suppress
from typing import Any, NamedTuple
from urllib.parse import quote

import numpy as np

from weft.names import show_name
from weft.serve.applying import parts_of
from weft.serve.entries import Entry, Feedback, Learn
from weft.serve.history import Sample, Seen
from weft.serve.log import NAME, Log
from weft.serve.metrics import Figure
from weft.serve.policies import TaskPolicy, policy_of
from weft.serve.service import Service
from weft.text.printable import printable

MOST_ROWS = 10
LEAST_EVENTS = 20
"""Tasks with fewer events are not ranked by their error."""
MOST_BORROWERS = 20_000
"""With more tasks than that, what they borrow is not computed for a page: it takes seconds."""
EXPLAINED = 5
"""Last events of a task that are explained."""
HALF_LIFE = 20.0


class TaskRow(NamedTuple):
    """A task in a table."""

    name: str
    link: str
    events: int
    error: float
    value: float


class Overview(NamedTuple):
    """The first page."""

    learner: str
    seq: int
    figures: dict[str, Figure]
    samples: list[Sample]
    worst: list[TaskRow]
    gaining: list[TaskRow] | None
    """Tasks that gain most from others, by the mean loss alone less the mean loss; None if the learner does not say."""
    largest: list[TaskRow]
    tasks: int


class Explained(NamedTuple):
    """An event of a task with the parts of the score that it would have now."""

    seen: Seen
    x: str
    score: float
    parts: dict[str, float]


class TaskPage(NamedTuple):
    """The page of a task."""

    name: str
    link: str
    seq: int
    facts: dict[str, Any]
    curve: list[tuple[int, float]]
    borrowed: dict[str, float] | None
    policy: TaskPolicy | None
    without_policy: str
    explained: list[Explained]


def link_of(task: Any) -> str:
    """The path of a task's page."""
    return "/tasks/" + quote(task if isinstance(task, str) else json.dumps(task), safe="")


def overview(service: Service) -> Overview:
    """The first page's facts."""
    model = service.model
    figures = {figure.name: figure for figure in service.measured()}
    with service.writer.lock:
        seq, samples = service.seq, list(service.writer.history.samples)
        recent, errors = model.tally.recent, model.tally.errors
    counts = recent.events
    enough = counts >= LEAST_EVENTS
    by_error = np.where(enough & np.isfinite(recent.errors), recent.errors, -1.0)

    def rows(order: Any, values: Any) -> list[TaskRow]:
        names = [recent.tasks[at] for at in order]
        return [
            TaskRow(shown(name), link_of(name), int(counts[at]), float(errors[at]), float(values[at]))
            for name, at in zip(names, order, strict=True)
        ]

    worst = [at for at in _largest(by_error) if by_error[at] >= 0.0]
    gains = _gains(service, len(counts))
    gaining = None if gains is None else rows([at for at in _largest(gains) if gains[at] > 0.0], gains)
    largest = rows(_largest(counts), recent.errors)
    return Overview(model.name, seq, figures, samples, rows(worst, recent.errors), gaining, largest, len(counts))


def _largest(values: Any) -> list[int]:
    """Positions of the largest values, the largest first."""
    most = min(MOST_ROWS, len(values))
    found = np.argpartition(-values, most - 1)[:most] if most else np.empty(0, np.int64)
    return [int(at) for at in found[np.argsort(-values[found], kind="stable")]]


def _gains(service: Service, tasks: int) -> Any:
    model = service.model
    if "borrowing" not in model.views or tasks > MOST_BORROWERS:
        return None
    found = list(model.borrowing().values())[:tasks]
    gains = [(row.own_loss - row.loss) / row.events if row.events >= LEAST_EVENTS else -math.inf for row in found]
    return np.array(gains + [-math.inf] * (tasks - len(gains)))


def task_page(service: Service, task: Any) -> TaskPage:
    """The facts of a task's page; Problem if the model does not know the task."""
    answer = service.task(task)
    model = service.model
    with service.writer.lock:
        seen, seq = service.writer.history.last_of(task), service.seq
    borrowed = None
    if "borrowing" in model.views and len(model.vocabulary.tasks) <= MOST_BORROWERS:
        found = model.borrowing().get(task)
        borrowed = None if found is None else {key: float(value) for key, value in found._asdict().items()}
    policy, without = None, ""
    try:
        policy = policy_of(model, task)
    except ValueError as error:
        without = str(error)
    facts = {
        "events": answer.events,
        "error": answer.error,
        "error lately": answer.recent,
        "mean loss": answer.loss,
    }
    curve = _curve(service, seen)
    return TaskPage(shown(task), link_of(task), seq, facts, curve, borrowed, policy, without, explained(service, seen))


def _curve(service: Service, seen: list[Seen]) -> list[tuple[int, float]]:
    """Decayed mean of the errors of a task's last events."""
    total, weight, found = 0.0, 0.0, []
    keep = 2.0 ** (-1.0 / HALF_LIFE)
    shown_classes = service.model.label_classes.shown
    for event in seen:
        if event.score is None:
            continue
        if service.model.target == "binary":
            error = float(shown_classes[event.score >= 0.0] != event.label)
        elif isinstance(event.label, int | float):
            error = abs(event.score - event.label)
        else:
            continue
        total, weight = keep * total + error, keep * weight + 1.0
        found.append((event.seq, total / weight))
    return found


def explained(service: Service, seen: list[Seen]) -> list[Explained]:
    """The last events of a task from the log, each with the parts of its score now, the latest first."""
    found: list[Explained] = []
    if not seen:
        return found
    log = Log(service.folder.path / NAME, read_only=True)
    try:
        for event in reversed(seen[-EXPLAINED:]):
            entry = next((entry for _, entry in log.entries(event.seq - 1, event.seq)), None)
            if isinstance(entry, Learn | Feedback):
                with suppress(ValueError, TypeError):
                    found.append(_explained(service, event, entry))
    finally:
        log.close()
    return found


def _explained(service: Service, event: Seen, entry: Entry) -> Explained:
    assert isinstance(entry, Learn | Feedback)
    row: Any = entry.x if entry.record is None else entry.record
    with service.writer.lock:
        explanation = service.model.explain(row, entry.task)
    text = json.dumps(row, ensure_ascii=False, default=str)
    cut = text if len(text) <= 300 else text[:300] + " ..."
    return Explained(event, printable(cut), explanation.score, parts_of(explanation))


def shown(task: Any) -> str:
    """A task's name for people."""
    return printable(show_name(task))


def live(service: Service) -> dict[str, Any]:
    """The figures that a page shows anew every second; by their names in /metrics."""
    with service.writer.lock:
        sample = service.writer.history.samples[-1:]
    found = {figure.name: _finite(figure.value) for figure in service.measured()}
    return {"figures": found, "sample": [_finite(value) for value in sample[0]] if sample else None}


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None
