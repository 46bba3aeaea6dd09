"""The page of results: a section per benchmark, which a new run of that benchmark replaces."""

import os
import platform
import re
from collections.abc import Mapping
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from benchmarks.figures import Figure

PAGE = Path(__file__).parent / "RESULTS.md"
PACKAGES = ("numpy", "numba", "vowpalwabbit", "river", "scikit-learn")
_SECTION = re.compile(r"^## ", re.MULTILINE)


def write(found: Mapping[str, list[Figure]], page: Path = PAGE) -> None:
    """Replace the sections of these benchmarks; all others, and what is written by hand, stay."""
    text = page.read_text() if page.exists() else "# Results\n"
    head, *sections = _SECTION.split(text)
    kept = {section.split("\n", 1)[0].strip(): section for section in sections}
    for name, figures in found.items():
        kept[name] = f"{name}\n\n{machine()}\n\n{_table(figures)}\n\n"
    page.write_text(head + "".join(f"## {section.rstrip()}\n\n" for section in kept.values()).rstrip() + "\n")


def machine() -> str:
    """What the figures were taken on; a load of more than 2 says that other work was going on."""
    versions = [f"{package} {_version(package)}" for package in PACKAGES]
    system = f"{_processor()}, {os.cpu_count()} cores, load {os.getloadavg()[2]:.1f}"
    return f"{system}, Python {platform.python_version()}, {', '.join(versions)}."


def _version(package: str) -> str:
    try:
        return version(package)
    except PackageNotFoundError:
        return "not installed"


def _processor() -> str:
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
    except OSError:
        return platform.processor() or "unknown processor"
    names = [line.partition(":")[2].strip() for line in lines if line.startswith("model name")]
    return names[0] if names else platform.machine()


def _table(figures: list[Figure]) -> str:
    rows = ["| what | weft | beside | figure | target | |", "|---|---|---|---|---|---|"]
    for figure in figures:
        met = "" if figure.met is None else ("met" if figure.met else "**missed**")
        rows.append(
            f"| {figure.what.strip()} | {figure.ours} | {figure.peer} | {figure.text} | {figure.target} | {met} |"
        )
    return "\n".join(rows)
