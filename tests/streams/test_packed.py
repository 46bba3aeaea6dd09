"""The packed form is exact, and what is in a file is never trusted."""

import random
import struct

import pytest

import weft
from streams.test_all_formats import jsonl, learned, make_events, pack, svmlight
from weft.streams import InputError, read_chunks
from weft.streams.packing import BEGINNING, HEAD, Head, digest_of

pytestmark = pytest.mark.xdist_group("packed")


@pytest.fixture(params=[True, False], ids=["named", "numbered"])
def packed(request, tmp_path):
    """A small packed file, and the text that it was made of."""
    events = [(t, x, y) for t, x, y in make_events(25, named=request.param, seed=5) if t != "user name"]
    source = tmp_path / ("e.jsonl" if request.param else "e.svm")
    (jsonl if request.param else svmlight)(source, events)
    path = tmp_path / "e.weftpack"
    pack(path, source)
    return path, source


MODEL = weft.Model("pa")


def read(path):
    """Whatever a file gives is scored: a row that is not a row would crash here."""
    for chunk in read_chunks(path, "weftpack", target="real", labels=False):
        MODEL.score(chunk.unlabelled)


def test_every_flipped_byte_is_noticed(packed):
    path, _ = packed
    data = path.read_bytes()
    for at in range(len(data)):
        changed = bytearray(data)
        changed[at] ^= 1 << (at % 8)
        path.write_bytes(changed)
        with pytest.raises(InputError):
            read(path)


def test_every_cut_is_noticed(packed):
    path, _ = packed
    data = path.read_bytes()
    for size in range(BEGINNING.size + 1, len(data), 7):
        path.write_bytes(data[:size])
        with pytest.raises(InputError):
            read(path)


def test_forged_blocks_with_a_right_digest_are_refused_or_are_events(packed):
    path, _ = packed
    data, r, refused = path.read_bytes(), random.Random(6), 0
    begin, size = data[: BEGINNING.size], HEAD.size
    for _ in range(1500):
        block = bytearray(data[BEGINNING.size :])
        for _ in range(r.randint(1, 3)):
            at = r.randrange(len(block)) if r.random() < 0.6 else r.randrange(size - 16)
            block[at] = r.choice([0, 1, 255, 127, r.randrange(256)])
        head = Head(*HEAD.unpack(block[:size]))
        if head.payload == len(block) - size:
            block[size - 16 : size] = digest_of(bytes(block[:size]), block[size:])
        path.write_bytes(begin + block)
        try:
            read(path)
        except InputError:
            refused += 1
    assert 0 < refused < 1500


def test_counts_beyond_the_file_are_refused_before_memory_is_taken(packed):
    path, _ = packed
    data = bytearray(path.read_bytes())
    for where in (0, 4):
        changed = bytearray(data)
        struct.pack_into("<I", changed, BEGINNING.size + where, 2**32 - 1)
        head = bytes(changed[BEGINNING.size : BEGINNING.size + HEAD.size])
        payload = changed[BEGINNING.size + HEAD.size :]
        changed[BEGINNING.size + HEAD.size - 16 : BEGINNING.size + HEAD.size] = digest_of(head, payload)
        path.write_bytes(changed)
        with pytest.raises(InputError, match="block 1: the packed file is damaged"):
            read(path)


def test_rounds_and_missing_labels_are_kept(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text(
        '{"task": "a", "x": {"f": 1}, "y": 1, "round": 1}\n{"task": "b", "x": {"f": 0.1}, "y": null, "round": 1}\n'
        '{"task": "a", "x": {"g": 1e-5}, "y": -1, "round": "last"}\n'
    )
    pack(tmp_path / "e.weftpack", path)
    assert learned(tmp_path / "e.weftpack") == learned(path)
    for chunk in (1, 2, 100):
        chunks = list(read_chunks(tmp_path / "e.weftpack", chunk=chunk))
        assert sum(c.stream.n_rounds for c in chunks) == 2
        assert learned(tmp_path / "e.weftpack", chunk=chunk) == learned(path)


def test_labels_are_checked_when_they_are_read(tmp_path):
    path = tmp_path / "e.jsonl"
    path.write_text('{"task": "a", "x": {"f": 1}, "y": 1}\n{"task": "b", "x": {"f": 1}, "y": 2.5}\n')
    pack(tmp_path / "e.weftpack", path)
    with pytest.raises(InputError, match=r'e\.weftpack, row 2, field "y": 2\.5 is not a label'):
        list(read_chunks(tmp_path / "e.weftpack"))
    (chunk,) = read_chunks(tmp_path / "e.weftpack", on_error="skip")
    assert chunk.lines == [1]
    assert [fault.line for fault in chunk.skipped] == [2]
