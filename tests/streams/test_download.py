"""Fetching a data set: complete and correct, or not at all."""

import hashlib
from pathlib import Path

import numpy as np
import pytest

from streams.servers import Files, serving
from weft.streams.download import DownloadError, address_of, fetch, target_of
from weft.streams.known_sets import KnownSet

CONTENT = np.random.default_rng(0).bytes(300_000)
TINY = KnownSet("tiny", "a set", 1, 1, 1, "binary", False, "somewhere", "free", len(CONTENT),
                hashlib.sha256(CONTENT).hexdigest())  # fmt: skip


@pytest.fixture
def target(tmp_path):
    return tmp_path / "deep" / "tiny.npz"


def part_of(target):
    return target.with_name("tiny.npz.part")


def get(files, target, progress=lambda done: None, path="/sets/tiny.npz"):
    with serving(files) as address:
        fetch(TINY, address + path, target, progress)


def test_fetched_whole(target):
    heard = []
    get(Files({"/sets/tiny.npz": CONTENT}), target, heard.append)
    assert target.read_bytes() == CONTENT
    assert not part_of(target).exists()
    assert heard[0] == 0
    assert heard[-1] == len(CONTENT)
    assert heard == sorted(heard)


def test_from_a_file(target, tmp_path):
    (tmp_path / "tiny.npz").write_bytes(CONTENT)
    fetch(TINY, (tmp_path / "tiny.npz").as_uri(), target)
    assert target.read_bytes() == CONTENT


def test_an_interrupted_download_goes_on(target):
    files = Files({"/sets/tiny.npz": CONTENT}, break_after=100_000)
    with pytest.raises(DownloadError, match=r"interrupted after 100,000 of 300,000 bytes; run the same command again"):
        get(files, target)
    assert part_of(target).read_bytes() == CONTENT[:100_000]
    assert not target.exists()
    files.break_after = None
    heard = []
    get(files, target, heard.append)
    assert target.read_bytes() == CONTENT
    assert files.asked == [None, "bytes=100000-"]
    assert heard[0] == 100_000


def test_an_interruption_by_the_user_keeps_what_has_come(target):
    def stop(done):
        if done > 120_000:
            raise KeyboardInterrupt

    files = Files({"/sets/tiny.npz": CONTENT})
    with pytest.raises(KeyboardInterrupt):
        get(files, target, stop)
    kept = part_of(target).stat().st_size
    assert 120_000 < kept < len(CONTENT)
    get(files, target)
    assert target.read_bytes() == CONTENT
    assert files.asked[1] == f"bytes={kept}-"


def test_a_server_without_ranges_sends_everything_again(target):
    part_of(target).parent.mkdir()
    part_of(target).write_bytes(CONTENT[:50_000])
    files = Files({"/sets/tiny.npz": CONTENT}, ranges=False)
    get(files, target)
    assert target.read_bytes() == CONTENT
    assert files.asked == ["bytes=50000-"]


def test_a_whole_part_needs_no_server(target):
    part_of(target).parent.mkdir()
    part_of(target).write_bytes(CONTENT)
    fetch(TINY, "http://127.0.0.1:9/tiny.npz", target)
    assert target.read_bytes() == CONTENT


@pytest.mark.parametrize("kept", [b"", CONTENT[:7], b"x" * 1000])
def test_a_wrong_sum_is_refused_and_removed(target, kept):
    part_of(target).parent.mkdir()
    part_of(target).write_bytes(kept)
    wrong = CONTENT if kept == b"x" * 1000 else bytes(len(CONTENT))
    with pytest.raises(DownloadError, match="the SHA-256 sum is not that of tiny"):
        get(Files({"/sets/tiny.npz": wrong}), target)
    assert not target.exists()
    assert not part_of(target).exists()


def test_another_size_is_refused_before_it_is_read(target):
    with pytest.raises(DownloadError, match=r"has 5 bytes, tiny has 300,000: this is a different file"):
        get(Files({"/sets/tiny.npz": b"hello"}), target)
    assert not target.exists()


def test_no_more_than_the_size_is_read(target):
    files = Files({"/sets/tiny.npz": CONTENT + CONTENT}, silent_length=True)
    with pytest.raises(DownloadError, match="sends more than the 300,000 bytes of tiny"):
        get(files, target)
    assert not target.exists()
    assert part_of(target).stat().st_size == 0


def test_a_part_that_is_too_long_is_thrown_away(target):
    part_of(target).parent.mkdir()
    part_of(target).write_bytes(CONTENT + b"more")
    files = Files({"/sets/tiny.npz": CONTENT})
    get(files, target)
    assert target.read_bytes() == CONTENT
    assert files.asked == [None]


def test_a_server_whose_file_ends_before_ours(target):
    part_of(target).parent.mkdir()
    part_of(target).write_bytes(CONTENT[:1000])
    files = Files({"/sets/tiny.npz": CONTENT[:500]})
    with pytest.raises(DownloadError, match=r"has 500 bytes, tiny has 300,000"):
        get(files, target)
    assert files.asked == ["bytes=1000-", None]


def test_not_found(target):
    with pytest.raises(DownloadError, match=r"/sets/tiny.npz: the server responded with 404 Not Found; check that"):
        get(Files({}), target)
    assert not target.parent.exists() or not list(target.parent.iterdir())


def test_nobody_there(target):
    with serving(Files({})) as address:
        pass
    with pytest.raises(DownloadError, match="check that the address is right and the server is running"):
        fetch(TINY, f"{address}/tiny.npz", target)
    with pytest.raises(DownloadError, match="check that"):
        fetch(TINY, (target.parent / "nowhere" / "tiny.npz").as_uri(), target)


def test_a_server_may_point_to_web_addresses_only(target):
    files = Files({"/sets/tiny.npz": CONTENT})
    with serving(Files({"/x.npz": CONTENT})) as other:
        files.redirect = f"{other}/x.npz"
        get(files, target)
    assert target.read_bytes() == CONTENT
    target.unlink()
    files.redirect = "ftp://127.0.0.1/x.npz"
    with pytest.raises(DownloadError, match=r"points to ftp://127.0.0.1/x.npz, which is not a web address"):
        get(files, target)


def test_addresses(monkeypatch):
    monkeypatch.delenv("WEFT_DATA_ADDRESS", raising=False)
    assert address_of(TINY, None) is None
    assert address_of(TINY, "https://a.b/sets/") == "https://a.b/sets/tiny.npz"
    assert address_of(TINY, "https://a.b/other.npz") == "https://a.b/other.npz"
    monkeypatch.setenv("WEFT_DATA_ADDRESS", "http://c.d")
    assert address_of(TINY, None) == "http://c.d/tiny.npz"
    assert address_of(TINY, "file:///sets") == "file:///sets/tiny.npz"
    for wrong in ("ftp://a.b", "sets", "/sets", "data:,x"):
        with pytest.raises(DownloadError, match="an address begins with"):
            address_of(TINY, wrong)


def test_the_place_is_the_user_s_cache(monkeypatch, tmp_path):
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path))
    assert target_of(TINY) == Path(tmp_path) / "data" / "tiny.npz"
