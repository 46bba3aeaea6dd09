"""`weft learn` in shards: a file per shard, and what is refused."""

import pytest

from cluster.events import write_events
from weft import cluster
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
