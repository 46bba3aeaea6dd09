"""A replica of what all shards share, in the state of a model: read rows of it, and take over a version."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

import numpy as np

from weft.cluster.records import Version
from weft.compiled.arrays import Array, Ints
from weft.exchange import Exchange, Exchanged
from weft.labels import UNKNOWN
from weft.model import Model
from weft.names import Addition


class Replica:
    """A model whose shared parts are those of a version, and perhaps what its own tasks have changed since."""

    def __init__(self, model: Model) -> None:
        self.model = model
        self.exchange: Exchange | None = model.traits.exchange
        plan = model.learner.plan
        self.by_feature = [item for item in self._items if "feature" in plan.axes[item.name]]
        self.whole = [item for item in self._items if "feature" not in plan.axes[item.name]]
        self.first: float | None = None
        self._tasks = 0

    @property
    def _items(self) -> tuple[Exchanged, ...]:
        return () if self.exchange is None else self.exchange.arrays

    def view(self, item: Exchanged) -> Array:
        """An exchanged array as rows of columns; what is written to it is in the state."""
        array: Array = getattr(self.model.state, item.name)
        if array.ndim == 1:
            return array[:, None] if item in self.by_feature else array[None, :]
        return (array.T if item.transposed else array)[:, : len(item.columns)]

    def rows(self, touched: Ints) -> dict[str, Array]:
        """Copies of all shared numbers: of these features, and of whole arrays."""
        found = {item.name: self.view(item)[touched] for item in self.by_feature}
        return found | {item.name: self.view(item).copy() for item in self.whole}

    def put(self, touched: Ints, arrays: Mapping[str, Array]) -> None:
        """Replace them."""
        for item in self.by_feature:
            self.view(item)[touched] = arrays[item.name]
        for item in self.whole:
            kept = [c for c, how in enumerate(item.columns) if how is not None]
            self.view(item)[:, kept] = arrays[item.name][:, kept]

    def listed(self) -> Ints:
        """What puts slots in the order that is shared."""
        return np.zeros(0, np.int64) if self.exchange is None else self.exchange.listed(self.model.state)

    def apply(self, version: Version) -> None:
        """Take over a version; a second time changes nothing."""
        model, vocabulary = self.model, self.model.vocabulary
        self._admit(version)
        if version.classes != UNKNOWN and version.classes != model.label_classes:
            model._set_classes(version.classes)
        vocabulary.fields = version.fields.copy()
        if self.exchange is None:
            return
        if self.first is None and version.first is not None:
            self.first = version.first
            self.exchange.begin(model.state, version.first)
        if version.arrays:
            self.put(version.touched, version.arrays)
            self.exchange.adopt(model.state, version.listed)
        self._tasks = version.tasks
        self.exchange.set_tasks(model.state, version.tasks)

    @contextmanager
    def alone(self) -> Iterator[Model]:
        """The model as one that has no tasks but its own, to be saved."""
        if self.exchange is None:
            yield self.model
            return
        self.exchange.set_tasks(self.model.state, len(self.model.vocabulary.tasks))
        try:
            yield self.model
        finally:
            self.exchange.set_tasks(self.model.state, self._tasks)

    def _admit(self, version: Version) -> None:
        """Know the features of a version."""
        model, features = self.model, self.model.vocabulary.features
        new = [name for name in version.features.later if features.find(name) < 0]
        addition = Addition(new, max(version.features.columns, features.columns))
        model._make_room_for_names(len(model.vocabulary.tasks), features.after(addition))
        features.add(addition)
