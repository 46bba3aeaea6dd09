"""What `today` shows: who errs least on average, stream by stream with cost, and auto against everybody."""

import math

import numpy as np

from weft.drawing.charts import Bars, Picture
from weft_reproduction.experiment import Cell, Figure, Report, Results, Table
from weft_reproduction.judgement import mean_and_error
from weft_reproduction.today.board import Board, board, joined
from weft_reproduction.today.claims import claims, compared, percent
from weft_reproduction.today.rows import ABSENT, OURS, ROWS, THEIRS

LARGE = "too large"
NONE = ""
SHOWN = 12
"""Streams and rows beyond which a picture could not be read."""
# Peers that have bars: with one more, two groups would have the same colour.
IN_BARS = tuple(row for row in THEIRS if row != "river (scaler)")


def report(results: Results) -> Report:
    """Tables, pictures and claims, from whatever cells are finished."""
    found = board(results)
    tables = [_summary(found, "error", 100.0, 2), _summary(found, "log_loss", 1.0, 4), _against(found)]
    tables += [_stream(found, stream) for stream in found.streams]
    tables.append(_left_out(found))
    return Report(tables=tables, pictures=(_front(found), _bars(found)), claims=claims(found))


# --- all streams at a glance ---


def _summary(found: Board, measure: str, scale: float, digits: int) -> Table:
    """Rows by their mean rank; the least of a stream has a star."""
    least = {s: min(_known(found, s, measure), default=math.nan) for s in found.streams}
    rows: list[list[Cell]] = []
    for row, mean in found.mean_ranks(measure).items():
        cells: list[Cell] = [row, Figure(mean, digits=1)]
        for stream in found.streams:
            value = found.mean(row, stream, measure)
            star = " *" if value is not None and value == least[stream] else ""
            cells.append(_missing(found, row, stream) if value is None else f"{scale * value:.{digits}f}{star}")
        rows.append([*cells, *_cost(found, row)])
    title = "Error, %" if measure == "error" else "Log-loss, of those whose scores are log-odds"
    note = (
        "With the parameter chosen on the leading tenth; nine tenths count. * is the lowest on a stream. Ranks "
        "are among "
        "all rows of the table, 1 the lowest; who finds a stream too large shares the last rank there. Time and memory "
        "are geometric means over the streams. Learners of the catalogue get a stream as one table, peers event by "
        "event from Python, which is how each is used; their time holds the making of their rows. Memory: of the "
        "catalogue all arrays of the state; of Vowpal Wabbit its table of 2^22 entries; of scikit-learn the weights; "
        "of river what it counts itself, and 16 bytes for each of its weights, which it does not see."
    )
    head = ["row", "mean rank", *found.streams, "µs per event", "kB"]
    other = "The parameter was chosen by errors, not by log-loss; p is clipped at 1e-6. Else as above."
    return Table(f"{title}: all streams", head, rows, note if measure == "error" else other)


def _known(found: Board, stream: str, measure: str) -> list[float]:
    values = [found.mean(row, stream, measure) for row in found.rows]
    return [value for value in values if value is not None]


def _missing(found: Board, row: str, stream: str) -> Cell:
    return LARGE if found.too_large(row, stream) else None


def _cost(found: Board, row: str) -> list[Cell]:
    seconds, size = found.typical(row, "seconds"), found.typical(row, "bytes")
    if seconds is None or size is None:
        return [None, None]
    return [Figure(1e6 * seconds, digits=1), Figure(size / 1e3, digits=0)]


def _against(found: Board) -> Table:
    """auto beside every other row, the strongest first."""
    rows: list[tuple[float, list[Cell]]] = []
    for other in found.rows:
        result = compared(found, "error", "auto", other) if other != "auto" else None
        if result is not None:
            test, worse = result
            change = Figure(percent(test.difference), digits=1)
            rows.append((-test.difference, [other, change, Figure(test.p, digits=4), test.pairs, joined(worse)]))
    rows.sort(key=lambda pair: pair[0])
    note = (
        "Change of the error, in per cent, geometric mean over the streams that both ran on: minus is in favour of "
        "auto. p is one-sided, and not corrected for the number of rows."
    )
    head = ["row", "auto's error to its", "p", "streams", "where the row errs less than auto"]
    return Table("auto against everybody, the strongest first", head, [row for _, row in rows], note)


# --- a stream ---


def _stream(found: Board, stream: str) -> Table:
    ran = {row: found.mean(row, stream, "error") for row in found.rows}
    rows: list[list[Cell]] = [
        _line(found, row, stream)
        for row, _ in sorted(((r, e) for r, e in ran.items() if e is not None), key=lambda pair: pair[1])
    ]
    rows += [[row, *[LARGE] * 7] for row in found.rows if found.too_large(row, stream)]
    known = [one for (_, at), figures in found.found.items() if at == stream for one in figures if "events" in one]
    note = "Lowest error first."
    if known:
        positive = float(np.mean([one["positive"] for one in known]))
        always = 100.0 * min(positive, 1.0 - positive)
        note += f" {known[0]['events']:,} events count; who always says the commoner label errs on {always:.2f} %."
    head = ["row", "chosen", "error, %", "with defaults", "log-loss", "AUC", "µs per event", "kB"]
    return Table(stream, head, rows, note)


def _line(found: Board, row: str, stream: str) -> list[Cell]:
    def figure(measure: str, digits: int, scale: float = 1.0, which: str = "tuned") -> Cell:
        values = found.values(row, stream, measure, which)
        if not values:
            return NONE
        mean, error = mean_and_error(values)
        return Figure(scale * mean, None if error is None else scale * error, digits=digits)

    return [
        row,
        _chosen(found, row, stream),
        figure("error", 2, 100.0),
        figure("error", 2, 100.0, "default"),
        figure("log_loss", 4),
        figure("auc", 4),
        figure("seconds", 1, 1e6),
        figure("bytes", 0, 1e-3),
    ]


def _chosen(found: Board, row: str, stream: str) -> str:
    """The parameter of every order; "default" where nothing of the grid was better on the tenth."""
    told = ROWS[row]
    if not told.tuned:
        return NONE
    places = dict.fromkeys(one["chosen"] for one in found.found[row, stream] if "chosen" in one)
    parameters = " = ".join(told.tuned)
    return "; ".join("default" if place == 0 else f"{parameters} = {told.grid[place - 1]:g}" for place in places)


def _left_out(found: Board) -> Table:
    rows: list[list[Cell]] = [
        [row, stream, reason]
        for row in found.rows
        for stream in found.streams
        if (reason := found.too_large(row, stream))
    ]
    rows += [[name, "all", reason] for name, reason in ABSENT.items()]
    note = "Limits are on sizes, known before anything is run; they keep runs short, and are not the learners' own."
    return Table("Who is not there, and why", ["name", "stream", "why"], rows, note)


# --- pictures ---


def _front(found: Board) -> Picture:
    """Rows that no other beats in both mean rank and time; and the default and the peers, wherever they are."""
    ranks = found.mean_ranks("error")
    costs = {row: found.typical(row, "seconds") for row in ranks}
    points = sorted((1e6 * cost, rank, row) for row, rank in ranks.items() if (cost := costs[row]) is not None)
    front: list[tuple[float, float, str]] = []
    for point in points:
        if not front or point[1] < front[-1][1]:
            front.append(point)
    lines = {"nobody is both faster and better": ([x for x, _, _ in front], [y for _, y, _ in front])}
    lines |= {row: ([x], [y]) for x, y, row in points if row in ("auto", "adaptive", *THEIRS)}
    note = f"On the line, from left to right: {joined([row for _, _, row in front])}."
    return Picture("Mean rank by error against time", lines, "µs per event, geometric mean", "mean rank", True, note)


def _bars(found: Board) -> Bars:
    """auto, the best of the others in the catalogue, which is known only afterwards, and peers."""
    others = [row for row in OURS if row not in ("auto", "adaptive")]
    streams = found.streams[:SHOWN]
    groups = {
        "auto": ["auto"],
        "best other learner, in hindsight": others,
        **{peer: [peer] for peer in IN_BARS if peer in found.rows},
    }
    bars = {name: ([_least(found, rows, stream) for stream in streams],) for name, rows in groups.items()}
    note = (
        "The best of the other learners, adaptive left out, is known only afterwards: nobody could have chosen it. "
        "river behind its scaler is in the tables only."
    )
    return Bars("Error, %", streams, bars, "error, %", note)


def _least(found: Board, rows: list[str], stream: str) -> float:
    known = [value for row in rows if (value := found.mean(row, stream, "error")) is not None]
    return 100.0 * float(np.min(known)) if known else math.nan
