"""Bulk scoring in several threads: how a batch is cut, and that no thread is left behind, whatever happens."""

import _thread
import os
import signal
import threading
import time

import numpy as np
import pytest

import weft
from weft.threads import parallel


def large(rows=400, width=8):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(rows, width)), np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    return weft.Stream(X, y, [f"t{i % 7}" for i in range(rows)])


@pytest.fixture
def small_parts(monkeypatch):
    monkeypatch.setattr(parallel, "LEAST_NONZEROS", 64)
    monkeypatch.setenv(parallel.VARIABLE, "2")


def test_calls_are_made_at_the_same_time():
    together, log = threading.Barrier(3, timeout=30), []
    parallel._run([lambda: log.append(together.wait())] * 6, 3)
    assert sorted(log) == [0, 0, 1, 1, 2, 2]


def one_here_one_in_a_helper(here, elsewhere):
    """Two calls, of which a helper takes one: the other waits until it has begun."""
    caller, began = threading.get_ident(), threading.Event()

    def call():
        if threading.get_ident() == caller:
            assert began.wait(30)
            here()
        else:
            began.set()
            elsewhere()

    parallel._run([call, call], 2)


def fail():
    raise ValueError("failed")


def test_an_error_of_a_helper_is_raised():
    with pytest.raises(ValueError, match="failed"):
        one_here_one_in_a_helper(lambda: None, fail)


def test_an_error_here_waits_for_the_helpers():
    log = []
    with pytest.raises(ValueError, match="failed"):
        one_here_one_in_a_helper(fail, lambda: (time.sleep(0.05), log.append("ended")))
    assert log == ["ended"]


@pytest.mark.skipif(not hasattr(signal, "pthread_kill"), reason="no signal can be sent to a thread")
def test_a_signal_handler_that_raises_waits_for_the_helpers():
    log, caller = [], threading.get_ident()

    def elsewhere():
        for _ in range(2):
            time.sleep(0.05)  # the caller is waiting by now
            signal.pthread_kill(caller, signal.SIGALRM)
        time.sleep(0.05)
        log.append("ended")

    def raise_error(number, frame):
        raise TimeoutError("too late")

    before = signal.signal(signal.SIGALRM, raise_error)
    try:
        with pytest.raises(TimeoutError, match="too late"):
            one_here_one_in_a_helper(lambda: None, elsewhere)
    finally:
        signal.signal(signal.SIGALRM, before)
    assert log == ["ended"]


def test_without_another_thread_everything_is_done_here(monkeypatch):
    def refuse(*_):
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(_thread, "start_new_thread", refuse)
    log = []
    parallel._run([lambda: log.append(threading.get_ident())] * 3, 2)
    assert log == [threading.get_ident()] * 3


def test_parts_hold_every_round_once(small_parts):
    model, stream = weft.Model("pa"), large()
    model.learn(stream)
    batch, _ = model._read(stream, False)
    cuts = parallel._cuts(batch, 5)
    assert [lo for lo, _ in cuts] == [0, *(hi for _, hi in cuts[:-1])]
    assert cuts[-1][1] == len(batch.rounds) - 1
    parts = [parallel._part(batch, lo, hi) for lo, hi in cuts]
    sizes = [part.indptr[-1] - part.indptr[0] for part in parts]
    assert len(parts) == 5
    assert sum(sizes) == len(batch.indices)
    assert max(sizes) <= min(sizes) + 8
    assert np.array_equal(np.concatenate([part.task for part in parts]), batch.task)


def test_one_huge_round_is_not_cut(small_parts):
    rows = 40
    stream = weft.Stream(np.ones((rows, 8)), np.ones(rows), list(range(rows)), [0] * rows)
    model = weft.Model("pa")
    model.learn(stream)
    assert parallel._cuts(model._read(stream, False)[0], 4) == [(0, 1)]
    assert np.array_equal(model.score(stream), [model.predict_one(row, i) for i, row in enumerate(np.ones((rows, 8)))])


def test_rows_of_zeros(small_parts):
    model = weft.Model("pa")
    model.learn(large())
    assert model.score(np.zeros((500, 8)), "t1").tolist() == [0.0] * 500


@pytest.mark.parametrize("given", ["0", "-1", "two", "1.5", "1025", "\u0662"])
def test_a_wrong_number_of_threads_is_refused(given, small_parts, monkeypatch):
    model = weft.Model("pa")
    model.learn(large())
    monkeypatch.setenv(parallel.VARIABLE, given)
    with pytest.raises(ValueError, match=r"WEFT_THREADS is .*; give the number of threads, an integer from 1 to 1024"):
        model.score(large())


def test_without_a_number_there_is_a_thread_per_processor_up_to_a_few(monkeypatch):
    monkeypatch.delenv(parallel.VARIABLE, raising=False)
    assert 1 <= parallel.thread_count() <= parallel.MOST_THREADS
    monkeypatch.setattr(parallel, "_processors", lambda: 64)
    assert parallel.thread_count() == parallel.MOST_THREADS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:This process .* is multi-threaded:DeprecationWarning")
def test_a_forked_child_scores_in_threads_as_well(small_parts):
    model, stream = weft.Model("pa"), large()
    model.learn(stream)
    expected = model.score(stream)
    child = os.fork()
    if child == 0:
        os._exit(0 if np.array_equal(model.score(stream), expected) else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


# --- learning ---


def failing_in(model, thread_is_caller):
    """The kernel of learning fails in the thread of the caller, or in another one; the other shard waits for it."""
    learn, caller, failed = model._kernels.learn, threading.get_ident(), threading.Event()

    def kernel(*arguments):
        if len(arguments[2].task) == 0:
            return learn(*arguments)
        if (threading.get_ident() == caller) == thread_is_caller:
            failed.set()
            raise MemoryError
        assert failed.wait(30)
        return learn(*arguments)

    model._kernels = model._kernels._replace(learn=kernel)


@pytest.mark.parametrize("given", ["2", ""])
def test_learning_uses_threads_only_if_asked_to(small_parts, monkeypatch, given):
    monkeypatch.setenv(parallel.VARIABLE, given)
    made = []
    monkeypatch.setattr(parallel, "by_task", lambda *arguments: made.append(arguments) or [])
    weft.Model("pa").learn(large())
    assert len(made) == (1 if given else 0)


@pytest.mark.parametrize("here", [True, False])
def test_a_shard_that_fails_leaves_a_model_that_says_so(small_parts, here):
    model, threads = weft.Model("pa"), threading.active_count()
    model.learn(large())
    failing_in(model, here)
    with pytest.raises(MemoryError):
        model.learn(large())
    assert threading.active_count() == threads
    with pytest.raises(RuntimeError, match=r"interrupted by MemoryError in the middle of 400 rounds.*from its file"):
        model.to_bytes()


def test_after_an_error_no_further_call_is_begun():
    begun = []

    def call():
        begun.append(1)
        raise ValueError("failed")

    with pytest.raises(ValueError, match="failed"):
        parallel._run([call] * 50, 2)
    assert 1 <= len(begun) <= 2  # one in each thread at most


def test_a_wrong_number_of_threads_is_refused_before_anything_is_learned(small_parts, monkeypatch):
    model = weft.Model("pa")
    monkeypatch.setenv(parallel.VARIABLE, "two")
    with pytest.raises(ValueError, match="WEFT_THREADS is 'two'"):
        model.learn(large())
    assert (model.tasks, model.features, model.tally.total["events"]) == ([], [], 0)
