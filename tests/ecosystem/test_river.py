"""river: its own checks, pipelines and metrics; the same figures as weft's tally."""

import pytest
from river import checks, compose, datasets, evaluate, metrics, preprocessing

import weft
from weft.river import TaskClassifier, TaskRegressor

pytestmark = pytest.mark.xdist_group("river")


@pytest.mark.parametrize("kind", [TaskClassifier, TaskRegressor])
def test_its_own_checks(kind):
    estimator, count = kind(None, "mt-ogd"), 0
    for check in checks.yield_checks(estimator):
        if check.__name__ not in estimator._unit_test_skips():
            check(estimator.clone())
            count += 1
    assert count > 20


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
        expected.learn_one(named, i % 2 == 0, x["user"])
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
