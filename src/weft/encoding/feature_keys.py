"""The bytes by which compiled code knows names of features: `country=us` and `body:free` with a mark for the field.

A mark is two control characters, which no name that compiled code reads has. The first `=` or `:` of a name ends its
field: compiled code takes no field whose own name has one of these, so that a name has one key and a key one name.
"""

import re

from weft.names import Name

MOST_MARKS = 31 * 31

_CONTROL = re.compile(r"[\x00-\x1f]")
_SEPARATOR = re.compile("[=:]")


class FeatureKeys:
    """Gives every field of words or categories its mark.

    >>> keys = FeatureKeys()
    >>> [keys.encode(name) for name in ("age", "country=us", "body:free money")]
    [b'age', b'\\x01\\x01us', b'\\x01\\x02free\\x01\\x02money']
    >>> keys.decode(b"\\x01\\x02free\\x01\\x02money")
    'body:free money'
    """

    def __init__(self) -> None:
        self._marks: dict[str, bytes] = {}
        self._fields: dict[bytes, str] = {}

    def mark(self, field: str) -> bytes | None:
        """The mark of a field, given with the `=` or `:` behind it; None if there are too many."""
        found = self._marks.get(field)
        if found is None and len(self._marks) < MOST_MARKS:
            high, low = divmod(len(self._marks), 31)
            found = self._marks[field] = bytes((high + 1, low + 1))
            self._fields[found] = field
        return found

    def mark_number(self, field: str) -> int:
        """The same as a number, the first byte lowest; -1 if there are too many."""
        found = self.mark(field)
        return -1 if found is None else int.from_bytes(found, "little")

    def encode(self, name: Name) -> bytes | None:
        """The key of a name; None if compiled code must not know it."""
        if not isinstance(name, str) or _CONTROL.search(name):
            return None
        try:
            text = name.encode()
        except UnicodeEncodeError:  # half of a pair of surrogates
            return None
        separator = _SEPARATOR.search(name)
        if separator is None:
            return text
        mark = self.mark(name[: separator.end()])
        if mark is None:
            return None
        rest = name[separator.end() :].encode()
        return mark + (rest.replace(b" ", mark) if separator.group() == ":" else rest)

    def decode(self, key: bytes) -> str:
        """The name that a key means."""
        field = self._fields.get(key[:2])
        if field is None:
            return key.decode()
        rest = key[2:].replace(key[:2], b" ") if field.endswith(":") else key[2:]
        return field + rest.decode()
