"""The claims of Sec. 6 of Yang, Zhao and Gao (2017), judged by pairs over the reported shuffles."""

from collections.abc import Mapping, Sequence

import numpy as np

from weft_reproduction.experiment import Claim, Results
from weft_reproduction.judgement import NOT_RUN, lower, on_other_data, worse
from weft_reproduction.robust.confirming import moved, no_single_reading
from weft_reproduction.robust.protocol import SETS, SHORT, STAND_INS
from weft_reproduction.robust.published import SHUFFLES, TABLE2, TABLE3, USERS, Run, Runs, printed_of_user, row_like
from weft_reproduction.robust.rows import BATCH, NO_U, NO_V, ROMCO, SAME_STEPS, ZERO

Comparisons = list[tuple[str, list[float], list[float]]]
ONLINE = ("PA-Global", "PA-Unique", "CW-COL", "OMTL", "OSMTL-e", "OMTLVON", "OMTLLOG")


def claims(runs: Runs, results: Results) -> list[Claim]:
    """What the paper says, as the reported shuffles judge it; of figures that are missed, what other cells say."""
    found = [_figures(runs.get("pu_spam", {}), results), *(_other_data(name) for name in STAND_INS)]
    for name in SETS:
        here = runs.get(name, {})
        found += [_leads(name, here, measure) for measure in ("error", "f")]
        found.append(_batch(name, here))
    found.append(_each_user(runs.get("pu_spam", {})))
    for name in SETS:
        here = runs.get(name, {})
        found += [_logd(name, here), _parts(name, here), _structure(name, here)]
    found.append(_jointly(runs.get("mhc1", {})))
    found.append(_orders(runs.get("mhc1", {})))
    return found + _times(runs)


# --- the figures themselves ---


def _figures(here: Mapping[str, Run], results: Results) -> Claim:
    text = "Spam Email: error rates and F-measures can be reproduced, within three standard errors or better."
    rows = {who: row_like(who, dict(here)) for who in TABLE2}
    if any(row not in here or len(here[row].error) < 2 for row in rows.values()):
        return Claim(text, "Table 2", "not testable here", NOT_RUN)
    missed: dict[str, list[str]] = {}
    count = 0
    for who, row in rows.items():
        for user in range(len(USERS)):
            printed = printed_of_user(row, user)
            assert printed is not None
            for measure, (figure, deviation) in zip(("error", "minus"), printed, strict=True):
                ours = here[row].of_task(measure, user)
                count += 1
                if worse(ours, figure, deviation, SHUFFLES, high_is_good=measure == "minus"):
                    words = "error" if measure == "error" else "F"
                    told = f"{USERS[user]} {words} {np.mean(ours):.2f} against {figure:.2f}"
                    missed.setdefault(who, []).append(told)
    good = count - sum(map(len, missed.values()))
    why = f"{good} of {count}, the paper's brackets being deviations over {SHUFFLES} shuffles."
    if missed:
        why += f" Not: {'; '.join(who + ' ' + ', '.join(told) for who, told in missed.items())}."
        why += " What moves them (figures within the limits or better, those that are better by more, mean distance): "
        why += f"{'; '.join(moved(who, results) for who in missed)}. {no_single_reading(results)}"
    return Claim(text, "Table 2", "not confirmed" if missed else "confirmed", why)


def _other_data(name: str) -> Claim:
    table = {"mhc1": "Table 4", "movielens_cf": "Table 5"}[name]
    return Claim(
        f"{SHORT[name]}: error rates and F-measures of all learners can be reproduced.",
        table,
        "not testable here",
        "The paper's data are not available; others stand in for them.",
    )


# --- who is better ---


def _values(run: Run, measure: str) -> list[float]:
    """Per shuffle, the mean of the tasks, lower being better; "f" is what the mean of both F-measures lacks to 100."""
    if measure == "error":
        return run.mean("error")
    return [100.0 - (a + b) / 2.0 for a, b in zip(run.mean("plus"), run.mean("minus"), strict=True)]


def _compared(here: Mapping[str, Run], pairs: Sequence[tuple[str, str]], measure: str = "error") -> Comparisons:
    """(ours against other, ours, other's) for pairs of rows; empty if anything is missing."""
    if any(row not in here for pair in pairs for row in pair):
        return []
    found = [
        (f"{ours} against {other}", _values(here[ours], measure), _values(here[other], measure))
        for ours, other in pairs
    ]
    return found if all(len(ours) == len(theirs) for _, ours, theirs in found) else []


def _judged(name: str, text: str, where: str, comparisons: Comparisons) -> Claim:
    """As the pairs say; on data that stand in for the paper's they say something, and not about its claim."""
    claim = lower(f"{SHORT[name]}: {text}", where, comparisons)
    return on_other_data(claim) if name in STAND_INS else claim


_WHERE = {"pu_spam": "Sec. 6.2", "mhc1": "Sec. 6.3", "movielens_cf": "Sec. 6.4"}


def _leads(name: str, here: Mapping[str, Run], measure: str) -> Claim:
    words = {"error": "error rate", "f": "F-measures (compared: what their mean lacks to 100)"}[measure]
    pairs = [(ours, row_like(other, dict(here))) for ours in ROMCO for other in ONLINE]
    text = f"both ROMCO outperform the seven other online learners in {words}."
    return _judged(name, text, _WHERE[name], _compared(here, pairs, measure))


def _batch(name: str, here: Mapping[str, Run]) -> Claim:
    pairs = [(ours, other) for ours in ROMCO for other in BATCH]
    return _judged(
        name, "both ROMCO have lower error rates than the batch learners.", "Sec. 6.2", _compared(here, pairs)
    )


def _each_user(here: Mapping[str, Run]) -> Claim:
    text = "Spam Email: with both structures every user has a lower error rate than by the global or by an own model."
    found: Comparisons = []
    for user, ours, other in ((u, o, p) for u in range(4) for o in ROMCO for p in ("PA-Global", "PA-Unique")):
        if ours not in here or other not in here or len(here[ours].error) != len(here[other].error):
            return lower(text, "Sec. 6.2", [])
        mine, theirs = (here[row].of_task("error", user) for row in (ours, other))
        found.append((f"{USERS[user]}, {ours} against {other}", mine, theirs))
    return lower(text, "Sec. 6.2", found)


def _logd(name: str, here: Mapping[str, Run]) -> Claim:
    found = [*_compared(here, [ROMCO[::-1]]), *_compared(here, [ROMCO[::-1]], "f")]
    named = [(f"{words}: {who}", a, b) for words, (who, a, b) in zip(("error", "F"), found, strict=bool(found))]
    text = "the log-determinant is better than the nuclear norm, in error rate and F-measures."
    return _judged(name, text, "Sec. 6.4 and 7", named)


def _parts(name: str, here: Mapping[str, Run]) -> Claim:
    """Each part taken away; what is left has its own parameters."""
    pairs = [(who, other) for who in ROMCO for other in (NO_V[who], NO_U)]
    text = "both parts, low rank and personal, make the error rate lower; each alone has its own parameters."
    return _judged(name, text, "Sec. 6.4", _compared(here, pairs))


def _structure(name: str, here: Mapping[str, Run]) -> Claim:
    """The question that the paper does not ask: is it the structure, or the size of the steps?"""
    own = "PA-Unique, own C"
    pairs = [(who, other) for who in ROMCO for other in (SAME_STEPS[who], ZERO, own)]
    text = (
        "the gain is one of the structure: ROMCO has a lower error rate than with its steps and lambdas 0, than with "
        "lambdas 0 and steps of their own, and than PA-Unique with its own C."
    )
    return _judged(name, text, "implied by Sec. 6.2 to 6.4", _compared(here, pairs))


def _jointly(here: Mapping[str, Run]) -> Claim:
    text = "learning jointly has lower error rates than learning alone: ROMCO and OMTL against PA-Unique."
    return _judged("mhc1", text, "Sec. 6.3", _compared(here, [(who, "PA-Unique") for who in (*ROMCO, "OMTL")]))


def _orders(here: Mapping[str, Run]) -> Claim:
    text = "MHC-I: the order of the rows has little influence on any learner."
    spread = {row: float(np.std(run.mean("error"), ddof=1)) for row, run in here.items() if len(run.error) > 1}
    if not spread:
        return Claim(text, "Sec. 6.3", "not testable here", NOT_RUN)
    most = max(spread, key=lambda row: spread[row])
    tasks = float(np.std(np.mean(here[most].error, axis=0), ddof=1))
    why = (
        "The paper's data are not available. On those that stand in for them the error rate deviates over the shuffles "
        f"by at most {spread[most]:.2f} points ({most}), over the tasks by {tasks:.1f}. The paper's brackets, of 3 to "
        "6 points, look like deviations over tasks."
    )
    return Claim(text, "Sec. 6.3", "not testable here", why)


# --- times ---


def _times(runs: Runs) -> list[Claim]:
    films = runs.get("movielens_cf", {})
    batch = [(name, ours, other) for name in SETS for ours in ROMCO for other in BATCH]
    quick = [(name, row_like(other, dict(runs.get(name, {}))), ours) for name in SETS for ours in ROMCO
             for other in ("CW-COL", "OMTLVON", "OMTLLOG", "OSMTL-e")]  # fmt: skip
    return [
        lower(
            "ROMCO is faster than batch learners (logarithm of seconds; these fit only when their rows have doubled).",
            "Sec. 6.2, Table 3",
            _seconds(runs, batch),
        ),
        _hundred(films),
        lower(
            "CW-COL, OMTLVON, OMTLLOG and OSMTL-e are faster than ROMCO (logarithm of seconds).",
            "Sec. 6.2, Table 3",
            _seconds(runs, quick),
        ),
    ]


def _seconds(runs: Runs, wanted: Sequence[tuple[str, str, str]]) -> Comparisons:
    found: Comparisons = []
    for name, ours, other in wanted:
        here = runs.get(name, {})
        if ours not in here or other not in here or len(here[ours].seconds) != len(here[other].seconds):
            return []
        pair = [np.log(np.maximum(here[row].seconds, 1e-6)).tolist() for row in (ours, other)]
        found.append((f"{SHORT[name]}, {ours} against {other}", *pair))
    return found


def _hundred(here: Mapping[str, Run]) -> Claim:
    text = "Films: ROMCO could be more than 100 times faster than MTFL."
    where, printed = "Sec. 6.2", TABLE3["MTFL"][2] / TABLE3["ROMCO-LogD"][2]
    told = f"The figures that the paper gives for it, 28.72 and 302.17 s, have the ratio {printed:.1f}."
    if "MTFL" not in here or "ROMCO-LogD" not in here:
        return Claim(text, where, "not testable here", f"{NOT_RUN} {told}")
    ratio = float(np.median(here["MTFL"].seconds) / np.median(here["ROMCO-LogD"].seconds))
    why = (
        f"{told} In this program, on films that stand in for the paper's, and with MTFL fitted only when its rows have "
        f"doubled, it is {ratio:.3g}."
    )
    return Claim(text, where, "not confirmed", why)
