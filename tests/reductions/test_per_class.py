"""A model per class: what is predicted, what is kept, and what cutting a stream changes (nothing)."""

import copy
import io
import pickle
import threading

import numpy as np
import pytest

import weft
from weft.store.digests import FileError


def made(n=300, seed=1, classes=("a", "b", "c")):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(len(classes), 6))
    which = rng.integers(0, len(classes), n)
    X = centres[which] + 0.7 * rng.normal(size=(n, 6))
    return X, [classes[number] for number in which], [f"t{number}" for number in rng.integers(0, 3, n)]


@pytest.mark.parametrize("learner", ["auto", "pa", "mt-ogd"])
def test_it_is_a_model_per_class(learner):
    """Every class's model is the one that learns that class against all others."""
    X, y, task = made()
    model = weft.Multiclass(learner, classes=["a", "b", "c"])
    predicted = model.learn(weft.Stream(X, y, task))
    scores = []
    for number, label in enumerate("abc"):
        alone = weft.Model(learner)
        scores.append(alone.learn(weft.Stream(X, [1 if one == label else -1 for one in y], task)))
        assert alone.to_bytes() == model.models[number].to_bytes()
    assert predicted.tolist() == [("a", "b", "c")[number] for number in np.argmax(scores, axis=0)]
    assert model.tally.total["mistakes"] == sum(one != other for one, other in zip(predicted, y, strict=True))
    assert model.tally["t1"]["events"] == task.count("t1")
    assert model.tally.total["error"] < 0.35


def test_classes_that_come_later():
    """A new class cannot be predicted in the round that brings it; its model begins there."""
    X, y, task = made(60, classes=(3, 7, 12))
    model = weft.Multiclass("mt-ogd")
    predicted = model.learn(weft.Stream(X, y, task))
    order = list(dict.fromkeys(y))
    assert model.classes == order
    assert predicted[0] is None
    seen = set()
    for label, found in zip(y, predicted, strict=True):
        assert found is None or found in seen
        seen.add(label)
    start = y.index(order[2])
    late = weft.Model("mt-ogd")
    late.learn(weft.Stream(X[start:], [1 if one == order[2] else -1 for one in y[start:]], task[start:]))
    assert late.to_bytes() == model.models[2].to_bytes()
    assert model.predict(X, task).dtype.kind == "i"


@pytest.mark.parametrize("form", ["events", "rounds"])
def test_cutting_a_stream_changes_nothing(form):
    X, y, task = made(40)
    rounds = None
    if form == "rounds":
        task, rounds = ["t0", "t1"] * 20, np.repeat(np.arange(20), 2)
        y = [None if i % 7 == 3 else label for i, label in enumerate(y)]
    stream = weft.Stream(X, y, task, rounds)
    whole = weft.Multiclass("mt-ogd")
    expected = whole.learn(stream).tolist()
    for cut in (1, 2, 3, 11, 19):
        model = weft.Multiclass("mt-ogd")
        found = [*model.learn(stream.cut(0, cut)).tolist(), *model.learn(stream.cut(cut, stream.n_rounds)).tolist()]
        model = weft.Multiclass.from_bytes(model.to_bytes())
        assert (found, model.to_bytes()) == (expected, whole.to_bytes())


def test_single_events_are_the_same_events():
    X, y, task = made(30)
    whole, single = weft.Multiclass(), weft.Multiclass()
    expected = whole.learn(weft.Stream([dict(enumerate(row)) for row in X.tolist()], y, task)).tolist()
    found = [single.learn_one(dict(enumerate(row)), *rest) for row, *rest in zip(X.tolist(), y, task, strict=True)]
    assert found == expected
    assert single.to_bytes() == whole.to_bytes()


def test_probabilities():
    X, y, task = made()
    model = weft.Multiclass()
    with pytest.raises(ValueError, match="no class is known yet"):
        model.predict(X, task)
    model.learn(weft.Stream(X, y, task))
    proba = model.predict_proba(X, task)
    assert np.allclose(proba.sum(axis=1), 1.0)
    assert np.array_equal(np.array(model.classes)[proba.argmax(axis=1)], model.predict(X, task))
    own = 1 / (1 + np.exp(-model.score(X, task)))
    assert np.allclose(proba, own / own.sum(axis=1, keepdims=True))
    assert model.predict_one(dict(enumerate(X[0].tolist())), "t0") == model.predict(X[:1], "t0")[0]


def test_files_and_copies(tmp_path):
    X, y, task = made()
    model = weft.Multiclass("pa", C=0.5)
    model.learn(weft.Stream(X, y, task))
    model.save(tmp_path / "m.weft")
    for other in (weft.load(tmp_path / "m.weft"), copy.deepcopy(model), pickle.loads(pickle.dumps(model))):
        assert isinstance(other, weft.Multiclass)
        assert other.to_bytes() == model.to_bytes()
        assert other.classes == model.classes
        assert other.tally.rows() == model.tally.rows()
    with pytest.raises(FileError, match=r"multiclass|classes|format|learner"):
        weft.Model.from_bytes(model.to_bytes())
    weft.Model("pa").save(tmp_path / "one.weft")
    assert isinstance(weft.load(tmp_path / "one.weft"), weft.Model)


@pytest.mark.parametrize(
    "facts",
    [
        {"kind": "classes", "classes": ["a", "a", "c"], "sizes": [0, 0, 0, 0], "tasks": {}},
        {"kind": "classes", "classes": ["a"], "sizes": [8], "tasks": {}},
        {"kind": "classes", "classes": ["a", "b", "c"], "sizes": [10**9] * 4, "tasks": {}},
        {"kind": "classes", "classes": [[], "b", "c"], "sizes": [1] * 4, "tasks": {}},
        {"kind": "classes"},
    ],
)
def test_forged_files(facts):
    X, y, task = made(30)
    model = weft.Multiclass("pa")
    model.learn(weft.Stream(X, y, task))
    out = io.BytesIO()
    model.write_to(out.write, {"reduction": facts})
    with pytest.raises(FileError):
        weft.Multiclass.from_bytes(out.getvalue())


def test_every_flipped_bit_of_a_file_is_noticed():
    model = weft.Multiclass("pa", classes=["a", "b"])
    model.learn_one({"x": 1.0}, "a", "ann")
    data = model.to_bytes()
    for at in range(0, len(data), 7):
        flipped = bytearray(data)
        flipped[at] ^= 1 << at % 8
        with pytest.raises(FileError):
            weft.Multiclass.from_bytes(bytes(flipped))


def test_refusals_leave_nothing_behind():
    model = weft.Multiclass("pa")
    model.learn(weft.Stream([[1.0], [2.0]], ["a", "b"], "ann"))
    before = model.to_bytes()
    for call, message in (
        (lambda: model.learn(weft.Stream([[1.0]], None, "ann")), "has no labels"),
        (lambda: model.learn([[1.0]]), "takes a weft.Stream"),
        (lambda: model.learn(weft.Stream([[1.0]], ["a"], "ann", weight=[2.0])), "takes no weights"),
        (lambda: model.learn(weft.Stream(np.ones((20_000, 1)), np.arange(20_000) / 3, "ann")), "classes"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert model.to_bytes() == before
    for classes in (["a"], ["a", "a"], [None, "a"]):
        with pytest.raises(ValueError, match=r"classes|label"):
            weft.Multiclass(classes=classes)
    with pytest.raises(ValueError, match="does not classify"):
        weft.Multiclass("auto", loss="square")


def test_threads():
    X, y, task = made(120)
    model, errors = weft.Multiclass("pa", classes=["a", "b", "c"]), []
    stream = weft.Stream(X, y, task)

    def work(number):
        try:
            for at in range(number, 120, 4):
                model.learn(stream.cut(at, at + 1))
                model.predict(X[:3], "t0")
        except Exception as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []
    assert model.tally.total["events"] == 120
    assert [one.tally.total["events"] for one in model.models] == [120] * 3
