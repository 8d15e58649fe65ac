r"""The ball that an attack's rows must stay in, and the Euclidean projection on it.

At a node with included features I, free features F and p places left, every direction of the node has the support
:math:`I \cup Q`, :math:`Q \subseteq F`, :math:`|Q| \le p`. A row e of an attack, with :math:`\rho` the budget of its
sample, needs :math:`|e^\top v| \le \rho` for those v only,

.. math:: N(e)^2 = \|e_I\|^2 + \|\mathrm{top}_p(e_F)\|^2 \le \rho^2 .

Columns are ordered: the included features first. This is Section 2, The attack and its ball, of
docs/exact-sample-wise.md.
"""

import math

import numpy as np

from noap.heuristics.kernels.largest import keep
from noap.runtime.kernels import kernel, part


@part
def shrink(terms):
    """Factor by which a computed N^2 must undercut rho^2 so that the exact one does not exceed it.

    The computed sum of `terms` squares is off by at most (terms + 1) u relatively, u = 2^-53; rho^2, the root and the
    product that rescales a row add 6 u more. 3e-16 > 2 u covers both uses, of N^2 and of N.
    """
    return 1.0 - 3e-16 * (terms + 8)


@part
def largest(e, n_inc, p, top):
    """Fill `top` with the p largest magnitudes among e[n_inc:], in falling order; returns how many there are."""
    if p == 0:
        return 0
    for j in range(n_inc, len(e)):
        keep(abs(e[j]), top, j - n_inc, p)
    return min(len(e) - n_inc, p)


@part
def squared_norm(e, n_inc, p, top):
    """N(e)^2."""
    total = 0.0
    for j in range(n_inc):
        total += e[j] * e[j]
    for c in range(largest(e, n_inc, p, top)):
        total += top[c] * top[c]
    return total


@part
def sort_falling(x, m):
    """Sort the first m entries in place, the largest first: Shell's sort, of a tenth of the code of np.sort."""
    gap = 1
    while gap < m // 3:
        gap = 3 * gap + 1
    while gap > 0:
        for i in range(gap, m):
            value, place = x[i], i
            while place >= gap and x[place - gap] < value:
                x[place] = x[place - gap]
                place -= gap
            x[place] = value
        gap //= 3


@part
def tie_level(x, m, p, lam):
    """For magnitudes x in falling order: (tau, a) with theta = 1 for x[:a] and sum of theta = p.

    theta_j = clip((x_j/tau - 1)/lam, 0, 1). With a entries above (1 + lam) tau and b entries in [tau, (1 + lam) tau],
    their sum is a + (sum of the tied x/tau - b)/lam = p, so tau = sum/(lam (p - a) + b). The entry at p - 1 is always
    at or above tau.
    """
    a, b = 0, 0
    total = 0.0
    # Grow the tie group downwards from the largest entry, and let entries leave it at the top.
    tau = 0.0
    while True:
        while a + b < m:
            x_next = x[a + b]
            candidate = total / (lam * (p - a) + b) if b > 0 else 0.0
            if a + b >= p and x_next <= candidate:
                break
            total += x_next
            b += 1
        tau = total / (lam * (p - a) + b)
        if a < p - 1 and x[a] > (1.0 + lam) * tau:
            total -= x[a]
            b -= 1
            a += 1
            continue
        if a == p - 1 and x[a] > (1.0 + lam) * tau and b > 1:
            total -= x[a]
            b -= 1
            a += 1
            # All p places are taken: no ties, tau anywhere between the neighbours.
            tau = x[a] if a < m else 0.0
        return tau, a


@part
def project(e, n_inc, p, rho, top, order):
    """Replace e by (nearly) its Euclidean projection on the ball; inside it afterwards, exactly.

    The minimiser shrinks by 1/(1 + lam theta_j): theta = 1 on I and on the largest free entries, 0 on small ones, in
    between on the ones that tie at tau. `top` (p) and `order` (number of free features) are work space. Returns
    whether e moved.
    """
    square = squared_norm(e, n_inc, p, top)
    budget = rho * rho
    margin = shrink(n_inc + p)
    if square <= budget * margin:
        return False
    if rho == 0.0:
        for j in range(len(e)):
            e[j] = 0.0
        return True
    m = len(e) - n_inc
    inside = 0.0
    for j in range(n_inc):
        inside += e[j] * e[j]
    if p == 0 or m == 0:
        factor = margin * rho / math.sqrt(inside)
        for j in range(n_inc):
            e[j] *= factor
        return True
    for j in range(m):
        order[j] = abs(e[n_inc + j])
    sort_falling(order, m)
    q = min(p, m)
    low, high = 0.0, max(math.sqrt(square) / rho - 1.0, 1e-15)
    # Without ties the whole top part shrinks alike: 1 + lam = N/rho. Ties keep more of the norm: lam is larger.
    while True:
        tau, a = tie_level(order, m, q, high)
        norm = inside
        for c in range(a):
            norm += order[c] * order[c]
        norm = norm / (1.0 + high) ** 2 + (q - a) * tau * tau
        if norm <= budget or high > 1e9:
            break
        low = high
        high = 2.0 * high + 1e-9
    if low > 0.0:
        for _ in range(40):
            lam = 0.5 * (low + high)
            tau, a = tie_level(order, m, q, lam)
            norm = inside
            for c in range(a):
                norm += order[c] * order[c]
            norm = norm / (1.0 + lam) ** 2 + (q - a) * tau * tau
            if norm <= budget:
                high = lam
            else:
                low = lam
            if high - low <= 1e-13 * (1.0 + high):
                break
    tau, a = tie_level(order, m, q, high)
    for j in range(n_inc):
        e[j] /= 1.0 + high
    for j in range(n_inc, len(e)):
        size = abs(e[j])
        if size > tau:
            new = max(size / (1.0 + high), tau)
            e[j] = new if e[j] > 0.0 else -new
    square = squared_norm(e, n_inc, p, top)
    if square > budget * margin:
        factor = margin * rho / math.sqrt(square)
        for j in range(len(e)):
            e[j] *= factor
    return True


@kernel
def project_rows(E, n_inc, p, rho):
    """Project every row, row i on the ball of rho[i]."""
    top = np.empty(max(p, 1))
    order = np.empty(max(E.shape[1] - n_inc, 1))
    for i in range(E.shape[0]):
        project(E[i], n_inc, p, rho[i], top, order)
