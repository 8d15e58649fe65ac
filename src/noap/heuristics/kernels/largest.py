"""The p largest of numbers that come one by one: the insertion that every search uses.

Both parts are told how many numbers were seen before: as long as those are fewer than `most`, all of them are kept.
Of equal numbers the first stays in front. A number that is none (NaN) is kept only among the first `most`. Nearly all
numbers are turned away at once, so a call would cost more than what it does: both are inlined, whatever their size.
"""

import numpy as np

from noap.runtime.kernels import part

# Where counting begins. To Numba a Python integer is a type of its own: it would compile the callee once more.
ZERO = np.int64(0)


@part(forceinline=True)
def keep(x, top, seen, most):
    """Put x among the `most` largest, which `top` holds in falling order; returns its place, -1 if it is not one."""
    place = seen
    if seen >= most:
        place = most - 1
        if most == 0 or not x > top[place]:
            return -1
    while place > 0 and top[place - 1] < x:
        top[place] = top[place - 1]
        place -= 1
    top[place] = x
    return place


@part(forceinline=True)
def keep_name(x, name, top, names, first, seen, most):
    """Keep a number together with its name: those of the largest stand in `names`, from place `first` on."""
    place = keep(x, top, seen, most)
    if place >= 0:
        last = first + min(seen, most - 1)
        while last > first + place:
            names[last] = names[last - 1]
            last -= 1
        names[last] = name
