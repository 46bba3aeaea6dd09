"""Data frames of any library (pandas, polars, pyarrow), seen through narwhals."""

from collections.abc import Mapping, Sequence
from typing import Any

_NOT_FRAMES = (list, tuple, dict, str, bytes, int, float)


def as_frame(source: Any) -> Any:
    """The data frame as one of narwhals; None if it is not a data frame."""
    if source is None or isinstance(source, _NOT_FRAMES):
        return None
    import narwhals.stable.v1 as narwhals

    try:
        found = narwhals.from_native(source, pass_through=True)
    except narwhals.exceptions.DuplicateError:
        raise ValueError("two columns of the data frame have one name; rename one of them") from None
    if isinstance(found, narwhals.LazyFrame):
        kind = f"{type(source).__module__.split('.')[0]} {type(source).__name__}"
        raise ValueError(f"this is a query that was not run ({kind}); give a data frame, such as .collect() makes")
    if not isinstance(found, narwhals.DataFrame):
        return None
    if len(set(found.columns)) != len(found.columns) or not all(isinstance(name, str) for name in found.columns):
        shown = ", ".join(map(repr, found.columns[:8]))
        raise ValueError(f"the columns of the data frame ({shown}) must be different strings; rename them")
    return found


def frame_records(frame: Any) -> list[dict[str, Any]]:
    """The rows of a frame of narwhals as records; a missing value is None."""
    columns = {name: column_values(frame[name]) for name in frame.columns}
    return [dict(zip(columns, row, strict=True)) for row in zip(*columns.values(), strict=True)]


def column_values(column: Any) -> list[Any]:
    """The values of a column as Python has them, None where one is missing."""
    found = column.to_list()
    missing = column.is_null().to_list()
    return [None if is_missing else _plain(value) for value, is_missing in zip(found, missing, strict=True)]


def _plain(value: Any) -> Any:
    """Lists instead of arrays within a cell."""
    if isinstance(value, str | int | float | list | dict):
        return value
    to_list = value.tolist if type(value).__module__ == "numpy" else None
    return to_list() if to_list is not None else value


def as_records(source: Any) -> list[Mapping[str, Any]] | None:
    """A list of records, or None if it is something else; one record alone is refused."""
    if isinstance(source, Mapping):
        raise ValueError("this is one record; give a list of records, or use learn_one and predict_one for one of them")
    if isinstance(source, Sequence) and not isinstance(source, str | bytes):
        for row, record in enumerate(source):
            if not isinstance(record, Mapping):
                kind = type(record).__name__
                raise ValueError(f"row {row} is a {kind}, not a record; give a list of dicts from field to value")
        return list(source)
    return None


def as_column(source: Any, values: Any) -> Any:
    """Values, one per row of a data frame, as a column of its library, with its index; else as they are."""
    frame = as_frame(source)
    if frame is None:
        return values
    import narwhals.stable.v1 as narwhals

    found = narwhals.new_series("prediction", values.tolist(), backend=narwhals.get_native_namespace(frame)).to_native()
    if frame.implementation.is_pandas_like():
        found.index = source.index
    return found


def with_names(X: Any) -> Any:
    """A table of pyarrow as a data frame of narwhals, whose columns have names; anything else as it is."""
    return as_frame(X) if type(X).__module__.split(".")[0] == "pyarrow" else X


def as_columns(source: Any, values: Any, names: Sequence[Any]) -> Any:
    """A table of values, a row per row of a data frame, as a frame of its library, with its index; else as it is.

    The columns of pandas have the names as they are, others have them as text.
    """
    frame = as_frame(source)
    if frame is None:
        return values
    import narwhals.stable.v1 as narwhals

    if frame.implementation.is_pandas_like():
        made = {str(at): values[:, at].tolist() for at in range(len(names))}
        found = narwhals.from_dict(made, backend=narwhals.get_native_namespace(frame)).to_native()
        found.index = source.index
        found.columns = list(names)
        return found
    texts = [name if isinstance(name, str) else repr(name) for name in names]
    texts = texts if len({*texts}) == len(texts) else [repr(name) for name in names]
    made = {text: values[:, at].tolist() for at, text in enumerate(texts)}
    return narwhals.from_dict(made, backend=narwhals.get_native_namespace(frame)).to_native()


def named_row(x: Any) -> Any:
    """A row that has names, a series of pandas or a named tuple, as a dict; anything else as it is."""
    if isinstance(x, tuple) and type(x) is not tuple:
        fields: tuple[str, ...] = type(x).__dict__.get("_fields", ())
        return dict(zip(fields, x, strict=True)) if fields else x
    kind = type(x)
    if kind.__name__ == "Series" and kind.__module__.split(".")[0] == "pandas":
        return dict(x.items()) if x.index.dtype.kind not in "iu" else x
    return x
