"""How far one step may go, which keeps the rows of one task from making the models of others infinite.

Features reach from 1e-150 to 1e150 and labels to 1e100, so that a step may be as long as a number can be; models of
that size have products that are not numbers, and what tasks share would hand them to everybody. A step that is longer
than LONGEST is therefore cut to that length. Scores stay below the number of steps and features times 1e250.
"""

import math

from weft.compiled.jit import inlined

LONGEST = 1e100
"""The most by which a step moves a model, in its rule's own norm and before its rate."""


@inlined
def cut(step: float, square: float) -> float:
    """The step along a row with |x|^2 = square, at most LONGEST long.

    >>> cut(3.0, 4.0), cut(-1e80, 1e60), cut(1e300, 1e-200)
    (3.0, -1e+70, 1e+200)
    """
    if (step * square) * step > LONGEST * LONGEST:  # in this order nothing overflows that is not too long
        return math.copysign(LONGEST / math.sqrt(square), step)
    return step
