"""The same as Markdown, for the documentation."""

from collections.abc import Sequence

from weft_reproduction.experiment import Choice, Claim, Table
from weft_reproduction.judgement import STATISTIC
from weft_reproduction.page import Section
from weft_reproduction.writing import about, cell


def render(sections: Sequence[Section]) -> str:
    """Claims of all experiments first, then an experiment after the other."""
    claims = [(section.experiment.name, claim) for section in sections for claim in section.report.claims]
    rows = [(f"[{name}](#{name})", claim.text, claim.where, f"**{claim.judgement}**") for name, claim in claims]
    parts = ["## All claims", _grid(("experiment", "claim", "where", "judgement"), rows), STATISTIC]
    return "\n\n".join([*parts, *(_section(section) for section in sections)]) + "\n"


def _section(section: Section) -> str:
    experiment, report = section.experiment, section.report
    missing = section.cells - section.finished
    parts = [f"## {experiment.name}", f"{_begun(experiment.title)}. {experiment.paper}.", *about(experiment)]
    if experiment.data:
        parts.append(f"Data: {', '.join(f'`{name}`' for name in experiment.data)}.")
    if missing:
        parts.append(f"{missing:,} of {section.cells:,} cells are missing.")
    for table in report.tables:
        parts += _table(table)
    if report.claims:
        parts += ["**Claims**", _claims(report.claims)]
    if report.choices:
        parts += ["**What the paper leaves open**", _choices(report.choices)]
    return "\n\n".join(parts)


def _begun(title: str) -> str:
    return title[:1].upper() + title[1:]


def _table(table: Table) -> list[str]:
    rows = [[cell(value) for value in row] for row in table.rows]
    return [f"**{_plain(table.title)}**", _grid(table.columns, rows), *([table.note] if table.note else [])]


def _claims(claims: Sequence[Claim]) -> str:
    rows = [(f"{claim.text} ({claim.where})", f"**{claim.judgement}**", claim.why) for claim in claims]
    return _grid(("claim", "judgement", "why"), rows)


def _choices(choices: Sequence[Choice]) -> str:
    return _grid(("open", "taken here", "effect"), [(c.open, c.taken, c.effect) for c in choices])


def _grid(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [f"| {' | '.join(map(_plain, row))} |" for row in (head, *rows)]
    return "\n".join([lines[0], "|---" * len(head) + "|", *lines[1:]])


def _plain(text: str) -> str:
    """Text that may stand in a cell."""
    return " ".join(text.split()).replace("|", "\\|")
