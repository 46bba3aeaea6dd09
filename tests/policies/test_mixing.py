"""The mixture of a task that receives without giving: close to the better of both, whatever comes."""

import math

import numpy as np
import pytest

from weft.maths.losses import CODES
from weft.policies.mixing import NUMBERS, PRIOR, SHARE, Mixing
from weft.store.policies import MIXING

LOSS = (CODES["logistic"], 0.0)


def log_loss(score, label):
    return math.log1p(math.exp(-label * score)) if label * score > -700 else -label * score


@pytest.mark.parametrize("seed", range(6))
def test_log_odds_do_no_harm(seed):
    rng = np.random.default_rng(seed)
    mixing, total, parts, cost = Mixing(True), 0.0, np.zeros(2), 0.0
    for n in range(1, 400):
        label = float(rng.choice([-1, 1]))
        right = seed % 3 if n < 200 else (seed + 1) % 3  # who is right changes
        received, own = (float(rng.normal() + 3 * label * (right == who)) for who in (0, 1))
        if seed > 3:
            received, own = -8.0 * label, 8.0 * label  # one is always wrong, and sure
        score = mixing.score(received, own)
        mixing.update(received, own, label, LOSS)
        if n == 1:
            assert score == received
            continue
        total += log_loss(score, label)
        parts += log_loss(received, label), log_loss(own, label)
        cost -= math.log(1.0 - SHARE / (n + 1.0))
        first = 8.5 if seed > 3 else 6.0  # the first event, which only the weights have seen
        assert total <= parts.min() + math.log(1.0 / min(PRIOR)) + cost + first
    assert abs(sum(mixing.weights().values()) - 1.0) < 1e-12


@pytest.mark.parametrize("unit", [1e-6, 1.0, 1e6])
def test_numbers_have_no_unit(unit):
    rng = np.random.default_rng(3)
    y, noise = rng.normal(size=200), rng.normal(size=(2, 200))
    plain, scaled = Mixing(False), Mixing(False)
    loss = (CODES["square"], 0.0)
    for label, received, own in zip(y, y + noise[0], y + 0.3 * noise[1], strict=True):
        a, b = plain.score(received, own), scaled.score(unit * received, unit * own)
        assert b == pytest.approx(unit * a, rel=1e-9, abs=1e-12 * unit)
        plain.update(received, own, label, loss)
        scaled.update(unit * received, unit * own, unit * label, loss)
    assert plain.weights()["received"] < 0.05


@pytest.mark.parametrize("loss", ["square", "absolute"])
def test_numbers_follow_the_better(loss):
    rng = np.random.default_rng(4)
    mixing, sums = Mixing(False), np.zeros(3)
    for n in range(500):
        label = rng.normal()
        received, own = label + rng.normal() * (0.2 if n > 250 else 2.0), label + rng.normal()
        for at, score in enumerate((mixing.score(received, own), received, own)):
            sums[at] += (score - label) ** 2 if loss == "square" else abs(score - label)
        mixing.update(received, own, label, (CODES[loss], 0.0))
    assert sums[0] < min(sums[1:])


def test_extremes_stay_numbers():
    for log_odds, loss in ((True, LOSS), (False, (CODES["square"], 0.0))):
        mixing = Mixing(log_odds)
        for received, own, label in [(1e150, -1e150, 1.0), (-1e150, 1e150, -1.0), (0.0, 0.0, 1.0), (1e150, 0.0, -1.0)]:
            assert math.isfinite(mixing.score(received, own))
            mixing.update(received, own, label, loss)
        assert np.all(np.isfinite(mixing.numbers()))


def test_numbers_of_a_file():
    assert len(Mixing(True).numbers()) == NUMBERS == MIXING
    mixing = Mixing(True)
    for label in (1.0, -1.0, 1.0):
        mixing.update(0.3, -0.2, label, LOSS)
    again = Mixing(True, mixing.numbers())
    assert again.score(0.7, 0.1) == mixing.score(0.7, 0.1)
    assert again.shares() == mixing.shares()


def test_numbers_are_mixed_as_adahedge_says():
    """Components, weights and the stack's share V, step by step, from the definitions."""
    rng = np.random.default_rng(6)
    mixing, L, gap, products, squares = Mixing(False), np.zeros(3), 0.0, 0.0, 0.0
    for n in range(60):
        label = rng.normal() * 3.0
        received, own = label + rng.normal(), label + rng.normal() + 1.0
        V = np.clip(products / (squares * (1.0 + 2.0 / n)), 0.0, 1.0) if squares > 0.0 else 0.0
        components = np.array([(1.0 - V) * received + V * own, own, received])
        eta = math.log(1.0 / min(PRIOR)) / gap if gap > 0.0 else math.inf
        w = np.array(PRIOR) * (np.exp(-eta * (L - L.min())) if gap > 0.0 else L.min() == L)
        w /= w.sum()
        if n:
            assert list(mixing.weights().values()) == pytest.approx(w)
            assert mixing.score(received, own) == pytest.approx(w @ components)
            assert np.dot(mixing.shares(), (received, own)) == pytest.approx(w @ components)
        mixing.update(received, own, label, (CODES["square"], 0.0))
        losses = (components - label) ** 2
        least, mixed = losses.min(), (w @ components - label) ** 2
        ideal = least - (math.log(w @ np.exp(-eta * (losses - least))) / eta if gap > 0.0 else 0.0)
        gap += max(mixed - ideal, 0.0)
        L += losses
        products, squares = products + (own - received) * (label - received), squares + (own - received) ** 2
        assert mixing.numbers()[4] == pytest.approx(gap)
    assert 0.2 < V < 0.8
