"""Which format a file has: by its name, by the bytes that it begins with, or as it is told."""

import os
import re

from weft.streams.records import InputError
from weft.streams.source import COMPRESSIONS, STANDARD_INPUT, Source

FORMATS = ("jsonl", "csv", "tsv", "svmlight", "vw", "parquet", "arrow", "weftpack")
TABLES = ("parquet", "arrow", "weftpack")
"""Formats that are not lines of text."""

_ENDINGS = {
    ".jsonl": "jsonl",
    ".ndjson": "jsonl",
    ".json": "jsonl",
    ".csv": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".svm": "svmlight",
    ".svmlight": "svmlight",
    ".libsvm": "svmlight",
    ".vw": "vw",
    ".parquet": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".weftpack": "weftpack",
}
_BEGINNINGS = {b"weftpack": "weftpack", b"PAR1": "parquet", b"ARROW1": "arrow", b"\xff\xff\xff\xff": "arrow"}
"""The last is an Arrow stream, which files may hold as well."""
_LINES = (
    ("jsonl", re.compile(rb"\s*\{")),
    ("svmlight", re.compile(rb"\s*[-+0-9.eE]+\s+qid:")),
    ("vw", re.compile(rb"\s*(?:[-+0-9.eE]+\s+){0,3}(?:'?[^\s|,;\t]*)?\s*\|(?:[^\s|,;]*\s|\s)")),
    ("csv", re.compile(rb"[^,;\t|]*[,;\t|]")),
)


_OBJECT = re.compile(rb'\xef?\xbb?\xbf?\s*\{\s*"')


def by_content(head: bytes) -> str | None:
    """The format of a file that begins so, if it is not text."""
    return next((format for magic, format in _BEGINNINGS.items() if head.startswith(magic)), None)


def refuse_table(head: bytes, format: str | None = None) -> None:
    """Refuse standard input that begins so, if it holds a file that has to be read here and there."""
    found = by_content(head) if format is None else format if format in TABLES else None
    if found is not None:
        raise InputError(f"standard input holds a {found} file, and such files are not read from pipes; give its name")


def by_lines(head: bytes) -> str | None:
    """The format of a text that begins so, by its first line that is not blank."""
    line = head.removeprefix(b"\xef\xbb\xbf").lstrip().split(b"\n", 1)[0]
    return next((format for format, form in _LINES if form.match(line)), None) if line else None


def by_name(path: str) -> str | None:
    """The format that the ending of a file name says."""
    path = path.lower()
    for known in COMPRESSIONS:
        for ending in known.endings:
            path = path.removesuffix(ending)
    return _ENDINGS.get(os.path.splitext(path)[1])


def format_of(source: str | os.PathLike[str], format: str | None = None) -> str:
    """The format as it is told, by the content, or by the ending of the file name; standard input is jsonl."""
    if format is not None:
        if format not in FORMATS:
            raise ValueError(f"unknown format {format!r}; choose one of {', '.join(FORMATS)}")
        return format
    path = os.fspath(source)
    if path == STANDARD_INPUT:
        return "jsonl"
    head = b""
    if os.path.isfile(path):
        with Source(path) as content:
            head = content.peek()
    found = by_content(head) or by_name(path) or by_lines(head)
    if found in ("csv", "tsv") and _OBJECT.match(head):
        found = "jsonl"  # whatever its name says
    if found is None:
        if os.path.isdir(path) or not os.path.exists(path):
            with Source(path):  # says what is wrong with the place
                pass
        ending = os.path.splitext(path)[1]
        raise InputError(
            f"{path}: cannot tell the format from the ending {ending!r}; give --format {', '.join(FORMATS)}, "
            f"or name the file {', '.join(_ENDINGS)}"
        )
    return found
