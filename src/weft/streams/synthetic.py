"""Synthetic streams with known weights: many small tasks, most of them related, some not."""

import numpy as np

from weft.compiled.arrays import Floats
from weft.stream import Stream


def related_tasks(
    tasks: int = 60,
    events: int = 6000,
    features: int = 20,
    groups: int = 3,
    loners: int = 12,
    spread: float = 0.3,
    noise: float = 0.05,
    round_size: int = 1,
    seed: int = 0,
) -> Stream:
    """Tasks in groups that share a weight vector, and loners that share nothing; labels -1 and +1.

    tasks     number of tasks, loners included; names show which: "group-1/07", "loner/03"
    events    number of rows; a few tasks get many of them, most get few, as is common for users
    groups    number of groups; a task's own vector deviates from its group's by `spread` (relative length)
    loners    tasks outside the groups: every second one opposes a group's vector, the others have their own
    noise     share of labels that are flipped
    round_size  most events that arrive together; a round is shorter where a task would appear in it twice

    >>> stream = related_tasks(tasks=4, events=100, groups=1, loners=1)
    >>> sorted(stream.task_names), len(stream)
    (['group-1/01', 'group-1/02', 'group-1/03', 'loner/01'], 100)
    """
    _check(tasks, events, features, groups, loners, round_size, spread, noise)
    rng = np.random.default_rng(seed)
    centres = _directions(rng, groups, features)
    names, truth = [], np.empty((tasks, features))
    for t in range(tasks - loners):
        group = t % groups
        names.append(f"group-{group + 1}/{t // groups + 1:02d}")
        truth[t] = centres[group] + spread * _directions(rng, 1, features)[0]
    for n, t in enumerate(range(tasks - loners, tasks)):
        names.append(f"loner/{n + 1:02d}")
        truth[t] = -centres[n // 2 % groups] if n % 2 else _directions(rng, 1, features)[0]

    # Sizes decrease as 1 / sqrt(rank), in an order that is independent of groups; every task appears.
    share = 1.0 / np.sqrt(np.arange(1, tasks + 1))
    order = rng.permutation(tasks)
    task = np.concatenate([np.arange(tasks), rng.choice(order, events - tasks, p=share / share.sum())])
    task = rng.permutation(task)
    X = rng.standard_normal((events, features)) / np.sqrt(features)
    y = np.where(np.einsum("ij,ij->i", X, truth[task]) >= 0.0, 1.0, -1.0)
    y[rng.random(events) < noise] *= -1.0
    rounds = None if round_size == 1 else _rounds(task.tolist(), round_size)
    return Stream(X, y, [names[t] for t in task], rounds)


def _rounds(task: list[int], size: int) -> list[int]:
    """Fill rounds one after the other, with no task twice in one."""
    numbers: list[int] = []
    here: set[int] = set()
    number = 0
    for t in task:
        if t in here or len(here) == size:
            number, here = number + 1, set()
        here.add(t)
        numbers.append(number)
    return numbers


def _directions(rng: np.random.Generator, count: int, features: int) -> Floats:
    vectors = rng.standard_normal((count, features))
    return np.asarray(vectors / np.linalg.norm(vectors, axis=1, keepdims=True))


def _check(
    tasks: int,
    events: int,
    features: int,
    groups: int,
    loners: int,
    round_size: int,
    spread: float,
    noise: float,
) -> None:
    for name, value, low in (
        ("tasks", tasks, 1),
        ("features", features, 1),
        ("groups", groups, 1),
        ("loners", loners, 0),
        ("round_size", round_size, 1),
    ):
        if value < low:
            raise ValueError(f"{name}={value} must be at least {low}")
    if loners > tasks:
        raise ValueError(f"loners={loners} must be at most tasks={tasks}")
    if events < tasks:
        raise ValueError(f"events={events} must be at least tasks={tasks}: every task appears")
    if not 0.0 <= noise <= 0.5:
        raise ValueError(f"noise={noise} must lie between 0 and 0.5")
    if spread < 0.0:
        raise ValueError(f"spread={spread} must be at least 0")
