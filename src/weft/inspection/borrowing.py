"""What every task borrows, as a dict that can be shown as a table."""

from typing import Any

from weft.learner import Borrowed
from weft.names import Name
from weft.text import html


class Borrowing(dict[Name, Borrowed]):
    """Per task what it relies on: a `weft.learner.Borrowed` each.

    `experts` are those that the stack adds up for all tasks, by name: their weights, what they are worth to it.
    """

    def __init__(self, tasks: Any = (), experts: dict[str, float] | None = None) -> None:
        super().__init__(tasks)
        self.experts = experts or {}

    def to_frame(self) -> Any:
        """A pandas data frame with a row per task, named by it, and a column per figure."""
        try:
            import pandas as pd
        except ImportError:
            raise ValueError("to_frame needs pandas, which is not installed; run pip install pandas") from None
        frame = pd.DataFrame([found._asdict() for found in self.values()], columns=list(Borrowed._fields))
        frame.index = pd.Index(list(self), name="task", tupleize_cols=False)
        return frame

    def _repr_html_(self) -> str:
        rows = sorted(self.items(), key=lambda item: -item[1].events)
        worth = sorted(self.experts.items(), key=lambda item: -abs(item[1]))
        tasks = html.table("Borrowing", ["task", *Borrowed._fields], [(task, *found) for task, found in rows])
        return tasks + html.table("Experts of the stack", ["expert", "weight"], worth)
