"""Write docs/reproduction.md from finished cells: `python docs/make_reproduction.py [folder of results]`.

Run `weft reproduce all` first. Experiments with cells that are missing are named at the end.
"""

import sys
from pathlib import Path

from weft_reproduction import cells, markdown, shelf
from weft_reproduction.page import Section

HEAD = """\
# The papers, re-run

Made from finished cells by `docs/make_reproduction.py`, after `weft reproduce all`; do not edit it by hand. The
command [weft reproduce](command-line.md#weft-reproduce) runs every experiment again, and draws the pictures that are
missing here.

Hyper-parameters are those of the papers, or chosen by their grids on the leading part of a stream or on shuffles that
are not reported; nothing is tuned on what is reported. ± is the standard error of the mean over shuffles or made-up
streams. Where others win, the tables say so, and a claim that does not hold is reported as such.

"""


WAITING = """
## Not run whole yet

These are written, and tested by their quick versions; their figures are not on this page: {names}.
"""


def sections(folder: Path) -> list[Section]:
    """Every experiment with what is finished of it."""
    found = []
    for name in shelf.names():
        experiment = shelf.experiment(name)
        plan = cells.cells_of(experiment, quick=False)
        kept = [(cell.settings, cells.load(folder, cell)) for cell in plan]
        results = [(settings, done.figures) for settings, done in kept if done is not None]
        found.append(Section(experiment, experiment.report(results), len(results), len(plan)))
    return found


def page(folder: Path) -> str:
    """The whole file."""
    everything = sections(folder)
    whole = [section for section in everything if section.finished == section.cells]
    waiting = [section.experiment.name for section in everything if section.finished < section.cells]
    return HEAD + markdown.render(whole) + (WAITING.format(names=", ".join(waiting)) if waiting else "")


if __name__ == "__main__":
    where = Path(sys.argv[1]) if len(sys.argv) > 1 else cells.default_folder()
    Path(__file__).with_name("reproduction.md").write_text(page(where), encoding="utf-8")
