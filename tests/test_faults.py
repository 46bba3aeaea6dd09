"""What is left of a model when memory ends, or when Ctrl-C comes, in the middle of a call."""

import gc
import itertools
import signal
import threading
from contextlib import suppress

import numpy as np
import pytest

import weft
from contracts.settings import FURTHER, Setting
from contracts.streams import make_events
from weft.names import Names
from weft.storage import pairs

ALLOCATING = ("zeros", "empty", "full", "array", "arange", "concatenate", "ascontiguousarray", "fromiter")
LEARNERS = [Setting(entry.name) for entry in weft.catalogue()]
LEARNERS += [Setting(name, FURTHER[name][at]) for name, at in (("mt-ogd", 3), ("mt-perceptron", 2), ("implicit", 7))]


class Faults:
    """NumPy's functions that allocate, the n-th call of which fails."""

    def __init__(self, monkeypatch, at):
        self.left, self.struck = at, False
        for name in ALLOCATING:
            monkeypatch.setattr(np, name, self.failing(getattr(np, name)))

    def failing(self, function):
        def call(*arguments, **named):
            self.left -= 1
            if self.left == 0:
                self.struck = True
                raise MemoryError
            return function(*arguments, **named)

        return call


def learned(setting):
    model = setting.model()
    model.learn(make_events(setting.target, "single", "named", seed=41, rounds=12).stream())
    return model.to_bytes()


def more(setting, seed):
    return make_events(setting.target, "single", "named", seed, rounds=36).piece(20, 36)


def with_faults(monkeypatch, data, call):
    """The models that a call leaves when its first, second, third ... allocation fails, until none does."""
    for at in itertools.count(1):
        model = weft.Model.from_bytes(data)
        with monkeypatch.context() as patched:
            faults = Faults(patched, at)
            try:
                call(model)
            except MemoryError:
                pass
            else:
                assert not faults.struck
                return
        yield model


def is_whole_or_says_so(model, data, call, after):
    """As before the call, and learns as if nothing had happened; or it refuses everything with a remedy."""
    if "unusable" in repr(model):
        ways = (model.to_bytes, lambda: model.score([{"f0": 1.0}], "ann"), lambda: model.tally.total)
        for refused in (*ways, lambda: call(model), lambda: model.predict_one({"f0": 1.0}, "ann")):
            with pytest.raises(RuntimeError, match=r"interrupted by MemoryError.*load it from its file again"):
                refused()
        return False
    assert model.to_bytes() == data
    assert model.features == weft.Model.from_bytes(data).features
    call(model)
    assert model.to_bytes() == after
    return True


@pytest.fixture(params=LEARNERS, ids=str)
def setting(request, monkeypatch):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", 60)  # regions from the middle on
    return request.param


def after_all(data, call):
    model = weft.Model.from_bytes(data)
    call(model)
    return model.to_bytes()


def test_memory_ends_in_a_stream_with_new_names(monkeypatch, setting):
    data, stream = learned(setting), more(setting, 42).stream()
    call = lambda model: model.learn(stream)  # noqa: E731
    after = after_all(data, call)
    whole = [is_whole_or_says_so(m, data, call, after) for m in with_faults(monkeypatch, data, call)]
    assert whole.count(True) > 3  # before the first round


def test_memory_ends_in_single_events(monkeypatch, setting):
    """With new names, and with known ones when the state has to grow: never more is lost than that event."""
    data, events = learned(setting), more(setting, 43)
    model = weft.Model.from_bytes(data)
    for x, y, task in list(zip(events.table(), events.labels, events.tasks, strict=True))[:5]:
        event = (x, None if setting.target == "point" else y, task)
        before = model.to_bytes()
        call = lambda model, event=event: model.learn_one(*event)  # noqa: E731
        after = after_all(before, call)
        for left in with_faults(monkeypatch, before, call):
            is_whole_or_says_so(left, before, call, after)
        model.learn_one(*event)


def test_a_kernel_without_memory(setting):
    """Nobody can say how far it came: the model says that it must be dropped."""
    data, stream = learned(setting), more(setting, 44).stream()
    for ends in (1, 2):
        model = weft.Model.from_bytes(data)
        learn, calls = model._kernels.learn, itertools.count(1)

        def fail(*arguments, learn=learn, calls=calls, ends=ends):
            if len(arguments[2].task) and next(calls) == ends:
                raise MemoryError
            return learn(*arguments)

        model._kernels = model._kernels._replace(learn=fail)
        try:
            model.learn(stream)
        except MemoryError:
            assert not is_whole_or_says_so(model, data, lambda model: model.learn(stream), b"")


def test_names_that_are_accepted_in_part_are_removed():
    model = weft.Model("pa")
    model.learn_one({"a": 1.0}, 1, "ann")
    before = model.to_bytes()

    class Full(dict):
        def update(self, *_):
            raise MemoryError

    model.vocabulary.features.slots = Full(model.vocabulary.features.slots)
    with pytest.raises(MemoryError):
        model.learn_one({"b": 1.0}, 1, "bob")
    model.vocabulary.features.slots = dict(model.vocabulary.features.slots)
    assert (model.tasks, model.features, model.to_bytes()) == (["ann"], ["a"], before)
    model.learn_one({"b": 1.0}, 1, "bob")
    assert (model.tasks, model.features) == (["ann", "bob"], ["a", "b"])


@pytest.mark.parametrize("columns", [0, 3])
def test_undoing_an_addition(columns):
    names = Names([], columns) if columns else Names(["a"])
    size, (_, addition) = names.size, names.locate(["x", 7, "a"])
    before = (list(names), dict(names.slots), names.only_text)
    names.add(addition)
    assert len(names) > size.columns + size.later
    names.undo(addition, size)
    assert (list(names), names.slots, names.only_text) == before


# --- Ctrl-C ---


def press(times=1):
    """Ctrl-C, as often as that."""
    for _ in range(times):
        signal.raise_signal(signal.SIGINT)


@pytest.mark.parametrize("name", ["pa", "itl", "romco-nucl"])
def test_ctrl_c_waits_until_a_stream_is_learned(name):
    setting = Setting(name)
    data, stream = learned(setting), more(setting, 45).stream()
    expected = after_all(data, lambda model: model.learn(stream))
    model = weft.Model.from_bytes(data)
    learn, presses = model._kernels.learn, [press]

    def interrupted(*arguments):
        done = learn(*arguments)
        if len(arguments[2].task) and presses:
            presses.pop()()
        return done

    model._kernels = model._kernels._replace(learn=interrupted)
    handler = signal.getsignal(signal.SIGINT)
    with pytest.raises(KeyboardInterrupt):
        model.learn(stream)
    assert signal.getsignal(signal.SIGINT) is handler
    assert model.to_bytes() == expected


def test_a_second_ctrl_c_does_not_wait():
    model = weft.Model("pa")
    learn = model._kernels.learn

    def interrupted(*arguments):
        if len(arguments[2].task):
            press(2)
        return learn(*arguments)

    model._kernels = model._kernels._replace(learn=interrupted)
    with pytest.raises(KeyboardInterrupt):
        model.learn(weft.Stream([[1.0]], [1], "ann"))
    with pytest.raises(RuntimeError, match=r"by KeyboardInterrupt after 0 of 1 rounds.*load it from its file"):
        model.predict_one({"a": 1.0}, "ann")


class Stop(Exception):
    """What a signal handler raises here."""


@pytest.mark.skipif(not hasattr(signal, "setitimer"), reason="there are no timers on Windows")
@pytest.mark.parametrize("name", ["pa", "auto", "mt-ogd"])
def test_signals_at_any_moment_of_single_events(name):
    """A handler that raises, again and again: what was learned was counted, what was not was not, nothing is locked."""
    model, x = weft.Model(name), {"a": 1.0, "b": -2.0, "c": 0.5}
    for _ in range(2):
        model.learn_one(x, 1, "ann")
        model.predict_one(x, "ann")
    assert model.tally.total["events"] == 2  # everything is compiled before the first signal
    raises = [True]
    gc.collect()
    gc.disable()  # a signal in the middle of somebody else's finalizer is not ours to handle

    def stop(*_):
        if raises:
            raise Stop

    before, struck, fine = signal.signal(signal.SIGALRM, stop), 0, 2
    try:
        signal.setitimer(signal.ITIMER_REAL, 0.0005, 0.00013)
        while struck < 300:
            with suppress(Stop):
                struck += 1
                while True:
                    model.predict_one(x, "ann")
                    model.learn_one(x, 1, "ann")
                    fine += 1
    except Stop:  # it came between two attempts
        pass
    finally:
        del raises[:]  # not a call: no signal can come in between
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
        gc.enable()
    events = int(model.tally.total["events"])
    assert fine <= events <= fine + struck
    twin = weft.Model(name)
    for _ in range(events):
        twin.learn_one(x, 1, "ann")
    assert model.to_bytes() == twin.to_bytes()
    free = threading.Thread(target=model.predict_one, args=(x, "ann"))
    free.start()
    free.join(10)
    assert not free.is_alive()


def test_a_signal_handler_may_read_but_not_in_the_middle_of_learning():
    model, found = weft.Model("pa"), []
    model.learn_one({"a": 1.0}, 1, "ann")
    before = signal.signal(signal.SIGUSR1, lambda *_: found.append(attempt()))

    def attempt():
        try:
            return model.to_bytes()
        except RuntimeError as error:
            return str(error)

    try:
        score, data = model._kernels.predict, model.to_bytes()

        def reading(*arguments):
            signal.raise_signal(signal.SIGUSR1)
            return score(*arguments)

        learn = model._kernels.learn

        def learning(*arguments):
            signal.raise_signal(signal.SIGUSR1)
            return learn(*arguments)

        model._kernels = model._kernels._replace(predict=reading, learn=learning)
        model.score([{"a": 1.0}], "ann")
        assert found == [data]
        found.clear()
        model.learn(weft.Stream([{"a": 1.0}], [1], "ann"))
        assert all("in the middle of another call" in text for text in found)
        assert found
    finally:
        signal.signal(signal.SIGUSR1, before)
