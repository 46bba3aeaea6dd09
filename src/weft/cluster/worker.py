"""A worker holds some shards and moves them step by step; whoever holds a shard, its steps are the same.

A step is asked for by the number of its block, and may be asked for again: a shard that has just learned the block
answers with the report that it made. A shard that this worker does not have yet is restored from its checkpoint and
learns again, from stored versions, what it had learned before. So it does not matter whether a call that failed has
run.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from weft.cluster.checkpoint import restore, save
from weft.cluster.folder import SHARED, Folder
from weft.cluster.reading import Source
from weft.cluster.records import Outlook, Report, Version
from weft.cluster.rule import Rule
from weft.cluster.shard import Shard
from weft.schema import Schema
from weft.store.digests import FileError


@dataclass(frozen=True)
class Setup:
    """What a worker has to know of a run: where its folder is, the rule, the source, and how often to save."""

    folder: str
    rule: Rule
    source: Source
    save_every: int

    def to_json(self) -> dict[str, Any]:
        """For a worker in another process."""
        source = self.source
        schema = None if source.schema is None else source.schema.to_json()
        return {
            "folder": self.folder,
            "rule": list(self.rule),
            "files": list(source.files),
            "schema": schema,
            "options": dict(source.options),
            "save_every": self.save_every,
        }

    @classmethod
    def from_json(cls, data: Mapping[str, Any]) -> "Setup":
        """What `to_json` made."""
        rule = Rule(*data["rule"])
        schema = None if data["schema"] is None else Schema.from_json(data["schema"])
        source = Source(tuple(data["files"]), None, rule.is_partition, schema, data["options"])
        return cls(data["folder"], rule, source, data["save_every"])


class Worker:
    """Some shards in this process."""

    def __init__(self, setup: Setup) -> None:
        self.setup = setup
        self.folder = Folder(Path(setup.folder))
        self._shards: dict[int, Shard] = {}
        self._reports: dict[int, Report] = {}

    def warm(self) -> None:
        """Have the rule compiled, or read from the cache, before there is anything to learn."""
        model = self.folder.load(SHARED, self.folder.checkpoints(SHARED)[0])
        model._compile(np.zeros((0, len(model.traits.trace))))

    def outlooks(self, number: int, block: int) -> list[Outlook]:
        """What a shard with a checkpoint at a block finds in that block, and in those that it looks ahead."""
        shard = restore(self.folder, number, self.setup.rule, self.setup.source, block)
        if shard.next != block:
            raise FileError(f"{self.folder.path} has lost the checkpoint {block} of shard {number}; begin a new folder")
        shard.begin = block
        self._shards[number] = shard
        self._reports.pop(number, None)
        return [shard.look_ahead() for _ in range(self.setup.rule.staleness + 1)]

    def step(self, number: int, block: int, version: Version | None = None) -> Report:
        """Learn a block; `version` is the one that it is learned with, if the caller has it at hand."""
        shard = self._shards.get(number)
        if shard is not None and shard.next == block + 1 and number in self._reports:
            return self._reports[number]
        shard = self._at(number, block)
        self._reports[number] = report = self._learn(shard, version)
        return report

    def finish(self, number: int, end: int) -> str:
        """Bring a shard that has learned all blocks to the last version and save it; returns the path of its model."""
        shard = self._at(number, end)
        for version in range(max(end - self.setup.rule.staleness, shard.begin), end + 1):
            shard.apply(self.folder.read_version(version))
        return save(self.folder, shard)

    def _at(self, number: int, block: int) -> Shard:
        """A shard that has learned all before a block."""
        shard = self._shards.get(number)
        if shard is None or shard.next > block:
            shard = restore(self.folder, number, self.setup.rule, self.setup.source, block)
            for _ in range(self.setup.rule.staleness + 1):
                shard.look_ahead()
            self._shards[number] = shard
        while shard.next < block:
            self._learn(shard, None)
        return shard

    def _learn(self, shard: Shard, version: Version | None) -> Report:
        """Learn the next block of a shard with the version that the rule says, after a checkpoint if it is time."""
        block = shard.next
        if version is None:
            version = self.folder.read_version(max(block - self.setup.rule.staleness, shard.begin))
        shard.apply(version)
        if block % self.setup.save_every == 0 and block > shard.begin:
            save(self.folder, shard)
        report = shard.learn()
        report.outlook = shard.look_ahead()
        return report
