"""Results of the mails of robust-tables, made up: the paper's figures where a test says so, worse ones elsewhere."""

from robust_cells import made_up
from weft_reproduction.robust.picks import MAILS, PICKED, VARIANTS
from weft_reproduction.robust.rows import ROWS
from weft_reproduction.robust.tables import cells

LIFT = dict.fromkeys((*ROWS, *(one.row for one in VARIANTS)), 0.05)
MAIL_CELLS = [cell for cell in cells(False) if cell["set"] == MAILS and cell["what"] not in ("reported", "refits")]


def results_with(good, other=None):
    """Cells of mails that have the paper's figures where `good` says so, and are worse by 5 points elsewhere."""
    return [(cell, made_up(cell, {} if good(cell) else other or LIFT)) for cell in MAIL_CELLS]


def of_reading(reading):
    return results_with(lambda cell: cell["reading"] == reading and cell["what"] != "regularisers")


def picked_alone(who):
    """Results in which the picks for a row are the only readings with the paper's figures."""
    parameters = {pick.reading: dict(pick.parameters) for pick in PICKED[who]}

    def good(cell):
        return cell["reading"] in parameters and cell["order"] == "rounds"

    results = results_with(good)
    for settings, figures in results:
        if settings["what"] == "regularisers":
            (one,) = figures["rows"]
            printed = made_up({**settings, "what": "reading"}, {})["rows"][0]
            for at, value in enumerate(one["values"]):
                hit = good(settings) and {one["parameter"]: value} == parameters[settings["reading"]]
                for measure, miss in (("error", 0.5), ("minus", 0.1)):
                    one[measure] = [*one[measure]]
                    one[measure][at] = printed[measure][0] if hit else [miss] * 4
    return results
