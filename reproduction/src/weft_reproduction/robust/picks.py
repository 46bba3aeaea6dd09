"""Which readings are tried again on fresh shuffles, and under which variants OMTL is run.

For rows of Table 2 of Yang, Zhao and Gao (2017) that are missed, a search names the readings that fit the published
figures best. Such a pick is post hoc: what counts is how it does on shuffles that nobody had used. Of an online learner
every reading is a pick that has as many figures in the search as the best one, so that nobody chooses among them.
"""

from collections.abc import Mapping
from typing import Any, NamedTuple

from weft_reproduction.robust.protocol import READINGS, TAKEN

MAILS = "pu_spam"
OMTL = "OMTL"
FRESH = range(6000, 6010)
"""As many as are reported, so that limits are as wide as those of the tables."""
EARLIER = (range(3000, 3010), range(5000, 5010))
"""Where picks were tried when a row had only one, the nearest: new shuffles do not undo what was seen there."""
FRESH_OMTL = range(5000, 5100)
"""OMTL lies at the edge of the limits, where ten shuffles had left it open; a hundred take seconds and are stricter."""
FRESH_BATCH = range(5000, 5003)
"""Fits of MTFL take most of a minute."""
TRYING = range(4000, 4010)
"""Where variants of OMTL are compared."""
OWN_WORDS, OWN_WORDS_UNSCALED = "a dictionary per user, unit tf-idf", "a dictionary per user, tf-idf as it is"
ALL_WORDS, ALL_WORDS_UNSCALED = "all shared columns, unit tf-idf", "all shared columns, tf-idf as it is"
OWN_IDF = "1,458 shared columns, unit tf-idf of every user"
MEAN_SHARE = "1,458 shared columns by their mean share of users, unit tf-idf"


class Pick(NamedTuple):
    """A row, a reading that the search names for it, parameters that are not those of the row, and earlier tries."""

    row: str
    reading: str
    parameters: Mapping[str, Any] = {}
    earlier: tuple[range, ...] = ()


PICKED = {
    "MTFL": (Pick("MTFL", OWN_WORDS, {"gamma": 0.01}),),
    "OMTLLOG": (
        Pick("OMTLLOG, margin", OWN_WORDS, earlier=EARLIER[:1]),
        Pick("OMTLLOG, margin", ALL_WORDS),
        Pick("OMTLLOG, margin", OWN_IDF, earlier=EARLIER),
    ),
    "ROMCO-NuCl": (
        Pick("ROMCO-NuCl", OWN_WORDS),
        Pick("ROMCO-NuCl", OWN_WORDS_UNSCALED, earlier=EARLIER),
        Pick("ROMCO-NuCl", ALL_WORDS),
        Pick("ROMCO-NuCl", ALL_WORDS_UNSCALED),
        Pick("ROMCO-NuCl", OWN_IDF),
    ),
    "ROMCO-LogD": (
        Pick("ROMCO-LogD", OWN_WORDS),
        Pick("ROMCO-LogD", OWN_WORDS_UNSCALED, earlier=EARLIER),
        Pick("ROMCO-LogD", ALL_WORDS),
        Pick("ROMCO-LogD", ALL_WORDS_UNSCALED),
    ),
}
"""By the paper's name of a row: what the search among readings names, or, for MTFL, that among regularisers.

Of an online learner these are all readings that are tied for the most figures; of MTFL, whose fits are slow, the
nearest.
"""


class Variant(NamedTuple):
    """OMTL otherwise: the update with its parameters, the reading of the rows, their order."""

    learner: str
    norm: str
    C: float
    reading: str = TAKEN[MAILS]
    order: str = "rounds"

    @property
    def row(self) -> str:
        return f"{self.learner}, {self.norm}, C = {self.C:g}"

    @property
    def elsewhere(self) -> bool:
        """Whether rows are read in another way, and not learned in another way."""
        return self.reading != TAKEN[MAILS]

    def __str__(self) -> str:
        others = [self.reading] * self.elsewhere + ["one row a round"] * (self.order != "rounds")
        return "; ".join([self.row, *others])


AS_TAKEN = Variant("implicit", "l2", 1.0)
VARIANTS = (
    *(Variant("implicit", norm, C) for norm in ("l2", "l1", "linf", "2-max") for C in (0.1, 1.0, 10.0)),
    *(Variant(who, norm, 1.0) for who in ("finite-horizon", "infinite-horizon") for norm in ("l2", "l1", "linf")),
    # with one row a round all norms are the same
    *(Variant("implicit", "l2", C, order="one by one") for C in (0.1, 1.0, 10.0)),
    *(Variant(who, "l2", 1.0, order="one by one") for who in ("finite-horizon", "infinite-horizon")),
    *(AS_TAKEN._replace(reading=reading) for reading in list(READINGS[MAILS])[1:]),
)
"""Other norms and C, the explicit updates of Dekel, Long and Singer (2007), another order, other readings."""
OMTL_PICKED = (Variant("implicit", "l1", 1.0), AS_TAKEN._replace(reading=MEAN_SHARE))
"""The nearest variant of the update or the order, and the nearest reading: both are tried again."""
