"""How many threads linear algebra may use: one, where matrices are so small that more only wait for each other."""

import contextlib
import functools
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from threadpoolctl import ThreadpoolController

__all__ = ["one_thread"]

# Up to so many rows an eigendecomposition gains nothing from a second thread, and loses much on a busy machine.
_SMALL = 800


def one_thread(rows: int) -> contextlib.AbstractContextManager[object]:
    """Return a context in which matrices of so many rows are worked on by one thread, if they are small.

    Examples
    --------
    >>> with one_thread(rows=3):
    ...     pass
    """
    if rows > _SMALL:
        return contextlib.nullcontext()
    limit: contextlib.AbstractContextManager[object] = _controller().limit(limits=1, user_api="blas")
    return limit


@functools.cache
def _controller() -> "ThreadpoolController":
    """Return what knows the libraries; looking for them takes some milliseconds, so that it is done once."""
    from threadpoolctl import ThreadpoolController  # not needed by short solves

    return ThreadpoolController()
