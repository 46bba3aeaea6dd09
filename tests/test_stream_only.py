"""Some examples of a stream are the stream of these examples, whatever it was made from."""

import numpy as np
import pytest

import weft

ROWS = [{"b": 1.0, "a": 2.0}, {"c": 1.0, "a": 0.0}, {"a": 1.0, "d": 3.0, "b": 0.0}, {"e": 1.0}]
TASKS, LABELS = ["ann", "bob", "ann", "eve"], [1, -1, 1, -1]


def same(found, expected):
    assert found.data.features == expected.data.features
    for name in ("indptr", "indices", "values"):
        assert np.array_equal(getattr(found.data, name), getattr(expected.data, name)), name
    assert found.tasks == expected.tasks
    assert np.array_equal(found.y, expected.y)
    assert np.array_equal(found.rounds, expected.rounds)
    assert np.array_equal(found.row, expected.row)


@pytest.mark.parametrize("at", [[0, 2], [1, 3], [2], [0, 1, 2, 3], [2, 3]])
def test_dicts_are_numbered_anew(at):
    whole = weft.Stream(ROWS, LABELS, TASKS, weight=[1, 2, 3, 4])
    some = [[values[i] for i in at] for values in (ROWS, LABELS, TASKS)]
    same(whole.only(np.array(at)), weft.Stream(*some))
    assert whole.only(np.array(at)).weight.tolist() == [i + 1.0 for i in at]


def test_pieces_and_other_orders():
    whole = weft.Stream(ROWS, LABELS, TASKS)
    same(whole.cut(1, 4).only(np.array([1])), weft.Stream(ROWS[2:3], [1], ["ann"]))
    turned = whole.take(np.array([3, 2, 1, 0])).only(np.array([1, 3]))
    same(turned, weft.Stream([ROWS[2], ROWS[0]], [1, 1], ["ann", "ann"]))


def test_rounds_and_shared_rows():
    stream = weft.Stream(ROWS, LABELS, TASKS, [0, 0, 1, 1])
    same(stream.only(np.array([1, 2, 3])), weft.Stream(ROWS[1:], LABELS[1:], TASKS[1:], [0, 1, 1]))
    shared = weft.Stream.shared(ROWS[:2], [[1, -1, 1], [1, 1, -1]], ["ann", "bob", "eve"])
    found = shared.only(np.array([1, 4]))
    same(found, weft.Stream(ROWS[:2], [-1, 1], ["bob", "bob"], [0, 1]))


def test_tables_and_frames_keep_their_columns():
    X = np.array([[0.0, 1.0, 0.0], [2.0, 0.0, 0.0]])
    assert weft.Stream(X, [1, -1], ["ann", "bob"]).only(np.array([0])).columns == 3
    pandas = pytest.importorskip("pandas")
    stream = weft.Stream(pandas.DataFrame(X, columns=list("xyz")), [1, -1], ["ann", "bob"])
    assert stream.only(np.array([1])).data.features == ["x", "y", "z"]


def test_records():
    records = [
        {"user": task, "label": y, "body": text}
        for task, y, text in zip(TASKS, LABELS, ["ba", "ca", "ad", "e"], strict=True)
    ]
    schema = weft.Schema(task="user", label="label", text=["body"])
    found = weft.Stream.from_records(records, schema).only(np.array([1, 2]))
    expected = weft.Stream.from_records(records[1:3], schema)
    assert found.data.features == expected.data.features
    assert found.tasks == expected.tasks
