"""The catalogue: every learner by its name, from a name and letters, to and from JSON."""

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, fields
from difflib import get_close_matches
from importlib import import_module
from typing import Any, cast

from weft.learner import Learner
from weft.learners.parameters import Parameter, parameters_of

PLACES = {
    "perceptron": "single_task.perceptron.Perceptron",
    "pa": "single_task.passive_aggressive.PassiveAggressive",
    "finite-horizon": "shared_loss.learner.FiniteHorizon",
    "infinite-horizon": "shared_loss.learner.InfiniteHorizon",
    "implicit": "shared_loss.learner.Implicit",
    "mt-ogd": "descent.mt_ogd.MtOgd",
    "mt-pnorm": "descent.mirror_maps.MtPnorm",
    "mt-eg": "descent.mirror_maps.MtEg",
    "mt-ftrl": "descent.leader.MtFtrl",
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
"""Where every learner lies, as module and class."""


class _Shelf(Mapping[str, type]):
    """The learners by their names; one that nobody asks for is not imported, which saves half a second."""

    def __getitem__(self, name: str) -> type:
        module, class_name = PLACES[name].rsplit(".", 1)
        found: type = getattr(import_module(f"weft.learners.{module}"), class_name)
        return found

    def __iter__(self) -> Iterator[str]:
        return iter(PLACES)

    def __len__(self) -> int:
        return len(PLACES)

    def __contains__(self, name: object) -> bool:
        return name in PLACES


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


def catalogue() -> list[Entry]:
    """Every learner: name, paper, parameters with ranges, defaults and meanings.

    >>> [entry.name for entry in catalogue()]
    ['perceptron', 'pa', 'finite-horizon', 'infinite-horizon', 'implicit', 'mt-ogd', 'mt-pnorm', 'mt-eg', 'mt-ftrl',
     'hedge-mt-ogd', 'hedge-mt-eg', 'mt-perceptron', 'mtbprj', 'mtbprj-2', 'mtrbp', 'mtforg',
     'osmtl-e', 'osmtl-t', 'foml', 'omtrl-logdet', 'omtrl-vonneumann', 'omtrl-cov',
     'romco-nucl', 'romco-logd', 'coml', 'cw-col', 'smtl-e', 'smtl-t', 'stl', 'itl', 'shamo', 'mtfl', 'trml',
     'adaptive', 'auto']
    """
    return [
        Entry(
            name, (cls.__doc__ or "").strip().splitlines()[0], cast(Any, cls).paper, parameters_of(cls), known_as(name)
        )
        for name, cls in LEARNERS.items()
    ]


def known_as(name: str) -> list[str]:
    """
    >>> known_as("implicit")
    ['osgl is implicit with norm="l2"']
    """
    return [f"{names} is {text}" for names, text in SPECIAL_CASES.items() if text.split()[0] == name]


def build(name: str, parameters: Mapping[str, Any]) -> Learner:
    """The learner of that name; a wrong name or letter is refused with what is allowed."""
    if not isinstance(name, str) or name not in LEARNERS:
        raise ValueError(
            f"unknown learner {name!r}{_did_you_mean(name, LEARNERS)}; choose one of {', '.join(LEARNERS)}"
        )
    cls = LEARNERS[name]
    letters = {field.name: None for field in fields(cls)}
    for letter in parameters:
        if letter not in letters:
            hint = _did_you_mean(letter, letters)
            raise ValueError(f"{name} has no parameter {letter!r}{hint}; it takes {', '.join(letters) or 'none'}")
    return cast(Learner, cls(**parameters))


def _did_you_mean(word: Any, known: Mapping[str, Any]) -> str:
    close = get_close_matches(str(word), list(known), 1)
    special = next((text for names, text in SPECIAL_CASES.items() if str(word) in names.split(", ")), None)
    if special:
        return f" (that is {special})"
    return f" (did you mean {close[0]!r}?)" if close else ""


def to_json(learner: Learner) -> dict[str, Any]:
    """Name and parameters as JSON takes them."""
    values = {field.name: getattr(learner, field.name) for field in fields(cast(Any, learner))}
    return {"name": learner.name, "parameters": {letter: _plain(value) for letter, value in values.items()}}


def _plain(value: Any) -> Any:
    if hasattr(value, "as_json"):
        return value.as_json()
    return "inf" if isinstance(value, float) and value == math.inf else value


def from_json(data: Any) -> Learner:
    """The learner that `to_json` described."""
    if not isinstance(data, dict) or not isinstance(data.get("parameters"), dict):
        raise ValueError("the learner's name and parameters are missing")
    return build(data.get("name", ""), data["parameters"])
