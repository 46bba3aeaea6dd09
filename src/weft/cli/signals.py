"""Ctrl-C, SIGTERM and SIGHUP: the first one stops a run in an orderly way, later ones do not disturb it."""

import os
import signal
import threading
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from types import FrameType
from typing import Any

ALL = tuple(getattr(signal, name) for name in ("SIGINT", "SIGTERM", "SIGHUP") if hasattr(signal, name))
WITHOUT_CTRL_C = ALL[1:]


class Stopped(KeyboardInterrupt):
    """A signal asked this process to stop; raised where a Ctrl-C would be."""

    def __init__(self, number: int) -> None:
        super().__init__(signal.Signals(number).name)
        self.number = number


def exit_code(stop: BaseException) -> int:
    """As shells report a process that a signal ended: 130 for Ctrl-C, 143 for SIGTERM, 129 for SIGHUP."""
    return 128 + (stop.number if isinstance(stop, Stopped) else signal.SIGINT)


class StopSignals:
    """While this is open, the first signal raises `Stopped`, once; within `held` it waits for the end of the block, or
    for `check`.

    A signal that was ignored before, as nohup does with SIGHUP, stays ignored. Only the main thread receives signals.
    """

    def __init__(self, numbers: Sequence[int] = ALL) -> None:
        self.numbers = numbers
        self._received: int | None = None
        self._held = 0
        self._raised = False
        self._before: dict[int, Any] = {}
        self._process = os.getpid()

    def __enter__(self) -> "StopSignals":
        if threading.current_thread() is threading.main_thread():
            for number in self.numbers:
                if signal.getsignal(number) is not signal.SIG_IGN:
                    self._before[number] = signal.signal(number, self._receive)
        return self

    def __exit__(self, *_: object) -> None:
        for number, handler in self._before.items():
            signal.signal(number, handler)

    @contextmanager
    def held(self) -> Iterator[None]:
        """Signals wait until the block is left, so that a model is never caught between two states."""
        self._held += 1
        try:
            yield
        finally:
            self._held -= 1
        if not self._held:
            self.check()

    def came_before(self, stop: KeyboardInterrupt) -> None:
        """A signal that came before this was open: the next `check` raises it."""
        self._received = stop.number if isinstance(stop, Stopped) else signal.SIGINT

    def check(self) -> None:
        """Raise `Stopped` here if a signal has come."""
        self._raise_once()

    def _receive(self, number: int, frame: FrameType | None) -> None:
        if os.getpid() != self._process:  # a forked worker, which has nothing to save
            signal.signal(number, signal.SIG_DFL)
            os.kill(os.getpid(), number)
            return
        if self._received is None:
            self._received = number
        if not self._held:
            self._raise_once()

    def _raise_once(self) -> None:
        if self._received is not None and not self._raised:
            self._raised = True
            raise Stopped(self._received)
