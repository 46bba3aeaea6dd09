"""Tuning: which parameters of a learner predict a stream best, every event before it is learned.

Candidates are drawn at random and learn the first part of the stream; the better ones go on with the next part, twice
as long as all before it, and so on until a few have learned all of it (successive halving; Jamieson and Talwalkar
2016). A model goes on where it stopped, so that nothing is learned twice. Candidates learn side by side in threads:
compiled kernels release the interpreter lock. With Optuna installed its sampler proposes candidates from the results so
far.

>>> import weft
>>> stream = weft.streams.related_tasks(20, 400, seed=1)
>>> found = weft.tune(stream, "mt-ogd", candidates=8, seed=0)
>>> found.learner, found.best.events, found.best.error <= found.default.error
('mt-ogd', 400, True)
"""

import math
import random
import threading
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from weft.evaluation.search_space import Dimension, space_of
from weft.learners.catalogue import as_learner
from weft.model import Model
from weft.stream import Stream
from weft.threads import parallel

LEAST_EVENTS = 64
"""Events of the first part: with fewer of them chance decides."""
AT_ONCE = 4096
"""Rounds that are learned before Ctrl-C is looked for."""
ATTEMPTS = 50
"""Draws for one candidate: not all values of different parameters go together."""
KEPT = 3
"""One of so many candidates goes on to the next part."""


@dataclass
class Candidate:
    """Parameters that were tried: how many events its model has learned, and its error and loss so far."""

    parameters: dict[str, Any]
    rounds: int = 0
    events: int = 0
    error: float = math.nan
    loss: float = math.nan
    problem: str = ""
    model: Model | None = field(default=None, repr=False)
    after: dict[int, tuple[float, float]] = field(default_factory=dict, repr=False)
    """The error and the loss at the end of every part of the stream that was learned, by the number of events."""

    def measure(self, metric: str, events: int | None = None) -> float:
        """The figure to be small, now or after so many events; a candidate that failed has the worst."""
        error, loss = (self.error, self.loss) if events is None else self.after.get(events, (math.inf, math.inf))
        value = error if metric == "error" else loss
        return math.inf if self.problem or math.isnan(value) else value


@dataclass(frozen=True)
class Tuned:
    """What was found: the candidates, best first. Those that learned more of the stream come before the others."""

    learner: str
    metric: str
    candidates: list[Candidate]
    default: Candidate
    """The learner with its defaults and what was fixed, over the whole stream."""
    was_stopped: bool = False

    @property
    def best(self) -> Candidate:
        """The best candidate of those that learned most; the default if it did not beat that on the same events."""
        comparable = (one for one in self.candidates if not one.problem and one.events in self.default.after)
        first = next(comparable, self.default)
        is_better = first.measure(self.metric) < self.default.measure(self.metric, first.events)
        return first if is_better else self.default

    @property
    def settings(self) -> list[str]:
        """The best parameters as `--set` takes them."""
        return [f"{name}={_typed(value)}" for name, value in self.best.parameters.items()]

    @property
    def python(self) -> str:
        """The line of Python that makes such a model."""
        words = "".join(f", {name}={value!r}" for name, value in self.best.parameters.items())
        return f'weft.Model("{self.learner}"{words})'

    def as_json(self) -> dict[str, Any]:
        """For a file or another program."""
        rows = [
            {"parameters": one.parameters, "events": one.events, "error": one.error, "loss": one.loss}
            for one in (self.default, *self.candidates)
            if not one.problem
        ]
        best = {"parameters": self.best.parameters, "error": self.best.error, "loss": self.best.loss}
        return {"learner": self.learner, "metric": self.metric, "best": best, "candidates": rows}


def tune(
    stream: Stream,
    learner: str = "mt-ogd",
    *,
    candidates: int = 30,
    names: Sequence[str] = (),
    metric: str = "error",
    seed: int = 0,
    workers: int | None = None,
    sampler: str | None = None,
    on_progress: Callable[[int, int], None] = lambda done, total: None,
    **fixed: Any,
) -> Tuned:
    """Search for the parameters of a learner that predict this stream best, in its order.

    candidates   how many sets of parameters to try
    names        the parameters to tune; by default those that usually are
    metric       "error" (of classes, or the mean deviation) or "loss", the mean loss of the learner
    workers      threads; the processors of this machine by default
    sampler      "random" or "optuna"; Optuna if it is installed
    on_progress  called with how many of how many runs of a candidate over a part are done
    fixed        parameters that are not to be changed, such as loss="square"

    Ctrl-C ends the search with the best so far.
    """
    base = as_learner(learner, fixed)
    _expect(stream, candidates, metric, workers)
    space = [one for one in space_of(base, names) if one.name not in fixed and (names or _fits(learner, fixed, one))]
    if not space:
        raise ValueError(f"{learner} has no parameter to tune beside those that are fixed; take it as it is")
    search = _Search(stream.plain(), learner, dict(fixed), metric, workers or parallel.thread_count(), on_progress)
    default = Candidate(dict(fixed))
    propose = _proposals(_sampler(sampler), space, seed)
    try:
        for rounds in _parts(stream.n_rounds, candidates):
            search.run([default], rounds)
        if default.problem:
            raise ValueError(default.problem)
        found = search.halving(propose, candidates)
        return Tuned(learner, metric, search.ranked(found), default)
    except KeyboardInterrupt:
        return Tuned(learner, metric, search.ranked(search.tried), default, was_stopped=True)


class _Search:
    """The stream, and the candidates that learn it."""

    def __init__(
        self,
        stream: Stream,
        learner: str,
        fixed: dict[str, Any],
        metric: str,
        workers: int,
        on_progress: Callable[[int, int], None],
    ) -> None:
        self.stream, self.learner, self.fixed, self.metric = stream, learner, fixed, metric
        self.workers, self.on_progress = workers, on_progress
        self.tried: list[Candidate] = []
        self._stop = threading.Event()

    def halving(self, propose: "Proposer", count: int) -> list[Candidate]:
        """All candidates over the first part, the best of them over the next, until the stream ends."""
        parts = _parts(self.stream.n_rounds, count)
        sizes = [max(1, count // KEPT**at) for at in range(len(parts))]
        total, done = sum(sizes), 0
        while len(self.tried) < count:
            fresh = min(4 * self.workers, count - len(self.tried))
            some = [self._candidate(propose) for _ in range(fresh)]
            self.tried += some
            self.run(some, parts[0])
            for one in some:
                propose.tell(one.parameters, one.measure(self.metric))
            done += fresh
            self.on_progress(done, total)
        for rounds, size in zip(parts[1:], sizes[1:], strict=True):
            best = self.ranked(self.tried)
            for one in best[size:]:
                one.model = None  # its memory is free
            self.run(best[:size], rounds)
            done += size
            self.on_progress(done, total)
        return self.tried

    def _candidate(self, propose: "Proposer") -> Candidate:
        """Parameters that the learner takes together, if a few attempts find some."""
        for _ in range(ATTEMPTS):
            parameters = {**self.fixed, **propose.next()}
            try:
                as_learner(self.learner, parameters)
                break
            except ValueError:
                propose.tell(parameters, math.inf)
        return Candidate(parameters)

    def ranked(self, candidates: Sequence[Candidate]) -> list[Candidate]:
        """Best first; who learned more comes first."""
        return sorted(candidates, key=lambda one: (bool(one.problem), -one.events, one.measure(self.metric)))

    def run(self, candidates: Sequence[Candidate], rounds: int) -> None:
        """Let candidates learn the stream up to this round; Ctrl-C waits for the events that are being learned."""
        self._stop.clear()
        with ThreadPoolExecutor(self.workers) as pool:
            try:
                list(pool.map(lambda one: self._learn(one, rounds), candidates))
            except BaseException:
                self._stop.set()
                raise

    def _learn(self, one: Candidate, rounds: int) -> None:
        if one.problem or self._stop.is_set():
            return
        try:
            model = one.model or Model(self.learner, **one.parameters)
            while one.rounds < rounds and not self._stop.is_set():
                end = min(rounds, one.rounds + AT_ONCE)
                model.learn(self.stream.cut(one.rounds, end))
                one.rounds = end
        except (ValueError, MemoryError) as error:
            one.problem = str(error) or "not enough memory"
            return
        one.model, total = model, model.tally.total
        one.events, one.error, one.loss = int(self.stream.rounds[one.rounds]), total["error"], total["loss"]
        if one.rounds == rounds:
            one.after[one.events] = one.error, one.loss


class Proposer:
    """Candidates at random."""

    def __init__(self, space: Sequence[Dimension], seed: int) -> None:
        self._space, self._generator = space, random.Random(seed)

    def next(self) -> dict[str, Any]:
        """Parameters to try."""
        return {dimension.name: dimension.draw(self._generator) for dimension in self._space}

    def tell(self, parameters: Mapping[str, Any], value: float) -> None:
        """What became of them."""


class OptunaProposer(Proposer):
    """Candidates by Optuna's default sampler."""

    def __init__(self, space: Sequence[Dimension], seed: int) -> None:
        import optuna

        super().__init__(space, seed)
        optuna.logging.set_verbosity(optuna.logging.WARNING)
        self._study = optuna.create_study(sampler=optuna.samplers.TPESampler(seed=seed, constant_liar=True))
        self._open: list[tuple[dict[str, Any], Any]] = []

    def next(self) -> dict[str, Any]:
        trial, found = self._study.ask(), dict[str, Any]()
        for one in self._space:
            if one.options:
                found[one.name] = trial.suggest_categorical(one.name, list(one.options))
            else:
                found[one.name] = one.rounded(trial.suggest_float(one.name, one.low, one.high, log=True))
        self._open.append((found, trial))
        return found

    def tell(self, parameters: Mapping[str, Any], value: float) -> None:
        for at, (found, trial) in enumerate(self._open):
            if all(parameters.get(name) == given for name, given in found.items()):
                self._study.tell(trial, value if math.isfinite(value) else 1e300)
                del self._open[at]
                return


def _sampler(name: str | None) -> str:
    from importlib.util import find_spec

    has_optuna = find_spec("optuna") is not None
    if name not in (None, "random", "optuna"):
        raise ValueError(f'sampler={name!r} must be "random" or "optuna"')
    if name == "optuna" and not has_optuna:
        raise ValueError("sampler=\"optuna\" needs the package optuna; install it with pip install 'weft[tune]'")
    return name or ("optuna" if has_optuna else "random")


def _proposals(sampler: str, space: Sequence[Dimension], seed: int) -> Proposer:
    return OptunaProposer(space, seed) if sampler == "optuna" else Proposer(space, seed)


def _fits(learner: str, fixed: Mapping[str, Any], dimension: Dimension) -> bool:
    """Can this parameter be set alone? Some need others, as the strength of a graph needs a graph."""
    try:
        as_learner(learner, {**fixed, dimension.name: dimension.draw(random.Random(0))})
    except ValueError:
        return False
    return True


def _parts(rounds: int, count: int) -> list[int]:
    """Where the parts of a stream end: each has three times the rounds of the one before, the last has all."""
    parts = [rounds]
    while parts[0] // KEPT >= LEAST_EVENTS and KEPT ** len(parts) <= count:
        parts.insert(0, parts[0] // KEPT)
    return parts


def _expect(stream: Any, candidates: Any, metric: Any, workers: Any) -> None:
    if not isinstance(stream, Stream):
        raise ValueError(f"tune takes a weft.Stream, not {type(stream).__name__}; write weft.Stream(X, y, task)")
    for name, value in (("candidates", candidates), ("workers", 1 if workers is None else workers)):
        if not isinstance(value, int) or isinstance(value, bool) or value < 1:
            raise ValueError(f"{name}={value!r} must be an integer from 1 on")
    if metric not in ("error", "loss"):
        raise ValueError(f'metric={metric!r} must be "error" or "loss"')


def _typed(value: Any) -> str:
    return str(value) if not isinstance(value, bool) else str(value).lower()
