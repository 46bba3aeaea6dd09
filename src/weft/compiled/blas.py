"""BLAS on one thread: a product that several threads compute together can have other bits than that of one."""

from collections.abc import Iterator
from contextlib import contextmanager
from functools import lru_cache

from threadpoolctl import ThreadpoolController


@lru_cache(maxsize=1)
def _controller() -> ThreadpoolController:
    """The BLAS libraries in this process, looked for once: that takes longer than a small product."""
    import scipy.linalg  # noqa: F401  loads SciPy's own BLAS, so that it is found

    return ThreadpoolController()


@contextmanager
def one_thread() -> Iterator[None]:
    """A context in which BLAS and LAPACK use the calling thread only."""
    with _controller().limit(limits=1, user_api="blas"):
        yield
