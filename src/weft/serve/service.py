"""A service without its network: what routes ask of it, in Python."""

import asyncio
import math
import secrets
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any, NamedTuple

from weft.methods.forgetting import remains_of
from weft.model import Model
from weft.serve import applying
from weft.serve.checkpointing import Checkpointing
from weft.serve.checkpoints import Writing
from weft.serve.compacting import Compaction
from weft.serve.entries import Row, Task
from weft.serve.figures import Figures
from weft.serve.folder import Config, Folder
from weft.serve.limits import Limits
from weft.serve.log import NAME
from weft.serve.messages import ExplainAnswer, PredictAnswer, TaskAnswer, TasksAnswer
from weft.serve.metrics import Figure, resident_bytes, text_of
from weft.serve.policies import policy_of
from weft.serve.problems import Problem
from weft.serve.recovery import Recovered, recover
from weft.serve.requests import Done, Outcome, Request
from weft.serve.writer import Job, Writer

SORTS = ("task", "events", "error", "recent", "loss")


class Service:
    """An open folder: its model, its writer, its figures."""

    def __init__(
        self, folder: Folder, config: Config, recovered: Recovered, *, limits: Limits, every: int,
        fail: Callable[[BaseException], None], tell: Callable[[str], None],
    ) -> None:  # fmt: skip
        self.folder, self.config, self.limits = folder, config, limits
        self.figures = Figures()
        head = recovered.log.head
        self.figures.expired, self.figures.log_first = head.expired, head.first
        self.model: Model = recovered.model
        self._log = recovered.log
        checkpointing = Checkpointing(folder, config, self.figures, every, recovered.checkpoint, tell)
        checkpointing.forget(Compaction(recovered.log).pending())
        self.writer = Writer(recovered, config, checkpointing, self.figures, fail)
        self.further_metrics: Callable[[], str] = str
        """Figures of what feeds the service, as text."""
        self.live_at = 0.0
        """When `live_text`, the last message to live pages, was made, on the monotonic clock."""
        self.live_text = b""

    @classmethod
    def opened(cls, folder: Folder, config: Config, **settings: Any) -> "Service":
        """Recover a locked folder and start its writer."""
        service = cls(folder, config, recover(folder, config), **settings)
        service.writer.start()
        return service

    @property
    def seq(self) -> int:
        """The last entry that was applied."""
        return self.writer.seq

    # --- changing ---

    async def submit(self, requests: list[Request]) -> list[Outcome]:
        """Queue requests; their outcomes, once they are durable and learned."""
        loop = asyncio.get_running_loop()
        future: asyncio.Future[list[Outcome]] = loop.create_future()

        def done(outcomes: list[Outcome]) -> None:
            _resolve(future, outcomes)

        self.writer.put(Job(requests, done, loop=loop), self.limits.queue)
        return await future

    async def submit_one(self, request: Request) -> Done:
        """The outcome of one request; Problem if it was refused."""
        [outcome] = await self.submit([request])
        if isinstance(outcome, Problem):
            raise outcome
        return outcome

    async def export(self) -> tuple[Path, int]:
        """A file with the model as it is, without learning meanwhile for longer than a fork takes; and its entry."""
        loop = asyncio.get_running_loop()
        path = self.folder.path / f".export-{secrets.token_hex(8)}.weft"
        begun: asyncio.Future[tuple[Writing, int]] = loop.create_future()
        found: list[tuple[Writing, int]] = []

        def work() -> None:
            found.append((Writing(self.model, path, {}), self.seq))

        def done(_: list[Outcome]) -> None:
            loop.call_soon_threadsafe(_resolve, begun, found[0])

        self.writer.put(Job([], done, work), self.limits.queue)
        writing, seq = await begun
        try:
            while not writing.is_done():
                await asyncio.sleep(0.01)
        except OSError as error:
            path.unlink(missing_ok=True)
            raise Problem("cannot_write", 507, str(error), "free some space on the disk of the folder") from None
        return path, seq

    # --- reading ---

    def predict(self, task: Task | None, x: Any) -> PredictAnswer:
        """The score of an event, by the model after entry `seq`."""
        writer = self.writer
        try:
            with writer.lock:
                score, seq = self.model.predict_one(x, task), writer.seq
        except ValueError as error:
            raise self._refused(x, error) from None
        self.figures.predictions += 1
        return self.answer(score, task, seq)

    def _refused(self, x: Any, error: Exception) -> Problem:
        """Why a row cannot be scored: never with names that others have sent."""
        features = self.model.vocabulary.features
        if isinstance(x, dict) == features.has_only_columns and len(features):
            what, other = ("names", "rows without") if isinstance(x, dict) else ("no names", "names")
            told = f"x has {what}, and the model has learned {other}"
            return Problem("other_form", 422, told, "send rows as they were learned", field="x")
        problem = refused(error)
        problem.field = "x"
        return problem

    def answer(self, score: float, task: Any, seq: int) -> PredictAnswer:
        """A score as an answer."""
        model = self.model
        shown = score if math.isfinite(score) else None
        return PredictAnswer(shown, applying.probability_of(model, score), applying.label_of(model, score), task, seq)

    def explain(self, task: Task, x: Row) -> ExplainAnswer:
        """The score in its parts."""
        try:
            with self.writer.lock:
                found, seq = self.model.explain(x, task), self.seq
        except (ValueError, TypeError) as error:
            if (problem := self._refused(x, error)).code == "other_form":
                raise problem from None
            raise Problem("no_explanation", 409, *applying.split(str(error))) from None
        return ExplainAnswer(_finite(found.score), applying.parts_of(found), task, seq)

    def tasks(self, limit: int, sort: str, descending: bool) -> TasksAnswer:
        """Tasks with their figures, in an order."""
        with self.writer.lock:
            rows, seq, recent = self.model.tally.rows(), self.seq, self.model.tally.recent.errors.tolist()
        found = [_task_answer(row, error) for row, error in zip(rows, recent, strict=True)]
        found.sort(key=lambda row: _key(row, sort), reverse=descending)
        return TasksAnswer(found[:limit], len(found), seq)

    def task(self, name: Task) -> TaskAnswer:
        """One task; Problem if the model does not know it."""
        try:
            with self.writer.lock:
                row, recent = self.model.tally[name], self.model.tally.recent[name]["error"]
        except (KeyError, ValueError):
            told = f"the model does not know the task {name!r:.60}"
            raise Problem("unknown_task", 404, told, "see GET /v1/tasks", field="task") from None
        answer = _task_answer({"task": name, **row}, recent)
        with suppress(ValueError):  # learners without a policy
            answer.gives, answer.receives = policy_of(self.model, name)
        return answer

    def remains(self) -> list[str]:
        """Where something of a task that was forgotten is still to be found."""
        return [
            *remains_of(self.model.learner),
            "Its events are in the log and in checkpoints until the log is compacted, which has begun.",
            "Copies that were made before, such as those of weft backup, still hold it.",
        ]

    # --- about itself ---

    def measured(self) -> list[Figure]:
        """All figures but the histogram and the answers by route."""
        figures, model = self.figures, self.model
        with self.writer.lock:
            total, tasks = model.tally.total, len(model.vocabulary.tasks)
            features = len(model.vocabulary.features)
        size = sum(path.stat().st_size for path in self.folder.path.glob("log.sqlite*"))
        return [
            Figure("weft_log_seq", "gauge", "The last entry of the log that was applied.", self.seq),
            Figure("weft_events", "gauge", "Events that the model has learned.", total["events"]),
            Figure("weft_error", "gauge", "Error of predictions issued before learning.", total["error"]),
            Figure("weft_loss", "gauge", "Mean loss of predictions issued before learning.", total["loss"]),
            Figure("weft_tasks", "gauge", "Tasks that the model knows.", tasks),
            Figure("weft_features", "gauge", "Features that the model knows.", features),
            Figure("weft_accepted_total", "counter", "Requests that became an entry, since the start.", figures.done),
            Figure("weft_duplicates_total", "counter", "Requests that repeated another one.", figures.duplicates),
            Figure("weft_refused_total", "counter", "Requests that the writer refused.", figures.refused),
            Figure("weft_corrections_total", "counter", "Labels that were corrected.", figures.corrections),
            Figure("weft_expired_total", "counter", "Remembered predictions without a label in time.", figures.expired),
            Figure("weft_predictions_total", "counter", "Predictions that were not remembered.", figures.predictions),
            Figure("weft_queue_length", "gauge", "Requests that wait for the writer.", self.writer.waiting),
            Figure("weft_log_bytes", "gauge", "Size of the log on disk.", size),
            Figure("weft_log_first", "gauge", "The first entry of the log that is kept.", figures.log_first),
            Figure("weft_checkpoint_seq", "gauge", "The entry of the last checkpoint.", figures.checkpoint_seq),
            Figure("weft_checkpoints_total", "counter", "Checkpoints since the start.", figures.checkpoints),
            Figure("weft_compactions_total", "counter", "Times forgotten tasks left the log.", figures.compactions),
            Figure("weft_checkpoint_seconds", "gauge", "Time to write the last one.", figures.checkpoint_seconds),
            Figure("weft_checkpoint_pause_seconds", "gauge", "Pause of learning for it.", figures.checkpoint_pause),
            Figure("process_resident_memory_bytes", "gauge", "Memory of the process.", resident_bytes()),
        ]

    def metrics(self) -> str:
        """The text of /metrics."""
        own = text_of(self.measured(), self.figures.commits, dict(self.figures.answers))
        return own + self.further_metrics()


class Compacted(NamedTuple):
    """Forgotten tasks that were taken out of a log, and the bytes of the log before and after."""

    tasks: int
    before: int
    after: int


def compact(folder: Folder) -> Compacted:
    """Take forgotten tasks out of the log of a folder that is not served."""
    folder.locked()
    try:
        path, config = folder.path / NAME, folder.config()
        before = path.stat().st_size
        recovered = recover(folder, config)
        tasks = len(recovered.log.read("SELECT task FROM forgotten"))
        service = Service(folder, config, recovered, limits=Limits(), every=1 << 62, fail=_raise, tell=lambda _: None)
        service.writer.compact()
        return Compacted(tasks, before, path.stat().st_size)
    finally:
        folder.unlock()


def _raise(error: BaseException) -> None:
    raise error


def refused(error: Exception) -> Problem:
    """A sentence of the model as a problem."""
    return Problem("refused", 422, *applying.split(str(error)))


def _resolve(future: "asyncio.Future[Any]", value: Any) -> None:
    if not future.done():  # the client may have gone
        future.set_result(value)


def _finite(value: float) -> float | None:
    return value if math.isfinite(value) else None


def _task_answer(row: dict[str, Any], recent: float) -> TaskAnswer:
    further: dict[str, Any] = {name: _finite(row[name]) for name in ("f1", "rmse") if name in row}
    if "mistakes" in row:
        further["mistakes"] = row["mistakes"]
    figures = _finite(row["error"]), _finite(row["loss"]), _finite(recent)
    return TaskAnswer(row["task"], row["events"], *figures, **further)


def _key(row: TaskAnswer, sort: str) -> Any:
    """Names by their text; what is unknown comes before every number."""
    if sort == "task":
        return str(row.task)
    value = {"events": row.events, "error": row.error, "recent": row.recent, "loss": row.loss}[sort]
    return (value is not None, value or 0.0, str(row.task))
