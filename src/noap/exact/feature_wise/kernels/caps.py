r"""Bounds on :math:`c^\top u` over a ball cut by slabs.

The direction u lies in the unit ball and satisfies :math:`l_j \le b_j^\top u \le h_j`. For any multipliers mu,

.. math:: c^\top u \le \Bigl\|c + \sum_j \mu_j b_j\Bigr\| - \sum_{\mu_j > 0} \mu_j l_j - \sum_{\mu_j < 0} \mu_j h_j,

because :math:`c^\top u = (c + \sum \mu_j b_j)^\top u - \sum \mu_j b_j^\top u`. Whatever mu is, the right
side is a bound: mu is its own certificate. Coordinate descent finds a good one in closed form. Everything is done on
inner products. This is Step 1, Caps, of docs/exact.md.
"""

import math

from noap.runtime.kernels import part

# Room for rounding: the inner products carry relative errors of a few ulps per term.
_ULPS = 4.5e-16


@part
def cap(cc, cb, B, lo, hi, m, sweeps, mu, q):
    """Return an upper bound on c'u.

    Parameters: cc = |c|^2; cb[j] = c'b_j; B = Gram matrix of the b_j; lo, hi the slabs; m how many there are;
    sweeps of coordinate descent. mu and q are work space of length m.
    """
    r = cc
    for j in range(m):
        mu[j] = 0.0
        q[j] = cb[j]
    for _ in range(sweeps):
        moved = False
        for j in range(m):
            b2 = B[j, j]
            b = math.sqrt(b2)
            perp = math.sqrt(max(r - q[j] * q[j] / b2, 0.0))
            along = q[j] / b - mu[j] * b
            new = 0.0
            # The best mu_j makes the angle between the sum and b_j the one whose cosine is l/|b|, or
            # h/|b|. A slab that ends
            # within rounding of |b| has no such angle to speak of; 0 is as valid as any multiplier.
            cosine = lo[j] / b
            if 0.0 < cosine < 1.0 - 1e-14:
                new = (perp * cosine / math.sqrt(1.0 - cosine * cosine) - along) / b
            if new <= 0.0:
                new = 0.0
                cosine = hi[j] / b
                if cosine < 1.0 - 1e-14:
                    candidate = (perp * cosine / math.sqrt(1.0 - cosine * cosine) - along) / b
                    if candidate < 0.0:
                        new = candidate
            step = new - mu[j]
            if step != 0.0:
                moved = True
                r += step * (2.0 * q[j] + step * b2)
                for i in range(m):
                    q[i] += step * B[i, j]
                mu[j] = new
        if not moved:
            break
    # Recomputed from scratch, with an allowance for the rounding of every term.
    total, weight, paid, bulk = cc, cc, 0.0, 0.0
    for j in range(m):
        if mu[j] != 0.0:
            inner = 2.0 * cb[j]
            total += mu[j] * inner
            weight += abs(mu[j] * inner)
            for i in range(m):
                total += mu[i] * mu[j] * B[i, j]
                weight += abs(mu[i] * mu[j] * B[i, j])
            side = lo[j] if mu[j] > 0.0 else hi[j]
            paid += mu[j] * side
            bulk += abs(mu[j] * side)
    slack = _ULPS * (2 * m + 8)
    length = math.sqrt(max(total, 0.0) + slack * weight)
    return length * (1.0 + slack) - paid + slack * bulk
