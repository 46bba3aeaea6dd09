"""A page for every learner: idea, picture, when to take it and when not, formula, guarantee, cost, paper."""

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
    """What the pages say beyond the catalogue; every learner has all of it, and nothing else is there."""
    found = tomllib.loads(FACTS.read_text(encoding="utf-8"))
    names = [entry.name for entry in weft.catalogue()]
    if sorted(found) != sorted(names):
        raise ValueError(f"{FACTS.name} and the catalogue differ: {sorted(set(found) ^ set(names))}")
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
        text = _page(entry, known[entry.name], bool(drawing))
        (folder / "learners" / f"{entry.name}.md").write_text(text, encoding="utf-8")
        families.setdefault(_title(family), []).append(f"learners/{entry.name}.md")
    return families


def _title(family: str) -> str:
    return (import_module(f"weft.learners.{family}").__doc__ or family).splitlines()[0].rstrip(".")


def _page(entry: Entry, known: dict[str, str], picture: bool) -> str:
    module = import_module(f"weft.learners.{PLACES[entry.name].rsplit('.', 1)[0]}")
    rows = [f"| `{p.name}` | `{p.default!r}` | {_cell(p.allowed)} | {_cell(p.doc)} |" for p in entry.parameters]
    parts = [
        f"# {entry.name}",
        f"**{entry.summary}**",
        f"```python\nweft.Model({entry.name!r})\n```",
        *([_PICTURE.format(name=entry.name)] if picture else []),
        f"## When to take it\n\n{entry.advice}",
        f"## When not\n\nNot when {known['not']}",
        f"## The rule\n\n{entry.note}\n\n{as_markdown(module.__doc__ or '')}",
        f"## Guarantee\n\n{known['guarantee']}",
        f"## Cost\n\n{known['cost']}",
        "## Parameters\n\n| parameter | default | must be | meaning |\n|---|---|---|---|\n" + "\n".join(rows),
        f"## Reference\n\n{entry.paper}. More about the family: [{known['page']}](../{known['page']}).",
    ]
    return "\n\n".join(parts) + "\n"


_PICTURE = """\
![error of {name} along a stream]({name}.svg)

Error over the events so far, on a made-up stream of 40 users, of which 30 nearly agree; with the defaults of every
learner, and so not a ranking."""


def _cell(text: str) -> str:
    return text.replace("|", "\\|")
