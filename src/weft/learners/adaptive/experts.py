r"""One weight of an expert: AdaGrad steps and coin betting.

AdaGrad (Duchi, Hazan and Singer 2011) divides a gradient h by the root of all squares so far, its own included. Betting
(COCOB; Orabona and Tommasi 2017, Alg. 2) has no rate: a coordinate bets part of what it has won, b, on the sign of the
next gradient. th is the sum of all -h, G that of |h|, L the largest |h|, and R what was won:

    b = th / max(G + L, ALPHA L) (L + R) / L

The functions take four coordinates at a time (`lanes`), and return what a gradient makes of their numbers.

**Forgetting.** Sums in which the past counts less and less are kept without touching what does not occur: instead of
making the past lighter, every event is heavier than the one before, by a growing weight a. Squares and th, G and R are
sums of a h^2, a h, a |h| ...; divided by the present a they are what they should be. Without forgetting a = 1.
"""

from weft.compiled.jit import inlined_only
from weft.compiled.lanes import Four, absolute, broadcast, maximum, sqrt, zeros_as_ones

EPS = 1e-8
"""Within AdaGrad's root."""
ALPHA = 5.0
"""Caps the first bets."""
TH, G, L, R = range(4)
"""Columns of a betting coordinate."""


@inlined_only
def descended(w: Four, squares: Four, h: Four, eps: Four, eta: Four) -> tuple[Four, Four]:
    """w -= eta h / sqrt(squares + eps), and the squares with h^2; h and eps are times sqrt(a) and a."""
    squares = squares + h * h
    return w - eta * h / sqrt(squares + eps), squares


@inlined_only
def bet(th: Four, g: Four, largest: Four, won: Four, a: Four) -> Four:
    """The weights that coordinates bet; divided before it is multiplied, or a product could underflow."""
    largest = zeros_as_ones(a * largest)  # where L is 0 so is th
    return th / maximum(g + largest, broadcast(ALPHA) * largest) * ((largest + won) / largest)


@inlined_only
def settled(th: Four, g: Four, largest: Four, won: Four, h: Four, b: Four, a: Four) -> tuple[Four, Four, Four, Four]:
    """th, G, L and R after the bets b were lost or won by the gradients h."""
    heavy = a * h
    return th - heavy, g + absolute(heavy), maximum(absolute(h), largest), maximum(won - heavy * b, broadcast(0.0))
