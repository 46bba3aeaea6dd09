"""Any thread may call any method of a model at any time, and so may a child process."""

import copy
import multiprocessing
import os
import pickle
import subprocess
import sys
import threading
import time
from pathlib import Path

import pytest

import weft
from task_mean import TaskMean
from threads.some_order import CASES
from weft.compiled.blas import _controller, one_thread
from weft.learners import catalogue
from weft.learners.catalogue import PLACES

TESTS = Path(__file__).parents[1]
FAMILIES = {}
for learner, place in PLACES.items():
    FAMILIES.setdefault(place.split(".")[0], []).append(learner)
X = {"a": 1.0, "b": -2.0}


def in_threads(*jobs):
    """Run jobs at once, each in a thread; the first error is raised, and a job that hangs is one."""
    errors = []

    def run(job):
        try:
            job()
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=run, args=(job,), daemon=True) for job in jobs]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
    if errors:
        raise errors[0]


def learned(name="pa", **parameters):
    model = weft.Model(name, **parameters)
    for _ in range(3):
        model.learn_one(X, 1, "ann")
        model.learn_one(X, -1, "bob")
    return model


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every learner runs in a forked process")
@pytest.mark.parametrize("family", FAMILIES)
def test_every_learner(family):
    """See `many_threads`: the results of many threads are those of some order of their calls."""
    command = [sys.executable, str(Path(__file__).with_name("many_threads.py")), *FAMILIES[family]]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]


@pytest.mark.skipif(not hasattr(os, "fork"), reason="every case runs in a forked process")
def test_records_classes_and_forgetting():
    """See `some_order`: the same, while threads bring the same names, fields and classes, and tasks are forgotten."""
    command = [sys.executable, str(Path(__file__).with_name("some_order.py")), *CASES]
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(command, env=os.environ | {"PYTHONPATH": path}, capture_output=True, text=True, timeout=900)
    assert done.returncode == 0, done.stderr[-4000:]


def test_names_that_two_threads_find_to_be_new_are_added_once():
    """A reader comes between the look for names and their addition: both writers wait for it with the same names."""
    model, inside, go = learned(), threading.Event(), threading.Event()
    predict, release, both, met = model._kernels.predict, model._guard.release, threading.Barrier(2, timeout=30), set()

    def slow(*arguments):
        inside.set()
        assert go.wait(30)
        predict(*arguments)

    model._kernels = model._kernels._replace(predict=slow)
    reading = threading.Thread(target=lambda: model.score([X], "ann"), daemon=True)

    def then_read():
        release()
        if threading.get_ident() not in met:  # it has found a name that it does not know, and will add it next
            met.add(threading.get_ident())
            if both.wait() == 0:
                reading.start()
            assert inside.wait(30)

    def learn():
        model.learn_one({"new": 1.0}, 1, "eve")

    def let_go():
        assert inside.wait(30)
        for _ in range(1000):
            if model._guard._waiting == 2:
                break
            time.sleep(0.01)
        go.set()

    model._guard.release = then_read
    in_threads(learn, learn, let_go)
    reading.join(30)
    assert (model.tasks, model.features) == (["ann", "bob", "eve"], ["a", "b", "new"])
    assert model.tally["eve"]["events"] == 2
    weft.Model.from_bytes(model.to_bytes())


def in_between(model, monkeypatch, owner, name, call):
    """Another thread makes a call as soon as a method has ended; if it has to wait, nobody waits for it."""
    method, others = getattr(owner, name), []

    def then(*arguments):
        found = method(*arguments)
        if not others:
            others.append(threading.Thread(target=call, args=(model,)))
            others[0].start()
            others[0].join(0.3)
        return found

    monkeypatch.setattr(owner, name, then)
    return others


def test_a_task_is_forgotten_while_the_tally_is_read(monkeypatch):
    model = learned()
    expected = model.tally["bob"]
    others = in_between(model, monkeypatch, model.tally, "_snapshot", lambda model: model.forget("ann"))
    assert model.tally["bob"] == expected
    others[0].join(30)
    assert model.tally.to_frame().index.tolist() == model.tasks == ["bob"]


def test_a_field_becomes_known_while_a_record_is_learned(monkeypatch):
    """Which values are missing is the matter of one moment."""
    schema = weft.Schema(task="user", label="y")
    first, second = {"user": "ann", "y": 1, "a": 1.0}, {"user": "ann", "y": -1, "a": 0.5, "b": 1.0}

    def made(*records):
        model = weft.Model("auto", schema=schema, effort="fast")
        for record in ({"user": "ann", "y": -1, "a": 2.0}, *records):
            model.learn_one(record)
        return model

    model = made()
    others = in_between(model, monkeypatch, model, "_lacks_values", lambda model: model.learn_one(second))
    model.learn_one(first)
    others[0].join(30)
    assert model.to_bytes() in (made(first, second).to_bytes(), made(second, first).to_bytes())


# --- side by side ---


def test_two_bulk_readings_run_at_the_same_time():
    """Each waits, in the middle of its kernel, until the other is there as well."""
    model, both = learned(), threading.Barrier(2, timeout=30)
    predict = model._kernels.predict

    def meet(*arguments):
        both.wait()
        predict(*arguments)
        both.wait()

    model._kernels = model._kernels._replace(predict=meet)
    in_threads(lambda: model.score([X], "ann"), lambda: model.predict([X], "bob"))


@pytest.mark.parametrize("name", PLACES)
def test_no_kernel_keeps_python_from_running(name):
    kernels = weft.Model(name).learner.kernels
    if not kernels.compiled:
        pytest.skip("the rule is a loop in Python around compiled functions and LAPACK")
    if hasattr(kernels.predict, "targetoptions"):  # not in plain mode
        assert all(kernel.targetoptions["nogil"] for kernel in kernels[:4])


def test_a_single_prediction_runs_beside_a_bulk_reading_and_a_change_waits():
    model, inside, go = learned(), threading.Event(), threading.Event()
    predict, order = model._kernels.predict, []

    def slow(*arguments):
        inside.set()
        assert go.wait(30)
        predict(*arguments)
        order.append("read")

    model._kernels = model._kernels._replace(predict=slow)

    def change():
        model.learn_one(X, 1, "ann")
        order.append("changed")

    def other():
        assert inside.wait(30)
        changing = threading.Thread(target=change)
        changing.start()
        while not model._guard._waiting:
            pass
        assert model.predict_one(X, "ann") == expected  # neither the reader nor the waiting writer is in its way
        go.set()
        changing.join(30)

    expected = model.predict_one(X, "ann")
    in_threads(lambda: model.score([X], "ann"), other)
    assert order == ["read", "changed"]


def test_writers_are_not_kept_waiting_by_readers_who_come_later():
    model, stop = learned(), threading.Event()
    rows = [X] * 500

    def read():
        while not stop.is_set():
            model.score(rows, "ann")

    def write():
        try:
            for _ in range(40):
                model.learn_one(X, 1, "ann")
        finally:
            stop.set()

    in_threads(read, read, read, write)
    assert model.tally.total["events"] == 46


def test_a_reader_that_failed_is_not_waited_for():
    model = learned()

    def fail(*_):
        raise KeyboardInterrupt

    kernels = model._kernels
    model._kernels = kernels._replace(predict=fail)
    with pytest.raises(KeyboardInterrupt):
        model.score([X], "ann")
    model._kernels = kernels
    in_threads(lambda: model.learn_one(X, 1, "ann"))


def test_blas_is_on_one_thread_until_the_last_thread_has_left():
    before = [library["num_threads"] for library in _controller().info() if library["user_api"] == "blas"]
    with one_thread():
        in_threads(_briefly)
        assert {library["num_threads"] for library in _controller().info() if library["user_api"] == "blas"} == {1}
    assert [lib["num_threads"] for lib in _controller().info() if lib["user_api"] == "blas"] == before


def _briefly():
    with one_thread():
        pass


# --- processes ---


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork on Windows")
def test_a_forked_child_can_use_its_copy():
    """Even if it is forked while other threads learn."""
    script = """
import os, sys, threading, warnings
import weft
model, x, stop = weft.Model("pa"), {"a": 1.0, "b": -2.0}, []
model.learn_one(x, 1, "ann")
def work():
    while not stop:
        model.learn_one(x, 1, "ann"); model.score([x] * 50, "ann"); model.predict_one(x, "ann")
threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
warnings.simplefilter("ignore")  # newer Pythons warn of forks beside threads
for thread in threads: thread.start()
for _ in range(10):
    child = os.fork()
    if child == 0:
        import faulthandler; faulthandler.dump_traceback_later(20, exit=True)
        events = model.tally.total["events"]
        model.learn_one(x, 1, "ann"); model.score([x], "ann"); model.learn(weft.Stream([x], [1], "ann"))
        os._exit(0 if model.tally.total["events"] == events + 2 else 3)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
stop.append(1)
for thread in threads: thread.join()
"""
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr[-2000:]


@pytest.mark.parametrize("duplicate", [copy.copy, copy.deepcopy, lambda model: pickle.loads(pickle.dumps(model))])
def test_copies_are_equal_and_independent(duplicate):
    model = learned("auto")
    twin = duplicate(model)
    assert twin.to_bytes() == model.to_bytes()
    before = model.to_bytes()
    twin.learn_one(X, 1, "eve")
    assert model.to_bytes() == before
    assert duplicate(model.tally).rows() == model.tally.rows()


@pytest.mark.parametrize("name", PLACES)
def test_streams_and_learners_are_pickled(name):
    learner = weft.Model(name).learner
    learner.kernels, learner.hyper, learner.plan  # noqa: B018  what is worked out once
    assert pickle.loads(pickle.dumps(learner)) == learner
    assert copy.deepcopy(learner) == learner


def test_a_stream_is_pickled():
    stream = weft.Stream([{"a": 1.0}, {"b": 2.0}], [1, -1], ["ann", ("team", 1)])
    again = pickle.loads(pickle.dumps(stream))
    assert (again.X != stream.X).nnz == 0
    assert (again.tasks, again.y.tolist()) == (stream.tasks, stream.y.tolist())
    assert weft.Model("pa").learn(again).tolist() == weft.Model("pa").learn(stream).tolist()


def test_a_learner_from_elsewhere_is_registered_where_it_is_unpickled(monkeypatch):
    monkeypatch.setattr(catalogue, "_REGISTERED", {})
    weft.register(TaskMean)
    model = weft.Model("task-mean")
    model.learn_one(X, 2.0, "ann")
    data = pickle.dumps(model)
    assert copy.deepcopy(model).to_bytes() == model.to_bytes()
    monkeypatch.setattr(catalogue, "_REGISTERED", {})
    again = pickle.loads(data)
    assert again.to_bytes() == model.to_bytes()
    assert again.predict_one(X, "ann") == 2.0


def test_processes_that_are_spawned():
    model = learned()
    with multiprocessing.get_context("spawn").Pool(1) as pool:
        [found] = pool.starmap(weft.Model.predict_one, [(model, X, "ann")])
    assert found == model.predict_one(X, "ann")


# --- does predicting write to the state? ---

READ_ONLY = """
import ctypes, mmap, sys
import numpy as np
import weft
from contracts.settings import SETTINGS
from contracts.streams import make_events
from weft.storage import pairs

protect = ctypes.CDLL(None, use_errno=True).mprotect
PAGES = []


def locked(array):
    size = max(array.nbytes, 1)
    pages = mmap.mmap(-1, size)
    PAGES.append(pages)
    found = np.frombuffer(pages, array.dtype, array.size).reshape(array.shape)
    found[...] = array
    address = ctypes.addressof(ctypes.c_char.from_buffer(pages))
    assert protect(ctypes.c_void_p(address), ctypes.c_size_t(size), mmap.PROT_READ) == 0
    return found


def whole(state):
    return type(state)(*(whole(part) if isinstance(part, tuple) else locked(part) for part in state))


pairs.DENSE_LIMIT = int(sys.argv[2])
for setting in SETTINGS:
    if setting.learner.__class__.__module__.split(".")[2] != sys.argv[1]:
        continue
    print(setting, flush=True)
    model = setting.model()
    events = make_events(setting.target, "rounds", "named", seed=31)
    model.learn(events.stream())
    expected = model.score(events.stream())
    model.state = whole(model.state)
    assert np.array_equal(model.score(events.stream()), expected)
    assert model.score([{"f0": 1.0, "never": 2.0}], "nobody").shape == (1,)
"""


@pytest.mark.skipif(sys.platform != "linux", reason="memory is made read-only by a call of Linux")
@pytest.mark.parametrize("limit", [60, 1 << 23])
@pytest.mark.parametrize("family", FAMILIES)
def test_bulk_readers_never_write_to_the_state(family, limit):
    """The state is in memory that cannot be written: a kernel that tried would end the process."""
    path = os.pathsep.join([str(TESTS), os.environ.get("PYTHONPATH", "")])
    done = subprocess.run(
        [sys.executable, "-c", READ_ONLY, family, str(limit)],
        env=os.environ | {"PYTHONPATH": path},
        capture_output=True,
        text=True,
        timeout=900,
    )
    assert done.returncode == 0, (done.stdout[-300:], done.stderr[-2000:])
    assert done.stdout  # settings were tried
