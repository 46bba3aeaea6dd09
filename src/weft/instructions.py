"""Instructions that compilers do not find by themselves: what memory is asked for ahead, and sums in vector registers.

A sum in one variable is one addition after the other, and must not be reordered. Partial sums taken in turn are
independent of each other, the lanes of a vector register, with the same bits as one by one; but Numba keeps LLVM from
packing them (its vectoriser of straight-line code is off), so that they are spelled out here.
"""

from typing import Any

from weft.jit import PLAIN

LANES = 16
"""Partial sums of `lanes_dot`."""

if PLAIN:

    def prefetch(array: Any, index: Any) -> None:
        """Plain mode: nothing."""

    def four_sums(weights: Any, at: Any, values: Any, first: Any, whole: Any) -> tuple[float, ...]:
        """Plain mode: the same sums one after the other."""
        dots, squares = [0.0] * 4, [0.0] * 4
        for e in range(int(whole) - int(first)):
            value = values[int(first) + e]
            dots[e % 4] += weights[int(at) + e] * value
            squares[e % 4] += value * value
        return (*dots, *squares)

    def lanes_dot(x: Any, i: Any, z: Any, j: Any, count: Any) -> Any:
        """Plain mode: the same sums in the same order."""
        sums = [0.0] * LANES
        for e in range(int(count)):
            sums[e % LANES] += x[int(i) + e] * z[int(j) + e]
        while len(sums) > 1:
            half = len(sums) // 2
            sums = [sums[e] + sums[e + half] for e in range(half)]
        return sums[0]

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    @intrinsic
    def prefetch(_: Any, array: Any, index: Any) -> Any:
        """Ask for the cache line of an array's entry (counted flat), and do not wait for it.

        Memory answers after some three hundred instructions, and fifty can be asked for at a time.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            pointer = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte)
            shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            insert: Any = cgutils.get_or_insert_function
            function = insert(builder.module, shape, "llvm.prefetch.p0")
            builder.call(function, [pointer, number(1), number(3), number(1)])  # to be written, kept, data
            return context.get_dummy_value()

        return types.void(array, index), generate

    @intrinsic
    def four_sums(_: Any, weights: Any, at: Any, values: Any, first: Any, whole: Any) -> Any:
        """w.v and v.v in four partial sums each, taken in turn, over w from `at` and v from `first` up to `whole`.

        Numba keeps LLVM from packing sums in turn into one vector register by itself; four lanes of one are just that,
        with the same bits. `whole` - `first` is a multiple of four.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            w = context.make_array(signature.args[0])(context, builder, arguments[0]).data
            v = context.make_array(signature.args[2])(context, builder, arguments[2]).data
            number = ir.DoubleType()
            lanes = ir.VectorType(number, 4)
            _, start, _, begin, end = arguments
            zero = ir.Constant(lanes, [0.0] * 4)
            entry, loop, done = (
                builder.block,
                builder.append_basic_block("lanes"),
                builder.append_basic_block("summed"),
            )
            builder.cbranch(builder.icmp_unsigned("<", begin, end), loop, done)
            builder.position_at_end(loop)
            e, t, s = builder.phi(begin.type), builder.phi(lanes), builder.phi(lanes)
            place = builder.add(start, builder.sub(e, begin))

            def read(pointer: Any, index: Any) -> Any:
                where = builder.bitcast(builder.gep(pointer, [index]), lanes.as_pointer())
                return builder.load(where, align=8)

            x = read(v, e)
            t1 = builder.fadd(t, builder.fmul(read(w, place), x))
            s1 = builder.fadd(s, builder.fmul(x, x))
            e1 = builder.add(e, ir.Constant(e.type, 4))
            for phi, first_value, value in ((e, begin, e1), (t, zero, t1), (s, zero, s1)):
                phi.add_incoming(first_value, entry)
                phi.add_incoming(value, loop)
            builder.cbranch(builder.icmp_unsigned("<", e1, end), loop, done)
            builder.position_at_end(done)
            out = []
            for total in (t1, s1):
                both = builder.phi(lanes)
                both.add_incoming(zero, entry)
                both.add_incoming(total, loop)
                out.append(both)
            place32 = ir.IntType(32)
            numbers = [builder.extract_element(total, place32(k)) for total in out for k in range(4)]
            return context.make_tuple(builder, signature.return_type, numbers)

        several: Any = types.UniTuple
        return several(types.float64, 8)(weights, at, values, first, whole), generate

    @intrinsic
    def lanes_dot(_: Any, x: Any, i: Any, z: Any, j: Any, count: Any) -> Any:
        """sum_e x[i + e] z[j + e] for e < count, a multiple of LANES, in so many partial sums, added up by halves.

        A sum in one variable must not be reordered, and is one addition after the other. These are independent of each
        other, and are spelled out as vectors: compilers do not see them in a loop.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            number, wide = ir.IntType(64), ir.VectorType(ir.DoubleType(), LANES)
            starts = []
            for at in (0, 2):
                view = context.make_array(signature.args[at])(context, builder, arguments[at])
                starts.append(builder.gep(view.data, [arguments[at + 1]]))
            zeros = ir.Constant(wide, [0.0] * LANES)
            before, body, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
            builder.cbranch(builder.icmp_unsigned(">", arguments[4], number(0)), body, after)
            builder.position_at_end(body)
            e, sums = builder.phi(number), builder.phi(wide)
            loaded = [
                builder.load(builder.bitcast(builder.gep(start, [e]), wide.as_pointer()), align=8) for start in starts
            ]
            following, added = builder.add(e, number(LANES)), builder.fadd(sums, builder.fmul(*loaded))
            e.add_incoming(number(0), before)
            e.add_incoming(following, body)
            sums.add_incoming(zeros, before)
            sums.add_incoming(added, body)
            builder.cbranch(builder.icmp_unsigned("<", following, arguments[4]), body, after)
            builder.position_at_end(after)
            total = builder.phi(wide)
            total.add_incoming(zeros, before)
            total.add_incoming(added, body)
            size = LANES // 2
            while size:
                parts = [
                    builder.shuffle_vector(
                        total, total, ir.Constant(ir.VectorType(ir.IntType(32), size), list(range(at, at + size)))
                    )
                    for at in (0, size)
                ]
                total, size = builder.fadd(*parts), size // 2
            return builder.extract_element(total, ir.IntType(32)(0))

        return types.float64(x, types.uint64, z, types.uint64, types.uint64), generate
