"""Instructions that compilers do not find by themselves: prefetching memory, and sums in vector registers.

A sum in one variable is one addition after the other, and must not be reordered. Partial sums taken in turn are
independent of each other, the lanes of a vector register, with the same bits as one by one; but Numba keeps LLVM from
packing them (its vectoriser of straight-line code is off), so that they are spelled out here.
"""

from collections.abc import Callable
from typing import Any

from weft.compiled.jit import PLAIN

LANES = 16
"""Partial sums of `lanes_dot`."""

if PLAIN:

    def prefetch(array: Any, index: Any) -> None:
        """Plain mode: does nothing."""

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

    def grid_dots(x: Any, begins: Any, z: Any, firsts: Any, count: Any, out: Any, at: Any) -> None:
        """Plain mode: one after the other."""
        flat, whole = out.reshape(-1), int(count) // LANES * LANES
        for event, begin in enumerate(map(int, begins)):
            for row, first in enumerate(map(int, firsts)):
                total = lanes_dot(x, begin, z, first, whole)
                for e in range(whole, int(count)):
                    total += x[begin + e] * z[first + e]
                flat[int(at) + event * out.shape[1] + row] = total

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    _several: Any = types.UniTuple

    @intrinsic
    def prefetch(_: Any, array: Any, index: Any) -> Any:
        """Load the cache line of an array's entry (its flat position) into the cache, without waiting for it.

        That takes as long as about three hundred instructions; about fifty loads can be under way at a time.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            view = context.make_array(signature.args[0])(context, builder, arguments[0])
            byte, number = ir.IntType(8).as_pointer(), ir.IntType(32)
            pointer = builder.bitcast(builder.gep(view.data, [arguments[1]]), byte)
            shape = ir.FunctionType(ir.VoidType(), [byte, number, number, number])
            insert: Any = cgutils.get_or_insert_function
            function = insert(builder.module, shape, "llvm.prefetch.p0")
            builder.call(function, [pointer, number(0), number(3), number(1)])  # to be read, kept, data
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

        return _several(types.float64, 8)(weights, at, values, first, whole), generate

    @intrinsic
    def lanes_dot(_: Any, x: Any, i: Any, z: Any, j: Any, count: Any) -> Any:
        """sum_e x[i + e] z[j + e] for e < count, a multiple of LANES, in LANES partial sums, added up by halves.

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

    @intrinsic
    def grid_dots(_: Any, x: Any, begins: Any, z: Any, firsts: Any, count: Any, out: Any, at: Any) -> Any:
        """The products of x from each of three `begins` with z from each of three `firsts`, `count` numbers each.

        They go to three rows of `out`, three numbers each, from the flat place `at` on. Each is what `lanes_dot` gives
        for the multiple of LANES in `count`, and then one number after the other. A quarter of the partial sums is done
        at a time: those of nine products fit into registers, and need six numbers from memory, not eighteen.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            arrays = [context.make_array(signature.args[at])(context, builder, arguments[at]) for at in (0, 2, 5)]
            (events, rows, out), count, at = [a.data for a in arrays], arguments[4], arguments[6]
            xs = [builder.gep(events, [builder.extract_value(arguments[1], n)]) for n in range(3)]
            zs = [builder.gep(rows, [builder.extract_value(arguments[3], n)]) for n in range(3)]
            whole = builder.and_(count, NUMBER(-LANES))
            first, third, second, fourth = (_quarter(builder, xs, zs, at, whole) for at in (0, 8, 4, 12))
            sums = [
                builder.fadd(builder.fadd(a, b), builder.fadd(c, d))
                for a, b, c, d in zip(first, third, second, fourth, strict=True)
            ]
            totals = [_turn_and_add(builder, sums[row::3]) for row in range(3)]

            def tail(e: Any, old: list[Any]) -> list[Any]:
                x = ir.Constant(QUARTER, ir.Undefined)
                for lane, start in enumerate(xs):
                    x = builder.insert_element(x, builder.load(builder.gep(start, [e])), LANE(lane))
                return [
                    builder.fadd(total, builder.fmul(x, _splat(builder, builder.load(builder.gep(start, [e])))))
                    for total, start in zip(old, zs, strict=True)
                ]

            totals = _loop(builder, whole, count, 1, totals, tail)
            pitch = builder.extract_value(arrays[2].shape, 1)
            for event in range(3):
                for row in range(3):
                    place = builder.add(at, builder.add(builder.mul(pitch, NUMBER(event)), NUMBER(row)))
                    builder.store(builder.extract_element(totals[row], LANE(event)), builder.gep(out, [place]))
            return context.get_dummy_value()

        n, tuples = types.uint64, _several(types.uint64, 3)
        return types.void(x, tuples, z, tuples, n, out, n), generate

    NUMBER, LANE, QUARTER = ir.IntType(64), ir.IntType(32), ir.VectorType(ir.DoubleType(), LANES // 4)

    def _shuffled(builder: Any, a: Any, b: Any, lanes: list[int]) -> Any:
        return builder.shuffle_vector(a, b, ir.Constant(ir.VectorType(LANE, len(lanes)), lanes))

    def _splat(builder: Any, value: Any) -> Any:
        """A number in all lanes."""
        one = builder.insert_element(ir.Constant(QUARTER, ir.Undefined), value, LANE(0))
        return _shuffled(builder, one, one, [0] * (LANES // 4))

    def _loop(
        builder: Any, first: Any, last: Any, step: int, values: list[Any], body: Callable[[Any, list[Any]], list[Any]]
    ) -> list[Any]:
        """values <- body(e, values) for e = first, first + step, .. below last."""
        before, within, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_unsigned("<", first, last), within, after)
        builder.position_at_end(within)
        e, old = builder.phi(NUMBER), [builder.phi(value.type) for value in values]
        new = body(e, old)
        following = builder.add(e, NUMBER(step))
        for phi, begin, then in zip([e, *old], [first, *values], [following, *new], strict=True):
            phi.add_incoming(begin, before)
            phi.add_incoming(then, within)
        builder.cbranch(builder.icmp_unsigned("<", following, last), within, after)
        builder.position_at_end(after)
        found = [builder.phi(value.type) for value in values]
        for phi, begin, then in zip(found, values, new, strict=True):
            phi.add_incoming(begin, before)
            phi.add_incoming(then, within)
        return found

    def _quarter(builder: Any, xs: list[Any], zs: list[Any], at: int, whole: Any) -> list[Any]:
        """Lanes at .. at + 3 of the sums of all x with all z, those of the first x first."""

        def read(start: Any, e: Any) -> Any:
            return builder.load(builder.bitcast(builder.gep(start, [e]), QUARTER.as_pointer()), align=8)

        def body(e: Any, old: list[Any]) -> list[Any]:
            # An instruction that is none: without it two steps would be taken at once, and run out of registers.
            builder.asm(ir.FunctionType(ir.VoidType(), []), "", "", [], side_effect=True)
            rows, new = [read(start, e) for start in zs], []
            for event, start in enumerate(xs):
                x = read(start, e)
                new += [builder.fadd(old[3 * event + n], builder.fmul(x, row)) for n, row in enumerate(rows)]
            return new

        zeros = ir.Constant(QUARTER, [0.0] * (LANES // 4))
        return _loop(builder, NUMBER(at), whole, LANES, [zeros] * 9, body)

    def _turn_and_add(builder: Any, sums: list[Any]) -> Any:
        """(lane 0 + lane 2) + (lane 1 + lane 3) of each of three vectors, in the lanes of one."""
        a, b, c = sums
        even, odd = (_shuffled(builder, a, b, lanes) for lanes in ([0, 4, 2, 6], [1, 5, 3, 7]))
        more, other = (_shuffled(builder, c, c, lanes) for lanes in ([0, 0, 2, 2], [1, 1, 3, 3]))
        lanes = [
            _shuffled(builder, *pair, half)
            for pair in ((even, more), (odd, other))
            for half in ([0, 1, 4, 5], [2, 3, 6, 7])
        ]
        return builder.fadd(builder.fadd(lanes[0], lanes[1]), builder.fadd(lanes[2], lanes[3]))
