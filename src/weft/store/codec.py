"""Named arrays and a JSON header as bytes, and back. No pickle, no code: a file holds numbers and names only.

    magic "weft-model"  | 8 bytes: length of the header | header, JSON | the arrays' bytes | BLAKE2b of all before

The header lists for every array its name, type and shape; the arrays follow in that order, without gaps.
"""

import io
import json
import math
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import numpy as np

from weft.compiled.arrays import Array
from weft.storage.saving import Blocks
from weft.store.digests import DIGEST, Digest, FileError

MAGIC = b"weft-model"
START = len(MAGIC) + 8
"""Where the header begins."""
_TYPES: dict[str, np.dtype[Any]] = {"<f8": np.dtype("<f8"), "<f4": np.dtype("<f4"), "<i8": np.dtype("<i8")}
_MOST_DIMENSIONS = 4

Write = Callable[[Any], object]
"""What takes bytes, or anything that holds them in one piece."""


def write_arrays(header: Mapping[str, Any], arrays: Mapping[str, Blocks], write: Write) -> bytes:
    """Hand a file on block by block; returns the digest that stands at its end.

    The digest is computed in a second thread if there is much of it, so that a block must not change any more.
    """
    descriptions = [_description(name, array) for name, array in arrays.items()]
    head = json.dumps({**header, "arrays": descriptions}, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )  # as `json.loads` decodes
    size = sum(math.prod(array.shape) * array.kind.itemsize for array in arrays.values())
    with Digest(size) as digest:
        for block in _blocks(head, arrays):
            digest.update(block)
            write(block)
        found = digest.value()
    write(found)
    return found


def encode(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """A file as one block of bytes."""
    out = io.BytesIO()
    write_arrays(header, {name: in_one(array) for name, array in arrays.items()}, out.write)
    return out.getvalue()


def in_one(array: Array) -> Blocks:
    """An array that is in one piece."""
    return Blocks(array.dtype, array.shape, (array,))


def _description(name: str, array: Blocks) -> dict[str, Any]:
    kind = array.kind.newbyteorder("<").str
    if kind not in _TYPES:
        raise TypeError(f"array {name} has type {array.kind}; only int64, float64 and float32 can be stored")
    return {"name": name, "type": kind, "shape": list(array.shape)}


def _blocks(head: bytes, arrays: Mapping[str, Blocks]) -> Iterator[Any]:
    yield b"".join((MAGIC, len(head).to_bytes(8, "little"), head))
    for array in arrays.values():
        for block in _with_length(array):
            if block.size:
                yield np.ascontiguousarray(block, array.kind.newbyteorder("<")).reshape(-1).view(np.uint8).data


def _with_length(array: Blocks) -> Iterator[Array]:
    """The blocks of an array; what they hold must be as much as the header says."""
    rest = math.prod(array.shape)
    for block in array.blocks:
        rest -= block.size
        yield block
    if rest:
        raise RuntimeError("an array is not as long as its header says: this is an error of weft, please report it")


def first_array(start: bytes) -> int:
    """Where the arrays of a file begin, by its first START bytes; 0 if it is not a model file."""
    return START + int.from_bytes(start[len(MAGIC) :], "little") if start.startswith(MAGIC) else 0


def decode(data: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file, which is bytes or the like; FileError if it is not exactly what was written.

    The arrays are read-only views of the file wherever they are aligned in it.
    """
    with checked(data):
        return parse(data)


@contextmanager
def checked(data: Any) -> Iterator[None]:
    """Compare the digest of a file, beside what is done in this context; it ends with a FileError if that is wrong.

    Nothing in a file may be trusted because its digest is right, so that whoever reads it need not wait for that.
    """
    if bytes(data[: len(MAGIC)]) != MAGIC:
        raise FileError("this is not a weft model file")
    if len(data) < START + DIGEST:
        raise FileError("the file is truncated")
    with Digest(len(data)) as digest:
        digest.update(memoryview(data)[:-DIGEST])
        try:
            yield
        finally:  # a file that is damaged is called so, whatever else is wrong with it
            digest.expect(data[-DIGEST:])


def parse(data: Any) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a file, for use inside `checked`."""
    header, rest = _header(memoryview(data)[:-DIGEST])
    return header, _arrays(header.pop("arrays"), rest)


def header_of(data: Any) -> dict[str, Any]:
    """The header of a file that was read before, without its arrays."""
    header, _ = _header(memoryview(data)[:-DIGEST])
    del header["arrays"]
    return header


def _header(body: memoryview) -> tuple[dict[str, Any], memoryview]:
    """The header, and what follows it."""
    length = int.from_bytes(body[len(MAGIC) : START], "little")
    if START + length > len(body):
        raise FileError("the header is longer than the file")
    try:
        header = json.loads(
            bytes(body[START : START + length]), object_pairs_hook=_object, parse_constant=_refuse_constant
        )
    except FileError:
        raise
    except (ValueError, RecursionError):
        raise FileError("the header is not JSON") from None
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        raise FileError("the header lists no arrays")
    return header, body[START + length :]


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """An object of the header; of two values for one key nobody knows which is meant."""
    found = dict(pairs)
    if len(found) != len(pairs):
        raise FileError("the header has a key twice")
    return found


def _refuse_constant(word: str) -> float:
    """NaN and infinity are not JSON, although Python reads them."""
    raise FileError(f"the header contains {word}, which is not JSON")


def _arrays(descriptions: list[Any], rest: memoryview) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    at = 0
    for item in descriptions:
        name, kind, shape = _described(item)
        if name in arrays:
            raise FileError(f"the header describes the array {name} twice")
        size = math.prod(shape) * _TYPES[kind].itemsize
        if at + size > len(rest):
            raise FileError(f"the array {name} is longer than the file")
        flat = np.frombuffer(rest[at : at + size], _TYPES[kind])
        flat = np.require(flat, _TYPES[kind].newbyteorder("="), ["A"]).view()
        flat.flags.writeable = False
        try:
            arrays[name] = flat.reshape(shape)
        except (ValueError, OverflowError):
            raise FileError(f"the array {name} has a shape that no array can have") from None
        at += size
    if at != len(rest):
        raise FileError("the file holds more than its arrays")
    return arrays


def _described(item: Any) -> tuple[str, str, tuple[int, ...]]:
    if isinstance(item, dict):
        name, kind, shape = item.get("name"), item.get("type"), item.get("shape")
        sizes = shape if isinstance(shape, list) and len(shape) <= _MOST_DIMENSIONS else [-1]
        valid = all(isinstance(n, int) and not isinstance(n, bool) and n >= 0 for n in sizes)
        if isinstance(name, str) and isinstance(kind, str) and kind in _TYPES and valid:
            return name, kind, tuple(sizes)
    raise FileError("the header describes an array that weft does not know")
