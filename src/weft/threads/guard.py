"""Guard: any thread may call any method of a model at any time; the result is that of some order of the calls.

**Many readers or one writer.** Who changes a model holds the lock of its guard for the whole call. Who only reads in
bulk holds the lock for a moment, to be counted as a reader, and then works beside other readers; a writer waits until
nobody reads, and readers who come later wait for that writer. A single prediction is so short that it holds the lock.

**Interruptions.** Python runs signal handlers between two instructions of the main thread, and Ctrl-C raises its
exception there. CPython looks for signals after a call, at the start of a function and at the end of a loop, and
nowhere else. What must not be torn apart is therefore written without such a place: plain assignments in `finally`, and
`[result] = map(function, ...)`, which calls and assigns in one instruction. Bulk learning holds Ctrl-C back
(`held_back`).

**Nested calls.** A signal handler that calls the model while its own thread changes it would wait for ever: it gets a
RuntimeError instead. It may read the model in the middle of other readings.

**fork.** A process is forked while no other thread changes a model, so that the copy in the child is whole.
"""

import functools
import os
import signal
import sys
import threading
import weakref
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any, Concatenate, ParamSpec, Protocol, TypeVar

IDLE, READING, CHANGING, UNUSABLE = range(4)
"""What the holder of a guard's lock is doing; UNUSABLE: learning was broken off, for good."""

_PATIENCE = 0.05
"""Seconds after which a waiting thread looks again by itself, if who should have told it was interrupted."""

_NESTED = (
    "this thread is in the middle of another call of this model, from which a signal handler or the like has called it "
    "again; make a note there, and call the model when the other call has returned"
)


class Reader:
    """One bulk reading; `done` is set by who made it, whatever happens."""

    __slots__ = ("done", "thread")

    def __init__(self) -> None:
        self.done = False
        self.thread = threading.get_ident()


class Guard:
    """Who reads or changes a model now.

    `lock` is held by who changes the model, by single predictions, and for a moment by bulk readers. `level` is what
    its holder is doing: a holder who finds it set has interrupted itself, or finds a model that cannot be used.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.held: Iterator[bool] = iter(self.lock.acquire, None)
        """`for _ in guard.held` acquires the lock as `with guard.lock` does, 40 ns faster; `release` releases it."""
        self.release = self.lock.release
        self.level = IDLE
        self.readers: list[Reader] = []
        self._waiting = 0  # writers who wait for readers
        self._turn = threading.Condition(self.lock)
        self._reason = ""
        _GUARDS[id(self)] = self

    def refuse(self) -> None:
        """Say why the model cannot be called now."""
        raise RuntimeError(self._reason if self.level == UNUSABLE else _NESTED)

    def give_up(self, error: BaseException, where: str) -> None:
        """The model was changed in part, and cannot be used any more; `where` says how far learning had come."""
        self._reason = (
            f"learning was interrupted by {type(error).__name__} {where}, and this model is neither what it was "
            "before nor what it would have become; drop it, and load it from its file again"
        )
        self.level = UNUSABLE

    @property
    def reason(self) -> str:
        """Why the model cannot be used any more; "" if it can."""
        return self._reason

    def wait_to_change(self) -> None:
        """Wait until nobody reads; the lock is held, and let go while waiting."""
        if self.level:
            self.refuse()
        self._waiting += 1
        try:
            while self._is_read():
                self._turn.wait(_PATIENCE)
        finally:
            self._waiting -= 1
            self._turn.notify_all()
        if self.level:  # another writer has broken off
            self.refuse()

    def enter(self, reader: Reader) -> None:
        """Count a reader; it waits for writers who came before it."""
        with self.lock:
            while True:
                if self.level > READING:
                    self.refuse()
                if not self._waiting or self.level == READING or self._reads(reader.thread):
                    break
                self._turn.wait(_PATIENCE)
            self.readers.append(reader)

    def leave(self, reader: Reader) -> None:
        """The reader, who is `done`, counts no more."""
        with self.lock:
            if reader in self.readers:
                self.readers.remove(reader)
            if not self.readers:
                self._turn.notify_all()

    def _is_read(self) -> bool:
        self.readers = [reader for reader in self.readers if not reader.done]
        if self._reads(threading.get_ident()):
            raise RuntimeError(_NESTED)
        return bool(self.readers)

    def _reads(self, thread: int) -> bool:
        return any(reader.thread == thread and not reader.done for reader in self.readers)

    def forget_other_threads(self) -> None:
        """In a child process, where there is no thread but this one."""
        self.readers = [reader for reader in self.readers if reader.thread == threading.get_ident()]
        self._waiting = 0
        self._turn = threading.Condition(self.lock)


class Guarded(Protocol):
    """What has a guard."""

    _guard: Guard


Arguments = ParamSpec("Arguments")
Result = TypeVar("Result")
Owner = TypeVar("Owner", bound=Guarded)
Method = Callable[Concatenate[Owner, Arguments], Result]


def reads(method: Method[Owner, Arguments, Result]) -> Method[Owner, Arguments, Result]:
    """A method that reads while nothing is changed, side by side with other readers."""

    @functools.wraps(method)
    def call(self: Owner, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        guard, reader = self._guard, Reader()
        try:
            guard.enter(reader)
            return method(self, *arguments, **named)
        finally:
            reader.done = True  # an assignment cannot be interrupted, the call of `leave` can
            guard.leave(reader)

    return call


def changes(method: Method[Owner, Arguments, Result]) -> Method[Owner, Arguments, Result]:
    """A method that changes what is guarded, while nobody else reads or changes it."""

    @functools.wraps(method)
    def call(self: Owner, /, *arguments: Arguments.args, **named: Arguments.kwargs) -> Result:
        guard = self._guard
        with guard.lock:
            if guard.level or guard.readers:
                guard.wait_to_change()
            guard.level = CHANGING
            try:
                return method(self, *arguments, **named)
            finally:
                if guard.level == CHANGING:
                    guard.level = IDLE

    return call


# --- Ctrl-C ---


@contextmanager
def held_back() -> Iterator[None]:
    """Ctrl-C waits until the end of this context, where the handler in force is called; a second one does not wait.

    Python runs signal handlers in the main thread only: in others this does nothing.
    """
    before = signal.getsignal(signal.SIGINT)
    if threading.get_ident() != threading.main_thread().ident or not callable(before):
        yield
        return
    kept: list[tuple[int, Any]] = []

    def keep(number: int, frame: Any) -> None:
        if kept:
            kept.clear()
            before(number, frame)
        else:
            kept.append((number, frame))

    try:
        signal.signal(signal.SIGINT, keep)
        yield
    finally:
        signal.signal(signal.SIGINT, before)
        if kept:
            before(*kept.pop())


# --- fork ---

_GUARDS: "weakref.WeakValueDictionary[int, Guard]" = weakref.WeakValueDictionary()
"""All guards of this process."""
_FORKING = threading.RLock()
_held: list[Guard] = []
_compilers: list[Any] = []


def _before_fork() -> None:
    """Wait until no other thread changes a model, and let none begin."""
    _FORKING.acquire()
    for found in _GUARDS.valuerefs():
        guard = found()
        if guard is not None:
            guard.lock.acquire()
            _held.append(guard)
    compiler = _compiler_lock()  # after the guards: who changes a model may have to compile
    if compiler is not None:
        compiler.acquire()
        _compilers.append(compiler)


def _compiler_lock() -> Any:
    """Numba's lock, which a child could never acquire if another thread compiles while the process is forked."""
    module = sys.modules.get("numba.core.compiler_lock")
    return None if module is None else module.global_compiler_lock


def _after_fork_in_parent() -> None:
    while _compilers:
        _compilers.pop().release()
    while _held:
        _held.pop().lock.release()
    _FORKING.release()


def _after_fork_in_child() -> None:
    for guard in _held:
        guard.forget_other_threads()
    _after_fork_in_parent()


if sys.platform != "win32":  # which has no fork
    os.register_at_fork(before=_before_fork, after_in_parent=_after_fork_in_parent, after_in_child=_after_fork_in_child)
