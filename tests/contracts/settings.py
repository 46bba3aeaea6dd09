"""What the contracts are held against: every learner by its name alone, and further settings of some."""

import math
import re
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import numpy as np

import weft
from weft.learner import Traits
from weft.learners.catalogue import build

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

NAMES = ["ann", 7, ("team", 1), "bob", ("a", ("b", 2)), -3, "", "eve", 0]
"""The tasks of all events."""

FEATURES = 14
"""The features of all events."""

_CLIQUES = [["bob", 7, "ann"], [("team", 1), -3, "eve"], [0], ["", ("a", ("b", 2))]]
_EDGES = {"edges": [["ann", "bob"], ["bob", 7, 2.0], [["team", 1], "eve"]], "tasks": [*NAMES[:2], ["team", 1], "bob"]}
_EDGES["tasks"] += [["a", ["b", 2]], -3, "", "eve", 0]
_THEORY = {"D": 1.0, "L": 3.0, "sigma": 0.4, "T": 100.0}

_DESCENT = [
    {"b": 0.0, "eta": 0.1},
    {"b": math.inf, "eta": 0.1, "loss": "square"},
    {"graph": _CLIQUES, "eta": 0.1, "loss": "hinge"},
    {"graph": _EDGES, "graph_strength": 2.0, "eta": 0.1},
]

_MATRIX = {"matrix": (np.diag(np.arange(2.0, 11.0)) - np.eye(9, k=1) - np.eye(9, k=-1)).tolist()}
_MATRIX["tasks"] = [list(name) if isinstance(name, tuple) else name for name in NAMES]
_MATRIX["tasks"][4] = ["a", ["b", 2]]
_POLY = {"name": "poly", "degree": 3, "gamma": 0.5, "coef0": 0.0}
_KERNELS = [
    {"kernel": "gaussian", "graph": "none"},
    {"kernel": "poly", "graph": _CLIQUES},
    {"kernel": "gaussian", "graph": _EDGES},
    {"kernel": _POLY, "graph": _MATRIX},
]
_BUDGET = [
    {"B": 5},
    {"B": 1, "kernel": "gaussian"},
    *({"B": 6, **more} for more in _KERNELS),
    {"budget": 1500, "kernel": "gaussian"},
    {"budget": "1kB", "graph": _CLIQUES},
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
    "finite-horizon": [*_SHARED_LOSS[::2], {"T": 100.0, "R": 50.0}],  # norms and losses are those of `implicit`
    "infinite-horizon": _SHARED_LOSS[1::2],
    "implicit": [*_SHARED_LOSS, {"T": 100.0, "R": 50.0}],
    "mt-ogd": [
        *_DESCENT,
        {**_THEORY, "rule": "best", "loss": "absolute"},
        {"eta": "adaptive", "D": 0.5, "sigma": 0.4},
        {"eta": "adaptive", "D": 0.5, "sigma": 0.4, "graph": _EDGES, "loss": "epsilon-insensitive"},
        {"eta": "adaptive", "D": 0.5, "sigma": 0.4, "graph": _CLIQUES},
        {"eta": 0.3, "projection": "mahalanobis", "radius": 0.4},
        {"eta": 0.3, "projection": "variance", "D": 0.4, "sigma": 0.3},
        {"eta": 0.3, "projection": "ball", "D": 0.3},
        {"eta": 0.3, "projection": "ball", "D": 0.3, "graph": _EDGES},
        {"eta": 0.3, "projection": "v-sigma", "D": 0.3, "sigma": 0.3},
    ],
    "mt-pnorm": [
        *_DESCENT,
        {"p": 1.2, **_THEORY, "loss": "square"},
        {"eta": "adaptive", "D": 0.5, "sigma": 0.4},
        {"domain": "simplex", "loss": "absolute"},
        {"domain": "simplex", "p": 1.4, "eta": 0.3, "sigma": 0.5},
    ],
    "mt-eg": [*_DESCENT, {"sigma": 0.5, "L": 3.0, "T": 100.0}, {"eta": 3.0, "loss": "absolute"}],
    "mt-ftrl": [
        *_DESCENT,
        {"regularizer": "entropy"},
        {"regularizer": "entropy", "eta": 0.3, "b": 2.0, "loss": "square"},
    ],
    "hedge-mt-ogd": [{"T": 100.0, "L": 3.0, "variances": [0.0, 0.3], "loss": "square"}, {"eta_h": 0.5, "D": 0.4}],
    "mt-perceptron": [*_KERNELS, {"kernel": {"name": "poly", "normalize": False}}],
    "mtbprj": [*_BUDGET[:5], {"B": 4, "eta": 0.3, "relative": True}, {"B": math.inf, "eta": 0.0}],
    "mtbprj-2": [
        *_BUDGET[1:],
        {"B": 4, "eta": 0.3, "relative": True},
        {"budget": 2000, "kernel": "gaussian", "graph": _EDGES},
    ],
    "mtrbp": [*_BUDGET[::3], {"B": 3, "seed": 7}],  # its kernels and graphs are those of the Forgetron
    "mtforg": [*_BUDGET[::2], {"B": 4, "R": 30.0, "kernel": {"name": "linear", "normalize": False}}],
    "romco-nucl": [
        {"lam1": 0.5, "lam2": 1.0, "always_prox": True},
        {"schedule": "sqrt", "rho0": 1.0, "rho_only": True},
    ],
    "romco-logd": [{"lam1": 2.0, "eta2": 0.5, "lam2": 0.5, "schedule": "geometric"}],
    "coml": [{"C": 0.3, "e2": 0.0}, {"e1": 0.2, "e2": 2.0}],
    "cw-col": [{"r": 0.2, "mix": 0.8}],
    "smtl-e": [{"every": 30, "lam": 0.2, "reg": 1.0}],
    "itl": [{"every": 7}],
    "shamo": [{"every": 20, "m": 3, "seed": 1, "reg": 0.1}],
    "mtfl": [{"every": 30, "gamma": 30.0, "eps": 0.01}],
    "trml": [{"every": 45, "lam": 0.5, "loss": "square"}],
    "hedge-mt-eg": [{"T": 100.0, "L": 3.0, "variances": [0.0, 0.3], "loss": "square"}, {"eta_h": 0.5}],
    "osmtl-e": [
        {"alpha": 0.6, "C": 0.7, "lam": 0.5, "condition": "active"},
        {"restart": True, "p_min": 0.04},
        {"alpha": 0.5, "C": 0.5, "neighbours": 3},
    ],
    "osmtl-t": [{"T": 50.0, "lam": 5.0, "condition": "mistake"}, {"alpha": 0.5, "C": 0.1, "lam": 9.0, "neighbours": 3}],
    "foml": [{"b": 2.0, "condition": "margin"}, {"graph": _CLIQUES, "C": 0.3}, {"graph": _EDGES}],
    "omtrl-logdet": [{"warmup": 5, "condition": "margin", "C": 0.1}],
    "omtrl-vonneumann": [{"warmup": 5}],
    "omtrl-cov": [{"warmup": 5, "rate": 1.0}],
    "adaptive": [{"loss": "square", "own_prior": 0.5, "half_life": 1.0}],
    "auto": [
        {"loss": "square", "effort": "fast", "second_order": True, "half_life": 9.0},
        {"effort": "fast"},
        {"effort": "best"},
        {"effort": "best", "loss": "square", "own_prior": 0.5},
        {"loss": "square", "half_life": 9.0},
        {"half_life": 1.0},
        *({"experts": [name]} for name in ("forget", "bayes", "low_rank", "level", "second", "grid")),
        *({"experts": [name], "loss": "square"} for name in ("forget", "low_rank", "level", "second", "grid")),
    ],
}


def _brief(value: Any) -> str:
    """A graph by its kind, anything else as it is."""
    for graph, word in ((_CLIQUES, "cliques"), (_EDGES, "edges"), (_MATRIX, "matrix")):
        if value is graph:
            return word
    return str(value)


@dataclass(frozen=True)
class Setting:
    """A learner's name and its parameters."""

    name: str
    parameters: dict[str, Any] = field(default_factory=dict)

    def __str__(self) -> str:
        parts = (f"{name}={_brief(value)}" for name, value in self.parameters.items())
        return "-".join([self.name, *parts])

    @cached_property
    def learner(self) -> Any:
        return build(self.name, self.parameters)

    def model(self, **more: Any) -> weft.Model:
        """A fresh model; learners on the simplex have their features declared, since they count them."""
        if self.on_simplex:
            more = {"features": FEATURES} | more
        return weft.Model(self.name, **self.parameters, **more)

    def declared(self) -> weft.Model:
        """With all tasks declared where the rule contains their number."""
        return self.model(tasks=NAMES) if self.counts_tasks else self.model()

    @property
    def traits(self) -> Traits:
        return self.learner.traits

    @property
    def on_simplex(self) -> bool:
        """Do models start with equal weights that sum to one?"""
        return self.traits.least_features > 0

    @property
    def named(self) -> bool:
        """Does a graph say which tasks there are?"""
        return bool(self.traits.task_names)

    def some_tasks(self, *names: Any) -> list[Any]:
        """These, or, on a graph, all that it names."""
        return NAMES if self.named else list(names)

    def close(self, one: Any, other: Any) -> bool:
        """Equal up to rounding; where it is found by iterations, or from squares, up to what those amplify."""
        tolerance = 1e-8 if self.traits.iterates else 1e-12
        return np.allclose(one, other, rtol=tolerance, atol=tolerance)

    @property
    def refits(self) -> bool:
        """Does it keep all rows, and learn from them every so many events?"""
        return self.traits.refit_every > 0

    @property
    def counts_tasks(self) -> bool:
        """Does the rule contain the number of tasks, so that a newcomer changes the others?"""
        return self.traits.counts_tasks

    @property
    def reads_unknown(self) -> bool:
        """Does a row's length count features that nothing was learned about, so that predict says what learn would?"""
        return self.traits.reads_unknown

    @property
    def sums_over_tasks(self) -> bool:
        """Does a score sum over tasks, so that their order shows in the last bits?"""
        return self.traits.sums_over_tasks or self.traits.counts_tasks

    @property
    def relates(self) -> bool:
        """Is there a matrix of relations between tasks?"""
        return self.traits.relates

    @property
    def target(self) -> str:
        return self.learner.target

    @property
    def keeps_rows(self) -> bool:
        """Is this a kernel form, with rows instead of weights?"""
        return self.traits.keeps_rows


SETTINGS = [
    Setting(entry.name, parameters) for entry in weft.catalogue() for parameters in [{}, *FURTHER.get(entry.name, [])]
]


def short(value: Any) -> str:
    """A test's name for a value: the same in every process."""
    return re.sub(r"\s+", " ", re.sub(r" at 0x[0-9a-f]+", "", str(value)))[:24]
