"""A run in shards, from its folder: begins it, goes on with it, or finds it finished.

The loop here is the rule; where the shards are, in this process or in actors of Ray, is behind `Workers`.
"""

import os
import shutil
import weakref
from collections import deque
from collections.abc import Callable, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import nullcontext
from dataclasses import dataclass
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Protocol

from weft.cluster.checkpoint import orders_of, state_of, where
from weft.cluster.coordinator import Coordinator
from weft.cluster.folder import KEPT, SHARED, Folder
from weft.cluster.joining import joined, split, without_tasks
from weft.cluster.placement import expect_shards
from weft.cluster.reading import MOST_EVENTS, Place, Source, expect_files
from weft.cluster.records import Outlook, Report, Version
from weft.cluster.rule import Rule
from weft.cluster.worker import Setup, Worker
from weft.learner import Learner
from weft.learners.catalogue import to_json
from weft.model import Model, load
from weft.schema import Schema
from weft.stream import Stream

SAVE_EVERY = 500_000
"""Events between two checkpoints."""


class Workers(Protocol):
    """Where the shards are."""

    def outlooks(self, block: int) -> list[list[Outlook]]:
        """Of every shard, what it finds in the next blocks."""

    def start(self, block: int, version: Version) -> Any:
        """Have all shards learn a block with a version; returns what `reports` takes."""

    def reports(self, started: Any) -> list[Report]:
        """Of all shards about that block, in their order."""

    def finish(self, end: int) -> list[str]:
        """Save all shards after the last block; the paths of their models."""


class Local:
    """All shards in this process, one after the other."""

    def __init__(self, setup: Setup) -> None:
        self._worker, self._shards = Worker(setup), range(setup.rule.shards)

    def outlooks(self, block: int) -> list[list[Outlook]]:
        return [self._worker.outlooks(number, block) for number in self._shards]

    def start(self, block: int, version: Version) -> Any:
        return block, version

    def reports(self, started: Any) -> list[Report]:
        return [self._worker.step(number, *started) for number in self._shards]

    def finish(self, end: int) -> list[str]:
        return [self._worker.finish(number, end) for number in self._shards]


class Temporary:
    """A folder that is removed when nobody has this any more."""

    def __init__(self) -> None:
        self.path = mkdtemp(prefix="weft-shards-")
        weakref.finalize(self, shutil.rmtree, self.path, ignore_errors=True)


@dataclass(frozen=True)
class Learned:
    """What came of a run: its folder, how many events and versions there were, and a model file for every shard.

    A shard's model holds the shard's tasks and all that is shared: it can be loaded and served alone.
    """

    folder: Path
    events: int
    versions: int
    shards: tuple[Path, ...]
    is_new: bool = True
    """Was anything learned?"""
    temporary: Temporary | None = None

    def model(self) -> Model:
        """All shards as one model, as one machine would have it; every one of them is loaded."""
        folder = Folder(self.folder)
        models = [load(path) for path in self.shards]
        return joined(models, [orders_of(folder, number, self.versions) for number in range(len(models))])


def learn(
    source: str | os.PathLike[str] | Iterable[str | os.PathLike[str]] | Stream,
    learner: str | Learner | Model = "auto",
    *,
    shards: int,
    exchange: int = 10_000,
    staleness: int = 0,
    partitioned: bool = False,
    folder: str | os.PathLike[str] | None = None,
    schema: Schema | None = None,
    save_every: int = SAVE_EVERY,
    workers: Callable[[Setup], Any] | None = None,
    on_version: Callable[[Version], None] = lambda version: None,
    options: dict[str, Any] | None = None,
    **parameters: Any,
) -> Learned:
    """Learn files in shards, which exchange what they share after every `exchange` events of all shards together.

    source       a file, several files, which are read one after the other, or a stream in memory
    learner      a name of the catalogue with its parameters as keywords, a learner, or a model to go on with
    shards       the number of shards: a part of the rule, like `exchange` and `staleness`
    staleness    how many versions behind a shard may be: 0 waits for every version
    partitioned  file i of the source holds the events of shard i alone, as `weft partition` writes them
    folder       where the run is kept: a run that was interrupted goes on; without one it is temporary
    schema       what the fields of records are
    save_every   events between two checkpoints
    workers      where the shards are: without it in this process; see `weft.cluster.on_ray`
    on_version   called with every version
    options      further options of `weft.read_chunks`, such as `format`
    """
    rule = Rule(expect_shards(shards), _expect_exchange(exchange), _expect_staleness(staleness), partitioned)
    stream, files = (source, ()) if isinstance(source, Stream) else (None, _paths(source))
    given = Source(files, stream, partitioned, schema, options or {})
    expect_files(given, shards)
    if isinstance(learner, Model) and parameters:
        raise ValueError("a model has its parameters already; leave the keywords out")
    model = learner if isinstance(learner, Model) else Model(learner, schema=schema, **parameters)
    refuse(model)
    temporary = Temporary() if folder is None else None
    place = Folder(Path(os.path.realpath(temporary.path if temporary is not None else folder or "")))
    setup = Setup(str(place.path), rule, given, max(1, round(save_every / exchange)))
    run = _Run(place, setup, on_version)
    coordinator, is_new = run.opened(model)
    with (workers or _local)(setup) as found:
        return run.run(coordinator, is_new, found, temporary)


def _local(setup: Setup) -> Any:
    return nullcontext(Local(setup))


def refuse(model: Model) -> None:
    """Raise ValueError, with the reason, for a model whose tasks cannot be spread over shards."""
    traits = model.traits
    if model._policies:
        raise ValueError("tasks with a policy have models of their own, which shards do not have; remove the policies")
    if traits.no_shards:
        raise ValueError(f"{model.name} with these parameters cannot be learned in shards: {traits.no_shards}")


def _expect_exchange(exchange: int) -> int:
    if isinstance(exchange, bool) or not isinstance(exchange, int) or not 1 <= exchange <= MOST_EVENTS:
        raise ValueError(f"exchange={exchange!r} is not a number of events; give an integer from 1 to {MOST_EVENTS:,}")
    return exchange


def _expect_staleness(staleness: int) -> int:
    if isinstance(staleness, bool) or not isinstance(staleness, int) or not 0 <= staleness <= 100:
        raise ValueError(f"staleness={staleness!r} is not a number of versions; give an integer from 0 to 100")
    return staleness


def _paths(source: Any) -> tuple[str, ...]:
    given = [source] if isinstance(source, str | os.PathLike) else list(source)
    if not given:
        raise ValueError("there are no files; give at least one")
    return tuple(os.path.realpath(path) for path in given)


class _Writer:
    """Stores versions in a second thread, while shards learn with them already.

    A version is on disk before the next one is made, and a shard that is restored needs only versions before the last.
    """

    def __init__(self, folder: Folder) -> None:
        self._folder, self._pool = folder, ThreadPoolExecutor(1, "weft-versions")
        self._last: Future[None] | None = None

    def __enter__(self) -> "_Writer":
        return self

    def __exit__(self, *_: object) -> None:
        self._wait()
        self._pool.shutdown()

    def write(self, version: Version) -> None:
        """Begin to store a version, when the one before is on disk."""
        self._wait()
        self._last = self._pool.submit(self._folder.write_version, version)

    def _wait(self) -> None:
        if self._last is not None:
            last, self._last = self._last, None
            last.result()


class _Run:
    """One call of `learn`."""

    workers: Workers

    def __init__(self, folder: Folder, setup: Setup, on_version: Callable[[Version], None]) -> None:
        self.folder, self.setup, self.on_version, self.rule = folder, setup, on_version, setup.rule

    def run(self, coordinator: Coordinator, is_new: bool, workers: Workers, temporary: Temporary | None) -> Learned:
        """Learn what there is, and save it."""
        self.workers, last = workers, coordinator.last
        is_ended = not is_new and last.number == last.end
        paths = workers.finish(last.number) if is_ended else []
        if is_new or is_ended:
            outlooks = workers.outlooks(last.number)
            if is_ended and not any(outlook.events for found in outlooks for outlook in found):
                return self._learned(last, paths, False, temporary)
            version = coordinator.announce([list(block) for block in zip(*outlooks, strict=True)])
            self.folder.write_version(version)
        last = self._loop(coordinator)
        with coordinator.replica.alone() as shared:
            self.folder.save(SHARED, last.number, shared)
        return self._learned(last, self.workers.finish(last.number), True, temporary)

    def _learned(self, last: Version, paths: list[str], is_new: bool, temporary: Temporary | None) -> Learned:
        return Learned(self.folder.path, last.events, last.number, tuple(map(Path, paths)), is_new, temporary)

    def _loop(self, coordinator: Coordinator) -> Version:
        """Start every block whose version is there; merge the reports of the oldest that was started."""
        started: deque[Any] = deque()
        block = coordinator.last.number
        known = {n: self.folder.read_version(n) for n in self._versions_from(coordinator.last)}
        with _Writer(self.folder) as writer:
            while True:
                last = coordinator.last
                while (last.end is None or block < last.end) and self._needs(block, last) in known:
                    started.append(self.workers.start(block, known[self._needs(block, last)]))
                    block += 1
                if not started:
                    return last
                version = coordinator.merge(self.workers.reports(started.popleft()))
                writer.write(version)
                known[version.number] = version
                known.pop(version.number - self.rule.staleness - 1, None)
                self.on_version(version)
                if version.number % self.setup.save_every == 0:
                    with coordinator.replica.alone() as shared:
                        self.folder.save(SHARED, version.number, shared)
                    self._trim()

    def _needs(self, block: int, last: Version) -> int:
        return max(block - self.rule.staleness, last.begin)

    def _versions_from(self, last: Version) -> range:
        return range(max(last.number - self.rule.staleness, last.begin), last.number + 1)

    def _trim(self) -> None:
        """Remove versions that no checkpoint needs."""
        found = [self.folder.checkpoints(name) for name in (SHARED, *map(where, range(self.rule.shards)))]
        oldest = min(numbers[-KEPT:][0] for numbers in found)
        self.folder.trim_versions(oldest - self.rule.staleness)

    def opened(self, model: Model) -> tuple[Coordinator, bool]:
        """What all shards share as the folder has it; whether nothing was learned yet."""
        config, found = self._config(model), self.folder.read_config()
        if found is None:
            self._begin(model, config)
        else:
            _expect_same(self.folder.path, found, config)
            if found != {**found, **config}:
                self.folder.write_config({**found, **config})
        last = self.folder.last_version()
        checkpoints = [n for n in self.folder.checkpoints(SHARED) if last is None or n <= last]
        shared = self.folder.load(SHARED, checkpoints[-1])
        coordinator = Coordinator(shared, self.rule.staleness)
        for number in range(checkpoints[-1], last + 1) if last is not None else ():
            coordinator.apply(self.folder.read_version(number))
        return coordinator, last is None

    def _begin(self, model: Model, config: dict[str, Any]) -> None:
        """The first checkpoints: without tasks, or with those of a model that was learned before."""
        self.folder.path.mkdir(parents=True, exist_ok=True)
        models, orders = split(model, self.rule.shards)
        for number, (one, order) in enumerate(zip(models, orders, strict=True)):
            self.folder.save(where(number), 0, one, state_of(Place(), 0, order))
        self.folder.save(SHARED, 0, without_tasks(model))
        self.folder.write_config(config)

    def _config(self, model: Model) -> dict[str, Any]:
        source = self.setup.source
        return {
            "weft-shards": 1,
            "learner": to_json(model.learner),
            "rule": self.rule._asdict(),
            "files": list(source.files),
            "schema": None if source.schema is None else source.schema.to_json(),
            "options": dict(source.options),
        }


def _expect_same(path: Path, found: dict[str, Any], config: dict[str, Any]) -> None:
    """A folder holds one run: only files may be added at the end."""
    names = {"learner": "another learner", "rule": "another rule", "schema": "another schema", "options": "others"}
    for key, words in names.items():
        if found.get(key) != config[key]:
            raise ValueError(
                f"{path} holds a run with {words}: {found.get(key)}, not {config[key]}; "
                "repeat what it was begun with, or choose another folder"
            )
    before = found.get("files", [])
    now, is_partition = config["files"], config["rule"]["is_partition"]
    if now[: len(before)] != before or (is_partition and now != before):
        raise ValueError(f"{path} holds a run over other files: {', '.join(before)}; name them first, in that order")
