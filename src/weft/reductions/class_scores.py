"""Classes of events as numbers, and the scores of one model per class as probabilities."""

from typing import Any, NamedTuple

import numpy as np

from weft.compiled.arrays import Array, Floats, Ints
from weft.labels import Label, Labels, is_number, one_kind


class ClassPredictions(NamedTuple):
    """What is predicted of some events: the class, its score, and its probability.

    Before any class is known the class is None, and the figures are NaN.
    """

    label: Array
    score: Floats
    probability: Floats


def coded(values: Labels, known: list[Label]) -> tuple[list[Label], Ints]:
    """All classes, new ones in the order in which they come, and the class of every example; -1 where it is missing."""
    numbers = {_key(label): number for number, label in enumerate(known)}
    classes = list(known)
    names = values.names
    found, first, which = np.unique(values.values, return_index=True, return_inverse=True)
    is_missing = np.isnan(found)
    if names is None:
        labels: list[Any] = [int(v) if float(v).is_integer() else float(v) for v in np.nan_to_num(found).tolist()]
    else:
        labels = [None if miss else names[int(code)] for code, miss in zip(found, is_missing, strict=True)]
    codes = np.full(len(found), -1, np.int64)
    for at in np.argsort(first).tolist():
        if not is_missing[at]:
            number = numbers.setdefault(_key(labels[at]), len(numbers))
            if number == len(classes):
                classes.append(labels[at])
            codes[at] = number
    return classes, codes[which.reshape(-1)]


def _key(label: Label) -> tuple[str, Label]:
    """What tells classes apart: 1 and True, and 1 and "1", are different ones."""
    kind = "text" if isinstance(label, str) else "number" if is_number(label) else "truth"
    return kind, label


def all_differ(labels: list[Label]) -> bool:
    """Is no class there twice?"""
    return len({_key(label) for label in labels}) == len(labels)


def judged(predicted: Array, values: Labels, known: list[Label]) -> tuple[int, int]:
    """How many predictions are wrong, and how many events have a label."""
    classes, codes = coded(values, known)
    right = [_key(label) for label in classes]
    there = np.flatnonzero(codes >= 0).tolist()
    return sum(predicted[at] is None or _key(_plain(predicted[at])) != right[codes[at]] for at in there), len(there)


def _plain(label: Any) -> Any:
    return label.item() if isinstance(label, np.generic) else label


def number_of(label: Label, known: list[Label]) -> int:
    """The number of a class; ValueError if it is not known."""
    for number, other in enumerate(known):
        if _key(other) == _key(label):
            return number
    shown = ", ".join(map(repr, known[:8])) + (", ..." if len(known) > 8 else "")
    raise ValueError(f"{label!r} is not one of the classes; they are {shown}")


def normalised(scores: Floats) -> Floats:
    """Probabilities of every model, divided by their sum; where all are zero, the highest score has them all."""
    with np.errstate(over="ignore"):
        proba = 1.0 / (1.0 + np.exp(-scores))
    total = proba.sum(axis=1, keepdims=True)
    is_lost = total[:, 0] <= 0.0
    if np.any(is_lost) and scores.shape[1]:
        proba[is_lost, scores[is_lost].argmax(axis=1)] = 1.0
        total = proba.sum(axis=1, keepdims=True)
    found: Floats = np.divide(proba, total, out=np.zeros_like(proba), where=total > 0.0)
    return found


def named(numbers: Ints, classes: list[Label]) -> Array:
    """The classes of these numbers; None for -1."""
    names = np.empty(len(classes) + 1, object)
    names[:-1] = classes
    found: Array = names[numbers]
    if len(classes) and np.all(numbers >= 0) and one_kind(classes):
        found = found.astype(np.array(classes).dtype)
    return found


def predictions(scores: Floats, found: Ints, classes: list[Label], proba: Floats) -> ClassPredictions:
    """What is predicted, given the number of the class that is, -1 if there is none."""
    at = np.arange(len(found))
    is_one = found >= 0
    score, probability = np.full(len(found), np.nan), np.full(len(found), np.nan)
    score[is_one] = scores[at[is_one], found[is_one]]
    probability[is_one] = proba[at[is_one], found[is_one]]
    return ClassPredictions(named(found, classes), score, probability)
