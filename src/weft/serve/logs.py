"""Lines about a running service: one JSON object per line on standard error, in ASCII.

Bodies, names of tasks and features, and tokens are never put into them.
"""

import json
import logging
import sys
import time
import traceback
from typing import Any

from weft.text.printable import printable


def tell(message: str, level: str = "info", **facts: Any) -> None:
    """One line."""
    stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime())
    line = json.dumps({"time": stamp, "level": level, "message": printable(message), **facts}, ensure_ascii=True)
    print(line, file=sys.stderr, flush=True)


class Lines(logging.Handler):
    """Lines of the HTTP server, as lines of the service; what they are filled with is left out."""

    def emit(self, record: logging.LogRecord) -> None:
        """One line."""
        tell(f"HTTP: {record.msg}", record.levelname.lower())
        if record.exc_info is not None and record.exc_info[1] is not None:
            tell_error(record.exc_info[1])


def tell_error(error: BaseException) -> None:
    """Where something went wrong: kinds and places, without the values that an error text may hold."""
    places = [f"{frame.name}:{frame.lineno}" for frame in traceback.extract_tb(error.__traceback__)]
    tell(f"an error inside of weft: {type(error).__name__}", "error", places=places[-8:])
