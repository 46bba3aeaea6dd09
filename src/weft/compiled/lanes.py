"""Four numbers at a time in a vector register, with the same bits as one after the other.

Divisions and square roots are most of the cost of an adaptive step, and a processor does four of them in hardly more
time than one. LLVM does not vectorise these loops by itself: Numba switches its vectoriser of straight-line code off,
and rows that are far apart in memory are not a loop over consecutive numbers. `Four` is therefore a type of its own in
compiled code, the four *lanes* of a register, with + - * / and the functions below. In plain mode it is a NumPy array
of four numbers.

| function | result |
|---|---|
| `broadcast(number)` | the number in all lanes |
| `load_four`, `store_four` | four consecutive numbers of an array |
| `load_columns`, `store_columns` | four numbers of each of four rows, transposed: one `Four` per column |
| `load_two_columns`, `store_two_columns` | the same with two numbers of each row |
| `sqrt`, `absolute`, `maximum`, `minimum`, `copysign`, `zeros_as_ones` | lane by lane |
| `any_at_least(a, b)` | whether a >= b in at least one lane |
| `horizontal_sum` | the sum of the four lanes |

Positions in arrays (`at`, a, b, c, d) are flat: they count numbers from the start of a contiguous array. An array may
hold numbers of 32 bits: they are computed with in 64 bits, and rounded when they are stored; those beyond LARGEST_32
become that.
"""

from typing import Any

import numpy as np

from weft.compiled.jit import PLAIN

WIDTH = 4
LARGEST_32 = float(np.finfo(np.float32).max)

if PLAIN:
    Four = Any

    def _stored(array: Any, numbers: Any) -> Any:
        """Numbers as an array holds them."""
        return np.clip(numbers, -LARGEST_32, LARGEST_32) if array.dtype == np.float32 else numbers

    def broadcast(number: Any) -> Any:
        """The number in all lanes."""
        return np.full(WIDTH, number, np.float64)

    def load_four(array: Any, at: Any) -> Any:
        """Four consecutive numbers of an array, from a flat position."""
        return array.reshape(-1)[int(at) : int(at) + WIDTH].astype(np.float64)

    def store_four(array: Any, at: Any, four: Any) -> None:
        """Store four numbers where `load_four` would read them."""
        array.reshape(-1)[int(at) : int(at) + WIDTH] = _stored(array, four)

    def load_columns(array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The four numbers from each of a, b, c, d on, transposed: the first of each, the second of each, ..."""
        return tuple(np.array([load_four(array, at) for at in (a, b, c, d)]).T.copy())

    def store_columns(array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> None:
        """Store columns where `load_columns` would read them."""
        for at, row in zip((a, b, c, d), np.array(columns).T, strict=True):
            store_four(array, at, row)

    def load_two_columns(array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The two numbers from each of a, b, c, d on, transposed."""
        return load_columns(np.append(array, np.zeros(2, array.dtype)), a, b, c, d)[:2]

    def store_two_columns(array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> None:
        """Store columns where `load_two_columns` would read them."""
        for at, row in zip((a, b, c, d), np.array(columns).T, strict=True):
            array.reshape(-1)[int(at) : int(at) + 2] = _stored(array, row)

    def sqrt(four: Any) -> Any:
        """The square root of every lane."""
        return np.sqrt(four)

    def absolute(four: Any) -> Any:
        """The absolute value of every lane."""
        return np.abs(four)

    def maximum(a: Any, b: Any) -> Any:
        """The larger of a and b in every lane; b where they are equal or one is NaN."""
        return np.where(a > b, a, b)

    def minimum(a: Any, b: Any) -> Any:
        """The smaller of a and b in every lane; b where they are equal or one is NaN."""
        return np.where(a < b, a, b)

    def zeros_as_ones(four: Any) -> Any:
        """The same numbers, with 1 in place of 0."""
        return np.where(four == 0.0, 1.0, four)

    def copysign(four: Any, like: Any) -> Any:
        """The absolute values of `four` with the signs of `like`."""
        return np.copysign(four, like)

    def any_at_least(four: Any, least: Any) -> bool:
        """Whether any lane is at least as large as that lane of `least`."""
        return bool(np.any(four >= least))

    def horizontal_sum(four: Any) -> float:
        """The sum of the lanes: (first + third) + (second + fourth)."""
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
    _NUMBER, _LANE = ir.DoubleType(), ir.IntType(32)
    _LANES = ir.VectorType(_NUMBER, WIDTH)
    _tuple_of: Any = types.UniTuple
    _TEMPLATES: Any = templates
    _MODELS: Any = models
    _lower: Any = lower_builtin
    _register: Any = register_model

    @_register(_Four)
    class _Model(_MODELS.PrimitiveModel):  # type: ignore[misc]
        def __init__(self, manager: Any, kind: Any) -> None:
            super().__init__(manager, kind, _LANES)

    def _define(function: Any, instruction: str) -> None:
        """Let an operator of Python be an instruction of LLVM on lanes."""

        @_TEMPLATES.infer_global(function)
        class _(_TEMPLATES.ConcreteTemplate):  # type: ignore[misc]
            cases = (_TEMPLATES.signature(Four, Four, Four),)

        @_lower(function, Four, Four)  # type: ignore[untyped-decorator]
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
        """Call an LLVM function on lanes."""
        shape = ir.FunctionType(_LANES, [_LANES] * len(arguments))
        function = builder.module.globals.get(name) or ir.Function(builder.module, shape, name)
        return builder.call(function, arguments)

    def _vector_at(context: Any, builder: Any, kind: Any, array: Any, at: Any, count: int) -> Any:
        """Pointer to so many numbers of an array."""
        data = context.make_array(kind)(context, builder, array).data
        number = ir.FloatType() if kind.dtype == types.float32 else _NUMBER
        return builder.bitcast(builder.gep(data, [at]), ir.VectorType(number, count).as_pointer())

    def _load(context: Any, builder: Any, kind: Any, array: Any, at: Any, count: int = WIDTH) -> Any:
        """So many numbers of an array, in 64 bits."""
        found = builder.load(_vector_at(context, builder, kind, array, at, count), align=kind.dtype.bitwidth // 8)
        return builder.fpext(found, ir.VectorType(_NUMBER, count)) if kind.dtype == types.float32 else found

    def _store(context: Any, builder: Any, kind: Any, array: Any, at: Any, numbers: Any) -> None:
        """Store numbers as the array holds them."""
        count = numbers.type.count
        if kind.dtype == types.float32:
            for sign, beyond in ((1.0, ">"), (-1.0, "<")):
                limit = ir.Constant(numbers.type, [sign * LARGEST_32] * count)
                numbers = builder.select(builder.fcmp_ordered(beyond, numbers, limit), limit, numbers)
            numbers = builder.fptrunc(numbers, ir.VectorType(ir.FloatType(), count))
        pointer = _vector_at(context, builder, kind, array, at, count)
        builder.store(numbers, pointer, align=kind.dtype.bitwidth // 8)

    def _shuffled(builder: Any, pair: list[Any], order: list[int]) -> Any:
        """Lanes of two vectors, numbered one after the other, in the given order."""
        return builder.shuffle_vector(*pair, ir.Constant(ir.VectorType(_LANE, len(order)), order))

    def _transposed(builder: Any, rows: Any) -> list[Any]:
        """Four vectors transposed: pairs of them are interleaved, then halves exchanged."""
        low = [_shuffled(builder, rows[n : n + 2], [0, 4, 2, 6]) for n in (0, 2)]
        high = [_shuffled(builder, rows[n : n + 2], [1, 5, 3, 7]) for n in (0, 2)]
        return [_shuffled(builder, pair, order) for order in ([0, 1, 4, 5], [2, 3, 6, 7]) for pair in (low, high)]

    @intrinsic
    def broadcast(_: Any, number: Any) -> Any:
        """The number in all lanes."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            one = builder.insert_element(ir.Constant(_LANES, ir.Undefined), arguments[0], _LANE(0))
            order = ir.Constant(ir.VectorType(_LANE, WIDTH), [0] * WIDTH)
            return builder.shuffle_vector(one, ir.Constant(_LANES, ir.Undefined), order)

        return Four(types.float64), generate

    @intrinsic
    def load_four(_: Any, array: Any, at: Any) -> Any:
        """Four consecutive numbers of an array, from a flat position."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _load(context, builder, signature.args[0], *arguments)

        return Four(array, types.uint64), generate

    @intrinsic
    def store_four(_: Any, array: Any, at: Any, four: Any) -> Any:
        """Store four numbers where `load_four` would read them."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            _store(context, builder, signature.args[0], *arguments)
            return context.get_dummy_value()

        return types.void(array, types.uint64, Four), generate

    @intrinsic
    def load_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The four numbers from each of a, b, c, d on, transposed: the first of each, the second of each, ..."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, data = signature.args[0], arguments[0]
            rows = [_load(context, builder, kind, data, at) for at in arguments[1:]]
            return context.make_tuple(builder, signature.return_type, _transposed(builder, rows))

        return _tuple_of(Four, WIDTH)(array, *[types.uint64] * WIDTH), generate

    @intrinsic
    def store_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> Any:
        """Store columns where `load_columns` would read them."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, data = signature.args[0], arguments[0]
            columns = [builder.extract_value(arguments[5], n) for n in range(WIDTH)]
            for at, row in zip(arguments[1:5], _transposed(builder, columns), strict=True):
                _store(context, builder, kind, data, at, row)
            return context.get_dummy_value()

        return types.void(array, *[types.uint64] * WIDTH, _tuple_of(Four, WIDTH)), generate

    @intrinsic
    def load_two_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any) -> Any:
        """The two numbers from each of a, b, c, d on, transposed."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, data = signature.args[0], arguments[0]
            rows = [_load(context, builder, kind, data, at, 2) for at in arguments[1:]]
            halves = [_shuffled(builder, rows[n : n + 2], [0, 1, 2, 3]) for n in (0, 2)]
            columns = [_shuffled(builder, halves, order) for order in ([0, 2, 4, 6], [1, 3, 5, 7])]
            return context.make_tuple(builder, signature.return_type, columns)

        return _tuple_of(Four, 2)(array, *[types.uint64] * WIDTH), generate

    @intrinsic
    def store_two_columns(_: Any, array: Any, a: Any, b: Any, c: Any, d: Any, columns: Any) -> Any:
        """Store columns where `load_two_columns` would read them."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind, data = signature.args[0], arguments[0]
            columns = [builder.extract_value(arguments[5], n) for n in range(2)]
            transposed = [_shuffled(builder, columns, order) for order in ([0, 4, 2, 6], [1, 5, 3, 7])]
            for n, at in enumerate(arguments[1:5]):
                half = [0, 1] if n < 2 else [2, 3]
                row = _shuffled(builder, [transposed[n % 2]] * 2, half)
                _store(context, builder, kind, data, at, row)
            return context.get_dummy_value()

        return types.void(array, *[types.uint64] * WIDTH, _tuple_of(Four, 2)), generate

    @intrinsic
    def sqrt(_: Any, four: Any) -> Any:
        """The square root of every lane."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "llvm.sqrt.v4f64", *arguments)

        return Four(Four), generate

    @intrinsic
    def absolute(_: Any, four: Any) -> Any:
        """The absolute value of every lane."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "llvm.fabs.v4f64", *arguments)

        return Four(Four), generate

    @intrinsic
    def maximum(_: Any, a: Any, b: Any) -> Any:
        """The larger of a and b in every lane; b where they are equal or one is NaN."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.fcmp_ordered(">", *arguments), *arguments)

        return Four(Four, Four), generate

    @intrinsic
    def minimum(_: Any, a: Any, b: Any) -> Any:
        """The smaller of a and b in every lane; b where they are equal or one is NaN."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.select(builder.fcmp_ordered("<", *arguments), *arguments)

        return Four(Four, Four), generate

    @intrinsic
    def zeros_as_ones(_: Any, four: Any) -> Any:
        """The same numbers, with 1 in place of 0."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            is_zero = builder.fcmp_ordered("==", arguments[0], ir.Constant(_LANES, [0.0] * WIDTH))
            return builder.select(is_zero, ir.Constant(_LANES, [1.0] * WIDTH), arguments[0])

        return Four(Four), generate

    @intrinsic
    def copysign(_: Any, four: Any, like: Any) -> Any:
        """The absolute values of `four` with the signs of `like`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return _call(builder, "llvm.copysign.v4f64", *arguments)

        return Four(Four, Four), generate

    @intrinsic
    def any_at_least(_: Any, four: Any, least: Any) -> Any:
        """Whether any lane is at least as large as that lane of `least`."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            mask = builder.bitcast(builder.fcmp_ordered(">=", *arguments), ir.IntType(WIDTH))
            return builder.icmp_unsigned("!=", mask, ir.IntType(WIDTH)(0))

        return types.boolean(Four, Four), generate

    @intrinsic
    def horizontal_sum(_: Any, four: Any) -> Any:
        """The sum of the lanes: (first + third) + (second + fourth)."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            lanes = [builder.extract_element(arguments[0], _LANE(n)) for n in range(WIDTH)]
            return builder.fadd(builder.fadd(lanes[0], lanes[2]), builder.fadd(lanes[1], lanes[3]))

        return types.float64(Four), generate
