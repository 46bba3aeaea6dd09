"""Losses of one task in one round, as functions of its score s and label y.

A loss gives a number l >= 0, its slope l'(s), and, for the learners of Dekel, Long and Singer (2007, Sec. 2), the
direction v = d x of the update w += tau v, with -v a subgradient wherever l > 0:

| name                  | l                  | slope l'(s)                     | d           |
|-----------------------|--------------------|---------------------------------|-------------|
| `hinge`               | [1 - y s]_+        | -y if y s < 1, else 0           | y           |
| `epsilon-insensitive` | [abs(y-s) - eps]_+ | sign(s - y) outside eps, else 0 | sign(y - s) |
| `uniclass`            | [s - eps]_+        |                                 | 1           |
| `logistic`            | ln(1 + exp(-y s))  | -y / (1 + exp(y s))             |             |
| `square`              | (s - y)^2          | 2 (s - y)                       |             |
| `absolute`            | abs(s - y)         | sign(s - y), 0 at 0             |             |

In `uniclass` the task predicts a point z without an instance: s is the distance abs(z - w), and v the unit
vector from w to z. A label that is NaN marks a dormant task: no loss, no direction, no slope.
"""

import math

from weft.compiled.jit import compiled, helper

HINGE = 0
EPSILON_INSENSITIVE = 1
UNICLASS = 2
LOGISTIC = 3
SQUARE = 4
ABSOLUTE = 5

CODES = {
    "hinge": HINGE,
    "epsilon-insensitive": EPSILON_INSENSITIVE,
    "uniclass": UNICLASS,
    "logistic": LOGISTIC,
    "square": SQUARE,
    "absolute": ABSOLUTE,
}
NAMES = {code: name for name, code in CODES.items()}
CLASSIFY = ("hinge", "logistic")
"""Losses of labels -1 and +1; all others but `uniclass` predict a number."""


@compiled
def loss_value(code: int, score: float, label: float, epsilon: float) -> float:
    """The loss l of a task."""
    if code == UNICLASS:
        excess = score - epsilon
    elif math.isnan(label):
        return 0.0
    elif code == HINGE:
        excess = 1.0 - label * score
    elif code == LOGISTIC:
        margin = label * score
        return max(-margin, 0.0) + math.log1p(math.exp(-abs(margin)))
    elif code == SQUARE:
        excess = (score - label) * (score - label)
    elif code == ABSOLUTE:
        excess = abs(label - score)
    else:
        excess = abs(label - score) - epsilon
    return excess if excess > 0.0 else 0.0


@helper
def slope(code: int, score: float, label: float, epsilon: float) -> float:
    """The derivative l'(s), a subgradient of least size where there are several."""
    if math.isnan(label):
        return 0.0
    if code == HINGE:
        return -label if label * score < 1.0 else 0.0
    if code == LOGISTIC:
        margin = label * score
        if margin >= 0.0:
            small = math.exp(-margin)
            return -label * small / (1.0 + small)
        return -label / (1.0 + math.exp(margin))
    gap = score - label
    if code == SQUARE:
        return 2.0 * gap
    if abs(gap) <= (epsilon if code == EPSILON_INSENSITIVE else 0.0):
        return 0.0
    return 1.0 if gap > 0.0 else -1.0


@compiled
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
