"""A shard: the tasks of one share of the names, learned block by block from versions of what all shards share.

A step takes over a version, learns the block of its number, looks at a block ahead and reports. The names of a block
come with the version with which it is learned, so that a feature has the same slot in every shard.
"""

from collections import deque
from collections.abc import Iterator
from typing import NamedTuple

import numpy as np

from weft.cluster.merging import rebased
from weft.cluster.placement import shard_of
from weft.cluster.reading import Block, Place, Placement, Source, blocks
from weft.cluster.records import Outlook, Report, Version
from weft.cluster.replica import Replica
from weft.cluster.rule import Rule
from weft.compiled.arrays import Array, Ints
from weft.labels import Label, distinct
from weft.model import Model
from weft.names import Name, Names
from weft.stream import Stream

KEY_BITS = 20


class Pending(NamedTuple):
    """What a block has changed of the shared numbers, while no version has it."""

    block: int
    touched: Ints
    before: dict[str, Array]
    after: dict[str, Array]


class Read(NamedTuple):
    """A block that was read: the shard's own events, where each is in the block, and where the block ends."""

    streams: list[Stream]
    numbers: list[Ints]
    end: Place


class Shard:
    """One shard. `next` is the number of the block that it learns next; `orders` say where its tasks came first."""

    def __init__(self, number: int, rule: Rule, model: Model, source: Source, start: Place, next: int = 0) -> None:
        self.number, self.rule = number, rule
        self.replica, self.next = Replica(model), next
        self.begin = next
        self.orders: list[int] = []
        self.place = start
        self.pending: deque[Pending] = deque()
        self._source = source.of_shard(number)
        self._blocks: Iterator[Block] = blocks(self._source, rule.sizes(next), start, model.target, model.label_classes)
        self._placement = Placement(rule.shards)
        self._ahead: deque[Read] = deque()
        self._upcoming: dict[Name, int] = {}
        self._new_tasks: set[Name] = set()
        self._looked = next
        self._is_blank = not model.tally.total["events"]

    @property
    def model(self) -> Model:
        """The shard's own tasks, with what all share."""
        return self.replica.model

    # --- looking ahead ---

    def look_ahead(self) -> Outlook:
        """Read one block more, and say what there is in it."""
        block = next(self._blocks, None)
        if block is None:
            return Outlook(tasks=len(self.model.vocabulary.tasks) + len(self._new_tasks))
        number, names, labels, columns = self._looked, dict[Name, None](), list[Label](), 0
        self._looked += 1
        streams, numbers, first = [], [], None
        for stream, begin in block.pieces:
            shards = self._placement.of(stream)
            own = np.flatnonzero(shards == self.number)
            if self.rule.is_partition and len(own) < len(stream):
                self._refuse_strangers(stream, shards)
            if self.rule.is_partition or self.number == 0:  # of a whole stream one outlook is enough
                columns = max(columns, self._new_features(stream, number, names))
                labels += [label for label in self._new_labels(stream) if label not in labels]
                if first is None and self.model.target == "real":
                    values = stream.label_values.values
                    first = next(iter(values[~np.isnan(values)].tolist()), None)
            if len(own):
                streams.append(stream if len(own) == len(stream) else stream.only(own))
                numbers.append(begin + own)
                self._count_tasks(streams[-1])
        self._ahead.append(Read(streams, numbers, block.end))
        tasks = len(self.model.vocabulary.tasks) + len(self._new_tasks)
        return Outlook(block.events, Names(names, columns), labels, first, tasks)

    def _refuse_strangers(self, stream: Stream, shards: Ints) -> None:
        at = int(np.argmax(shards != self.number))
        codes, names = stream._coded_tasks
        raise ValueError(
            f"{self._source.files[0]} is file {self.number} of a partition, but holds the task {names[codes[at]]!r}, "
            f"which belongs to shard {shard_of(names[codes[at]], self.rule.shards)} of {self.rule.shards}; "
            "write the files with `weft partition`, or leave --partitioned out"
        )

    def _new_features(self, stream: Stream, number: int, names: dict[Name, None]) -> int:
        """Add the names that nobody has announced yet; returns how many columns there are."""
        addition = self.model.vocabulary.locate_features(stream)[1]
        for name in addition.names:
            if self._upcoming.setdefault(name, number) == number:
                names[name] = None
        return addition.columns

    def _new_labels(self, stream: Stream) -> list[Label]:
        known = self.model.label_classes
        if self.model.target != "binary" or known.is_complete:
            return []
        return [label for label in distinct(stream.label_values, stream.has_rounds) if known.code_of(label) is None]

    def _count_tasks(self, stream: Stream) -> None:
        codes, names = stream._coded_tasks
        known = self.model.vocabulary.tasks
        for code in np.unique(codes).tolist():
            if known.find(names[code]) < 0:
                self._new_tasks.add(names[code])

    # --- learning ---

    def apply(self, version: Version) -> None:
        """Take over a version, and repeat on top of it what no version has yet."""
        self.replica.apply(version)
        for name in version.features.later if self._upcoming else ():
            self._upcoming.pop(name, None)
        while self.pending and self.pending[0].block < version.number:
            self.pending.popleft()
        for one in self.pending:
            self._repeat(one, version.touched)
        if self.pending and self.replica.exchange is not None:
            self.replica.exchange.settle(self.model.state, np.zeros(0, np.int64), {})

    def learn(self) -> Report:
        """Learn the next block, and report what it has changed of the shared numbers."""
        block, number = self._ahead.popleft() if self._ahead else Read([], [], self.place), self.next
        report, replica = Report(self.number, number), self.replica
        report.events = sum(len(stream) for stream in block.streams)
        touched = self._touched(block.streams)
        is_stale, is_blank = self.rule.staleness > 0, self._is_blank
        self._is_blank = is_blank and not report.events
        before = replica.rows(touched) if is_stale and report.events else {}
        for stream, numbers in zip(block.streams, block.numbers, strict=True):
            self._learn(stream, numbers)
        if report.events and replica.exchange is not None:
            if is_blank and replica.first is not None:
                replica.exchange.unify(self.model.state, replica.first)
            report.touched, report.listed = touched, replica.listed()
            report.arrays = replica.rows(touched)
            if is_stale:
                self.pending.append(Pending(number, touched, before, dict(report.arrays)))
                report.arrays |= {f"before.{name}": rows for name, rows in before.items()}
        report.fields = self.model.vocabulary.fields.copy()
        self.next, self.place = number + 1, block.end
        return report

    def _touched(self, streams: list[Stream]) -> Ints:
        """The features whose shared numbers a block may change."""
        replica = self.replica
        if not replica.by_feature or not streams:
            return np.zeros(0, np.int64)
        vocabulary = self.model.vocabulary
        mark = np.zeros(len(vocabulary.features), bool)
        if replica.exchange is not None:
            mark[replica.exchange.always(self.model.state)] = True
        if self.model.traits.reads_missing:
            mark[vocabulary.fields] = True
        for stream in streams:
            mark[vocabulary.locate_features(stream)[0]] = True
        return np.flatnonzero(mark)

    def _learn(self, stream: Stream, numbers: Ints) -> None:
        tasks, before = self.model.vocabulary.tasks, len(self.model.vocabulary.tasks)
        self.model.learn(stream)
        if len(tasks) == before:
            return
        codes, names = stream._coded_tasks
        found, first = np.unique(codes, return_index=True)
        slots = np.array([tasks.find(names[code]) for code in found.tolist()], np.int64)
        base = (self.next * self.rule.shards + (self.number if self.rule.is_partition else 0)) << KEY_BITS
        is_new = slots >= before
        order = np.argsort(slots[is_new])
        self.orders += (base + numbers[first[is_new][order]]).tolist()
        self._new_tasks.difference_update(names[code] for code in found[is_new].tolist())

    def _repeat(self, one: Pending, replaced: Ints) -> None:
        """Change the shared numbers as a block has changed them, where a version has replaced them."""
        replica = self.replica
        which = np.flatnonzero(np.isin(one.touched, replaced))
        touched = one.touched[which]
        rows = replica.rows(touched)
        for item in replica.by_feature:
            before, after = one.before[item.name][which], one.after[item.name][which]
            rows[item.name] = rebased(item, rows[item.name], before, after)
        for item in replica.whole:
            rows[item.name] = rebased(item, rows[item.name], one.before[item.name], one.after[item.name])
        replica.put(touched, rows)
