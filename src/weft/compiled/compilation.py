"""When functions are compiled: to tell the user, and to leave the time out of a rate.

Numba compiles a function on its first use and keeps the machine code on disk (`jit`). Loading it from there takes
milliseconds and does not count; compiling the functions of a learner takes 5 to 40 seconds, once per machine.
"""

import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from weft.compiled.jit import PLAIN


class Compilation:
    """The seconds spent on compiling so far, and the number of functions that were compiled."""

    def __init__(self, on_first: Callable[[], None]) -> None:
        self.seconds = 0.0
        self.functions = 0
        self._on_first = on_first
        self._depth = 0
        self._began = 0.0
        self._lock = threading.Lock()

    def begin(self) -> None:
        """A function is being compiled; functions that it calls are compiled within."""
        with self._lock:
            if self._depth == 0:
                self._began = time.perf_counter()
            self._depth += 1
            self.functions += 1
            is_first = self.functions == 1
        if is_first:
            self._on_first()

    def end(self) -> None:
        """The function is compiled."""
        with self._lock:
            self._depth -= 1
            if self._depth == 0:
                self.seconds += time.perf_counter() - self._began


@contextmanager
def watched(on_first: Callable[[], None] = lambda: None) -> Iterator[Compilation]:
    """Watch what is compiled inside the block, in any thread; `on_first` is called before the first function is."""
    found = Compilation(on_first)
    if PLAIN:
        yield found
        return
    from numba.core import event as untyped

    event: Any = untyped

    class Listener(untyped.Listener):
        def on_start(self, _: Any) -> None:
            found.begin()

        def on_end(self, _: Any) -> None:
            found.end()

    listener = Listener()
    event.register("numba:compile", listener)
    try:
        yield found
    finally:
        event.unregister("numba:compile", listener)
