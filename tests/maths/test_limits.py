"""No step is longer than LONGEST, and shorter ones keep their bits."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from weft.maths.limits import LONGEST, cut

steps = st.floats(-1e250, 1e250)
squares = st.floats(1e-300, 1e300)


@given(steps, squares)
def test_a_step_is_cut_to_its_length(step, square):
    found = cut(step, square)
    length = abs(step) * math.sqrt(square)
    if length <= LONGEST * (1 - 1e-12):
        assert found == step
    else:
        assert abs(found) * math.sqrt(square) == pytest.approx(min(length, LONGEST), rel=1e-9)
        assert math.copysign(1.0, found) == math.copysign(1.0, step)


@pytest.mark.parametrize(("step", "square"), [(math.inf, 1e-300), (-math.inf, 1e300), (1e308, 1e300)])
def test_what_overflows_is_cut(step, square):
    assert abs(cut(step, square)) == LONGEST / math.sqrt(square)
    assert np.sign(cut(step, square)) == np.sign(step)


def test_a_row_of_zeros_has_no_step_to_cut():
    assert cut(2e100, 0.0) == 2e100
