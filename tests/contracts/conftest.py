"""Every contract runs over every setting of every learner."""

import math
from pathlib import Path

import pytest

from contracts.settings import SETTINGS
from weft.storage import pairs


def _of_one_worker(setting):
    """Settings with the same kernels run in the same worker, so that no kernel is compiled twice."""
    learn = setting.learner.kernels.learn
    group = getattr(learn, "py_func", learn).__module__ if setting.learner.kernels.compiled else setting.name
    return pytest.param(setting, id=str(setting), marks=pytest.mark.xdist_group(group))


PARAMETERS = [_of_one_worker(setting) for setting in SETTINGS]


def pytest_generate_tests(metafunc):
    if "setting" in metafunc.fixturenames:
        wanted = [marker.args[0] for marker in metafunc.definition.iter_markers("only")]
        found = [found for found in PARAMETERS if all(has(found.values[0].traits) for has in wanted)]
        if metafunc.config.getoption("--quick"):  # the others are left out anyway, but collecting them takes seconds
            found = [one for one in found if not one.values[0].parameters] or found
        metafunc.parametrize("setting", found)


def pytest_collection_modifyitems(items):
    """Contracts without a setting use the plainest learners: they run where those are compiled."""
    for item in items:
        if item.path.parent == Path(__file__).parent and item.get_closest_marker("xdist_group") is None:
            item.add_marker(pytest.mark.xdist_group("weft.learners.single_task.passive_aggressive"))


def _soon(setting):
    """A limit for tables that is reached in mid-stream, whatever a learner keeps of a pair."""
    axes = setting.model().learner.plan.axes.values()
    return 40 * max(1, sum(math.prod(of_pair[1:]) for of_pair in axes if "pair" in of_pair))


@pytest.fixture
def soon_hashed(monkeypatch, setting):
    """The table of weights is left for hashed pairs in mid-stream."""
    monkeypatch.setattr(pairs, "DENSE_LIMIT", _soon(setting))


@pytest.fixture(params=["dense", "hashed"])
def layout(request, monkeypatch, setting):
    """A table all the time, or a change to hashed pairs in mid-stream."""
    limit = {"dense": 1 << 23, "hashed": _soon(setting)}[request.param]
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    return request.param
