"""The order of all tests."""


def pytest_collection_modifyitems(items):
    """Contracts first, whose groups divide the compilation between workers; then the tests that need some of it; the
    command line and the documents, which need most of it, last."""
    items.sort(key=_turn)


def _turn(item):
    path = item.path.as_posix()
    if "/tests/contracts/" in path and not path.endswith("test_plain.py"):
        return 0
    return 2 if "/tests/cli/" in path or "/tests/docs/" in path else 1
