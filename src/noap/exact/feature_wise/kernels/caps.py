r"""Bounds on :math:`c^\top u` over a ball cut by slabs.

The direction u lies in the unit ball and satisfies :math:`l_j \le b_j^\top u \le h_j`. For any multipliers mu,

.. math:: c^\top u \le \Bigl\|c + \sum_j \mu_j b_j\Bigr\| - \sum_{\mu_j > 0} \mu_j l_j - \sum_{\mu_j < 0} \mu_j h_j,

because :math:`c^\top u = (c + \sum \mu_j b_j)^\top u - \sum \mu_j b_j^\top u`. Whatever mu is, the right
side is a bound: mu is its own certificate. Coordinate descent finds a good one in closed form. Everything is done on
inner products. This is Step 1, Caps, of docs/exact.md.
"""

import math
from typing import Any, NamedTuple

import numpy as np

from noap.runtime.kernels import part

# Room for rounding: the inner products carry relative errors of a few ulps per term.
_ULPS = 4.5e-16
# A slab that ends within so much of |b| has no angle to speak of; 0 is as valid as any multiplier.
_NO_ANGLE = 1e-14


class Slabs(NamedTuple):
    """Slabs lo_j <= b_j'u <= hi_j: the Gram matrix B of the b_j, and what every bound over the same slabs shares.

    `length` has the |b_j|, `near` and `far` the cotangents of the angles between u and b_j at lo_j and hi_j (-inf and
    inf where there is none). The inner products `cb` with c, and `mu` and `q`, belong to one bound.
    """

    B: Any
    lo: Any
    hi: Any
    length: Any
    near: Any
    far: Any
    cb: Any
    mu: Any
    q: Any


@part
def room_for(size):
    """Return arrays for so many slabs."""
    return Slabs(
        np.empty((size, size)), np.empty(size), np.empty(size), np.empty(size), np.empty(size), np.empty(size),
        np.empty(size), np.empty(size), np.empty(size),
    )  # fmt: skip


@part
def ends(slabs, j, lo, hi):
    """Say where slab j ends; B is there already."""
    length = math.sqrt(slabs.B[j, j])
    slabs.lo[j], slabs.hi[j], slabs.length[j] = lo, hi, length
    cosine = lo / length
    slabs.near[j] = cosine / math.sqrt(1.0 - cosine * cosine) if 0.0 < cosine < 1.0 - _NO_ANGLE else -np.inf
    cosine = hi / length
    slabs.far[j] = cosine / math.sqrt(1.0 - cosine * cosine) if -1.0 < cosine < 1.0 - _NO_ANGLE else np.inf


@part
def cap(cc, slabs, m, skip, sweeps):
    """Return an upper bound on c'u over the first m slabs but `skip`; cc = |c|^2, and slabs.cb[j] = c'b_j.

    At most so many sweeps of coordinate descent.
    """
    B, lo, hi, lengths, near, far, cb, mu, q = slabs
    r = cc
    for j in range(m):
        mu[j] = 0.0
        q[j] = cb[j]
    for _ in range(sweeps):
        moved = False
        for j in range(m):
            if j == skip:
                continue
            length = lengths[j]
            share = q[j] / length
            across = math.sqrt(max(r - share * share, 0.0))
            along = share - mu[j] * length
            # The best mu_j makes the angle between the sum and b_j the one at which the slab ends.
            new = (across * near[j] - along) / length
            if not new > 0.0:
                new = (across * far[j] - along) / length
                if not new < 0.0:
                    new = 0.0
            step = new - mu[j]
            if step != 0.0:
                moved = True
                r += step * (2.0 * q[j] + step * B[j, j])
                for i in range(m):
                    q[i] += step * B[j, i]
                mu[j] = new
        if not moved:
            break
    # Recomputed from scratch, with an allowance for the rounding of every term: row by row, so that no term takes part
    # in more than 2m + 4 roundings.
    total, weight, paid, bulk = cc, cc, 0.0, 0.0
    for j in range(m):
        if mu[j] != 0.0:
            inner, size = 2.0 * cb[j], abs(2.0 * cb[j])
            for i in range(j):
                if mu[i] != 0.0:
                    inner += 2.0 * mu[i] * B[j, i]
                    size += abs(2.0 * mu[i] * B[j, i])
            inner += mu[j] * B[j, j]
            size += abs(mu[j] * B[j, j])
            total += mu[j] * inner
            weight += abs(mu[j]) * size
            side = lo[j] if mu[j] > 0.0 else hi[j]
            paid += mu[j] * side
            bulk += abs(mu[j] * side)
    slack = _ULPS * (2 * m + 8)
    length = math.sqrt(max(total, 0.0) + slack * weight)
    return length * (1.0 + slack) - paid + slack * bulk
