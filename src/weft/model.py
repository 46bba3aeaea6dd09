"""Model: a learner with its vocabulary, state and tally. What a user holds, saves and serves.

Any thread may call any method at any time: `weft.threads.guard` says how, and what `reads` and `changes` mean.
"""

import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats
from weft.compiled.jit import PLAIN
from weft.inspection import views
from weft.inspection.explanation import Explanation, explain
from weft.inspection.learned import Learned
from weft.kinds.frames import as_column
from weft.labels import UNKNOWN, Classes, Label, named_classes, probability
from weft.learner import Learner, Target, Traits
from weft.learners.catalogue import as_learner, built_in, is_known, register
from weft.methods import refusals
from weft.methods.forgetting import Forgetting
from weft.methods.single_events import SINGLE_ROOM, SingleEvents, stream_of
from weft.names import Name, Names, declared
from weft.policies.apart import Policies
from weft.policies.policy import Private
from weft.policies.shown import Shown
from weft.schema import Schema
from weft.storage.batch import Batch, empty_batch
from weft.storage.growth import make_room_for_names, make_room_for_round, room_for_names
from weft.storage.rows import as_table
from weft.storage.single import Single
from weft.storage.state import Sizes
from weft.store.digests import FileError
from weft.store.model_file import Contents, unpack_model, write_model
from weft.store.reading import read_file
from weft.store.saved import Saved
from weft.stream import Stream
from weft.tally.counts import Tally
from weft.text import html
from weft.threads import parallel
from weft.threads.guard import Guard, changes, held_back, reads
from weft.vocabulary import Proposal, Vocabulary


class Model(SingleEvents, Forgetting, Policies, Shown, Learned, Saved):
    """One model per task, all learned together from one stream.

    `learner` is a name of the catalogue, with its parameters as keywords, or a learner that is already built; without
    one it is `auto`, which has nothing to tune: `loss="square"` if labels are numbers. `tasks` declares tasks up front,
    by their names or as a number (then they are called 0, 1, ...); `features` does the same for features. Tasks that
    are declared, but that a graph of edges or cliques does not name, are tied to nobody. `classes` are the two labels
    of a classifier, negative first; without them they are those of the first stream. A model with a `schema` takes data
    frames and records.

    >>> import weft
    >>> model = weft.Model("implicit", norm="linf", C=1.0)
    >>> model.learn_one({"free": 1.0, "offer": 1.0}, +1, task="ann")
    0.0
    >>> model.predict_one({"free": 1.0}, task="ann"), model.predict_one({"free": 1.0}, task="bob")
    (0.5, 0.0)
    >>> weft.Model()  # doctest: +ELLIPSIS
    Model(Auto(loss='logistic', ... effort='balanced', experts=None), 0 tasks, 0 features, 0 events)
    """

    def __init__(
        self,
        learner: str | Learner = "auto",
        *,
        tasks: Iterable[Name] | int | None = None,
        features: Iterable[Name] | int | None = None,
        classes: Sequence[Label] | None = None,
        schema: Schema | None = None,
        **parameters: Any,
    ) -> None:
        built, names = refusals.with_tasks(as_learner(learner, parameters), tasks)
        known = declared(features, "features")
        columns = len(known) if isinstance(features, int) else 0  # a number declares the columns of tables
        built.hooks.refuse(len(names), len(known))
        self.vocabulary = Vocabulary(Names(names), Names(known[columns:], columns))
        found = refusals.first_classes(built, classes, schema)
        self._set(Contents(built, self.vocabulary, built.init(names), None, found, schema))
        self._hooks.admit(self.state, len(known))

    def _set(self, contents: Contents) -> None:
        self._guard = Guard()
        self.learner: Learner = contents.learner
        self.name: str = contents.learner.name
        self.target: Target = contents.learner.target
        self.traits: Traits = contents.learner.traits
        self._hooks = contents.learner.hooks
        self._kernels = contents.learner.kernels
        self._is_python = PLAIN or not self._kernels.compiled
        self._has_to_compile = not self._is_python
        self.vocabulary = contents.vocabulary
        self.state = contents.state
        loss = self.learner.tally_loss
        self._tally = Tally(self.vocabulary.tasks, self.target, loss, contents.tally, self._guard, contents.recent)
        self._policies: dict[Name, Private] = {}
        self._slots = self.vocabulary.tasks.slots
        self._set_classes(contents.classes)
        self._schema = contents.schema
        self._encoder = None
        self._width = contents.width
        self.vocabulary.reads_missing = self.traits.reads_missing
        self._may_warn = True
        self._single: Single | None = None
        self._room: Sizes | None = None
        self._make_room_for_names(*self._sizes)

    def _set_classes(self, classes: Classes) -> None:
        self._classes = classes
        self._labels: dict[Any, float] = classes.codes if self.target == "binary" else {}

    @property
    def label_classes(self) -> Classes:
        """What is known of the classes, for readers of files."""
        return self._classes

    @property
    def classes(self) -> tuple[Label | None, Label | None] | None:
        """The two labels of a classifier, negative first; None for other learners and before any label was met."""
        return None if self.target != "binary" or self._classes == UNKNOWN else self._classes.shown

    @property
    def schema(self) -> Schema | None:
        """What the fields of the records are that the model takes; None if it takes none."""
        return self._schema

    def __repr__(self) -> str:
        if self._guard.reason:
            return f"Model({self.learner!r}, unusable: {self._guard.reason})"
        return self._described()

    @reads
    def _described(self) -> str:
        tasks, features = self._sizes
        return f"Model({self.learner!r}, {tasks} tasks, {features} features, {self._tally.total['events']} events)"

    def _repr_html_(self) -> str:
        text = self._tally._repr_html_() if not self._guard.reason else ""
        return html.table("Model", ["learner", "parameters"], [(self.name, repr(self.learner))]) + text

    # --- learning ---

    def learn(self, stream: Any, *, trace: Floats | None = None) -> Floats:
        """Learn a stream; returns the scores issued before each label was used, one per example.

        A model with a schema takes a data frame or a list of records as well.
        `trace`, an array with a row per example and the columns `weft.learner.trace_columns`, is filled with what the
        loss bounds need (see `weft.evaluation`). A stream that is refused leaves the model as it was, and so does a
        lack of memory before the first round. Ctrl-C waits until the stream is learned; a second one does not.
        """
        stream = self._stream(stream)
        trace = refusals.expect_trace(trace, len(stream), len(self.traits.trace))
        scores = np.empty(len(stream))
        warning = self._learn(stream, scores, trace)
        if warning:
            warnings.warn(warning, stacklevel=2)
        return scores

    @changes
    def _learn(self, stream: Stream, scores: Floats, trace: Floats) -> str | None:
        """Fill the scores and the trace; returns what the user is to be warned of."""
        if self._policies and (apart := self._apart(stream)):
            self._learn_apart(stream, apart, scores, trace)
            return self._warning()
        return self._learn_all(stream, scores, trace)

    def _learn_all(self, stream: Stream, scores: Floats, trace: Floats, count: bool = True) -> str | None:
        """The same where no task has a policy; whether predictions count in the tally."""
        hyper, learn = self.learner.hyper, self._kernels.learn
        proposal = self._proposed(stream)
        self._compile(trace)
        shards = parallel.shards_of(self._kernels, self.traits, proposal.batch, trace)

        def learn_from(batch: Batch, done: int) -> int:
            return learn(hyper, self.state, batch, done, scores, trace)

        def learn_shards(batch: Batch, done: int) -> int:
            parallel.learn(learn, hyper, self.state, shards, self._grown_for_round)
            for shard in shards:
                shard.report(scores, trace)
            return len(batch.rounds) - 1

        with held_back():
            trace[:] = 0.0
            in_threads = len(shards) > 1
            rule = learn_shards if in_threads else learn_from
            self._run(proposal, rule, lambda batch: self._tally.count(batch, scores) if count else None, in_threads)
            return self._warning()

    def _stream(self, source: Any) -> Stream:
        """What is to be learned as a stream, with the schema of this model."""
        if self._schema is not None and not isinstance(source, Stream):
            is_new = not self.vocabulary.features.size.later
            source = Stream.of_source(source, self._schema, checks_fields=is_new)
        refusals.expect_stream(source)
        stream: Stream = source
        refusals.refuse_other_schema(self._schema, stream)
        return stream

    def fit(self, stream: Any) -> "Model":
        """Fit a learner that refits to a whole stream at once, and to all rows from before; returns the model.

        No scores are issued, so the tally stays as it is. A stream that is refused leaves the model as it was.
        """
        self._fit(self._stream(stream))
        return self

    @changes
    def _fit(self, stream: Stream) -> None:
        learner = views.expect_refits(self.learner)
        proposal = self._proposed(stream)
        learner.refuse_fit(self.state, proposal.batch)
        with held_back():
            self._run(proposal, lambda batch, done: learner.fit(self.state, batch, done), lambda batch: None)

    def _proposed(self, stream: Stream) -> Proposal:
        """The batch of a stream with its new names, checked before anything is changed, and room for them."""
        proposal = self._checked(stream)
        self._make_room_for_names(*self._sizes_after(proposal))
        return proposal

    def _checked(self, stream: Stream, known: Classes | None = None) -> Proposal:
        """The batch of a stream with its new names; `known` are classes that the model will have."""
        refusals.refuse_weights(self.learner, stream)
        if known is None:
            known = stream.classes if self._classes == UNKNOWN else self._classes
        labels, classes = stream.targets(self.target, known)
        refusals.refuse_positions(self.vocabulary.features, self._width, stream)
        schema = stream.schema if self.vocabulary.features.size.later == 0 else None
        proposal = self.vocabulary.propose(stream, labels)
        proposal = proposal._replace(classes=classes, schema=schema, width=stream.columns if stream.is_dense else None)
        refusals.refuse_new_tasks(self.learner, proposal.tasks.names)
        tasks, features = self._sizes_after(proposal)
        refusals.expect_room(self.learner, tasks, features)
        return proposal

    def _sizes_after(self, proposal: Proposal) -> tuple[int, int]:
        return self.vocabulary.tasks.after(proposal.tasks), self.vocabulary.features.after(proposal.features)

    def _run(
        self,
        proposal: Proposal,
        learn_from: Callable[[Batch, int], int],
        end: Callable[[Batch], None],
        in_threads: bool = False,
    ) -> None:
        """Accept the names of a proposal and learn its batch.

        Whoever runs out of memory before the first round finds the model as it was. Any failure after that leaves a
        model that can only be dropped, and says so.
        """
        batch, done, has_begun = proposal.batch, 0, False
        last = len(batch.rounds) - 1
        try:
            self._make_room_for_rounds(batch, 0, *self._sizes_after(proposal))
            self._tally.flush()
            self.vocabulary.accept(proposal)
            has_begun = True
            if proposal.classes is not self._classes:
                self._set_classes(proposal.classes)
            if self._schema is None and proposal.schema is not None:
                self._schema = proposal.schema
            self._width = proposal.width or self._width
            if self._single is not None and self._single.room < min(len(self.vocabulary.features), SINGLE_ROOM):
                self._single = None
            self._hooks.admit(self.state, self.vocabulary.features.columns)
            done = learn_from(batch, 0)
            while done < last:
                self._make_room_for_rounds(batch, done, *self._sizes)
                done = learn_from(batch, done)
            end(batch)
        except BaseException as error:
            if has_begun or not isinstance(error, MemoryError):
                where = f"in the middle of {last} rounds" if in_threads else f"after {done} of {last} rounds"
                self._guard.give_up(error, where)
            raise

    def _compile(self, trace: Floats) -> None:
        """Compile the rule, if it was not compiled yet, before anything is changed: that may fail, and takes long."""
        if self._has_to_compile:
            self._kernels.learn(self.learner.hyper, self.state, empty_batch(), 0, np.empty(0), trace[:0])
            self._has_to_compile = False

    def _make_room_for_names(self, tasks: int, features: int, one_by_one: bool = False) -> None:
        """Room for so many tasks and features, and the blank task after the last."""
        if self._room is None:
            self._room = room_for_names(self.state, self.learner.plan)
        if tasks >= self._room.task or features > self._room.feature:
            self._replace_state(make_room_for_names(self.state, self.learner.plan, tasks, features, one_by_one))
        self._tally.reserve(tasks)

    def _make_room_for_rounds(self, batch: Batch, done: int, tasks: int, features: int) -> None:
        """Room for the rounds of a batch from `done` on, at least for the first of them, and for so many names."""
        grown = make_room_for_round(self.state, self.learner.plan, tasks, features, batch, done, self.traits.pooled)
        self._replace_state(self._hooks.prepare(grown, batch.task[batch.rounds[done] :]))

    def _grown_for_round(self, batch: Batch, done: int) -> Any:
        """The state with room for the next round of a batch whose names are all known."""
        self._make_room_for_rounds(batch, done, *self._sizes)
        return self.state

    def _replace_state(self, state: Any) -> None:
        if state is not self.state:
            self.state, self._single, self._room = state, None, None

    def _warning(self) -> str | None:
        """A sentence for the user, once, if the stream broke what the learner's guarantees assume."""
        if not self._may_warn:
            return None
        warning = self._hooks.warning(self.state)
        self._may_warn = warning == ""
        return warning

    # --- scoring ---

    def score(self, X: Any, task: Any = None) -> Any:
        """Scores without learning: margins for classification, values for regression, distances for points.

        `task` is a name per row, or one name for all rows; X may also be a Stream, which has its tasks. Unknown
        features are ignored (by `auto` and `adaptive` they count in the row's length, as they would in learning); an
        unknown task is scored as a new one would be.
        """
        return self._like(X, task, self._scores(X, task, reports_names=False))

    def _scores(self, X: Any, task: Any, reports_names: bool = True) -> Floats:
        if not isinstance(X, Stream):
            X = self._unlabelled(X, task, reports_names)
        refusals.refuse_other_schema(self._schema, X)
        refusals.refuse_positions(self.vocabulary.features, self._width, X)
        return self._score(X)

    def _unlabelled(self, source: Any, task: Any, reports_names: bool) -> Stream:
        """Rows, records or a data frame to be scored; the user is told of rows with unknown names only.

        Without `reports_names`, of rows that are read by the schema alone.
        """
        if task is None and self._schema is not None:
            stream = Stream.of_source(source, self._schema, has_labels=False, checks_fields=False)
        else:
            stream = Stream(source, None, task)
            if stream.columns is not None or not reports_names:
                return stream
        if told := refusals.about_strange_rows(self.strange_rows(stream)):
            warnings.warn(told, stacklevel=4)
        return stream

    def _like(self, X: Any, task: Any, found: Any) -> Any:
        """A column of the library of a data frame that was scored by its schema; else what was found."""
        return found if self._schema is None or task is not None else as_column(X, found)

    @reads
    def _score(self, stream: Stream) -> Floats:
        if self._policies and (apart := self._apart(stream)):
            return self._score_apart(stream, apart)
        return self._score_all(stream, self.traits.reads_unknown)

    def _score_all(self, stream: Stream, reads_unknown: bool) -> Floats:
        """Scores where no task has a policy; features that are not known count, or are dropped."""
        batch, state = self._read(stream, reads_unknown)
        scores = np.empty(len(stream))
        parallel.predict(self._kernels, self.learner.hyper, state, batch, scores)
        return scores

    def _read(self, stream: Stream, reads_unknown: bool) -> tuple[Batch, Any]:
        """A batch for scoring, and the state with what its tasks need, which is kept for the next reader."""
        batch, before = self.vocabulary.read(stream, reads_unknown), self.state
        state = self._hooks.prepare(before, batch.task)
        if state is not before:
            with self._guard.lock:
                if self.state is before:  # another reader may have been faster
                    self._replace_state(state)
        return batch, state

    def predict(self, X: Any, task: Any = None) -> Any:
        """The labels of a classifier, one of its two classes each; values for regression. Nothing is learned."""
        scores = self._scores(X, task)
        if self.target == "binary":
            scores = named_classes(self._classes)[(scores >= 0.0).astype(np.int64)]
        return self._like(X, task, scores)

    @property
    def has_probabilities(self) -> bool:
        """Are there probabilities of classes, as for learners with the logistic loss?"""
        return refusals.has_log_odds(self.learner)

    @reads
    def strange_rows(self, stream: Stream) -> Any:
        """Which examples have features, but none that the model knows, as a mask."""
        found = self.vocabulary.strange_rows(stream)
        for name, examples in self._apart(stream).items() if self._policies else ():
            apart = self._policies[name].model
            if apart.features:  # one that has learned nothing yet finds nothing strange
                found[examples] &= apart.strange_rows(stream.only(examples))
        return found

    def predict_proba(self, X: Any, task: Any = None) -> Any:
        """The probability of the positive class, one per row; for learners with the logistic loss."""
        refusals.expect_log_odds(self.learner)
        return self._like(X, task, 1.0 / (1.0 + np.exp(-self._scores(X, task))))

    def predict_proba_one(self, x: Any, task: Name | None = None) -> float:
        """The probability of the positive class for one event, without learning. `x` as in `learn_one`."""
        refusals.expect_log_odds(self.learner)
        return probability(self.predict_one(x, task))

    def explain(self, x: Any, task: Name | None = None, *, per_feature: bool = False) -> Explanation:
        """The score of one event in its parts: what the task taught itself, what all share, and who taught it the rest.

        The parts add up to the score (`explanation`). An unknown task is explained as the newcomer that it would
        be; unknown features are ignored. `x` and `task` as in `predict_one`.
        """
        if self._schema is not None and isinstance(x, Mapping):
            event = self._event(x, None, task, None)
            return self._explain(stream_of(event._replace(label=None), self._schema), per_feature)
        if task is None:
            raise ValueError("task is missing; name the task that the event belongs to")
        stream = Stream(as_table(x), None, [task])
        refusals.refuse_positions(self.vocabulary.features, self._width, stream)
        return self._explain(stream, per_feature)

    @reads
    def _explain(self, stream: Stream, per_feature: bool) -> Explanation:
        if self._policies and (private := self._policies.get(stream.task_names[0])):
            return self._explain_apart(private, stream, per_feature)
        batch, state = self._read(stream, self.traits.reads_unknown)
        return explain(self.learner, state, self.vocabulary, batch, stream.task_names[0], per_feature)

    # --- files ---

    @reads
    def write_to(self, write: Callable[[Any], object], facts: Mapping[str, Any] | None = None) -> str:
        """Hand the bytes of the model's file to `write`, block by block; returns the digest at their end.

        Nothing is learned meanwhile. `facts`, which JSON takes, are added to the header.
        """
        tally, recent, policies = self._tally.live, self._tally.live_recent, self._saved_policies()
        names, meaning = self.vocabulary, (self._classes, self._schema)
        contents = Contents(self.learner, names, self.state, tally, *meaning, recent, self._width, policies)
        return write_model(contents, write, facts or {}).hex()

    @classmethod
    def from_bytes(cls, data: bytes | memoryview) -> "Model":
        """The model that `to_bytes` wrote."""
        model, contents = cls.__new__(cls), unpack_model(data)
        model._set(contents)
        try:
            model._policies = model._restored_policies(contents.policies)
        except ValueError as error:
            raise FileError(f"the file's policies cannot be used: {error}") from None
        return model

    def __reduce__(self) -> Any:
        """Pickled and copied through the bytes of its file; a learner from elsewhere goes along by its class."""
        kind = None if built_in(self.learner) else type(self.learner)
        return _restored, (type(self), kind, self.to_bytes())


def _restored(model: type[Model], kind: type | None, data: bytes) -> Model:
    """The model that was pickled; its learner is registered if this process does not know it yet."""
    if kind is not None and not is_known(kind):
        register(kind)
    return model.from_bytes(data)


def load(path: str | os.PathLike[str]) -> Model:
    """Read a model file. A file that is damaged or no model at all is refused; nothing in a file is ever run."""
    data = read_file(path)
    try:
        return Model.from_bytes(data)
    except FileError as error:
        raise FileError(f"{os.fspath(path)}: {error}") from None
