"""The order of all tests, and the choice that `make quick` makes among them."""

import signal
from pathlib import Path

LEFT_OUT = frozenset(
    (
        "attacks",
        "cli/test_unix.py",
        "cluster/test_on_ray.py",
        "contracts/test_extremes.py",
        "contracts/test_forged.py",
        "contracts/test_parallel.py",
        "docs",
        "ecosystem",
        "guarantees",
        "laws",
        "mutants",
        "oracles",
        "serve/test_clients.py",
        "serve/test_commands.py",
        "serve/test_compacting.py",
        "serve/test_dashboard.py",
        "serve/test_local.py",
        "serve/test_route.py",
        "serve/test_routes.py",
        "serve/test_sources.py",
        "serve/test_stopping.py",
        "serve/test_uploads.py",
        "streams/test_limits.py",
        "test_bad_input.py",
        "test_compilation.py",
        "test_compiling.py",
        "test_faults.py",
        "test_plain.py",
        "tests/brokers",
        "threads",
    )
)
"""What `--quick` leaves out: documents and experiments, theorems and properties over many random streams, tests of the
oracles themselves, kills and faults, second interpreters, what compiles kernels anew; brokers, browsers, Ray, commands
and services in processes of their own, other libraries, forged files, several threads."""

LONG = frozenset(
    (
        "test_a_run_that_was_interrupted_goes_on_as_if_nothing_had_been",
        "test_a_stream_against_the_oracle",
        "test_a_worker_that_is_lost_is_replaced",
        "test_every_flipped_bit_of_a_file_is_noticed",
        "test_every_step_on_repeated_rows",
        "test_explicit_steps",
        "test_forged_blocks_with_a_right_digest_are_refused_or_are_events",
        "test_forged_files_do_no_harm",
        "test_implicit_is_optimal",
        "test_memory_ends_in_single_events",
        "test_plain_mode",
        "test_processes_that_compile_at_once_share_a_folder",
        "test_projections_that_are_hard_to_compute",
        "test_random_cuts",
        "test_scores_and_active_sets_are_those_of_the_oracle",
        "test_stale_blocks_leave_shares_of_stacks_that_are_probabilities",
        "test_the_minimum_from_any_start",
        "test_the_norms_of_dual_vectors",
        "test_the_parts_add_up_to_the_score",
        "test_the_update_is_the_argmin",
        "test_where_a_record_ends_is_found_in_linear_time",
    )
)
"""Single tests of the same kind: long and forged files, every allocation that can fail, optima of many random problems,
shards that are lost or late."""


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
    known = {*inside.parts, "/".join(inside.parts[-2:])}
    return (config.getoption("--quick") and not LEFT_OUT.isdisjoint(known)) or None


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
