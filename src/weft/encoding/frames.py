"""Data frames column by column: the same events as those of their rows as records, a hundred times faster.

Different values of a column are looked at once, texts are split by compiled code, and compiled code puts the rows
together. A column that this cannot take (lists, objects, mixed values), and anything wrong with a value, goes to the
careful encoder, which takes it or says what is wrong with it.
"""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.compiled.jit import PLAIN
from weft.encoding.careful import NOT_FEATURES, category_of, label_of, refuse_date, round_of, task_part, weight_of
from weft.encoding.collected import Encoded, encode_records, label_codes
from weft.encoding.column_values import Texts, distinct, texts_of
from weft.encoding.feature_keys import FeatureKeys
from weft.encoding.refused import Refused
from weft.kinds.frames import column_values, frame_records
from weft.kinds.missing import is_missing
from weft.kinds.words import terms
from weft.labels import Labels
from weft.names import Name
from weft.scan.merging import NAME, NUMBER, TEXT, merge_columns
from weft.schema import Schema
from weft.storage.batch import LARGEST
from weft.storage.events import Coded
from weft.storage.lexicon import CodedRows, Lexicon


class _Odd(Exception):
    """The frame has something that only the careful encoder takes."""


class Entries(NamedTuple):
    """What a column of texts adds to the rows: where the entries of every row begin, and all entries."""

    indptr: Ints
    codes: Ints
    values: Floats


def _new_features(keys: FeatureKeys) -> Lexicon:
    if PLAIN:
        return Lexicon()
    from weft.encoding.interned import InternedNames

    return InternedNames(keys.decode, keys.encode)


@dataclass
class FrameNames:
    """The names of one or of several data frames; `letters` is empty as long as no text has needed it."""

    tasks: Lexicon = field(default_factory=Lexicon)
    keys: FeatureKeys = field(default_factory=FeatureKeys)
    features: Lexicon = field(init=False)
    letters: Any = field(default_factory=lambda: np.zeros(0, np.uint32))

    def __post_init__(self) -> None:
        self.features = _new_features(self.keys)


def encode_frame(frame: Any, schema: Schema, names: FrameNames | None = None) -> Encoded:
    """The events of a frame of narwhals; names are added to those that are given."""
    names = FrameNames() if names is None else names
    try:
        return _Columns(frame, schema, names).encoded()
    except (_Odd, Refused):
        return encode_records(frame_records(frame), schema, names.tasks, names.features)


class _Columns:
    """Encodes the columns of one frame."""

    def __init__(self, frame: Any, schema: Schema, names: FrameNames) -> None:
        self.frame, self.schema, self.names = frame, schema, names
        self.features = names.features
        self.length = len(frame)
        roles = schema.roles
        is_dotted = any("." in name for name in (*roles, *(schema.features or ())) if name not in frame.columns)
        if schema.hash_bits is not None or is_dotted:
            raise _Odd

    def encoded(self) -> Encoded:
        """All of it."""
        schema = self.schema
        return Encoded(
            Coded(self._tasks(), self.names.tasks, self._rows()),
            None if schema.label is None else self._labels(schema.label),
            None if schema.round is None else self._each(schema.round, round_of),
            None if schema.weight is None else np.array(self._each(schema.weight, weight_of), np.float64),
            None if schema.id is None else self._values(schema.id),
        )

    def _values(self, name: str) -> list[Any]:
        return column_values(self.frame[name]) if name in self.frame.columns else [None] * self.length

    def _read(self, name: str, read: Callable[[str, Any], Any]) -> tuple[list[Any], Ints]:
        """What the different values of a column come to, and which of them every row has."""
        if name not in self.frame.columns:
            return [read(name, None)], np.zeros(self.length, np.int64)
        try:
            values, codes = distinct(self.frame[name])
        except TypeError:  # a value that is not hashable
            raise _Odd from None
        kinds = set(map(type, values))
        if len(kinds - {type(None)}) > 1 or len(values) > len(set(map(_key, values))):  # 1, 1.0 and True are one key
            raise _Odd
        used = np.zeros(len(values), bool)
        used[codes] = True  # a category that no row has is not looked at
        return [read(name, value) if is_used else None for value, is_used in zip(values, used, strict=True)], codes

    def _each(self, name: str, read: Callable[[str, Any], Any]) -> list[Any]:
        """A value per row; equal ones are read once."""
        values, codes = self._read(name, read)
        return [values[code] for code in codes.tolist()]

    def _labels(self, name: str) -> Labels | None:
        values, codes = self._read(name, label_of)
        if all(value is None for value in values):
            return None
        found = label_codes(values)
        return Labels(found.values[codes], found.names)

    def _tasks(self) -> Ints:
        names, tasks = self.schema.task_fields, self.names.tasks
        if not names:
            raise _Odd
        parts = [self._read(name, lambda field, value: task_part(field, value, {})) for name in names]
        if isinstance(self.schema.task, str):
            values, codes = parts[0]
            used = np.zeros(len(values), bool)
            used[codes] = True
            slots = [tasks.code(value) if is_used else -1 for value, is_used in zip(values, used, strict=True)]
            return np.array(slots, np.int64)[codes]
        whole: list[Name] = list(zip(*([values[at] for at in codes.tolist()] for values, codes in parts), strict=True))
        known = {name: tasks.code(name) for name in dict.fromkeys(whole)}
        return np.fromiter(map(known.__getitem__, whole), np.int64, self.length)

    def _rows(self) -> CodedRows:
        roles, chosen = self.schema.roles, self.schema.features
        rows = _Rows(self.length)
        for name in self.frame.columns:
            if roles.get(name) in NOT_FEATURES or not (chosen is None or name in chosen):
                continue
            if "=" in name or ":" in name:  # its features may be those of another column
                raise _Odd
            self._add(name, roles.get(name), rows)
        return CodedRows(*rows.merged(), self.features)

    def _add(self, name: str, role: str | None, rows: "_Rows") -> None:
        column = self.frame[name]
        kind = column.dtype
        if role in (None, "numeric") and (kind.is_numeric() or kind == _boolean()):
            rows.add_numbers(self.features.code(name), self._numbers(name, column))
        elif role == "text":
            rows.add_texts(self._words(name, column))
        elif role == "numeric" or not _holds_names(kind):
            raise _Odd
        else:
            rows.add_names(self._categories(name, column, role))

    def _numbers(self, name: str, column: Any) -> Floats:
        """The numbers of a column, NaN where one is missing."""
        is_there = ~np.asarray(column.is_null().to_numpy(), bool)
        if not is_there.any():
            return np.full(self.length, np.nan)
        numbers = _float_array(column, is_there)
        if np.any(np.abs(numbers) > LARGEST):
            raise _Odd
        if not np.all(np.isnan(numbers)):
            self.features.fields.add(self.features.code(name))
        return numbers

    def _categories(self, name: str, column: Any, role: str | None) -> Ints:
        """The code of every row, -1 where the value is missing."""
        try:
            values, codes = distinct(column)
        except TypeError:  # lists and the like
            raise _Odd from None
        is_mixed = not column.dtype.is_numeric() and column.dtype != _boolean()
        if is_mixed and not all(value is None or isinstance(value, str) for value in values):
            raise _Odd  # 1, 1.0 and True are one key
        slots = np.full(len(values), -1, np.int64)
        for at in np.unique(codes).tolist():
            value = values[at]
            if not is_missing(value):
                if role is None:
                    if not isinstance(value, str):
                        raise _Odd
                    refuse_date(name, value)
                slots[at] = self.features.code(f"{name}={category_of(name, value)}")
        return np.asarray(slots[codes])

    def _words(self, name: str, column: Any) -> Entries:
        texts, mark = texts_of(column), self.names.keys.mark_number(f"{name}:")
        if texts is not None and mark >= 0:
            return _CompiledWords(name, texts, mark, self.schema.ngrams, self.names).entries()
        values, codes = distinct(column)
        lengths, slots, counts = np.zeros(len(values), np.int64), list[int](), list[float]()
        for at, value in enumerate(values):
            if is_missing(value):
                continue
            if not isinstance(value, str):
                raise _Odd
            counted = Counter(terms(value, self.schema.ngrams))
            slots += [self.features.code(f"{name}:{term}") for term in counted]
            counts += counted.values()
            lengths[at] = len(counted)
        return _repeated(lengths, np.array(slots, np.int64), np.array(counts, np.float64), codes)


class _CompiledWords:
    """The words of a column of texts."""

    def __init__(self, field: str, texts: Texts, mark: int, ngrams: int, names: FrameNames) -> None:
        self._field, self._texts, self._mark, self._ngrams, self._names = field, texts, mark, ngrams, names
        n, size = len(texts.begins), len(texts.data)
        longest = int(np.max(texts.ends - texts.begins, initial=0))
        self._spaces = np.empty(2 * longest + 64, np.uint8), np.empty(longest // 2 + 66, np.int64)
        most = ngrams * (size // 2 + n + 2)  # a word takes a byte, and one behind it unless it is the last
        self._rows = np.zeros(n + 1, np.int64), np.empty(most, np.int64), np.empty(most)

    def entries(self) -> Entries:
        """All of them; a text that compiled code is not certain about is split by Python."""
        from weft.scan.letters import letters
        from weft.scan.text import NEEDS_LETTERS, NO_ROOM, scan_texts

        texts, names, at = self._texts, self._names, 0
        features: Any = names.features
        bounds, form = (texts.begins, texts.ends), (self._mark, self._ngrams)
        while at < len(texts.begins):
            at, status = scan_texts(
                texts.data, bounds, at, form, self._spaces, self._rows, names.letters, features.table
            )
            if status == NO_ROOM:
                features.grow()
            elif status == NEEDS_LETTERS:
                names.letters = letters()
            elif at < len(texts.begins):
                self._split(at)
                at += 1
        features.update()
        indptr, codes, values = self._rows
        return Entries(indptr, codes[: indptr[-1]], values[: indptr[-1]])

    def _split(self, at: int) -> None:
        indptr, codes, values = self._rows
        place = int(indptr[at])
        try:
            counted = Counter(terms(self._texts.text(at), self._ngrams))
        except UnicodeDecodeError:
            raise _Odd from None
        for term, count in counted.items():
            codes[place], values[place] = self._names.features.code(f"{self._field}:{term}"), count
            place += 1
        indptr[at + 1] = place


class _Rows:
    """Collects columns, and puts rows together from them."""

    def __init__(self, length: int) -> None:
        self._length = length
        self._kinds: list[tuple[int, int, int]] = []
        self._numbers: list[Floats] = []
        self._names: list[Ints] = []
        self._texts: list[Entries] = []

    def add_numbers(self, code: int, numbers: Floats) -> None:
        """A column of numbers of one feature."""
        self._kinds.append((NUMBER, len(self._numbers), code))
        self._numbers.append(numbers)

    def add_names(self, codes: Ints) -> None:
        """A column of categories."""
        self._kinds.append((NAME, len(self._names), 0))
        self._names.append(codes)

    def add_texts(self, entries: Entries) -> None:
        """A column of texts."""
        self._kinds.append((TEXT, len(self._texts), 0))
        self._texts.append(entries)

    def merged(self) -> tuple[Ints, Ints, Floats]:
        """indptr, codes and values of all rows."""
        n = self._length
        numbers = np.vstack([np.empty((0, n)), *self._numbers])
        names = np.vstack([np.empty((0, n), np.int64), *self._names])
        ends = np.cumsum([0, *(len(entries.codes) for entries in self._texts)])
        bounds = [entries.indptr + end for entries, end in zip(self._texts, ends, strict=False)]
        texts = (
            np.vstack([np.empty((0, n + 1), np.int64), *bounds]),
            np.concatenate([np.empty(0, np.int64), *(entries.codes for entries in self._texts)]),
            np.concatenate([np.empty(0), *(entries.values for entries in self._texts)]),
        )
        most = n * (len(self._numbers) + len(self._names)) + int(ends[-1]) + 1
        merged = np.empty(n + 1, np.int64), np.empty(most, np.int64), np.empty(most)
        kinds = np.array(self._kinds, np.int64).reshape(-1, 3)
        used = merge_columns(kinds, numbers, names, texts, merged)
        return merged[0], merged[1][:used], merged[2][:used]


def _key(value: Any) -> Any:
    """A key that NaN shares with NaN."""
    return None if value != value else value


def _repeated(lengths: Ints, slots: Ints, values: Floats, codes: Ints) -> Entries:
    """The entries of rows whose values are given by the codes of different values, each with so many entries."""
    first = np.cumsum(lengths) - lengths
    counts = lengths[codes]
    indptr = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    places = np.repeat(first[codes] - indptr[:-1], counts) + np.arange(int(counts.sum()))
    return Entries(indptr, slots[places], values[places])


def _boolean() -> Any:
    import narwhals.stable.v1 as narwhals

    return narwhals.Boolean


def _holds_names(kind: Any) -> bool:
    """May a column of this type hold categories?"""
    import narwhals.stable.v1 as narwhals

    names = (narwhals.String, narwhals.Categorical, narwhals.Enum, narwhals.Object, narwhals.Boolean)
    return kind.is_numeric() or any(kind == one for one in names)


def _float_array(column: Any, is_there: Array) -> Floats:
    import narwhals.stable.v1 as narwhals

    if column.implementation.is_pyarrow():  # its cast refuses integers beyond 2^53
        found = column.to_native().cast("float64", safe=False).fill_null(np.nan).to_numpy()
        return np.array(found, np.float64)
    floats = column.cast(narwhals.Float64)
    found = floats.to_numpy() if is_there.all() else floats.fill_null(np.nan).to_numpy()
    return np.array(found, np.float64)
