"""Rows of up to sixteen numbers, each row in vector registers from the first to the last operation.

A loop over a dozen numbers is too short for what compilers do to long ones: it runs number by number. Here are the few
operations that small matrices need, spelled out as vectors. Every number has a lane of its own, so nothing is summed in
another order than one by one, and plain Python gives the same bits.

Matrices are C-contiguous. A row that is read may be shorter than WIDE, and nothing after its `width` numbers is
touched; a row that is written has WIDE numbers, zeros after the last.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import PLAIN

WIDE = 16
"""Numbers in a row."""

if PLAIN:

    def sum_rows(a: Any, M: Any, first: Any, last: Any, width: Any, out: Any) -> None:
        """Plain mode: the same sums in the same order."""
        some = slice(int(first), int(last))
        _sum(a[some], M[some], int(width), out, np.zeros(WIDE))

    def sum_listed(a: Any, indices: Any, begin: Any, end: Any, M: Any, width: Any, out: Any) -> None:
        """Plain mode: the same sums in the same order."""
        listed = slice(int(begin), int(end))
        _sum(a[listed], M[indices[listed]], int(width), out, np.zeros(WIDE))

    def add_listed(a: Any, indices: Any, begin: Any, end: Any, M: Any, width: Any, out: Any) -> None:
        """Plain mode: the same sums in the same order."""
        listed = slice(int(begin), int(end))
        _sum(a[listed], M[indices[listed]], int(width), out, out[:WIDE].copy())

    def _sum(a: Any, rows: Any, width: int, out: Any, total: Any) -> None:
        with np.errstate(all="ignore"):
            for factor, row in zip(a, rows, strict=True):
                total[:width] += factor * row[:width]
        out[:WIDE] = total

    def subtract(M: Any, first: Any, last: Any, x: Any, y: Any) -> None:
        """Plain mode: the same."""
        with np.errstate(all="ignore"):
            for i in range(int(first), int(last)):
                M[i] -= x[i] * y

    def rotate(M: Any, i: Any, c: Any, s: Any, sign: Any, other: Any) -> None:
        """Plain mode: the same."""
        cos, sin = np.sqrt(c) * sign, np.sqrt(s) * other
        upper, lower = M[int(i)].copy(), M[int(i) + 1].copy()
        with np.errstate(all="ignore"):
            M[int(i)], M[int(i) + 1] = cos * upper - sin * lower, sin * upper + cos * lower

else:
    from collections.abc import Callable

    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic

    COUNT, LANES = ir.IntType(64), ir.VectorType(ir.DoubleType(), WIDE)
    COUNTS = ir.VectorType(COUNT, WIDE)
    ZEROS = ir.Constant(LANES, [0.0] * WIDE)

    def _data(context: Any, builder: Any, signature: Any, arguments: Any, at: int) -> Any:
        return context.make_array(signature.args[at])(context, builder, arguments[at]).data

    def _matrix(context: Any, builder: Any, signature: Any, arguments: Any, at: int) -> tuple[Any, Any]:
        """A matrix's numbers, and how many of them a row has."""
        view = context.make_array(signature.args[at])(context, builder, arguments[at])
        return view.data, builder.extract_value(view.shape, 1)

    def _all_lanes(builder: Any, value: Any, kind: Any) -> Any:
        """A number in every lane."""
        one = builder.insert_element(ir.Constant(kind, ir.Undefined), value, ir.IntType(32)(0))
        places = ir.Constant(ir.VectorType(ir.IntType(32), WIDE), [0] * WIDE)
        return builder.shuffle_vector(one, ir.Constant(kind, ir.Undefined), places)

    def _place(builder: Any, data: Any, at: Any) -> Any:
        return builder.bitcast(builder.gep(data, [at]), LANES.as_pointer())

    def _read(builder: Any, data: Any, at: Any) -> Any:
        return builder.load(_place(builder, data, at), align=8)

    def _write(builder: Any, row: Any, data: Any, at: Any) -> None:
        builder.store(row, _place(builder, data, at), align=8)

    def _reader(builder: Any, width: Any) -> Callable[[Any, Any], Any]:
        """Reads the first `width` numbers of a row, and zeros for the others."""
        lanes = ir.Constant(COUNTS, list(range(WIDE)))
        mask = builder.icmp_unsigned("<", lanes, _all_lanes(builder, width, COUNTS))
        pointer, number = LANES.as_pointer(), ir.IntType(32)
        shape = ir.FunctionType(LANES, [pointer, number, mask.type, LANES])
        insert: Any = cgutils.get_or_insert_function
        masked = insert(builder.module, shape, f"llvm.masked.load.v{WIDE}f64.p0")
        return lambda data, at: builder.call(masked, [_place(builder, data, at), number(8), mask, ZEROS])

    def _loop(builder: Any, first: Any, last: Any, row: Any, body: Callable[[Any, Any], Any]) -> Any:
        """row <- body(e, row) for first <= e < last."""
        before, within, after = builder.block, builder.append_basic_block(), builder.append_basic_block()
        builder.cbranch(builder.icmp_unsigned("<", first, last), within, after)
        builder.position_at_end(within)
        e, old = builder.phi(COUNT), builder.phi(LANES)
        new, following = body(e, old), builder.add(e, COUNT(1))
        e.add_incoming(first, before)
        e.add_incoming(following, within)
        old.add_incoming(row, before)
        old.add_incoming(new, within)
        builder.cbranch(builder.icmp_unsigned("<", following, last), within, after)
        builder.position_at_end(after)
        found = builder.phi(LANES)
        found.add_incoming(row, before)
        found.add_incoming(new, within)
        return found

    def _add(builder: Any, row: Any, factor: Any, other: Any) -> Any:
        return builder.fadd(row, builder.fmul(_all_lanes(builder, factor, LANES), other))

    @intrinsic
    def sum_rows(_: Any, a: Any, M: Any, first: Any, last: Any, width: Any, out: Any) -> Any:
        """out = sum_k a_k M_k over first <= k < last, for a vector a (a column of a matrix, too) and rows M_k."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            vector = context.make_array(signature.args[0])(context, builder, arguments[0])
            matrix, pitch = _matrix(context, builder, signature, arguments, 1)
            read = _reader(builder, arguments[4])
            step = COUNT(8) if signature.args[0].layout == "C" else builder.extract_value(vector.strides, 0)
            data = builder.bitcast(vector.data, ir.IntType(8).as_pointer())

            def body(k: Any, row: Any) -> Any:
                place = builder.gep(data, [builder.mul(k, step)])
                factor = builder.load(builder.bitcast(place, ir.DoubleType().as_pointer()))
                return _add(builder, row, factor, read(matrix, builder.mul(k, pitch)))

            found = _data(context, builder, signature, arguments, 5)
            _write(builder, _loop(builder, arguments[2], arguments[3], ZEROS, body), found, COUNT(0))
            return context.get_dummy_value()

        n = types.uint64
        return types.void(a, M, n, n, n, out), generate

    @intrinsic
    def sum_listed(_: Any, a: Any, indices: Any, begin: Any, end: Any, M: Any, width: Any, out: Any) -> Any:
        """out = sum_e a[e] times row indices[e] of M, for begin <= e < end."""
        n = types.uint64
        return types.void(a, indices, n, n, M, n, out), _listed(onto=False)

    @intrinsic
    def add_listed(_: Any, a: Any, indices: Any, begin: Any, end: Any, M: Any, width: Any, out: Any) -> Any:
        """The same, added to what is in `out`."""
        n = types.uint64
        return types.void(a, indices, n, n, M, n, out), _listed(onto=True)

    def _listed(onto: bool) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            factors, listed, found = (_data(context, builder, signature, arguments, at) for at in (0, 1, 6))
            matrix, pitch = _matrix(context, builder, signature, arguments, 4)
            read = _reader(builder, arguments[5])

            def body(e: Any, row: Any) -> Any:
                factor, index = (builder.load(builder.gep(data, [e])) for data in (factors, listed))
                return _add(builder, row, factor, read(matrix, builder.mul(index, pitch)))

            first = _read(builder, found, COUNT(0)) if onto else ZEROS
            _write(builder, _loop(builder, arguments[2], arguments[3], first, body), found, COUNT(0))
            return context.get_dummy_value()

        return generate

    @intrinsic
    def subtract(_: Any, M: Any, first: Any, last: Any, x: Any, y: Any) -> Any:
        """Row i of M, WIDE numbers, less x_i y, for first <= i < last."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            matrix, factors, data = (_data(context, builder, signature, arguments, at) for at in (0, 3, 4))
            y = _read(builder, data, COUNT(0))

            def body(i: Any, row: Any) -> Any:
                factor, place = builder.load(builder.gep(factors, [i])), builder.mul(i, COUNT(WIDE))
                product = builder.fmul(_all_lanes(builder, factor, LANES), y)
                _write(builder, builder.fsub(_read(builder, matrix, place), product), matrix, place)
                return row

            _loop(builder, arguments[1], arguments[2], ZEROS, body)
            return context.get_dummy_value()

        return types.void(M, types.uint64, types.uint64, x, y), generate

    @intrinsic
    def rotate(_: Any, M: Any, i: Any, c: Any, s: Any, sign: Any, other: Any) -> Any:
        """Rows i and i + 1 of M, WIDE numbers each, become cos M_i - sin M_i+1 and sin M_i + cos M_i+1.

        c and s are the squares of the cosine and of the sine, `sign` and `other` are their signs.
        """

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            matrix = _data(context, builder, signature, arguments, 0)
            places = [builder.mul(arguments[1], COUNT(WIDE))]
            places.append(builder.add(places[0], COUNT(WIDE)))
            upper, lower = (_read(builder, matrix, place) for place in places)
            pair = ir.VectorType(ir.DoubleType(), 2)
            squares, signs = ir.Constant(pair, ir.Undefined), ir.Constant(pair, ir.Undefined)
            for at in (0, 1):
                squares = builder.insert_element(squares, arguments[2 + at], ir.IntType(32)(at))
                signs = builder.insert_element(signs, arguments[4 + at], ir.IntType(32)(at))
            insert: Any = cgutils.get_or_insert_function
            root = insert(builder.module, ir.FunctionType(pair, [pair]), "llvm.sqrt.v2f64")
            both = builder.fmul(builder.call(root, [squares]), signs)
            cos, sin = (_all_lanes(builder, builder.extract_element(both, ir.IntType(32)(at)), LANES) for at in (0, 1))
            turned = builder.fsub(builder.fmul(cos, upper), builder.fmul(sin, lower))
            sheared = builder.fadd(builder.fmul(sin, upper), builder.fmul(cos, lower))
            for row, place in zip((turned, sheared), places, strict=True):
                _write(builder, row, matrix, place)
            return context.get_dummy_value()

        number = types.float64
        return types.void(M, types.uint64, number, number, number, number), generate
