"""What Yang, Zhao and Gao (2017) leave open, what was taken, and what it moves: on shuffles that are not reported."""

import numpy as np

from weft_reproduction.experiment import Choice, Results
from weft_reproduction.judgement import paired
from weft_reproduction.robust.protocol import SETS, SHORT, TITLES
from weft_reproduction.robust.published import Runs
from weft_reproduction.robust.readings import words
from weft_reproduction.robust.rows import BATCH, CONDITIONS, ROMCO, ZERO


def choices(runs: Runs, results: Results) -> list[Choice]:
    """All that is left open: about the rows first, then about the learners."""
    return [*_about_rows(results), *_about_learners(runs, results)]


def _about_rows(results: Results) -> list[Choice]:
    return [
        Choice(
            "Which 1,458 features mails have. The four users' words are numbered each in their own way, so that a "
            "column means four different words; the paper's text does not mention it.",
            "The 1,458 columns that most mails have, as numbered: log(1 + count) times log(n / mails with it), rows of "
            "length 1. Earlier trials had compared readings with the paper's figures, and found this one nearest. The "
            "others were tried when errors of this one had been seen on shuffles 1000 to 1002, to learn where the "
            "paper's gain comes from; all of these are in the table, on other shuffles of the same mails. Later still, "
            "to see what moves OMTL, fifteen other choices of columns and weights (total counts, information gain, "
            "presence and the like) were looked at on shuffles 4000 to 4009. The two that brought most figures back, "
            "columns by their mean share of users and an idf of every user, were then added to the table, and are "
            "picks like the others; the rest is not part of these runs.",
            _scaled_or_not(results),
        ),
        Choice(
            "Which 400 features peptides have, and which alleles.",
            "Counts of the 400 pairs of neighbouring amino acids, rows of length 1; the twelve alleles with the most "
            "peptides, 1,555 of each, drawn anew in every shuffle.",
            "The table of readings: letters by their places (180 columns), and a constant column.",
        ),
        Choice(
            "How ratings are scaled.", "Rows of length 1; the first thirty users of the file.", "Table of readings."
        ),
        Choice(
            "How tasks of different sizes meet in rounds.",
            "Round t has row t of every task that still has one: of the mails, most rounds are User3's alone.",
            "The table of readings has one row a round, in one random order, beside it.",
        ),
        Choice(
            "What a score of exactly 0 predicts.",
            "+1: spam, a binder, a film that is liked.",
            _zeros(results),
        ),
    ]


def _about_learners(runs: Runs, results: Results) -> list[Choice]:
    return [
        Choice(
            "Whether OSMTL-e, OMTLVON and OMTLLOG learn on mistakes or on margins below 1.",
            "Both are rows. Claims and curves take the better one on the shuffle that decided.",
            _conditions(runs),
        ),
        Choice(
            "The grid of ROMCO: four parameters of 1e-6 to 1 are 2,401 runs.",
            "Steps of 0.001 to 1, lambdas of 1e-6 to 1: 784. For films in turns: steps, lambdas, and again. "
            "Settled by the time that runs took.",
            _grids(runs),
        ),
        Choice(
            "The grids of CW-COL, OSMTL-e, OMTLVON and OMTLLOG, which are not named.",
            "r 0.01 to 100, mix 0.1 to 0.9; alpha 0.1 to 0.9, lam 0.1 to 10; rate 0.001 to 1, relations learned from a "
            "tenth or from half of the rows on.",
            "The tables of parameters have the worst of each grid.",
        ),
        Choice(
            "How often batch learners are fitted: the paper's after every 100 rows.",
            "After 100, 200, 400 ... rows, since a fit to convergence takes seconds; MTFL with eps = 0.01 for the same "
            "reason. This was settled after first runs had taken too long; their error rates had been seen.",
            _refits(results),
        ),
        Choice(
            "The batch learners' regularisers: the paper's have 'default values'.",
            "The defaults of this library: gamma = 1 and lam = 0.01; others in a table of the mails.",
            _regularisers(results),
        ),
        Choice(
            "What COML's successor CW-COL is, which the paper cites and does not define.",
            "The learner of this library: a mixture by precisions, then a step of AROW.",
            "Not measured.",
        ),
    ]


def _scaled_or_not(results: Results) -> str:
    """ROMCO against PA as the paper has it, and against itself without penalties, under every reading of the mails."""
    said = []
    for settings, figures in results:
        if settings["what"] == "reading" and settings["set"] == "pu_spam":
            error = {one["row"]: (100.0 * np.mean(one["error"], axis=1)).tolist() for one in figures["rows"]}
            ours = error["ROMCO-NuCl"]
            gaps = (f"against {other} {paired(ours, error[other])}" for other in ("PA-Unique", ZERO))
            said.append(f"{words(settings)}: ROMCO-NuCl {', '.join(gaps)}")
    return f"Points of error on shuffles that are not reported. {'; '.join(said)}." if said else "Not run yet."


def _zeros(results: Results) -> str:
    """The largest share of scores that are 0, of the online and of the batch learners: no figure could move by more."""
    said = []
    for name in SETS:
        shares = {
            batch: [
                100.0 * float(np.mean(one["zero"]))
                for settings, figures in results
                if settings["what"] == "reported" and settings["set"] == name
                for one in figures["rows"]
                if (one["row"] in BATCH) == batch
            ]
            for batch in (False, True)
        }
        if shares[False] and shares[True]:
            said.append(f"{SHORT[name]} {max(shares[False]):.2f} and {max(shares[True]):.2f} %")
    told = "Share of scores that are 0, mean of the tasks, at most (online, batch learners before their first fit)"
    return f"{told}: {'; '.join(said)}. No error rate could move by more." if said else "Not run yet."


def _conditions(runs: Runs) -> str:
    said = []
    for name in SETS:
        for who in ("OSMTL-e", "OMTLVON", "OMTLLOG"):
            rows = [runs.get(name, {}).get(f"{who}, {condition}") for condition in CONDITIONS]
            if all(rows):
                a, b = (float(np.mean(row.mean("error"))) for row in rows if row)
                said.append(f"{SHORT[name]}, {who}: {a:.2f} / {b:.2f} %")
    return f"Error on mistakes / on margins: {'; '.join(said)}." if said else "Not run yet."


def _grids(runs: Runs) -> str:
    """Whether what was chosen lies at an end of its grid, where a larger one might have found more."""
    said = []
    for name in SETS:
        for who in ROMCO:
            run = runs.get(name, {}).get(who)
            if run is not None:
                ends = [key for key, value in run.parameters.items() if value in _ends(key)]
                said.append(f"{SHORT[name]}, {who}: {', '.join(ends) or 'none'}")
    return f"Parameters that lie at an end of the grid: {'; '.join(said)}." if said else "Not run yet."


def _ends(parameter: str) -> tuple[float, float]:
    return (1e-3, 1.0) if parameter.startswith("eta") else (1e-6, 1.0)


def _refits(results: Results) -> str:
    said = [
        f"{SHORT[settings['set']]}, {one['row']}: {100 * one['doubled']:.1f} / {100 * one['every']:.1f} %, "
        f"{one['times']:.1f} times the seconds"
        for settings, figures in results
        if settings["what"] == "refits"
        for one in figures["rows"]
    ]
    return f"On about 1,000 rows, error so / at every 100 rows: {'; '.join(said)}." if said else "Not run yet."


def _regularisers(results: Results) -> str:
    said = []
    for settings, figures in results:
        if settings["what"] == "regularisers":
            for one in figures["rows"]:
                pairs = zip(one["values"], one["error"], strict=True)
                told = ", ".join(f"{value:g}: {100 * np.mean(tasks):.2f} %" for value, tasks in pairs)
                said.append(f"{TITLES[settings['set']].split(' (')[0]}, {one['row']} with {one['parameter']} = {told}")
    return f"Error on the shuffle that decides: {'; '.join(said)}." if said else "Not run yet."
