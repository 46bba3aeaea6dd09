"""What is compiled is noticed, and what is loaded is not."""

import pytest

from weft.compiled.compilation import watched
from weft.compiled.jit import PLAIN

pytestmark = pytest.mark.skipif(PLAIN, reason="nothing is compiled in plain mode")


def _new_function():
    import numba

    @numba.njit
    def double(x):
        return 2 * x

    return double


def test_compiling_is_noticed_once():
    told = []
    double = _new_function()
    with watched(lambda: told.append("first")) as compilation:
        double(1)
        double(2)
        double(1.5)  # another type, so another function
    assert compilation.functions == 2
    assert compilation.seconds > 0.0
    assert told == ["first"]


def test_what_was_compiled_before_is_not_noticed():
    double = _new_function()
    double(1)
    with watched(lambda: pytest.fail("nothing is compiled")) as compilation:
        double(2)
    assert compilation.functions == 0
    assert compilation.seconds == 0.0


def test_nothing_is_noticed_after_the_block():
    with watched() as compilation:
        pass
    _new_function()(1)
    assert compilation.functions == 0


def test_a_function_that_cannot_be_compiled_leaves_the_count_in_order():
    import numba

    @numba.njit
    def wrong(x):
        return x.no_such_attribute

    double = _new_function()
    with watched() as compilation:
        with pytest.raises(numba.core.errors.TypingError):
            wrong(1)
        double(1)
    assert compilation.functions == 2
    assert compilation.seconds > 0.0
