"""Reading ahead: the same items in the same order, errors where they occur, and no thread left behind."""

import threading

import pytest

from weft.streams.ahead import ahead


def readers():
    return [thread for thread in threading.enumerate() if thread.name == "weft-reader"]


def test_the_same_items_in_the_same_order():
    assert list(ahead(iter(range(500)))) == list(range(500))
    assert list(ahead(iter([]))) == []
    assert readers() == []


def test_an_error_comes_after_the_items_before_it():
    def items():
        yield 1
        yield 2
        raise KeyError("here")

    seen = []
    with pytest.raises(KeyError, match="here"):
        seen.extend(item for item in ahead(items()))
    for item in (found := ahead(items())):
        seen.append(item)
        if item == 2:
            break
    found.close()
    assert seen == [1, 2, 1, 2]
    assert readers() == []


def test_the_thread_is_one_item_ahead_and_ends_when_nobody_reads_on():
    made = []

    def items():
        for i in range(1000):
            made.append(i)
            yield i

    found = ahead(items())
    for _ in range(10):
        next(found)
    found.close()
    assert len(made) <= 13
    assert readers() == []
