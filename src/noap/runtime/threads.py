"""Threads: how many linear algebra may use, and passes over blocks that several of them share."""

import contextlib
import functools
import threading
from collections import deque
from collections.abc import Callable, Iterable, Iterator
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from concurrent.futures import Future

    from threadpoolctl import ThreadpoolController

__all__ = ["blas_threads", "in_order", "one_thread", "threads_for"]

_T = TypeVar("_T")
# Threads for a pass over pairs of blocks where nobody says how many: each holds two blocks and a product, some 30 MB.
_UNASKED = 16

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


def threads_for(n_jobs: int | None) -> int:
    """Return how many threads share a pass: as joblib counts (-1: one per core), or those of linear algebra."""
    if n_jobs is None:
        return min(blas_threads(), _UNASKED)
    from joblib import effective_n_jobs  # type: ignore[import-untyped]

    return max(int(effective_n_jobs(n_jobs)), 1)


def in_order(parts: Iterable[Callable[[], _T]], threads: int) -> Iterator[_T]:
    """Yield what parts return, in their order; how many threads there are, and which is quicker, changes no bit.

    Examples
    --------
    >>> list(in_order([lambda: 1, lambda: 2, lambda: 3], threads=2))
    [1, 2, 3]
    """
    if threads <= 1:
        yield from (part() for part in parts)
        return
    from concurrent.futures import ThreadPoolExecutor  # `import noap` stays quick

    waiting: deque[Future[_T]] = deque()
    with one_thread(rows=1), ThreadPoolExecutor(threads, thread_name_prefix="noap") as pool:
        try:
            for part in parts:
                waiting.append(pool.submit(part))
                # So many that nobody waits for work, and no more: each holds a block.
                if len(waiting) >= 2 * threads:
                    yield waiting.popleft().result()
            while waiting:
                yield waiting.popleft().result()
        finally:
            for one in waiting:
                one.cancel()


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
