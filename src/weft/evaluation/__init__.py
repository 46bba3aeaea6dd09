"""Evaluation: what a learner's predictions were worth, measured before each label was used.

compare, Comparison, LeftOut       several learners over the same random orders of one stream
whole_catalogue                    all there are, to compare them
one_error, inf_error, cumulative   errors of rounds, and curves
auc, auc_per_task                  area under the ROC curve, over all rows or within every task
record, Run, Bound                 a run with all that the loss bounds need
lemma1, theorem4, corollary5, theorem6, corollary7, theorem9
                                   (left, right) of the bounds of Dekel, Long and Singer (2007) for a run
record_descent, Descent, regret, loss_and_slope
                                   a run of multitask mirror descent, and what it lost more than fixed vectors
theorem1, theorem1_varying, ftrl, hedge_inequality
proposition2, proposition5, proposition6, proposition7, proposition8, hedge_theorem9
                                   (left, right) of the bounds of Cesa-Bianchi, Laforgue, Paudice and Pontil (2022)
record_budget, BudgetRun, KernelComparator, budget_cost, BudgetCost
                                   a run of a learner on a budget of rows, functions to compare it with, its cost
mtrbp_theorem1, mtrbp_sharper, mtrbp_tight, mtforg_theorem2, largest_radius
                                   (left, right) of the bounds of Cavallanti and Cesa-Bianchi (2012), and for whom
record_smoothed, SmoothedRun, osmtl_theorem1
                                   a run of an adaptive smoothed learner; Theorem 1 of Murugesan et al. (2016) for it
record_romco, RomcoRun, romco_theorem3
                                   a run of romco-nucl, and (left, right) of the bound of Yang, Zhao and Gao (2017)
best_in_hindsight, best_linear     the fixed vectors with the least loss, among those that a bound allows
"""

from weft.evaluation.comparison import compare, whole_catalogue
from weft.evaluation.results import Comparison, LeftOut
from weft.evaluation.rounds import auc, auc_per_task, cumulative, inf_error, one_error
from weft.guarantees.budget_bounds import largest_radius, mtforg_theorem2, mtrbp_sharper, mtrbp_theorem1, mtrbp_tight
from weft.guarantees.budget_record import BudgetCost, BudgetRun, KernelComparator, budget_cost, record_budget
from weft.guarantees.descent import Descent, regret
from weft.guarantees.descent_bounds import ftrl, hedge_inequality, theorem1, theorem1_varying
from weft.guarantees.descent_rates import (
    hedge_theorem9,
    proposition2,
    proposition5,
    proposition6,
    proposition7,
    proposition8,
)
from weft.guarantees.descent_record import record_descent
from weft.guarantees.hindsight import best_in_hindsight, best_linear
from weft.guarantees.low_rank import RomcoRun, record_romco, romco_theorem3
from weft.guarantees.measures import loss_and_slope
from weft.guarantees.shared_loss import Bound, Run, corollary5, corollary7, lemma1, record, theorem4, theorem6, theorem9
from weft.guarantees.smoothed import SmoothedRun, osmtl_theorem1, record_smoothed

__all__ = [
    "Bound",
    "BudgetCost",
    "BudgetRun",
    "Comparison",
    "Descent",
    "KernelComparator",
    "LeftOut",
    "RomcoRun",
    "Run",
    "SmoothedRun",
    "auc",
    "auc_per_task",
    "best_in_hindsight",
    "best_linear",
    "budget_cost",
    "compare",
    "corollary5",
    "corollary7",
    "cumulative",
    "ftrl",
    "hedge_inequality",
    "hedge_theorem9",
    "inf_error",
    "largest_radius",
    "lemma1",
    "loss_and_slope",
    "mtforg_theorem2",
    "mtrbp_sharper",
    "mtrbp_theorem1",
    "mtrbp_tight",
    "one_error",
    "osmtl_theorem1",
    "proposition2",
    "proposition5",
    "proposition6",
    "proposition7",
    "proposition8",
    "record",
    "record_budget",
    "record_descent",
    "record_romco",
    "record_smoothed",
    "regret",
    "romco_theorem3",
    "theorem1",
    "theorem1_varying",
    "theorem4",
    "theorem6",
    "theorem9",
    "whole_catalogue",
]
