"""Regression: a model per sensor, sensors with missing readings, and a vector of numbers per event.

Six sensors are read at the same moments, so a moment is a round. Sometimes a sensor sends nothing: its label is NaN,
and it is predicted and not learned. The second example predicts two numbers per moment, the wind; its loss is one
distance.
"""

import numpy as np

import weft
from weft.reductions import VectorRegression

SENSORS, MOMENTS, INPUTS = 6, 800, 5


def readings(seed: int = 4):
    """(moments, inputs) for every sensor, and its reading: NaN where it is missing."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(MOMENTS, SENSORS, INPUTS))
    truth = rng.normal(size=INPUTS) + 0.5 * rng.normal(size=(SENSORS, INPUTS))
    Y = np.einsum("msi,si->ms", X, truth) + 0.1 * rng.normal(size=(MOMENTS, SENSORS))
    Y[rng.random(Y.shape) < 0.1] = np.nan
    return X, Y


def main() -> None:
    X, Y = readings()
    names = [f"sensor {s}" for s in range(SENSORS)]
    stream = weft.Stream(
        X.reshape(-1, INPUTS), Y.ravel(), names * MOMENTS, rounds=np.repeat(np.arange(MOMENTS), SENSORS)
    )
    for norm in ("l1", "l2", "linf"):
        model = weft.Model("implicit", loss="epsilon-insensitive", norm=norm, epsilon=0.1, C=0.1)
        scores = model.learn(stream)
        worst = np.nanmax(np.abs(Y - scores.reshape(Y.shape)), axis=1)
        total = model.tally.total
        print(f"{norm:<5} mean deviation {total['error']:.3f}, worst sensor of a moment {worst.mean():.3f} on average")
    missing = int(np.isnan(Y).sum())
    print(f"{model.tally.total['events']} readings were counted; {missing} missing ones were predicted and not learned")

    rng = np.random.default_rng(5)
    weather = rng.normal(size=(MOMENTS, INPUTS))
    wind = weather @ rng.normal(size=(INPUTS, 2)) + 0.1 * rng.normal(size=(MOMENTS, 2))
    learner = VectorRegression(C=0.1)  # implicit, l2, epsilon = 0: the loss is the Euclidean distance
    predicted = learner.learn(weather, wind)
    distance = np.linalg.norm(wind - predicted, axis=1)
    print(f"wind: distance {distance[:100].mean():.3f} over the first 100 moments, {distance[100:].mean():.3f} after")


if __name__ == "__main__":
    main()
