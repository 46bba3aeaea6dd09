"""Synthetic streams match their description."""

import numpy as np
import pytest

from weft.streams import related_tasks


def test_tasks_groups_loners_and_labels():
    stream = related_tasks(tasks=20, events=500, groups=2, loners=4, seed=3)
    names = sorted(stream.task_names)
    assert len(stream) == 500
    assert sum(name.startswith("loner/") for name in names) == 4
    assert sum(name.startswith("group-1/") for name in names) == sum(name.startswith("group-2/") for name in names) == 8
    assert set(stream.y) == {-1.0, 1.0}


def test_the_seed_decides():
    one, same, other = (related_tasks(tasks=5, events=50, loners=1, seed=seed) for seed in (1, 1, 2))
    assert np.array_equal(one.data.values, same.data.values)
    assert one.tasks == same.tasks
    assert not np.array_equal(one.data.values, other.data.values)


def test_rounds_hold_no_task_twice_and_not_too_many():
    stream = related_tasks(tasks=9, events=300, loners=2, round_size=4)
    sizes = np.diff(stream.rounds)
    assert sizes.max() == 4
    assert stream.n_rounds < 300


@pytest.mark.parametrize(
    ("wrong", "message"),
    [
        ({"tasks": 0}, "tasks=0 must be at least 1"),
        ({"loners": 99}, "loners=99 must be at most tasks=60"),
        ({"events": 10}, "events=10 must be at least tasks=60"),
        ({"noise": 0.7}, "noise=0.7 must lie between 0 and 0.5"),
        ({"spread": -1.0}, "spread=-1.0 must be at least 0"),
        ({"round_size": 0}, "round_size=0 must be at least 1"),
    ],
)
def test_wrong_arguments(wrong, message):
    with pytest.raises(ValueError, match=message):
        related_tasks(**wrong)
