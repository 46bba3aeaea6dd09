"""What the learners that refit do not take: a sentence each, and nothing is lost."""

import numpy as np
import pytest

import weft
from learners.batch_runs import rows, stream
from weft.store.codec import FileError, decode, encode

BAD = [
    ("smtl-e", "alpha", [-0.1, 1.1, "a", None, float("nan")]),
    ("smtl-t", "alpha", [-0.1, 1.1]),
    ("smtl-e", "lam", [0, -1.0, None]),
    ("smtl-t", "lam", [0, -1.0]),
    ("smtl-e", "reg", [0, -1e-3, float("inf")]),
    ("stl", "reg", [0]),
    ("itl", "reg", [0]),
    ("shamo", "reg", [0]),
    ("shamo", "m", [0, 1.5, -1, "2"]),
    ("shamo", "seed", [-1, 0.5]),
    ("mtfl", "gamma", [0, -1]),
    ("mtfl", "eps", [0, -1e-4]),
    ("trml", "lam", [0, -1]),
    ("trml", "loss", ["hinge", None, 3]),
    *((name, "every", [0, -5, 2.5, None]) for name in ("smtl-e", "smtl-t", "stl", "itl", "shamo", "mtfl", "trml")),
]


@pytest.mark.parametrize(("name", "parameter", "values"), BAD, ids=lambda value: str(value)[:16])
def test_parameters(name, parameter, values):
    for value in values:
        with pytest.raises(ValueError, match=rf"{name}: {parameter}=.* must be "):
            weft.Model(name, **{parameter: value})


def test_fit_is_for_learners_that_refit():
    model = weft.Model("pa")
    with pytest.raises(ValueError, match=r"pa learns as it goes, and has no fit; use model\.learn"):
        model.fit(stream(*rows(0)))
    assert model.tasks == []
    with pytest.raises(ValueError, match=r"weft\.Stream"):
        weft.Model("itl").fit([[1.0]])


def test_more_hypotheses_than_tasks():
    X, y, task = rows(0)
    model = weft.Model("shamo", m=6)
    before = model.to_bytes()
    with pytest.raises(ValueError, match=r"m=6 hypotheses, but 5 tasks have rows; choose m <= 5"):
        model.fit(stream(X, y, task))
    assert model.to_bytes() == before
    scores = model.learn(stream(X, y, task))  # in a stream tasks may still come: one hypothesis for each until then
    assert np.isfinite(scores).all()
    assert 2 < len(np.unique(model.relations(), axis=0)) <= 5


def test_nothing_to_fit():
    X, task = np.eye(4), np.arange(4)
    for name in ("itl", "shamo", "trml"):
        model = weft.Model(name)
        before = model.to_bytes()
        with pytest.raises(ValueError, match=r"no labelled row"):
            model.fit(weft.Stream(X, np.full(4, np.nan), task, np.arange(4)))
        assert model.to_bytes() == before


def test_more_tasks_than_the_matrix_limit():
    model = weft.Model("smtl-e", matrix_limit=8 * 4 * 4)
    X, y, _ = rows(0)
    model.learn(stream(X[:5], y[:5], [0, 1, 2, 3, 0]))
    before = model.to_bytes()
    for attempt in (model.learn, model.fit):
        with pytest.raises(ValueError, match=r"smtl-e keeps a table of 9 x 9 numbers.*matrix_limit=128"):
            attempt(stream(X[:5], y[:5], [4, 5, 6, 7, 8]))
        assert model.to_bytes() == before
    with pytest.raises(ValueError, match=r"matrix_limit"):
        weft.Model("smtl-t", tasks=5, matrix_limit=8 * 4 * 4)


@pytest.mark.parametrize("name", ["smtl-e", "stl", "shamo"])
def test_files_with_rows_that_are_none(name):
    X, y, task = rows(0)
    model = weft.Model(name, every=40)
    model.learn(stream(X, y, task))
    header, arrays = decode(model.to_bytes())
    wrong = {"label": 0.5, "values": np.nan, "ratio": 1.5, "ratios": -0.5, "P": np.nan}
    for array, value in wrong.items():
        if f"state.{array}" in arrays:
            other = arrays[f"state.{array}"].copy()
            other.reshape(-1)[3] = value
            with pytest.raises(FileError, match="state"):
                weft.Model.from_bytes(encode(header, {**arrays, f"state.{array}": other}))
    other = arrays["state.ends"].copy()
    other[3], other[4] = other[4], other[3]
    with pytest.raises(FileError, match="one after the other"):
        weft.Model.from_bytes(encode(header, {**arrays, "state.ends": other}))


@pytest.mark.parametrize("name", ["mtfl", "trml"])
@pytest.mark.parametrize("value", [np.nan, np.inf, 1e300, -1e300])
def test_models_of_a_file_that_no_fit_can_begin_with(name, value):
    """Learning goes on: the models stay, as with rows for which numbers have no digits."""
    X, y, task = rows(0)
    model = weft.Model(name, every=10)
    model.learn(stream(X, y, task))
    header, arrays = decode(model.to_bytes())
    weights = np.full_like(arrays["state.weights"], value)
    forged = weft.Model.from_bytes(encode(header, {**arrays, "state.weights": weights}))
    with np.errstate(all="ignore"):
        forged.learn(stream(X, y, task))
    assert forged.tally.total["events"] == 2 * model.tally.total["events"]
