"""Reductions: problems with many labels, or many numbers, as binary or real tasks that are learned together.

    Multiclass        one label out of many: one-vs-rest, bits of the label's number, an error-correcting code
    Multilabel        a set of labels
    VectorRegression  a vector of numbers

Every event becomes a round in which all tasks see the same row, and the learner's norm says how the tasks'
losses add up (Dekel, Long and Singer 2007): with one-vs-rest a single wrong task spoils the prediction, so
only the worst loss matters (linf); a code of distance d puts up with fewer than d/2 wrong tasks, so the d/2
worst do (r-max); the outputs of a regression are one point, so their Euclidean distance does (l2). Learners
without a norm can be used as well; then the tasks are learned as that learner learns tasks.

`learn` returns what was predicted before each label was used. Labels may be of any hashable kind but None;
inside, the tasks are numbered, and `.model` is the `weft.Model` that holds them.

>>> from weft.reductions import Multiclass
>>> iris = Multiclass("implicit", labels=["setosa", "versicolor", "virginica"])
>>> iris.learn_one({"petal length": 1.4, "petal width": 0.2}, "setosa")
'setosa'
>>> iris.learn_one({"petal length": 5.1, "petal width": 1.9}, "virginica")
'setosa'
>>> iris.predict_one({"petal length": 5.9, "petal width": 2.1})
'virginica'
"""

from weft.reductions.codes import code_distance, decode_hamming, exhaustive_code, log2_code, one_vs_rest
from weft.reductions.multiclass import Multiclass
from weft.reductions.multilabel import Multilabel
from weft.reductions.regression import VectorRegression

__all__ = [
    "Multiclass",
    "Multilabel",
    "VectorRegression",
    "code_distance",
    "decode_hamming",
    "exhaustive_code",
    "log2_code",
    "one_vs_rest",
]
