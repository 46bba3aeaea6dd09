"""The first use of a learner compiles it: say so, and leave the seconds out of what is reported."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING

from weft.cli.tables import tell

if TYPE_CHECKING:
    from weft.compiled.compilation import Compilation


@contextmanager
def announced(what: str, quiet: bool = False) -> Iterator["Compilation"]:
    """Tell the user when `what` is compiled within the block, unless `quiet`; the seconds are counted either way."""
    from weft.compiled.compilation import watched

    def announce() -> None:
        if not quiet:
            tell(f"weft: compiling {what} for this machine, once (5 to 60 s) ...")

    with watched(announce) as compilation:
        yield compilation


@dataclass(frozen=True)
class Watch:
    """The time of a command without what was spent on compiling."""

    began: float
    compilation: "Compilation"

    @property
    def seconds(self) -> float:
        """So far."""
        return max(0.0, time.perf_counter() - self.began - self.compilation.seconds)

    @property
    def left_out(self) -> str:
        """For the end of a sentence about the time: what it leaves out, if anything."""
        seconds = self.compilation.seconds
        return f", after {seconds:.0f} s of compiling" if seconds >= 0.5 else ""
