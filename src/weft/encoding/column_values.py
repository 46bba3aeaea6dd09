"""The values of a column of a data frame for compiled code: strings as one text, and different values as codes."""

from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Ints
from weft.compiled.jit import PLAIN
from weft.kinds.frames import column_values
from weft.scan.padding import PADDING


class Texts(NamedTuple):
    """Strings in UTF-8 in one array, padded, and where each of them begins and ends; a missing one is empty."""

    data: Array
    begins: Ints
    ends: Ints

    def text(self, at: int) -> str:
        """One of them."""
        return bytes(self.data[self.begins[at] : self.ends[at]]).decode()


class Distinct(NamedTuple):
    """The different values of a column, None for a missing one, and which of them every row has."""

    values: list[Any]
    codes: Ints


class _Numbered(dict[Any, int]):
    """A dict that gives a new key the next number."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def texts_of(column: Any) -> Texts | None:
    """The strings of a column of narwhals; None if it holds something else."""
    import narwhals.stable.v1 as narwhals

    if PLAIN or column.dtype not in (narwhals.String, narwhals.Object):
        return None
    try:
        import pyarrow
    except ImportError:
        return _joined(column)
    if column.dtype == narwhals.Object:
        return _joined(column)
    found = column.to_arrow()
    if isinstance(found, pyarrow.ChunkedArray):
        found = found.combine_chunks()
    found = found.cast(pyarrow.large_string())
    n = len(found)
    _, places, content = found.buffers()
    offsets = np.frombuffer(places, np.int64)[found.offset : found.offset + n + 1]
    first, last = (int(offsets[0]), int(offsets[-1])) if n else (0, 0)
    data = np.empty(last - first + len(PADDING), np.uint8)
    data[: last - first] = np.frombuffer(content, np.uint8)[first:last] if last > first else 0
    data[last - first :] = np.frombuffer(PADDING, np.uint8)
    begins, ends = offsets[:-1] - first, offsets[1:] - first
    if found.null_count:
        ends = np.where(found.is_valid().to_numpy(zero_copy_only=False), ends, begins)
    return Texts(data, begins, ends)


def _joined(column: Any) -> Texts | None:
    """The same from strings as Python has them."""
    values = column.to_list()
    try:
        text = "\0".join(values)
    except TypeError:
        missing = column.is_null().to_list()
        values = ["" if is_missing else value for value, is_missing in zip(values, missing, strict=True)]
        if not all(isinstance(value, str) for value in values):
            return None
        text = "\0".join(values)
    try:
        content = text.encode()
    except UnicodeEncodeError:
        return None
    data = np.frombuffer(content + PADDING, np.uint8)
    between = np.flatnonzero(data[: len(content)] == 0)
    if len(between) != max(0, len(values) - 1):
        return None
    begins = np.concatenate([[0], between + 1])[: len(values)].astype(np.int64)
    return Texts(data, begins, np.concatenate([between, [len(content)]])[: len(values)].astype(np.int64))


def distinct(column: Any) -> Distinct:
    """The different values of a column of narwhals, and which of them every row has; 1 and 1.0 are one.

    TypeError if a value is not hashable.
    """
    found = _dictionary(column)
    if found is None:
        texts = texts_of(column)
        if texts is not None and not np.any(texts.data[: -len(PADDING)] == 0):
            found = _interned(texts)
    if found is None and column.dtype.is_integer() and not column.null_count():
        numbers, codes = np.unique(column.to_numpy(), return_inverse=True)
        found = Distinct(numbers.tolist(), codes.astype(np.int64))
    if found is None:
        numbered = _Numbered()
        codes = np.fromiter(map(numbered.__getitem__, column_values(column)), np.int64, len(column))
        found = Distinct(list(numbered), codes)
    return found


def _interned(texts: Texts) -> Distinct | None:
    from weft.encoding.interned import InternedNames
    from weft.scan.interning import intern_all

    names = InternedNames(bytes.decode, lambda name: str(name).encode())
    codes, at = np.empty(len(texts.begins), np.int64), 0
    while (at := intern_all(texts.data, (texts.begins, texts.ends), at, codes, names.table)) < len(codes):
        names.grow(int(texts.ends[at] - texts.begins[at]))
    try:
        names.update()
    except UnicodeDecodeError:
        return None
    return Distinct(list(names.names), codes)


def _dictionary(column: Any) -> Distinct | None:
    """What a column of a categorical type has already; None for other types."""
    import narwhals.stable.v1 as narwhals

    if column.dtype not in (narwhals.Categorical, narwhals.Enum):
        return None
    if column.implementation.is_pandas_like():
        native = column.to_native()
        values, codes = native.cat.categories.tolist(), np.array(native.cat.codes, np.int64)
    else:
        try:
            import pyarrow
        except ImportError:
            return None
        found = column.to_arrow()
        if isinstance(found, pyarrow.ChunkedArray):
            found = found.unify_dictionaries().combine_chunks()
        values, codes = found.dictionary.to_pylist(), np.array(found.indices.cast(pyarrow.int64()).fill_null(-1))
    return Distinct([*values, None], np.where(codes < 0, len(values), codes))
