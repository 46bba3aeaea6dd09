"""The columnar encoder of data frames: whatever it takes is what the careful encoder makes of the rows."""

import datetime
from itertools import pairwise

import numpy as np
import pandas
import polars
import pyarrow
import pytest

import weft
from weft.encoding.collected import encode_records
from weft.encoding.frames import encode_frame
from weft.kinds.frames import as_frame, frame_records
from weft.schema import Schema

NUMBERS = [0.0, 1.0, -2.5, None, float("nan"), 1e-200, 7.0]
STRINGS = ["us", "de", "", "  ", None, " us ", "São Tomé", "true", "31", "a=b"]
TEXTS = ["free money free", "Free_MONEY 50%", "größe İstanbul", "", None, "日本 x", "one", "a b a b a"]


def made(rng, rows):
    """Columns of many kinds, drawn at random."""

    def drawn(values):
        return [values[i] for i in rng.integers(len(values), size=rows)]

    found = {"task": drawn(["ann", "bob", "7"]), "label": drawn(["ham", "spam"])}
    for i in range(rng.integers(0, 3)):
        found[f"n{i}"] = drawn(NUMBERS)
    for i in range(rng.integers(0, 3)):
        found[f"c{i}"] = drawn(STRINGS)
    for i in range(rng.integers(0, 2)):
        found[f"t{i}"] = drawn(TEXTS)
    if rng.random() < 0.5:
        found["flag"] = drawn([True, False, None])
    if rng.random() < 0.3:
        found["whole"] = drawn([1, 2, 3])
    names = list(found)
    rng.shuffle(names)
    return {name: found[name] for name in names}


def schema_of(rng, columns):
    free = [name for name in columns if name[0] in "ncfw"]
    category = [name for name in free if rng.random() < 0.3]
    ignore = [name for name in free if name not in category and rng.random() < 0.2]
    text = [name for name in columns if name.startswith("t") and name != "task"]
    return Schema(
        task="task", label="label", text=text, category=category, ignore=ignore, ngrams=int(rng.integers(1, 3))
    )


def in_words(encoded):
    """Everything that an encoder found, with names instead of codes."""
    coded = encoded.coded
    names, bounds = coded.rows.names.names, coded.rows.indptr.tolist()
    rows = [
        [(names[i], v) for i, v in zip(coded.rows.indices[a:b].tolist(), coded.rows.values[a:b].tolist(), strict=True)]
        for a, b in pairwise(bounds)
    ]
    used = {name for row in rows for name, _ in row}
    fields = {names[code] for code in coded.rows.names.fields} & used
    tasks = [coded.task_names.names[code] for code in coded.tasks.tolist()]
    weight = None if encoded.weight is None else encoded.weight.tolist()
    return tasks, rows, fields, labels_in_words(encoded.labels), encoded.rounds, weight, encoded.ids


def labels_in_words(labels):
    if labels is None:
        return None
    values = [None if value != value else value for value in labels.values.tolist()]
    return values if labels.names is None else [None if v is None else repr(labels.names[int(v)]) for v in values]


@pytest.mark.parametrize("library", [pandas.DataFrame, polars.DataFrame, pyarrow.table])
@pytest.mark.parametrize("seed", range(40))
def test_none_is_read_differently(library, seed):
    rng = np.random.default_rng(seed)
    columns = made(rng, int(rng.integers(1, 30)))
    frame, schema = as_frame(library(columns)), schema_of(rng, columns)
    expected = in_words(encode_records(frame_records(frame), schema))
    assert in_words(encode_frame(frame, schema)) == expected


def test_columns_that_only_the_careful_encoder_takes():
    frame = polars.DataFrame({"task": ["a", "b"], "v": [[1, 2], [3]], "geo": [{"lat": 1.0}, {"lat": None}]})
    stream = weft.Stream.from_frame(frame, task="task")
    assert stream.data.features == ["v[0]", "v[1]", "geo.lat"]
    mixed = pandas.DataFrame({"task": ["a", "b", "c"], "m": [1, True, "x"]})
    assert weft.Stream.from_frame(mixed, task="task", category=["m"]).data.features == ["m=1", "m=true", "m=x"]


@pytest.mark.parametrize(
    ("column", "words"),
    [
        ([1.0, np.inf], 'row 1, field "f": inf is too large'),
        ([datetime.datetime(2026, 3, 1)] * 2, 'row 0, field "f": "2026-03-01.* is a date'),
        (["x", "2026-03-01"], 'row 1, field "f": "2026-03-01" is a date'),
        ([b"x", b"y"], 'row 0, field "f"'),
    ],
)
@pytest.mark.parametrize("library", [pandas.DataFrame, polars.DataFrame])
def test_what_is_refused(library, column, words):
    with pytest.raises(ValueError, match=words):
        weft.Stream.from_frame(library({"task": ["a", "b"], "f": column}), task="task")


def test_special_columns():
    frame = pandas.DataFrame(
        {"a": [1, 1, 2], "b": ["x", "y", "x"], "w": [1.0, np.nan, 3.0], "r": [1, 1, 2], "k": [5, 6, 7]}
    )
    stream = weft.Stream.from_frame(frame, task=["a", "b"], weight="w", round="r", id="k")
    assert stream.tasks == [(1, "x"), (1, "y"), (2, "x")]
    assert (stream.weight.tolist(), stream.rounds.tolist(), stream.ids) == ([1.0, 1.0, 3.0], [0, 2, 3], [5, 6, 7])


def test_names_of_columns():
    with pytest.raises(ValueError, match="must be different strings"):
        weft.Stream.from_frame(pandas.DataFrame([[1, 2]]), task="task")
    with pytest.raises(ValueError, match=r"the data frame has no column 'usr'.*did you mean user"):
        weft.Stream.from_frame(pandas.DataFrame({"user": [1]}), task="usr")


def test_predictions_are_columns_of_the_same_library():
    columns = {"u": ["a", "b", "a"], "x": [1.0, -1.0, 1.0], "y": ["n", "p", "n"]}
    model = weft.Model(schema=Schema(task="u", label="y"))
    model.learn(pandas.DataFrame(columns, index=[5, 6, 7]))
    labels = model.predict(pandas.DataFrame(columns, index=[5, 6, 7]))
    assert (labels.index.tolist(), set(labels) <= {"n", "p"}) == ([5, 6, 7], True)
    assert isinstance(model.predict_proba(polars.DataFrame(columns)), polars.Series)
    assert isinstance(model.score(pyarrow.table(columns)), pyarrow.ChunkedArray)
    assert isinstance(model.score([{"u": "a", "x": 1.0}]), np.ndarray)


def test_rows_without_any_known_feature_are_reported():
    model = weft.Model(schema=Schema(task="u", label="y"))
    model.learn([{"u": "a", "x": 1.0, "y": 0}, {"u": "a", "x": 2.0, "y": 1}])
    with pytest.warns(UserWarning, match="row 1 without any feature that the model knows"):
        model.predict([{"u": "a", "x": 1.0}, {"u": "a", "z": 1.0}, {"u": "a"}])


def test_records_beside_streams():
    model = weft.Model("mt-ogd", schema=Schema(task="u", label="y", text=["t"]))
    records = [{"u": "a", "t": "free money", "y": 1}, {"u": "b", "t": "lunch", "y": 0}]
    model.learn(weft.Stream.from_records(records, model.schema))
    assert model.explain(records[0]).score == pytest.approx(model.predict_one(records[0]))
    assert model.predict_one({"t": "free"}, "a") == model.predict_one({"u": "a", "t": "free"})
    with pytest.raises(ValueError, match='field "u": the task is missing'):
        model.predict_one({"t": "free"})
    series = pandas.Series({"u": "a", "t": "free money"})
    assert model.predict_one(series) == model.predict_one(dict(series))


def test_a_model_takes_over_the_schema_of_its_first_stream():
    records = [{"u": "a", "x": 1.0, "y": 0}, {"u": "b", "x": 2.0, "y": 1}]
    model = weft.Model()
    model.learn(weft.Stream.from_records(records, task="u", label="y"))
    assert model.schema == Schema(task="u", label="y")
    with pytest.raises(ValueError, match="another schema than that of the model: weight is w, where none was given"):
        model.learn(weft.Stream.from_records([{**r, "w": 1} for r in records], task="u", label="y", weight="w"))


def test_large_integers_are_the_nearest_floats():
    """pyarrow refuses to convert them unless it is told to."""
    rows = [{"user": "a", "x": 10**18 + 1, "label": 1}, {"user": "a", "x": None, "label": 0}]
    for frame in (pandas.DataFrame(rows), polars.DataFrame(rows), pyarrow.Table.from_pylist(rows)):
        stream = weft.Stream.from_frame(frame, task="user", label="label")
        assert stream.X.toarray().tolist() == [[1e18], [0.0]]


def test_frames_that_are_none():
    lazy = polars.DataFrame({"user": ["a"], "label": [1]}).lazy()
    with pytest.raises(ValueError, match=r"a query that was not run \(polars LazyFrame\); give a data frame, such as"):
        weft.Stream.from_frame(lazy, task="user", label="label")
    twice = pandas.DataFrame([[1, 2, "a", 1]], columns=["x", "x", "user", "label"])
    with pytest.raises(ValueError, match="two columns of the data frame have one name; rename one of them"):
        weft.Stream.from_frame(twice, task="user", label="label")


def test_labels_that_are_not_there_are_told_by_their_field():
    model = weft.Model(schema=weft.Schema(task="user", label="label"))
    model.learn([{"user": "a", "x": 1.0, "label": "no"}, {"user": "a", "x": 2.0, "label": "yes"}])
    with pytest.raises(ValueError, match="no record has a label in the field 'label'; give the records with"):
        model.learn(pandas.DataFrame({"user": ["a"], "x": [1.0]}))
    with pytest.raises(ValueError, match='field "label": the label is missing; write it in the record, or give'):
        model.learn_one({"user": "a", "x": 1.0})
    several = weft.Multiclass(schema=weft.Schema(task="user", label="label"))
    with pytest.raises(ValueError, match="no record has the field 'label'"):
        several.learn([{"user": "a", "x": 1.0}])


def test_a_positive_class_that_is_not_among_the_labels():
    rows = [{"user": "a", "x": 1.0, "label": "ham"}, {"user": "a", "x": 2.0, "label": "spam"}]
    model = weft.Model(schema=weft.Schema(task="user", label="label", positive="spma"))
    with pytest.raises(ValueError, match="positive='spma' is not one of the labels, such as 'ham' and 'spam'"):
        model.learn(rows)
    assert model.tasks == []
