"""Labels: which of them a learner takes. Readers of files, streams and single events all ask here.

A classifier has two classes: -1 and +1, 0 and 1, False and True, or any two strings. Streams keep labels as they were
given; the model decides what they mean and remembers its classes (`Classes`). Readers of files follow the same rule
beforehand, so that a label that a model will not take is refused by its line.
"""

import math
import numbers
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats
from weft.learner import Target

LARGEST_LABEL = 1e100
"""Labels beyond this are refused: squares of what is predicted from them stay finite."""

SIZE = f"labels lie within -{LARGEST_LABEL:g} .. {LARGEST_LABEL:g}, scale them or leave the row out"
CLASSES = (
    "classification takes two classes (-1 and +1, 0 and 1, False and True, or two strings), "
    'numbers need loss="square" or the like (weft learn --regression), '
    "more classes weft.Multiclass (weft learn --multiclass)"
)

Label = str | bool | int | float
"""A label as users write it."""

LabelKind = Target | Literal["class"]
"""What labels are for: what a learner predicts, or "class" for any number of classes."""


class Labels(NamedTuple):
    """Labels of a stream: numbers, or codes of `names` if they are not numbers; NaN where one is missing."""

    values: Floats
    names: tuple[Label, ...] | None = None


@dataclass(frozen=True)
class Classes:
    """The two classes of a model; None where one of them is not known yet.

    >>> classes = Classes().extended([0, 1]); classes.negative, classes.positive
    (0, 1)
    >>> Classes(positive="spam").extended(["ham"])
    Classes(negative='ham', positive='spam')
    """

    negative: Label | None = None
    positive: Label | None = None

    @property
    def is_complete(self) -> bool:
        """Are both classes known?"""
        return self.negative is not None and self.positive is not None

    @property
    def shown(self) -> tuple[Label | None, Label | None]:
        """Both classes, negative first, as predictions name them: -1 and 1 as long as nothing else is known."""
        if self.negative is None and (self.positive is None or self.positive == 1):
            return -1, 1
        return self.negative, self.positive

    @property
    def codes(self) -> dict[Label, float]:
        """What a single event's label is to the learner, as far as it is known, where that is no truth value."""
        pairs = ((self.negative, -1.0), (self.positive, 1.0))
        return {label: code for label, code in pairs if label is not None and not isinstance(label, bool)}

    def extended(self, found: list[Label]) -> "Classes":
        """The classes when these labels, in order of appearance, are met as well; a third one is not added.

        ValueError if they cannot be told apart: one string alone does not say whether it is the positive class.
        """
        new = [label for label in dict.fromkeys(found) if self.code_of(label) is None]
        if not new or self.is_complete:
            return self
        if self.positive is None and self.negative is None:
            return _first_classes(new)
        if self.positive is None:
            return Classes(self.negative, new[0])
        if self.positive == 1 and not isinstance(self.positive, str | bool):
            usual = [label for label in new if is_number(label) and label in (0, -1)]
            return Classes(usual[0], self.positive) if usual else self
        if len(new) > 1 and not any(_same(self.positive, label) for label in found):
            shown = " and ".join(map(repr, new[:2]))
            raise ValueError(f"positive={self.positive!r} is not one of the labels, such as {shown}; name one of them")
        return Classes(new[0], self.positive)

    def code_of(self, label: Label) -> float | None:
        """-1.0, 1.0, or None for a label that is not one of the classes."""
        for known, code in ((self.negative, -1.0), (self.positive, 1.0)):
            if known is not None and _same(known, label):
                return code
        return None

    def remedy(self) -> str:
        """What to do about a label that is neither class."""
        if not self.is_complete or self == PLAIN:
            return CLASSES
        known = f"{self.negative!r} and {self.positive!r}"
        return f"the classes of this model are {known}, more than two need weft.Multiclass (weft learn --multiclass)"

    def encoded(self, labels: Labels, dormant: bool) -> tuple[Floats, Array, "Classes"]:
        """-1 and +1 for classes and NaN for missing labels; which labels are neither class; and the classes now.

        `dormant`: 0 marks a task that is not learned, unless it is one of the classes.
        """
        classes = self if self.is_complete else self.extended(distinct(labels, dormant))
        values = labels.values
        y = np.full(len(values), np.nan)
        is_class = np.isnan(values)
        for label, code in ((classes.negative, -1.0), (classes.positive, 1.0)):
            if label is not None:
                mask = _where(labels, label)
                y[mask] = code
                is_class = is_class | mask
        if dormant and labels.names is None:
            is_class = is_class | (values == 0.0)
        return y, ~is_class, classes


PLAIN, UNKNOWN = Classes(-1, 1), Classes()
"""The classes -1 and +1; those of a model that has met no label."""


def one_kind(labels: Sequence[Label | None]) -> bool:
    """Are all labels of one type, so that an array of them can be of that type?"""
    return len({type(label) for label in labels}) == 1


def named_classes(classes: Classes) -> Array:
    """An array of the two classes, to be indexed by whether a score is positive."""
    shown = classes.shown
    if one_kind(shown):
        return np.array(shown)
    mixed = np.empty(2, object)
    mixed[:] = shown
    return mixed


def is_number(label: Any) -> bool:
    """Is it a number, and not a truth value?"""
    return isinstance(label, numbers.Real) and not isinstance(label, bool | np.bool_)


def expect_label(label: Any) -> Label:
    """A class as a user or a file gives it; ValueError if it cannot be one."""
    if not isinstance(label, str | bool | np.bool_):
        scalar_label(label)
    return plain_label(label)


def _same(known: Label, label: Label) -> bool:
    if isinstance(known, str) or isinstance(label, str):
        return type(known) is type(label) and known == label
    return known == label and isinstance(known, bool) == isinstance(label, bool)


def _first_classes(new: list[Label]) -> Classes:
    """The classes of a model that has met no label before: those of the kind that comes first, numbers or other."""
    met, new = new, [label for label in new if is_number(label) == is_number(new[0])]
    if all(map(is_number, new)):
        if set(new) <= {-1, 1}:
            return Classes(-1, 1) if -1 in new else Classes(None, 1)
        return Classes(0, 1) if set(new) <= {0, 1} else PLAIN
    if all(isinstance(label, bool) for label in new):
        return Classes(False, True)
    words = [label for label in new if isinstance(label, str)]
    if len(words) == 1 and len(met) > 1:
        other = next(label for label in met if label != words[0])
        raise ValueError(
            f"{words[0]!r} and {other!r} are labels of two kinds; write both as strings, or both as numbers"
        )
    if len(words) == 1:
        raise ValueError(
            f"{words[0]!r} is the only label so far; give both classes, negative first (classes=[..., ...]), the "
            "schema's positive one (--positive), or begin with events of both"
        )
    return Classes(*sorted(words[:2])) if words else PLAIN


def distinct(labels: Labels, dormant: bool) -> list[Label]:
    """The labels that appear, in order of appearance as far as that matters."""
    values = labels.values[~np.isnan(labels.values)]
    if labels.names is None:
        usual = [label for label in (-1, 0, 1) if np.any(values == label)]
        if np.all(np.isin(values, usual)):
            return [label for label in usual if not (dormant and label == 0)]
        found, first = np.unique(values, return_index=True)
        order = found[np.argsort(first)].tolist()
        return [int(y) if y.is_integer() else y for y in order if not (dormant and y == 0.0)]
    found, first = np.unique(values.astype(np.int64), return_index=True)
    return [labels.names[code] for code in found[np.argsort(first)].tolist()]


def _where(labels: Labels, label: Label) -> Array:
    """Which labels are this one, as a mask."""
    if labels.names is None:
        return np.asarray(labels.values == label) if is_number(label) or label in (False, True) else _none(labels)
    same = [code for code, name in enumerate(labels.names) if _same(label, name)]
    return np.isin(labels.values, same) if same else _none(labels)


def _none(labels: Labels) -> Array:
    return np.zeros(len(labels.values), bool)


def wrong_labels(y: Floats, target: Target, *, dormant: bool, missing: bool = False) -> Array:
    """Which labels a learner of that kind does not take, as a mask.

    In a stream with rounds a task may be `dormant`: its label is NaN, or 0 for classification. `missing`: a label may
    be left out altogether, as when nothing is learned.

    >>> wrong_labels(np.array([1.0, 0.0, np.nan, 2.0]), "binary", dormant=True).tolist()
    [False, False, False, True]
    """
    if target == "point":
        return np.zeros(len(y), bool)
    is_nan = np.isnan(y)
    wrong = too_large(y)
    if target == "binary":
        wrong = ~((y == 1.0) | (y == -1.0) | is_nan)
        if dormant:
            wrong &= y != 0.0
    return np.asarray(wrong if dormant or missing else wrong | is_nan)


def too_large(y: Floats) -> Array:
    """Which labels no learner takes, because they are infinite or nearly so, as a mask."""
    return np.asarray(np.abs(y) > LARGEST_LABEL)


def one_label(y: Any, target: Target, classes: Classes) -> float | None:
    """The label of a single event, as a learner of that kind takes it; None if the classes have to be found out."""
    if target == "point":
        return 0.0
    if target == "real":
        return scalar_label(y)
    if not isinstance(y, str | bool | np.bool_):
        scalar_label(y)
    code = classes.code_of(plain_label(y))
    if code is None and classes.is_complete:
        raise ValueError(f"label {y!r}; {classes.remedy()}")
    return code


def plain_label(y: Any) -> Label:
    """A label without NumPy's types; integers are integers also if they came as floats."""
    if isinstance(y, str):
        return str(y)
    if isinstance(y, bool | np.bool_):
        return bool(y)
    return int(y) if float(y).is_integer() else float(y)


def scalar_label(y: Any) -> float:
    """One label as a float."""
    if isinstance(y, bool | np.bool_) or not isinstance(y, numbers.Real):
        raise ValueError(f"label {y!r} is not a number; give a finite number")
    try:
        value = float(y)
    except OverflowError:
        raise ValueError("the label is too large a number; give a finite one") from None
    if not math.isfinite(value):
        raise ValueError(f"label {y!r} is not finite; give a finite number, or leave the event out")
    if abs(value) > LARGEST_LABEL:
        raise ValueError(f"label {y!r} is too large; {SIZE}")
    return value


def label_array(y: Any) -> Labels:
    """New arrays of labels: numbers, or codes where labels are strings or truth values; others are refused by row."""
    try:
        array = np.asarray(y)
    except ValueError:  # lists of different lengths
        array = np.array(list(y), object)
    if array.ndim == 0:
        raise ValueError(f"y is {y!r}; give one label per row")
    if array.dtype.kind in "fiu":
        return Labels(array.astype(np.float64))
    if array.dtype.kind in "US" and any(is_number(label) for label in y):
        array = np.array(list(y), object)  # NumPy has made strings of numbers
    found = array.astype(object) if array.dtype.kind != "O" else array
    if all(map(is_number, found.flat)):
        try:
            return Labels(found.astype(np.float64))
        except OverflowError:
            raise ValueError("y holds a label that is too large a number; labels must be finite") from None
    return _coded(found)


def _coded(found: Any) -> Labels:
    """Codes of labels that are not all numbers."""
    values, names = np.full(found.shape, np.nan), dict[tuple[type, Label], int]()
    for place, label in np.ndenumerate(found):
        if label is None or (isinstance(label, float) and math.isnan(label)):
            continue
        if not isinstance(label, str | bool | np.bool_ | numbers.Real):
            raise ValueError(f"row {place[0]}: label {label!r} is not a number, a truth value or a string; {CLASSES}")
        plain = plain_label(label)
        values[place] = names.setdefault((type(plain), plain), len(names))
    return Labels(values, tuple(name for _, name in names))


def probability(score: float) -> float:
    """Of the positive class, where a score is log-odds.

    >>> probability(0.0), probability(-1000.0)
    (0.5, 0.0)
    """
    return 1.0 / (1.0 + math.exp(-score)) if score > -700.0 else 0.0
