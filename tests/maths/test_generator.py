"""Draws and states against NumPy's own generator, bit for bit."""

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import weft
from weft.maths.generator import LENGTH, MOST, WORD, integer_below, seeded, valid

HARD = [1, 2, 3, 7, 10, 500, 1 << 16, (1 << 16) + 1, 3 << 29, (3 << 29) + 1, (1 << 30) + 1, MOST - 1, MOST]
"""Bounds at the edges of the method; below 3 << 29 every fourth draw is thrown away."""


def as_numpy(state):
    """The dictionary of `np.random.PCG64.state`."""
    number, increment = (sum(int(limb) << 16 * i for i, limb in enumerate(state[b : b + 8])) for b in (0, 8))
    return {
        "bit_generator": "PCG64",
        "state": {"state": number, "inc": increment},
        "has_uint32": int(state[16]),
        "uinteger": int(state[17]),
    }


def test_many_draws():
    rng = np.random.default_rng(2024)
    order = np.random.default_rng(1)
    bounds = [*order.choice(HARD, 50_000).tolist(), *order.integers(1, 1000, 40_000).tolist()]
    bounds += order.integers(1, MOST, 10_000, endpoint=True).tolist()
    order.shuffle(bounds)
    state = seeded(2024)
    assert len(bounds) == 100_000
    assert [integer_below(state, n) for n in bounds] == [int(rng.integers(n)) for n in bounds]
    assert as_numpy(state) == rng.bit_generator.state
    assert valid(state)


@given(st.integers(0, 2**128 - 1), st.lists(st.one_of(st.sampled_from(HARD), st.integers(1, MOST)), max_size=30))
@settings(deadline=None, max_examples=200)
def test_any_seed(seed, bounds):
    rng = np.random.default_rng(seed)
    state = seeded(seed)
    assert as_numpy(state) == rng.bit_generator.state
    for n in bounds:
        assert integer_below(state, n) == rng.integers(n)
        assert as_numpy(state) == rng.bit_generator.state
        assert valid(state)


def test_every_small_seed():
    for seed in range(300):
        rng, state = np.random.default_rng(seed), seeded(seed)
        drawn = [integer_below(state, 1 + (seed + i) % 37) for i in range(25)]
        assert drawn == [int(rng.integers(1 + (seed + i) % 37)) for i in range(25)]


def test_one_needs_no_draw():
    state = seeded(3)
    integer_below(state, 5)
    before = state.copy()
    assert [integer_below(state, 1) for _ in range(10)] == [0] * 10
    np.testing.assert_array_equal(state, before)


@pytest.mark.parametrize("drawn", [0, 1, 2, 7, 100])
def test_a_state_goes_on_where_it_was_left(drawn):
    """Also with half of a draw kept, and in NumPy's own generator."""
    state = seeded(11)
    for i in range(drawn):
        integer_below(state, 2 + i)
    again = np.array(state.tolist(), np.int64)
    rng = np.random.default_rng(0)
    rng.bit_generator.state = as_numpy(state)
    rest = [integer_below(state, 1000) for _ in range(50)]
    assert [integer_below(again, 1000) for _ in range(50)] == rest
    assert rng.integers(1000, size=50).tolist() == rest
    np.testing.assert_array_equal(again, state)


def test_all_numbers_are_equally_likely():
    state = seeded(5)
    counts = np.bincount([integer_below(state, 6) for _ in range(60_000)], minlength=6)
    assert len(counts) == 6
    assert ((counts - 10_000) ** 2 / 10_000).sum() < 20.5  # chi^2 with 5 degrees of freedom, 0.1 %


def changed(at, value):
    state = seeded(9)
    state[at] = value
    return state


BAD = {
    "negative limb": changed(0, -1),
    "large limb": changed(7, 1 << 16),
    "large increment": changed(15, 1 << 16),
    "negative increment": changed(8, -1),
    "even increment": changed(8, 2),
    "flag": changed(16, 2),
    "negative flag": changed(16, -1),
    "negative half": changed(17, -1),
    "large half": changed(17, WORD),
    "short": seeded(9)[:-1],
    "long": np.append(seeded(9), 0),
    "empty": np.empty(0, np.int64),
    "square": seeded(9).reshape(3, 6),
    "floats": seeded(9).astype(float),
    "int32": seeded(9).clip(0, 65535).astype(np.int32),
    "unsigned": seeded(9).astype(np.uint64),
    "a list": seeded(9).tolist(),
    "nothing": None,
}


@pytest.mark.parametrize("case", BAD)
def test_what_is_no_state(case):
    assert not valid(BAD[case])


def test_what_is_a_state():
    assert valid(seeded(0))
    for at, value in ((0, 0), (7, 65535), (8, 65535), (16, 1), (17, WORD - 1)):
        assert valid(changed(at, value))
    assert valid(np.array([0] * 8 + [1] + [0] * (LENGTH - 9), np.int64))


def fingerprint() -> list[int]:
    """Draws and states of several seeds, as one list."""
    out: list[int] = []
    for seed in (0, 1, 12345, 2**127 + 5):
        state = seeded(seed)
        out += [int(integer_below(state, n)) for n in HARD * 12]
        out += state.tolist()
    return out


def test_compiled_equals_plain():
    environment = {**os.environ, "WEFT_PLAIN": "1", "PYTHONPATH": str(Path(weft.__file__).parents[1])}
    command = [sys.executable, "-W", "error", __file__]
    plain = subprocess.run(command, env=environment, capture_output=True, text=True)
    assert plain.returncode == 0, plain.stderr
    assert plain.stdout == repr((True, fingerprint())) + "\n"


if __name__ == "__main__":
    from weft.compiled.jit import PLAIN

    print(repr((PLAIN, fingerprint())))
