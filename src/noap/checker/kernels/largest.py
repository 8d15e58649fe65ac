"""The largest of numbers that come one by one: the insertion that both halves of the checker use.

Nearly all numbers are turned away at once, so a call would cost more than what it does: it is inlined.
"""

from noap.runtime.kernels import part


@part(forceinline=True)
def insert(x, best, held, most):
    """Insert x into the `held` numbers in `best`, in falling order, of which the `most` largest stay.

    Returns how many are held. A number that is none (NaN) may be overlooked: it is for the caller to look for them.
    """
    if held < most:
        at = held
        held += 1
    elif most > 0 and x > best[most - 1]:
        at = most - 1
    else:
        return held
    while at > 0 and best[at - 1] < x:
        best[at] = best[at - 1]
        at -= 1
    best[at] = x
    return held
