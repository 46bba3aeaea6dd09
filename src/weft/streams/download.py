"""Fetch the file of a known data set: verified, resumed after an interruption, moved into place only when complete."""

import hashlib
import os
import re
import urllib.error
import urllib.request
from collections.abc import Callable
from http.client import HTTPException, HTTPResponse
from pathlib import Path
from typing import Any
from urllib.parse import quote, urlsplit

from weft.cache.places import user_cache
from weft.streams.known_sets import KnownSet

ADDRESS = "WEFT_DATA_ADDRESS"
"""The environment variable with the address of a folder of data sets, where they are fetched from first."""
SCHEMES = ("http", "https", "file")
TIMEOUT = 30.0
"""Seconds without data after which the connection is closed."""
_PIECE = 1 << 16


class DownloadError(ValueError):
    """A data set that could not be fetched: what is wrong, and what to do."""


def target_of(described: KnownSet) -> Path:
    """Where the file of a set is saved."""
    return user_cache() / "data" / f"{described.name}.npz"


def address_of(described: KnownSet, given: str | None) -> str | None:
    """The address of the file: the one given or that of the environment, with the file's name if that is missing."""
    base = given or os.environ.get(ADDRESS)
    if not base:
        return None
    if urlsplit(base).scheme not in SCHEMES:
        raise DownloadError(f"{base}: an address begins with http://, https:// or file://")
    return base if base.endswith(".npz") else f"{base.rstrip('/')}/{quote(described.name)}.npz"


def fetch(
    described: KnownSet,
    address: str,
    target: Path,
    progress: Callable[[int], None] = lambda done: None,
) -> None:
    """Download to `target`. After an interruption the received bytes stay in a .part file; a later call resumes.

    progress  called with the number of bytes received so far
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
            f"{address}: the connection was interrupted after {size:,} of {described.size:,} bytes; "
            "run the same command again to resume"
        )
    if sum_of(part) != described.sha256:
        part.unlink()
        raise DownloadError(
            f"{address}: the SHA-256 sum is not that of {described.name}, so the file was deleted; "
            "it is another version or was damaged. Try again, or another address"
        )
    os.replace(part, target)


def sum_of(path: Path) -> str:
    """SHA-256 of a file."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


def _append(described: KnownSet, address: str, part: Path, progress: Callable[[int], None]) -> None:
    """Request the missing bytes and append them."""
    have = part.stat().st_size if part.exists() else 0
    try:
        with open_address(address, have) as response:
            begin = _begin(response, have)
            _refuse_other_size(response, begin, described, address)
            with part.open("r+b" if part.exists() else "wb") as file:
                file.truncate(begin)
                file.seek(begin)
                _copy(response, file, begin, described, address, progress)
    except urllib.error.HTTPError as error:
        with error:
            if error.code == 416 and have:  # the server's file is shorter than ours: start again
                part.unlink()
                return _append(described, address, part, progress)
            raise DownloadError(f"{address}: the server responded with {error.code} {error.reason}; {ADVICE}") from None
    except urllib.error.URLError as error:
        raise DownloadError(f"{address}: {words_of(error.reason)}; {ADVICE}") from None
    except (HTTPException, ConnectionError, TimeoutError) as error:
        if part.exists() and part.stat().st_size:
            return None  # the caller reports how much was received
        raise DownloadError(f"{address}: {words_of(error)}; {ADVICE}") from None
    return None


ADVICE = "check that the address is right and the server is running"


def words_of(reason: Any) -> str:
    """What went wrong, as text."""
    return str((reason.strerror if isinstance(reason, OSError) else None) or reason or type(reason).__name__)


def open_address(address: str, have: int) -> Any:
    """The response of a server, from that byte on."""
    request = urllib.request.Request(address, headers={"User-Agent": "weft", "Accept-Encoding": "identity"})
    if have:
        request.add_header("Range", f"bytes={have}-")
    return urllib.request.build_opener(_Redirects).open(request, timeout=TIMEOUT)


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follows a server only to another web address."""

    def redirect_request(self, req: Any, fp: Any, code: int, msg: str, headers: Any, newurl: str) -> Any:
        if urlsplit(newurl).scheme not in ("http", "https"):
            raise urllib.error.URLError(f"the server points to {newurl}, which is not a web address")
        return super().redirect_request(req, fp, code, msg, headers, newurl)


def _begin(response: Any, have: int) -> int:
    """The offset in the file at which a response begins: a server without range requests sends everything."""
    if not isinstance(response, HTTPResponse) or response.status != 206:
        return 0
    match = re.fullmatch(r"bytes (\d+)-\d*/(\d+|\*)", response.headers.get("Content-Range", "").strip())
    if not match or int(match[1]) != have:
        raise DownloadError("the server sent a different range of the file than was requested; remove the .part file")
    return have


def _refuse_other_size(response: Any, begin: int, described: KnownSet, address: str) -> None:
    length = response.headers.get("Content-Length")
    if length is not None and length.isdigit() and begin + int(length) != described.size:
        raise DownloadError(
            f"{address} has {begin + int(length):,} bytes, {described.name} has {described.size:,}: "
            "this is a different file; check that the address is right"
        )


def _copy(
    response: Any, file: Any, have: int, described: KnownSet, address: str, progress: Callable[[int], None]
) -> None:
    progress(have)
    while piece := response.read(_PIECE):
        have += len(piece)
        if have > described.size:
            file.truncate(0)
            raise DownloadError(f"{address} sends more than the {described.size:,} bytes of {described.name}")
        file.write(piece)
        progress(have)
