"""The catalogue: every learner by its name, from a name and parameters, to and from JSON."""

import inspect
import math
import re
from collections.abc import Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass, fields, is_dataclass
from difflib import get_close_matches
from importlib import import_module
from typing import Any, Protocol, TypeVar, cast, runtime_checkable

from weft.learner import PARTS, Hooks, Kernels, Learner, Target, Traits, missing_parts
from weft.learners.parameters import Choice, Parameter, parameters_of

PLACES = {
    "perceptron": "single_task.perceptron.Perceptron",
    "pa": "single_task.passive_aggressive.PassiveAggressive",
    "arow": "single_task.arow.Arow",
    "finite-horizon": "shared_loss.learner.FiniteHorizon",
    "infinite-horizon": "shared_loss.learner.InfiniteHorizon",
    "implicit": "shared_loss.learner.Implicit",
    "mt-ogd": "descent.mt_ogd.MtOgd",
    "mt-pnorm": "descent.mt_pnorm.MtPnorm",
    "mt-eg": "descent.mt_eg.MtEg",
    "mt-ftrl": "descent.mt_ftrl.MtFtrl",
    "hedge-mt-ogd": "descent.hedge.HedgeMtOgd",
    "hedge-mt-eg": "descent.hedge.HedgeMtEg",
    "mt-perceptron": "budget.learners.MtPerceptron",
    "mtbprj": "budget.learners.Mtbprj",
    "mtbprj-2": "budget.learners.Mtbprj2",
    "mtrbp": "budget.learners.Mtrbp",
    "mtforg": "budget.learners.Mtforg",
    "osmtl-e": "smoothed.learners.OsmtlE",
    "osmtl-t": "smoothed.learners.OsmtlT",
    "foml": "relations.foml.Foml",
    "omtrl-logdet": "relations.omtrl.OmtrlLogdet",
    "omtrl-vonneumann": "relations.omtrl.OmtrlVonneumann",
    "omtrl-cov": "relations.omtrl.OmtrlCov",
    "romco-nucl": "low_rank.romco.RomcoNucl",
    "romco-logd": "low_rank.romco.RomcoLogd",
    "coml": "collaborative.learners.Coml",
    "cw-col": "collaborative.learners.CwCol",
    "smtl-e": "refit.smtl.SmtlE",
    "smtl-t": "refit.smtl.SmtlT",
    "stl": "refit.machines.Stl",
    "itl": "refit.machines.Itl",
    "shamo": "refit.shamo.Shamo",
    "mtfl": "refit.low_rank.Mtfl",
    "trml": "refit.low_rank.Trml",
    "adaptive": "adaptive.learners.Adaptive",
    "auto": "adaptive.learners.Auto",
}
"""Where every learner of the package lies, as module and class."""

_REGISTERED: dict[str, type] = {}
"""Learners that are defined elsewhere."""

Kind = TypeVar("Kind", bound=type)


class _Shelf(Mapping[str, type]):
    """The learners by their names; one that nobody asks for is not imported, which saves half a second."""

    def __getitem__(self, name: str) -> type:
        if name in _REGISTERED:
            return _REGISTERED[name]
        module, class_name = PLACES[name].rsplit(".", 1)
        found: type = getattr(import_module(f"weft.learners.{module}"), class_name)
        return found

    def __iter__(self) -> Iterator[str]:
        yield from PLACES
        yield from _REGISTERED

    def __len__(self) -> int:
        return len(PLACES) + len(_REGISTERED)

    def __contains__(self, name: object) -> bool:
        return name in PLACES or name in _REGISTERED


LEARNERS = _Shelf()

SPECIAL_CASES = {
    "osgl": 'implicit with norm="l2"',
    "pa-itl, pa-unique": "pa",
    "pa-one, pa-global": "pa with pooled=True",
    "it-ogd": "mt-ogd with b=0",
    "st-ogd": "mt-ogd with b=inf",
    "it-eg": "mt-eg with b=0",
    "st-eg": "mt-eg with b=inf",
}
"""Names from the papers that need no learner of their own."""


@dataclass(frozen=True)
class Entry:
    """One learner as the catalogue describes it."""

    name: str
    summary: str
    paper: str
    parameters: list[Parameter]
    known_as: list[str]
    """Names from the papers that are this learner with certain parameters."""
    advice: str = ""
    """When to take it, as "Take it when ..."; "" if its class does not say."""
    note: str = ""
    """The rest of the docstring of its class, as one paragraph."""


ADVICE = "Take it when "
"""How the paragraph of a class's docstring begins that says when to take the learner."""


def catalogue() -> list[Entry]:
    """Every learner: name, paper, parameters with ranges, defaults and meanings.

    >>> entry = catalogue()[0]
    >>> entry.name, entry.summary
    ('perceptron', 'One Perceptron per task: update on mistakes only.')
    >>> entry.advice
    'Take it when you want the simplest baseline, with nothing to tune.'
    """
    return [_entry(name, cls) for name, cls in LEARNERS.items()]


def _entry(name: str, cls: Any) -> Entry:
    """What a class says of itself: the first line of its docstring, the paragraph of advice, and all the others."""
    summary, *more = inspect.cleandoc(cls.__doc__ or "").splitlines() or [""]
    paragraphs = [" ".join(text.split()) for text in "\n".join(more).split("\n\n")]
    advice = next((text for text in paragraphs if text.startswith(ADVICE)), "")
    note = " ".join(text for text in paragraphs if text and text != advice)
    return Entry(name, summary, cls.paper, parameters_of(cls), known_as(name), advice, note)


def register(kind: Kind) -> Kind:
    """Make a learner that is defined elsewhere known by its `name`: to `weft.Model`, to model files, to the catalogue.

    `kind` is a frozen dataclass with all that `weft.learner.Learner` asks for; its fields are made with
    `weft.learners.parameters.parameter`. Returns the class, so that this is a decorator as well. A newer version of a
    class, from the same module, takes the place of the older one.
    """
    if not isinstance(kind, type):
        raise ValueError(f"{kind!r} is not a class; register the class of a learner")
    lacking = missing_parts(kind)
    if lacking:
        raise ValueError(
            f"{kind.__name__} lacks {', '.join(lacking)}; a learner has {', '.join(PARTS)} (see weft.learner.Learner)"
        )
    if not is_dataclass(kind) or not cast(Any, kind).__dataclass_params__.frozen:
        raise ValueError(f"{kind.__name__} is not a frozen dataclass; write @dataclass(frozen=True) above it")
    for field in fields(kind):
        if "allowed" not in field.metadata:
            raise ValueError(
                f"{kind.__name__}: the field {field.name} has no meaning and no range; make it with "
                "weft.learners.parameters.parameter(default, doc, allowed)"
            )
    _expect_free_name(kind)
    learner = kind()
    for part, expected in (("traits", Traits), ("hooks", Hooks), ("kernels", Kernels)):
        if not isinstance(getattr(learner, part), expected):
            raise ValueError(f"{kind.__name__}: {part} is not a weft.learner.{expected.__name__}")
    _REGISTERED[cast(Any, kind).name] = kind
    return kind


def built_in(learner: Learner) -> bool:
    """Is it one of the library's own learners?"""
    return learner.name in PLACES


def is_known(kind: Any) -> bool:
    """Is there a learner with the name of this class?"""
    return kind.name in LEARNERS


def _expect_free_name(kind: Any) -> None:
    name = kind.name
    if not isinstance(name, str) or not re.fullmatch(r"[\w.+-]+", name):
        raise ValueError(f"{kind.__name__}: the name {name!r} must be letters, digits, and any of - + . _")
    held = _REGISTERED.get(name)
    if held is not None and (held.__module__, held.__qualname__) == (kind.__module__, kind.__qualname__):
        return
    if name in LEARNERS or any(name in names.split(", ") for names in SPECIAL_CASES):
        raise ValueError(f"the name {name!r} is taken already; give {kind.__name__} another one")


def known_as(name: str) -> list[str]:
    """
    >>> known_as("implicit")
    ['osgl is implicit with norm="l2"']
    """
    return [f"{names} is {text}" for names, text in SPECIAL_CASES.items() if text.split()[0] == name]


def build(name: str, parameters: Mapping[str, Any]) -> Learner:
    """The learner of that name; a wrong name or parameter is refused with what is allowed."""
    if not isinstance(name, str) or name not in LEARNERS:
        raise ValueError(
            f"unknown learner {name!r}{_did_you_mean(name, LEARNERS)}; choose one of {', '.join(LEARNERS)}"
        )
    cls = LEARNERS[name]
    known = {field.name: None for field in fields(cls)}
    for parameter in parameters:
        if parameter not in known:
            hint = _did_you_mean(parameter, known)
            raise ValueError(f"{name} has no parameter {parameter!r}{hint}; it takes {', '.join(known) or 'none'}")
    return cast(Learner, cls(**parameters))


def loss_for(name: str, target: Target) -> dict[str, Any]:
    """The first loss that predicts what is wanted, if the learner by itself predicts something else.

    >>> loss_for("pa", "real"), loss_for("mt-ogd", "real"), loss_for("pa", "binary")
    ({'loss': 'epsilon-insensitive'}, {'loss': 'square'}, {})
    """
    if build(name, {}).target == target:
        return {}
    for field in fields(LEARNERS[name]):
        allowed = field.metadata.get("allowed")
        if field.name == "loss" and isinstance(allowed, Choice):
            for loss in allowed.options:
                with suppress(ValueError):
                    if build(name, {"loss": loss}).target == target:
                        return {"loss": loss}
    return {}


def for_numbers(learner: Any, parameters: Mapping[str, Any]) -> dict[str, Any]:
    """Parameters with a loss for numbers, unless one is given; a learner that only classifies is refused.

    >>> for_numbers("auto", {"effort": "fast"})
    {'loss': 'square', 'effort': 'fast'}
    """
    own = loss_for(learner, "real") if isinstance(learner, str) else {}
    found = {**own, **parameters}
    built = as_learner(learner, found)
    if built.target != "real" and own:
        raise ValueError(f"loss={found['loss']!r} of {built.name} predicts no numbers; loss={own['loss']!r} does")
    if built.target != "real":
        raise ValueError(f"{built.name} with these parameters predicts no numbers; auto and mt-ogd do")
    return found


def as_learner(learner: Any, parameters: Mapping[str, Any]) -> Learner:
    """The learner that is meant by a name with parameters, or by a learner that is already built."""
    if isinstance(learner, str):
        return build(learner, parameters)
    if parameters:
        raise ValueError("parameters go with a learner's name; this learner is already built")
    if isinstance(learner, type) or missing_parts(type(learner)):
        raise ValueError(f"{learner!r} is not a learner; give a name of weft.catalogue(), or a learner that is built")
    return cast(Learner, learner)


def _did_you_mean(word: Any, known: Mapping[str, Any]) -> str:
    close = get_close_matches(str(word), list(known), 1)
    special = next((text for names, text in SPECIAL_CASES.items() if str(word) in names.split(", ")), None)
    if special:
        return f" (that is {special})"
    return f" (did you mean {close[0]!r}?)" if close else ""


def to_json(learner: Learner) -> dict[str, Any]:
    """Name and parameters as JSON takes them."""
    return {"name": learner.name, "parameters": parameters_as_json(learner)}


def parameters_as_json(learner: Learner) -> dict[str, Any]:
    """The values of all parameters as JSON takes them."""
    return {field.name: _plain(getattr(learner, field.name)) for field in fields(cast(Any, learner))}


@runtime_checkable
class _Described(Protocol):
    """A value that is more than JSON has, such as a kernel or a graph."""

    def as_json(self) -> Any: ...


def _plain(value: Any) -> Any:
    if isinstance(value, _Described):
        return value.as_json()
    return "inf" if isinstance(value, float) and value == math.inf else value


def from_json(data: Any) -> Learner:
    """The learner that `to_json` described."""
    if not isinstance(data, dict) or not isinstance(data.get("parameters"), dict):
        raise ValueError("the learner's name and parameters are missing")
    name = data.get("name", "")
    if not isinstance(name, str) or name not in LEARNERS:
        raise ValueError(
            f"the learner {name!r} is not known; if it is defined outside of weft, register it with weft.register first"
        )
    return build(name, data["parameters"])
