"""The catalogue: names, parameters, ranges, and learners as JSON."""

import json
import random
from dataclasses import FrozenInstanceError, dataclass, fields
from typing import ClassVar

import pytest

import weft
from contracts.settings import FURTHER, SETTINGS
from weft.learners.catalogue import LEARNERS, SPECIAL_CASES, Entry, _entry, build, from_json, to_json
from weft.maths import kernels, norms

NAMES = [entry.name for entry in weft.catalogue()]


def test_every_entry_says_what_it_is():
    assert len(set(NAMES)) == len(NAMES) == len(LEARNERS)
    for entry in weft.catalogue():
        assert entry.summary
        assert entry.advice.startswith("Take it when ")
        assert entry.advice.endswith(".")
        assert entry.note
        assert any(year in entry.paper for year in map(str, range(1950, 2100)))
        assert [p.name for p in entry.parameters] == [f.name for f in fields(LEARNERS[entry.name])]
        for parameter in entry.parameters:
            assert parameter.doc
            assert parameter.allowed


def test_what_is_told_is_the_docstring_of_the_class():
    @dataclass(frozen=True)
    class Told:
        """What it does.

        One fact, in two
        lines.

        Take it when in doubt,
        or at night.

        Another fact.
        """

        paper: ClassVar[str] = "Nobody 1999"

    entry = _entry("told", Told)
    assert (entry.name, entry.summary, entry.paper) == ("told", "What it does.", "Nobody 1999")
    assert entry.advice == "Take it when in doubt, or at night."
    assert entry.note == "One fact, in two lines. Another fact."
    Told.__doc__ = None
    assert _entry("told", Told) == Entry("told", "", "Nobody 1999", [], [], "", "")


def test_the_contracts_know_no_other_learners():
    assert set(FURTHER) <= set(NAMES)
    assert {setting.name for setting in SETTINGS} == set(NAMES)


@pytest.mark.parametrize("name", NAMES)
def test_every_learner_is_built_by_its_name_alone(name):
    learner = build(name, {})
    assert learner.name == name
    assert build(name, {}) == learner
    assert hash(build(name, {})) == hash(learner)
    for field in fields(learner):
        with pytest.raises(FrozenInstanceError):
            setattr(learner, field.name, None)


@pytest.mark.parametrize("setting", SETTINGS, ids=str)
def test_through_json(setting):
    learner = setting.model().learner
    text = json.dumps(to_json(learner), allow_nan=False)
    assert from_json(json.loads(text)) == learner
    assert json.dumps(to_json(from_json(json.loads(text)))) == text


def draw(rng, parameter):
    """A value that the description of the parameter allows."""
    if "True or False" in parameter.allowed:
        return rng.choice([True, False])
    if "finite number" in parameter.allowed:
        if "<=" in parameter.allowed:
            most = float(parameter.allowed.split("<= ")[1].split()[0])
            return rng.choice([parameter.default, rng.uniform(most / 1.9, most), most])
        values = [parameter.default, rng.uniform(0.1, 5.0), rng.randint(1, 9), 10.0 ** rng.randint(-9, 9)]
        least = float(parameter.allowed.split(">= ")[1].split()[0]) if ">=" in parameter.allowed else 0.0
        return rng.choice([value for value in values if value is None or isinstance(value, str) or value >= least])
    if parameter.allowed.startswith("one of"):
        return rng.choice([word.strip(' "') for word in parameter.allowed.removeprefix("one of ").split(",")])
    if parameter.allowed.startswith("a list of some of"):
        names = parameter.allowed.removeprefix("a list of some of ").removesuffix(", or None").split(", ")
        return rng.choice([None, sorted(rng.sample(names, rng.randint(1, len(names))))])
    if "norm" in parameter.allowed:
        r = rng.uniform(1, 9)
        return rng.choice(
            ["l1", "linf", f"l{r!r}", f"{r!r}-max", f"k({r!r},inf,{rng.uniform(0.01, 5)!r})", norms.Lp(r)]
        )
    if "gaussian" in parameter.allowed:
        poly = {
            "name": "poly",
            "degree": rng.randint(1, 5),
            "gamma": rng.uniform(0.1, 2),
            "normalize": rng.random() < 0.5,
        }
        return rng.choice([None, "linear", "gaussian", poly, kernels.Kernel("poly", degree=4)])
    return parameter.default


def contradiction(parameters):
    """What the refusal says of values that are allowed one by one but not together; None if there are none."""
    if parameters.get("kernel") is not None and parameters.get("loss") == "uniclass":
        return "the uniclass loss has no kernel form"
    experts = parameters.get("experts")
    classifies = next((name for name in ("bayes", "fading") if name in (experts or ())), None)
    if classifies is not None and parameters.get("loss") == "square":
        return f"the expert {classifies} classifies"
    has_second = parameters.get("effort") == "best" if experts is None else "second" in experts
    if parameters.get("second_order") and has_second:
        return "the expert second has the matrix of second_order=True already"
    return None


@pytest.mark.parametrize("entry", weft.catalogue(), ids=NAMES)
def test_random_parameters_through_json(entry):
    rng = random.Random(entry.name)
    built = 0
    joint = build(entry.name, {}).traits.counts_tasks  # valid values may not be valid together
    for _ in range(400 if joint else 60):
        parameters = {p.name: draw(rng, p) for p in entry.parameters if rng.random() < 0.7}
        if reason := contradiction(parameters):
            with pytest.raises(ValueError, match=reason):
                build(entry.name, parameters)
            continue
        try:
            learner = build(entry.name, parameters)
        except ValueError:
            if joint:
                continue
            raise
        assert from_json(json.loads(json.dumps(to_json(learner), allow_nan=False))) == learner
        built += 1
    assert built > (10 if joint else 40)


def test_numbers_become_floats():
    learner = build("pa", {"C": 2, "epsilon": 0})
    assert (type(learner.C), type(learner.epsilon)) == (float, float)
    assert learner == build("pa", {"C": 2.0, "epsilon": 0.0})


def test_unknown_names_list_the_known_ones():
    with pytest.raises(ValueError, match="unknown learner 'implict'") as caught:
        build("implict", {})
    assert "did you mean 'implicit'?" in str(caught.value)
    assert all(name in str(caught.value) for name in NAMES)


@pytest.mark.parametrize("names", SPECIAL_CASES)
def test_names_from_the_papers(names):
    for name in names.split(", "):
        with pytest.raises(ValueError) as caught:
            build(name, {})
        assert SPECIAL_CASES[names] in str(caught.value)
        assert SPECIAL_CASES[names].split()[0] in NAMES


def test_unknown_letters_list_the_known_ones():
    with pytest.raises(ValueError, match="pa has no parameter 'epsilom'") as caught:
        build("pa", {"epsilom": 1.0})
    assert "did you mean 'epsilon'?" in str(caught.value)
    assert "C, variant, loss, epsilon, pooled" in str(caught.value)


@pytest.mark.parametrize("data", [None, [], {}, {"name": "pa"}, {"parameters": {}}, {"name": 5, "parameters": {}}])
def test_json_that_is_no_learner(data):
    with pytest.raises(ValueError):
        from_json(data)
