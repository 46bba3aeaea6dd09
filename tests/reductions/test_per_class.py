"""A model per class: what is predicted, what is kept, and what cutting a stream changes (nothing)."""

import copy
import io
import pickle
import threading

import numpy as np
import pytest

import weft
from weft.store.codec import decode, encode
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


def test_classes_that_only_their_types_tell_apart(tmp_path):
    """What was learned can be saved, copied and declared."""
    model = weft.Multiclass("pa")
    model.learn(weft.Stream([{"a": 1.0}, {"b": 1.0}, {"c": 1.0}], [1, True, "1"], "ann"))
    again = copy.deepcopy(model)
    assert [(type(label), label) for label in again.classes] == [(int, 1), (bool, True), (str, "1")]
    assert again.to_bytes() == model.to_bytes()
    assert weft.Multiclass("pa", classes=[1, True, "1"]).classes == [1, True, "1"]


def forged(change):
    model = weft.Multiclass("pa", classes=["a", "b"])
    model.learn_one({"x": 1.0}, "a", "ann")
    header, arrays = decode(model.to_bytes())
    arrays = {name: array.copy() for name, array in arrays.items()}
    change(header["reduction"], arrays)
    return encode(header, arrays)


def with_regression(facts, arrays):
    data = weft.Model("pa", loss="epsilon-insensitive").to_bytes()
    padded = np.frombuffer(data + bytes(-len(data) % 8), "<i8")
    facts["sizes"] = [len(data)] * 3
    arrays.update({f"model.{at}": padded for at in range(3)})


@pytest.mark.parametrize(
    ("change", "match"),
    [
        (with_regression, "does not classify"),
        (lambda facts, arrays: arrays.update(more=np.zeros(3)), "nothing else"),
        (lambda facts, arrays: arrays.pop("model.2"), "a model for every class"),
        (lambda facts, arrays: facts.update(classes=None), "do not fit"),
        (lambda facts, arrays: facts.update(sizes=7), "do not fit"),
        (lambda facts, arrays: facts.pop("tasks"), "names is missing"),
        *(
            (lambda facts, arrays, value=value: arrays["tally"].fill(value), "tally")
            for value in (np.inf, np.nan, -1.0, 0.5, 1e300, 2.0**53)
        ),
    ],
)
def test_files_that_nothing_wrote(change, match):
    assert weft.Multiclass.from_bytes(forged(lambda facts, arrays: None)).tally.total["events"] == 1
    with pytest.raises(FileError, match=match):
        weft.Multiclass.from_bytes(forged(change))


def test_every_flipped_bit_of_a_file_is_noticed():
    model = weft.Multiclass("pa", classes=["a", "b"])
    model.learn_one({"x": 1.0}, "a", "ann")
    data = model.to_bytes()
    for bit in range(8 * len(data)):
        flipped = bytearray(data)
        flipped[bit // 8] ^= 1 << bit % 8
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


FRAME_SCHEMA = weft.Schema(task="user", label="folder", text=["body"])


def made_records(n=60):
    words = {"x": "invoice due", "y": "party tonight", "z": "free money"}
    return [
        {"user": ["ann", "bob"][i // 3 % 2], "age": i % 5, "body": f"{words[label]} {i % 4}", "folder": label}
        for i, label in zip(range(n), ["x", "y", "z"] * n, strict=False)
    ]


def test_records_frames_and_single_records_are_the_same_events():
    import pandas
    import polars
    import pyarrow

    records = made_records()
    whole = weft.Multiclass(schema=FRAME_SCHEMA)
    expected = whole.learn(records).tolist()
    for source in (pandas.DataFrame(records), polars.DataFrame(records), pyarrow.Table.from_pylist(records)):
        model = weft.Multiclass(schema=FRAME_SCHEMA)
        assert model.learn(source).tolist() == expected
        assert model.to_bytes() == whole.to_bytes()
    single = weft.Multiclass(schema=FRAME_SCHEMA)
    assert [single.learn_one(record) for record in records] == expected
    assert single.to_bytes() == whole.to_bytes()
    assert weft.Multiclass.from_bytes(whole.to_bytes()).schema == FRAME_SCHEMA
    streamed = weft.Multiclass()
    streamed.learn(weft.Stream.from_records(records, FRAME_SCHEMA))
    assert streamed.schema == FRAME_SCHEMA


def test_predictions_of_frames_are_columns_of_their_library():
    import pandas
    import polars

    records = made_records()
    model = weft.Multiclass(schema=FRAME_SCHEMA)
    model.learn(records)
    frame = pandas.DataFrame(records, index=range(100, 160)).drop(columns="folder")
    assert model.predict(frame).tolist() == [record["folder"] for record in records]
    assert model.predict(frame).index.equals(frame.index)
    proba = model.predict_proba(frame)
    assert (list(proba.columns), proba.index.tolist()) == (["x", "y", "z"], frame.index.tolist())
    assert isinstance(model.predict(polars.DataFrame(frame)), polars.Series)
    assert model.predict_proba(polars.DataFrame(frame)).to_numpy().tolist() == proba.to_numpy().tolist()
    one = model.predict_proba_one(frame.iloc[0])
    assert one == dict(zip(model.classes, proba.iloc[0].tolist(), strict=True))
    assert model.predict_one(frame.iloc[0]) == "x"
    assert model.predict_one({"body": "free money"}, task="new") == "z"
    with pytest.warns(UserWarning, match="without any feature that the model knows"):
        model.predict([{"user": "ann", "body": "quux"}])


def test_what_is_predicted_with_scores():
    X, y, task = made(50)
    model, other = weft.Multiclass("mt-ogd", loss="logistic"), weft.Multiclass("mt-ogd", loss="logistic")
    found = model.learn_with_scores(weft.Stream(X, y, task))
    assert found.label.tolist() == other.learn(weft.Stream(X, y, task)).tolist()
    assert np.isnan(found.score[0])
    assert np.isnan(found.probability[0])
    found = model.predict_with_scores(X, task)
    assert found.label.tolist() == model.predict(X, task).tolist()
    assert np.array_equal(found.score, model.score(X, task).max(axis=1))
    assert np.array_equal(found.probability, model.predict_proba(X, task).max(axis=1))


def test_explanations_add_up():
    model = weft.Multiclass(schema=FRAME_SCHEMA)
    records = made_records()
    model.learn(records)
    stream = weft.Stream.from_records(records[:1], FRAME_SCHEMA)
    for number, label in enumerate(model.classes):
        found = model.explain(records[0], label=label)
        assert found.score == pytest.approx(model.score(stream)[0, number])
        assert sum(found.parts.values()) == pytest.approx(found.score)
    assert model.explain(records[0]).score == pytest.approx(model.score(stream).max())
    with pytest.raises(ValueError, match="'q' is not one of the classes; they are 'x', 'y', 'z'"):
        model.explain(records[0], label="q")


def test_forgetting_is_that_of_every_model():
    X, y, task = made()
    model = weft.Multiclass("pa", classes=["a", "b", "c"])
    model.learn(weft.Stream(X, y, task))
    rest = [at for at, name in enumerate(task) if name != "t1"]
    expected = weft.Multiclass("pa", classes=["a", "b", "c"])
    order = [*dict.fromkeys(task)]
    order.remove("t1")
    report = model.forget("t1")
    assert (report.task, report.events) == ("t1", task.count("t1"))
    expected.learn(weft.Stream(X[rest], [y[at] for at in rest], [task[at] for at in rest]))
    assert model.tasks == order
    assert model.tally.rows() == expected.tally.rows()
    assert model.to_bytes() == expected.to_bytes()  # nothing is shared by pa
    with pytest.raises(ValueError, match="does not know the task 't1'"):
        model.forget("t1")
    assert "drop" not in repr(model)


def test_recent_errors_and_tables():
    X, y, task = made()
    model = weft.Multiclass("pa")
    issued = model.learn(weft.Stream(X, y, task))
    decayed, weights = 0.0, 0.0
    for label, found, name in zip(y, issued, task, strict=True):
        if name == "t0":
            decayed, weights = 2.0**-0.01 * decayed + (label != found), 2.0**-0.01 * weights + 1.0
    assert model.tally.recent["t0"]["error"] == pytest.approx(decayed / weights)
    frame = model.tally.to_frame()
    assert frame.loc["t0", "recent_error"] == pytest.approx(decayed / weights)
    assert frame.loc["t2", "mistakes"] == model.tally["t2"]["mistakes"]
    assert "<td>t0</td>" in model._repr_html_()
    assert "<td>t0</td>" in model.tally._repr_html_()


def test_refusals_of_schemas():
    with pytest.raises(ValueError, match="positive='a' is for two classes"):
        weft.Multiclass(schema=weft.Schema(task="user", label="folder", positive="a"))
    model = weft.Multiclass(schema=FRAME_SCHEMA)
    with pytest.raises(ValueError, match=r"has the field 'body'|no field|no record has"):
        model.learn([{"user": "ann", "folder": "x"}])
    model.learn(made_records())
    before = model.to_bytes()
    other = weft.Schema(task="user", label="folder", category=["body"])
    for call, message in (
        (lambda: model.learn(weft.Stream.from_records(made_records(), other)), "another schema"),
        (lambda: model.predict(weft.Stream.from_records(made_records(), other)), "another schema"),
        (lambda: model.learn_one({"user": "ann", "body": "a"}), "the label is missing"),
        (lambda: model.learn_one({"body": "a", "folder": "x"}), "task"),
        (lambda: model.predict(np.ones((2, 3)), "ann"), "without names"),
    ):
        with pytest.raises(ValueError, match=message):
            call()
        assert model.to_bytes() == before


def test_policies_hold_for_all_classes():
    """Also for those to come; a task that is forgotten gives and receives again."""
    X, y, task = made()
    model = weft.Multiclass("mt-ogd")
    model.learn(weft.Stream(X[:3], ["a", "b", "a"], task[:3]))
    model.set_policy("t1", gives=False)
    assert (model.policy("t1").gives, model.policy("t0").gives) == (False, True)
    before = model.predict_proba(X, "t0")
    model.learn(weft.Stream(X[:20], ["a", "b"] * 10, "t1"))
    assert np.array_equal(model.predict_proba(X, "t0"), before)
    model.learn(weft.Stream(X, y, task))
    assert all(not one.policy("t1").gives for one in model.models)
    model = weft.Multiclass.from_bytes(model.to_bytes())
    assert not model.policy("t1").gives
    events = task.count("t1") + 20 + task[:3].count("t1")
    assert model.forget("t1").events == events
    assert model.policy("t1").gives
    assert "t1" not in model.tasks
    assert all("t1" not in one.tasks and one.policies() == {} for one in model.models)
    with pytest.raises(ValueError, match="pa has no policies of tasks"):
        weft.Multiclass("pa").set_policy("ann", gives=False)
