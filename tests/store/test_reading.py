"""Model files read once, written block by block; digests in a thread of their own."""

import hashlib
import os
import sys
import threading

import numpy as np
import pytest

import weft
from weft.storage import pairs
from weft.storage.saving import Blocks
from weft.store import digests, reading
from weft.store.codec import decode, encode, write_arrays
from weft.store.digests import DIGEST, Digest, FileError


def learned(tasks=4, name="auto"):
    rng = np.random.default_rng(tasks)
    model = weft.Model(name)
    model.learn(weft.Stream(rng.normal(size=(60, 5)), rng.choice([-1, 1], 60), rng.integers(0, tasks, 60)))
    return model


@pytest.mark.parametrize("limit", [1 << 23, 4])
@pytest.mark.parametrize("threaded", [False, True])
def test_what_is_written_in_blocks_is_the_file(tmp_path, monkeypatch, limit, threaded):
    monkeypatch.setattr(pairs, "DENSE_LIMIT", limit)
    monkeypatch.setattr(digests, "THREAD_FROM", 0 if threaded else 1 << 60)
    model, blocks = learned(), []
    digest = model.write_to(lambda block: blocks.append(bytes(block)))
    data = b"".join(blocks)
    assert data == model.to_bytes()
    assert digest == data[-DIGEST:].hex() == hashlib.blake2b(data[:-DIGEST], digest_size=DIGEST).hexdigest()
    model.save(tmp_path / "m")
    assert (tmp_path / "m").read_bytes() == data
    assert reading.stored_digest(tmp_path / "m") == digest
    assert weft.load(tmp_path / "m").to_bytes() == data


def test_nothing_is_learned_while_a_model_is_written():
    model, blocks, learning = learned(), [], []
    before = model.to_bytes()

    def write(block):
        if not learning:
            learning.append(threading.Thread(target=model.learn_one, args=([1.0] * 5, 1, 0)))
            learning[0].start()
            learning[0].join(0.2)
        assert learning[0].is_alive()
        blocks.append(bytes(block))

    model.write_to(write)
    learning[0].join()
    assert b"".join(blocks) == before != model.to_bytes()


def test_arrays_of_a_file_are_views_of_what_was_read(tmp_path):
    for tasks in range(2, 12):  # headers of several lengths
        learned(tasks).save(tmp_path / "m")
        data = reading.read_file(tmp_path / "m")
        assert bytes(data) == (tmp_path / "m").read_bytes()
        for array in decode(data)[1].values():
            assert array.flags.aligned
            assert not array.flags.writeable
            assert array.size == 0 or np.shares_memory(array, np.frombuffer(data, np.uint8))


def test_a_loaded_model_does_not_touch_the_bytes_it_came_from():
    data = bytearray(learned().to_bytes())
    before, model = bytes(data), weft.Model.from_bytes(memoryview(data))
    model.learn_one([1.0, 0.0, 0.0, 0.0, 0.0], 1, 0)
    assert bytes(data) == before
    twin = weft.Model.from_bytes(before)
    data[:] = bytes(len(data))
    assert weft.Model.from_bytes(before).to_bytes() == twin.to_bytes()


@pytest.mark.skipif(sys.platform == "win32", reason="there are no named pipes")
def test_a_model_comes_through_a_pipe(tmp_path):
    model = learned()
    os.mkfifo(tmp_path / "pipe")
    writer = threading.Thread(target=model.save, args=(tmp_path / "pipe",))
    writer.start()
    assert weft.load(tmp_path / "pipe").to_bytes() == model.to_bytes()
    writer.join()


@pytest.mark.parametrize("threaded", [False, True])
def test_a_damaged_file_is_called_so_whatever_else_is_wrong_with_it(monkeypatch, threaded):
    monkeypatch.setattr(digests, "THREAD_FROM", 0 if threaded else 1 << 60)
    data = learned().to_bytes()
    for at in range(10, len(data), 97):
        other = bytearray(data)
        other[at] ^= 0x41
        with pytest.raises(FileError, match="checksum does not match"):
            weft.Model.from_bytes(bytes(other))


def test_a_digest_needs_no_thread(monkeypatch):
    def none(*_):
        raise RuntimeError("can't start new thread")

    blocks = [bytes([i]) * 5000 for i in range(20)]
    expected = hashlib.blake2b(b"".join(blocks), digest_size=DIGEST).digest()
    for started in (True, False):
        if not started:
            monkeypatch.setattr(threading.Thread, "start", none)
        with Digest(digests.THREAD_FROM) as digest:
            for block in blocks:
                digest.update(block)
            assert digest.value() == expected


def test_arrays_that_are_not_as_long_as_announced_are_an_error():
    with pytest.raises(RuntimeError, match="not as long as its header says"):
        write_arrays({}, {"x": Blocks(np.dtype(float), (3,), [np.zeros(2)])}, lambda block: None)
    assert decode(encode({}, {"x": np.zeros(3)}))[1]["x"].shape == (3,)


def test_the_digest_of_what_is_no_model(tmp_path):
    assert reading.stored_digest(tmp_path / "none") is None
    (tmp_path / "short").write_bytes(b"ab")
    assert reading.stored_digest(tmp_path / "short") == b"ab".hex()
    with pytest.raises(FileError, match="not a weft model file"):
        weft.load(tmp_path / "short")
