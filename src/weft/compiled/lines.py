"""A cache line of keys at once: which of the eight is the one that is looked for, and which are empty.

A key is an unsigned integer of 64 bits; its upper half says whose it is, and 0 is an empty place.
"""

from typing import Any

from weft.compiled.jit import PLAIN

KEYS = 8
"""Keys of a cache line."""
HITS = (1 << KEYS) - 1
"""The bits of `match_line` that say where the key is; those above say where there is none."""

if PLAIN:

    def match_line(keys: Any, at: Any, wanted: Any) -> Any:
        """Plain mode: one key after the other."""
        line, upper, bits = [int(key) for key in keys[int(at) : int(at) + KEYS]], int(wanted), 0
        for n, key in enumerate(line):
            bits |= (key != 0 and key >> 32 == upper) << n | (key == 0) << (KEYS + n)
        return bits

    def lowest_bit(bits: Any) -> Any:
        """Plain mode: the number of the lowest bit that is set."""
        return (int(bits) & -int(bits)).bit_length() - 1

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def match_line(_: Any, keys: Any, at: Any, wanted: Any) -> Any:
        """Of the keys from `at` on: bit n is set if the upper half of key n is `wanted`, bit KEYS + n if key n is 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            data = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            number, line = ir.IntType(64), ir.VectorType(ir.IntType(64), KEYS)
            found = builder.load(builder.bitcast(builder.gep(data, [arguments[1]]), line.as_pointer()), align=8)
            one = builder.insert_element(ir.Constant(line, ir.Undefined), arguments[2], ir.IntType(32)(0))
            everywhere = ir.Constant(ir.VectorType(ir.IntType(32), KEYS), [0] * KEYS)
            same = builder.shuffle_vector(one, one, everywhere)
            upper = builder.lshr(found, ir.Constant(line, [32] * KEYS))
            equal = builder.icmp_unsigned("==", upper, same)
            empty = builder.icmp_unsigned("==", found, ir.Constant(line, [0] * KEYS))
            hits, holes = (builder.zext(builder.bitcast(mask, ir.IntType(KEYS)), number) for mask in (equal, empty))
            hits = builder.and_(hits, builder.xor(holes, number(HITS)))  # an empty place looks like feature 0
            return builder.or_(hits, builder.shl(holes, number(KEYS)))

        return types.uint64(keys, types.uint64, types.uint64), generate

    @intrinsic
    def lowest_bit(_: Any, bits: Any) -> Any:
        """The number of the lowest bit that is set."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number, flag = ir.IntType(64), ir.IntType(1)
            insert: Any = cgutils.get_or_insert_function
            function = insert(builder.module, ir.FunctionType(number, [number, flag]), "llvm.cttz.i64")
            return builder.call(function, [arguments[0], flag(0)])

        return types.uint64(types.uint64), generate
