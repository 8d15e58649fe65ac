"""How many threads linear algebra may use: one, where matrices are so small that more only wait for each other."""

import contextlib
import functools
import threading
from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads", "one_thread"]

# Up to so many rows an eigendecomposition gains nothing from a second thread, and loses much on a busy machine.
_SMALL = 800


def one_thread(rows: int) -> contextlib.AbstractContextManager[object]:
    """Return a context in which matrices of so many rows are worked on by one thread, if they are small.

    The setting is the process's: it is the old one when the last of those who asked for it has left.

    Examples
    --------
    >>> with one_thread(rows=3):
    ...     pass
    """
    return contextlib.nullcontext() if rows > _SMALL else _one()


def blas_threads() -> int:
    """Return how many threads the linear algebra library may use; 1 if nobody knows.

    Examples
    --------
    >>> blas_threads() >= 1
    True
    """
    return max((info["num_threads"] for info in _controller().info() if info["user_api"] == "blas"), default=1)


_lock = threading.Lock()
_inside = 0
_limit: "contextlib.AbstractContextManager[object] | None" = None


@contextlib.contextmanager
def _one() -> Iterator[None]:
    global _inside, _limit
    with _lock:
        _inside += 1
        if _inside == 1:
            _limit = _controller().limit(limits=1, user_api="blas")
            _limit.__enter__()
    try:
        yield
    finally:
        with _lock:
            _inside -= 1
            if _inside == 0 and _limit is not None:
                _limit.__exit__(None, None, None)
                _limit = None


@functools.cache
def _controller() -> "ThreadpoolController":
    """Return what knows the libraries; looking for them takes some milliseconds, so that it is done once."""
    from threadpoolctl import ThreadpoolController  # not needed by short solves

    return ThreadpoolController()
