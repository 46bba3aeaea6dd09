"""Made-up cells of robust-tables: the paper's figures, where it has some, a little different in every shuffle."""

import numpy as np

from weft_reproduction.robust.picks import OMTL, VARIANTS
from weft_reproduction.robust.protocol import SETS
from weft_reproduction.robust.published import TABLE3, printed_means, printed_of_user
from weft_reproduction.robust.rows import LIKE

TASKS = {"pu_spam": 4, "mhc1": 12, "movielens_cf": 30}


def made_up(settings, lift=None):
    """Cells with the paper's figures, where it has some, a little different in every shuffle."""
    if settings["what"] == "refits":
        rows = [{"row": t["row"], "rows": 9, "doubled": 0.2, "every": 0.1, "times": 4.0} for t in settings["table"]]
        return {"rows": rows}
    if settings["what"] == "regularisers":
        (told,) = settings["table"]
        ((parameter, values),) = told["grid"].items()
        figures = dict.fromkeys(("error", "minus"), [[0.1] * TASKS[settings["set"]]] * len(values))
        return {"rows": [{"row": told["row"], "parameter": parameter, "values": values, **figures}]}
    found = []
    for told in settings["table"]:
        for row in (told["row"], *told["beside"]):
            found.append(made_up_row(settings, told, row, (lift or {}).get(row, 0.0)))
    return {"rows": found}


def made_up_row(settings, told, row, lift):
    name, tasks = settings["set"], TASKS[settings["set"]]
    noise = [np.random.default_rng(seed).normal(0.0, 0.0002) for seed in settings["shuffles"]]
    if name == "pu_spam":
        like = OMTL if row in {one.row for one in VARIANTS} else row
        known = [printed_of_user(like, user) or ((9.0, 1.0), (90.0, 1.0)) for user in range(tasks)]
        error, plus = [pair[0][0] for pair in known], [pair[1][0] for pair in known]
        minus = plus
    else:
        printed = printed_means(name, row) or (45.0, 50.0, 50.0)
        error, plus, minus = ([value] * tasks for value in printed)
    figures = {
        measure: [[value / 100.0 + sign * (lift + e) for value in of] for e in noise]
        for measure, of, sign in (("error", error, 1.0), ("plus", plus, -1.0), ("minus", minus, -1.0))
    }
    parameters = told["fixed"] | {parameter: values[0] for parameter, values in told["grid"].items()}
    at = TABLE3.get(LIKE.get(row, ""), (1.0, 1.0, 1.0))[SETS.index(name)]
    more = (
        {"chosen": error[0] / 100.0, "worst": 0.5, "tried": 3} if told["grid"] else dict.fromkeys(("chosen", "worst"))
    )
    return {
        "row": row, "parameters": parameters, **figures, "curve": [[0.5, 0.1] * 10] * tasks,
        "zero": [[0.01] * tasks] * len(noise),
        "seconds": [at * (1.0 + e) for e in noise], **more,
    }  # fmt: skip
