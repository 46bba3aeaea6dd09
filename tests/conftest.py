"""The order of all tests, and the choice that `make quick` makes among them."""

LEFT_OUT = ("/tests/docs/", "/tests/laws/", "/tests/mutants/", "/reproduction/", "/test_plain.py")
"""What `--quick` leaves out: documents and experiments, properties over many random streams, a second interpreter."""


def pytest_addoption(parser):
    parser.addoption("--quick", action="store_true", help="Learners by their name alone; what takes long is left out.")


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
    """Everything but what takes long; of the contracts every learner by its name alone."""
    path = item.path.as_posix()
    if any(part in path for part in LEFT_OUT):
        return False
    setting = item.callspec.params.get("setting") if hasattr(item, "callspec") else None
    return "/tests/contracts/" not in path or setting is None or not setting.parameters
