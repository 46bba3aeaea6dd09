"""One task sends rows and labels as large and as small as they may be: the scores of the others stay numbers."""

import numpy as np
import pytest

import weft
from contracts.settings import NAMES, Setting
from weft.labels import LARGEST_LABEL
from weft.storage.batch import LARGEST, SMALLEST

EXTREME = [
    [LARGEST, -LARGEST, SMALLEST, -SMALLEST, 1.0, 0.3],
    [LARGEST, -LARGEST],
    [SMALLEST, -SMALLEST],
]
HOSTILE, OTHERS = NAMES[0], NAMES[1:5]

SQUARE = [
    ("mt-ogd", {"b": 0.0, "eta": 0.1}),
    ("mt-ogd", {"eta": 0.1}),
    ("mt-ogd", {"eta": "adaptive", "D": 0.5, "sigma": 0.4}),
    ("mt-ogd", {"eta": 0.3, "projection": "mahalanobis", "radius": 0.4}),
    ("mt-ogd", {"eta": 0.3, "projection": "variance", "D": 0.4, "sigma": 0.3}),
    ("mt-ogd", {"eta": 0.3, "projection": "ball", "D": 0.3}),
    ("mt-ogd", {"eta": 0.3, "projection": "v-sigma", "D": 0.3, "sigma": 0.3}),
    ("mt-ogd", {"eta": 0.1, "graph": [NAMES[:3], NAMES[3:]]}),
    ("mt-ogd", {"eta": 0.1, "graph": [tuple(NAMES[:2]), tuple(NAMES[1:3])]}),
    ("mt-pnorm", {"eta": 0.1}),
    ("mt-pnorm", {"eta": 0.1, "p": 1.01}),
    ("mt-pnorm", {"domain": "simplex"}),
    ("mt-eg", {}),
    ("mt-ftrl", {"eta": 0.1}),
    ("hedge-mt-ogd", {}),
    ("hedge-mt-eg", {}),
    ("adaptive", {}),
    ("auto", {}),
]
FURTHER = [
    *(Setting(name, {**parameters, "loss": "square"}) for name, parameters in SQUARE),
    Setting("pa", {"variant": "pa", "loss": "epsilon-insensitive", "pooled": True}),
    Setting("pa", {"variant": "pa", "pooled": True}),
    *(Setting("finite-horizon", {"C": 1e9, "norm": norm}) for norm in ("l2", "k(1.5,3,1.4)")),
    Setting("implicit", {"C": 1e9, "norm": "l1.5", "loss": "epsilon-insensitive"}),
]


def row(rng, setting, values):
    features = rng.permutation(14)[: rng.integers(1, 8)]
    found = rng.normal(size=len(features)) if values is None else rng.choice(values, len(features))
    return {int(f) if setting.on_simplex else f"f{f}": float(v) for f, v in zip(features, found, strict=True)}


def label(rng, setting, is_hostile):
    if setting.target == "real" and is_hostile:
        return float(rng.choice([LARGEST_LABEL, -LARGEST_LABEL, 1 / LARGEST_LABEL, 0.0, 1.0]))
    return float(rng.choice([-1.0, 1.0]))


def attack(setting, values, together, seed):
    """Scores of the others, while a hostile task learns beside them and after it has."""
    rng, model = np.random.default_rng(seed), setting.declared()
    found = []
    for _ in range(30):
        tasks = [HOSTILE if rng.random() < 0.5 else OTHERS[rng.integers(4)]]
        if together:
            tasks = [NAMES[at] for at in rng.permutation(5)[: rng.integers(2, 6)]]
        rows = [row(rng, setting, values if task == HOSTILE else None) for task in tasks]
        labels = [label(rng, setting, task == HOSTILE) for task in tasks]
        scores = model.learn(weft.Stream(rows, labels, tasks, [0] * len(tasks) if together else None))
        found += [score for task, score in zip(tasks, scores, strict=True) if task != HOSTILE]
    found += model.score([row(rng, setting, None) for _ in range(8)], [OTHERS[at % 4] for at in range(8)]).tolist()
    return model, np.array(found)


def check(setting):
    with np.errstate(all="ignore"):
        for seed, values in enumerate(EXTREME):
            for together in (False, True):
                model, scores = attack(setting, values, together, seed)
                assert np.isfinite(scores).all(), (values, together)
                data = model.to_bytes()
                assert weft.Model.from_bytes(data).to_bytes() == data


@pytest.mark.filterwarnings("ignore")
def test_extreme_rows_and_labels_of_one_task(setting):
    check(setting)


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("further", FURTHER, ids=str)
def test_extreme_rows_and_labels_with_further_options(further):
    check(further)
