"""What the three figures of Dekel, Long and Singer (2007) have in common: documents, topics, errors along the stream.

The paper runs on RCV1, 800,000 articles in their order of time with 104 low-level categories, each article a vector of
log2(1 + count). That corpus is not free. Two smaller ones stand in: `reuters21578`, newswire of 1987 in its order of
time, and `rcv1_2316`, a small sample of RCV1 itself without an order. Documents without a topic are left out, as RCV1
has none.
"""

from dataclasses import replace
from typing import Any

import numpy as np

from weft.compiled.arrays import Ints
from weft.reductions import Multilabel
from weft.streams import Known, known
from weft.streams.preparation import log_counts, rows_of
from weft_reproduction.experiment import Claim, Figures, Settings

STAND_IN = (
    "RCV1 itself (800,000 articles, 104 low-level categories) is not free. reuters21578 and a sample of RCV1 stand in "
    "for it, a hundredth of its length or less: what the paper says of its beginning can be compared, and what it says "
    "of its end only if the smaller streams show it already."
)
OWN_ORDER = 0
"""The seed that stands for the order of the file."""
POINTS = 30


def documents(data: str, most: int | None = None) -> Known:
    """Log counts of the documents that have a topic; of RCV1's topics those that have none below them."""
    found = log_counts(known(data), base=2.0)
    names = found.task_names
    if data == "rcv1_2316":
        leaf = [at for at, name in enumerate(names) if not name.endswith("CAT") and not _has_children(name, names)]
        found = _with_topics(found, leaf)
    labelled = np.flatnonzero(np.diff(found.y.indptr) > 0)
    return rows_of(found, labelled[:most])


def _has_children(name: str, names: list[str]) -> bool:
    return any(other != name and other.startswith(name) for other in names)


def _with_topics(data: Known, topics: list[int]) -> Known:
    return replace(data, y=data.y[:, topics], task_names=[data.task_names[at] for at in topics])


def order(length: int, seed: int) -> Ints:
    """The order of the file for seed 0, random orders for the others."""
    return np.arange(length) if seed == OWN_ORDER else np.random.default_rng(seed).permutation(length)


def errors_along(settings: Settings) -> Figures:
    """1-error and inf-error so far, at evenly spaced places, for every order."""
    data = documents(settings["data"], settings.get("documents"))
    ends = np.unique(np.linspace(0, len(data), POINTS + 1).astype(int)[1:])
    found: dict[str, Any] = {"events": ends.tolist(), "inf": [], "one": []}
    for seed in settings["seeds"]:
        rows = order(len(data), seed)
        X, Y = data.X[rows], data.y[rows]
        topics = Multilabel(settings["learner"], norm=settings["norm"], C=settings["C"], labels=range(Y.shape[1]))
        inf, one, begin = [], [], 0
        for end in ends.tolist():
            topics.learn(X[begin:end], Y[begin:end])
            inf.append(topics.inf_error)
            one.append(topics.one_error)
            begin = end
        found["inf"].append(inf)
        found["one"].append(one)
    return found


def at_share(figures: Figures, measure: str, share: float) -> list[float]:
    """The error so far after that share of the stream, for every random order."""
    ends = figures["events"]
    place = int(np.argmin(np.abs(np.array(ends) - share * ends[-1])))
    return [curve[place] for curve in figures[measure]]


def in_the_end(claim: Claim) -> Claim:
    """A claim about the end of 800,000 documents: a stream that ends sooner can show it, but not refute it."""
    if claim.judgement != "not confirmed":
        return claim
    why = f"The stream may end before it would show. {claim.why}"
    return Claim(claim.text, claim.where, "not testable here", why)
