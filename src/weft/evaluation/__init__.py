"""Evaluation: what a learner's predictions were worth, measured before each label was used.

compare, Comparison    several learners over the same random orders of one stream
"""

from weft.evaluation.comparison import Comparison, compare

__all__ = ["Comparison", "compare"]
