"""What cannot be learned is refused: a ValueError that says what, where, and what to do; and no trace."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from scipy import sparse

import weft
from contracts.settings import Setting, short
from contracts.streams import make_events
from weft.learners.catalogue import LEARNERS

NAN, INF = float("nan"), float("inf")


def settled(setting):
    """A model that knows the tasks ann and bob and the features a and b."""
    model = setting.model()
    y = None if setting.target == "point" else [1, -1, 1]
    model.learn(weft.Stream([{"a": 1.0, "b": 2.0}, {"b": -1.0}, {"a": 0.5}], y, ["ann", "bob", "ann"]))
    return model


def refuses(model, attempt: Callable[[], Any], *words: str) -> str:
    """The attempt is a ValueError that says all the words; the model is what it was."""
    before, tasks, features = model.to_bytes(), len(model.tasks), len(model.features)
    with pytest.raises(ValueError) as caught:
        print("not refused:", attempt())
    message = str(caught.value)
    for word in words:
        assert word in message
    assert len(message.split()) > 3
    assert model.to_bytes() == before
    assert (len(model.tasks), len(model.features)) == (tasks, features)
    assert len(model.tally.counts) == tasks
    return message


def label_of(setting):
    return None if setting.target == "point" else 1.0


# --- rows ---------------------------------------------------------------------------------------------------

BAD_VALUES = [
    NAN,
    INF,
    -INF,
    "1",
    "",
    None,
    1j,
    [1.0],
    {"c": 1.0},
    object(),
    b"1",
    10**400,
    np.float64("nan"),
]


@pytest.mark.parametrize("value", BAD_VALUES, ids=short)
@pytest.mark.parametrize("features", [("a", "b"), ("a", "new")], ids=["known", "new"])
@pytest.mark.parametrize("task", ["ann", "eve"])
def test_a_value_in_a_dict(value, features, task):
    model = settled(Setting("pa"))
    good, bad = dict.fromkeys(features, 1.0), {features[0]: 1.0, features[1]: value}
    name = repr(features[1])
    refuses(model, lambda: model.learn_one(bad, 1, task), name)
    refuses(model, lambda: model.predict_one(bad, task), name)
    refuses(model, lambda: model.learn(weft.Stream([good, good, bad], [1, 1, 1], task)), "row 2", name)
    refuses(model, lambda: model.score([good, bad], task), "row 1", name)
    refuses(model, lambda: model.predict([good, bad], task), "row 1", name)


def test_a_value_in_a_dict_for_every_learner(setting):
    model, y = settled(setting), label_of(setting)
    labels = None if y is None else [y, y]
    for bad in ({"a": NAN}, {"a": INF, "c": 1.0}, {"a": "x"}, {"c": None}):
        for task in ("ann", "eve"):
            refuses(model, lambda bad=bad, task=task: model.learn_one(bad, y, task))
            refuses(model, lambda bad=bad, task=task: model.predict_one(bad, task))
            refuses(model, lambda bad=bad, task=task: model.learn(weft.Stream([{"new": 1.0}, bad], labels, task)))


@pytest.mark.parametrize("value", BAD_VALUES, ids=short)
def test_a_value_in_a_dense_row(value):
    model = weft.Model("pa")
    model.learn(weft.Stream([[1.0, 2.0], [0.0, 1.0]], [1, -1], ["ann", "bob"]))
    refuses(model, lambda: model.learn(weft.Stream([[1.0, 2.0], [3.0, value]], [1, 1], "new")), "row 1")
    refuses(model, lambda: model.score([[1.0, 2.0], [3.0, value]], "ann"), "row 1")
    refuses(model, lambda: model.learn_one([1.0, value], 1, "new"), "row 0")
    refuses(model, lambda: model.predict_one([1.0, value], "ann"), "row 0")
    table = np.empty((2, 2), object)
    table[:] = 1.0
    table[1, 0] = value
    refuses(model, lambda: model.score(table, "ann"), "row 1")


@pytest.mark.parametrize("value", [NAN, INF, -INF])
@pytest.mark.parametrize(
    "make", [sparse.csr_array, sparse.csc_array, sparse.coo_array, sparse.csr_matrix, sparse.lil_array]
)
def test_a_value_in_a_sparse_row(value, make):
    model = weft.Model("pa")
    X = np.array([[1.0, 0.0, 2.0], [0.0, 3.0, value]])
    refuses(model, lambda: model.learn(weft.Stream(make(X), [1, 1], "ann")), "row 1", "feature 2")
    refuses(model, lambda: model.score(make(X), "ann"), "row 1", "feature 2")
    refuses(model, lambda: model.learn_one(make(X[1:]), 1, "ann"), "row 0", "feature 2")
    refuses(model, lambda: model.predict_one(make(X[1:]), "ann"), "row 0", "feature 2")


def broken(indices, indptr, data=None):
    """A CSR matrix altered after it was made, as SciPy allows."""
    X = sparse.csr_array(np.ones((2, 3)))
    data = np.ones(len(indices)) if data is None else data
    X.indices, X.indptr, X.data = np.array(indices, np.int32), np.array(indptr, np.int32), data
    return X


BROKEN = {
    "index too large": ([0, 1, 2, 0, 1, 7], [0, 3, 6]),
    "index far too large": ([0, 1, 2, 0, 1, 2_000_000_000], [0, 3, 6]),
    "index negative": ([0, 1, 2, -1, 1, 2], [0, 3, 6]),
    "ends beyond its entries": ([0, 1, 2, 0, 1, 2], [0, 3, 9]),
    "decreasing": ([0, 1, 2, 0, 1, 2], [0, 7, 6]),
    "begins late": ([0, 1, 2, 0, 1, 2], [1, 3, 6]),
    "begins before its entries": ([0, 1, 2, 0, 1, 2], [-1, 3, 6]),
}


@pytest.mark.parametrize("case", BROKEN)
def test_a_broken_sparse_matrix(case):
    """An index that leads outside would corrupt memory inside a kernel."""
    model = weft.Model("pa")
    model.learn(weft.Stream(np.ones((2, 3)), [1, -1], "ann"))
    refuses(model, lambda: model.learn(weft.Stream(broken(*BROKEN[case]), [1, 1], "ann")))
    refuses(model, lambda: model.score(broken(*BROKEN[case]), "ann"))


def test_a_feature_twice():
    model = weft.Model("pa")
    twice = broken([0, 1, 2, 0, 1, 1], [0, 3, 6])
    refuses(model, lambda: model.learn(weft.Stream(twice, [1, 1], "ann")), "row 1", "feature 1", "twice")


def test_a_sparse_vector_is_no_table():
    model = weft.Model("pa")
    vector = sparse.coo_array(np.array([1.0, 0.0, 2.0]))
    refuses(model, lambda: model.score(vector, "ann"), "dimension")
    assert model.learn_one(vector, 1, "ann") == 0.0


def test_more_features_than_can_be_told_apart():
    """Feature 2^32 of one task must not be feature 0 of the next."""
    model = weft.Model("pa")
    model.learn(weft.Stream(np.ones((2, 3)), [1, -1], ["ann", "bob"]))
    wide = sparse.csr_array((np.ones(1), np.array([2**32]), np.array([0, 1])), shape=(1, 2**33))
    refuses(model, lambda: model.learn(weft.Stream(wide, [1], "ann")), "features")


WRONG_TABLES = {
    "None": None,
    "number": 5,
    "text": "abc",
    "bytes": b"abc",
    "one dict": {"a": 1.0},
    "one row": [1.0, 2.0],
    "array of one dimension": np.ones(3),
    "array of three": np.ones((2, 2, 2)),
    "list of three": [[[1.0]], [[2.0]]],
    "ragged": [[1.0, 2.0], [1.0]],
    "ragged inside": [[1.0, 2.0], [1.0, [2.0]]],
    "dict among lists": [[1.0, 2.0], {"a": 1.0, "b": 2.0}],
    "list among dicts": [{"a": 1.0, "b": 2.0}, [1.0, 2.0]],
    "None among rows": [[1.0, 2.0], None],
    "text among rows": [[1.0, 2.0], "ab"],
    "texts": [["1", "2"], ["3", "4"]],
    "text array": np.array([["1", "2"], ["3", "4"]]),
    "dates": np.array([["2020-01-01"], ["2020-01-02"]], "datetime64[D]"),
    "complex": np.ones((2, 2)) * 1j,
    "empty list": [],
    "empty array": np.empty((0, 3)),
    "empty sparse": sparse.csr_array((0, 3)),
    "complex sparse": sparse.csr_array(np.ones((2, 2)) * 1j),
    "generator": (row for row in [[1.0], [2.0]]),
    "set": {1.0, 2.0},
}


@pytest.mark.parametrize("case", WRONG_TABLES)
def test_no_table(case):
    model = settled(Setting("pa"))
    X = WRONG_TABLES[case]
    refuses(model, lambda: model.learn(weft.Stream(X, [1, 1], ["ann", "new"])))
    refuses(model, lambda: model.score(X, "ann"))
    refuses(model, lambda: weft.Stream.shared(X, [[1, 1], [1, 1]], ["ann", "new"]))


@pytest.mark.parametrize(
    "case",
    [
        "ragged",
        "ragged inside",
        "dict among lists",
        "list among dicts",
        "None among rows",
        "text among rows",
        "texts",
        "text array",
    ],
)
def test_no_table_names_the_row(case):
    model = settled(Setting("pa"))
    row = "row 0" if case in ("texts", "text array") else "row 1"
    refuses(model, lambda: model.learn(weft.Stream(WRONG_TABLES[case], [1, 1], ["ann", "new"])), row)


@pytest.mark.parametrize(
    "x",
    [
        None,
        5,
        "ab",
        1.5,
        np.ones((1, 2)),
        np.ones((2, 2)),
        [[1.0, 2.0]],
        [1.0, None],
        ["a"],
        sparse.csr_array(np.ones((2, 2))),
        {1.0: 1.0},
        object(),
        [],
        {"a": "b"},
    ],
    ids=short,
)
def test_no_row(x):
    model = settled(Setting("pa"))
    if isinstance(x, list) and not x:  # a row without columns is a row
        assert model.learn_one(x, 1, "ann") == 0.0
        return
    refuses(model, lambda: model.learn_one(x, 1, "ann"))
    refuses(model, lambda: model.predict_one(x, "ann"))
    refuses(model, lambda: model.learn_one(x, 1, "new"))


# --- labels -------------------------------------------------------------------------------------------------

NO_LABELS = [
    "1",
    "",
    None,
    1j,
    [1],
    object(),
    INF,
    -INF,
    NAN,
    b"1",
    10**400,
    True,
    np.bool_(True),
    np.ones(1),
    np.ones(2),
]


@pytest.mark.parametrize("y", NO_LABELS, ids=short)
@pytest.mark.parametrize("x", [{"a": 1.0}, {"new": 1.0}, [1.0, 2.0]], ids=["known", "new", "dense"])
@pytest.mark.parametrize("loss", ["hinge", "epsilon-insensitive"])
def test_no_label(y, x, loss):
    """One event is refused whether its names are known or new."""
    model = settled(Setting("pa", {"loss": loss}))
    for task in ("ann", "new"):
        refuses(model, lambda task=task: model.learn_one(x, y, task), "label")


@pytest.mark.parametrize("y", [*NO_LABELS[:6], *NO_LABELS[9:11]], ids=short)
def test_no_label_in_a_stream(y):
    model = settled(Setting("pa", {"loss": "epsilon-insensitive"}))
    refuses(model, lambda: model.learn(weft.Stream([[1.0]] * 3, [1.0, -1.0, y], "new")))


@pytest.mark.parametrize("y", [INF, -INF, NAN])
def test_a_label_that_is_not_finite(y, setting):
    model = settled(setting)
    refuses(model, lambda: model.learn(weft.Stream([[1.0]] * 3, [1.0, -1.0, y], "new")), "row 2", "label")
    if not math.isnan(y):
        attempt = lambda: model.learn(weft.Stream([[1.0]] * 2, [1.0, y], ["new", "ann"], rounds=[0, 0]))  # noqa: E731
        refuses(model, attempt, "row 1", "label")


@pytest.mark.parametrize("y", [0.0, 2.0, 0.5, -2.0, 0])
def test_a_label_that_is_no_class(y, setting):
    model = settled(setting)
    if setting.target != "binary":
        assert len(model.learn(weft.Stream([{"a": 1.0}], [y], "eve"))) == 1
        return
    refuses(model, lambda: model.learn(weft.Stream([[1.0]] * 2, [1, y], "new")), "row 1", f"label {y:g}", "-1")
    refuses(model, lambda: model.learn_one({"a": 1.0}, y, "ann"), f"label {y}", "-1")
    refuses(model, lambda: model.learn_one({"new": 1.0}, y, "new"), f"label {y}", "-1")
    refuses(model, lambda: model.learn_one([1.0], y, "new"), f"label {y:g}", "-1")
    if y:
        rounds = {"rounds": [0, 0]}
        refuses(model, lambda: model.learn(weft.Stream([[1.0]] * 2, [1, y], ["new", "ann"], **rounds)), "row 1")
    return


def test_a_label_deep_in_a_stream_names_its_row():
    model = settled(Setting("pa"))
    stream = weft.Stream(np.eye(9), [1, 1, 1, 1, 1, 1, 1, 3, 1], "new")
    message = refuses(model, lambda: model.learn(stream), "row 7", "label 3")
    assert "task" not in message
    shuffled = stream.take(np.arange(9)[::-1])
    refuses(model, lambda: model.learn(shuffled), "row 1:", "label 3")


def test_no_labels_at_all(setting):
    model = settled(setting)
    if setting.target != "point":
        refuses(model, lambda: model.learn(weft.Stream([[1.0]], None, "new")), "labels", "give y")
        refuses(model, lambda: model.learn_one({"a": 1.0}, None, "ann"), "label")
        refuses(model, lambda: model.learn_one({"new": 1.0}, task="ann"), "label")
        refuses(model, lambda: model.learn_one([1.0], None, "ann"), "label")


@pytest.mark.parametrize(
    "y",
    [
        5,
        "ab",
        object(),
        [[1], [1]],
        np.ones((2, 1)),
        [1],
        [1, 1, 1],
        [],
        [1, [1]],
        (1 for _ in "ab"),
        {1.0, -1.0},
        {1: 1, -1: 1},
    ],
    ids=short,
)
def test_labels_of_another_shape(y):
    model = settled(Setting("pa"))
    refuses(model, lambda: model.learn(weft.Stream([[1.0], [2.0]], y, "new")))


def test_labels_of_another_length_say_both():
    model = settled(Setting("pa"))
    message = refuses(model, lambda: model.learn(weft.Stream([[1.0], [2.0]], [1, 1, 1], "new")), "y")
    assert "3" in message
    assert "2" in message


@pytest.mark.parametrize(
    "Y",
    [
        None,
        5,
        [[1, 1]],
        [[1], [1]],
        [1, 1],
        [["a", "b"]] * 2,
        [[1, object()]] * 2,
        [[1, INF]] * 2,
        [[1, None]] * 2,
        [[1, 2]] * 2,
        [[1, 1], [1]],
        np.ones((2, 2, 1)),
        np.ones((2, 2), bool),
    ],
    ids=short,
)
def test_shared_labels(Y):
    model = settled(Setting("pa"))
    refuses(model, lambda: model.learn(weft.Stream.shared([[1.0], [2.0]], Y, ["ann", "new"])))


def test_shared_labels_name_the_row_of_x():
    model = settled(Setting("pa"))
    for bad in (INF, 2.0):
        Y = [[1, 1], [1, 1], [1, bad]]
        refuses(model, lambda Y=Y: model.learn(weft.Stream.shared(np.eye(3), Y, ["ann", "new"])), "row 2", "'new'")


@pytest.mark.parametrize(
    "tasks",
    [[], ["ann"], ["ann", "ann"], ["ann", None], ["ann", 1.5], 2, None, "ab", ["a", "b", "c"]],
    ids=short,
)
def test_shared_tasks(tasks):
    refuses(settled(Setting("pa")), lambda: weft.Stream.shared([[1.0], [2.0]], [[1, 1], [1, 1]], tasks))


# --- tasks and rounds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "task",
    [
        None,
        True,
        1.5,
        object(),
        ["ann"],
        ["ann"] * 3,
        [],
        [None, "ann"],
        ["ann", True],
        [True, False],
        np.array([True, False]),
        np.array([1.0, 2.0]),
        np.array([["ann"], ["bob"]]),
        ["ann", ["bob"]],
        ["ann", {"bob"}],
        [b"ann", b"bob"],
        np.array([b"a", b"b"]),
        [("ann", 1.5), "bob"],
        np.array(5),
        ["ann", float("nan")],
    ],
    ids=short,
)
def test_tasks(task):
    model = settled(Setting("pa"))
    refuses(model, lambda: model.learn(weft.Stream([[1.0], [2.0]], [1, 1], task)), "task")
    refuses(model, lambda: model.score([[1.0], [2.0]], task), "task")


@pytest.mark.parametrize(
    "task", [None, True, 1.5, ["ann"], {"ann"}, b"ann", (), ("ann", ["bob"]), (None,), object()], ids=short
)
def test_the_task_of_one_event(task):
    model = settled(Setting("pa"))
    for x in ({"a": 1.0}, {"new": 1.0}, [1.0]):
        refuses(model, lambda x=x: model.learn_one(x, 1, task), "task")
        refuses(model, lambda x=x: model.predict_one(x, task), "task")


def test_tasks_that_are_large_whole_numbers():
    model = weft.Model("pa")
    names = [2**63 + 5, 2**64 - 1]
    model.learn(weft.Stream([[1.0], [2.0]], [1, 1], np.array(names, np.uint64)))
    assert model.tasks == names


@pytest.mark.parametrize(
    "rounds",
    [
        5,
        "ab",
        object(),
        [0],
        [0, 0, 1, 1],
        [0.0, 0.0, 1.0],
        [True, True, False],
        [None] * 3,
        [[0], [0], [1]],
        ["a", "a", "b"],
        [],
    ],
    ids=short,
)
def test_rounds(rounds):
    model = settled(Setting("pa"))
    tasks = ["ann", "bob", "new"]
    refuses(model, lambda: model.learn(weft.Stream([[1.0]] * 3, [1, 1, 1], tasks, rounds=rounds)), "rounds")


def test_rounds_that_come_back_and_tasks_twice_in_one(setting):
    model, y = settled(setting), [1, 1, 1]
    learn = lambda tasks, rounds: model.learn(weft.Stream([[1.0]] * 3, y, tasks, rounds=rounds))  # noqa: E731
    refuses(model, lambda: learn(["a", "b", "c"], [0, 1, 0]), "row 2", "round 0", "adjacent")
    refuses(model, lambda: learn(["a", "b", "a"], [3, 3, 3]), "0", "2", "'a'", "twice")


# --- calls --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "stream",
    [None, 5, "events", [[1.0]], np.ones((2, 2)), {"a": 1.0}, weft.Stream],
    ids=short,
)
def test_what_is_no_stream(stream, setting):
    model = settled(setting)
    refuses(model, lambda: model.learn(stream), "Stream")


@pytest.mark.parametrize(
    "trace",
    [
        np.zeros((2, 4)),
        np.zeros((3, 3)),
        np.zeros(3),
        [[0.0] * 4] * 3,
        np.zeros((3, 4), int),
        np.zeros((4, 3)).T,
        5,
    ],
    ids=["rows", "columns", "flat", "list", "whole", "transposed", "number"],
)
def test_traces(trace):
    model = settled(Setting("pa"))
    refuses(model, lambda: model.learn(weft.Stream([[1.0]] * 3, [1, 1, 1], "new"), trace=trace), "trace")


def test_a_refused_stream_leaves_the_trace_alone():
    model = settled(Setting("pa"))
    trace = np.full((3, 4), 7.0)
    refuses(model, lambda: model.learn(weft.Stream([[1.0]] * 3, [1, 1, 2], "new"), trace=trace), "row 2")
    assert np.all(trace == 7.0)


@pytest.mark.parametrize(
    "tasks",
    [0, -1, True, 1.5, "ann", ["a", "a"], ["a", None], [1.5], [True], object(), {"a": 1.5}.values()],
    ids=short,
)
def test_declared_tasks(tasks):
    with pytest.raises(ValueError, match="tasks"):
        weft.Model("pa", tasks=tasks)


def test_declared_by_any_whole_number():
    assert weft.Model("pa", tasks=np.int64(3)).tasks == [0, 1, 2]


@pytest.mark.parametrize("learner", [None, 5, "nobody", "", "PA", object(), ["pa"], LEARNERS["pa"]], ids=short)
def test_unknown_learners(learner):
    with pytest.raises(ValueError, match="learner"):
        weft.Model(learner)


def test_unknown_letters(setting):
    known = [p.name for entry in weft.catalogue() if entry.name == setting.name for p in entry.parameters]
    with pytest.raises(ValueError, match="zeta") as caught:
        weft.Model(setting.name, zeta=1)
    assert all(name in str(caught.value) for name in known)


def _wrong_values():
    """Every parameter of the catalogue with values that cannot be meant."""
    for entry in weft.catalogue():
        for parameter in entry.parameters:
            optional = "None" in parameter.allowed
            for value in [
                NAN,
                INF,
                -INF,
                -1,
                -0.5,
                1j,
                b"x",
                [],
                {},
                object(),
                "no such thing",
                "",
                10**400,
                np.ones(2),
                None,
            ]:
                infinite = value == INF and " inf" in parameter.allowed if isinstance(value, float) else False
                if infinite or (value is None and optional):
                    continue
                if not (isinstance(value, dict) and "dict" in parameter.allowed):
                    yield pytest.param(entry.name, parameter, value, id=f"{entry.name}-{parameter.name}-{short(value)}")


@pytest.mark.parametrize(("name", "parameter", "value"), list(_wrong_values()))
def test_wrong_values(name, parameter, value):
    with pytest.raises(ValueError, match=parameter.name) as caught:
        weft.Model(name, **{parameter.name: value})
    assert name in str(caught.value)
    assert parameter.allowed in str(caught.value)


@pytest.mark.parametrize(
    "norm",
    [
        "l0",
        "l0.5",
        "l-1",
        "lnan",
        "0-max",
        "0.5-max",
        "inf-max",
        "k(1,2)",
        "k(1,2,0)",
        "k(0,2,1)",
        "k(1,2,inf)",
        "l",
        "max",
        "l1.2.3",
        "l1e999-max",
        2,
        None,
        True,
        "L 2 x",
        ("l2",),
    ],
    ids=short,
)
def test_norms(norm):
    with pytest.raises(ValueError, match=r"norm=.*3-max"):
        weft.Model("implicit", norm=norm)


KERNELS = [
    "rbf",
    "",
    5,
    True,
    [],
    ("linear",),
    {"name": "rbf"},
    {"name": []},
    {"name": None},
    {"degree": 0},
    {"degree": 1.5},
    {"degree": True},
    {"degree": 10**30},
    {"gamma": 0},
    {"gamma": -1},
    {"gamma": NAN},
    {"gamma": "1"},
    {"gamma": 10**400},
    {"coef0": -1},
    {"coef0": INF},
    {"normalize": 1},
    {"sigma": 1.0},
    {1: 2},
    {"name": "poly", "degree": None},
]


@pytest.mark.parametrize("kernel", KERNELS, ids=short)
def test_kernels(kernel):
    with pytest.raises(ValueError, match="kernel="):
        weft.Model("implicit", kernel=kernel)


def test_kernels_of_points():
    with pytest.raises(ValueError, match="kernel"):
        weft.Model("implicit", loss="uniclass", kernel="linear")


def test_a_refused_stream_leaves_no_trace_even_at_its_end(setting):
    """Atomic per call: a fault in the last row undoes nothing, since nothing was done."""
    events = make_events(setting.target, "single", "named", seed=21)
    model = setting.model()
    model.learn(events.piece(0, 20).stream())
    rows, tasks = [*events.table(), {"f0": NAN, "f99": 1.0}], [*events.tasks, "new"]
    y = None if setting.target == "point" else [*events.labels, 1.0]
    refuses(model, lambda: model.learn(weft.Stream(rows, y, tasks)), f"row {len(events.rows)}", "'f0'")
