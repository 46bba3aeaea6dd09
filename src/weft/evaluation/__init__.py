"""Evaluation: what a learner's predictions were worth, measured before each label was used.

compare, Comparison                several learners over the same random orders of one stream
one_error, inf_error, cumulative   errors of rounds, and curves
auc, auc_per_task                  area under the ROC curve, over all rows or within every task
record, Run, Bound                 a run with all that the loss bounds need
lemma1, theorem4, corollary5, theorem6, corollary7, theorem9
                                   (left, right) of the bounds of Dekel, Long and Singer (2007) for a run
"""

from weft.evaluation.bounds import Bound, Run, corollary5, corollary7, lemma1, record, theorem4, theorem6, theorem9
from weft.evaluation.comparison import Comparison, compare
from weft.evaluation.rounds import auc, auc_per_task, cumulative, inf_error, one_error

__all__ = [
    "Bound",
    "Comparison",
    "Run",
    "auc",
    "auc_per_task",
    "compare",
    "corollary5",
    "corollary7",
    "cumulative",
    "inf_error",
    "lemma1",
    "one_error",
    "record",
    "theorem4",
    "theorem6",
    "theorem9",
]
