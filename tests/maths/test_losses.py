"""Losses: values, directions, and the subgradient inequality that the theorems use."""

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from weft.maths.losses import CODES, EPSILON_INSENSITIVE, HINGE, NAMES, UNICLASS, direction, loss_value


def test_names_and_codes_are_inverse():
    assert [CODES[name] for name in ("hinge", "epsilon-insensitive", "uniclass")] == [
        HINGE,
        EPSILON_INSENSITIVE,
        UNICLASS,
    ]
    assert all(CODES[NAMES[code]] == code for code in CODES.values())


@pytest.mark.parametrize(
    ("code", "score", "label", "epsilon", "loss", "factor"),
    [
        (HINGE, 0.25, 1.0, 0.0, 0.75, 1.0),
        (HINGE, 0.25, -1.0, 0.0, 1.25, -1.0),
        (HINGE, 1.0, 1.0, 0.0, 0.0, 1.0),
        (HINGE, 0.0, math.nan, 0.0, 0.0, 0.0),
        (EPSILON_INSENSITIVE, 1.0, 3.0, 0.5, 1.5, 1.0),
        (EPSILON_INSENSITIVE, 1.0, -3.0, 0.5, 3.5, -1.0),
        (EPSILON_INSENSITIVE, 1.0, 1.25, 0.5, 0.0, 1.0),
        (EPSILON_INSENSITIVE, 1.0, 1.0, 0.0, 0.0, 0.0),
        (EPSILON_INSENSITIVE, 1.0, math.nan, 0.5, 0.0, 0.0),
        (UNICLASS, 2.0, math.nan, 0.5, 1.5, 1.0),
        (UNICLASS, 0.25, 0.0, 0.5, 0.0, 1.0),
    ],
)
def test_loss_and_direction(code, score, label, epsilon, loss, factor):
    assert loss_value(code, score, label, epsilon) == loss
    assert direction(code, score, label) == factor


@given(st.sampled_from([HINGE, EPSILON_INSENSITIVE]), st.floats(-5, 5), st.floats(-5, 5), st.booleans())
@settings(deadline=None, max_examples=200)
def test_the_direction_is_minus_a_subgradient_where_there_is_loss(code, score, other, positive):
    label = 1.0 if positive else -1.0
    loss = loss_value(code, score, label, 0.1)
    if loss > 0.0:
        bound = loss - direction(code, score, label) * (other - score)
        assert loss_value(code, other, label, 0.1) >= bound - 1e-12
