"""The first page of the site: what weft is, and the contents."""

from pathlib import Path

INDEX = Path(__file__).with_name("index.md")

START = ("tour", "your-data", "choosing", "glossary", "The README <readme>")
HOW_TO = (
    "how-to-spam-filter",
    "how-to-sensor-forecast",
    "how-to-many-labels",
    "how-to-memory-budget",
    "how-to-tenants",
    "how-to-add-a-learner",
    "serve",
    "cluster",
    "shards",
    "scale",
)
BACKGROUND = (
    "default",
    "shared-loss",
    "mirror-descent",
    "regret",
    "budget",
    "budget-bounds",
    "smoothed",
    "low-rank",
    "batch",
    "reproduction",
)
REFERENCE = ("python", "command-line", "formats", "learners", "reliability", "Benchmarks <benchmarks>", "architecture")
PROJECT = ("contributing", "mutants", "changelog")


def write_index(folder: Path, learners: dict[str, list[str]], modules: list[str]) -> None:
    """The index, the list of examples, and a list of learners by family. Every page is in exactly one list."""
    examples = sorted(path.stem for path in (folder / "examples").glob("*.md"))
    (folder / "examples" / "index.md").write_text("# Examples\n\n" + _tree("", examples), encoding="utf-8")
    overview = "\n".join(_tree(family, [Path(page).stem for page in pages]) for family, pages in learners.items())
    (folder / "learners" / "index.md").write_text(f"# Learners one by one\n\n{overview}", encoding="utf-8")
    listed = {_stem(page) for page in (*START, *HOW_TO, *BACKGROUND, *REFERENCE, *PROJECT)}
    further = sorted(path.stem for path in folder.glob("*.md") if path.stem not in listed)
    trees = [  # shown beside every page
        _tree("Start", START, True),
        _tree("How to", (*HOW_TO, "examples/index"), True),
        _tree("Learners", ("learners/index",), True),
        _tree("Background", BACKGROUND, True),
        _tree("Reference", (*REFERENCE, *(page.removesuffix(".md") for page in modules)), True),
        _tree("Project", (*PROJECT, *further), True),
    ]
    (folder / "index.md").write_text(INDEX.read_text(encoding="utf-8").format(trees="\n".join(trees)), encoding="utf-8")


def _stem(page: str) -> str:
    """The document of an entry, which may be `Title <document>`."""
    return page.rpartition("<")[2].rstrip(">")


def _tree(caption: str, pages: tuple[str, ...] | list[str], hidden: bool = False) -> str:
    options = f":caption: {caption}\n" if caption else ""
    options += ":hidden:\n" if hidden else ""
    return f"```{{toctree}}\n{options}:maxdepth: 1\n\n" + "\n".join(pages) + "\n```\n"
