"""Entries that are applied together: what comes of them is what comes of each alone, bit for bit."""

import random

import pytest

import weft
from weft.serve import together
from weft.serve.applying import apply
from weft.serve.entries import Feedback, Forget, Gone, Learn, Policy, Remember

LEARNERS = [("auto", {}), ("mt-ogd", {}), ("pa", {}), ("arow", {}), ("pa", {"loss": "epsilon-insensitive"})]


def entries(seed, count, is_real):
    """Mostly plain events, with zeros, without features, with new names; and everything else in between."""
    chance = random.Random(seed)

    def row():
        names = ["a", "b", "", "\u00e9", f"n{chance.randrange(300)}"]
        return {chance.choice(names): chance.choice([0.0, -0.0, 1.0, 1e-300, chance.gauss(0, 1)]) for _ in range(4)}

    def label():
        return chance.gauss(0, 1) if is_real else chance.choice([1.0, -1.0])

    found = []
    for at in range(count):
        task = chance.choice(["ann", "bob", f"t{chance.randrange(40)}"])
        event = Learn(task, row(), label(), id=f"e{at}")
        turn = chance.random()
        others = [
            Learn(("team", 1), row(), label()), Learn(task, row(), label(), 0.5), Learn(task, row(), 7.5),
            Learn(task, {"a": 1e300}, label()), Learn(task, {}, None), Learn(task, {"a": float("inf")}, label()),
            Feedback(f"p{at}", task, row(), label()), Remember(f"r{at}", 0.0, task, row()), Gone(),
            Policy(task, chance.random() < 0.5, chance.random() < 0.5), Forget(task),
        ]  # fmt: skip
        found.append(chance.choice(others) if turn < 0.01 else event)
    return found


@pytest.mark.parametrize(("name", "parameters"), LEARNERS)
def test_together_and_alone(name, parameters, monkeypatch):
    calls = []
    learn = weft.Model.learn
    monkeypatch.setattr(weft.Model, "learn", lambda self, source: calls.append(len(source)) or learn(self, source))
    monkeypatch.setattr(together, "LEAST", 5)
    for seed in range(3):
        alone, model = weft.Model(name, **parameters), weft.Model(name, **parameters)
        given = entries(seed, 900, model.target == "real")
        expected = [apply(alone, entry) for entry in given]
        calls.clear()
        turns, found = together.Turns(), []
        turns._together = 7 + 40 * seed
        while len(found) < len(given):
            found += turns.apply(model, turns.next(model, given, len(found)))
        assert found == expected
        assert model.to_bytes() == alone.to_bytes()
        assert sum(calls) > 100
        assert any(isinstance(outcome, str) for outcome in found)


def test_one_event_that_is_refused_harms_no_other(monkeypatch):
    monkeypatch.setattr(together, "LEAST", 5)
    model = weft.Model("pa")
    model.learn_one({"a": 1.0}, 1.0, "t")
    model.learn_one({"a": 1.0}, -1.0, "t")
    found = together.Turns().apply(model, [Learn("t", {"a": 1.0}, 3.0 if at == 4 else 1.0) for at in range(9)])
    assert [isinstance(outcome, str) for outcome in found] == [at == 4 for at in range(9)]
    assert model.tally.total["events"] == 10
