"""weft: online multitask learning. One model per task, all learned together from one stream of events.

    stream = weft.Stream(X, y, task)
    model = weft.Model("implicit", norm="3-max", C=1.0)
    scores = model.learn(stream)

Names are loaded when they are first used, so that `import weft` costs nothing.
"""

from importlib import import_module

__version__ = "0.1.0"

TYPE_CHECKING = False  # that of `typing`, whose import takes as long as everything else here
if TYPE_CHECKING:
    from typing import Any

    from weft.client import Client
    from weft.client.asynchronous import AsyncClient
    from weft.evaluation.comparison import compare
    from weft.evaluation.tuning import tune
    from weft.learners.catalogue import catalogue, register
    from weft.model import Model
    from weft.reductions.per_class import Multiclass, load
    from weft.schema import Schema
    from weft.stream import Stream
    from weft.streams.reading import read

_HOMES = {
    "AsyncClient": "weft.client.asynchronous",
    "Client": "weft.client",
    "Model": "weft.model",
    "Multiclass": "weft.reductions.per_class",
    "Schema": "weft.schema",
    "Stream": "weft.stream",
    "catalogue": "weft.learners.catalogue",
    "compare": "weft.evaluation.comparison",
    "load": "weft.reductions.per_class",
    "read": "weft.streams.reading",
    "register": "weft.learners.catalogue",
    "tune": "weft.evaluation.tuning",
}
_PACKAGES = ("cluster", "evaluation", "geometry", "guarantees", "maths", "reductions", "streams")

__all__ = [
    "AsyncClient",
    "Client",
    "Model",
    "Multiclass",
    "Schema",
    "Stream",
    "catalogue",
    "compare",
    "load",
    "read",
    "register",
    "tune",
]


def __getattr__(name: str) -> "Any":
    if name in _HOMES:
        return getattr(import_module(_HOMES[name]), name)
    if name in _PACKAGES:
        return import_module(f"weft.{name}")
    raise AttributeError(f"module 'weft' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*__all__, *_PACKAGES, "__version__"])
