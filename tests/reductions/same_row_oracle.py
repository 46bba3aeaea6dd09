"""The implicit update for tasks that see one row, in dense NumPy, from the text (Sec. 5 to 7)."""

import numpy as np


def hinge_steps(losses, n2, C, r):
    """r-max: tau_j = clip((l_j - theta) / n2, 0, C), with the least theta >= 0 for which sum tau <= rC."""

    def tau(theta):
        return np.clip((losses - theta) / n2, 0.0, C)

    if tau(0.0).sum() <= r * C:
        return tau(0.0)
    low, high = 0.0, float(losses.max())
    for _ in range(200):
        middle = (low + high) / 2
        low, high = (middle, high) if tau(middle).sum() > r * C else (low, middle)
    return tau(high)


def run_hinge(X, Y, C, r):
    """Scores before each event was learned, and the weights after all; NaN in Y: the task takes no part."""
    W = np.zeros((Y.shape[1], X.shape[1]))
    scores = np.zeros(Y.shape)
    for t, (x, y) in enumerate(zip(X, Y, strict=True)):
        scores[t] = W @ x
        active = ~np.isnan(y)
        losses = np.maximum(0.0, 1.0 - y[active] * scores[t, active])
        if x @ x > 0:
            W[active] += (hinge_steps(losses, x @ x, C, r) * y[active])[:, None] * x
    return scores, W
