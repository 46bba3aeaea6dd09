"""Compile a kernel, or run the same text as plain Python.

`@kernel` is Numba's `njit` with the settings every kernel of weft shares: no GIL, NumPy's rules for division by
zero, and a disk cache. With `WEFT_PLAIN=1` (or `NUMBA_DISABLE_JIT=1`) the decorator hands the function back as it is,
so that every kernel can be stepped through in a debugger; tests hold both to the same bits.

Numba notices a change in the file of a cached kernel, but not in the helpers that the kernel calls. The cache folder
therefore carries a digest of all files that hold what kernels elsewhere use: functions, constants, and tuples, whose
fields a cached kernel would go on reading in their old order. A test looks for kernels that use anything else.
"""

import hashlib
import os
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, TypeVar, cast

Function = TypeVar("Function", bound=Callable[..., Any])

PLAIN = os.environ.get("WEFT_PLAIN", "0") not in ("", "0") or os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def _shared_sources() -> list[Path]:
    here = Path(__file__).parent
    learners = ("own_parts", "shared_loss", "descent_dense", "descent_mirror", "mirror_table")
    names = ("jit", "batch", "pairs", "state", *(f"learners/{name}" for name in learners))
    return [*(here / f"{name}.py" for name in names), *sorted((here / "geometry").glob("*.py"))]


def _digest() -> str:
    digest = hashlib.blake2b(digest_size=8)
    for path in _shared_sources():
        digest.update(path.read_bytes())
    return digest.hexdigest()


def _user_cache() -> Path:
    """The folder for compiled kernels: `WEFT_CACHE`, or the user's cache folder, or a temporary one."""
    if chosen := os.environ.get("WEFT_CACHE"):
        return Path(chosen)
    if sys.platform == "win32":
        base = Path(os.environ.get("LOCALAPPDATA", str(Path.home())))
    elif sys.platform == "darwin":
        base = Path.home() / "Library" / "Caches"
    else:
        base = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
    return base / "weft"


def _cache_folder() -> str:
    name = f"kernels-{_digest()}"
    for base in (
        _user_cache(),
        Path(tempfile.gettempdir()) / f"weft-{os.getuid() if hasattr(os, 'getuid') else 0}",
    ):
        folder = base / name
        try:
            folder.mkdir(parents=True, exist_ok=True)
        except OSError:
            continue
        if os.access(folder, os.W_OK):
            return str(folder)
    return tempfile.mkdtemp(prefix="weft-kernels-")


if PLAIN:

    def _compile(function: Any, inline: bool) -> Any:
        return function

    class Handle:
        """Plain mode: what the compiled handle is, a thing with `parts`."""

        def __init__(self, parts: tuple[Any, ...]) -> None:
            self.parts = parts

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

else:
    import numba
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.experimental import structref
    from numba.extending import intrinsic

    _FOLDER = _cache_folder()
    _CONFIG: Any = numba.config

    def _compile(function: Any, inline: bool) -> Any:
        # The cache reads CACHE_DIR when it is made; other users of Numba in this process keep their own setting.
        before, _CONFIG.CACHE_DIR = _CONFIG.CACHE_DIR, _FOLDER
        try:
            settings: dict[str, Any] = {"forceinline": inline, "_nrt": not inline}
            return numba.njit(nogil=True, cache=True, error_model="numpy", **settings)(function)
        finally:
            _CONFIG.CACHE_DIR = before

    @structref.register
    class _HandleType(types.StructRef):
        def preprocess_fields(self, fields: Any) -> Any:
            unliteral: Any = types.unliteral
            return tuple((name, unliteral(kind)) for name, kind in fields)

    class Handle(structref.StructRefProxy):  # type: ignore[no-redef]
        """A tuple of arrays behind one pointer: a call then unpacks one argument, not twenty (1 us instead of 4)."""

        def __new__(cls, parts: tuple[Any, ...]) -> Any:
            new: Any = structref.StructRefProxy.__new__
            return new(cls, parts)

    _define: Any = structref.define_proxy
    _define(Handle, _HandleType, ["parts"])

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


def kernel(function: Function) -> Function:
    """Compile `function` on its first call and keep the machine code on disk."""
    return cast(Function, _compile(function, inline=False))


def inner(function: Function) -> Function:
    """The same for the innermost helpers, which allocate nothing: they become part of their callers.

    A call that hands over ten arrays copies some seventy words, and counting their references (atomically) takes longer
    than a short row; a function without allocations needs no counts. It may return numbers, but never an array.
    """
    return cast(Function, _compile(function, inline=True))


def direct(function: Any, *arguments: Any) -> Any:
    """The machine code of a kernel for arguments of these types, which are not looked at again (0.9 us, not 2.1)."""
    return function if PLAIN else function.compile(tuple(map(numba.typeof, arguments)))


@kernel
def make_handle(parts: tuple[Any, ...]) -> Handle:
    """Put a learner's parameters, state and buffers behind one handle."""
    return Handle(parts)
