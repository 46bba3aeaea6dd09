"""What `weft --help` lists: every command in a few words, under what one wants to do.

The words fit a terminal of 60 columns, and no command is imported for them.
"""

from collections.abc import Callable

import click

SECTIONS = {
    "Begin": {
        "demo": "see multitask learning on a made-up stream",
        "learn": "learn a file of events into a model file",
        "predict": "predict the events of a file",
    },
    "Choose": {
        "compare": "does sharing help on my data? which learner?",
        "tune": "find good parameters of a learner",
        "catalogue": "the learners and their parameters",
    },
    "Look into a model": {
        "inspect": "what a model holds, and how well it predicts",
        "explain": "the score of one event, in parts that add up",
        "forget": "remove a task",
        "policy": "what a task gives to others and receives",
    },
    "Serve": {
        "serve": "a folder as a service that learns",
        "token": "who may predict, and who may learn",
        "replay": "rebuild a model from the log of a service",
        "backup": "copy the folder of a service",
        "compact": "take forgotten tasks out of its log",
        "route": "several services as one",
    },
    "Data and experiments": {
        "data": "public data sets by name",
        "pack": "events in a form that is fast to read again",
        "partition": "a file of events per shard",
        "reproduce": "run the experiments of the papers again",
    },
    "This machine": {
        "warm": "compile learners ahead of their first use",
        "completion": "commands completed by bash, zsh or fish",
    },
}
SUMMARIES = {name: words for section in SECTIONS.values() for name, words in section.items()}
WIDTH = 10
"""Of the column of names, the longest of which is `completion`."""


def write_commands(
    formatter: click.HelpFormatter, names: list[str], other: Callable[[str], click.Command | None]
) -> None:
    """The commands by sections; those that no section has come last, by their own words."""
    for title, section in SECTIONS.items():
        with formatter.section(title):
            _write(formatter, {name: words for name, words in section.items() if name in names})
    further = {name: command for name in names if name not in SUMMARIES and (command := other(name)) is not None}
    if further:
        with formatter.section("Further"):
            _write(formatter, {name: command.get_short_help_str(46) for name, command in further.items()})


def _write(formatter: click.HelpFormatter, rows: dict[str, str]) -> None:
    formatter.write_dl([(name.ljust(WIDTH), words) for name, words in rows.items()])
