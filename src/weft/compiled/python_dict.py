"""A dict of named values read by compiled code: names become slots without a step of the interpreter per name.

`struct.pack_into` over `map` takes 80 ns per name of an event, and the same loop in compiled code takes 20. It calls
three functions of CPython's stable C API by their addresses, and reads two things from objects directly: the type of
any object, and the number in a float. Where they lie is checked once, on objects that are known. Where the check fails
(a debug build, an interpreter without a global lock, plain mode) there is no `DictReader`, and callers read dicts in
Python, with the same result.

The global interpreter lock is held all the time. Only names that are exactly `str` or `int`, and values that are
exactly `float` or `int` are read here, so that no code of the user's runs in between; everything else is left to
Python.
"""

import ctypes
import struct
import sys
import sysconfig
from enum import IntEnum
from typing import TYPE_CHECKING, Any

import numpy as np

from weft.compiled.arrays import Floats, Ints
from weft.compiled.jit import PLAIN, compiled_with_gil, direct, inlined_only

UNREAD = -1
"""What `DictReader` returns for a dict that it leaves to Python."""


class Word(IntEnum):
    """Positions in the words behind a reader: addresses of functions and objects, where results go, and scratch."""

    NEXT = 0  # PyDict_Next
    FIND = 1  # PyDict_GetItemWithError
    INTEGER = 2  # PyLong_AsLongLongAndOverflow
    STR = 3  # the types
    INT = 4
    FLOAT = 5
    SLOTS = 6  # the dict from names to slots
    ROOM = 7  # the length of the two arrays
    INDICES = 8
    VALUES = 9
    POSITION = 10  # of PyDict_Next
    NAME = 11
    VALUE = 12
    OVERFLOW = 13


_FUNCTIONS = ("PyDict_Next", "PyDict_GetItemWithError", "PyLong_AsLongLongAndOverflow")
_TYPE, _NUMBER = 8, 16
"""Where an object has the address of its type, and a float its number, in bytes."""


class DictReader:
    """Reads dicts into `indices` and `values`, by the slots that `slots` gives their names.

    `read(words, id(x))` returns how many entries were written, in the order of the dict, or UNREAD. The caller holds
    the dict meanwhile; the reader keeps `slots` and the arrays alive.
    """

    def __init__(self, slots: dict[Any, int], indices: Ints, values: Floats) -> None:
        words = np.zeros(len(Word), np.int64)
        for at, name in enumerate(_FUNCTIONS):
            words[at] = ctypes.cast(getattr(ctypes.pythonapi, name), ctypes.c_void_p).value or 0
        words[Word.STR], words[Word.INT], words[Word.FLOAT] = id(str), id(int), id(float)
        words[Word.SLOTS], words[Word.ROOM] = id(slots), len(indices)
        words[Word.INDICES], words[Word.VALUES] = indices.ctypes.data, values.ctypes.data
        self._held = slots, indices, values, words
        self.words = int(words.ctypes.data)
        self.read = direct(_read, self.words, self.words)


def _is_readable() -> bool:
    """Whether objects look as this module expects, by the bytes of objects that are known."""
    if PLAIN or sys.implementation.name != "cpython" or struct.calcsize("P") != 8:
        return False
    if sys.flags.debug or hasattr(sys, "gettotalrefcount") or sysconfig.get_config_var("Py_GIL_DISABLED"):
        return False
    number = 0.1
    some: tuple[object, ...] = (number, "name", 7, {})
    for known in some:
        if ctypes.c_int64.from_address(id(known) + _TYPE).value != id(type(known)):
            return False
    return ctypes.c_double.from_address(id(number) + _NUMBER).value == number


READABLE = _is_readable()
"""Whether dicts can be read here."""


if TYPE_CHECKING:

    def _next(function: int, x: int, position: int, name: int, value: int) -> int: ...
    def _call(function: int, first: int, second: int) -> int: ...
    def _load(address: int) -> int: ...
    def _load_real(address: int) -> float: ...
    def _store(address: int, value: float) -> None: ...

elif not PLAIN:
    from llvmlite import ir
    from numba import types
    from numba.extending import intrinsic

    _WORD, _REAL, _STATUS = ir.IntType(64), ir.DoubleType(), ir.IntType(32)

    @intrinsic
    def _next(_: Any, function: Any, x: Any, position: Any, name: Any, value: Any) -> Any:
        """PyDict_Next: not 0 if there is one more entry, which it writes to the addresses of name and value."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            shape = ir.FunctionType(_STATUS, [_WORD] * 4)
            return builder.call(builder.inttoptr(arguments[0], shape.as_pointer()), arguments[1:])

        return types.int32(*[types.int64] * 5), generate

    @intrinsic
    def _call(_: Any, function: Any, first: Any, second: Any) -> Any:
        """A function of two words that returns a word."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            shape = ir.FunctionType(_WORD, [_WORD] * 2)
            return builder.call(builder.inttoptr(arguments[0], shape.as_pointer()), arguments[1:])

        return types.int64(*[types.int64] * 3), generate

    @intrinsic
    def _load(_: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], _WORD.as_pointer()))

        return types.int64(types.int64), generate

    @intrinsic
    def _load_real(_: Any, address: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(builder.inttoptr(arguments[0], _REAL.as_pointer()))

        return types.float64(types.int64), generate

    @intrinsic
    def _store(_: Any, address: Any, value: Any) -> Any:
        """Write a word, or a float, to an address."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[1], builder.inttoptr(arguments[0], arguments[1].type.as_pointer()))
            return context.get_dummy_value()

        return types.void(types.int64, types.float64 if value == types.float64 else types.int64), generate


@inlined_only
def _at(words: int, position: int) -> int:
    """The address of a word."""
    return words + 8 * position


@inlined_only
def _word(words: int, position: int) -> int:
    return _load(words + 8 * position)


@compiled_with_gil
def _read(words: int, x: int) -> int:
    following, find, integer = _word(words, Word.NEXT), _word(words, Word.FIND), _word(words, Word.INTEGER)
    str_type, int_type, float_type = _word(words, Word.STR), _word(words, Word.INT), _word(words, Word.FLOAT)
    slots, room = _word(words, Word.SLOTS), _word(words, Word.ROOM)
    index, number = _word(words, Word.INDICES), _word(words, Word.VALUES)
    position, name_at, value_at = _at(words, Word.POSITION), _at(words, Word.NAME), _at(words, Word.VALUE)
    overflow = _at(words, Word.OVERFLOW)
    _store(position, 0)
    count = 0
    while _next(following, x, position, name_at, value_at) != 0:
        name, value = _load(name_at), _load(value_at)
        name_type, value_type = _load(name + _TYPE), _load(value + _TYPE)
        if count == room or (name_type != str_type and name_type != int_type):
            return UNREAD
        slot = _call(find, slots, name)
        if slot == 0:
            return UNREAD
        if value_type == float_type:
            _store(number, _load_real(value + _NUMBER))
        elif value_type == int_type:
            _store(overflow, 0)
            found = _call(integer, value, overflow)
            if _load(overflow) != 0:
                return UNREAD
            _store(number, float(found))
        else:
            return UNREAD
        _store(index, _call(integer, slot, overflow))
        index += 8
        number += 8
        count += 1
    return count
