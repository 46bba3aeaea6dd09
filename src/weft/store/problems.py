"""What the system says about a file, as a sentence with the file's name and a remedy."""

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager

REMEDIES = {
    errno.EACCES: "check the permissions of the file and its folder",
    errno.EPERM: "check the permissions of the file and its folder",
    errno.EROFS: "choose a place that can be written to",
    errno.ENOSPC: "free some space, or choose another place",
    errno.EDQUOT: "free some space, or choose another place",
    errno.EFBIG: "choose another place, or ask for a higher limit",
    errno.EISDIR: "give the name of a file",
    errno.ENOTDIR: "a folder in its path is a file; check the path",
    errno.ENOENT: "check the path",
    errno.ENAMETOOLONG: "choose a shorter name",
    errno.ELOOP: "its symbolic links point in a circle; remove one of them",
    errno.EIO: "check the disk or the network drive, then try again",
    errno.ESTALE: "check the network drive, then try again",
    errno.EMFILE: "close other files, or raise the limit (ulimit -n)",
    errno.ENFILE: "close other programs, then try again",
    errno.ENXIO: "nothing can be written to it; choose a file",
    errno.ETXTBSY: "it is being run; choose another name",
    errno.EBUSY: "something else is using it; try again later",
    errno.EBADF: "it is not open; redirect it, or choose a file",
    errno.EINVAL: "choose another place",
}
OTHERWISE = "try again, or choose another place"


def remedy(error: OSError) -> str:
    """What to do about it."""
    return REMEDIES.get(error.errno or 0, OTHERWISE)


def explained(error: OSError, path: str | os.PathLike[str], doing: str) -> OSError:
    """The same kind of error, worded `cannot write m.weft: No space left on device; free some space ...`."""
    words = error.strerror or str(error)
    return OSError(error.errno or errno.EIO, f"cannot {doing} {os.fspath(path)}: {words}; {remedy(error)}")


@contextmanager
def explaining(path: str | os.PathLike[str], doing: str) -> Iterator[None]:
    """Word the errors of the system that occur inside; a closed pipe stays what it is, and so does a sentence."""
    try:
        yield
    except BrokenPipeError:
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise explained(error, path, doing) from None


def sentence(error: OSError) -> str:
    """For people: the sentence that somebody has written already, or the system's words with the file's name."""
    if not error.strerror:
        return str(error)
    if error.filename is None:
        is_raw = error.errno is not None and error.strerror == os.strerror(error.errno)
        return f"standard input or output: {error.strerror}; {remedy(error)}" if is_raw else error.strerror
    return f"{os.fsdecode(error.filename)}: {error.strerror}; {remedy(error)}"
