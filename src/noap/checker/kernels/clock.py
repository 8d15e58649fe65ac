"""A look at the clock from within the kernels, so that no step of a check, however long, outlasts its limit by much."""

from numba import objmode

from noap.checker.allowance import GONE, MOMENT, SINCE, STRIDE, now
from noap.runtime.kernels import part


@part
def late(clock, operations):
    """Whether time is up: note so many elementary operations, and look at the clock when there were enough of them.

    A kernel that is told so returns at once, with the verdict that proves nothing.
    """
    if clock[GONE] > 0.0:
        return True
    clock[SINCE] += operations
    if clock[SINCE] < clock[STRIDE]:
        return False
    return _look(clock)


@part(nogil=False)  # Python's clock needs the lock that the other kernels do without, and Numba warns of that
def _look(clock):
    """Whether the clock says that time is up."""
    clock[SINCE] = 0.0
    # Kernels have no clock of their own.
    with objmode(seconds="float64"):
        seconds = now()
    if seconds > clock[MOMENT]:
        clock[GONE] = 1.0
    return clock[GONE] > 0.0
