"""weft.Multiclass: classes of any kind, with tasks; files; cutting a stream anywhere is invisible."""

import numpy as np
import pytest

import weft
from weft.store.digests import FileError

WORDS = ["ant", "bird", "cat", "dog"]


def made(events=600, tasks=3, seed=5):
    rng = np.random.default_rng(seed)
    centres = rng.normal(size=(4, 6)) * 1.5
    which, task = rng.integers(4, size=events), rng.integers(tasks, size=events)
    which[:30] = rng.integers(2, size=30)  # two classes come later
    X = centres[which] + rng.normal(size=(events, 6))
    return X, np.array(WORDS)[which], [f"t{k}" for k in task]


def test_classes_are_learned_and_probabilities_sum_to_one():
    X, y, task = made()
    model = weft.Multiclass()
    issued = model.learn(weft.Stream(X, y, task))
    assert sorted(model.classes) == WORDS
    assert np.mean(issued[300:] != y[300:]) < 0.15
    assert model.tally.total["mistakes"] == np.sum(issued != y)
    chances = model.predict_proba(X, task)
    np.testing.assert_allclose(chances.sum(axis=1), 1.0, rtol=1e-12)
    best = np.array(model.classes)[chances.argmax(axis=1)]
    np.testing.assert_array_equal(model.predict(X, task), best)
    for at in (0, 77):
        row = dict(enumerate(X[at].tolist()))
        assert model.predict_one(row, task=task[at]) == best[at]
        assert model.predict_proba_one(row, task=task[at])[best[at]] == pytest.approx(chances[at].max(), rel=1e-12)


@pytest.mark.parametrize("learner", ["auto", "pa", "mt-ogd"])
def test_cutting_saving_and_single_events_are_invisible(learner, tmp_path):
    X, y, task = made(120)
    whole, cut, one = (weft.Multiclass(learner) for _ in range(3))
    issued = whole.learn(weft.Stream(X, y, task)).tolist()
    pieces = []
    for start, stop in [(0, 1), (1, 40), (40, 41), (41, 120)]:
        pieces += cut.learn(X[start:stop], y[start:stop], task[start:stop]).tolist()
        cut.save(tmp_path / "m.weft")
        cut = weft.load(tmp_path / "m.weft")
        assert isinstance(cut, weft.Multiclass)
    singles = [one.learn_one(row, label, name) for row, label, name in zip(X, y, task, strict=True)]
    assert issued == pieces == singles
    assert issued[0] is None
    assert whole.to_bytes() == cut.to_bytes() == one.to_bytes()


def test_labels_of_other_kinds_and_no_tasks():
    X, y, _ = made(200)
    numbers = [WORDS.index(label) * 10 for label in y]
    model = weft.Multiclass("arow", classes=[0, 10, 20, 30])
    model.learn(X, numbers)
    assert model.classes == [0, 10, 20, 30]
    assert model.predict(X).dtype.kind == "i"
    assert model.tasks == [""]
    with pytest.raises(ValueError, match="not log-odds"):
        model.predict_proba(X)
    mixed = weft.Multiclass("pa")
    for label in ("a", 1, False):
        mixed.learn_one({"x": 1.0}, label)
    assert mixed.classes == ["a", 1, False]


def test_what_is_refused_leaves_no_trace():
    X, y, task = made(50)
    model = weft.Multiclass()
    model.learn(X, y, task)
    before = model.to_bytes()
    for labels in ([None] * 50, [["a"]] * 50):
        with pytest.raises(ValueError, match=r"row 0|label"):
            model.learn(X, labels, task)
    with pytest.raises(ValueError, match="no labels"):
        model.learn(weft.Stream(X, None, task))
    bad = X.copy()
    bad[3, 2] = np.nan
    with pytest.raises(ValueError, match="row 3"):
        model.learn(bad, ["new"] * 50, task)
    assert model.to_bytes() == before
    with pytest.raises(ValueError, match="does not classify"):
        weft.Multiclass(loss="square")
    with pytest.raises(ValueError, match="no class is known yet"):
        weft.Multiclass().predict(X)


def test_damaged_files_are_refused(tmp_path):
    X, y, task = made(50)
    model = weft.Multiclass("pa")
    model.learn(X, y, task)
    data = bytearray(model.to_bytes())
    data[len(data) // 2] ^= 1
    (tmp_path / "m.weft").write_bytes(data)
    with pytest.raises(FileError, match=r"m\.weft"):
        weft.load(tmp_path / "m.weft")
    plain = weft.Model("pa")
    plain.learn_one({"x": 1.0}, 1, task="ann")
    with pytest.raises(FileError, match="does not hold a multiclass"):
        weft.Multiclass.from_bytes(plain.to_bytes())
    with pytest.raises(FileError):
        weft.Model.from_bytes(model.to_bytes())
