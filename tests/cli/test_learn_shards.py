"""`weft learn` in shards: a file per shard, and what is refused."""

from dataclasses import replace

import pytest

from cluster.events import write_events
from weft import cluster
from weft.cli.learn_shards import Sharding
from weft.cluster import reading


@pytest.fixture
def parts(tmp_path):
    """Three files that are a partition."""
    path = write_events(tmp_path / "events.jsonl")
    return [str(one) for one in cluster.partition(path, tmp_path / "parts", shards=3)]


def test_files_of_a_partition_are_as_many_shards(weft_command, tmp_path, parts):
    weft_command("learn", *parts, "--partitioned", "--exchange", "50", "--model", "m.weft", "--quiet")
    expected = cluster.learn(parts, "auto", shards=3, exchange=50, partitioned=True).model().to_bytes()
    assert (tmp_path / "m.weft").read_bytes() == expected


@pytest.mark.parametrize(
    ("files", "expected"),
    [
        (("a/shard-000.weftpack", "a/shard-001.weftpack"), (2, True)),
        (("a/shard-001.weftpack", "a/shard-000.weftpack"), (2, False)),
        (("events.jsonl", "more.jsonl", "most.jsonl"), (3, False)),
        (("a/shard-000.weftpack",), (None, False)),
    ],
)
def test_ray_takes_a_shard_per_file_and_knows_a_partition_by_its_names(files, expected):
    asked = Sharding(None, None, None, False, True, None, None, False)
    found = asked.counted(files)
    assert (found.shards, found.partitioned) == expected
    assert replace(asked, ray=False).counted(files).shards is None
    assert replace(asked, shards=7).counted(files) == replace(asked, shards=7)


def test_a_shard_reads_its_own_file_and_no_other(monkeypatch, parts):
    opened, read_chunks = [], reading.read_chunks

    def recorded(path, **options):
        opened.append(path)
        return read_chunks(path, **options)

    monkeypatch.setattr(reading, "read_chunks", recorded)
    cluster.learn(parts, "pa", shards=3, exchange=50, partitioned=True)
    assert sorted(opened) == sorted(parts)


@pytest.mark.parametrize("option", ["--ray", "--partitioned"])
def test_one_file_does_not_say_how_many_shards_there_are(weft_command, parts, option):
    done = weft_command("learn", parts[0], option, "--model", "m.weft", code=2)
    assert "say how many with --shards N" in done.stderr
