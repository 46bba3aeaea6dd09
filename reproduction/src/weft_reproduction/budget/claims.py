"""The claims of Sec. 5 of Cavallanti and Cesa-Bianchi (2012), judged by pairs over the reported shuffles."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import product
from typing import NamedTuple

import numpy as np

from weft_reproduction.budget.protocol import (
    COLUMNS,
    LEARNERS,
    NO_BUDGET,
    PERCENTS,
    PLACES,
    PROJECTRONS,
    SETS,
    TITLES,
    Place,
)
from weft_reproduction.budget.published import PUBLISHED, Means, Runs, means
from weft_reproduction.experiment import Claim
from weft_reproduction.judgement import LEVEL, paired

SECTION = "Sec. 5"
TOLERANCE = 3.0
"""Points of F by which a figure may be lower than the published one and still counts as the same."""
MATCH = 1.0
"""Points of F within which a learner matches the baseline."""
OTHERS = tuple(learner for learner in LEARNERS if learner not in PROJECTRONS)


def claims(reported: Mapping[str, Runs]) -> list[Claim]:
    """What the paper says about its table, and whether these runs say so too."""
    return [
        _same_figures(reported),
        _above(
            "Setting G = C results in better F-measures for all three data sets and for all algorithms.",
            [
                _comparison(
                    reported, name, [Place(who, "complete", size)], [Place(who, "none", size)], f"{who} {size} %"
                )
                for name, who, size in product(SETS, LEARNERS, PERCENTS)
            ],
        ),
        _above(
            "On every set, graph and budget a projection-based algorithm leads.",
            [
                _comparison(
                    reported,
                    name,
                    [Place(who, graph, size) for who in PROJECTRONS],
                    [Place(who, graph, size) for who in OTHERS],
                    f"{graph} {size} %",
                )
                for name, (graph, size) in product(SETS, COLUMNS)
            ],
        ),
        _above(
            "Both projection-based algorithms lead, on every set, graph and budget.",
            [
                _comparison(
                    reported,
                    name,
                    [Place(who, graph, size)],
                    [Place(other, graph, size) for other in OTHERS],
                    f"{who} {graph} {size} %",
                )
                for name, (graph, size), who in product(SETS, COLUMNS, PROJECTRONS)
            ],
            "In the paper's own table MTBPRJ trails on School, D(5%).",
        ),
        _above(
            "Without a graph, at 5 %, the global projection of MTBPRJ-2 does better than that of MTBPRJ "
            "(School and Spam are named).",
            [
                _comparison(reported, name, [Place("mtbprj-2", "none", 5)], [Place("mtbprj", "none", 5)], "")
                for name in SETS
            ],
        ),
        _gap_grows(reported),
        _above(
            f"With G = C and B = 25 % all four algorithms match the baseline (here: at most {MATCH:g} point below).",
            [_match(reported, name, Place(who, "complete", 25)) for name, who in product(SETS, LEARNERS)],
            _in_print(Place(who, "complete", 25) for who in LEARNERS),
        ),
        _above(
            f"With G = C, MTBPRJ and MTBPRJ-2 match it even at 5 % (here: at most {MATCH:g} point below).",
            [_match(reported, name, Place(who, "complete", 5)) for name, who in product(SETS, PROJECTRONS)],
            _in_print(Place(who, "complete", 5) for who in PROJECTRONS),
        ),
    ]


# --- comparisons, shuffle by shuffle ---


class Comparison(NamedTuple):
    """F that should be higher, and F that should be lower, of the shuffles that have both."""

    name: str
    higher: Sequence[float]
    lower: Sequence[float]


def _comparison(
    reported: Mapping[str, Runs], name: str, higher: Sequence[Place], lower: Sequence[Place], told: str
) -> Comparison:
    """The best of each side, shuffle by shuffle."""
    runs = reported[name]
    places = [*higher, *lower]
    shuffles = set.intersection(*(set(runs.get(place, ())) for place in places))
    label = f"{TITLES[name]} {told}".strip()
    return Comparison(
        label,
        [max(runs[place][shuffle] for place in higher) for shuffle in sorted(shuffles)],
        [max(runs[place][shuffle] for place in lower) for shuffle in sorted(shuffles)],
    )


def _match(reported: Mapping[str, Runs], name: str, place: Place) -> Comparison:
    label, ours, baseline = _comparison(reported, name, [place], [NO_BUDGET], place.learner)
    return Comparison(label, ours, [figure - MATCH for figure in baseline])


def _above(text: str, comparisons: Sequence[Comparison], remark: str = "") -> Claim:
    """Confirmed if in each comparison the one side is higher, at the level divided by their number."""
    run = [one for one in comparisons if one.higher]
    if len(run) < len(comparisons):
        missing = f"{len(comparisons) - len(run)} of {len(comparisons)} comparisons have not been run."
        return Claim(text, SECTION, "not testable here", missing)
    gaps = {one.name: paired(one.lower, one.higher) for one in run}
    if any(gap.pairs == 1 for gap in gaps.values()):
        return Claim(text, SECTION, "not testable here", "One shuffle shows no more than a direction.")
    level = LEVEL / len(gaps)
    good = [name for name, gap in gaps.items() if gap.p < level]
    weakest = max(gaps, key=lambda name: gaps[name].difference)
    gap = gaps[weakest]
    said = [
        f"{sum(gap.difference < 0 for gap in gaps.values())} of {len(gaps)} mean differences point that way, "
        f"{len(good)} at p < {level:.2g}. "
        f"The least is {weakest}: {-gap.difference:+.2f} ± {gap.error:.2f} points over {gap.pairs} shuffles, "
        f"p = {gap.p:.2g}."
    ]
    if 0 < len(gaps) - len(good) <= 12:
        said.append(f"Not so: {', '.join(name for name in gaps if name not in good)}.")
    said += [remark] if remark else []
    return Claim(text, SECTION, "confirmed" if len(good) == len(gaps) else "not confirmed", " ".join(said))


def _in_print(places: Iterable[Place]) -> str:
    wanted = list(places)
    near = sum(PUBLISHED[name][place] >= PUBLISHED[name][NO_BUDGET] - MATCH for name in SETS for place in wanted)
    return f"In the paper's own table it holds for {near} of {len(SETS) * len(wanted)}."


# --- claims with a shape of their own ---


def _gap_grows(reported: Mapping[str, Runs]) -> Claim:
    """The gain of C over D at 5 % against that at 25 %, learner by learner."""

    def gain(runs: Runs, who: str, size: int) -> dict[int, float]:
        with_graph, without = runs.get(Place(who, "complete", size), {}), runs.get(Place(who, "none", size), {})
        return {shuffle: with_graph[shuffle] - without[shuffle] for shuffle in with_graph if shuffle in without}

    comparisons = []
    for name, who in product(SETS, LEARNERS):
        small, large = gain(reported[name], who, 5), gain(reported[name], who, 25)
        both = sorted(set(small) & set(large))
        comparisons.append(
            Comparison(
                f"{TITLES[name]} {who}", [small[shuffle] for shuffle in both], [large[shuffle] for shuffle in both]
            )
        )
    printed = sum(
        PUBLISHED[name][Place(who, "complete", 5)] - PUBLISHED[name][Place(who, "none", 5)]
        > PUBLISHED[name][Place(who, "complete", 25)] - PUBLISHED[name][Place(who, "none", 25)]
        for name, who in product(SETS, LEARNERS)
    )
    return _above(
        "The differences between G = C and G = D grow as the budget shrinks (5 % against 25 %).",
        comparisons,
        f"In the paper's own table they do for {printed} of {len(comparisons)}.",
    )


def shortfalls(name: str, ours: Means) -> dict[Place, float]:
    """Ours minus the published figure, at every place that was run."""
    return {place: ours[place] - figure for place, figure in PUBLISHED[name].items() if place in ours}


def _same_figures(reported: Mapping[str, Runs]) -> Claim:
    text = f"The figures of Table 1 can be reproduced: each within {TOLERANCE:g} points, or better."
    gaps = {
        f"{TITLES[name]} {place}": gap
        for name in SETS
        for place, gap in shortfalls(name, means(reported[name])).items()
    }
    figures = len(SETS) * (len(PLACES) + 1)
    if len(gaps) < figures:
        return Claim(text, "Table 1", "not testable here", f"{len(gaps)} of {figures} figures have been run.")
    values = np.array(list(gaps.values()))
    lowest, highest = min(gaps, key=lambda key: gaps[key]), max(gaps, key=lambda key: gaps[key])
    good = int(np.sum(values >= -TOLERANCE))
    why = (
        f"{good} of {figures}; {int(np.sum(np.abs(values) <= TOLERANCE))} lie within {TOLERANCE:g} points on either "
        f"side. Mean distance {np.abs(values).mean():.2f} points; lowest {gaps[lowest]:+.1f} ({lowest}), "
        f"highest {gaps[highest]:+.1f} ({highest})."
    )
    return Claim(text, "Table 1", "confirmed" if good == figures else "not confirmed", why)
