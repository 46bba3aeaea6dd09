"""Pages of the repository as pages of the site: same text, links that fit their new places."""

import re
import shutil
from pathlib import Path

OTHERS = {
    "README.md": "readme.md",
    "CONTRIBUTING.md": "contributing.md",
    "CHANGELOG.md": "changelog.md",
    "benchmarks/RESULTS.md": "benchmarks.md",
}
"""Pages that are not in docs/, and their names on the site."""
LINK = re.compile(r"(?<=\]\()([^)\s#]+)(#[^)\s]*)?(?=\))")
FENCE = re.compile(r"(^```.*?^```$)", re.MULTILINE | re.DOTALL)


def copy_pages(root: Path, folder: Path) -> None:
    """Copy pages, pictures and examples."""
    shutil.copytree(root / "docs" / "pictures", folder / "pictures", ignore=shutil.ignore_patterns("*.py", "__*"))
    for page in sorted((root / "docs").glob("*.md")):
        (folder / page.name).write_text(_relinked(root, page), encoding="utf-8")
    for name, new in OTHERS.items():
        if (root / name).exists():
            (folder / new).write_text(_relinked(root, root / name), encoding="utf-8")
    (folder / "examples").mkdir()
    for example in sorted((root / "examples").glob("*.py")):
        _write_example(example, folder / "examples" / f"{example.stem}.md")


def _relinked(root: Path, page: Path) -> str:
    """The text of a page, with links to where its targets are on the site; what is not there becomes plain text."""
    parts = FENCE.split(page.read_text(encoding="utf-8"))
    return "".join(part if part.startswith("```") else _text(root, page, part) for part in parts)


def _text(root: Path, page: Path, text: str) -> str:
    for label, target, anchor in re.findall(r"(\[[^\]]*\])\(([^)\s#]+)(#[^)\s]*)?\)", text):
        if "://" in target:
            continue
        new = _place(root, (page.parent / target).resolve())
        old = f"{label}({target}{anchor})"
        text = text.replace(old, f"{label}({new}{anchor})" if new else label[1:-1])
    return text


def _place(root: Path, path: Path) -> str | None:
    """Where a file of the repository is on the site, seen from its top."""
    name = path.relative_to(root).as_posix()
    if name in OTHERS:
        return OTHERS[name]
    if name == "examples":
        return "examples/index.md"
    if name.startswith("examples/") and name.endswith(".py"):
        return name.removesuffix(".py") + ".md"
    found = re.fullmatch(r"docs/((?:pictures/)?[\w.-]+\.(?:md|svg))", name)
    return found[1] if found else None


def _write_example(path: Path, page: Path) -> None:
    text = path.read_text(encoding="utf-8")
    title = path.stem.replace("_", " ").capitalize()
    page.write_text(f"# {title}\n\n```python\n{text}```\n", encoding="utf-8")
