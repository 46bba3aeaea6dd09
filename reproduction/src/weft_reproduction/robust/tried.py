"""Picks of a search, and how they do on shuffles that nobody had used.

A search among readings is post hoc: what it names was picked for fitting the figures of Yang, Zhao and Gao (2017).
Whatever is said about a row that is missed therefore comes from fresh shuffles, and both kinds of success are counted:
figures within three standard errors of the paper's, and figures that are better than that.
"""

from collections import defaultdict
from collections.abc import Iterable
from typing import NamedTuple

from weft_reproduction.experiment import Results
from weft_reproduction.judgement import figure, worse
from weft_reproduction.robust.picks import AS_TAKEN, MAILS, OMTL, OMTL_PICKED, PICKED, VARIANTS, Variant
from weft_reproduction.robust.protocol import TAKEN
from weft_reproduction.robust.published import SHUFFLES, USERS, printed_of_user
from weft_reproduction.robust.readings import Again, again, had_again, regularised, taken
from weft_reproduction.robust.rows import BATCH
from weft_reproduction.writing import ours as shown

Place = tuple[str, str, str]
"""Row, reading, order."""
Tasks = dict[int, dict[str, list[float]]]
"""Shuffle -> "error" and "minus" of every task."""
VERDICTS = ("reproduced", "reproduced in part", "not reproduced", "not tried again yet")
"""From the best to the worst; of a row with several picks the best one counts."""


def gathered(what: str, results: Results) -> dict[Place, Tasks]:
    """Rows of all cells of a kind, by shuffle."""
    found: dict[Place, Tasks] = defaultdict(dict)
    for settings, figures in results:
        if settings["what"] == what:
            for one in figures["rows"]:
                for at, seed in enumerate(settings["shuffles"]):
                    tasks = {measure: one[measure][at] for measure in ("error", "minus")}
                    found[one["row"], settings["reading"], settings["order"]][seed] = tasks
    return found


def of_user(tasks: Tasks, measure: str, user: int) -> list[float]:
    """A user's figures in percent, in the order of the shuffles."""
    return [100.0 * tasks[seed][measure][user] for seed in sorted(tasks)]


def _count(row: str, tasks: Tasks) -> Again | None:
    """How many figures of a row of Table 2 are reproduced."""
    if not tasks:
        return None
    several = [tasks[seed] for seed in sorted(tasks)]
    return again({"row": row, **{measure: [one[measure] for one in several] for measure in ("error", "minus")}})


def missed(row: str, tasks: Tasks) -> list[str]:
    """The figures that are worse than those of Table 2 by more than three standard errors, beside these."""
    found = []
    for user in range(len(USERS)) if tasks else ():
        printed = printed_of_user(row, user)
        assert printed is not None
        for measure, words, (value, deviation) in zip(("error", "minus"), ("error", "F"), printed, strict=True):
            values = of_user(tasks, measure, user)
            if worse(values, value, deviation, SHUFFLES, high_is_good=measure == "minus"):
                found.append(f"{USERS[user]} {words} {shown(figure(values, digits=2))} against {value:.2f}")
    return found


# --- a pick, and the search that named it ---


class Tried(NamedTuple):
    """A pick and its figures: where it was picked, on fresh shuffles, as taken there, and in earlier tries."""

    name: str
    named: bool
    """Whether the search names it now."""
    there: Again
    row: str
    """The row of Table 2 that the figures are compared with."""
    reading: str
    fresh: Tasks
    control: Tasks
    earlier: Tasks

    @property
    def counts(self) -> tuple[Again | None, Again | None]:
        """On fresh shuffles, and as taken there."""
        return _count(self.row, self.fresh), _count(self.row, self.control)

    @property
    def whole(self) -> Again | None:
        """On fresh shuffles and those of earlier tries together."""
        return _count(self.row, self.earlier | self.fresh)

    def on(self, shuffles: range) -> Again | None:
        """On those of an earlier try."""
        return _count(self.row, {seed: tasks for seed, tasks in self.earlier.items() if seed in shuffles})

    @property
    def verdict(self) -> str:
        """Whether the pick brings back what is missed; not if earlier tries, counted in, say otherwise."""
        (fresh, control), whole = self.counts, self.whole
        if fresh is None or control is None or whole is None:
            return "not tried again yet"
        if fresh.good <= control.good:
            return "not reproduced"
        return "reproduced" if fresh.good == whole.good == fresh.of else "reproduced in part"

    @property
    def outcome(self) -> str:
        """The count on fresh shuffles, what is missed there, and what is missed if earlier tries are counted in."""
        fresh, whole = self.counts[0], self.whole
        if fresh is None or whole is None:
            return "not run yet"
        told = f"{fresh}{_lacking(self.row, self.fresh)}"
        if whole.good < whole.of and self.earlier:
            together = self.earlier | self.fresh
            told += f", but with those of earlier tries, {len(together)} in all, {whole}{_lacking(self.row, together)}"
        return told


def _lacking(row: str, tasks: Tasks) -> str:
    lacks = missed(row, tasks)
    return f" (missed: {', '.join(lacks)})" if lacks else ""


class Search(NamedTuple):
    """The picks of a search, nearest first, among what they were picked, and what it names beside them."""

    kind: str
    among: str
    picks: list[Tried]
    untried: dict[str, Again]

    @property
    def verdict(self) -> str:
        """The best of its picks'."""
        return min((one.verdict for one in self.picks), key=VERDICTS.index)

    def __str__(self) -> str:
        first, alone = self.picks[0], len(self.picks) == 1
        like = sum(one.verdict == self.verdict for one in self.picks)
        told = f"{self.verdict} with " + (f"'{first.name}'" if alone else f"{like} of {len(self.picks)} {self.kind}")
        told += f", picked among {self.among} for fitting the published figures"
        told += f" (there {first.there})" if alone else ""
        if self.untried:
            told += f" (the search now names {_quoted(self.untried)}, not tried again)"
        if old := [one.name for one in self.picks if not one.named]:
            told += f" (it does not name {_quoted(old)} any more)"
        shuffles, control = max(len(one.fresh) for one in self.picks), first.counts[1]
        if not shuffles or control is None:
            return told
        outcomes = first.outcome if alone else "; ".join(f"'{one.name}' {one.outcome}" for one in self.picks)
        return f"{told}: on {shuffles} fresh shuffles {outcomes}{',' if alone else ';'} and as taken {control}"


def _quoted(names: Iterable[str]) -> str:
    return ", ".join(f"'{name}'" for name in names)


def searches(who: str, results: Results) -> list[Search]:
    """The searches for a row whose picks were tried again: one; two for OMTL, of the update and of the rows."""
    if who == OMTL:
        return [one for pick in OMTL_PICKED if (one := _variants(pick, results)) is not None]
    if who not in PICKED:
        return []
    batch = who in BATCH
    known = _regularised(who, results) if batch else _read(who, results)
    names = [_nearest(known)] if batch and known else _tied(known)
    fresh, picks = gathered("confirming", results), []
    for row, reading, parameters, tries in PICKED[who]:
        name = "; ".join(regularised(reading, *pair) for pair in parameters.items()) or reading
        if name in known:
            ours, control = (fresh.get((row, at, "rounds"), {}) for at in (reading, TAKEN[MAILS]))
            earlier = {seed: tasks for seed, tasks in ours.items() if any(seed in one for one in tries)}
            new = {seed: tasks for seed, tasks in ours.items() if seed not in earlier}
            picks.append(Tried(name, name in names, known[name], row, reading, new, control, earlier))
    if not picks:
        return []
    kind = "regularisers and readings" if batch else "readings"
    among = f"{len(known)} {kind} on {_shuffles('regularisers' if batch else 'reading', results)}"
    return [_search(kind, among, picks, {name: known[name] for name in names})]


def _variants(pick: Variant, results: Results) -> Search | None:
    known = {one: count for one, count in variant_counts(results).items() if one.elsewhere == pick.elsewhere}
    known.pop(AS_TAKEN, None)
    if pick not in known:
        return None
    named = _nearest({str(one): count for one, count in known.items()})
    fresh = gathered("confirming", results)
    ours, control = (fresh.get((one.row, one.reading, one.order), {}) for one in (pick, AS_TAKEN))
    kind = "readings of the rows" if pick.elsewhere else "updates and orders"
    among = f"{len(known)} other {kind} on {_shuffles('variants', results)}"
    tried = Tried(str(pick), str(pick) == named, known[pick], OMTL, pick.reading, ours, control, {})
    return _search(kind, among, [tried], {str(one): known[one] for one in known if str(one) == named})


def _search(kind: str, among: str, picks: list[Tried], named: dict[str, Again]) -> Search:
    ordered = sorted(picks, key=lambda one: (-one.there.good, one.there.distance))
    have = {one.name for one in picks}
    return Search(kind, among, ordered, {name: count for name, count in named.items() if name not in have})


# --- what searches name ---


def _read(who: str, results: Results) -> dict[str, Again]:
    return {reading: rows[who] for reading, rows in had_again(results).items() if who in rows}


def _tied(known: dict[str, Again]) -> list[str]:
    """All readings with as many figures as the best one; the one of the tables is run beside every pick anyway."""
    most = max((count.good for count in known.values()), default=0)
    return [name for name, count in known.items() if count.good == most and not taken(name)]


def _nearest(known: dict[str, Again]) -> str:
    return max(known, key=lambda name: (known[name].good, -known[name].distance))


def _regularised(who: str, results: Results) -> dict[str, Again]:
    return {
        regularised(settings["reading"], one["parameter"], value): again(
            {"row": who, "error": [error], "minus": [minus]}
        )
        for settings, figures in results
        if settings["what"] == "regularisers" and settings["set"] == MAILS
        for one in figures["rows"]
        if one["row"] == who
        for value, error, minus in zip(one["values"], one["error"], one["minus"], strict=True)
    }


def variant_counts(results: Results) -> dict[Variant, Again]:
    """All variants of OMTL that have been run, in their order."""
    runs = gathered("variants", results)
    counts = ((one, _count(OMTL, runs.get((one.row, one.reading, one.order), {}))) for one in VARIANTS)
    return {one: count for one, count in counts if count is not None}


def _shuffles(what: str, results: Results) -> str:
    seeds = sorted(
        {seed for told, _ in results if (told["what"], told["set"]) == (what, MAILS) for seed in told["shuffles"]}
    )
    return f"shuffles {seeds[0]} to {seeds[-1]}" if len(seeds) > 1 else f"shuffle {seeds[0]}"
