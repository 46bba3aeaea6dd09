"""What `weft inspect` shows of learners that keep rows on a budget: who has how many, what it cost, and the rows."""

import math
from typing import TYPE_CHECKING, Any

from weft.cli.options import show_name
from weft.cli.tables import BAR, count, fitting_table, new_table, number, plural, share

if TYPE_CHECKING:
    from weft.model import Model

MOST_SHARES = 10
"""So many tasks are shown with their rows, unless all are asked for."""

MOST_FEATURES = 5
"""So many features are shown of a row, the heaviest."""


def budget_facts(model: "Model") -> dict[str, Any] | None:
    """Rows, bytes, evictions and their damage; None where there is no budget to speak of."""
    if "usage" not in model.views:
        return None
    found = model.usage()
    return {
        "rows": found.rows,
        "most_rows": _limit(found.most_rows),
        "bytes": found.bytes,
        "most_bytes": _limit(found.most_bytes),
        "oldest": found.oldest,
        "mistakes": found.mistakes,
        "evictions": found.evictions,
        "damage": found.damage,
        "mean_damage": found.mean_damage,
        "too_large": found.too_large,
    }


def _limit(most: float) -> int | None:
    return None if math.isinf(most) else int(most)


def budget_lines(facts: dict[str, Any]) -> list[tuple[str, str]]:
    """The same in words."""
    rows = plural(facts["rows"], "row")
    if facts["most_rows"] is not None:
        rows = f"{count(facts['rows'])} of at most {plural(facts['most_rows'], 'row')}"
    size = plural(facts["bytes"], "byte")
    if facts["most_bytes"] is not None:
        size = f"{count(facts['bytes'])} of at most {plural(facts['most_bytes'], 'byte')}"
    age = "" if facts["oldest"] is None else f"; the oldest came {plural(facts['oldest'], 'event')} ago"
    lines = [("keeps", f"{rows}, {size}{age}")]
    lines.append(("mistakes", f"{count(facts['mistakes'])} with y f(x) <= 0, which it learns from"))
    if facts["evictions"]:
        each = f"{number(facts['damage'])}, {number(facts['mean_damage'])} each"
        lines.append(("evicted", f"{plural(facts['evictions'], 'row')}; damage {each}"))
    elif facts["most_rows"] is not None or facts["most_bytes"] is not None:
        lines.append(("evicted", "nothing yet"))
    if facts["too_large"]:
        lines.append(("too large", f"{plural(facts['too_large'], 'row')} that the whole budget could not hold"))
    return lines


def shares(model: "Model") -> list[dict[str, Any]] | None:
    """How many rows every task has brought, the largest number first; None where there is no budget."""
    if "usage" not in model.views:
        return None
    kept = model.usage().kept.tolist()
    rows = [{"task": name, "rows": n} for name, n in zip(model.tasks, kept, strict=True)]
    return sorted(rows, key=lambda row: -row["rows"])


def print_shares(screen: Any, rows: list[dict[str, Any]] | None, all_tasks: bool) -> None:
    """The tasks with most rows, with bars, the rest in a line."""
    total = sum(row["rows"] for row in rows or [])
    if not rows or len(rows) < 2 or not total:
        return
    shown = rows if all_tasks or len(rows) <= MOST_SHARES + 1 else rows[:MOST_SHARES]
    lines = []
    for row in shown:
        bar = "*" * math.ceil(20 * row["rows"] / rows[0]["rows"])
        lines.append(([show_name(row["task"]), count(row["rows"]), share(row["rows"] / total), bar], ""))
    rest = sum(row["rows"] for row in rows[len(shown) :])
    if len(rows) > len(shown):
        words = f"{len(rows) - len(shown):,} other tasks"
        lines.append(([words, count(rest), share(rest / total), "--all-tasks lists them"], "dim"))
    columns = ["task", "rows", "share", f"share{BAR}"]
    screen.print(fitting_table(columns, lines, (columns[3],), "How tasks share the rows"))


def kept_rows(model: "Model", task: Any, top: int) -> dict[str, Any] | None:
    """The rows that a task's function is made of, the largest coefficients first; None where there is no budget.

    Where every task has coefficients for all rows, these are all that it gives weight to; else those that it brought.
    """
    if "usage" not in model.views:
        return None
    found: list[dict[str, Any]] = []
    for row in model.support():
        everyones = row.coefficients is not None
        coefficient = row.coefficients[task] if row.coefficients is not None else row.coefficient
        if coefficient == 0.0 or (row.task != task and not everyones):
            continue
        features = sorted(row.row.items(), key=lambda item: -abs(item[1]))
        heaviest = [{"feature": name, "value": value} for name, value in features[:MOST_FEATURES]]
        facts = {"age": row.age, "coefficient": coefficient, "nonzeros": len(features), "features": heaviest}
        found.append({**facts, "task": row.task} if everyones else facts)
    found.sort(key=lambda facts: -abs(facts["coefficient"]))
    return {"count": len(found), "heaviest": found[:top]}


def print_kept_rows(screen: Any, rows: dict[str, Any]) -> None:
    """A line per row: since when, how heavy, what is in it."""
    shown = rows["heaviest"]
    if not shown:
        screen.print("It has no rows in the budget.")
        return
    everyones = "task" in shown[0]
    title = "Heaviest rows" + (" of all tasks, by its coefficients" if everyones else "")
    table = new_table("age", "coefficient", *(["brought by"] * everyones), "heaviest features", title=title)
    table.columns[0].justify = "right"
    last = table.columns[-1]
    last.justify, last.no_wrap, last.overflow = "left", False, "fold"
    for row in shown:
        cells = [count(row["age"]), f"{row['coefficient']:+.4f}"]
        table.add_row(*cells, *([show_name(row["task"])] if everyones else []), _features(row))
    if rows["count"] > len(shown):
        table.add_row("", f"{rows['count'] - len(shown):,} more", *([""] * everyones), "--top shows them", style="dim")
    screen.print(table)


def _features(row: dict[str, Any]) -> str:
    words = ", ".join(f"{show_name(item['feature'])} {item['value']:.4g}" for item in row["features"])
    more = row["nonzeros"] - len(row["features"])
    return (f"{words} and {more:,} more" if more else words) or "none: a row of zeros"
