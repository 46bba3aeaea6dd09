"""Who runs in `today`: every learner of the catalogue, its plain relatives, the peers, and the one parameter of each.

The parameter is a step size, an aggressiveness, a tie between tasks or a regulariser. Its grid is that of the papers,
or powers of ten around the default where they name none; the defaults are tried as well. What has no such parameter
runs as it is, and so does a learner of the catalogue that has no row in `_settled`.
"""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, NamedTuple

from weft.learners.catalogue import PLACES, SPECIAL_CASES, build

Parameters = dict[str, Any]


class Row(NamedTuple):
    """A row of the tables.

    learner  its name in the catalogue; "" for peers
    fixed    parameters that make it what it is
    tuned    parameters that together have the value chosen on the leading tenth; () if there is nothing to choose
    grid     the values, beside the defaults
    form     of its events, see `today_protocol.FORMS`
    peer     a name of `peers.PEERS`, or ""
    """

    name: str
    learner: str
    fixed: Mapping[str, Any] = MappingProxyType({})
    tuned: tuple[str, ...] = ()
    grid: tuple[float, ...] = ()
    form: str = "with constant"
    peer: str = ""

    @property
    def choices(self) -> list[Parameters]:
        """What is tried on the leading tenth: the defaults first, which are taken if nothing is better."""
        return [{}, *(dict.fromkeys(self.tuned, value) for value in self.grid)]


_C = (0.001, 0.01, 0.1, 1.0, 10.0)
_STEP = (0.1, 1.0, 10.0)
_RATE = (0.001, 0.01, 0.1, 1.0)
_B = (1.0, 4.0, 16.0, 64.0, 256.0)
"""Grids of the tables of Murugesan et al. (2016) and Yang et al. (2017), see `smoothed-table1` and `robust-tables`."""
_ETA = (0.01, 0.1, 1.0, 10.0)
_REG = (0.0001, 0.001, 0.01, 0.1)


def _settled() -> list[Row]:
    """Learners whose parameter and grid were settled."""
    rows = [
        Row("auto", "auto", form="raw"),
        Row("adaptive", "adaptive", form="raw"),
        Row("perceptron", "perceptron"),
        Row("perceptron (pooled)", "perceptron", {"pooled": True}),
        Row("pa", "pa", {}, ("C",), _C),
        Row("pa (pooled)", "pa", {"pooled": True}, ("C",), _C),
    ]
    rows += [Row(name, name, {}, ("C",), _C) for name in ("finite-horizon", "infinite-horizon", "implicit")]
    rows += [
        Row("mt-ogd", "mt-ogd", {}, ("eta",), _ETA),
        Row("it-ogd", "mt-ogd", {"b": 0.0}, ("eta",), _ETA),
        Row("st-ogd", "mt-ogd", {"b": "inf"}, ("eta",), _ETA),
        Row("mt-pnorm", "mt-pnorm", {}, ("eta",), _ETA),
        Row("mt-eg", "mt-eg", {}, ("eta",), _ETA),
        Row("it-eg", "mt-eg", {"b": 0.0}, ("eta",), _ETA),
        Row("st-eg", "mt-eg", {"b": "inf"}, ("eta",), _ETA),
        Row("mt-ftrl", "mt-ftrl", {}, ("eta0",), (0.1, 1.0, 10.0, 100.0)),
        Row("hedge-mt-ogd", "hedge-mt-ogd", {}, ("D",), (0.3, 1.0, 3.0, 10.0, 30.0)),
        Row("hedge-mt-eg", "hedge-mt-eg"),
    ]
    rows += [Row(name, name) for name in ("mt-perceptron", "mtbprj", "mtbprj-2", "mtrbp", "mtforg")]
    rows += [Row(name, name, {}, ("C",), _STEP) for name in ("osmtl-e", "osmtl-t")]
    rows += [
        Row("foml", "foml", {}, ("b",), _B),
        Row("omtrl-logdet", "omtrl-logdet", {}, ("rate",), _RATE),
        Row("omtrl-vonneumann", "omtrl-vonneumann", {}, ("rate",), _RATE),
        Row("omtrl-cov", "omtrl-cov"),
    ]
    rows += [Row(name, name, {}, ("eta1", "eta2"), _RATE) for name in ("romco-nucl", "romco-logd")]
    rows += [
        Row("coml", "coml", {}, ("C",), _C),
        Row("cw-col", "cw-col", {}, ("r",), (0.01, 0.1, 1.0, 10.0, 100.0)),
    ]
    rows += [Row(name, name, {}, ("reg",), _REG) for name in ("smtl-e", "smtl-t", "stl", "itl", "shamo")]
    return [
        *rows,
        Row("mtfl", "mtfl", {}, ("gamma",), (0.1, 1.0, 10.0)),
        Row("trml", "trml", {}, ("lam",), (0.01, 0.03, 0.1)),
    ]


def _catalogue() -> list[Row]:
    """Those, and with their defaults all other learners of the catalogue that classify."""
    rows = _settled()
    others = [name for name in PLACES if name not in {row.learner for row in rows}]
    return [*rows, *(Row(name, name) for name in others if build(name, {}).target == "binary")]


def _peers() -> list[Row]:
    rate, sgd = (0.1, 0.5, 2.0), (0.01, 0.1, 0.3, 1.0, 3.0)
    return [
        Row("VW -q", "", {}, ("-l",), rate, "raw", "vw"),
        Row("VW -q (prepared)", "", {}, ("-l",), rate, "prepared", "vw"),
        Row("river (scaler)", "", {}, ("lr",), sgd, "raw", "river"),
        Row("river (prepared)", "", {}, ("lr",), sgd, "prepared", "river-plain"),
        Row("scikit-learn", "", {}, ("alpha",), (1e-5, 1e-4, 1e-3), "prepared", "sklearn"),
    ]


ROWS = {row.name: row for row in (*_catalogue(), *_peers())}
OURS = tuple(row.name for row in ROWS.values() if row.learner)
THEIRS = tuple(row.name for row in ROWS.values() if row.peer)

RELATIVES = {
    "perceptron": ("foml", "mt-perceptron", "omtrl-logdet", "omtrl-vonneumann", "omtrl-cov"),
    "pa": ("coml", "romco-nucl", "romco-logd"),
    "it-ogd": ("mt-ogd", "mt-ftrl", "hedge-mt-ogd"),
    "it-eg": ("mt-eg", "hedge-mt-eg"),
    "itl": ("smtl-e", "smtl-t", "shamo", "mtfl", "trml"),
}
"""A model per task, and learners that let tasks teach each other by steps of its kind, or are published beside it."""

ABSENT = {
    name: f"is {what}, a row here"
    for names, what in SPECIAL_CASES.items()
    for name in names.split(", ")
    if name not in ROWS
}
"""Names from the papers that have no row of their own, and why; every learner that classifies has one."""
