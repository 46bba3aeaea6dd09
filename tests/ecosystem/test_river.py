"""river: its own checks, pipelines and metrics; the same figures as weft's tally."""

import gc
import types
import weakref

import numpy as np
import pytest
from river import base, checks, compose, datasets, evaluate, metrics, preprocessing

import weft
from weft.river import TaskClassifier, TaskRegressor

pytestmark = pytest.mark.xdist_group("river")


@pytest.mark.parametrize(
    "estimator",
    [
        TaskClassifier(), TaskRegressor(), TaskClassifier(learner="mt-ogd"),
    ],
    ids=repr,
)  # fmt: skip
def test_its_own_checks(estimator):
    """All of them, none of them excused."""
    assert estimator._unit_test_skips() == set()
    found = list(checks.yield_checks(estimator))
    assert len(found) > 20
    for check in found:
        check(estimator.clone())


def test_the_order_in_a_dict_does_not_matter():
    """It does for the slots of features, from which low_rank draws."""
    random, given, turned = np.random.default_rng(2), TaskClassifier(), TaskClassifier()
    for x, y in datasets.Phishing().take(200):
        other = {name: x[name] for name in random.permutation(list(x))}
        told = [model.predict_proba_one(one).get(True, 0.5) for model, one in ((given, x), (turned, other))]
        assert told[0] == pytest.approx(told[1], rel=1e-9)
        given.learn_one(x, y)
        turned.learn_one(other, y)


@pytest.mark.parametrize("labels", [(False, True), ("red", "green", "blue")])
def test_memory_is_that_of_what_was_learned(labels):
    """Arrays and names, as they grow; nothing of the compiler."""
    model, before = TaskClassifier(key="user", learner="mt-ogd"), 0
    for count in (10, 100, 1000):
        for i in range(count):
            model.learn_one({"user": f"user {i}", f"feature {i}": 1.0}, labels[i % len(labels)])
        models = model.model_.models if len(labels) > 2 else [model.model_]
        arrays = [part for one in models for part in one.state if isinstance(part, np.ndarray)]
        names = sum(len(f"user {i}") + len(f"feature {i}") for i in range(count))
        least = sum(array.nbytes for array in arrays) + names
        assert max(least, before) < model._raw_memory_usage < 2 * least + 1_000_000 * len(models)
        before = model._raw_memory_usage
    assert not [one for one in reached(model_parts(model)) if type(one).__module__.startswith(("numba", "llvmlite"))]


def model_parts(model):
    found = model.model_
    models = [found] if isinstance(found, weft.Model) else found.models
    return [[one.state, one.vocabulary, one.tally] for one in models]


def reached(root):
    """All objects that river's walk finds."""
    seen, pending = {}, [root]
    while pending:
        pending = [one for one in pending if not isinstance(one, type | types.ModuleType | types.FunctionType)]
        new = [one for one in pending if id(one) not in seen]
        seen |= {id(one): one for one in new}
        pending = gc.get_referents(*new)
    return list(seen.values())


def test_memory_where_the_compiler_remembers_what_is_gone(monkeypatch):
    """river asks every object for its class; a weak reference to a function that is gone has none."""
    model = TaskClassifier(None, "mt-ogd")
    model.learn_one({"a": 1.0}, True)

    def gone():
        pass

    monkeypatch.setattr(model.model_.learner.kernels.learn, "someone", weakref.proxy(gone), raising=False)
    del gone
    gc.collect()
    with pytest.raises(ReferenceError):
        base.Base._raw_memory_usage.fget(model)
    assert 0 < model._raw_memory_usage < 100_000


def test_the_figures_are_those_of_the_tally():
    """Accuracy and log-loss of river, of the same predictions before learning."""
    model, accuracy, loss = TaskClassifier(key="https"), metrics.Accuracy(), metrics.LogLoss()
    evaluate.progressive_val_score(datasets.Phishing(), model, accuracy + loss)
    found = model.model_.tally.total
    assert found["events"] == 1250
    assert accuracy.get() == pytest.approx(1 - found["error"], abs=2 / 1250)  # the first event has no prediction
    assert loss.get() == pytest.approx(found["loss"], rel=2e-3)
    assert set(model.model_.tasks) == {0, "0.5", 1}


def test_the_model_is_that_of_weft():
    expected, model = weft.Model("auto"), TaskClassifier(key="user")
    for i in range(60):
        x = {"user": "ab"[i % 2], "n": i % 7, "country": ("us", "fr")[i % 3 == 0], "flag": i % 5 == 0, "gap": None}
        named = {"n": float(i % 7), f"country={x['country']}": 1.0, "flag": float(x["flag"])}
        expected.learn_one(dict(sorted(named.items())), i % 2 == 0, x["user"])
        model.learn_one(x, i % 2 == 0)
    assert model.model_.to_bytes() == expected.to_bytes()
    assert model.predict_one(x) in (True, False)
    assert model.predict_proba_one(x)[True] == pytest.approx(expected.predict_proba_one(named, x["user"]))


def test_strings_are_classes_as_they_come():
    model = TaskClassifier(key="user")
    assert model.predict_proba_one({"user": "ann", "a": 1}) == {}
    for i in range(90):
        label = ("red", "green", "blue")[i % 3]
        model.learn_one({"user": "ann", label: 1.0}, label)
    assert model.predict_one({"user": "ann", "green": 1.0}) == "green"
    assert set(model.predict_proba_one({"user": "bob", "green": 1.0})) == {"red", "green", "blue"}


@pytest.mark.parametrize("labels", [(0, 1, 2), (1, 2, 3), (-1, 1, 0), (1, "one")])
def test_integers_may_be_more_than_two_classes(labels):
    """The first labels do not say so: what was learned until then is learned again."""
    found, expected = TaskClassifier("user", "mt-ogd"), weft.Multiclass("mt-ogd")
    for i in range(120):
        x, label = {f"f{i % 3}": 1.0}, labels[min(i // 20, i) % len(labels)]
        found.learn_one({**x, "user": "ab"[i % 2]}, label)
        expected.learn_one(x, label, "ab"[i % 2])
    assert found.model_.to_bytes() == expected.to_bytes()
    assert set(found.predict_proba_one({"user": "a", "f0": 1.0})) == set(labels)
    two = TaskClassifier(None, "pa")
    for i in range(1200):
        two.learn_one({"a": 1.0}, i % 2)
    assert isinstance(two.model_, weft.Model)
    with pytest.raises(ValueError, match=r"label 2 is none of the two classes that are learned, \{0, 1\}"):
        two.learn_one({"a": 1.0}, 2)


def test_values_as_they_come():
    """NumPy's types are those of Python; NaN is no feature, as None."""
    given, expected = TaskClassifier("user", "pa"), weft.Model("pa", classes=[False, True])
    given.learn_one({"user": np.True_, "a": np.float32(2), "b": float("nan"), "c": np.str_("x"), "d": None}, np.True_)
    given.learn_one({"user": np.float32(3), "a": np.int8(1)}, np.False_)
    expected.learn_one({"a": 2.0, "c=x": 1.0}, True, 1)
    expected.learn_one({"a": 1.0}, False, 3)
    assert given.model_.tasks == [1, 3]
    assert given.model_.to_bytes() == expected.to_bytes()


def test_a_pipeline_and_a_regressor():
    """Chicks grow, each at a rate of its own."""
    chain = compose.Select("time") | preprocessing.StandardScaler()
    chain = (chain + compose.Select("chick", "diet")) | TaskRegressor(key="chick")
    told = evaluate.progressive_val_score(datasets.ChickWeights(), chain, metrics.MAE()).get()
    pooled = compose.Select("time") | preprocessing.StandardScaler() | TaskRegressor()
    assert told < evaluate.progressive_val_score(datasets.ChickWeights(), pooled, metrics.MAE()).get() < 40


def test_refusals():
    with pytest.raises(ValueError, match="has no feature 'user', which names the task"):
        TaskClassifier(key="user").learn_one({"a": 1.0}, True)
    with pytest.raises(ValueError, match="colour"):
        TaskClassifier(colour=1)
    with pytest.raises(ValueError, match="'user', which names the task, is NaN"):
        TaskClassifier(key="user").learn_one({"user": float("nan")}, True)
    with pytest.raises(ValueError, match=r"feature 'a' is \[1\]; give a number"):
        TaskClassifier().learn_one({"a": [1]}, True)
    with pytest.raises(ValueError, match="label None is not a number"):
        TaskClassifier().learn_one({"a": 1.0}, None)
    with pytest.raises(ValueError, match="label '3' is not a number"):
        TaskRegressor(learner="pa").learn_one({"a": 1.0}, "3")
    with pytest.raises(ValueError, match="TaskRegressor predicts numbers"):
        TaskClassifier(loss="square")
    unlearned = TaskClassifier(key="user")
    with pytest.raises(ValueError, match="has no feature 'user'"):
        unlearned.learn_one({"a": 1.0}, True)
    assert unlearned.predict_proba_one({"user": "ann"}) == {}
    with pytest.raises(ValueError, match="arow with these parameters predicts no numbers"):
        TaskRegressor(learner="arow")
