"""Code matrices: their shapes, distances and decoding."""

from itertools import combinations

import numpy as np
import pytest

from weft.reductions import code_distance, decode_hamming, exhaustive_code, log2_code, one_vs_rest

# The matrix of Sec. 8.2 as its definition gives it: 15 columns, the all-plus column left out.
PAPER = np.array(
    [
        [+1] * 15,
        [+1] * 7 + [-1] * 8,
        [+1] * 3 + [-1] * 4 + [+1] * 4 + [-1] * 4,
        [+1, -1, -1, +1, +1, -1, -1, +1, +1, -1, -1, +1, +1, -1, -1],
        [-1, +1, -1, +1, -1, +1, -1, +1, -1, +1, -1, +1, -1, +1, -1],
    ]
)


def nearest_row(M, signs):
    """Decoding, spelled out: count the places that differ, take the first row with the fewest."""
    distances = [sum(int(a != b) for a, b in zip(row, signs, strict=True)) for row in M]
    return distances.index(min(distances))


def test_exhaustive_code_is_the_papers():
    M = exhaustive_code(5)
    assert M.shape == (5, 15)
    assert np.array_equal(M, PAPER)
    assert code_distance(M) == 8


@pytest.mark.parametrize("s", range(2, 13))
def test_exhaustive_code_has_every_useful_column_once(s):
    M = exhaustive_code(s)
    assert M.shape == (s, 2 ** (s - 1) - 1)
    assert np.all(M[0] == 1)
    assert np.all((M == -1).any(axis=0))  # no column of + alone
    assert len(np.unique(M, axis=1).T) == M.shape[1]
    assert code_distance(M) == 2 ** (s - 2)


def test_distance_eight_corrects_any_three_mistakes_and_not_any_four():
    M = exhaustive_code(5)
    wrong_at_four = 0
    for label in range(5):
        for mistakes in range(5):
            patterns = list(combinations(range(15), mistakes))
            signs = np.repeat(M[label][None, :], len(patterns), axis=0)
            for at, pattern in enumerate(patterns):
                signs[at, list(pattern)] *= -1
            decoded = decode_hamming(M, signs)
            if mistakes <= 3:
                assert np.all(decoded == label)
            else:
                wrong_at_four += int(np.sum(decoded != label))
    assert wrong_at_four > 0  # the paper says 4 are corrected: they are not


def test_one_vs_rest():
    M = one_vs_rest(4)
    assert np.array_equal(M, 2 * np.eye(4) - 1)
    assert code_distance(M) == 2


@pytest.mark.parametrize(("s", "bits"), [(1, 1), (2, 1), (3, 2), (4, 2), (5, 3), (8, 3), (9, 4), (1000, 10)])
def test_log2_code_spells_the_number(s, bits):
    M = log2_code(s)
    assert M.shape == (s, bits)
    for number in range(s):
        assert "".join("1" if sign > 0 else "0" for sign in M[number]) == f"{number:0{bits}b}"


def test_unused_words_decode_to_the_nearest_used_one():
    M = log2_code(5)  # 101, 110 and 111 are not used
    words = 2 * (np.arange(8)[:, None] >> np.array([2, 1, 0]) & 1) - 1
    decoded = decode_hamming(M, words)
    assert decoded[:5].tolist() == [0, 1, 2, 3, 4]
    assert decoded.tolist() == [nearest_row(M, word) for word in words]
    assert decoded[5:].tolist() == [1, 2, 3]  # 101 is as near to 001 as to 100: the smaller label


def test_decoding_agrees_with_counting():
    rng = np.random.default_rng(1)
    M = rng.choice([-1, 1], size=(6, 9))
    signs = rng.choice([-1, 1], size=(200, 9))
    assert decode_hamming(M, signs).tolist() == [nearest_row(M, row) for row in signs]


@pytest.mark.parametrize("s", [0, -1, 2.0, True, "3", None])
def test_a_number_of_labels_that_is_none_is_refused(s):
    for code in (one_vs_rest, log2_code, exhaustive_code):
        with pytest.raises(ValueError, match="integer"):
            code(s)


def test_too_large_an_exhaustive_code_says_what_to_do():
    with pytest.raises(ValueError, match=r"13 labels has 2\^12 - 1 columns.*12 labels.*one-vs-rest"):
        exhaustive_code(13)


def test_wrong_codes_and_signs_are_refused():
    with pytest.raises(ValueError, match=r"-1 and \+1 only"):
        code_distance([[0, 1], [1, 1]])
    with pytest.raises(ValueError, match="a row per label"):
        code_distance([1, -1])
    with pytest.raises(ValueError, match="at least two rows"):
        code_distance([[1, -1]])
    with pytest.raises(ValueError, match=r"expected \(n, 3\)"):
        decode_hamming(one_vs_rest(3), [[1, 1]])
    with pytest.raises(ValueError, match=r"-1 and \+1"):
        decode_hamming(one_vs_rest(2), [[0.5, 1]])
