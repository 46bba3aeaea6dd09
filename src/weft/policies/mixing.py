r"""The prediction of a task that receives without giving, from what its private model and the model of all say.

Neither can learn from the other. As in `auto`, a stack adds them up, and a mixture of {stack, own, received} does no
harm: it is never much worse than either. With r the score of the model of all, and o that of the private model:

**Log-odds.** s = V_1 clip(r, 8) + V_2 clip(o, 8), where V starts at (1, 1/2) and takes AdaGrad steps of rate 0.1; p =
sum_i w_i sigma(f_i) over i in {stack, own, received}. After an event w_i is multiplied by the likelihood that i gave to
the label, and a share a = SHARE/(n + 1) of the weight returns to the prior: the loss is at most that of i plus
ln(1/prior_i) - sum_n ln(1 - a_n).

**Other losses.** s = r + V (o - r), V = sum (o - r)(y - r) / ((1 + 2/n) sum (o - r)^2) between 0 and 1. Scores are
mixed by AdaHedge (de Rooij, van Erven, Grunwald and Koolen 2014), w_i ~ prior_i exp(-eta L_i), where L_i sums up
losses and eta = ln(1/least prior)/gap; `gap` sums up by how much the loss of the mixture exceeded -1/eta ln sum_i w_i
exp(-eta l_i). None of this has a unit, and it holds for any convex loss.

Before the first event of the private model the prediction is that of the model of all.
"""

import math

import numpy as np

from weft.compiled.arrays import Floats
from weft.maths.losses import loss_value

PRIOR = (0.8, 0.1, 0.1)
"""Of stack, own and received."""
LEAST = math.log(1.0 / min(PRIOR))
SHARE = 0.25
START, RATE, SMAX = (1.0, 0.5), 0.1, 8.0
"""Of the stack of log-odds: its first weights of r and o, its rate, and where scores are clipped."""
QMAX = 30.0
"""Log-odds are clipped to this, so that no likelihood is 0."""
MOST = 1e280
"""Losses count up to this, so that their sums are numbers."""
NUMBERS = 9
"""Events; ln w_i, or L_i; the gap; V and its sums of squares, or the two sums that V is made of."""

Three = tuple[float, float, float]


def _sigma(q: float) -> float:
    return 1.0 / (1.0 + math.exp(-min(max(q, -QMAX), QMAX)))


def _clip(score: float) -> float:
    return min(max(score, -SMAX), SMAX)


class Mixing:
    """The stack and the mixture of one task; `log_odds`: scores are log-odds, and the loss is log-loss."""

    def __init__(self, log_odds: bool, numbers: Floats | None = None) -> None:
        self._log_odds = log_odds
        stack = [*START, 1.0, 1.0] if log_odds else [0.0] * 4
        found = [0.0] * 5 + stack if numbers is None else numbers.tolist()
        self.events, self._losses, self._gap, self._stack = found[0], found[1:4], found[4], found[5:]

    def numbers(self) -> Floats:
        """As a file holds them."""
        return np.array([self.events, *self._losses, self._gap, *self._stack])

    def weights(self) -> dict[str, float]:
        """Of the components."""
        return dict(zip(("stack", "own", "received"), self._weights(), strict=True))

    def _weights(self) -> Three:
        if not self.events:
            return 0.0, 0.0, 1.0
        if self._log_odds:
            parts = [math.exp(weight) for weight in self._losses]
        else:
            least = min(self._losses)
            parts = [prior * self._decay(l - least) for prior, l in zip(PRIOR, self._losses, strict=True)]
        total = sum(parts)
        return parts[0] / total, parts[1] / total, parts[2] / total

    def _decay(self, excess: float) -> float:
        """exp(-eta excess)."""
        if excess <= 0.0:
            return 1.0
        return math.exp(-min(excess * LEAST / self._gap, 700.0)) if self._gap > 0.0 else 0.0

    def _components(self, received: float, own: float) -> Three:
        """The scores of stack, own and received."""
        if self._log_odds:
            return self._stack[0] * _clip(received) + self._stack[1] * _clip(own), own, received
        products, squares = self._stack[0], self._stack[1] * (1.0 + 2.0 / max(self.events, 1.0))
        V = min(max(products / squares, 0.0), 1.0) if squares > 0.0 else 0.0
        return (1.0 - V) * received + V * own, own, received

    def shares(self) -> tuple[float, float]:
        """How much the scores of the model of all and of the private one count, but for clipping and mixing."""
        w, (s, _, _) = self._weights(), self._components(1.0, 0.0)
        other = self._stack[1] if self._log_odds else 1.0 - s
        return w[2] + w[0] * s, w[1] + w[0] * other

    def score(self, received: float, own: float) -> float:
        """The mixture."""
        if not self.events:
            return received
        w, f = self._weights(), self._components(received, own)
        if not self._log_odds:
            return w[0] * f[0] + w[1] * f[1] + w[2] * f[2]
        positive, negative = (sum(w[i] * _sigma(sign * f[i]) for i in range(3)) for sign in (1.0, -1.0))
        return math.log(positive / negative)

    def update(self, received: float, own: float, label: float, loss: tuple[int, float]) -> None:
        """Learn a label whose scores these were; `loss` is a code and an epsilon (`maths.losses`)."""
        w, f = self._weights() if self.events else PRIOR, self._components(received, own)
        self.events += 1.0
        if self._log_odds:
            self._update_weights(w, f, label > 0.0)
            self._step(f[0], (_clip(received), _clip(own)), label > 0.0)
        else:
            *losses, mixed = (
                min(float(loss_value(loss[0], score, label, loss[1])), MOST)
                for score in (*f, w[0] * f[0] + w[1] * f[1] + w[2] * f[2])
            )
            self._update_losses(w, losses, mixed)
            gap = own - received
            self._stack[0] = max(min(self._stack[0] + gap * (label - received), MOST), -MOST)
            self._stack[1] = min(self._stack[1] + gap * gap, MOST)

    def _update_weights(self, w: Three, f: Three, positive: bool) -> None:
        """Bayes, and a share that returns to the prior."""
        sign = 1.0 if positive else -1.0
        posterior = [w[i] * _sigma(sign * f[i]) for i in range(3)]
        a, total = SHARE / (self.events + 1.0), sum(posterior)
        for i in range(3):
            self._losses[i] = math.log((1.0 - a) * posterior[i] / total + a * PRIOR[i])

    def _step(self, s: float, scores: tuple[float, float], positive: bool) -> None:
        """AdaGrad on the stack's weights."""
        error = _sigma(s) - (1.0 if positive else 0.0)
        for i in range(2):
            h = error * scores[i]
            self._stack[2 + i] += h * h
            self._stack[i] -= RATE * h / math.sqrt(self._stack[2 + i])

    def _update_losses(self, w: Three, losses: list[float], mixed: float) -> None:
        """AdaHedge."""
        least = min(losses)
        rest = sum(weight * self._decay(l - least) for weight, l in zip(w, losses, strict=True))
        ideal = least
        if self._gap > 0.0 and rest > 0.0:
            ideal -= math.log(rest) * self._gap / LEAST
        self._gap = min(self._gap + max(mixed - ideal, 0.0), MOST)
        for i in range(3):
            self._losses[i] = min(self._losses[i] + losses[i], MOST)
