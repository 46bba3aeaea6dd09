"""One learner over one order of a stream: predict, then learn; and what is kept of it."""

from collections.abc import Callable, Iterable, Mapping
from dataclasses import MISSING, fields
from typing import Any, NamedTuple, cast, get_args

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.evaluation.calibration import reliability
from weft.evaluation.clock import Clock, learn_within
from weft.evaluation.results import LeftOut
from weft.evaluation.rounds import auc
from weft.evaluation.scopes import SCALES_ITSELF, Alone, Learns, Pooled, Scope, with_intercept
from weft.inspection.relations import Relations, read_relations
from weft.learner import Learner, Target, missing_parts
from weft.methods.refusals import has_log_odds
from weft.model import Model
from weft.names import Names
from weft.storage.batch import empty_batch
from weft.stream import Stream
from weft.tally.counts import ABSOLUTE, MISTAKES, Tally

CURVE_POINTS = 500
"""Most points of a learning curve."""
MOST_RELATED = 300
"""Of so many tasks the relations are kept."""
TAKEN = ("task", "events", "winner")
"""Columns that stand beside the learners', so no learner can be called so."""
LABELS: dict[Target, str] = {"binary": "-1 and +1", "real": "numbers", "point": "left out"}
KINDS: dict[Target, str] = {"binary": "classifies", "real": "predicts numbers", "point": "predicts the rows"}


class Entry(NamedTuple):
    """A learner as it is called in a comparison, and the tasks declared for it."""

    label: str
    learner: Learner
    tasks: Any = None
    scope: Scope = "together"

    def model(self) -> Learns:
        """A fresh model: of all tasks, of every task alone, or of all tasks as one."""
        if self.scope != "together":
            return Alone(self.learner) if self.scope == "alone" else Pooled(self.learner)
        return Model(self.learner, tasks=self.tasks)


class Setting(NamedTuple):
    """What all runs of a comparison share."""

    stream: Stream
    target: Target
    events: Ints
    curve_events: Ints
    with_auc: bool
    scaled: Stream | None = None
    """The stream with rows of length 1 and an intercept, for learners that do neither by themselves."""

    def stream_for(self, entry: Entry) -> Stream:
        """The stream that a learner sees."""
        return self.stream if self.scaled is None or entry.learner.name in SCALES_ITSELF else self.scaled


class Run(NamedTuple):
    """One learner over one order: metrics, the error summed per task, the error rate along the stream."""

    metrics: dict[str, float]
    task_sums: Floats
    curve: Floats
    reliability: Floats | None = None
    """Of probabilities, where scores are log-odds: see `weft.evaluation.calibration`."""
    relations: Relations | None = None


# --- who takes part ---


def read_entries(learners: Any) -> list[Entry]:
    """The learners meant by names, (name, parameters) pairs, learners, or a mapping of labels to those."""
    if isinstance(learners, Mapping):
        entries = [_entry(given, str(label)) for label, given in learners.items()]
    elif isinstance(learners, Iterable) and not isinstance(learners, str):
        entries = [_entry(given, None) for given in learners]
    else:
        entries = [_entry(learners, None)]
    if not entries:
        raise ValueError("no learners to compare; give at least one")
    seen: dict[str, int] = {}
    for at, entry in enumerate(entries):
        if entry.label in TAKEN:
            raise ValueError(f"a learner cannot be labelled {entry.label!r}; the tables have a column of that name")
        seen[entry.label] = seen.get(entry.label, 0) + 1
        if seen[entry.label] > 1:
            entries[at] = entry._replace(label=f"{entry.label} #{seen[entry.label]}")
    return entries


def _entry(given: Any, label: str | None) -> Entry:
    if isinstance(given, Model):
        raise ValueError("compare starts every run afresh: give the model's learner, model.learner")
    if isinstance(given, str):
        given = (given, {})
    if isinstance(given, tuple) and len(given) == 2 and isinstance(given[1], Mapping):
        name, parameters = given
        scope = parameters.get("scope", "together")
        if scope not in get_args(Scope):
            raise ValueError(f"scope={scope!r}; choose one of {', '.join(get_args(Scope))}")
        shown = {parameter: value for parameter, value in parameters.items() if parameter != "tasks"}
        try:
            learner = Model(name, **{key: value for key, value in parameters.items() if key != "scope"}).learner
        except ValueError as error:
            raise named(label or str(name), error) from error
        return Entry(label or _called(name, shown), learner, parameters.get("tasks"), scope)
    if isinstance(given, type) or missing_parts(type(given)):
        raise ValueError(f"{given!r} is not a learner; give a name of the catalogue or a pair (name, parameters)")
    changed = {
        field.name: getattr(given, field.name)
        for field in fields(given)
        if field.default is MISSING or getattr(given, field.name) != field.default
    }
    return Entry(label or _called(given.name, changed), cast(Learner, given))


def _called(name: str, parameters: Mapping[str, Any]) -> str:
    return " ".join([name, *(f"{parameter}={value}" for parameter, value in parameters.items())])


def named(label: str, error: ValueError) -> ValueError:
    """The error with the learner's label before it."""
    return ValueError(str(error) if str(error).startswith(f"{label}:") else f"{label}: {error}")


def reason(entry: Entry, error: BaseException) -> str:
    """The sentence of an error without the learner's name before it, or words for one that has none."""
    if isinstance(error, MemoryError):
        return "not enough memory"
    name = entry.learner.name
    return str(error).removeprefix(f"{entry.label}: ").removeprefix(f"{name}: ").removeprefix(f"{name} ")


def kind_of(stream: Stream) -> Target:
    """What the labels of a stream are for: classes if there are two of them, else numbers; rows if there are none."""
    if not stream.has_labels:
        return "point"
    y = stream.plain().y
    if y.dtype == object:
        stream.labels("binary")  # refuses a third class by its row
    is_class = (y == 1.0) | (y == -1.0) | np.isnan(y) | (stream.has_rounds & (y == 0.0))
    return "binary" if np.all(is_class) else "real"


def prepare(
    stream: Stream,
    entries: list[Entry],
    with_auc: bool,
    leave_out: bool,
    advance: Callable[[], None],
    scaled: bool = False,
) -> tuple[Setting, dict[str, LeftOut]]:
    """Refuse or leave out what cannot be run or compared; one round with each, so that its kernels are compiled."""
    lead = _lead(stream, entries) if leave_out else entries[0]
    target, left_out = lead.learner.target, {}
    for entry in entries:
        try:
            if leave_out and entry.learner.target != target:
                raise ValueError(f"{KINDS[entry.learner.target]}, and the labels are {LABELS[target]}")
            _try(stream, entry, lead)
        except (ValueError, MemoryError) as error:
            if not leave_out:
                raise
            left_out[entry.label] = LeftOut(entry.label, reason(entry, error), 0, 0)
        advance()
    if with_auc and target != "binary":
        raise ValueError(f"auc needs learners that classify; {lead.label} {KINDS[target]}")
    is_labelled = ~np.isnan(stream.labels(target))
    total = int(is_labelled.sum())
    if total == 0:
        raise ValueError("all labels of the stream are missing; there is nothing to compare")
    events = np.bincount(stream.task_codes[is_labelled], minlength=len(stream.task_names))
    points = np.unique(np.linspace(1, total, min(CURVE_POINTS, total)).round().astype(np.int64))
    return Setting(stream, target, events, points, with_auc, with_intercept(stream) if scaled else None), left_out


def _lead(stream: Stream, entries: list[Entry]) -> Entry:
    """The first learner of the kind that the labels are for; the others are compared with it."""
    target = kind_of(stream)
    return next((entry for entry in entries if entry.learner.target == target), entries[0])


def _try(stream: Stream, entry: Entry, lead: Entry) -> None:
    """Raise ValueError, with the label, if the learner is of another kind or refuses the stream."""
    kind, wanted = entry.learner.target, lead.learner.target
    if kind != wanted:
        raise ValueError(
            f"{entry.label} {KINDS[kind]}, {lead.label} {KINDS[wanted]}: "
            "their errors do not compare; give learners of one kind"
        )
    try:
        stream.labels(kind)
        entry.learner.hooks.refuse(len(stream.task_names), stream.data.width)
        model = entry.model()
        for at in sorted({0, stream.n_rounds - 1}):  # a second call takes ways that the first does not
            model.learn(stream.cut(at, at + 1))
    except ValueError as error:
        raise named(entry.label, error) from error


# --- one run ---


def run(setting: Setting, entry: Entry, seed: int | None, clock: Clock) -> Run | None:
    """One learner over one random order, or over the stream's own if there is no seed; None if the clock stopped it."""
    stream = setting.stream_for(entry)
    stream = stream if seed is None else stream.shuffled(seed)
    model = entry.model()
    try:
        learned = learn_within(model, stream, clock)
    except ValueError as error:
        raise named(entry.label, error) from error
    if learned is None:
        return None
    scores, seconds = learned
    is_binary, names = setting.target == "binary", Names(stream.task_names)
    tally = Tally(names, setting.target, entry.learner.tally_loss)
    tally.reserve(len(names))
    y = stream.labels(setting.target)
    tally.count(empty_batch()._replace(task=stream._events.codes, label=y), scores)
    slots = [names.find(name) for name in setting.stream.task_names]
    sums = tally.live[slots, MISTAKES if is_binary else ABSOLUTE]
    has_events = setting.events > 0
    macro = float(np.mean(sums[has_events] / setting.events[has_events]))
    metrics = {metric: value for metric, value in tally.total.items() if metric in ("error", "loss", "f1", "rmse")}
    metrics |= {"macro_error": macro, "seconds": seconds}
    is_labelled = ~np.isnan(y)
    y, scores = y[is_labelled], scores[is_labelled]
    if setting.with_auc:
        metrics["auc"] = auc(scores, y)
    deviation = ((scores >= 0.0) != (y > 0.0)).astype(np.float64) if is_binary else np.abs(y - scores)
    curve = np.cumsum(deviation)[setting.curve_events - 1] / setting.curve_events
    return Run(metrics, sums, curve, reliability(scores, y) if has_log_odds(entry.learner) else None, _relations(model))


def _relations(model: Learns) -> Relations | None:
    """How the tasks of a model are related at the end, where it can tell and there are not too many of them."""
    if not isinstance(model, Model) or len(model.tasks) > MOST_RELATED:
        return None
    try:
        return read_relations(model)
    except ValueError:
        return None
