"""`weft data`: which sets there are, and fetching one."""

import json
import os

import pytest

from streams.servers import Files, serving
from streams.small_sets import made
from weft.streams import known
from weft.streams.known_sets import SETS


@pytest.fixture
def tiny(tmp_path, monkeypatch):
    """A small set that is known, and nowhere."""
    content, described = made("dense")
    monkeypatch.setitem(SETS, "tiny", described)
    monkeypatch.delenv("WEFT_DATA", raising=False)
    monkeypatch.delenv("WEFT_DATA_ADDRESS", raising=False)
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    return content


def test_list(weft_command, tiny, tmp_path, monkeypatch):
    found = weft_command("data", "list").stdout
    lines = {line.split()[0]: line for line in found.splitlines() if line.strip()}
    for name, described in SETS.items():
        assert f"{described.rows:,}" in lines[name]
        assert lines[name].split()[-1] == "missing"
    begins = {line.rindex(described.label) for name, described in SETS.items() for line in [lines[name]]}
    assert len(begins) == 1  # columns line up
    assert f"Looked in {tmp_path / 'cache' / 'data'}" in found
    folder = tmp_path / "d"
    folder.mkdir()
    (folder / "tiny.npz").write_bytes(tiny)
    (folder / "school.npz").write_bytes(tiny)
    monkeypatch.setenv("WEFT_DATA", str(folder))
    rows = {row["name"]: row for row in json.loads(weft_command("data", "list", "--json").stdout)}
    assert rows["tiny"]["state"] == "here"
    assert rows["tiny"]["folder"] == str(folder)
    assert rows["school"]["state"] == "another file"
    assert rows["lenk"]["state"] == "missing"


def test_get(weft_command, tiny, tmp_path):
    with serving(Files({"/sets/tiny.npz": tiny})) as address:
        found = weft_command("data", "get", "tiny", "--from", f"{address}/sets").stdout
    assert "tiny: a set" in found
    assert f"file    {tmp_path / 'cache' / 'data' / 'tiny.npz'}" in found
    assert "origin  here" in found
    assert "terms   free" in found
    assert len(known("tiny")) == 4
    assert "is here already" in weft_command("data", "get", "tiny").stdout


def test_get_from_the_environment(weft_command, tiny, monkeypatch):
    with serving(Files({"/tiny.npz": tiny})) as address:
        monkeypatch.setenv("WEFT_DATA_ADDRESS", address)
        weft_command("data", "get", "tiny")
    assert len(known("tiny")) == 4


def test_what_cannot_be_fetched_is_one_sentence(weft_command, tiny):
    with serving(Files({"/tiny.npz": bytes(len(tiny))})) as address:
        for arguments, message in (
            (["tiny"], "weft: tiny cannot be fetched and converted by itself. The raw data: here"),
            (
                ["tiny", "--from", f"{address}/nowhere"],
                f"weft: {address}/nowhere/tiny.npz: the server responded with 404",
            ),
            (["tiny", "--from", address], f"weft: {address}/tiny.npz: the SHA-256 sum is not that of tiny"),
            (["tiny", "--from", "sets"], "weft: sets: an address begins with http://"),
            (["tinny"], "weft: unknown data set 'tinny' (did you mean 'tiny'?)"),
        ):
            result = weft_command("data", "get", *arguments, code=2)
            assert result.stderr.startswith(message)
            assert result.stderr.count("\n") == 1
            assert result.stdout == ""


def test_another_file_in_the_way(weft_command, tiny, tmp_path, monkeypatch):
    (tmp_path / "tiny.npz").write_bytes(b"other")
    monkeypatch.setenv("WEFT_DATA", str(tmp_path))
    result = weft_command("data", "get", "tiny", "--from", "file:///x", code=2)
    assert "is another file than the known set tiny, and is looked at first; remove it" in result.stderr


def test_a_damaged_file_in_the_cache_is_replaced(weft_command, tiny, tmp_path):
    path = tmp_path / "cache" / "data" / "tiny.npz"
    path.parent.mkdir(parents=True)
    path.write_bytes(b"other")
    (tmp_path / "tiny.npz").write_bytes(tiny)
    weft_command("data", "get", "tiny", "--from", tmp_path.as_uri())
    assert path.read_bytes() == tiny


def test_ctrl_c(weft_command, tiny, monkeypatch):
    def interrupted(*_):
        raise KeyboardInterrupt

    monkeypatch.setattr("weft.streams.download.fetch", interrupted)
    result = weft_command("data", "get", "tiny", "--from", "file:///x", code=130)
    assert result.stderr == "weft: stopped; the same command goes on from there\n"


@pytest.mark.skipif(not os.environ.get("WEFT_DATA"), reason="WEFT_DATA does not name the folder of real data")
def test_convert(weft_command, tmp_path, monkeypatch):
    from streams.test_fetched import raw_files

    [raw] = raw_files("school", tmp_path)
    monkeypatch.delenv("WEFT_DATA")
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    assert "exam scores" in weft_command("data", "convert", "school", raw).stdout
    assert len(known("school")) == 15_362
    assert "there is no conversion for lenk" in weft_command("data", "convert", "lenk", raw, code=2).stderr
