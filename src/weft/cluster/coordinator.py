"""The coordinator: makes version v + 1 of what all shards share from version v and the reports of all shards.

It holds the shared numbers in a model without tasks. Reports are merged in the order of shards, whenever they came.
"""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np

from weft.cluster.merging import ShardRows, merged, rebased
from weft.cluster.records import Outlook, Report, Version
from weft.cluster.replica import Replica
from weft.compiled.arrays import Array, Ints
from weft.encoding.missing_values import MOST_FIELDS
from weft.exchange import Exchanged
from weft.model import Model
from weft.names import Names

_NONE = np.zeros(0, np.int64)


class Coordinator:
    """What all shards share now, and how it changes."""

    def __init__(self, model: Model, staleness: int) -> None:
        self.replica = Replica(model)
        self.last = Version(0, classes=model.label_classes)
        self._staleness = staleness

    def announce(self, outlooks: list[list[Outlook]]) -> Version:
        """The version with which a run begins or goes on: what all shards have found in the next blocks, in order."""
        last, names = self.last, [self.last.features]
        version = replace(last, begin=last.number, end=None)
        for ahead, found in enumerate(outlooks):
            version = self._announced(version, found, last.number + ahead)
            names.append(version.features)
        version = replace(version, number=last.number, features=_together(names))
        self.apply(version)
        return version

    def merge(self, reports: list[Report]) -> Version:
        """The version after the reports of all shards about one block."""
        number = reports[0].block + 1
        version = self._announced(self.last, [report.outlook for report in reports], number + self._staleness)
        version = replace(version, number=number, touched=_NONE, listed=_NONE, arrays={})
        version.events = self.last.events + sum(report.events for report in reports)
        version.fields = self._united([report.fields for report in reports])
        if self.replica.exchange is not None:
            self._merge(version, [report for report in reports if report.events])
        self.apply(version)
        return version

    def apply(self, version: Version) -> None:
        """Take over a version, one's own or one that was stored."""
        self.replica.apply(version)
        self.last = version

    @property
    def _fields(self) -> Ints:
        return self.replica.model.vocabulary.fields

    def _united(self, found: list[Ints]) -> Ints:
        return np.unique(np.concatenate([self._fields, *found]))[:MOST_FIELDS]

    def _announced(self, version: Version, outlooks: list[Outlook], block: int) -> Version:
        """A version with what was found in a block to come."""
        labels = [label for outlook in outlooks for label in outlook.labels]
        first = [outlook.first for outlook in outlooks if outlook.first is not None]
        is_end = version.end is None and not any(outlook.events for outlook in outlooks)
        return replace(
            version,
            end=block if is_end else version.end,
            features=_together([outlook.features for outlook in outlooks]),
            classes=version.classes.extended(labels) if labels else version.classes,
            first=first[0] if version.first is None and first else version.first,
            tasks=sum(outlook.tasks for outlook in outlooks),
        )

    def _merge(self, version: Version, reports: list[Report]) -> None:
        """Fill in the merged numbers, which `apply` then puts into the replica."""
        replica, exchange = self.replica, self.replica.exchange
        assert exchange is not None
        # Only names of blocks that were announced before are touched, so that the replica knows them all.
        version.touched = np.unique(np.concatenate([np.zeros(0, np.int64), *(report.touched for report in reports)]))
        base = replica.rows(version.touched)
        for item in replica.by_feature:
            self._begin(item, version.touched, base[item.name])
        for item in replica.whole:
            at = np.arange(len(base[item.name]))
            version.arrays[item.name] = self._merged(item, base, version, [(at, report) for report in reports])
        for item in replica.by_feature:
            places = [(np.searchsorted(version.touched, report.touched), report) for report in reports]
            version.arrays[item.name] = self._merged(item, base, version, places)
        replica.put(version.touched, version.arrays)
        if reports:
            exchange.adopt(replica.model.state, reports[0].listed)
        if len(reports) != 1 or self._staleness:
            exchange.settle(replica.model.state, version.touched, base)
        version.arrays = replica.rows(version.touched)
        version.listed = replica.listed()

    def _merged(
        self, item: Exchanged, base: Mapping[str, Array], version: Version, places: list[tuple[Ints, Report]]
    ) -> Array:
        """The merged rows of an array; those of `all_squares` are there already."""
        here, shards = base[item.name], []
        for at, report in places:
            share = 1.0
            if item.all_squares is not None:
                name, position = item.all_squares
                whole = next(one for one in self.replica.whole if one.name == name)
                own, total = _after(whole, base[name], report)[0, position], version.arrays[name][0, position]
                share = own / total if total > 0.0 else 1.0
            shards.append(ShardRows(at, _after(item, here[at], report), share))
        return merged(item, here, shards, version.number)

    def _begin(self, item: Exchanged, touched: Ints, rows: Array) -> None:
        """Rows of features that nobody had learned before begin as the learner says."""
        exchange = self.replica.exchange
        assert exchange is not None
        is_new = ~rows.any(axis=1)
        fresh = rows[is_new]
        exchange.start(self.replica.model.state, item.name, touched[is_new], fresh)
        rows[is_new] = fresh


def _after(item: Exchanged, base: Array, report: Report) -> Array:
    """What a shard has after its block, if it had begun that with the latest version."""
    before = report.arrays.get(f"before.{item.name}")
    after = report.arrays[item.name]
    return after if before is None else rebased(item, base, before, after)


def _together(lists: list[Names]) -> Names:
    """All names, each where it came first; columns are names as well."""
    columns = max((names.columns for names in lists), default=0)
    named = dict.fromkeys(name for names in lists for name in names.later)
    return Names(named, columns)
