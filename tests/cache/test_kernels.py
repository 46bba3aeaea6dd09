"""Files of machine code: a damaged one is compiled again, one of another user is never read."""

import os
import pickle
import random
import stat
import subprocess
import sys
from pathlib import Path

import numba
import pytest

from weft.cache.folders import kernel_folder
from weft.cache.kernels import DIGEST, MAGIC, KernelCache, read_own

FOLDER = "kernels-00000000000000a1"


def twice(x):
    return 2 * x


def kernel(folder):
    """A fresh compiled function with its files in that folder, as after the start of a process."""
    dispatcher = numba.njit(twice)
    dispatcher._cache = KernelCache(twice, folder)
    return dispatcher


def from_cache(folder):
    """Whether the machine code was read; the kernel is right in any case."""
    function = kernel(folder)
    assert function(21) == 42
    return bool(sum(function.stats.cache_hits.values()))


@pytest.fixture
def folder(tmp_path):
    assert not from_cache(tmp_path)
    assert from_cache(tmp_path)
    return tmp_path


def only_file(folder):
    (path,) = folder.iterdir()
    return path


def forged(marker):
    """A pickle that writes a file when it is read."""

    class Evil:
        def __reduce__(self):
            return (Path(marker).write_text, ("read",))

    return pickle.dumps(Evil())


@pytest.mark.skipif(sys.platform == "win32", reason="modes are those of Unix")
def test_files_are_closed_to_others_whatever_the_umask(tmp_path):
    before = os.umask(0)
    try:
        from_cache(tmp_path)
    finally:
        os.umask(before)
    assert stat.S_IMODE(only_file(tmp_path).stat().st_mode) == 0o600


@pytest.mark.parametrize(
    "damage",
    [
        lambda data: b"",
        lambda data: data[:7],
        lambda data: data[: len(MAGIC) + DIGEST],
        lambda data: data[: len(data) // 2],
        lambda data: data[:-1],
        lambda data: data + b"x",
        lambda data: random.Random(1).randbytes(len(data)),
        lambda data: pickle.dumps({"an": "index"}),
        lambda data: MAGIC + bytes(DIGEST) + data[len(MAGIC) + DIGEST :],
    ],
    ids=["empty", "7 bytes", "no content", "half", "one byte less", "one byte more", "noise", "pickle", "digest"],
)
def test_a_damaged_file_heals(folder, damage):
    path = only_file(folder)
    good = path.read_bytes()
    path.write_bytes(damage(good))
    assert not from_cache(folder)
    assert from_cache(folder)
    assert only_file(folder) == path


def test_a_flipped_bit_anywhere_is_noticed(folder):
    path = only_file(folder)
    good = path.read_bytes()
    files = KernelCache(twice, folder)._file
    key = pickle.loads(good[len(MAGIC) + DIGEST :])[0]
    inner = key[:3]
    assert files.load(inner) is not None
    for bit in random.Random(2).sample(range(8 * len(good)), 400):
        data = bytearray(good)
        data[bit // 8] ^= 1 << bit % 8
        path.write_bytes(data)
        assert files.load(inner) is None


def test_machine_code_of_another_function_under_this_name_is_not_used(folder):
    path = only_file(folder)

    def whole(content):
        import hashlib

        return MAGIC + hashlib.blake2b(content, digest_size=DIGEST).digest() + content

    for content in (pickle.dumps(("another key", ())), pickle.dumps(7), b"not a pickle"):
        path.write_bytes(whole(content))
        assert not from_cache(folder)


@pytest.mark.skipif(sys.platform == "win32", reason="users have no numbers here")
@pytest.mark.parametrize("how", ["writable", "link", "fifo", "folder"])
def test_what_others_can_change_is_never_read(folder, tmp_path_factory, how):
    path = only_file(folder)
    if how == "writable":
        path.chmod(0o666)
    elif how == "link":
        elsewhere = tmp_path_factory.mktemp("elsewhere") / "file"
        path.rename(elsewhere)
        path.symlink_to(elsewhere)
    elif how == "fifo":
        path.unlink()
        os.mkfifo(path)
    else:
        path.unlink()
        path.mkdir()
    assert read_own(path) is None
    assert not from_cache(folder)


@pytest.mark.skipif(
    sys.platform == "win32" or os.geteuid() != 0, reason="only the superuser can make files of another user"
)
def test_a_file_of_another_user_is_never_read(folder):
    path = only_file(folder)
    os.chown(path, 65534, 65534)
    assert read_own(path) is None
    assert not from_cache(folder)
    assert path.stat().st_uid == os.geteuid()  # it was replaced


def test_nothing_of_a_forged_file_is_run(folder, tmp_path_factory):
    marker = tmp_path_factory.mktemp("marker") / "read"
    only_file(folder).write_bytes(forged(marker))
    assert not from_cache(folder)
    assert not marker.exists()


def test_a_folder_that_is_gone_full_or_read_only_is_not_an_error(tmp_path, monkeypatch):
    assert not from_cache(tmp_path / "gone")
    assert not from_cache(None)

    def full(*_):
        raise OSError(28, "No space left on device")

    monkeypatch.setattr("weft.cache.kernels.os.replace", full)
    assert not from_cache(tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_processes_that_compile_at_once_share_a_folder(tmp_path):
    code = (
        "from test_kernels import from_cache\nfrom weft.cache.folders import kernel_folder\n"
        f"folder = kernel_folder({FOLDER!r})\n"
        "for _ in range(3):\n    from_cache(folder)\n"
    )
    environment = {
        **os.environ,
        "WEFT_CACHE": str(tmp_path / "a" / "b"),
        "PYTHONPATH": str(Path(__file__).parent),
    }
    running = [
        subprocess.Popen([sys.executable, "-W", "error::UserWarning", "-c", code], env=environment) for _ in range(3)
    ]
    assert [process.wait() for process in running] == [0, 0, 0]
    assert len(list((tmp_path / "a" / "b" / FOLDER).iterdir())) == 1


def test_the_kernels_of_the_library_use_it(tmp_path, monkeypatch):
    from weft.compiled import jit

    if jit.PLAIN:
        pytest.skip("nothing is compiled in plain mode")
    assert isinstance(jit.make_handle._cache, KernelCache)
    monkeypatch.setenv("WEFT_CACHE", str(tmp_path))
    assert kernel_folder(FOLDER) == tmp_path / FOLDER
