"""Losses of one task in one round, as functions of its score (Dekel, Long and Singer 2007, Sec. 2).

A loss gives a number l >= 0 and a direction v with -v a subgradient, so that every update reads w += tau v.
With the score s = w.x, label y and the direction's factor d, v = d x:

| name                  | l                  | d           |
|-----------------------|--------------------|-------------|
| `hinge`               | [1 - y s]_+        | y           |
| `epsilon-insensitive` | [abs(y-s) - eps]_+ | sign(y - s) |
| `uniclass`            | [s - eps]_+        | 1           |

In `uniclass` the task predicts a point z without an instance: s is the distance abs(z - w), and v the unit
vector from w to z. A label that is NaN marks a dormant task: no loss, no direction.
"""

import math

from weft.jit import kernel

HINGE = 0
EPSILON_INSENSITIVE = 1
UNICLASS = 2

CODES = {"hinge": HINGE, "epsilon-insensitive": EPSILON_INSENSITIVE, "uniclass": UNICLASS}
NAMES = {code: name for name, code in CODES.items()}


@kernel
def loss_value(code: int, score: float, label: float, epsilon: float) -> float:
    """The loss l of a task."""
    if code == UNICLASS:
        excess = score - epsilon
    elif math.isnan(label):
        return 0.0
    elif code == HINGE:
        excess = 1.0 - label * score
    else:
        excess = abs(label - score) - epsilon
    return excess if excess > 0.0 else 0.0


@kernel
def direction(code: int, score: float, label: float) -> float:
    """The factor d of the update direction v = d x."""
    if code == UNICLASS:
        return 1.0
    if math.isnan(label):
        return 0.0
    if code == HINGE:
        return label
    if label > score:
        return 1.0
    if label < score:
        return -1.0
    return 0.0
