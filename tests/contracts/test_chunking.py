"""Chunking is invisible: a stream cut anywhere between rounds gives the same scores and model, to the bit."""

from itertools import pairwise

import numpy as np
import pytest

from contracts.streams import VARIETIES, make_events, random_edges
from weft.storage import pairs


def learn_pieces(model, pieces):
    return np.concatenate([model.learn(piece) for piece in pieces])


def same(model, scores, other, others):
    assert np.array_equal(scores, others)
    assert model.to_bytes() == other.to_bytes()


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_random_cuts(setting, kind, form, soon_hashed):
    events = make_events(setting.target, kind, form, seed=1)
    whole = setting.model()
    scores = whole.learn(events.stream())
    rng = np.random.default_rng(2)
    for _ in range(3):
        edges = random_edges(rng, events.n_rounds)
        model = setting.model()
        same(model, learn_pieces(model, [piece.stream() for piece in events.cut(edges)]), whole, scores)
        model, stream = setting.model(), events.stream()
        pieces = [stream.cut(a, b) for a, b in pairwise(edges)]
        same(model, learn_pieces(model, pieces), whole, scores)


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_one_round_at_a_time(setting, kind, form, soon_hashed):
    events = make_events(setting.target, kind, form, seed=3)
    whole, model = setting.model(), setting.model()
    scores = whole.learn(events.stream())
    pieces = [piece.stream() for piece in events.cut(range(events.n_rounds + 1))]
    same(model, learn_pieces(model, pieces), whole, scores)


@pytest.mark.parametrize("form", ["dense", "sparse", "named"])
def test_one_event_at_a_time(setting, form, soon_hashed):
    events = make_events(setting.target, "single", form, seed=4)
    whole, model = setting.model(), setting.model()
    scores = whole.learn(events.stream())
    found = []
    for i in range(len(events.rows)):
        x = events.piece(i, i + 1).table()
        y = None if setting.target == "point" else events.labels[i]
        found.append(model.learn_one(x if form == "sparse" else x[0], y, events.tasks[i]))
    same(model, np.array(found), whole, scores)


def test_single_events_and_streams_mixed(setting, layout):
    """Buffers, handles and batches look at the same state, whatever grew in between."""
    events = make_events(setting.target, "single", "named", seed=5, rounds=60)
    whole, model = setting.declared(), setting.declared()
    scores = whole.learn(events.stream())
    rng, found, at, met = np.random.default_rng(6), [], 0, set()
    while at < events.n_rounds:
        size = int(rng.integers(1, 6))
        piece = events.piece(at, at + size)
        if rng.random() < 0.3:
            found += model.learn(piece.stream()).tolist()
        else:
            for x, y, task in zip(piece.table(), piece.labels, piece.tasks, strict=True):
                present = {name for name, value in x.items() if value}
                known = present <= met  # predict drops the others, which kernels, distances and simplices feel
                prior = model.predict_one(x, task)
                found.append(model.learn_one(x, None if setting.target == "point" else y, task))
                assert found[-1] == prior or not known
        met |= {name for x in piece.table() for name, value in x.items() if value}
        at += size
    same(model, np.array(found), whole, scores)


@pytest.mark.parametrize(("kind", "form"), VARIETIES)
def test_hashed_pairs_are_the_table(setting, kind, form, monkeypatch):
    events = make_events(setting.target, kind, form, seed=7)
    found = []
    for limit in (1 << 23, 40, 0):
        monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
        model = setting.model()
        found.append((model.learn(events.stream()).tolist(), model.to_bytes()))
    assert found[0] == found[1] == found[2]


def test_the_switch_happens_in_mid_stream(setting, soon_hashed):
    """Without this the laws above could hold for want of a switch."""
    plan = setting.model().learner.plan
    events = make_events(setting.target, "rounds", "sparse", seed=8)
    model, hashed = setting.model(), []
    for piece in events.cut(range(events.n_rounds + 1)):
        model.learn(piece.stream())
        if hasattr(model.state, "pairs"):
            hashed.append(int(model.state.pairs.layout[pairs.HASHED]))
    if hasattr(model.state, "pairs"):
        assert set(hashed) == ({0} if plan.always_dense else {0, 1})
