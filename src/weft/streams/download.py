"""Fetch the file of a known set: checked, resumed where it broke off, and in place only when it is whole."""

import hashlib
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from weft.places import user_cache
from weft.streams.known_sets import KnownSet

ADDRESS = "WEFT_DATA_ADDRESS"
"""The variable that names the address where sets are fetched from; weft has none of its own."""
SCHEMES = ("http", "https", "file")
TIMEOUT = 30.0
"""Seconds of silence after which a server is given up."""
_PIECE = 1 << 16


class DownloadError(ValueError):
    """A set that could not be fetched: what is wrong, and what to do."""


def target_of(described: KnownSet) -> Path:
    """Where the file of a set is put."""
    return user_cache() / "data" / f"{described.name}.npz"


def address_of(described: KnownSet, given: str | None) -> str:
    """The address of the file: the one given or that of the environment, with the file's name if that is missing."""
    base = given or os.environ.get(ADDRESS)
    if not base:
        raise DownloadError(
            f"no address is known to fetch {described.name} from: weft brings no data and names no server. Give the "
            f"address of a folder that holds {described.name}.npz with --from ADDRESS or in {ADDRESS}. "
            f"The set comes from {described.origin}"
        )
    if urlsplit(base).scheme not in SCHEMES:
        raise DownloadError(f"{base}: an address begins with http://, https:// or file://")
    return base if base.endswith(".npz") else f"{base.rstrip('/')}/{quote(described.name)}.npz"


def fetch(
    described: KnownSet,
    address: str,
    target: Path,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Download to `target`. What has come before an interruption stays in a .part file, and is gone on from.

    progress  hears how many bytes are there
    """
    part = target.with_name(f"{target.name}.part")
    target.parent.mkdir(parents=True, exist_ok=True)
    if part.exists() and part.stat().st_size > described.size:
        part.unlink()
    if not part.exists() or part.stat().st_size < described.size:
        _append(described, address, part, progress)
    size = part.stat().st_size
    if size < described.size:
        raise DownloadError(
            f"{address}: the connection broke off after {size:,} of {described.size:,} bytes; "
            "the same command goes on from there"
        )
    if sum_of(part) != described.sha256:
        part.unlink()
        raise DownloadError(
            f"{address}: the SHA-256 sum is not that of {described.name}, so that the file was thrown away; "
            "it is another version or was damaged. Try again, or another address"
        )
    os.replace(part, target)


def sum_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _append(described: KnownSet, address: str, part: Path, progress: Callable[[int], None]) -> None:
    """Ask for what is missing, and write it behind what is there."""
    have = part.stat().st_size if part.exists() else 0
    try:
        with _open(address, have) as answer:
            begin = _begin(answer, have)
            _refuse_other_size(answer, begin, described, address)
            with part.open("r+b" if part.exists() else "wb") as file:
                file.truncate(begin)
                file.seek(begin)
                _copy(answer, file, begin, described, address, progress)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and have:  # the server's file ends before ours: begin again
                part.unlink()
                return _append(described, address, part, progress)
            raise DownloadError(f"{address}: the server answers {error.code} {error.reason}; {_ADVICE}") from None
    except urllib.error.URLError as error:
        raise DownloadError(f"{address}: {_words(error.reason)}; {_ADVICE}") from None
    except (HTTPException, ConnectionError, TimeoutError) as error:
        if part.exists() and part.stat().st_size:
            return None  # the caller says how much there is
        raise DownloadError(f"{address}: {_words(error)}; {_ADVICE}") from None
    return None


_ADVICE = "look whether the address is right and the server there"


def _words(reason: Any) -> str:
    return str(getattr(reason, "strerror", None) or reason or type(reason).__name__)


def _open(address: str, have: int) -> Any:
    request = urllib.request.Request(address, headers={"User-Agent": "weft", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    return urllib.request.build_opener(_Redirects).open(request, timeout=TIMEOUT)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server only to another web address."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise urllib.error.URLError(f"the server points to {newurl}, which is no web address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _begin(answer: Any, have: int) -> int:
    """The place in the file where an answer begins: a server that knows no ranges sends everything."""
    if getattr(answer, "status", None) != 206:
        return 0
    match = re.fullmatch(r"bytes (\d+)-\d*/(\d+|\*)", answer.headers.get("Content-Range", "").strip())
    if not match or int(match[1]) != have:
        raise DownloadError("the server sends another part of the file than was asked for; remove the .part file")
    return have


def _refuse_other_size(answer: Any, begin: int, described: KnownSet, address: str) -> None:
    length = answer.headers.get("Content-Length")
    if length is not None and length.isdigit() and begin + int(length) != described.size:
        raise DownloadError(
            f"{address} has {begin + int(length):,} bytes, {described.name} has {described.size:,}: "
            "that is another file; look whether the address is right"
        )


def _copy(
    answer: Any, file: Any, have: int, described: KnownSet, address: str, progress: Callable[[int], None]
) -> None:
    progress(have)
    while piece := answer.read(_PIECE):
        have += len(piece)
        if have > described.size:
            file.truncate(0)
            raise DownloadError(f"{address} sends more than the {described.size:,} bytes of {described.name}")
        file.write(piece)
        progress(have)
