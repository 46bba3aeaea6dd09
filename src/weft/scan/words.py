"""Eight bytes at a time: unaligned loads, bit counts, wide products, and where certain bytes are within a word.

Behind the end of every text that is scanned there is `weft.scan.padding.PADDING`: loads of whole words stay inside,
and every search for a byte of `find_byte` and `find_either` ends there at the latest.
"""

from typing import Any

import numpy as np
from llvmlite import ir
from numba import types
from numba.core import cgutils
from numba.extending import intrinsic

from weft.compiled.jit import inlined_only

U0, U1, U3, U8 = np.uint64(0), np.uint64(1), np.uint64(3), np.uint64(8)
ONES = np.uint64(0x0101010101010101)
HIGHEST = np.uint64(0x8080808080808080)
_WORD = ir.IntType(64)
_pair: Any = types.UniTuple


@intrinsic
def _load(_: Any, text: Any, at: Any) -> Any:
    """The eight bytes from `at` on as one number, the first byte lowest."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
        pointer = builder.bitcast(builder.gep(data, [arguments[1]]), _WORD.as_pointer())
        return builder.load(pointer, align=1)

    return types.uint64(text, types.uint64), generate


@intrinsic
def _wide_product(_: Any, a: Any, b: Any) -> Any:
    """The upper and the lower 64 bits of a product."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        wide = ir.IntType(128)
        product = builder.mul(builder.zext(arguments[0], wide), builder.zext(arguments[1], wide))
        halves = [builder.trunc(builder.lshr(product, wide(64)), _WORD), builder.trunc(product, _WORD)]
        return context.make_tuple(builder, signature.return_type, halves)

    return _pair(types.uint64, 2)(types.uint64, types.uint64), generate


def _count_zeros(name: str) -> Any:
    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        shape = ir.FunctionType(_WORD, [_WORD, ir.IntType(1)])
        insert: Any = cgutils.get_or_insert_function
        return builder.call(insert(builder.module, shape, name), [arguments[0], ir.IntType(1)(0)])

    return generate


@intrinsic
def _leading_zeros(_: Any, x: Any) -> Any:
    """The number of zero bits above the highest one."""
    return types.uint64(types.uint64), _count_zeros("llvm.ctlz.i64")


@intrinsic
def _trailing_zeros(_: Any, x: Any) -> Any:
    """The number of zero bits below the lowest one."""
    return types.uint64(types.uint64), _count_zeros("llvm.cttz.i64")


@intrinsic
def _as_float(_: Any, bits: Any) -> Any:
    """The double with these bits."""

    def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
        return builder.bitcast(arguments[0], ir.DoubleType())

    return types.float64(types.uint64), generate


load: Any = _load
wide_product: Any = _wide_product
leading_zeros: Any = _leading_zeros
trailing_zeros: Any = _trailing_zeros
as_float: Any = _as_float


@inlined_only
def zero_bytes(word: Any) -> Any:
    """The highest bit of the first byte that is zero; bits of later bytes may be set as well, of earlier ones never."""
    return (word - ONES) & ~word & HIGHEST


@inlined_only
def first_byte(marks: Any) -> Any:
    """The position of the first byte whose highest bit is set."""
    return trailing_zeros(marks) >> U3


@inlined_only
def low_bytes(word: Any, count: Any) -> Any:
    """The first `count` bytes of a word, at most eight; the others are zero."""
    return word if count >= U8 else word & ((U1 << (count << U3)) - U1)


@inlined_only
def find_byte(text: Any, at: Any, byte: Any) -> Any:
    """The position of the next such byte; there must be one."""
    pattern = ONES * np.uint64(byte)
    while True:
        marks = zero_bytes(load(text, at) ^ pattern)
        if marks != U0:
            return at + first_byte(marks)
        at += U8


@inlined_only
def find_either(text: Any, at: Any, one: Any, other: Any, third: Any) -> Any:
    """The position of the next byte that is one of the three; there must be one."""
    a, b, c = ONES * np.uint64(one), ONES * np.uint64(other), ONES * np.uint64(third)
    while True:
        word = load(text, at)
        marks = zero_bytes(word ^ a) | zero_bytes(word ^ b) | zero_bytes(word ^ c)
        if marks != U0:
            return at + first_byte(marks)
        at += U8


@inlined_only
def skip_blanks(text: Any, at: Any) -> Any:
    """The position of the next byte that is not a space or a tab."""
    while text[at] == 32 or text[at] == 9:
        at += U1
    return at
