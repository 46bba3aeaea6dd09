"""BLAS on one thread: a product that two threads share has other bits than one thread's."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """The libraries that are loaded; looking for them takes longer than a small product."""
    import scipy.linalg  # noqa: F401  SciPy brings a BLAS of its own

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """Within it, BLAS and LAPACK run on the calling thread alone."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
