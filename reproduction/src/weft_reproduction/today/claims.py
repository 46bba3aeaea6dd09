"""What `today` says about who is better than whom: pairs are streams, figures are those with the parameter chosen."""

import math

import numpy as np

from weft_reproduction.experiment import Claim, Judgement
from weft_reproduction.judgement import LEVEL, Paired, paired
from weft_reproduction.today.board import Board, joined
from weft_reproduction.today.rows import RELATIVES, ROWS, THEIRS

NAMES = {"error": "error", "log_loss": "log-loss"}


def claims(found: Board) -> list[Claim]:
    """Those for which there are figures; one that says so if there are none."""
    told = [
        *_lowest_rank(found),
        *(claim for peer in THEIRS for measure in NAMES for claim in _against(found, peer, measure)),
        *_sharing(found),
        *_choosing(found),
    ]
    text = "auto has the lowest mean rank by error."
    return told or [Claim(text, "no stream", "not testable here", "The cells that it needs have not been run.")]


def compared(found: Board, measure: str, one: str, other: str) -> tuple[Paired, list[str]] | None:
    """Paired log ratios over the streams that both have, and those on which the first has more; None below two."""
    ratios = found.log_ratios(measure, one, other)
    if len(ratios) < 2:
        return None
    test = paired(list(ratios.values()), [0.0] * len(ratios))
    return test, [stream for stream, ratio in ratios.items() if ratio > 0.0]


def percent(log_ratio: float) -> float:
    """A log ratio as a change in per cent.

    >>> round(percent(math.log(0.9)), 6)
    -10.0
    """
    return 100.0 * math.expm1(log_ratio)


def _judged(text: str, found: Board, measure: str, one: str, other: str) -> list[Claim]:
    result = compared(found, measure, one, other)
    if result is None:
        return []
    test, worse = result
    why = f"{percent(test.difference):+.1f} % (p = {test.p:.2g}); {other} has the lower {NAMES[measure]} on "
    judgement: Judgement = "confirmed" if test.p < LEVEL else "not confirmed"
    return [Claim(text, f"{test.pairs} streams", judgement, why + joined(worse))]


def _lowest_rank(found: Board) -> list[Claim]:
    claims = []
    for measure, name in NAMES.items():
        ranks, means = found.ranks(measure), found.mean_ranks(measure)
        if "auto" not in means or len(means) < 2:
            continue
        before = [f"{row} ({mean:.1f})" for row, mean in means.items() if mean < means["auto"]]
        other = next(row for row in means if row != "auto")
        streams = [stream for stream in ranks["auto"] if stream in ranks[other]]
        if len(streams) < 2:
            continue
        test = paired([ranks["auto"][s] for s in streams], [ranks[other][s] for s in streams])
        lead = f"lower than that of {other} ({means[other]:.1f}), the best of the others, p = {test.p:.2g}"
        claims.append(
            Claim(
                f"Of all rows, auto has the lowest mean rank by {name}.",
                f"{len(means)} rows, {len(streams)} streams",
                "confirmed" if not before and test.p < LEVEL else "not confirmed",
                f"Its mean rank is {means['auto']:.1f}; " + (f"before it are {joined(before)}" if before else lead),
            )
        )
    return claims


def _against(found: Board, peer: str, measure: str) -> list[Claim]:
    return _judged(f"auto has a lower {NAMES[measure]} than {peer}.", found, measure, "auto", peer)


def _sharing(found: Board) -> list[Claim]:
    """Learners whose tasks teach each other, beside a model per task that steps in the same way."""
    return [
        claim
        for alone, together in RELATIVES.items()
        for row in together
        for claim in _judged(f"{row} has a lower error than {alone}.", found, "error", row, alone)
    ]


def _choosing(found: Board) -> list[Claim]:
    """Per stream, the mean over the rows of what the choice on the leading tenth changed."""
    changes = []
    for stream in found.streams:
        both = [
            (found.mean(row, stream, "error"), found.mean(row, stream, "error", "default"))
            for row in found.rows
            if ROWS[row].tuned
        ]
        gaps = [100.0 * (tuned - default) for tuned, default in both if tuned is not None and default is not None]
        if gaps:
            changes.append(float(np.mean(gaps)))
    if len(changes) < 2:
        return []
    test = paired(changes, [0.0] * len(changes))
    return [
        Claim(
            "Choosing one parameter on the leading tenth lowers the error of the learners that have one.",
            f"{test.pairs} streams",
            "confirmed" if test.p < LEVEL else "not confirmed",
            f"{test} (percentage points of error, mean over the rows of a stream)",
        )
    ]
