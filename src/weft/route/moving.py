"""Virtual shards to another shard: their tasks are learned again there, from the log of the shard that has them.

1. The map says that they are moving: routers answer their tasks with 503. What had begun before ends first.
2. Their entries are read from the log of the source and sent to the target, in their order: events under their own ids,
   or under ids made of their number, so that a move that was interrupted can be repeated; predictions that wait for
   their label; labels and corrections; policies.
3. Every task must have as many events at the target as at the source.
4. The map says where they are now, all at once. Then the source forgets the tasks.
"""

import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any, NamedTuple

import msgspec

from weft.client import Client, ServiceError
from weft.cluster.placement import virtual_shard
from weft.names import Name
from weft.route.placement import Map, Moving, numbers_of, read_map, text_of, write_map
from weft.serve.entries import Correct, Entry, Feedback, Forget, Gone, Learn, Policy, Remember
from weft.serve.folder import Folder
from weft.serve.log import NAME, Log

AT_ONCE = 1000
"""Events that are sent together."""
PATIENCE = 60.0
"""Seconds within which requests that began with the earlier map must end."""


class Moved(NamedTuple):
    """What was moved."""

    tasks: int
    events: int
    other_ids: int
    """Events whose id belonged to another event at the target, where they have another one now."""


class Move:
    """One move. `log` is the folder of the shard that has the tasks, or a backup of it; `tell` says how far it is."""

    def __init__(
        self, path: Path, log: Path, routers: list[str], token: str | None, tell: Callable[[str], None]
    ) -> None:
        self._path, self._folder, self._routers, self._token, self._tell = path, log, routers, token, tell

    def run(self, virtual: str, target: str) -> Moved:
        """Move virtual shards to a shard; ValueError, and the map as it was, if that cannot be done."""
        before, moving = self._begun(virtual, target)
        urls = {name: shard.url for name, shard in before.shards.items()}
        with Client(urls[moving.source], self._token) as source, Client(urls[target], self._token) as goal:
            source.tasks(limit=1)
            goal.tasks(limit=1)
            self._write(msgspec.structs.replace(before, version=before.version + 1, moving=moving))
            try:
                self._wait_for_routers()
                found = self._send(goal, moving.source, numbers_of(moving.virtual))
                self._expect_same(source, goal, found)
            except BaseException:
                again = read_map(self._path)
                self._write(msgspec.structs.replace(again, version=again.version + 1, moving=None))
                raise
            self._switch(moving)
            self._wait_for_routers()
            self._forget(source, found.counts)
        return Moved(len(found.counts), sum(found.counts.values()), found.other_ids)

    def _begun(self, virtual: str, target: str) -> tuple[Map, Moving]:
        map_ = read_map(self._path)
        numbers, owners = numbers_of(virtual), map_.owners()
        if map_.moving is not None and (map_.moving.target, numbers_of(map_.moving.virtual)) != (target, numbers):
            raise ValueError(
                f"virtual shards {map_.moving.virtual} are on their way to {map_.moving.target}; repeat that move first"
            )
        sources = {owners[number] for number in numbers}
        if target not in map_.shards:
            raise ValueError(f"there is no shard {target!r} in {self._path}; add it with weft route add")
        if len(sources) != 1 or target in sources:
            raise ValueError(
                f"the virtual shards {virtual!r} are not all at one other shard; move those of one at a time"
            )
        return map_, Moving(text_of(numbers), sources.pop(), target)

    def _write(self, map_: Map) -> None:
        write_map(self._path, map_)

    def _wait_for_routers(self) -> None:
        """Until all routers use the map, and nothing that began with an earlier one is left."""
        version, end = read_map(self._path).version, time.monotonic() + PATIENCE
        for url in self._routers:
            with Client(url, self._token) as router:
                while True:
                    found = router._json("GET", "/healthz")
                    if found.get("map") == version and not found.get("older"):
                        break
                    if time.monotonic() > end:
                        raise ValueError(
                            f"the router at {url} does not take the map, or its requests do not end; try again"
                        )
                    time.sleep(0.02)

    # --- the log of the source ---

    def _entries(self, numbers: set[int]) -> Iterator[tuple[int, Entry]]:
        """Entries of tasks of these virtual shards, behind the last one that forgot their task."""
        log = Log(self._folder / NAME, read_only=True)
        try:
            if log.head.first > 1 or Folder(self._folder).config().base is not None:
                raise ValueError(
                    f"the log of {self._folder} does not hold all that its model has learned (--keep-log, "
                    "--from-model), so that tasks cannot be learned again elsewhere"
                )
            last = log.head.last
            forgotten: dict[Name, int] = {}
            for seq, entry in log.entries(0, last):
                if isinstance(entry, Forget):
                    forgotten[entry.task] = seq
            ids: set[str] = set()
            for seq, entry in log.entries(0, last):
                if isinstance(entry, Correct):
                    if entry.id in ids:
                        yield seq, entry
                elif not isinstance(entry, Gone | Forget) and self._is_moved(entry.task, seq, numbers, forgotten):
                    if isinstance(entry, Remember | Feedback):
                        ids.add(entry.id)
                    yield seq, entry
        finally:
            log.close()

    def _is_moved(self, task: Any, seq: int, numbers: set[int], forgotten: dict[Name, int]) -> bool:
        return virtual_shard(task) in numbers and seq > forgotten.get(task, 0)

    # --- to the target ---

    def _send(self, goal: Client, source: str, numbers: set[int]) -> "_Sent":
        sent = _Sent(goal, f"move-{source}")
        for seq, entry in self._entries(numbers):
            sent.add(seq, entry)
        sent.flush()
        self._tell(f"{len(sent.counts)} tasks with {sum(sent.counts.values())} events were sent")
        return sent

    def _expect_same(self, source: Client, goal: Client, found: "_Sent") -> None:
        for task in found.counts:
            there, here = (client.task(task)["events"] for client in (source, goal))
            if there != here:
                raise ValueError(
                    f"a task has {there} events at its shard and {here} at the new one; the map is as it was; "
                    "if the new one had the task before, forget it there, then move again"
                )

    # --- the map ---

    def _switch(self, moving: Moving) -> None:
        map_ = read_map(self._path)
        numbers, shards = numbers_of(moving.virtual), dict(map_.shards)
        for name, change in ((moving.source, set.difference), (moving.target, set.union)):
            has = change(numbers_of(shards[name].virtual), numbers)
            shards[name] = msgspec.structs.replace(shards[name], virtual=text_of(has))
        self._write(msgspec.structs.replace(map_, version=map_.version + 1, shards=shards, moving=None))

    def _forget(self, source: Client, tasks: dict[Name, int]) -> None:
        for task in tasks:
            try:
                source.forget(task)
            except ServiceError as error:
                if error.status == 409:  # a learner that cannot forget: the router does not list the task there
                    self._tell(f"the tasks stay at their earlier shard as well: {error}")
                    return
                if error.code != "unknown_task":
                    raise


class _Sent:
    """Entries on their way to the target."""

    def __init__(self, goal: Client, mark: str) -> None:
        self._goal, self._mark = goal, mark
        self._lines: list[dict[str, Any]] = []
        self.counts: dict[Name, int] = {}
        self.other_ids = 0

    def add(self, seq: int, entry: Entry) -> None:
        """Send an entry; events wait until there are some."""
        if isinstance(entry, Learn):
            self._lines.append(_event(entry) | {"id": entry.id or f"{self._mark}-{seq}", "y": entry.y})
            if entry.weight != 1.0:
                self._lines[-1]["weight"] = entry.weight
            self._count(entry.task)
            if len(self._lines) >= AT_ONCE:
                self.flush()
            return
        self.flush()
        if isinstance(entry, Remember):
            self._goal._post("/v1/predict", _event(entry) | {"id": entry.id, "remember": True})
        elif isinstance(entry, Feedback | Correct):
            self._give_label(entry)
        elif isinstance(entry, Policy):
            self._goal.set_policy(entry.task, entry.gives, entry.receives)

    def _count(self, task: Any) -> None:
        self.counts[task] = self.counts.get(task, 0) + 1

    def _give_label(self, entry: Feedback | Correct) -> None:
        if isinstance(entry, Feedback):
            self._count(entry.task)
        try:
            self._goal.feedback(entry.id, entry.y, correct=isinstance(entry, Correct))
        except ServiceError as error:
            if error.code != "other_label":  # corrected already, by the same move that was interrupted
                raise

    def flush(self) -> None:
        """Send the events that wait. An id that belongs to another event at the target is replaced."""
        lines, self._lines = self._lines, []
        if not lines:
            return
        found = self._goal.learn(lines)
        again = []
        for refused in found.rejected:
            if refused["error"]["code"] != "id_conflict":
                raise ValueError(f"the new shard refuses an event: {refused['error']['message']}; the map is as it was")
            line = lines[refused["line"] - 1]
            again.append(line | {"id": f"{self._mark}-{line['id']}"})
        if again:
            self.other_ids += len(again)
            if self._goal.learn(again).rejected:
                raise ValueError("the new shard refuses an event under two ids; the map is as it was")


def _event(entry: Learn | Remember) -> dict[str, Any]:
    if entry.record is not None:
        return {"record": entry.record}
    return {"task": entry.task, "x": entry.x}
