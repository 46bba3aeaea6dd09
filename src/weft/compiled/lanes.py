"""Four numbers at a time: the lanes of a vector register, with the same bits as one after the other.

Divisions and square roots are most of what an adaptive step costs, and a processor does four of them in hardly more
time than one. Numba keeps LLVM from packing straight-line code into vectors, and loops over rows that lie apart are
none it could pack. So a `Four` is a type of its own in compiled code, with + - * / and the functions below; in plain
mode it is an array of four. `four_columns` reads four rows of an array and turns them: four columns of four rows each,
so that every operation concerns four features at once.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import PLAIN

WIDTH = 4

if PLAIN:
    Four = Any

    def spread(number: Any) -> Any:
        """The same number in all lanes."""
        return np.full(WIDTH, number, np.float64)

    def four_at(array: Any, at: Any) -> Any:
        """Four numbers of an array, counted flat."""
        return array.reshape(-1)[int(at) : int(at) + WIDTH].copy()

    def put_four(array: Any, at: Any, four: Any) -> None:
        """Write what `four_at` reads."""
        array.reshape(-1)[int(at) : int(at) + WIDTH] = four

    def four_columns(array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The four numbers from a, b, c and d on (counted flat), turned: the first of each, the second, ..."""
        return tuple(np.array([four_at(array, at) for at in (a, b, c, d)]).T.copy())

    def put_columns(array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> None:
        """Write what `four_columns` reads."""
        for at, row in zip((a, b, c, d), np.array(columns).T, strict=True):
            put_four(array, at, row)

    def two_columns(array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The two numbers from a, b, c and d on, turned."""
        return four_columns(np.append(array, (0.0, 0.0)), a, b, c, d)[:2]

    def put_two_columns(array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> None:
        """Write what `two_columns` reads."""
        for at, row in zip((a, b, c, d), np.array(columns).T, strict=True):
            array.reshape(-1)[int(at) : int(at) + 2] = row

    def roots(four: Any) -> Any:
        """Square roots."""
        return np.sqrt(four)

    def sizes(four: Any) -> Any:
        """Absolute values."""
        return np.abs(four)

    def larger(a: Any, b: Any) -> Any:
        """Of every lane the larger one."""
        return np.where(a > b, a, b)

    def smaller(a: Any, b: Any) -> Any:
        """Of every lane the smaller one."""
        return np.where(a < b, a, b)

    def zeros_as_ones(four: Any) -> Any:
        """The same with 1 for 0."""
        return np.where(four == 0.0, 1.0, four)

    def signed(four: Any, like: Any) -> Any:
        """The same sizes with other signs."""
        return np.copysign(four, like)

    def any_reaches(four: Any, least: Any) -> bool:
        """Whether a lane is at least as large as another."""
        return bool(np.any(four >= least))

    def added_up(four: Any) -> float:
        """The sum of the lanes, by halves."""
        return float((four[0] + four[2]) + (four[1] + four[3]))

else:
    import operator

    from llvmlite import ir
    from numba import types
    from numba.core.typing import templates
    from numba.extending import intrinsic, lower_builtin, models, register_model

    class _Four(types.Type):
        def __init__(self) -> None:
            kind: Any = super()
            kind.__init__(name="weft.Four")

    Four: Any = _Four()  # type: ignore[no-redef]
    _NUMBER, _PLACE = ir.DoubleType(), ir.IntType(32)
    _LANES = ir.VectorType(_NUMBER, WIDTH)
    _SEVERAL: Any = types.UniTuple
    _TEMPLATES: Any = templates
    _MODELS: Any = models
    _lowered: Any = lower_builtin
    _modelled: Any = register_model

    @_modelled(_Four)
    class _Model(_MODELS.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, _LANES)

    def _define(function: Any, instruction: str) -> None:
        @_TEMPLATES.infer_global(function)
        class _(_TEMPLATES.ConcreteTemplate):  # type: ignore[misc]
            cases = (_TEMPLATES.signature(Four, Four, Four),)

        @_lowered(function, Four, Four)  # type: ignore[untyped-decorator]
        def _generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return getattr(builder, instruction)(*arguments)

    for _function, _inplace, _instruction in (
        (operator.add, operator.iadd, "fadd"),
        (operator.sub, operator.isub, "fsub"),
        (operator.mul, operator.imul, "fmul"),
        (operator.truediv, operator.itruediv, "fdiv"),
    ):
        _define(_function, _instruction)
        _define(_inplace, _instruction)

    def _call(builder: Any, name: str, *arguments: Any) -> Any:
        """An LLVM function over lanes."""
        shape = ir.FunctionType(_LANES, [_LANES] * len(arguments))
        function = builder.module.globals.get(name) or ir.Function(builder.module, shape, name)
        return builder.call(function, arguments)

    def _place(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
        data = context.make_array(kind)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [at]), _LANES.as_pointer())

    def _pair(context: Any, builder: Any, kind: Any, array: Any, at: Any) -> Any:
        data = context.make_array(kind)(context, builder, array).data
        return builder.bitcast(builder.gep(data, [at]), ir.VectorType(_NUMBER, 2).as_pointer())

    def _shuffled(builder: Any, pair: list[Any], order: list[int]) -> Any:
        return builder.shuffle_vector(*pair, ir.Constant(ir.VectorType(_PLACE, len(order)), order))

    def _turned(builder: Any, rows: Any) -> list[Any]:
        """Rows as columns: pairs of rows are interleaved, then halves exchanged."""
        low = [_shuffled(builder, rows[n : n + 2], [0, 4, 2, 6]) for n in (0, 2)]
        high = [_shuffled(builder, rows[n : n + 2], [1, 5, 3, 7]) for n in (0, 2)]
        return [_shuffled(builder, pair, order) for order in ([0, 1, 4, 5], [2, 3, 6, 7]) for pair in (low, high)]

    @intrinsic
    def spread(_: Any, number: Any) -> Any:
        """The same number in all lanes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            one = builder.insert_element(ir.Constant(_LANES, ir.Undefined), arguments[0], _PLACE(0))
            order = ir.Constant(ir.VectorType(_PLACE, WIDTH), [0] * WIDTH)
            return builder.shuffle_vector(one, ir.Constant(_LANES, ir.Undefined), order)

        return Four(types.float64), generate

    @intrinsic
    def four_at(_: Any, array: Any, at: Any) -> Any:
        """Four numbers of an array, counted flat."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.load(_place(context, builder, signature.args[0], *arguments), align=8)

        return Four(array, types.uint64), generate

    @intrinsic
    def put_four(_: Any, array: Any, at: Any, four: Any) -> Any:
        """Write what `four_at` reads."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            builder.store(arguments[2], _place(context, builder, signature.args[0], *arguments[:2]), align=8)
            return context.get_dummy_value()

        return types.void(array, types.uint64, Four), generate

    @intrinsic
    def four_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The four numbers from a, b, c and d on (counted flat), turned: the first of each, the second, ..."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, held = signature.args[0], arguments[0]
            rows = [builder.load(_place(context, builder, kind, held, at), align=8) for at in arguments[1:]]
            return context.make_tuple(builder, signature.return_type, _turned(builder, rows))

        return _SEVERAL(Four, WIDTH)(array, *[types.uint64] * WIDTH), generate

    @intrinsic
    def put_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> Any:
        """Write what `four_columns` reads."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, held = signature.args[0], arguments[0]
            columns = [builder.extract_value(arguments[5], n) for n in range(WIDTH)]
            for at, row in zip(arguments[1:5], _turned(builder, columns), strict=True):
                builder.store(row, _place(context, builder, kind, held, at), align=8)
            return context.get_dummy_value()

        return types.void(array, *[types.uint64] * WIDTH, _SEVERAL(Four, WIDTH)), generate

    @intrinsic
    def two_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The two numbers from a, b, c and d on, turned."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, held = signature.args[0], arguments[0]
            rows = [builder.load(_pair(context, builder, kind, held, at), align=8) for at in arguments[1:]]
            halves = [_shuffled(builder, rows[n : n + 2], [0, 1, 2, 3]) for n in (0, 2)]
            columns = [_shuffled(builder, halves, order) for order in ([0, 2, 4, 6], [1, 3, 5, 7])]
            return context.make_tuple(builder, signature.return_type, columns)

        return _SEVERAL(Four, 2)(array, *[types.uint64] * WIDTH), generate

    @intrinsic
    def put_two_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> Any:
        """Write what `two_columns` reads."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, held = signature.args[0], arguments[0]
            columns = [builder.extract_value(arguments[5], n) for n in range(2)]
            turned = [_shuffled(builder, columns, order) for order in ([0, 4, 2, 6], [1, 5, 3, 7])]
            for n, at in enumerate(arguments[1:5]):
                half = [0, 1] if n < 2 else [2, 3]
                row = _shuffled(builder, [turned[n % 2]] * 2, half)
                builder.store(row, _pair(context, builder, kind, held, at), align=8)
            return context.get_dummy_value()

        return types.void(array, *[types.uint64] * WIDTH, _SEVERAL(Four, 2)), generate

    @intrinsic
    def roots(_: Any, four: Any) -> Any:
        """Square roots."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "llvm.sqrt.v4f64", *arguments)

        return Four(Four), generate

    @intrinsic
    def sizes(_: Any, four: Any) -> Any:
        """Absolute values."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "llvm.fabs.v4f64", *arguments)

        return Four(Four), generate

    @intrinsic
    def larger(_: Any, a: Any, b: Any) -> Any:
        """Of every lane the larger one."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

        return Four(Four, Four), generate

    @intrinsic
    def smaller(_: Any, a: Any, b: Any) -> Any:
        """Of every lane the smaller one."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", *arguments), *arguments)

        return Four(Four, Four), generate

    @intrinsic
    def zeros_as_ones(_: Any, four: Any) -> Any:
        """The same with 1 for 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            is_zero = builder.fcmp_ordered("==", arguments[0], ir.Constant(_LANES, [0.0] * WIDTH))
            return builder.select(is_zero, ir.Constant(_LANES, [1.0] * WIDTH), arguments[0])

        return Four(Four), generate

    @intrinsic
    def signed(_: Any, four: Any, like: Any) -> Any:
        """The same sizes with other signs."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "llvm.copysign.v4f64", *arguments)

        return Four(Four, Four), generate

    @intrinsic
    def any_reaches(_: Any, four: Any, least: Any) -> Any:
        """Whether a lane is at least as large as another."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            mask = builder.bitcast(builder.fcmp_ordered(">=", *arguments), ir.IntType(WIDTH))
            return builder.icmp_unsigned("!=", mask, ir.IntType(WIDTH)(0))

        return types.boolean(Four, Four), generate

    @intrinsic
    def added_up(_: Any, four: Any) -> Any:
        """The sum of the lanes, by halves."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = [builder.extract_element(arguments[0], _PLACE(n)) for n in range(WIDTH)]
            return builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))

        return types.float64(Four), generate
