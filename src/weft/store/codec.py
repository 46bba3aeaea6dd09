"""Named arrays and a JSON header as bytes, and back. No pickle, no code: a file holds numbers and names only.

    magic "weft-model"  | 8 bytes: length of the header | header, JSON | the arrays' bytes | BLAKE2b of all before

The header lists for every array its name, type and shape; the arrays follow in that order, without gaps.
"""

import hashlib
import json
import math
from collections.abc import Mapping
from typing import Any

import numpy as np

from weft.compiled.arrays import Array

MAGIC = b"weft-model"
_TYPES = {"<f8": np.dtype("<f8"), "<i8": np.dtype("<i8")}
_DIGEST = 32
_MOST_DIMENSIONS = 4


class FileError(ValueError):
    """A file that is not a model file, is damaged, or comes from another version of weft."""


def encode(header: Mapping[str, Any], arrays: Mapping[str, Array]) -> bytes:
    """One block of bytes."""
    descriptions = []
    blocks = []
    for name, array in arrays.items():
        kind = array.dtype.newbyteorder("<").str
        if kind not in _TYPES:
            raise TypeError(f"array {name} has type {array.dtype}; only int64 and float64 can be stored")
        descriptions.append({"name": name, "type": kind, "shape": list(array.shape)})
        blocks.append(np.ascontiguousarray(array, _TYPES[kind]).tobytes())
    head = json.dumps({**header, "arrays": descriptions}, ensure_ascii=False).encode(
        "utf-8", "surrogatepass"
    )  # as `json.loads` decodes
    body = b"".join([MAGIC, len(head).to_bytes(8, "little"), head, *blocks])
    return body + hashlib.blake2b(body, digest_size=_DIGEST).digest()


def decode(data: bytes) -> tuple[dict[str, Any], dict[str, Array]]:
    """Header and arrays of a block; FileError if it is not exactly what `encode` wrote."""
    if not data.startswith(MAGIC):
        raise FileError("this is not a weft model file")
    start = len(MAGIC) + 8
    if len(data) < start + _DIGEST:
        raise FileError("the file is truncated")
    body, digest = data[:-_DIGEST], data[-_DIGEST:]
    if hashlib.blake2b(body, digest_size=_DIGEST).digest() != digest:
        raise FileError("the checksum does not match: the file is truncated or was altered")
    length = int.from_bytes(body[len(MAGIC) : start], "little")
    if start + length > len(body):
        raise FileError("the header is longer than the file")
    try:
        header = json.loads(body[start : start + length])
    except (ValueError, RecursionError):
        raise FileError("the header is not JSON") from None
    if not isinstance(header, dict) or not isinstance(header.get("arrays"), list):
        raise FileError("the header lists no arrays")
    return header, _arrays(header.pop("arrays"), memoryview(body)[start + length :])


def _arrays(descriptions: list[Any], rest: memoryview) -> dict[str, Array]:
    arrays: dict[str, Array] = {}
    at = 0
    for item in descriptions:
        name, kind, shape = _described(item)
        if name in arrays:
            raise FileError(f"the header describes the array {name} twice")
        size = math.prod(shape) * 8
        if at + size > len(rest):
            raise FileError(f"the array {name} is longer than the file")
        flat = np.frombuffer(rest[at : at + size], _TYPES[kind]).astype(_TYPES[kind].newbyteorder("="))
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
        if isinstance(name, str) and kind in ("<f8", "<i8") and valid:
            return name, kind, tuple(sizes)
    raise FileError("the header describes an array that weft does not know")
