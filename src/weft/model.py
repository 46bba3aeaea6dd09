"""Model: a learner with its vocabulary, state and tally. What a user holds, saves and serves."""

import os
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import replace
from typing import Any, cast

import numpy as np

from weft.compiled.arrays import Floats
from weft.graphs.reading import Graph
from weft.inspection import views
from weft.inspection.explanation import Explanation, explain, weights_of
from weft.inspection.support import SupportRow, support, usage
from weft.learner import Borrowed, Distances, Learner, Target, Traits, Usage, missing_parts
from weft.learners.catalogue import build, parameters_as_json
from weft.maths.losses import LOGISTIC
from weft.names import Name, Names, declared, plain
from weft.storage import state as states
from weft.storage.batch import FINE, NO_ROOM, Batch
from weft.storage.rows import REMEDY, as_table, scalar_label
from weft.storage.single import UNKNOWN, Single
from weft.store.codec import FileError
from weft.store.files import read_file, write_atomic
from weft.store.model_file import Parts, pack_model, unpack_model
from weft.stream import Stream
from weft.tally import Tally
from weft.vocabulary import Proposal, Vocabulary

_SINGLE_ROOM = 4096
_SIMPLE = frozenset((str, int))


class Model:
    """One model per task, all learned together from one stream.

    `learner` is a name of the catalogue, with its parameters as keywords, or a learner that is already built; without
    one it is `auto`, which has nothing to tune: `loss="square"` if labels are numbers. `tasks` declares tasks up front,
    by their names or as a number (then they are called 0, 1, ...); `features` does the same for features. Tasks that
    are declared, but that a graph of edges or cliques does not name, are tied to nobody.

    >>> import weft
    >>> model = weft.Model("implicit", norm="linf", C=1.0)
    >>> model.learn_one({"free": 1.0, "offer": 1.0}, +1, task="ann")
    0.0
    >>> model.predict_one({"free": 1.0}, task="ann"), model.predict_one({"free": 1.0}, task="bob")
    (0.5, 0.0)
    >>> weft.Model()
    Model(Auto(loss='logistic', own_prior=0.0, second_order=False, half_life=inf), 0 tasks, 0 features, 0 events)
    """

    def __init__(
        self,
        learner: str | Learner = "auto",
        *,
        tasks: Iterable[Name] | int | None = None,
        features: Iterable[Name] | int | None = None,
        **parameters: Any,
    ) -> None:
        if isinstance(learner, str):
            built = build(learner, parameters)
        elif parameters:
            raise ValueError("parameters go with a learner's name; this learner is already built")
        elif isinstance(learner, type) or missing_parts(type(learner)):
            raise ValueError(
                f"{learner!r} is not a learner; give a name of weft.catalogue(), or a learner that is built"
            )
        else:
            built = learner
        names = declared(tasks, "tasks")
        built = _with_tasks(built, names)
        names = names or list(built.traits.task_names)
        known = declared(features, "features")
        columns = len(known) if isinstance(features, int) else 0  # a number declares the columns of tables
        built.hooks.refuse(len(names), len(known))
        self.vocabulary = Vocabulary(Names(names), Names(known[columns:], columns))
        self._set(Parts(built, self.vocabulary, built.init(names), None))
        self._hooks.admit(self.state, len(known))

    def _set(self, parts: Parts) -> None:
        self.learner: Learner = parts.learner
        self.traits: Traits = parts.learner.traits
        self._hooks = parts.learner.hooks
        self.vocabulary = parts.vocabulary
        self.state = parts.state
        self.tally = Tally(self.vocabulary.tasks, self.learner.target, self.learner.tally_loss, parts.tally)
        self._slots = self.vocabulary.tasks.slots
        self._labels: dict[float, float] = {1.0: 1.0, -1.0: -1.0} if self.learner.target == "binary" else {}
        self._may_warn = True
        self._single: Single | None = None
        self._reserve(len(self.vocabulary.tasks), len(self.vocabulary.features))

    def __repr__(self) -> str:
        tasks, features = len(self.vocabulary.tasks), len(self.vocabulary.features)
        return f"Model({self.learner!r}, {tasks} tasks, {features} features, {self.tally.total['events']} events)"

    # --- learning ---

    def learn(self, stream: Stream, *, trace: Floats | None = None) -> Floats:
        """Learn a stream; returns the scores issued before each label was used, one per example.

        `trace`, an array with a row per example and the columns `weft.learner.trace_columns`, is filled with what the
        loss bounds need (see `weft.evaluation`). A stream that is refused leaves the model as it was.
        """
        _expect_stream(stream)
        trace = _expect_trace(trace, len(stream), len(self.traits.trace))
        batch = self._taken(self._proposed(stream))
        trace[:] = 0.0
        scores = np.empty(len(stream))
        self._learn_batch(batch, scores, trace)
        self.tally.count(batch, scores)
        if self._may_warn:
            self._warn()
        return scores

    def fit(self, stream: Stream) -> "Model":
        """Fit a learner that refits to a whole stream at once, and to all rows from before; returns the model.

        No scores are issued, so the tally stays as it is. A stream that is refused leaves the model as it was.
        """
        _expect_stream(stream)
        learner = views.expect_refits(self.learner)
        proposal = self._proposed(stream)
        learner.refuse_fit(self.state, proposal.batch)
        batch, done = self._taken(proposal), 0
        while done < len(batch.rounds) - 1:
            self._reserve(len(self.vocabulary.tasks), len(self.vocabulary.features), batch, done)
            done = learner.fit(self.state, batch, done)
        return self

    def _proposed(self, stream: Stream) -> Proposal:
        """The batch of a stream with its new names, checked before anything is changed."""
        proposal = self.vocabulary.propose(stream, stream.labels(self.learner.target))
        if self.traits.task_names and proposal.tasks.names:
            raise ValueError(_not_in_graph(self.name, self.traits.task_names, proposal.tasks.names[0]))
        tasks, features = self.vocabulary.tasks.after(proposal.tasks), self.vocabulary.features.after(proposal.features)
        self._expect_room(tasks, features)
        self._reserve(tasks, features)
        return proposal

    def _taken(self, proposal: Proposal) -> Batch:
        """The batch of a proposal, whose names are now known."""
        self.vocabulary.accept(proposal)
        if self._single is not None and self._single.room < min(len(self.vocabulary.features), _SINGLE_ROOM):
            self._single = None
        self._hooks.admit(self.state, self.vocabulary.features.columns)
        return proposal.batch

    def _expect_room(self, tasks: int, features: int) -> None:
        """Refuse numbers of tasks and features that the learner is not made for."""
        least = self.traits.least_features
        if features < least:
            raise ValueError(
                f"{self.name} spreads weight over features and needs at least {least}, not {features}; "
                "declare them up front with features="
            )
        self._hooks.refuse(tasks, features)

    def _learn_batch(self, batch: Batch, scores: Floats, trace: Floats) -> None:
        kernels, hyper = self.learner.kernels, self.learner.hyper
        done, rounds = 0, len(batch.rounds) - 1
        while done < rounds:
            self._reserve(len(self.vocabulary.tasks), len(self.vocabulary.features), batch, done)
            done = kernels.learn(hyper, self.state, batch, done, scores, trace)

    def _reserve(self, tasks: int, features: int, batch: Batch | None = None, done: int = 0) -> None:
        plan = self.learner.plan
        if batch is None:
            sizes = states.Sizes(tasks + 1, max(features, 1))
        else:
            sizes = states.sizes_for(self.state, tasks, features, batch, done)
        grown = states.reserve(self.state, plan, sizes)
        if batch is not None:
            grown = states.reserve_pairs(grown, plan, features, batch, done, self.traits.pooled, tasks)
            grown = self._hooks.prepare(grown, batch.task[batch.rounds[done] :])
        if grown is not self.state:
            self.state, self._single = grown, None
        self.tally.reserve(tasks)

    def _warn(self) -> None:
        """Tell the user, once, if the stream broke what the learner's guarantees assume."""
        warning = self._hooks.warning(self.state)
        self._may_warn = warning == ""
        if warning:
            warnings.warn(warning, stacklevel=3)

    # --- scoring ---

    def score(self, X: Any, task: Any = None) -> Floats:
        """Scores without learning: margins for classification, values for regression, distances for points.

        `task` is a name per row, or one name for all rows; X may also be a Stream, which has its tasks. Unknown
        features are ignored (by `auto` and `adaptive` they count in the row's length, as they would in learning); an
        unknown task is scored as a new one would be.
        """
        stream = X if isinstance(X, Stream) else Stream(X, None, task)
        batch = self._read(stream)
        scores = np.empty(len(stream))
        self.learner.kernels.predict(self.learner.hyper, self.state, batch, scores)
        return scores

    def _read(self, stream: Stream) -> Batch:
        """A batch for scoring, with what its tasks need."""
        batch = self.vocabulary.read(stream, self.traits.reads_unknown)
        prepared = self._hooks.prepare(self.state, batch.task)
        if prepared is not self.state:
            self.state, self._single = prepared, None
        return batch

    def predict(self, X: Any, task: Any = None) -> Any:
        """Labels -1 or +1 for classification, values for regression; nothing is learned."""
        scores = self.score(X, task)
        return np.where(scores >= 0.0, 1, -1) if self.learner.target == "binary" else scores

    def predict_proba(self, X: Any, task: Any = None) -> Floats:
        """The probability of the label +1, one per row; for learners with the logistic loss."""
        if self.learner.target != "binary" or self.learner.tally_loss[0] != LOGISTIC:
            raise ValueError(
                f"{self.learner.name} with these parameters has scores that are no log-odds; probabilities need a "
                'learner with loss="logistic", such as auto'
            )
        proba: Floats = 1.0 / (1.0 + np.exp(-self.score(X, task)))
        return proba

    def explain(self, x: Any, task: Name, *, per_feature: bool = False) -> Explanation:
        """The score of one event in its parts: what the task taught itself, what all share, and who taught it the rest.

        The parts add up to the score (`explanation`). An unknown task is explained as the newcomer that it would
        be; unknown features are ignored. `x` as in `learn_one`.
        """
        stream = Stream(as_table(x), None, [task])
        batch = self._read(stream)  # may change the state
        return explain(self.learner, self.state, self.vocabulary, batch, stream.task_names[0], per_feature)

    # --- single events ---

    def learn_one(self, x: Any, y: float | None = None, task: Name | None = None) -> float:
        """Learn one event; returns the score issued before. `x`: a dict of named features, a dense or a sparse row."""
        if type(x) is dict:
            label = self._labels.get(y) if type(y) is int or type(y) is float else None
            if label is None:
                label = self._label(y)
            slot = self._slots.get(task, -1) if type(task) is str else self._task_slot(task)
            single = self._single or self._make_single()
            count = single.fill(x) if slot >= 0 else UNKNOWN
            if count >= 0:
                status = single.learn(single.handle, slot, label, count)
                if status == NO_ROOM:  # no room for the event's pairs or rows
                    self._reserve(len(self.vocabulary.tasks), len(self.vocabulary.features), single.batch)
                    return self.learn_one(x, y, task)
                if status >= 0:
                    raise ValueError(_not_finite(x, status))
                score: float = single.score[0]
                self.tally.count_one(slot, label, score)
                if self._may_warn:
                    self._warn()
                return score
        if task is None:
            raise ValueError("task is missing; name the task that the event belongs to")
        labels = None if y is None else [scalar_label(y)]
        return float(self.learn(Stream(as_table(x), labels, [task]))[0])

    def predict_one(self, x: Any, task: Name) -> float:
        """The score of one event, without learning. `x` as in `learn_one`."""
        if type(x) is dict:
            slot = self._slots.get(task, -1) if type(task) is str else self._task_slot(task)
            single = self._single or self._make_single()
            count = single.fill(x) if slot >= 0 else UNKNOWN
            if count >= 0:
                status = single.predict(single.handle, slot, count)
                if status >= 0:
                    raise ValueError(_not_finite(x, status))
                if status == FINE:
                    found: float = single.score[0]
                    return found
        return float(self.score(as_table(x), [task])[0])

    def _make_single(self) -> Single:
        # Room for every feature there is, and as many to come; rows beyond the limit go the long way.
        room = min(2 * len(self.vocabulary.features), _SINGLE_ROOM)
        self._single = Single(self.learner, self.state, self.vocabulary.features, len(self.traits.trace), room)
        return self._single

    def _task_slot(self, task: Any) -> int:
        """A known task's slot, or -1: new tasks, and names that are none, go the long way."""
        if type(task) is tuple:  # ("a", True) equals ("a", 1), but is no name
            task = plain(task, "task")
        elif type(task) not in _SIMPLE:
            return -1
        return self.vocabulary.tasks.slots.get(task, -1)

    def _label(self, y: Any) -> float:
        """A single event's label as the learner takes it."""
        target = self.learner.target
        if target == "point" and y is None:
            return 0.0
        label = scalar_label(y)
        if target == "binary" and abs(label) != 1.0:
            raise ValueError(f'label {y!r}; classification takes -1 and +1, numbers need loss="square" or the like')
        return 0.0 if target == "point" else label

    # --- what it is ---

    @property
    def name(self) -> str:
        """The learner's name in the catalogue."""
        return self.learner.name

    @property
    def paper(self) -> str:
        """Where the learner was published."""
        return self.learner.paper

    @property
    def parameters(self) -> dict[str, Any]:
        """The learner's parameters as JSON takes them: `weft.Model(model.name, **model.parameters)` is its twin."""
        return parameters_as_json(self.learner)

    @property
    def target(self) -> Target:
        """What labels are: "binary" (-1 or +1), "real" (numbers) or "point" (none: the row is predicted)."""
        return self.learner.target

    @property
    def views(self) -> frozenset[str]:
        """What this model can show beside scores: some of "explain", "support", "usage", "distances", ..."""
        return views.views_of(self.learner)

    # --- what was learned ---

    @property
    def tasks(self) -> list[Name]:
        """Names of the tasks known, in order of appearance (declared ones first)."""
        return list(self.vocabulary.tasks)

    @property
    def features(self) -> list[Name]:
        """Names of the features known: the columns of `weights()`."""
        return list(self.vocabulary.features)

    def weights(self) -> Any:
        """(tasks, features) of a linear learner, rows in the order of `tasks`, columns in that of `features`."""
        return self.learner.weights(self.state, len(self.vocabulary.tasks), len(self.vocabulary.features))

    def parts_of(self, task: Name) -> Any:
        """(3, features): the weights that a task has by itself, from what all share, and from its neighbours."""
        slot, tasks = self.vocabulary.tasks.find(task), len(self.vocabulary.tasks)
        if slot < 0:
            raise ValueError(f"the model does not know the task {task!r}; see model.tasks")
        return weights_of(self.learner, self.state, slot, tasks, len(self.vocabulary.features))

    def relations(self) -> Any:
        """(tasks, tasks): how much of a step on one task moves another."""
        return self.learner.relations(self.state, len(self.vocabulary.tasks))

    def outliers(self) -> Floats:
        """How far every task goes its own way: the lengths of the personal parts, in the order of `tasks`."""
        learner = views.expect_outliers(self.learner)
        return learner.outliers(self.state, len(self.vocabulary.tasks), len(self.vocabulary.features))

    def distances(self) -> Distances:
        """How far every task is from the tasks that it is tied to, in the order of `tasks`."""
        learner = views.expect_distances(self.learner)
        return learner.distances(self.state, len(self.vocabulary.tasks), len(self.vocabulary.features))

    def borrowing(self) -> dict[Name, Borrowed]:
        """Of `auto`, per task: what it relies on, the losses so far, and the certificate that it did no harm."""
        found = views.expect_borrows(self.learner).borrowing(self.state, len(self.vocabulary.tasks))
        return dict(zip(self.vocabulary.tasks, found, strict=True))

    def support(self) -> list[SupportRow]:
        """The rows that a kernel learner keeps: task, coefficient, row and age, oldest first."""
        return support(self.learner, self.state, self.vocabulary)

    def usage(self) -> Usage:
        """Of a learner on a budget: rows and bytes kept, how tasks share them, and what evictions cost so far."""
        return usage(self.learner, self.state, self.vocabulary)

    # --- files ---

    def to_bytes(self) -> bytes:
        """The model as the bytes of its file: equal bytes are equal models."""
        return pack_model(Parts(self.learner, self.vocabulary, self.state, self.tally.live))

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write the model to one file; a crash leaves the old file or the new one."""
        write_atomic(path, self.to_bytes())

    @classmethod
    def from_bytes(cls, data: bytes) -> "Model":
        """The model that `to_bytes` wrote."""
        model = cls.__new__(cls)
        model._set(unpack_model(data))
        return model


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file. A file that is damaged or no model at all is refused; nothing in a file is ever run."""
    data = read_file(path)
    try:
        return Model.from_bytes(data)
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None


def _with_tasks(learner: Learner, names: list[Name]) -> Learner:
    """The learner with all declared tasks in its graph: those that it does not name are tied to nobody."""
    closed, given = learner.traits.task_names, set(names)
    if not closed or not names or given == set(closed):
        return learner
    if missing := [name for name in closed if name not in given]:
        raise ValueError(f"the graph names the task {missing[0]!r}, which tasks does not; add it, or leave tasks out")
    graph = getattr(learner, "graph", None)
    if not isinstance(graph, Graph):
        raise ValueError(_not_in_graph(learner.name, closed, next(name for name in names if name not in closed)))
    return cast(Learner, replace(cast(Any, learner), graph=graph.with_tasks(names)))


def _not_in_graph(learner: str, names: tuple[Name, ...], task: Name) -> str:
    shown = ", ".join(map(repr, names[:8])) + (f", ... ({len(names)} in all)" if len(names) > 8 else "")
    return f"the graph of {learner} does not name the task {task!r}; its tasks are {shown}"


def _expect_stream(stream: Any) -> None:
    if not isinstance(stream, Stream):
        raise ValueError(f"learn takes a weft.Stream, not {type(stream).__name__}; write weft.Stream(X, y, task)")


def _expect_trace(trace: Any, rows: int, columns: int) -> Floats:
    shape = (rows, columns)
    if trace is None:
        return np.zeros((0, columns))
    if not isinstance(trace, np.ndarray) or trace.dtype != np.float64 or trace.shape != shape:
        raise ValueError(
            f"trace is {type(trace).__name__} {np.shape(trace)}, expected a float64 array of shape {shape}"
        )
    if not (trace.flags.c_contiguous and trace.flags.writeable):
        raise ValueError("trace must be C-contiguous and writable; make it with np.zeros")
    return trace


def _not_finite(x: Mapping[Any, Any], position: int) -> str:
    name, value = list(x.items())[position]
    return f"feature {name!r} is {value!r}; {REMEDY}"
