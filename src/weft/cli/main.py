"""The command `weft`: one module per command, loaded when it is called, and one place that words errors.

Commands import NumPy, Numba and the library inside their functions, so that `weft --help` answers at once.
"""

import atexit
import gc
import os
import sys
import warnings
from contextlib import suppress
from importlib import import_module
from typing import Any

import click

from weft import __version__
from weft.cli.signals import WITHOUT_CTRL_C, StopSignals, exit_code
from weft.text.printable import printable

COMMANDS = (
    "demo",
    "learn",
    "predict",
    "compare",
    "tune",
    "inspect",
    "explain",
    "forget",
    "policy",
    "catalogue",
    "pack",
    "partition",
    "data",
    "warm",
    "serve",
    "token",
    "replay",
    "backup",
    "compact",
    "route",
    "completion",
)
ELSEWHERE = {"reproduce": ("weft-reproduction", "Run the experiments of the papers again.")}
"""Commands of other distributions, found by the entry points `weft.commands`: the distribution, and what it does."""

COMPLETE = "_WEFT_COMPLETE"
"""What a shell sets when it asks for completions."""
CLOSED_PIPE = 141
"""The exit code after the reader of standard output has gone, as in `weft catalogue | head -1`: that of SIGPIPE."""

COLLECT_AFTER = 50_000
"""How many more objects that can hold others must be there before Python looks for garbage; its own number is 700."""


class Failure(click.ClickException):
    """A sentence on standard error."""

    def __init__(self, message: str, exit_code: int = 2) -> None:
        super().__init__(message)
        self.exit_code = exit_code  # type: ignore[misc]

    def show(self, file: Any = None) -> None:
        """Print it the way Unix tools do."""
        click.echo(printable(f"weft: {self.format_message()}"), err=True)


class Commands(click.Group):
    """Finds a command in the module of its name, and turns errors into sentences."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return [*COMMANDS, *ELSEWHERE]

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        if cmd_name in ELSEWHERE:
            return _completing(_from_distribution(cmd_name))
        if cmd_name not in COMMANDS:
            return None
        command: click.Command = import_module(f"weft.cli.{cmd_name}").command
        return _completing(command)

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        try:
            return super().resolve_command(ctx, args)
        except click.UsageError:
            from difflib import get_close_matches

            close = get_close_matches(args[0], self.list_commands(ctx), 1)
            if not close:
                raise
            raise click.UsageError(f"No such command {args[0]!r}. Did you mean {close[0]!r}?", ctx) from None

    def format_commands(self, ctx: click.Context, formatter: click.HelpFormatter) -> None:
        from weft.cli.overview import write_commands

        write_commands(formatter, self.list_commands(ctx), lambda name: self.get_command(ctx, name))

    def invoke(self, ctx: click.Context) -> Any:
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("always", UserWarning)
                warnings.showwarning = _show_warning
                return super().invoke(ctx)
        except (click.ClickException, click.exceptions.Exit):
            raise
        except BrokenPipeError:
            _leave_quietly()
            raise click.exceptions.Exit(CLOSED_PIPE) from None
        except (KeyboardInterrupt, click.Abort) as stop:
            raise Failure("interrupted; nothing was changed since the last save", exit_code(stop)) from None
        except OSError as error:
            from weft.store.problems import sentence

            raise Failure(sentence(error)) from None
        except MemoryError:
            raise Failure("not enough memory for this; fewer tasks or features need less") from None
        except ValueError as error:
            raise Failure(str(error)) from None


def _completing(command: click.Command) -> click.Command:
    """The command; if a shell asks for completions, it knows how its values are completed."""
    if COMPLETE in os.environ:
        from weft.cli.completion import complete_values
        from weft.cli.overview import SUMMARIES

        command.short_help = SUMMARIES.get(command.name or "", command.short_help)
        complete_values(command)
    return command


def _show_warning(message: Warning | str, *_: Any, **__: Any) -> None:
    click.echo(printable(f"weft: note: {message}"), err=True)


def _from_distribution(name: str) -> click.Command:
    """A command that another distribution brings, or one that says how to install it."""
    from importlib.metadata import entry_points

    for found in entry_points(group="weft.commands", name=name):
        command: click.Command = found.load()
        return command
    distribution, summary = ELSEWHERE[name]

    @click.command(name, short_help=summary, context_settings={"ignore_unknown_options": True})
    @click.argument("arguments", nargs=-1)
    def missing(arguments: tuple[str, ...]) -> None:
        raise Failure(
            f"{name} comes with the distribution {distribution}, which is not installed; "
            "run make venv in a clone of weft, or pip install ./reproduction"
        )

    return missing


@click.group(cls=Commands, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 100})
@click.version_option(__version__, prog_name="weft")
def cli() -> None:
    """Online multitask learning: one model per task, all learned from one stream of events.

    A task is whoever needs a model of their own: a user, a device, a label. An event says which task it
    belongs to, what was seen, and what the answer was. weft predicts every event before it learns it, so
    learning a file also tells how well it went.

    \b
    Start here:   weft demo
    Then:         weft learn events.jsonl --model spam.weft
                  weft predict new.jsonl --model spam.weft
    """


def main(arguments: list[str] | None = None) -> None:
    """Run the command line and leave with its exit code: 0, 2 for an error, 128 + n for a signal n."""
    _collect_rarely()
    try:
        with StopSignals(WITHOUT_CTRL_C):
            code = _run(arguments)
            _flush()
    except KeyboardInterrupt as stop:  # before a command began
        click.echo("weft: interrupted", err=True)
        code = exit_code(stop)
    except BrokenPipeError:
        code = CLOSED_PIPE
        _leave_quietly()
    except OSError as error:  # standard output is full, or is not open
        click.echo(f"weft: standard output: {error.strerror}; redirect it to another place", err=True)
        code = 2
        _leave_quietly()
    sys.exit(code)


def _collect_rarely() -> None:
    """Look for garbage less often, and not at the end: a fifth of what a short command takes.

    Imports make some 300,000 objects, all of which stay. Collecting while they are made, and once more when the
    interpreter ends, finds nothing among them and takes 0.09 s.
    """
    gc.set_threshold(COLLECT_AFTER, *gc.get_threshold()[1:])
    atexit.register(gc.freeze)


def _run(arguments: list[str] | None) -> int:
    """The exit code, without leaving the process."""
    if COMPLETE in os.environ:
        import_module("weft.cli.completion")  # tells Click how bash is completed
    try:
        result = cli.main(args=arguments, prog_name="weft", standalone_mode=False)
    except click.exceptions.Exit as left:
        return left.exit_code
    except click.ClickException as error:
        error.show()
        return error.exit_code
    except click.Abort as abort:  # Click's word for a Ctrl-C before a command began
        raise abort.__cause__ or KeyboardInterrupt from None
    except SystemExit as left:  # Click's answer to a shell, and to a pipe that is closed while it prints a help text
        return 0 if left.code == 0 else CLOSED_PIPE
    return result if isinstance(result, int) else 0  # an int: what `Exit` has left with


def _flush() -> None:
    for stream in (sys.stdout, sys.stderr):
        if stream is not None:
            stream.flush()


def _leave_quietly() -> None:
    """What is left in the buffer of standard output cannot be written; without this, Python would try at exit."""
    with suppress(OSError, AttributeError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


if __name__ == "__main__":
    main()
