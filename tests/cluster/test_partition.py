"""A file per shard: what is learned from a partition is what is learned from its blocks, one file after the other."""

import json
from itertools import repeat

import numpy as np
import pytest

import weft
from cluster.events import write_events
from weft import cluster
from weft.cluster import reading, shard_of
from weft.cluster.reading import Place, Source, blocks
from weft.cluster.rule import Rule
from weft.streams import read_chunks


def of_file(path):
    return [chunk.stream for chunk in read_chunks(path, target="binary")]


def in_turns(paths, rule):
    """The events of a partition in the order in which its blocks have them."""
    readers = [blocks(Source((str(path),)), rule.sizes(0), Place(), "binary") for path in paths if path.stat().st_size]
    while readers:
        for reader in list(readers):
            block = next(reader, None)
            if block is None:
                readers.remove(reader)
            else:
                yield from (piece.stream for piece in block.pieces)


@pytest.mark.parametrize("name", ["pa", "arow"])
def test_independent_learners_learn_the_blocks_of_all_files_in_turns(tmp_path, name):
    path = write_events(tmp_path / "events.jsonl")
    paths = cluster.partition(path, tmp_path / "parts", shards=5)
    assert sum(len(stream) for one in paths if one.stat().st_size for stream in of_file(one)) == 400
    model = weft.Model(name)
    for stream in in_turns(paths, Rule(5, 30, is_partition=True)):
        model.learn(stream)
    found = cluster.learn(paths, name, shards=5, exchange=30, partitioned=True)
    assert found.model().to_bytes() == model.to_bytes()


def test_a_partition_that_is_interrupted_goes_on(tmp_path):
    path = write_events(tmp_path / "events.jsonl")
    paths = cluster.partition(path, tmp_path / "parts", shards=3)
    rule = {"shards": 3, "exchange": 30, "partitioned": True, "save_every": 60}
    whole = cluster.learn(paths, "auto", **rule).model().to_bytes()

    def stop(version):
        if version.number in (3, 8):
            raise KeyboardInterrupt

    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            cluster.learn(paths, "auto", **rule, folder=tmp_path / "run", on_version=stop)
    assert cluster.learn(paths, "auto", **rule, folder=tmp_path / "run").model().to_bytes() == whole


def test_classes_that_are_words_are_found_in_all_files_together(tmp_path):
    path, words = tmp_path / "events.jsonl", {1: "spam", -1: "ham"}
    write_events(path)
    events = [json.loads(line) for line in path.read_text().splitlines()]
    records = [{"user": e["task"], "label": words[e["y"]], **e["x"]} for e in events]
    path.write_text("".join(json.dumps(record) + "\n" for record in records))
    schema = weft.Schema(task="user", label="label")
    paths = cluster.partition(path, tmp_path / "parts", shards=4, schema=schema, labels=("ham", "spam"))
    model = cluster.learn(paths, "auto", shards=4, exchange=40, partitioned=True, schema=schema).model()
    assert model.classes == ("ham", "spam")
    assert model.tally.total["events"] == 400


def test_a_file_with_tasks_of_another_shard_is_refused(tmp_path):
    path = write_events(tmp_path / "events.jsonl", 50)
    paths = cluster.partition(path, tmp_path / "parts", shards=2)
    with pytest.raises(ValueError, match=r"is file 0 of a partition, but holds the task .* which belongs to shard 1"):
        cluster.learn(paths[::-1], "pa", shards=2, partitioned=True)


@pytest.mark.parametrize("size", [1, 7, 50, 399, 400, 1000])
def test_blocks_have_their_size_and_can_be_begun_anywhere(tmp_path, size):
    path = write_events(tmp_path / "events.jsonl")
    source = Source((path, path))
    found = list(blocks(source, repeat(size), Place(), "binary"))
    assert [block.events for block in found[:-1]] == [size] * (len(found) - 1)
    assert sum(block.events for block in found) == 800
    tasks = [task for block in found for piece in block.pieces for task in piece.stream.tasks]
    for at in range(0, len(found), 1 + len(found) // 10):
        rest = list(blocks(source, repeat(size), found[at].end, "binary"))
        again = [task for block in rest for piece in block.pieces for task in piece.stream.tasks]
        assert again == tasks[size * (at + 1) :]


def test_blocks_end_between_rounds():
    rounds = np.repeat(np.arange(6), [3, 1, 4, 2, 5, 1])
    stream = weft.Stream(np.eye(16), np.ones(16), np.arange(16), rounds)
    found = list(blocks(Source(stream=stream), repeat(4), Place(), "binary"))
    assert [block.events for block in found] == [4, 4, 2, 5, 1]
    assert [block.end.events for block in found] == [4, 8, 10, 15, 16]


def test_the_name_of_a_task_is_hashed_once(monkeypatch, tmp_path):
    hashed = []

    def counted(name, shards):
        hashed.append(name)
        return shard_of(name, shards)

    monkeypatch.setattr(reading, "shard_of", counted)
    path = write_events(tmp_path / "events.jsonl", 400)
    rng = np.random.default_rng(1)
    in_memory = weft.Stream(rng.normal(size=(400, 3)), rng.choice([-1, 1], 400), rng.integers(0, 9, 400))
    for source in (path, in_memory):
        hashed.clear()
        found = cluster.learn(source, "pa", shards=2, exchange=40)
        assert len(hashed) == 2 * len(found.model().tasks)  # each shard reads all events
