"""Files read and written in one piece; a reader finds the old file or the new one, never an incomplete one."""

import os
import tempfile
from pathlib import Path


def read_file(path: str | os.PathLike[str]) -> bytes:
    """The bytes of a model file."""
    try:
        return Path(path).read_bytes()
    except FileNotFoundError:
        raise FileNotFoundError(f"there is no model file {os.fspath(path)}") from None


def write_atomic(path: str | os.PathLike[str], data: bytes) -> None:
    """Write beside the target, flush to disk, then move into place."""
    target = Path(path)
    try:
        descriptor, temporary = tempfile.mkstemp(prefix=f".{target.name}.", dir=target.parent or Path())
    except FileNotFoundError:
        raise FileNotFoundError(f"cannot write {target}: the folder {target.parent} does not exist") from None
    try:
        with os.fdopen(descriptor, "wb") as file:
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.chmod(temporary, _mode(target))
        os.replace(temporary, target)
    except BaseException:
        Path(temporary).unlink(missing_ok=True)
        raise


def _mode(target: Path) -> int:
    """The mode of the file that is replaced, or 0666 masked by the umask."""
    try:
        return target.stat().st_mode & 0o777
    except FileNotFoundError:
        mask = os.umask(0)
        os.umask(mask)
        return 0o666 & ~mask
