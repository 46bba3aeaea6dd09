"""Many arrays behind one pointer, for compiled code made of several functions.

A compiled function that takes a tuple of arrays is passed every word of every array, seven words each: three hundred
for a state, a batch and scratch space, at every call. A bundle is the address of such a tuple on the stack of the
function that packed it. A function that opens it reads only the words that it uses.

A bundle does not keep its arrays alive, and Numba frees an array after its last use. A function that allocates arrays
and packs them must use them, or call `hold`, when the bundle is no longer needed.

For type checkers a `Bundle[Content]` holds a tuple of the class `Content`.
"""

from typing import TYPE_CHECKING, Any, Generic, TypeVar

from weft.compiled.jit import PLAIN

Content = TypeVar("Content")


class Bundle(Generic[Content]):
    """The type of a bundle in annotations. In plain mode the value is the tuple itself, in compiled code a pointer."""


if TYPE_CHECKING:

    def packed(content: Content) -> Bundle[Content]: ...
    def opened(bundle: Bundle[Content]) -> Content: ...
    def hold(content: Any) -> None: ...

elif PLAIN:

    def packed(content):
        """A pointer to a tuple; it must not outlive the function that packs it."""
        return content

    def opened(bundle):
        """The tuple of a bundle."""
        return bundle

    def hold(content):
        """Keep the arrays of a tuple alive until here."""

else:
    from llvmlite import ir
    from numba import types
    from numba.core import cgutils
    from numba.extending import intrinsic, models, register_model

    class _Bundle(types.Type):
        def __init__(self, content: Any) -> None:
            self.content = content
            super().__init__(name=f"weft.Bundle({content.name})")

    register_model(_Bundle)(models.OpaqueModel)

    @intrinsic
    def packed(_: Any, content: Any) -> Any:
        """A pointer to a tuple; it must not outlive the function that packs it."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return builder.bitcast(cgutils.alloca_once_value(builder, arguments[0]), ir.IntType(8).as_pointer())

        return _Bundle(content)(content), generate

    @intrinsic
    def opened(_: Any, bundle: Any) -> Any:
        """The tuple of a bundle."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            kind = context.get_value_type(signature.return_type)
            return _read(builder, builder.bitcast(arguments[0], kind.as_pointer()), kind)

        return bundle.content(bundle), generate

    @intrinsic
    def hold(_: Any, content: Any) -> Any:
        """Keep the arrays of a tuple alive until here."""

        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            return context.get_dummy_value()

        return types.void(content), generate

    def _read(builder: Any, pointer: Any, kind: Any) -> Any:
        """Load word by word, so that words which are not used are not read."""
        if not isinstance(kind, ir.Aggregate):
            return builder.load(pointer)
        value = ir.Constant(kind, ir.Undefined)
        for n in range(len(kind)):
            field = _read(builder, builder.gep(pointer, [ir.IntType(32)(0), ir.IntType(32)(n)]), kind.elements[n])
            value = builder.insert_value(value, field, n)
        return value
