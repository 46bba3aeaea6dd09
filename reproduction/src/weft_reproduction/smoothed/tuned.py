"""The parameters of every row of the table, per data set: the best of its grid on draws that are not reported.

`smoothed_report` says so if the grids, run again, would choose others.
"""

from typing import Any

TUNED: dict[str, dict[str, dict[str, Any]]] = {
    "landmine": {
        "PA-ONE": {"pooled": True, "C": 0.1},
        "PA-ITL": {"pooled": False, "C": 1.0},
        "OSGL": {"norm": "l2", "C": 1.0},
        "FOML, mistake": {"condition": "mistake", "b": 4.0, "C": 1.0},
        "OMTRL, mistake": {"condition": "mistake", "rate": 0.001, "C": 1.0},
        "OSMTL-t, mistake": {"condition": "mistake", "alpha": 0.5, "C": 0.1, "lam": 1.0},
        "OSMTL-e, mistake": {"condition": "mistake", "alpha": 0.3, "C": 1.0, "lam": 10.0},
        "P fixed, mistake": {"condition": "mistake", "lam": "inf", "alpha": 0.5, "C": 0.1},
        "FOML, margin": {"condition": "margin", "b": 4.0, "C": 10.0},
        "OMTRL, margin": {"condition": "margin", "rate": 1.0, "C": 0.1},
        "OSMTL-t, margin": {"condition": "margin", "alpha": 0.5, "C": 10.0, "lam": 0.3},
        "OSMTL-e, margin": {"condition": "margin", "alpha": 0.3, "C": 10.0, "lam": 100.0},
        "P fixed, margin": {"condition": "margin", "lam": "inf", "alpha": 0.9, "C": 1.0},
    },
    "pkdd06b": {
        "PA-ONE": {"pooled": True, "C": 1.0},
        "PA-ITL": {"pooled": False, "C": 10.0},
        "OSGL": {"norm": "l2", "C": 10.0},
        "FOML, mistake": {"condition": "mistake", "b": 16.0, "C": 1.0},
        "OMTRL, mistake": {"condition": "mistake", "rate": 0.1, "C": 1.0},
        "OSMTL-t, mistake": {"condition": "mistake", "alpha": 0.3, "C": 10.0, "lam": 3.0},
        "OSMTL-e, mistake": {"condition": "mistake", "alpha": 0.3, "C": 10.0, "lam": 100.0},
        "P fixed, mistake": {"condition": "mistake", "lam": "inf", "alpha": 0.3, "C": 10.0},
        "FOML, margin": {"condition": "margin", "b": 16.0, "C": 10.0},
        "OMTRL, margin": {"condition": "margin", "rate": 0.1, "C": 1.0},
        "OSMTL-t, margin": {"condition": "margin", "alpha": 0.1, "C": 10.0, "lam": 3.0},
        "OSMTL-e, margin": {"condition": "margin", "alpha": 0.3, "C": 10.0, "lam": 100.0},
        "P fixed, margin": {"condition": "margin", "lam": "inf", "alpha": 0.1, "C": 10.0},
    },
    "mtl16": {
        "PA-ONE": {"pooled": True, "C": 1.0},
        "PA-ITL": {"pooled": False, "C": 10.0},
        "OSGL": {"norm": "l2", "C": 10.0},
        "FOML, mistake": {"condition": "mistake", "b": 256.0, "C": 1.0},
        "OMTRL, mistake": {"condition": "mistake", "rate": 0.1, "C": 1.0},
        "OSMTL-t, mistake": {"condition": "mistake", "alpha": 0.1, "C": 10.0, "lam": 3.0},
        "OSMTL-e, mistake": {"condition": "mistake", "alpha": 0.1, "C": 10.0, "lam": 100.0},
        "P fixed, mistake": {"condition": "mistake", "lam": "inf", "alpha": 0.1, "C": 10.0},
        "FOML, margin": {"condition": "margin", "b": 64.0, "C": 10.0},
        "OMTRL, margin": {"condition": "margin", "rate": 0.01, "C": 1.0},
        "OSMTL-t, margin": {"condition": "margin", "alpha": 0.1, "C": 10.0, "lam": 3.0},
        "OSMTL-e, margin": {"condition": "margin", "alpha": 0.1, "C": 10.0, "lam": 100.0},
        "P fixed, margin": {"condition": "margin", "lam": "inf", "alpha": 0.1, "C": 10.0},
    },
}

TUNED_SHORTER: dict[str, dict[str, dict[str, Any]]] = {
    "landmine": {
        "OSMTL-e, margin": {"condition": "margin", "alpha": 0.5, "C": 10.0, "lam": 10.0},
    },
    "pkdd06b": {
        "OSMTL-e, mistake": {"condition": "mistake", "alpha": 0.5, "C": 0.1, "lam": 10.0},
        "OSMTL-e, margin": {"condition": "margin", "alpha": 0.5, "C": 10.0, "lam": 10.0},
    },
    "mtl16": {
        "FOML, mistake": {"condition": "mistake", "b": 64.0, "C": 1.0},
        "OSMTL-e, mistake": {"condition": "mistake", "alpha": 0.1, "C": 0.1, "lam": 1.0},
        "OSMTL-e, margin": {"condition": "margin", "alpha": 0.1, "C": 1.0, "lam": 10.0},
    },
}
"""The best without what was added to the grids later (`smoothed_shorter`), on the same draws, where it is another."""
