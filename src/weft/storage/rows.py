"""Rows of features from whatever a user holds: arrays, SciPy sparse, data frames, dicts of named features.

The result is a CSR block with rows sorted by feature, zeros dropped, no feature twice, everything finite; what does not
fit is refused with the row, the feature, the value and what to do.
"""

import numbers
import sys
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import compiled, inlined_only
from weft.names import MOST_NAMES, Name, plain
from weft.storage.batch import LARGEST, SMALLEST

REMEDY = f"values lie within -{LARGEST:g} .. {LARGEST:g}, replace or drop it"
_TABLE = "give one row per example and one column per feature"


class Rows(NamedTuple):
    """A CSR block; `features` names its columns, an int d means 0 .. d-1."""

    indptr: Ints
    indices: Ints
    values: Floats
    features: list[Name] | int

    @property
    def length(self) -> int:
        """Number of rows."""
        return len(self.indptr) - 1

    @property
    def width(self) -> int:
        """Number of columns."""
        return self.features if isinstance(self.features, int) else len(self.features)


class Given(NamedTuple):
    """The features of every row of dicts, zeros included, in the order in which the dict has them."""

    indptr: Ints
    indices: Ints

    def of(self, rows: Ints) -> Ints:
        """The features of some rows, one row after the other."""
        sizes = np.diff(self.indptr)[rows]
        ends = np.cumsum(sizes)
        found: Ints = self.indices[np.arange(ends[-1]) + np.repeat(self.indptr[rows] - (ends - sizes), sizes)]
        return found


def read_rows(X: Any) -> Rows:
    """Check and convert a table of rows."""
    return read_given(X)[0]


def read_given(X: Any) -> tuple[Rows, Given | None]:
    """The same, and the order of features that rows of dicts have, for streams that are divided."""
    if not hasattr(X, "__array__") and isinstance(X, Sequence) and len(X) and isinstance(X[0], Mapping):
        return _from_dicts(X)
    return _from_table(X), None


def _from_table(X: Any) -> Rows:
    if is_sparse(X):
        return _from_sparse(X)
    if hasattr(X, "columns") and hasattr(X, "to_numpy"):  # a data frame: its columns have names
        names = [plain(name, "column") for name in X.columns]
        if len(set(names)) != len(names):
            raise ValueError("X has two columns of one name; rename or drop one")
        data = _from_dense(X.to_numpy())
        return Rows(data.indptr, data.indices, data.values, names)
    if isinstance(X, Mapping):
        raise ValueError("X is one dict; give a list of rows, or use learn_one and predict_one for a single event")
    return _from_dense(X)


def is_sparse(X: Any) -> bool:
    """Is it a SciPy sparse matrix? Not if SciPy's was never imported: a tenth of a second saved at start."""
    sparse = sys.modules.get("scipy.sparse")
    return sparse is not None and bool(sparse.issparse(X))


def first_masked(X: Any) -> tuple[int, ...] | None:
    """Where the first masked entry of a NumPy masked array is; None if there is none, or if it is something else."""
    masked = sys.modules.get("numpy.ma")
    if masked is None or not isinstance(X, masked.MaskedArray):
        return None
    mask = np.asarray(masked.getmaskarray(X))
    return tuple(int(i) for i in np.argwhere(mask)[0]) if np.any(mask) else None


def as_table(x: Any) -> Any:
    """One row of any kind as a table of one row."""
    if is_sparse(x):
        row: Any = x
        return row if row.ndim == 2 else row.reshape((1, -1))
    return [x]


def _from_dense(X: Any) -> Rows:
    if not hasattr(X, "__array__") and isinstance(X, Sequence):
        _refuse_ragged(X)
    elif at := first_masked(X):
        _refuse_masked(at)
    try:
        array = np.asarray(X)
    except ValueError:  # rows within rows: say where
        array = np.array([[_number(value, row, column) for column, value in enumerate(x)] for row, x in enumerate(X)])
    if array.ndim != 2:
        raise ValueError(f"X has {array.ndim} dimension(s); {_TABLE}")
    if array.dtype.kind not in "fiub":
        array = _numbers(np.asarray(X, object))
    array = np.require(array, np.float64, ["C", "A", "W"])  # read-only input would compile again
    n, d = array.shape
    indptr, indices, values = np.empty(n + 1, np.int64), np.empty(n * d, np.int64), np.empty(n * d)
    bad = _compress(array, indptr, indices, values)
    if bad >= 0:
        row, column = divmod(bad, d)
        raise ValueError(f"row {row}: feature {column} is {array[row, column]}; {REMEDY}")
    return Rows(indptr, indices[: indptr[n]], values[: indptr[n]], d)


def _refuse_masked(at: tuple[int, ...]) -> None:
    feature = f": feature {at[1]}" if len(at) > 1 else ""
    raise ValueError(f"row {at[0]}{feature} is masked; give it a value, such as X.filled(0.0), or drop the row")


def _refuse_ragged(X: Sequence[Any]) -> None:
    width = None
    for row, x in enumerate(X):
        if at := first_masked(x):
            _refuse_masked((row, *at))
        if isinstance(x, str | bytes | Mapping) or not hasattr(x, "__len__"):
            raise ValueError(f"row {row}: {x!r} is not a row of numbers; X needs one row per example")
        if width is None:
            width = len(x)
        elif len(x) != width:
            raise ValueError(
                f"row {row} has {len(x)} features, row 0 has {width}; rows of an array have one length, "
                "use dicts for rows of different features"
            )


def _numbers(array: Any) -> Any:
    """An object array as floats; anything but real numbers is refused, with its position."""
    out = np.empty(array.shape)
    for row, column in np.ndindex(array.shape):
        out[row, column] = _number(array[row, column], row, column)
    return out


def _number(value: Any, row: int, feature: Any) -> float:
    if not isinstance(value, numbers.Real | np.bool_):
        raise ValueError(f"row {row}: feature {feature!r} is {value!r}; features must be numbers")
    try:
        return float(value)
    except OverflowError:
        raise ValueError(f"row {row}: feature {feature!r} is too large a number; {REMEDY}") from None


def _from_sparse(X: Any) -> Rows:
    if X.ndim != 2:
        raise ValueError(f"X has {X.ndim} dimension(s); {_TABLE}")
    if X.dtype.kind not in "fiub":
        raise ValueError(f"X holds {X.dtype} values; features must be numbers")
    if X.shape[1] > MOST_NAMES:
        raise ValueError(f"X has {X.shape[1]} columns; weft tells {MOST_NAMES} features apart, hash them to fewer")
    if hasattr(X, "check_format"):  # SciPy trusts its arrays, and compiled code would follow them anywhere
        X = type(X)(X)  # the check may tidy up: not in the caller's hands
        try:
            X.check_format(full_check=True)
        except ValueError as error:
            raise ValueError(f"X is a broken sparse matrix ({error}); build it again from its entries") from None
    from scipy import sparse

    csr = sparse.csr_array(X)
    rows = Rows(
        np.array(csr.indptr, np.int64),
        np.array(csr.indices, np.int64),
        np.array(csr.data, np.float64),
        csr.shape[1],
    )
    return tidy(rows)


class _Growing(dict[Any, int]):
    """A dict that gives a new key the next number."""

    def __missing__(self, key: Any) -> int:
        self[key] = number = len(self)
        return number


def _from_dicts(X: Sequence[Mapping[Any, Any]]) -> tuple[Rows, Given]:
    codes = _Growing()
    indices: list[int] = []
    values: list[Any] = []
    lengths = np.zeros(len(X) + 1, np.int64)
    kinds: set[type] = set()
    for row, x in enumerate(X):
        if not isinstance(x, Mapping):
            raise ValueError(f"row {row}: {x!r} is not a dict, but row 0 is; give all rows in one form")
        kinds.update(map(type, x))
        indices += [codes[name] for name in x]
        values += x.values()
        lengths[row + 1] = len(x)
    if not kinds <= {str, int}:  # 1, 1.0 and True are one key of a dict
        for row, x in enumerate(X):
            for name in x:
                plain(name, f"row {row}: feature name")
    indptr = np.cumsum(lengths)
    names = [plain(name, "feature name") for name in codes]
    try:
        data = np.array(values, np.float64) if set(map(type, values)) <= {float, int, bool} else None
    except OverflowError:
        data = None
    if data is None:
        rows = np.searchsorted(indptr, np.arange(len(values)), "right") - 1
        data = np.array(
            [_number(v, int(r), names[f]) for v, r, f in zip(values, rows, indices, strict=True)], np.float64
        )
    given = Given(indptr.copy(), np.array(indices, np.int64))
    return tidy(Rows(indptr, given.indices.copy(), data, names)), given


def some_rows(data: Rows, rows: Ints, given: Given | None) -> Rows:
    """Some rows; features that were `given` in an order are numbered as they come in these rows, and no others."""
    sizes = np.diff(data.indptr)[rows]
    indptr = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
    entries = np.arange(indptr[-1]) + np.repeat(data.indptr[rows] - indptr[:-1], sizes)
    indices, values, features = data.indices[entries], data.values[entries], data.features
    if given is None or isinstance(features, int):
        return Rows(indptr, indices, values, features)
    found, first = np.unique(given.of(rows), return_index=True)
    order = found[np.argsort(first)]
    numbers = np.zeros(len(features), np.int64)
    numbers[order] = np.arange(len(order))
    return tidy(Rows(indptr, numbers[indices], values, [features[code] for code in order.tolist()]))


def tidy(rows: Rows) -> Rows:
    """Sort rows by feature and drop zeros, in place; refuse what is not finite and a feature that appears twice."""
    fault = np.zeros(2, np.int64)
    _tidy(rows.indptr, rows.indices, rows.values, fault)
    if fault[0]:
        row, feature = int(fault[1]) >> 32, int(fault[1]) & 0xFFFFFFFF
        name = feature if isinstance(rows.features, int) else rows.features[feature]
        if fault[0] == 1:
            raise ValueError(f"row {row}: feature {name!r} is not finite; {REMEDY}")
        raise ValueError(f"row {row}: feature {name!r} appears twice; add its values up or drop one")
    used = rows.indptr[-1]
    return Rows(rows.indptr, rows.indices[:used], rows.values[:used], rows.features)


@compiled
def _compress(X: Floats, indptr: Ints, indices: Ints, values: Floats) -> int:
    """Dense rows to CSR without zeros; returns the flat position of the first value that is not finite, or -1."""
    n, d = X.shape
    used = 0
    indptr[0] = 0
    for i in range(n):
        for j in range(d):
            value = X[i, j]
            if not abs(value) <= LARGEST:
                return int(i * d + j)
            if abs(value) >= SMALLEST:
                indices[used] = j
                values[used] = value
                used += 1
        indptr[i + 1] = used
    return -1


@inlined_only
def sort_row(indices: Ints, values: Floats) -> None:
    """Sort a row by feature, in place, like `maths.vectors.sort`: `_tidy` compiles in 1 s, with np.argsort in 6."""
    count = len(indices)
    for step in range(count + count // 2):  # first build the heap, then take its top off
        last = count
        parent = count // 2 - 1 - step
        if parent < 0:
            last = count + count // 2 - 1 - step
            indices[0], indices[last] = indices[last], indices[0]
            values[0], values[last] = values[last], values[0]
            parent = 0
        while 2 * parent + 1 < last:
            child = 2 * parent + 1
            if child + 1 < last and indices[child + 1] > indices[child]:
                child += 1
            if indices[parent] >= indices[child]:
                break
            indices[parent], indices[child] = indices[child], indices[parent]
            values[parent], values[child] = values[child], values[parent]
            parent = child


@compiled
def _tidy(indptr: Ints, indices: Ints, values: Floats, fault: Ints) -> None:
    """fault = (1 not finite | 2 twice, row << 32 | feature)."""
    kept = 0
    begin = indptr[0]
    for r in range(indptr.shape[0] - 1):
        end = indptr[r + 1]
        first = kept
        ordered = True
        for e in range(begin, end):
            if not abs(values[e]) <= LARGEST:
                fault[0], fault[1] = 1, (r << 32) | indices[e]
                return
            if e > begin and indices[e] <= indices[e - 1]:
                ordered = False
        if not ordered:
            sort_row(indices[begin:end], values[begin:end])
            for e in range(begin + 1, end):
                if indices[e] == indices[e - 1]:
                    fault[0], fault[1] = 2, (r << 32) | indices[e]
                    return
        for e in range(begin, end):
            if abs(values[e]) >= SMALLEST:
                indices[kept] = indices[e]
                values[kept] = values[e]
                kept += 1
        indptr[r] = first
        begin = end
    indptr[indptr.shape[0] - 1] = kept
