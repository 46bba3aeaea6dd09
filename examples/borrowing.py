"""Small tasks gain from large ones: a fleet of sensors, each with a calibration of its own, most with few readings.

40 sensors of two makes; those of a make nearly agree. One has about a thousand readings, half of them fewer than fifty.
Own models, one pooled model, and mt-ogd between the two, each with the best of the same nine rates.
"""

import math

import numpy as np

import weft

SENSORS, READINGS, INPUTS = 40, 4000, 6
RATES = (0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 20.0)
NAMES = [f"{'AB'[s % 2]}{s:02d}" for s in range(SENSORS)]
MAKES = [NAMES[0::2], NAMES[1::2]]


def readings(seed: int = 7) -> tuple[weft.Stream, np.ndarray, np.ndarray]:
    """The stream, and which readings are of a small sensor, and which are among a sensor's first five."""
    rng = np.random.default_rng(seed)
    makes = 0.5 * rng.normal(size=INPUTS) + 0.4 * rng.normal(size=(2, INPUTS))
    truth = makes[np.arange(SENSORS) % 2] + 0.1 * rng.normal(size=(SENSORS, INPUTS))
    share = rng.permutation(1 / np.arange(1, SENSORS + 1))
    sensor = rng.choice(SENSORS, size=READINGS, p=share / share.sum())
    X = np.column_stack([rng.normal(size=(READINGS, INPUTS - 1)), np.ones(READINGS)]) / math.sqrt(INPUTS)
    y = np.sum(X * truth[sensor], axis=1) + 0.1 * rng.normal(size=READINGS)
    size = np.bincount(sensor, minlength=SENSORS)
    before = np.array([np.sum(sensor[:e] == sensor[e]) for e in range(READINGS)])
    return weft.Stream(X, y, [NAMES[s] for s in sensor]), size[sensor] <= np.median(size), before < 5


def main() -> None:
    stream, small, first = readings()
    candidates = {
        "own models, b = 0": {"b": 0.0},
        "one pooled model, b = inf": {"b": math.inf},
        "mt-ogd, b = 4": {"b": 4.0},
        "mt-ogd, a clique per make": {"graph": MAKES},
    }
    print("mean squared error         all   small sensors   first five readings   rate")
    for label, how in candidates.items():
        runs = {eta: weft.Model("mt-ogd", loss="square", eta=eta, **how).learn(stream) for eta in RATES}
        with np.errstate(over="ignore"):  # a rate that is much too high
            eta = min(RATES, key=lambda eta: np.mean((runs[eta] - stream.y) ** 2))
        error = (runs[eta] - stream.y) ** 2
        print(f"{label:<26}{error.mean():.4f}{error[small].mean():12.4f}{error[first].mean():18.4f}{eta:16g}")
    scores = weft.Model("mt-ogd", loss="square").learn(stream)  # nothing to tune
    error = (scores - stream.y) ** 2
    print(f"{'mt-ogd, defaults':<26}{error.mean():.4f}{error[small].mean():12.4f}{error[first].mean():18.4f}")


if __name__ == "__main__":
    main()
