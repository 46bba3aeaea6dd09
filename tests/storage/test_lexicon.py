"""Codes of names: a model keeps their slots, and learns only the names of the events that it is given."""

import json

import numpy as np
import pytest

import weft
from weft.names import Names
from weft.storage.lexicon import CodedRows, CodeSlots, Lexicon
from weft.stream import Coded, Stream
from weft.streams import read_chunks


def coded(rows, tasks, words, people):
    codes = [[(words.code(name), value) for name, value in row.items()] for row in rows]
    flat = [pair for row in codes for pair in row]
    indptr = np.concatenate([[0], np.cumsum([len(row) for row in codes])]).astype(np.int64)
    indices, values = np.array([c for c, _ in flat], np.int64), np.array([v for _, v in flat], np.float64)
    return Coded(np.array([people.code(t) for t in tasks]), people, CodedRows(indptr, indices, values, words))


def test_a_stream_of_codes_is_like_any_other():
    words, people = Lexicon(), Lexicon()
    words.code("of a line that was refused"), people.code("nobody")
    rows, tasks, y = [{"b": 2.0, "a": 1.0, "zero": 0.0}, {"a": 3.0}], ["bob", "ann"], np.array([1.0, -1.0])
    stream = Stream.of_codes(coded(rows, tasks, words, people), y, None, "binary")
    plain = Stream(rows, y, tasks)
    assert stream.task_names == plain.task_names == ["bob", "ann"]
    assert stream.tasks == plain.tasks
    assert stream.data.features == plain.data.features
    for mine, other in zip(stream.data[:3], plain.data[:3], strict=True):
        assert np.array_equal(mine, other)
    one, two = weft.Model("pa"), weft.Model("pa")
    assert np.array_equal(one.learn(stream), two.learn(plain))
    assert one.to_bytes() == two.to_bytes()
    assert np.array_equal(one.score(stream), two.score(plain))
    assert one.learn(stream.take(np.array([1, 0]))).tolist() == two.learn(plain.take(np.array([1, 0]))).tolist()


def test_new_names_get_slots_in_the_order_of_the_events_not_of_codes():
    words, people = Lexicon(), Lexicon()
    for name in ("c", "b", "a"):
        words.code(name)
    model = weft.Model("pa")
    model.learn(Stream.of_codes(coded([{"a": 1.0, "b": 1.0}], ["x"], words, people), np.ones(1), None, "binary"))
    assert model.features == ["a", "b"]
    model.learn(Stream.of_codes(coded([{"c": 1.0, "a": 1.0}], ["y"], words, people), np.ones(1), None, "binary"))
    assert model.features == ["a", "b", "c"]


def test_a_refused_chunk_adds_nothing_and_spoils_nothing():
    words, people = Lexicon(), Lexicon()
    model = weft.Model("pa")
    bad = Stream.of_codes(coded([{"a": 1.0}], ["new"], words, people), np.array([3.0]), None, None)
    before = model.to_bytes()
    with pytest.raises(ValueError, match="row 0: label 3"):
        model.learn(bad)
    assert model.to_bytes() == before
    good = Stream.of_codes(coded([{"b": 1.0, "a": 2.0}], ["other"], words, people), np.ones(1), None, "binary")
    model.learn(good)
    assert (model.tasks, model.features) == (["other"], ["b", "a"])


def test_slots_of_codes_follow_the_lexicon():
    names, one, two = Names(["x", "y"]), Lexicon(), Lexicon()
    slots = CodeSlots(names)
    for lexicon, order in ((one, ["y", "x", "new"]), (two, ["new", "x"]), (one, ["y", "x", "new"])):
        codes = np.array([lexicon.code(name) for name in order])
        assert slots.known(codes, lexicon).tolist() == [names.find(name) for name in order]
    found, addition = slots.locate(np.array([2, 0, 2, 1]), one)
    assert (found.tolist(), addition.names) == ([2, 1, 2, 0], ["new"])
    names.add(addition)
    assert slots.known(np.array([2, 0]), one).tolist() == [2, 1]


def test_long_rows_are_sorted_too(tmp_path):
    rng = np.random.default_rng(0)
    rows = [{f"f{i}": float(rng.standard_normal()) for i in rng.permutation(500)} for _ in range(4)]
    path = tmp_path / "e.jsonl"
    path.write_text("".join(json.dumps({"task": "t", "x": row, "y": 1}) + "\n" for row in rows))
    model, other = weft.Model("pa"), weft.Model("pa")
    for chunk in read_chunks(path):
        model.learn(chunk.stream)
    other.learn(Stream(rows, np.ones(4), "t"))
    assert model.to_bytes() == other.to_bytes()


def test_a_chunk_alone_brings_its_own_names_only(tmp_path):
    path = tmp_path / "e.jsonl"
    lines = [{"task": f"t{i}", "x": {f"f{i}": 1.0, "all": 1.0}, "y": 1} for i in range(6)]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines))
    chunks = list(read_chunks(path, chunk=2))
    model = weft.Model("pa")
    model.learn(chunks[1].stream)
    assert model.tasks == ["t2", "t3"]
    assert model.features == ["f2", "all", "f3"]
