"""What the contracts are held against: every learner by its name alone, and further settings of some."""

import re
from dataclasses import dataclass, field
from typing import Any

import weft

_SHARED_LOSS = [
    {"norm": "linf", "C": 0.7},
    {"norm": "l1", "R": 50.0},
    {"norm": "3-max"},
    {"norm": "1.5-max", "C": 0.2, "loss": "epsilon-insensitive", "epsilon": 0.0},
    {"norm": "l1.5"},
    {"norm": "k(1,inf,2.5)", "loss": "epsilon-insensitive"},
    {"norm": "k(1.5,3,1.4)", "C": 0.5},
    {"kernel": "linear"},
    {"kernel": "gaussian", "norm": "linf", "C": 0.7},
    {"kernel": {"name": "poly", "degree": 3, "normalize": True}, "loss": "epsilon-insensitive"},
    {"loss": "uniclass", "epsilon": 0.5},
    {"loss": "uniclass", "norm": "linf", "epsilon": 0.0},
]

FURTHER: dict[str, list[dict[str, Any]]] = {
    "perceptron": [{"pooled": True}],
    "pa": [
        {"variant": "pa"},
        {"variant": "pa-ii", "C": 0.3},
        {"pooled": True},
        {"loss": "epsilon-insensitive"},
        {"loss": "epsilon-insensitive", "epsilon": 0.0, "variant": "pa-ii", "pooled": True},
    ],
    "finite-horizon": [*_SHARED_LOSS, {"T": 100.0, "R": 50.0}],
    "infinite-horizon": _SHARED_LOSS,
    "implicit": [*_SHARED_LOSS, {"T": 100.0, "R": 50.0}],
}


@dataclass(frozen=True)
class Setting:
    """A learner's name and its parameters."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        return "-".join([self.name, *(f"{letter}={value}" for letter, value in self.parameters.items())])

    def model(self, **more: Any) -> weft.Model:
        return weft.Model(self.name, **self.parameters, **more)

    @property
    def target(self) -> str:
        return self.model().learner.target

    @property
    def keeps_rows(self) -> bool:
        """Is this a kernel form, with rows instead of weights?"""
        return "kernel" in self.parameters


SETTINGS = [
    Setting(entry.name, parameters) for entry in weft.catalogue() for parameters in [{}, *FURTHER.get(entry.name, [])]
]


def short(value: Any) -> str:
    """A test's name for a value: the same in every process."""
    return re.sub(r"\s+", " ", re.sub(r" at 0x[0-9a-f]+", "", str(value)))[:24]
