"""Does sharing help on these data? Several learners on the same random orders of one stream.

The stream is an array of rows, labels and task names, as from a data frame or a CSV file. 40 tasks nearly agree, 8 are
loners that agree with no other task, and four events at a time arrive together (a round), which a shared loss needs.
"""

import numpy as np

import weft
from weft.streams import related_tasks

synthetic = related_tasks(tasks=48, events=4000, groups=1, loners=8, round_size=4, seed=3)
X, y, task = synthetic.X.toarray(), synthetic.y, synthetic.tasks  # what a user would start from
rounds = np.repeat(np.arange(synthetic.n_rounds), np.diff(synthetic.rounds))


def main() -> None:
    stream = weft.Stream(X, y, task, rounds=rounds)
    print(stream)
    found = weft.compare(
        stream,
        {
            "a model per task": ("pa", {"C": 0.3}),
            "one for all": ("pa", {"C": 0.3, "pooled": True}),
            "shared loss, l2": ("implicit", {"C": 0.3}),
            "shared loss, linf": ("implicit", {"C": 0.3, "norm": "linf"}),
        },
        shuffles=5,
        progress=False,
    )
    print("\nlearner              error            tasks won")
    for row in found.rows():
        print(f"{row['learner']:<21}{row['error']:.3f} ±{row['error_se']:.3f}{row['wins']:>12}")

    print("\nagainst a model per task, order by order (below 0 is better):")
    for row in found.versus("a model per task"):
        print(f"{row['learner']:<21}{row['difference']:+.3f} ±{row['difference_se']:.3f}")

    loners = [row for row in found.per_task() if row["task"].startswith("loner")]
    print("\nmean error of the loners:")
    for label in found.learners:
        print(f"{label:<21}{sum(row[label] for row in loners) / len(loners):.3f}")


if __name__ == "__main__":
    main()
