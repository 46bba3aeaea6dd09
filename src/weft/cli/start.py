"""Where the command `weft` begins: a signal that comes while the program is loaded ends it in one line.

Modules are loaded within commands too, and some turn a Ctrl-C that comes meanwhile into an error of their own, or lose
it: a command that fails after a Ctrl-C was interrupted.
"""

import os
import signal
import sys

MISTAKE = 2
"""The exit code of a command that could not do what it was asked for."""
_came: list[int] = []


def main() -> None:
    """Load the command line and run it."""
    before = {number: signal.getsignal(number) for number in _numbers()}
    for number, handler in before.items():
        if handler is not signal.SIG_IGN:
            signal.signal(number, _leave)
    from weft.cli.main import main as run

    for number, handler in before.items():
        signal.signal(number, _note if handler is signal.default_int_handler else handler)
    try:
        run()
    except KeyboardInterrupt:  # a second one, while the first is answered
        _leave(signal.SIGINT, None)
    except SystemExit as left:
        if _came and left.code == MISTAKE:
            sys.exit(128 + signal.SIGINT)
        raise
    except Exception:
        if _came:
            _leave(signal.SIGINT, None)
        raise


def _numbers() -> list[signal.Signals]:
    return [signal.SIGINT, signal.SIGTERM] + ([] if sys.platform == "win32" else [signal.SIGHUP])


def _note(number: int, frame: object) -> None:
    _came.append(number)
    raise KeyboardInterrupt


def _leave(number: int, frame: object) -> None:
    """Nothing has begun, or all is tidied."""
    os.write(2, b"weft: interrupted\n")
    os._exit(128 + number)


if __name__ == "__main__":
    main()
