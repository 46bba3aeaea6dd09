"""A page for every learner: idea, picture, when to take it and when not, formula, guarantee, cost, paper.

When not to take it, its guarantee and its cost are from `learners.toml`; a learner that is not there has none of them.
"""

import tomllib
from importlib import import_module
from pathlib import Path

from learner_pictures import Pictures
from markdown import as_markdown

import weft
from weft.learners.catalogue import PLACES, Entry

FACTS = Path(__file__).with_name("learners.toml")
SECTIONS = ("not", "guarantee", "cost", "page")


def facts() -> dict[str, dict[str, str]]:
    """What the pages say beyond the catalogue: a learner has all of it or nothing, and nothing else is there."""
    found = tomllib.loads(FACTS.read_text(encoding="utf-8"))
    if unknown := set(found) - {entry.name for entry in weft.catalogue()}:
        raise ValueError(f"{FACTS.name} has learners that the catalogue does not have: {', '.join(sorted(unknown))}")
    for name, texts in found.items():
        if tuple(texts) != SECTIONS:
            raise ValueError(f"{FACTS.name}: {name} has {', '.join(texts)}; expected {', '.join(SECTIONS)}")
    return found


def write_learner_pages(root: Path, folder: Path, pictures: bool) -> dict[str, list[str]]:
    """Write the pages; returns their names by family, in the order of the catalogue."""
    (folder / "learners").mkdir()
    known, drawing = facts(), Pictures(root) if pictures else None
    families: dict[str, list[str]] = {}
    for entry in weft.catalogue():
        family = PLACES[entry.name].split(".")[0]
        if drawing:
            drawn = drawing.of(entry.name)
            (folder / "learners" / f"{entry.name}.svg").write_text(drawn, encoding="utf-8")
        text = _page(entry, known.get(entry.name), bool(drawing))
        (folder / "learners" / f"{entry.name}.md").write_text(text, encoding="utf-8")
        families.setdefault(_title(family), []).append(f"learners/{entry.name}.md")
    return families


def _title(family: str) -> str:
    return (import_module(f"weft.learners.{family}").__doc__ or family).splitlines()[0].rstrip(".")


def _page(entry: Entry, known: dict[str, str] | None, picture: bool) -> str:
    module = import_module(f"weft.learners.{PLACES[entry.name].rsplit('.', 1)[0]}")
    rows = [f"| `{p.name}` | `{p.default!r}` | {_cell(p.allowed)} | {_cell(p.doc)} |" for p in entry.parameters]
    parts = [
        f"# {entry.name}",
        f"**{entry.summary}**",
        f"```python\nweft.Model({entry.name!r})\n```",
        *([_PICTURE.format(name=entry.name)] if picture else []),
        f"## When to take it\n\n{entry.advice}",
        *([f"## When not\n\nNot when {known['not']}"] if known else []),
        f"## The rule\n\n{entry.note}\n\n{as_markdown(module.__doc__ or '')}",
        *([f"## Guarantee\n\n{known['guarantee']}", f"## Cost\n\n{known['cost']}"] if known else []),
        "## Parameters\n\n| parameter | default | must be | meaning |\n|---|---|---|---|\n" + "\n".join(rows),
        f"## Reference\n\n{entry.paper}." + (_FAMILY.format(page=known["page"]) if known else ""),
    ]
    return "\n\n".join(parts) + "\n"


_FAMILY = " More about the family: [{page}](../{page})."
_PICTURE = """\
![error of {name} along a stream]({name}.svg)

Error over the events so far, on a made-up stream of 40 users, of which 30 nearly agree; with the defaults of every
learner, and so not a ranking."""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
