r"""The experts' arithmetic: AdaGrad steps and coin betting, four coordinates at a time.

**AdaGrad** (Duchi, Hazan and Singer 2011). With the gradient h of a coordinate and the sum of its squares H so far,
this gradient included,

    w <- w - eta h / sqrt(H + EPS)

**Coin betting** (COCOB; Orabona and Tommasi 2017, Alg. 2) has no rate: a coordinate bets a share of what it has won on
the sign of the next gradient. THETA is the sum of all -h, G that of |h|, L the largest |h|, and REWARD what was won,
the sum of -h b, never below 0. The weight is the bet

    b = THETA / max(G + L, ALPHA L) (L + REWARD) / L

Log-odds are cut at QMAX where they become probabilities, so that an expert that is right beyond that meets the same
gradient for ever, and bets would grow without limit. So, except in `adaptive` and with `effort="fast"`, betting rests
there: it learns nothing from an event that its own log-odds had right beyond QMAX. L has a tiny floor as well, because
the weight of a feature whose gradients are all tiny has no other limit.

**Forgetting.** Sums in which the past counts less and less can be kept without touching coordinates that do not occur:
instead of making the past lighter, every event is heavier than the one before, by a growing weight a. H, THETA, G and
REWARD are sums of a h^2, -a h, a |h| and -a h b; divided by the present a they are discounted sums. Without forgetting
a = 1.
"""

from weft.compiled.jit import inlined_only
from weft.compiled.lanes import Four, absolute, broadcast, maximum, sqrt, zeros_as_ones

EPS = 1e-8
"""Within AdaGrad's square root."""
ALPHA = 5.0
"""Limits the first bets."""
FLOOR = 2.0**-20
"""The least L in bets; exact in 32 bits."""


@inlined_only
def adagrad_step(w: Four, squares: Four, h: Four, eps: Four, eta: Four) -> tuple[Four, Four]:
    """w and H after the gradients h; h is multiplied by sqrt(a) and eps by a."""
    squares = squares + h * h
    return w - eta * h / sqrt(squares + eps), squares


@inlined_only
def bet(theta: Four, g: Four, largest: Four, reward: Four, a: Four, least: Four) -> Four:
    """The bets b, with a FLOOR as `least`; divided before they are multiplied, because the product could underflow."""
    largest = zeros_as_ones(maximum(a * largest, least))  # where L is 0, THETA is 0 as well
    return theta / maximum(g + largest, broadcast(ALPHA) * largest) * ((largest + reward) / largest)


@inlined_only
def settle_bets(
    theta: Four, g: Four, largest: Four, reward: Four, h: Four, b: Four, a: Four
) -> tuple[Four, Four, Four, Four]:
    """THETA, G, L and REWARD after the gradients h won or lost the bets b."""
    heavy = a * h
    return (
        theta - heavy,
        g + absolute(heavy),
        maximum(absolute(h), largest),
        maximum(reward - heavy * b, broadcast(0.0)),
    )
