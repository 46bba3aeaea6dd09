"""What is said of predictions: the same figures for every learner of these experiments."""

import numpy as np

from weft.compiled.arrays import Floats
from weft_reproduction.default_2.streams import Data
from weft_reproduction.experiment import Figures


def figures_of(p: Floats, data: Data) -> Figures:
    """Mean log-loss, with p clipped at 1e-6, and share of errors; or the mean square over the variance of labels."""
    if not data.logistic:
        return {"loss": float(np.mean((p - data.y) ** 2) / np.var(data.y))}
    p = np.clip(p, 1e-6, 1.0 - 1e-6)
    losses = -np.log(np.where(data.y > 0.0, p, 1.0 - p))
    return {"loss": float(losses.mean()), "error": float(np.mean((p > 0.5) != (data.y > 0.0)))}
