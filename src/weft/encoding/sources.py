"""What a user holds, a data frame or a list of records, as columns of codes."""

from dataclasses import replace
from typing import Any

from weft.encoding.collected import Encoded, encode_records, expect_fields, fields_of
from weft.encoding.frames import encode_frame
from weft.kinds.frames import as_frame, as_records
from weft.schema import Schema


def is_source(source: Any) -> bool:
    """Is it a data frame, or a list of records?"""
    if isinstance(source, list | tuple):
        return bool(source) and isinstance(source[0], dict)
    return as_frame(source) is not None


def encode(source: Any, schema: Schema, has_labels: bool = True, checks_fields: bool = True) -> Encoded:
    """The events of a source; without `has_labels` its labels are not looked at."""
    frame = as_frame(source)
    records = None if frame is not None else as_records(source)
    if frame is None and records is None:
        raise ValueError(f"{type(source).__name__} is not a data frame or a list of records (dicts); give one of these")
    if not (len(frame) if records is None else len(records)):
        raise ValueError("the stream is empty; give at least one row")
    if checks_fields:
        known = frame.columns if records is None else fields_of(records)
        what = "the data frame has no column" if records is None else "no record has the field"
        expect_fields(schema, known, what, has_labels)
    schema = schema if has_labels else without_label(schema)
    return encode_frame(frame, schema) if records is None else encode_records(records, schema)


def without_label(schema: Schema) -> Schema:
    """The same schema for events whose labels are not wanted: the field is not used."""
    if schema.label is None:
        return schema
    ignored = schema.ignore if schema.features is not None else (*schema.ignore, schema.label)
    return replace(schema, label=None, ignore=ignored)
