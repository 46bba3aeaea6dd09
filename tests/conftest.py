"""The order of all tests, and the choice that `make quick` makes among them."""

import signal
from pathlib import Path

LEFT_OUT = frozenset(
    (
        "attacks",
        "docs",
        "guarantees",
        "laws",
        "mutants",
        "oracles",
        "test_bad_input.py",
        "test_compilation.py",
        "test_compiling.py",
        "test_plain.py",
        "threads",
    )
)
"""What `--quick` leaves out: documents and experiments, theorems and properties over many random streams, tests of the
oracles themselves, kills and faults, second interpreters, what compiles kernels anew."""

LONG = frozenset(("test_forged_files_do_no_harm", "test_memory_ends_in_single_events"))
"""Single tests of the same kind: forged files in plain mode, every allocation that can fail."""


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="Learners by their name alone; what takes long is left out.")


def pytest_configure(config):
    """Ctrl-C works, although a shell starts what runs in the background with SIGINT ignored, and tests of it with that.

    The experiments lie beside this folder, so that `pytest_ignore_collect` below is not asked about them.
    """
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    if config.getoption("--quick"):
        config.option.ignore = [*(config.option.ignore or []), *map(str, (config.rootpath / "reproduction").iterdir())]


def pytest_ignore_collect(collection_path, config):
    """By the path within the project: a checkout may lie in a folder of any name."""
    inside = collection_path.relative_to(config.rootpath) if collection_path.is_relative_to(config.rootpath) else Path()
    return (config.getoption("--quick") and not LEFT_OUT.isdisjoint(inside.parts)) or None


def pytest_collection_modifyitems(config, items):
    """Contracts first, whose groups divide the compilation between workers; then the tests that need some of it; the
    command line and the documents, which need most of it, last."""
    items.sort(key=_turn)
    if config.getoption("--quick"):
        left_out = [item for item in items if not _is_quick(item)]
        config.hook.pytest_deselected(items=left_out)
        items[:] = [item for item in items if _is_quick(item)]


def _turn(item):
    path = item.path.as_posix()
    if "/tests/contracts/" in path and not path.endswith("test_plain.py"):
        return 0
    return 2 if "/tests/cli/" in path or "/tests/docs/" in path else 1


def _is_quick(item):
    """Of the contracts every learner by its name alone."""
    if item.name.split("[")[0].split("@")[0] in LONG:
        return False
    setting = item.callspec.params.get("setting") if hasattr(item, "callspec") else None
    return "/tests/contracts/" not in item.path.as_posix() or setting is None or not setting.parameters
