"""Figures as text, the same in the terminal, on the page and in the document."""

import math
import sys

from weft_reproduction.experiment import Cell, Experiment, Figure

_MOST = 5
"""Digits of a number from the first that is not 0, however small its error is."""


def number(value: float, digits: int | None = None) -> str:
    """A number with as many digits as it takes to tell it from its neighbours.

    >>> number(0.12345), number(12.345), number(1234.5), number(3.0), number(0.5, 1), number(float("nan"))
    ('0.1235', '12.35', '1,234', '3', '0.5', '-')
    """
    if not math.isfinite(value):
        return "-"
    if digits is not None:
        return f"{value:,.{digits}f}"
    if value == int(value) and abs(value) < 1e15:
        return f"{int(value):,}"
    size = abs(value)
    if size >= 1000.0:
        return f"{value:,.0f}"
    if size < 1e-4:
        return f"{value:.2e}"
    return f"{value:.{max(0, 3 - math.floor(math.log10(size)))}f}" if size < 1.0 else f"{value:.4g}"


def ours(figure: Figure) -> str:
    """Our number, with its standard error where there is one.

    >>> ours(Figure(12.3456, 0.0432)), ours(Figure(0.5)), ours(Figure(17.0, 0.25, digits=1)), ours(Figure(1 / 3, 1e-7))
    ('12.346 ± 0.043', '0.5000', '17.0 ± 0.2', '0.33333 ± 1e-07')
    """
    error = figure.error
    if error is None or not math.isfinite(error) or not math.isfinite(figure.value):
        return number(figure.value, figure.digits)
    digits = figure.digits
    if digits is None:
        digits = 3 if error <= 0.0 else max(0, 1 - math.floor(math.log10(error)))
        size = abs(figure.value)
        digits = min(digits, max(0, _MOST - 1 - math.floor(math.log10(size)))) if size > 0.0 else digits
    shown = number(error, digits)
    if error > 0.0 and not shown.strip("0."):
        shown = f"{error:.1g}"
    return f"{number(figure.value, digits)} ± {shown}"


def published(figure: Figure) -> str:
    """The paper's number as the paper prints it, or nothing."""
    if figure.published is None:
        return ""
    return f"{figure.published:g}" if figure.digits is None else number(figure.published, figure.digits)


def cell(value: Cell) -> str:
    """What stands in a table: ours ± its error, and the paper's in brackets.

    >>> cell(Figure(17.21, 0.1, 17.6)), cell(None), cell("x"), cell(12)
    ('17.21 ± 0.10 (paper: 17.6)', 'not run', 'x', '12')
    """
    if value is None:
        return "not run"
    if isinstance(value, str):
        return value
    if not isinstance(value, Figure):
        return number(value)
    paper = published(value)
    return f"{ours(value)} (paper: {paper})" if paper else ours(value)


def about(experiment: Experiment) -> list[str]:
    """Paragraphs that say what the experiment is: its own text, or the docstring of its module."""
    text = experiment.about or sys.modules[experiment.run.__module__].__doc__ or ""
    return [" ".join(part.split()) for part in text.split("\n\n") if part.strip()]
