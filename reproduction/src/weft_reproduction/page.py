"""One page of HTML with everything that the experiments show: no scripts, no other files, no addresses.

It reads on a telephone (tables scroll in boxes of their own) and in the dark (the system's setting).
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

from weft import __version__
from weft.streams.known import describe
from weft_reproduction.drawing import draw, names, swatch
from weft_reproduction.experiment import Bars, Cell, Choice, Claim, Experiment, Figure, Picture, Report, Table
from weft_reproduction.judgement import STATISTIC
from weft_reproduction.page_style import STYLE
from weft_reproduction.writing import about, number, ours, published


@dataclass(frozen=True)
class Section:
    """An experiment, what it shows, how many of its cells are finished, and whether they are the quick ones."""

    experiment: Experiment
    report: Report
    finished: int
    cells: int
    quick: bool = False


def render(sections: Sequence[Section]) -> str:
    """The page, as XML that browsers take for HTML."""
    body = "\n".join([_head(sections), *(_section(section) for section in sections), _foot()])
    return (
        '<!DOCTYPE html>\n<html lang="en"><head><meta charset="utf-8"/>'
        '<meta name="viewport" content="width=device-width, initial-scale=1"/>'
        '<meta name="color-scheme" content="light dark"/>'
        f"<title>The papers, re-run</title><style>{STYLE}</style></head>\n<body><main>\n{body}\n</main></body></html>\n"
    )


def _text(text: str) -> str:
    """Text for XML, in which control characters are not allowed."""
    return escape("".join(character if character >= " " or character in "\t\n" else "\ufffd" for character in text))


def _head(sections: Sequence[Section]) -> str:
    finished, cells = sum(s.finished for s in sections), sum(s.cells for s in sections)
    counts = Counter(claim.judgement for section in sections for claim in section.report.claims)
    told = ", ".join(f"{count} {judgement}" for judgement, count in sorted(counts.items())) or "none"
    quick = " These are quick runs: few shuffles of small streams, whose judgements mean little." if any(
        section.quick for section in sections
    ) else ""  # fmt: skip
    links = "".join(
        f'<li><a href="#{s.experiment.name}">{_text(s.experiment.name)}</a>: {_text(s.experiment.title)}</li>'
        for s in sections
    )
    return (
        f"<h1>The papers, re-run</h1>\n<p>Made by <code>weft reproduce</code>, version {__version__}; "
        f"{finished:,} of {cells:,} cells are finished.{quick} Claims: {told}.</p>\n<ul>{links}</ul>\n"
        f"<h2>All claims</h2>\n{_all_claims(sections)}\n<p class='note'>{_text(STATISTIC)}</p>"
    )


def _foot() -> str:
    return (
        "<p class='note'>± is the standard error of the mean over shuffles or made-up streams. "
        "<span class='paper'>paper</span> is what the paper prints. Where a cell says “not run”, its figures were not "
        "there when the page was made.</p>"
    )


def _section(section: Section) -> str:
    experiment, report = section.experiment, section.report
    missing = section.cells - section.finished
    partial = f"<p class='missing'>{missing:,} of {section.cells:,} cells are missing.</p>" if missing else ""
    parts = [
        f"<h2 id='{experiment.name}'>{_text(experiment.name)}: {_text(experiment.title)}</h2>",
        f"<p class='source'>{_text(experiment.paper)}</p>",
        partial,
        *(f"<p>{_text(paragraph)}</p>" for paragraph in about(experiment)),
        _data(experiment),
        *(_table(table) for table in report.tables),
        _pictures(report.pictures),
        _claims(report.claims) if report.claims else "",
        _choices(report.choices) if report.choices else "",
    ]
    return f"<section>\n{chr(10).join(filter(None, parts))}\n</section>"


def _data(experiment: Experiment) -> str:
    if not experiment.data:
        return "<p class='note'>Data: made up, from the seeds in the settings.</p>"
    known = [describe(name) for name in experiment.data]
    told = "; ".join(f"<b>{_text(k.name)}</b>, {_text(k.about)} ({_text(k.origin)}; {_text(k.terms)})" for k in known)
    return f"<p class='note'>Data: {told}.</p>"


def _box(head: Sequence[str], rows: Sequence[str], kind: str = "") -> str:
    columns = "".join(f"<th scope='col'>{_text(column)}</th>" for column in head)
    return (
        f"<div class='box' tabindex='0'><table class='{kind}'><thead><tr>{columns}</tr></thead>"
        f"<tbody>{chr(10).join(rows)}</tbody></table></div>"
    )


def _table(table: Table) -> str:
    rows = [
        "<tr>" + f"<th scope='row'>{_cell(row[0])}</th>" + "".join(_entry(value) for value in row[1:]) + "</tr>"
        for row in table.rows
    ]
    note = f"<p class='note'>{_text(table.note)}</p>" if table.note else ""
    return f"<h3>{_text(table.title)}</h3>{_box(table.columns, rows, 'figures')}{note}"


def _entry(value: Cell) -> str:
    kind = "" if isinstance(value, str) else " class='number'"
    return f"<td{kind}>{_cell(value)}</td>"


def _cell(value: Cell) -> str:
    if value is None:
        return "<span class='absent'>not run</span>"
    if isinstance(value, str):
        return _text(value)
    if not isinstance(value, Figure):
        return number(value)
    paper = "" if value.published is None else f" <span class='paper'>paper {published(value)}</span>"
    return f"{ours(value)}{paper}"


_KINDS = {"confirmed": "confirmed", "not confirmed": "refuted", "not testable here": "untestable"}


def _mark(claim: Claim) -> str:
    return f"<span class='mark {_KINDS[claim.judgement]}'>{claim.judgement}</span>"


def _words(claim: Claim) -> str:
    return f"<td>{_text(claim.text)} <span class='where'>{_text(claim.where)}</span></td>"


def _all_claims(sections: Sequence[Section]) -> str:
    """What was judged, and how; the reasons stand with the experiments."""
    rows = [
        f"<tr><td>{_mark(claim)}</td>{_words(claim)}<td><a href='#{section.experiment.name}'>"
        f"{_text(section.experiment.name)}</a></td></tr>"
        for section in sections
        for claim in section.report.claims
    ]
    return _box(["judgement", "claim", "experiment"], rows, "claims short") if rows else "<p>No cell is finished.</p>"


def _claims(claims: Sequence[Claim]) -> str:
    rows = [f"<tr>{_words(claim)}<td>{_mark(claim)}</td><td>{_text(claim.why)}</td></tr>" for claim in claims]
    return f"<h3>Claims</h3>{_box(['claim', 'judgement', 'why'], rows, 'claims')}"


def _choices(choices: Sequence[Choice]) -> str:
    rows = [
        f"<tr><td>{_text(choice.open)}</td><td>{_text(choice.taken)}</td><td>{_text(choice.effect)}</td></tr>"
        for choice in choices
    ]
    return f"<h3>What the paper leaves open</h3>{_box(['open', 'taken here', 'effect'], rows, 'claims')}"


def _pictures(pictures: Sequence[Picture | Bars]) -> str:
    if not pictures:
        return ""
    drawn = []
    for picture in pictures:
        legend = "".join(f"<li>{swatch(at, picture)}{_text(name)}</li>" for at, name in enumerate(names(picture)))
        note = f"<p class='note'>{_text(picture.note)}</p>" if picture.note else ""
        drawn.append(
            f"<figure><figcaption>{_text(picture.title)}</figcaption>{draw(picture)}"
            f"<ul class='legend'>{legend}</ul>{note}</figure>"
        )
    return f"<div class='pictures'>{chr(10).join(drawn)}</div>"
