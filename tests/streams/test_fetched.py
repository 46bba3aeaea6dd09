"""Raw files of public sets: fetched, converted to the published arrays, and refused if they are other files."""

import json
import os
from pathlib import Path

import numpy as np
import pytest
from scipy.io import savemat

from streams.servers import Files, serving
from weft.streams import sources
from weft.streams.conversion import CONVERSIONS, DIGESTS, converted, digest, is_published
from weft.streams.download import DownloadError, target_of
from weft.streams.fetched import fetch_and_convert
from weft.streams.known_sets import SETS
from weft.streams.sources import BY_HAND, SOURCES, Source

ROOT = Path(__file__).parents[2]
DATA = os.environ.get("WEFT_DATA") and ROOT / os.environ["WEFT_DATA"]  # tests change the current folder
real = pytest.mark.skipif(not DATA, reason="WEFT_DATA does not name the folder of real data")


def raw_files(name, folder):
    """The raw files as their origin has them, made from the published set."""
    with np.load(Path(DATA, f"{name}.npz")) as file:
        arrays = {key: file[key] for key in file.files}
    paths = [folder / part for part in SOURCES[name].names]
    tasks = range(SETS[name].tasks)
    if name in ("school", "landmine"):
        rows, labels = ("X", "Y") if name == "school" else ("feature", "label")
        cells = {rows: np.empty((1, len(tasks)), object), labels: np.empty((1, len(tasks)), object)}
        for task in tasks:
            mine = arrays["task"] == task
            y = arrays["y"][mine].astype(float)
            cells[rows][0, task] = arrays["X"][mine].astype(float)
            cells[labels][0, task] = (y if name == "school" else (y > 0).astype(float))[:, None]
        savemat(paths[0], cells)
        return paths
    for task, path in zip(tasks, paths, strict=True):
        lines = []
        for row in np.flatnonzero(arrays["task"] == task):
            span = slice(arrays["indptr"][row], arrays["indptr"][row + 1])
            pairs = zip(arrays["indices"][span].tolist(), arrays["data"][span].tolist(), strict=True)
            lines.append(" ".join([str(arrays["y"][row]), *(f"{index + 1}:{count}" for index, count in pairs)]))
        path.write_text("\n".join(lines) + "\n")
    return paths


def test_every_set_is_fetched_or_told_how():
    assert sorted([*SOURCES, *BY_HAND]) == sorted(SETS)
    assert sorted(CONVERSIONS) == sorted(SOURCES) == sorted(DIGESTS)
    for source in SOURCES.values():
        assert source.licence
        for address in source.addresses:
            assert address.startswith("https://")
            assert len(set(source.names)) == len(source.addresses)


@real
@pytest.mark.parametrize("name", ["school", "landmine", "pkdd06a"])
def test_raw_files_make_the_published_set(name, tmp_path):
    files = raw_files(name, tmp_path)
    assert is_published(converted(SETS[name], files), SETS[name])
    if len(files) > 1:
        with pytest.raises(ValueError, match=r"do not make the published set pkdd06a.*in another order"):
            converted(SETS[name], files[::-1])
        with pytest.raises(ValueError, match="is made from 3 files, not 2"):
            converted(SETS[name], files[:2])


@real
def test_the_same_arrays_in_another_file_are_the_set(tmp_path):
    with np.load(Path(DATA, "school.npz")) as file:
        arrays = {key: file[key] for key in file.files}
    np.savez(tmp_path / "plain.npz", **arrays)
    assert is_published((tmp_path / "plain.npz").read_bytes(), SETS["school"])
    arrays["y"] = arrays["y"].copy()
    arrays["y"][17] += 1
    np.savez(tmp_path / "plain.npz", **arrays)
    assert not is_published((tmp_path / "plain.npz").read_bytes(), SETS["school"])
    assert not is_published(b"PK\x03\x04 no", SETS["school"])


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("school", b"no MATLAB", "cannot be read as a MATLAB file"),
        ("pkdd06a", b"1 3:4\nspam 1:2\n", "line 2: not a line of label index:count"),
        ("pkdd06a", b"1 0:4\n", "out of range"),
        ("pkdd06a", b"1 3:40000\n", "out of range"),
    ],
)
def test_other_files_are_refused(name, content, message, tmp_path):
    path = tmp_path / "raw"
    path.write_bytes(content)
    with pytest.raises(ValueError, match=message):
        converted(SETS[name], [path] * len(SOURCES[name].addresses))


@pytest.fixture
def cache(tmp_path, monkeypatch):
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache" / "data"


@real
def test_fetched_from_its_address(cache, tmp_path, monkeypatch):
    [raw] = raw_files("school", tmp_path)
    files = Files({"/data/school.mat": raw.read_bytes()})
    with serving(files) as address:
        monkeypatch.setitem(sources.SOURCES, "school", Source((f"{address}/data/school.mat",), "free"))
        heard = []
        target = target_of(SETS["school"])
        fetch_and_convert(SETS["school"], target, heard.append)
        assert is_published(target.read_bytes(), SETS["school"])
        assert heard[-1] == raw.stat().st_size
        assert list(json.loads((cache / "sums.json").read_text())) == [f"{address}/data/school.mat"]
        fetch_and_convert(SETS["school"], target)  # the same file again
        files.files["/data/school.mat"] += b"\0"
        target.unlink()
        with pytest.raises(DownloadError, match="not the one that was fetched first"):
            fetch_and_convert(SETS["school"], target)
        assert not target.exists()


def test_faults_of_a_server(cache, monkeypatch):
    files = Files({"/school.mat": b"x" * 5000}, break_after=100)
    with serving(files) as address:
        for path, message in (("/none.mat", "responded with 404"), ("/school.mat", "interrupted after 100 of 5,000")):
            monkeypatch.setitem(sources.SOURCES, "school", Source((address + path,), "free"))
            with pytest.raises(DownloadError, match=message):
                fetch_and_convert(SETS["school"], target_of(SETS["school"]))
        monkeypatch.setattr("weft.streams.fetched.MOST_BYTES", 1000)
        files.break_after = None
        with pytest.raises(DownloadError, match="sends more than 1,000 bytes"):
            fetch_and_convert(SETS["school"], target_of(SETS["school"]))
    with pytest.raises(DownloadError, match="check that the address is right"):
        fetch_and_convert(SETS["school"], target_of(SETS["school"]))
    assert not (cache / "school.npz").exists()


def test_damaged_notes_are_told(cache, monkeypatch):
    cache.mkdir(parents=True)
    (cache / "sums.json").write_text("[1]")
    with serving(Files({"/school.mat": b"x"})) as address:
        monkeypatch.setitem(sources.SOURCES, "school", Source((f"{address}/school.mat",), "free"))
        with pytest.raises(DownloadError, match=r"sums.json is damaged"):
            fetch_and_convert(SETS["school"], target_of(SETS["school"]))


@pytest.mark.parametrize("name", sorted(BY_HAND))
def test_the_others_say_where_they_are(name, cache):
    with pytest.raises(DownloadError, match=rf"{name} cannot be fetched.*github|grouplens"):
        fetch_and_convert(SETS[name], target_of(SETS[name]))


def test_digests_tell_types_and_shapes_apart():
    one = np.arange(4)
    others = ({"a": one}, {"b": one}, {"a": one.astype(float)}, {"a": one.reshape(2, 2)})
    assert len({digest(arrays) for arrays in others}) == 4
