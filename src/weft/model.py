"""Model: a learner with its vocabulary, state and tally. What a user holds, saves and serves."""

import os
import warnings
from collections.abc import Iterable
from typing import Any

import numpy as np

from weft import refusals
from weft.compiled.arrays import Floats
from weft.inspection import views
from weft.inspection.explanation import Explanation, explain, weights_of
from weft.inspection.support import SupportRow, support, usage
from weft.labels import one_label
from weft.learner import Borrowed, Distances, Learner, Target, Traits, Usage
from weft.learners.catalogue import as_learner, parameters_as_json
from weft.names import Name, Names, declared
from weft.storage.batch import FINE, NO_ROOM, Batch
from weft.storage.growth import make_room_for_names, make_room_for_round
from weft.storage.rows import as_table
from weft.storage.single import UNKNOWN, Single
from weft.store.codec import FileError
from weft.store.files import read_file, write_atomic
from weft.store.model_file import Parts, pack_model, unpack_model
from weft.stream import Stream
from weft.tally import Tally
from weft.vocabulary import Proposal, Vocabulary

_SINGLE_ROOM = 4096


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
        built, names = refusals.with_tasks(as_learner(learner, parameters), tasks)
        known = declared(features, "features")
        columns = len(known) if isinstance(features, int) else 0  # a number declares the columns of tables
        built.hooks.refuse(len(names), len(known))
        self.vocabulary = Vocabulary(Names(names), Names(known[columns:], columns))
        self._set(Parts(built, self.vocabulary, built.init(names), None))
        self._hooks.admit(self.state, len(known))

    def _set(self, parts: Parts) -> None:
        self.learner: Learner = parts.learner
        self.name: str = parts.learner.name
        self.target: Target = parts.learner.target
        self.traits: Traits = parts.learner.traits
        self._hooks = parts.learner.hooks
        self.vocabulary = parts.vocabulary
        self.state = parts.state
        self.tally = Tally(self.vocabulary.tasks, self.target, self.learner.tally_loss, parts.tally)
        self._slots = self.vocabulary.tasks.slots
        self._labels: dict[float, float] = {1.0: 1.0, -1.0: -1.0} if self.target == "binary" else {}
        self._may_warn = True
        self._single: Single | None = None
        self._make_room_for_names(*self._sizes)

    @property
    def _sizes(self) -> tuple[int, int]:
        """The numbers of tasks and features."""
        return len(self.vocabulary.tasks), len(self.vocabulary.features)

    def __repr__(self) -> str:
        tasks, features = self._sizes
        return f"Model({self.learner!r}, {tasks} tasks, {features} features, {self.tally.total['events']} events)"

    # --- learning ---

    def learn(self, stream: Stream, *, trace: Floats | None = None) -> Floats:
        """Learn a stream; returns the scores issued before each label was used, one per example.

        `trace`, an array with a row per example and the columns `weft.learner.trace_columns`, is filled with what the
        loss bounds need (see `weft.evaluation`). A stream that is refused leaves the model as it was.
        """
        refusals.expect_stream(stream)
        trace = refusals.expect_trace(trace, len(stream), len(self.traits.trace))
        batch = self._taken(self._proposed(stream))
        trace[:] = 0.0
        scores = np.empty(len(stream))
        done, kernels, hyper = 0, self.learner.kernels, self.learner.hyper
        while done < len(batch.rounds) - 1:
            self._make_room_for_rounds(batch, done)
            done = kernels.learn(hyper, self.state, batch, done, scores, trace)
        self.tally.count(batch, scores)
        if self._may_warn:
            self._warn()
        return scores

    def fit(self, stream: Stream) -> "Model":
        """Fit a learner that refits to a whole stream at once, and to all rows from before; returns the model.

        No scores are issued, so the tally stays as it is. A stream that is refused leaves the model as it was.
        """
        refusals.expect_stream(stream)
        learner = views.expect_refits(self.learner)
        proposal = self._proposed(stream)
        learner.refuse_fit(self.state, proposal.batch)
        batch, done = self._taken(proposal), 0
        while done < len(batch.rounds) - 1:
            self._make_room_for_rounds(batch, done)
            done = learner.fit(self.state, batch, done)
        return self

    def _proposed(self, stream: Stream) -> Proposal:
        """The batch of a stream with its new names, checked before anything is changed."""
        proposal = self.vocabulary.propose(stream, stream.labels(self.target))
        refusals.refuse_new_tasks(self.learner, proposal.tasks.names)
        tasks, features = self.vocabulary.tasks.after(proposal.tasks), self.vocabulary.features.after(proposal.features)
        refusals.expect_room(self.learner, tasks, features)
        self._make_room_for_names(tasks, features)
        return proposal

    def _taken(self, proposal: Proposal) -> Batch:
        """The batch of a proposal, whose names are now known."""
        self.vocabulary.accept(proposal)
        if self._single is not None and self._single.room < min(len(self.vocabulary.features), _SINGLE_ROOM):
            self._single = None
        self._hooks.admit(self.state, self.vocabulary.features.columns)
        return proposal.batch

    def _make_room_for_names(self, tasks: int, features: int) -> None:
        """Room for so many tasks and features, and the blank task after the last."""
        self._replace_state(make_room_for_names(self.state, self.learner.plan, tasks, features))
        self.tally.reserve(tasks)

    def _make_room_for_rounds(self, batch: Batch, done: int) -> None:
        """Room for the rounds of a batch from `done` on, at least for the first of them; all names are known."""
        plan, (tasks, features) = self.learner.plan, self._sizes
        grown = make_room_for_round(self.state, plan, tasks, features, batch, done, self.traits.pooled)
        self._replace_state(self._hooks.prepare(grown, batch.task[batch.rounds[done] :]))

    def _replace_state(self, state: Any) -> None:
        if state is not self.state:
            self.state, self._single = state, None

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
        batch, scores = self._read(stream), np.empty(len(stream))  # reading may change the state
        self.learner.kernels.predict(self.learner.hyper, self.state, batch, scores)
        return scores

    def _read(self, stream: Stream) -> Batch:
        """A batch for scoring, with what its tasks need."""
        batch = self.vocabulary.read(stream, self.traits.reads_unknown)
        self._replace_state(self._hooks.prepare(self.state, batch.task))
        return batch

    def predict(self, X: Any, task: Any = None) -> Any:
        """Labels -1 or +1 for classification, values for regression; nothing is learned."""
        scores = self.score(X, task)
        return np.where(scores >= 0.0, 1, -1) if self.target == "binary" else scores

    def predict_proba(self, X: Any, task: Any = None) -> Floats:
        """The probability of the label +1, one per row; for learners with the logistic loss."""
        refusals.expect_log_odds(self.learner)
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
        label = self._labels.get(y) if type(y) is int or type(y) is float else None
        if label is None:
            label = one_label(y, self.target)
        if type(x) is dict:
            slot = self._slots.get(task, -1) if type(task) is str else self.vocabulary.tasks.find_plain(task)
            single = self._single or self._make_single()
            count = single.fill(x) if slot >= 0 else UNKNOWN
            if count >= 0:
                status = single.learn(single.handle, slot, label, count)
                if status == NO_ROOM:  # no room for the event's pairs or rows
                    self._make_room_for_rounds(single.batch, 0)
                    return self.learn_one(x, y, task)
                if status >= 0:
                    raise ValueError(refusals.not_finite(x, status))
                score: float = single.score[0]
                self.tally.count_one(slot, label, score)
                if self._may_warn:
                    self._warn()
                return score
        if task is None:
            raise ValueError("task is missing; name the task that the event belongs to")
        stream = Stream.of_checked(as_table(x), np.array([label]), [task], None, self.target)
        return float(self.learn(stream)[0])

    def predict_one(self, x: Any, task: Name) -> float:
        """The score of one event, without learning. `x` as in `learn_one`."""
        if type(x) is dict:
            slot = self._slots.get(task, -1) if type(task) is str else self.vocabulary.tasks.find_plain(task)
            single = self._single or self._make_single()
            count = single.fill(x) if slot >= 0 else UNKNOWN
            if count >= 0:
                status = single.predict(single.handle, slot, count)
                if status >= 0:
                    raise ValueError(refusals.not_finite(x, status))
                if status == FINE:
                    found: float = single.score[0]
                    return found
        return float(self.score(as_table(x), [task])[0])

    def _make_single(self) -> Single:
        # Room for every feature there is, and as many to come; longer rows fall back to the batch path.
        room = min(2 * len(self.vocabulary.features), _SINGLE_ROOM)
        self._single = Single(self.learner, self.state, self.vocabulary.features, len(self.traits.trace), room)
        return self._single

    # --- what it is ---

    @property
    def paper(self) -> str:
        """Where the learner was published."""
        return self.learner.paper

    @property
    def parameters(self) -> dict[str, Any]:
        """The learner's parameters as JSON takes them: `weft.Model(model.name, **model.parameters)` is its twin."""
        return parameters_as_json(self.learner)

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
        return self.learner.weights(self.state, *self._sizes)

    def parts_of(self, task: Name) -> Any:
        """(3, features): the weights that a task has by itself, from what all share, and from its neighbours."""
        slot = self.vocabulary.tasks.find(task)
        if slot < 0:
            raise ValueError(f"the model does not know the task {task!r}; see model.tasks")
        return weights_of(self.learner, self.state, slot, *self._sizes)

    def relations(self) -> Any:
        """(tasks, tasks): how much of a step on one task moves another."""
        return self.learner.relations(self.state, len(self.vocabulary.tasks))

    def outliers(self) -> Floats:
        """How far every task goes its own way: the lengths of the personal parts, in the order of `tasks`."""
        return views.expect_outliers(self.learner).outliers(self.state, *self._sizes)

    def distances(self) -> Distances:
        """How far every task is from the tasks that it is tied to, in the order of `tasks`."""
        return views.expect_distances(self.learner).distances(self.state, *self._sizes)

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
