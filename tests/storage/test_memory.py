"""Arrays that grow in place where address space can be reserved, and by a copy where it cannot."""

import copy
import gc
import mmap
import os
import pickle
import subprocess
import sys

import numpy as np
import pytest

import weft
from weft.storage import memory, pairs

LINUX = pytest.mark.skipif(sys.platform != "linux", reason="address space is only reserved for certain on Linux")


@pytest.fixture
def reserving(monkeypatch):
    monkeypatch.setattr(memory, "RESERVE_FROM", 1)


def refuse(*arguments, **options):
    raise OSError("no address space")


@pytest.mark.parametrize("least", [1, 1 << 60], ids=["reserved", "copied"])
@pytest.mark.parametrize(("shape", "kind"), [((5,), np.int64), ((3, 8), np.float64), ((7, 2), np.float32)])
def test_longer_arrays(shape, kind, least, monkeypatch):
    monkeypatch.setattr(memory, "RESERVE_FROM", least)
    array = memory.zeros(shape, kind)
    assert array.shape == shape
    assert array.dtype == kind
    assert not array.any()
    assert array.ctypes.data % memory.LINE == 0
    array[:] = np.arange(array.size).reshape(shape)
    found = memory.longer(array, 1000)
    assert found.shape == (1000, *shape[1:])
    assert np.array_equal(found[: len(array)], np.arange(array.size).reshape(shape))
    assert not found[len(array) :].any()
    assert found.flags.c_contiguous
    assert found.flags.writeable
    assert found.ctypes.data % memory.LINE == 0


@LINUX
def test_reserved_arrays_do_not_move(reserving):
    array = memory.zeros((4, 2), np.float64)
    found = memory.longer(memory.longer(array, 100), 1 << 20)
    assert memory.is_reserved(array)
    assert memory.is_reserved(found)
    assert found.ctypes.data == array.ctypes.data
    assert not memory.is_reserved(array[1:])
    assert not memory.is_reserved(np.zeros(3))


@LINUX
def test_small_arrays_are_copied_and_large_ones_are_not():
    small = memory.zeros((memory.RESERVE_FROM // 8 - 1,), np.float64)
    large = memory.longer(small, 2 * len(small))
    assert not memory.is_reserved(small)
    assert memory.is_reserved(large)
    assert memory.longer(large, 4 * len(small)).ctypes.data == large.ctypes.data


@LINUX
def test_only_pages_that_are_touched_take_memory(reserving):
    def resident():
        with open("/proc/self/statm") as file:
            return int(file.read().split()[1]) * mmap.PAGESIZE

    array = memory.longer(memory.zeros((1,), np.float64), 1 << 27)  # a gigabyte
    before = resident()
    array[:1000] = 1.0
    assert resident() - before < 1 << 24


@LINUX
def test_a_reservation_lasts_as_long_as_a_view(reserving):
    before = memory._reserved[0]
    array = memory.zeros((4, 2), np.float64)
    assert memory._reserved[0] > before
    view = memory.longer(array, 50)[3:4]
    del array
    gc.collect()
    view[0, 0] = 7.0
    assert view.tolist() == [[7.0, 0.0]]
    del view
    gc.collect()
    assert memory._reserved[0] == before


@LINUX
def test_copies_and_pickles_hold_what_the_view_shows(reserving):
    array = memory.zeros((3,), np.float64)
    array[:] = [1.0, 2.0, 3.0]
    for found in (copy.deepcopy(array), pickle.loads(pickle.dumps(array)), array.copy()):
        assert found.tolist() == [1.0, 2.0, 3.0]
        assert not memory.is_reserved(found)
        found[0] = 9.0
    assert array[0] == 1.0


@LINUX
def test_a_fork_has_its_own(reserving):
    array = memory.zeros((3,), np.float64)
    array[0] = 1.0
    child = os.fork()
    if child == 0:
        array[0] += 1.0
        os._exit(int(array[0]))
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 2
    assert array[0] == 1.0


@LINUX
def test_many_reservations_become_smaller_and_then_none(reserving, monkeypatch):
    monkeypatch.setattr(memory, "MOST_RESERVED", memory._reserved[0] + (1 << 30))
    arrays = [memory.zeros((1000,), np.float64) for _ in range(1000)]
    sizes = [memory._reservation_of(array).nbytes if memory.is_reserved(array) else 0 for array in arrays]
    assert sizes[0] == (1 << 30) // memory.SHARE
    assert sizes == sorted(sizes, reverse=True)
    assert sizes[-1] == 0
    assert sum(sizes) <= 1 << 30


@pytest.mark.parametrize("how", ["refused", "no address space left", "system does not say"])
def test_where_nothing_can_be_reserved(how, reserving, monkeypatch):
    if how == "refused":
        monkeypatch.setattr(memory, "_Reservation", type("Refused", (mmap.mmap,), {"__new__": refuse}))
    elif how == "no address space left":
        monkeypatch.setattr(memory, "MOST_RESERVED", 0)
    else:
        monkeypatch.setattr(os, "sysconf", refuse)
    array = memory.zeros((3,), np.float64)
    array[:] = 1.0
    assert not memory.is_reserved(array)
    assert memory.longer(array, 5).tolist() == [1.0, 1.0, 1.0, 0.0, 0.0]


def run(name, monkeypatch, least, most):
    """Scores and bytes of a model that grows while it learns: in one go, then one event at a time, then saved."""
    monkeypatch.setattr(memory, "RESERVE_FROM", least)
    monkeypatch.setattr(memory, "MOST_RESERVED", most)
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 100)
    rng = np.random.default_rng(3)
    X = np.where(rng.random((500, 60)) < 0.1, rng.normal(size=(500, 60)), 0.0)
    y, task = rng.choice([-1.0, 1.0], 500), rng.integers(0, 40, 500)
    model = weft.Model(name)
    scores = [model.learn(weft.Stream(X[:300], y[:300], task[:300])).tobytes()]
    model = weft.Model.from_bytes(model.to_bytes())
    for at in range(300, 500):
        scores.append(model.learn(weft.Stream(X[at : at + 1], y[at : at + 1], task[at : at + 1] + at // 5)).tobytes())
    assert model.state.pairs.layout[pairs.HASHED]
    assert memory.is_reserved(model.state.pairs.keys) == (least == 1 and most > 0 and sys.platform == "linux")
    return scores, model.to_bytes()


@pytest.mark.parametrize("name", ["pa", "auto"])
def test_a_model_in_reserved_memory_has_the_same_bytes(name, monkeypatch):
    found = [run(name, monkeypatch, least, most) for least, most in [(1, 1 << 45), (1 << 60, 1 << 45), (1, 0)]]
    assert found[0] == found[1] == found[2]


SCRIPT = """
import resource
import numpy as np, weft
from weft.storage import memory
with open("/proc/self/statm") as file:
    used = int(file.read().split()[0]) * resource.getpagesize()
resource.setrlimit(resource.RLIMIT_AS, (used + (1 << 29), used + (1 << 29)))
array = memory.zeros((1 << 20,), np.float64)
print(memory.is_reserved(array), memory.longer(array, 1 << 21).shape)
"""


@LINUX
def test_a_limit_on_address_space():
    found = subprocess.run([sys.executable, "-c", SCRIPT], capture_output=True, text=True, check=True, timeout=120)
    assert found.stdout.split(maxsplit=1) == ["False", "(2097152,)\n"]
