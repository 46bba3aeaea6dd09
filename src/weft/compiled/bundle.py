"""Many arrays behind one pointer, for kernels made of several functions.

A compiled function that is handed a tuple of arrays gets every word of every one of them, seven an array: of a state, a
batch and scratch, three hundred at every call. A bundle lies on the stack of the kernel that packed it; a function that
opens it reads the words that it uses.

A bundle owns nothing, and Numba lets go of an array after its last use: a kernel that makes arrays of its own and packs
them must use them, or say `hold`, when the bundle has done its work.
"""

from typing import Any

from weft.compiled.jit import PLAIN

if PLAIN:

    def packed(parts: Any) -> Any:
        """A tuple behind a pointer; it must not outlive the function that packs it."""
        return parts

    def opened(bundle: Any) -> Any:
        """The tuple of a bundle."""
        return bundle

    def hold(parts: Any) -> None:
        """Arrays of a tuple live at least until here."""

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, models, register_model

    class _Bundle(types.Type):
        def __init__(self, parts: Any) -> None:
            self.parts = parts
            kind: Any = super()
            kind.__init__(name=f"weft.Bundle({parts.name})")

    _MODELS: Any = models
    _register: Any = register_model
    _allocated: Any = cgutils.alloca_once_value
    _register(_Bundle)(_MODELS.OpaqueModel)

    @intrinsic
    def packed(_: Any, parts: Any) -> Any:
        """A tuple behind a pointer; it must not outlive the function that packs it."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(_allocated(builder, arguments[0]), ir.IntType(8).as_pointer())

        bundle: Any = _Bundle(parts)
        return bundle(parts), generate

    @intrinsic
    def opened(_: Any, bundle: Any) -> Any:
        """The tuple of a bundle."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            return _read(builder, builder.bitcast(arguments[0], kind.as_pointer()), kind)

        return bundle.parts(bundle), generate

    @intrinsic
    def hold(_: Any, parts: Any) -> Any:
        """Arrays of a tuple live at least until here."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.get_dummy_value()

        return types.void(parts), generate

    def _read(builder: Any, pointer: Any, kind: Any) -> Any:
        """Word by word, so that those nobody uses are not read."""
        if not isinstance(kind, ir.Aggregate):
            return builder.load(pointer)
        whole = ir.Constant(kind, ir.Undefined)
        for n in range(len(kind)):
            part = _read(builder, builder.gep(pointer, [ir.IntType(32)(0), ir.IntType(32)(n)]), kind.elements[n])
            whole = builder.insert_value(whole, part, n)
        return whole
