"""`weft completion`: commands, options, learners, parameters and files, completed by the shell.

Click completes commands, options and choices by itself. What the text of an option is, a learner, a parameter, a file,
is told here in one place, by the names of parameters, and only when a shell asks: see `complete_values`.
"""

import os
from collections.abc import Callable
from typing import Any

import click
from click.shell_completion import (
    BashComplete,
    CompletionItem,
    add_completion_class,
    get_completion_class,
    split_arg_string,
)

from weft.cli.options import example

FILES = frozenset(
    ("against", "file", "files", "from_model", "graph", "model_path", "out", "page", "path", "plot", "predictions")
)
FOLDERS = frozenset(("folder",))
DEFAULT_LEARNER = "auto"


class Bash(BashComplete):
    """Click's completion for bash, with words that hold = or :, as in --set loss=square.

    bash splits words at these characters, and replaces only what is after the last of them. So weft is given the line
    up to the cursor, and what it answers is cut to what bash replaces.
    """

    source_template = """\
%(complete_func)s() {
    local line="${COMP_LINE:0:$COMP_POINT}" part="${COMP_WORDS[COMP_CWORD]}" answer kind value whole begin
    [[ $part == [=:] ]] && part=""
    whole="${line##*[[:space:]]}"
    begin="${whole%%"$part"}"
    COMPREPLY=()
    answer=$(COMP_WORDS="$line" %(complete_var)s=bash_complete "$1")
    while IFS=, read -r kind value; do
        case $kind in
            dir) compopt -o dirnames ;;
            file) compopt -o default ;;
            plain) COMPREPLY+=("${value#"$begin"}"); [[ $value == *= ]] && compopt -o nospace ;;
        esac
    done <<< "$answer"
    return 0
}
complete -o nosort -F %(complete_func)s %(prog_name)s
"""

    def get_completion_args(self) -> tuple[list[str], str]:
        """The words before the one at the cursor, and that one."""
        line = os.environ["COMP_WORDS"]
        words = split_arg_string(line)[1:]
        return (words[:-1], words[-1]) if words and not line[-1:].isspace() else (words, "")


add_completion_class(Bash, "bash")


@click.command("completion", epilog=example("weft completion bash", "weft completion zsh", "weft completion fish"))
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell: str) -> None:
    """Print what makes SHELL complete commands, options, learners, parameters and files.

    \b
    bash  weft completion bash > ~/.local/share/bash-completion/completions/weft
    zsh   weft completion zsh > "${fpath[1]}/_weft"
    fish  weft completion fish > ~/.config/fish/completions/weft.fish

    A new shell then completes: weft learn events.jsonl --learner mt-<Tab>. bash must be 4.4 or newer.
    """
    from weft.cli.main import COMPLETE, cli

    found = get_completion_class(shell)
    assert found is not None
    complete = found(cli, {}, "weft", COMPLETE)
    click.echo(complete.source_template % complete.source_vars())


def complete_values(command: click.Command) -> None:
    """Tell Click how values of this command and of those within it are completed."""
    for inner in command.commands.values() if isinstance(command, click.Group) else ():
        complete_values(inner)
    for parameter in command.params:
        found = _completer(command, parameter)
        if found is not None:
            parameter._custom_shell_complete = found


Completer = Callable[[click.Context, click.Parameter, str], list[Any]]


def _completer(command: click.Command, parameter: click.Parameter) -> Completer | None:
    name = parameter.name or ""
    if name in ("learner", "learners") or (command.name, name) == ("catalogue", "name"):
        return _learners
    if name == "settings":
        return _settings
    if command.name in ("get", "convert") and name == "name":
        return _sets
    if command.name == "reproduce" and name == "names":
        return _experiments
    if name in FILES:
        return lambda context, parameter, text: [CompletionItem(text, type="file")]
    if name in FOLDERS:
        return lambda context, parameter, text: [CompletionItem(text, type="dir")]
    return None


def _learners(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Names; after NAME: also its parameters, as weft compare takes them."""
    from weft.learners.catalogue import LEARNERS

    name, colon, rest = text.partition(":")
    if colon:
        before, comma, last = rest.rpartition(",")
        return [
            CompletionItem(f"{name}:{before}{comma}{item.value}", help=item.help)
            for item in _parameters(name, last, scopes=True)
        ]
    return [CompletionItem(each) for each in LEARNERS if each.startswith(text)]


def _settings(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """Parameters of the learner that was named before, and their choices."""
    return _parameters(context.params.get("learner") or DEFAULT_LEARNER, text)


def _parameters(learner: str, text: str, scopes: bool = False) -> list[CompletionItem]:
    from dataclasses import fields

    from weft.learners.catalogue import LEARNERS

    if learner not in LEARNERS:
        return []
    known = {field.name: field.metadata["doc"] for field in fields(LEARNERS[learner])}
    name, equals, value = text.partition("=")
    if not equals:
        found = [CompletionItem(f"{each}=", help=known[each]) for each in known if each.startswith(name)]
        has_scope = scopes and "scope".startswith(name)
        return found + [CompletionItem("scope=", help="together, alone or pooled")] * has_scope
    options = _options(learner, name, scopes)
    return [CompletionItem(f"{name}={option}") for option in options if option.startswith(value)]


def _options(learner: str, name: str, scopes: bool) -> list[str]:
    """The values that a parameter may have, where they can be listed."""
    from dataclasses import fields

    from weft.learners.catalogue import LEARNERS
    from weft.learners.parameters import Choice

    if scopes and name == "scope":
        return ["together", "alone", "pooled"]
    for field in fields(LEARNERS[learner]):
        if field.name == name:
            if isinstance(field.default, bool):
                return ["true", "false"]
            allowed = field.metadata.get("allowed")
            return [str(option) for option in allowed.options] if isinstance(allowed, Choice) else []
    return []


def _sets(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    from weft.streams.known_sets import SETS

    return [CompletionItem(name, help=found.about) for name, found in SETS.items() if name.startswith(text)]


def _experiments(context: click.Context, parameter: click.Parameter, text: str) -> list[CompletionItem]:
    """The command's own distribution knows them."""
    from importlib import import_module

    names = import_module("weft_reproduction.shelf").names()
    return [CompletionItem(name) for name in [*names, "all"] if name.startswith(text)]
