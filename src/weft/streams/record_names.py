"""The names of records with a schema, and what every field is used for, as compiled readers look at them."""

import re
from typing import Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import PLAIN
from weft.encoding.careful import Encoder
from weft.encoding.feature_keys import FeatureKeys
from weft.encoding.hashing import hashed_name
from weft.names import Name
from weft.schema import Schema
from weft.storage.lexicon import Lexicon

MOST_FIELDS = 1 << 16
"""Fields that compiled code knows; a line with further ones is read by the careful reader."""

_CONTROL = re.compile(r"[\x00-\x1f]")
_NOT_WRITTEN = re.compile(r"[\x00-\x1f\ud800-\udfff]")
_JOINT = b"\x01"


class TaskKeys:
    """The bytes by which compiled code knows tasks: strings behind a quote, integers in digits, parts with a joint."""

    def __init__(self, is_tuple: bool) -> None:
        self._is_tuple = is_tuple

    def encode(self, name: Name) -> bytes | None:
        """The key of a task; None if compiled code must not know it."""
        parts = name if isinstance(name, tuple) else (name,)
        found = [_part_key(part) for part in parts]
        return None if None in found else _JOINT.join(part for part in found if part is not None)

    def decode(self, key: bytes) -> Name:
        """The task that a key means."""
        parts = tuple(part[1:].decode() if part[:1] == b'"' else int(part) for part in key.split(_JOINT))
        return parts if self._is_tuple else parts[0]


def _part_key(part: Any) -> bytes | None:
    if isinstance(part, int):
        return str(part).encode()
    if _CONTROL.search(part):
        return None
    try:
        return b'"' + str(part).encode()
    except UnicodeEncodeError:
        return None


def _label_encode(label: Any) -> bytes | None:
    if isinstance(label, bool):
        return b"true" if label else b"false"
    return _part_key(label)


def _label_decode(key: bytes) -> Any:
    return key[1:].decode() if key[:1] == b'"' else key == b"true"


class RecordNames:
    """The lexicons of a file of records, over the tables of a compiled reader; plain ones in plain mode.

    With `hash_bits` the features of the compiled reader are names as they are, and `features` are the hashed ones.
    """

    def __init__(self, schema: Schema) -> None:
        self._schema, self._encoder = schema, Encoder(schema)
        self.tasks: Lexicon = Lexicon()
        self.features: Lexicon = Lexicon()
        self.labels: Lexicon = Lexicon()
        self.is_open = True
        if PLAIN:
            return
        from weft.encoding.interned import InternedNames
        from weft.scan.letters import NONE

        tasks, self._keys = TaskKeys(not isinstance(schema.task, str)), FeatureKeys()
        self.tasks = InternedNames(tasks.decode, tasks.encode)
        self._raw = InternedNames(self._keys.decode, self._keys.encode)
        if schema.hash_bits is None:
            self.features = self._raw
        self.labels = InternedNames(_label_decode, _label_encode)
        self._fields = InternedNames(_field_decode, _field_encode)
        self._interned: tuple[InternedNames, ...] = (self.tasks, self._raw, self.labels, self._fields)
        self._uses: Any = np.zeros((64, 4), np.int64)
        self._letters: Any = NONE
        self._header: list[str] = []
        self._hashed: Ints = np.zeros(0, np.int64)

    @property
    def tables(self) -> Any:
        """The tables of names."""
        from weft.scan.records import Tables

        return Tables(*(names.table for names in self._interned))

    @property
    def meaning(self) -> Any:
        """What fields are used for, and which characters are letters."""
        from weft.scan.records import Meaning

        return Meaning(self._uses, self._letters)

    def grow(self) -> None:
        """Make room for more names."""
        for names in self._interned:
            names.grow()

    def update(self) -> None:
        """Decode the names that were found."""
        for names in self._interned:
            names.update()

    def add_letters(self) -> None:
        """Make the table of letters."""
        from weft.scan.letters import letters

        self._letters = letters()

    def use_columns(self, header: list[str]) -> None:
        """Say what the columns of a table are used for."""
        if self._header != header:
            self._header = list(header)
            self._uses = np.array([self.use_of(name, True) for name in header], np.int64).reshape(-1, 4)

    def add_field(self, key: bytes, is_named: bool = False) -> None:
        """Say what a field is used for, given as it is written; `is_named`: it has categories, and needs a mark."""
        name = _field_decode(key)
        at = self._fields.code(name)
        if at >= len(self._uses):
            self._uses = np.concatenate([self._uses, np.zeros_like(self._uses)])
        self._uses[at] = self.use_of(name, is_named)
        self.is_open = len(self._fields) < MOST_FIELDS

    def use_of(self, name: str, is_named: bool) -> tuple[int, int, int, int]:
        """What a field is used for: the use, the code of its number, its mark, its place in the task."""
        from weft.scan import records

        schema, role = self._schema, self._encoder.schema.roles.get(name)
        if _NOT_WRITTEN.search(name):
            return records.CAREFUL, -1, 0, 0
        given = {
            "task": records.TASK,
            "label": records.LABEL,
            "weight": records.WEIGHT,
            "round": records.ROUND,
            "id": records.ID,
            "time": records.SKIP,
            "ignore": records.SKIP,
        }
        if role in given:
            return given[role], -1, 0, schema.task_fields.index(name) if role == "task" else 0
        if not self._encoder.is_used(name):
            return records.SKIP, -1, 0, 0
        kinds = {"text": records.TEXT, "category": records.CATEGORY, "numeric": records.NUMERIC}
        use = records.ANY if role is None else kinds[role]
        if "=" in name or ":" in name:
            return records.CAREFUL, -1, 0, 0
        mark = records.NO_MARK
        if use in (records.TEXT, records.CATEGORY) or (use == records.ANY and is_named):
            mark = self._keys.mark_number(f"{name}:" if use == records.TEXT else f"{name}=")
            if mark < 0 and use != records.ANY:
                use = records.CAREFUL
        code = -1
        if use in (records.NUMERIC, records.ANY):
            code = self._raw.code(name)
            self._raw.fields.add(code)
        return use, code, mark, 0

    def used_rows(self, indptr: Ints, indices: Ints, values: Floats) -> tuple[Ints, Ints, Floats]:
        """Rows over codes of `features`: with `hash_bits`, features that share a name are added up."""
        bits = self._schema.hash_bits
        if bits is None:
            return indptr, indices, values
        known = len(self._hashed)
        codes = [self.features.code(hashed_name(str(name), bits)) for name in self._raw.names[known:]]
        self._hashed = np.concatenate([self._hashed, np.array(codes, np.int64)])
        from weft.scan.merging import merge_rows

        seen = np.zeros(len(self.features), np.int64)
        new = np.empty_like(indptr), np.empty_like(indices), np.empty_like(values)
        used = merge_rows((indptr, self._hashed[indices], values), new, seen)
        return new[0], new[1][:used], new[2][:used]


def _field_decode(key: bytes) -> str:
    return key.decode("utf-8", "surrogateescape")


def _field_encode(name: Name) -> bytes:
    return str(name).encode("utf-8", "surrogateescape")
