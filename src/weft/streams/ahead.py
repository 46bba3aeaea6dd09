"""One item ahead: what an iterator yields, made in a second thread while the caller works on the item before."""

import queue
import threading
from collections.abc import Iterator
from contextlib import suppress
from typing import Any, TypeVar

Item = TypeVar("Item")


class _Failed:
    """Carries an exception to the caller's thread."""

    def __init__(self, error: BaseException) -> None:
        self.error = error


_END: Any = object()


def ahead(items: Iterator[Item]) -> Iterator[Item]:
    """The same items in the same order; the thread starts after the first one, and ends with the generator.

    Compiled readers release the interpreter's lock, so that a file is read while a model learns.
    """
    first = next(items, _END)
    if first is _END:
        return
    stopped = threading.Event()
    made: queue.Queue[Any] = queue.Queue(1)

    def put(item: Any) -> None:
        while not stopped.is_set():
            with suppress(queue.Full):
                made.put(item, timeout=0.1)
                return

    def work() -> None:
        try:
            for item in items:
                put(item)
                if stopped.is_set():
                    return
            put(_END)
        except BaseException as error:
            put(_Failed(error))

    thread = threading.Thread(target=work, name="weft-reader", daemon=True)
    thread.start()
    try:
        yield first
        while (item := made.get()) is not _END:
            if isinstance(item, _Failed):
                raise item.error
            yield item
    finally:
        stopped.set()
        if threading.current_thread() is not thread:  # a generator that is dropped may be collected in any thread
            thread.join()
