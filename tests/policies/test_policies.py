"""Policies of a model's tasks: setting them in mid-life, files, forgetting, threads, and what a model shows."""

import threading

import numpy as np
import pytest

import weft
from weft.store.codec import encode, parse

RNG = np.random.default_rng(5)
TRUTH = {name: RNG.normal(size=4) + 1.0 for name in ("ann", "bob", "eve")}


def events(count, seed=0, loss="logistic"):
    rng = np.random.default_rng(seed)
    found = []
    for _ in range(count):
        task = str(rng.choice(list(TRUTH)))
        x = rng.normal(size=4)
        score = float(x @ TRUTH[task])
        row = {f"f{j}": float(value) for j, value in enumerate(x)} | {f"only {task}": float(rng.normal())}
        found.append((row, score if loss == "square" else 1 if score > 0 else -1, task))
    return found


def learn(model, found):
    return [model.learn_one(*event) for event in found]


def stream(found):
    return weft.Stream(*map(list, zip(*found, strict=True)))


def test_flags():
    model = weft.Model("adaptive")
    assert model.policy("ann") == (True, True)
    model.set_policy("ann", gives=False)
    assert (model.policy("ann").gives, model.policy("ann").receives) == (False, True)
    assert model.policies() == {"ann": (False, True)}
    assert model.tasks == []
    model.set_policy("ann")
    assert model.policies() == {}
    assert model.to_bytes() == weft.Model("adaptive").to_bytes()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("ann", 0), "gives=0 is neither True nor False"),
        (("ann", True, None), "receives=None is neither True nor False"),
        ((1.5, False), "task 1.5 is a float"),
    ],
)
def test_refusals(arguments, message):
    model = weft.Model("adaptive")
    with pytest.raises(ValueError, match=message):
        model.set_policy(*arguments)
    assert model.policies() == {}


def test_a_graph_names_its_tasks():
    model = weft.Model("mt-ogd", graph=[("ann", "bob")])
    with pytest.raises(ValueError, match="does not name the task 'eve'"):
        model.set_policy("eve", gives=False)


def test_what_was_given_stays_given():
    before, after = events(60, 1), events(60, 2)
    model, twin = weft.Model("adaptive"), weft.Model("adaptive")
    learn(model, before)
    learn(twin, before)
    model.set_policy("bob", gives=False, receives=False)
    learn(model, after)
    learn(twin, [event for event in after if event[2] != "bob"])
    for task in ("ann", "eve", "new"):
        assert model.predict_one({"f0": 1.0, "f2": -2.0}, task) == twin.predict_one({"f0": 1.0, "f2": -2.0}, task)
    alone = weft.Model("adaptive")
    learn(alone, [event for event in after if event[2] == "bob"])
    assert model.predict_one({"f0": 1.0, "only bob": 1.0}, "bob") == alone.predict_one(
        {"f0": 1.0, "only bob": 1.0}, "bob"
    )
    assert model.tally["bob"]["events"] == sum(task == "bob" for _, _, task in before + after)
    model.set_policy("bob")
    assert model.predict_one({"f0": 1.0}, "bob") == twin.predict_one({"f0": 1.0}, "bob")


def test_a_task_may_begin_to_give():
    model = weft.Model("adaptive")
    model.set_policy("ann", gives=False, receives=False)
    learn(model, events(40, 3))
    count = model.tally["ann"]["events"]
    assert model.tasks[-1] == "ann"
    model.set_policy("ann", receives=False)
    learn(model, events(40, 4))
    model.set_policy("ann")
    assert model.tally["ann"]["events"] == count + sum(task == "ann" for _, _, task in events(40, 4))
    assert sorted(model.tasks) == ["ann", "bob", "eve"]
    assert weft.Model.from_bytes(model.to_bytes()).tally.rows() == model.tally.rows()


def test_a_private_model_learns_on_when_only_giving_changes():
    found = events(80, 5)
    model, twin = weft.Model("adaptive"), weft.Model("adaptive")
    for one in (model, twin):
        one.set_policy("eve", gives=False, receives=False)
    learn(twin, found)
    learn(model, found[:40])
    model.set_policy("eve", gives=True, receives=False)
    learn(model, found[40:])
    assert model.predict_one({"f1": 1.0}, "eve") == twin.predict_one({"f1": 1.0}, "eve")


@pytest.mark.parametrize(("gives", "receives"), [(False, False), (False, True), (True, False)])
def test_forgetting_drops_the_flags(gives, receives):
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=gives, receives=receives)
    learn(model, events(50, 6))
    count = model.tally["bob"]["events"]
    forgotten = model.forget("bob")
    assert (forgotten.events, forgotten.weights > 0) == (count, True)
    assert bool(forgotten.remains) == gives
    assert "bob" not in model.tasks
    assert model.policy("bob") == (True, True)
    assert b"bob" not in model.to_bytes().replace(b"only bob", b"")
    assert (b"only bob" in model.to_bytes()) == gives


def test_a_task_that_never_came_can_be_forgotten():
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=False)
    assert model.forget("bob").events == 0
    assert model.policies() == {}
    with pytest.raises(ValueError, match="does not know the task"):
        model.forget("bob")


def test_names_that_were_not_given_stay_private():
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=False)
    learn(model, events(50, 7))
    assert "only bob" not in list(model.vocabulary.features)
    assert model.features[-1] == "only bob"
    weights = model.weights()
    assert weights.shape == (3, len(model.features))
    row = dict(zip(model.tasks, weights, strict=True))
    assert row["bob"][-1] != 0.0
    assert row["ann"][-1] == row["eve"][-1] == 0.0
    assert np.array_equal(model.parts_of("bob").sum(axis=0), row["bob"])
    assert model.parts_of("ann").shape == (3, len(model.features))


@pytest.mark.parametrize("learner", ["auto", "mt-ogd"])
@pytest.mark.parametrize(("gives", "receives"), [(False, False), (False, True), (True, False)])
def test_explanations_add_up(learner, gives, receives):
    model = weft.Model(learner, **({"effort": "fast"} if learner == "auto" else {}))
    model.set_policy("bob", gives=gives, receives=receives)
    x = {"f0": 1.0, "f3": -0.5, "only bob": 1.0}
    for _ in range(2):
        found = model.explain(x, "bob", per_feature=True)
        assert found.score == pytest.approx(model.predict_one(x, "bob"), abs=1e-12)
        assert sum(found.parts.values()) == pytest.approx(found.score, abs=1e-9)
        assert found.parts.get("shared", 0.0) == 0.0
        learn(model, events(60, 8))
    assert ("received" in found.parts) == (receives and not gives)


def test_what_auto_borrows():
    model = weft.Model(effort="fast")
    model.set_policy("ann", receives=False)
    model.set_policy("bob", gives=False)
    learn(model, events(60, 9))
    found = model.borrowing()
    assert found["ann"][1:4] == (0.0, 1.0, 0.0)
    assert sum(found["bob"][1:4]) == pytest.approx(1.0)
    assert found["bob"].pooled > 0.0
    assert set(found) == set(model.tasks)


def test_relations_and_distances_of_mt_ogd():
    model = weft.Model("mt-ogd")
    model.set_policy("ann", gives=False, receives=False)
    learn(model, events(60, 10))
    at = model.tasks.index("ann")
    relations = model.relations()
    assert relations.shape == (3, 3)
    assert not np.any(np.delete(relations[at], at))
    assert not np.any(np.delete(relations[:, at], at))
    assert relations[at, at] == 1.0
    assert model.distances().own.shape == (3,)


def test_classes_by_name():
    found = [(x, "spam" if y > 0 else "ham", task) for x, y, task in events(40, 11)]
    model = weft.Model("adaptive")
    model.set_policy("ann", gives=False, receives=False)
    first = next(at for at, event in enumerate(found) if event[2] == "ann")
    scores = model.learn(stream(found))
    assert model.classes == ("ham", "spam")
    assert model.predict([found[first][0]], "ann")[0] in ("ham", "spam")
    other = weft.Model("adaptive")
    other.set_policy("ann", gives=False, receives=False)
    assert np.array_equal(scores, other.learn(stream(events(40, 11))))


def test_records_with_missing_values():
    rng = np.random.default_rng(12)
    records = [
        {"user": str(rng.choice(["ann", "bob"])), "age": float(rng.normal()), "size": float(rng.normal()), "label": 1.5}
        for _ in range(40)
    ]
    for record in records[10::3]:
        del record["age"]
    schema = weft.Schema(task="user", label="label")
    model, alone = (weft.Model("adaptive", loss="square", schema=schema) for _ in range(2))
    model.set_policy("bob", gives=False, receives=False)
    mine = [record for record in records if record["user"] == "bob"]
    scores = [model.learn_one(record) for record in records]
    expected = [alone.learn_one(record) for record in mine]
    assert [score for score, record in zip(scores, records, strict=True) if record["user"] == "bob"] == expected
    bulk = weft.Model("adaptive", loss="square", schema=schema)
    bulk.set_policy("bob", gives=False, receives=False)
    assert bulk.learn(records).tolist() == scores
    assert bulk.to_bytes() == model.to_bytes()


def test_a_refused_stream_changes_nothing():
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=False)
    learn(model, events(30, 13))
    before = model.to_bytes()
    bad = [*events(20, 14), ({"f0": 1.0}, 7, "bob")]
    with pytest.raises(ValueError, match="row 20: label 7"):
        model.learn(stream(bad))
    with pytest.raises(ValueError, match="not finite"):
        model.learn_one({"f0": np.inf}, 1, "bob")
    assert model.to_bytes() == before


def test_events_of_weight_0_change_nothing():
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=False)
    learn(model, events(30, 15))
    score = model.predict_one({"f0": 1.0}, "bob")
    model.learn_one({"f0": 1.0}, -1, "bob", weight=0.0)
    assert model.predict_one({"f0": 1.0}, "bob") == score


def test_threads():
    found = events(120, 16)
    model, twin = weft.Model("adaptive"), weft.Model("adaptive")
    for one in (model, twin):
        one.set_policy("bob", gives=False, receives=False)
    by_task = {name: [event for event in found if event[2] == name] for name in TRUTH}
    learn(twin, by_task["bob"])
    expected = twin.predict_one({"f0": 1.0}, "bob")
    seen, threads = [], [threading.Thread(target=learn, args=(model, by_task[name])) for name in TRUTH]
    threads.append(threading.Thread(target=lambda: [seen.append(model.score([{"f0": 1.0}], "bob")) for _ in range(50)]))
    threads.append(threading.Thread(target=lambda: [(model.tally.total, model.weights()) for _ in range(50)]))
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert len(seen) == 50
    assert model.predict_one({"f0": 1.0}, "bob") == expected
    assert model.tally.total["events"] == len(found)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda head, arrays: head["policies"][0].update(gives=1), "flags or the private model"),
        (lambda head, arrays: head["policies"][0].update(bytes=10**9), "flags or the private model"),
        (lambda head, arrays: head["policies"][0].update(bytes=8), "policies"),
        (lambda head, arrays: head["policies"].append(head["policies"][0]), "twice"),
        (lambda head, arrays: head.update(policies="ann"), "not a list"),
        (lambda head, arrays: head["policies"][0].update(task=[]), "name"),
        (lambda head, arrays: head["policies"][0].update(task="eve"), "not one of this learner and this task"),
        (lambda head, arrays: head["policies"][0].update(gives=True), "gives and receives"),
        (lambda head, arrays: arrays.pop("policies.mixing"), "mixing"),
        (lambda head, arrays: arrays["policies.mixing"].fill(np.nan), "mixtures"),
        (lambda head, arrays: arrays["policies.tally"].fill(0.5), "tally"),
        (lambda head, arrays: arrays.update({"policies.models": np.zeros(3, np.int64)}), "private model"),
    ],
)
def test_forged_files(change, message):
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=False)
    learn(model, events(20, 17))
    head, arrays = parse(model.to_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    head.pop("arrays", None)
    assert weft.Model.from_bytes(encode(head, arrays)).to_bytes() == model.to_bytes()
    change(head, arrays)
    with pytest.raises(ValueError, match=message):
        weft.Model.from_bytes(encode(head, arrays))


def test_only_learners_with_policies_may_have_them_in_a_file():
    model = weft.Model("adaptive")
    model.set_policy("bob", gives=False)
    head, arrays = parse(model.to_bytes())
    other, others = parse(weft.Model("pa").to_bytes())
    found = {**others, **{name: array for name, array in arrays.items() if name.startswith("policies.")}}
    with pytest.raises(ValueError, match="pa has no policies"):
        weft.Model.from_bytes(encode({**other, "policies": head["policies"]}, found))


def test_rows_without_a_known_feature_are_told_under_a_policy():
    model = weft.Model()
    model.learn(weft.Stream([{"a": 1.0}] * 4, [1, -1, 1, 1], ["ann", "bob", "ann", "bob"]))
    asked = weft.Stream([{"new": 1.0}, {"a": 1.0}, {"own": 1.0}], None, "ann")
    model.set_policy("ann", gives=False)
    assert model.strange_rows(asked).tolist() == [True, False, True]
    model.learn_one({"own": 1.0}, 1, "ann")
    assert model.strange_rows(asked).tolist() == [True, False, False]
