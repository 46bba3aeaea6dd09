"""A known set made from the raw files at its public addresses.

Nobody publishes sums of these files. So the sum of every file is noted at the first fetch, in `sums.json` beside the
sets, and a later fetch that finds another file behind the same address is refused. The set that is made from them has a
sum that is known (`weft.streams.conversion`).
"""

import hashlib
import json
import urllib.error
from collections.abc import Callable
from http.client import HTTPException
from pathlib import Path
from typing import Any

from weft.cache.places import user_cache
from weft.store.files import write_atomic
from weft.streams.conversion import converted
from weft.streams.download import ADVICE, DownloadError, open_address, words_of
from weft.streams.known_sets import KnownSet
from weft.streams.sources import BY_HAND, SOURCES

MOST_BYTES = 256 << 20
"""A larger raw file is refused: none of them is near it."""
_PIECE = 1 << 16


def fetch_and_convert(described: KnownSet, target: Path, progress: Callable[[int], None] = lambda done: None) -> None:
    """Fetch the raw files, note or compare their sums, convert them, and move the set into place.

    progress  called with the number of bytes received so far, of all files
    """
    source = SOURCES.get(described.name)
    if source is None:
        raise DownloadError(by_hand(described))
    folder = target.parent / f"{described.name}-raw"
    folder.mkdir(parents=True, exist_ok=True)
    files, done = [], 0
    for address, name in zip(source.addresses, source.names, strict=True):
        content = _received(address, lambda size, before=done: progress(before + size))  # type: ignore[misc]
        done += len(content)
        _agree(address, hashlib.sha256(content).hexdigest())
        write_atomic(folder / name, content)
        files.append(folder / name)
    write_atomic(target, converted(described, files))


def by_hand(described: KnownSet) -> str:
    """What to do for a set that cannot be fetched by itself."""
    where = BY_HAND.get(described.name, described.origin)
    return (
        f"{described.name} cannot be fetched and converted by itself. The raw data: {where}. If you have the file "
        f"{described.name}.npz, put it into the folder that WEFT_DATA names, or give the address of a folder with it: "
        "--from ADDRESS"
    )


def _received(address: str, progress: Callable[[int], None]) -> bytes:
    """All bytes behind an address."""
    content = bytearray()
    try:
        with open_address(address, 0) as response:
            length = response.headers.get("Content-Length")
            while piece := response.read(_PIECE):
                content += piece
                progress(len(content))
                if len(content) > MOST_BYTES:
                    raise DownloadError(f"{address} sends more than {MOST_BYTES:,} bytes: this is a different file")
    except urllib.error.HTTPError as error:
        with error:
            raise DownloadError(f"{address}: the server responded with {error.code} {error.reason}; {ADVICE}") from None
    except urllib.error.URLError as error:
        raise DownloadError(f"{address}: {words_of(error.reason)}; {ADVICE}") from None
    except (HTTPException, ConnectionError, TimeoutError) as error:
        raise DownloadError(f"{address}: {words_of(error)}; run the same command again") from None
    if length is not None and length.isdigit() and int(length) != len(content):
        raise DownloadError(
            f"{address}: the connection was interrupted after {len(content):,} of {int(length):,} bytes; "
            "run the same command again"
        )
    return bytes(content)


def _agree(address: str, found: str) -> None:
    """Note the sum of a raw file at its first fetch; refuse another one later."""
    place = user_cache() / "data" / "sums.json"
    sums = _noted(place)
    if sums.setdefault(address, found) != found:
        raise DownloadError(
            f"{address}: the file is not the one that was fetched first (its SHA-256 sum is {found}, then it was "
            f"{sums[address]}). If you trust it, remove the line from {place}"
        )
    write_atomic(place, json.dumps(sums, indent=1, sort_keys=True).encode())


def _noted(place: Path) -> dict[str, str]:
    if not place.exists():
        return {}
    try:
        found: Any = json.loads(place.read_text(encoding="utf-8"))
        if isinstance(found, dict) and all(isinstance(value, str) for value in found.values()):
            return found
    except ValueError:
        pass
    raise DownloadError(f"{place} is damaged: it should hold a sum for every address; remove it")
