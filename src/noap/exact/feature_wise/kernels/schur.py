r"""The Schur test: whether every support I + Q with |Q| <= p stays at or below a threshold.

With columns :math:`y_j` (attacked or chorded features) and Gram matrix M, every support stays at or below t if
:math:`tI - M_{SS}` is positive definite for all of them. Eliminating the included part I leaves

.. math:: S = tI - M_{FF} - M_{FI} (tI - M_{II})^{-1} M_{IF}

on the free features, of which every principal p x p block must be positive definite: for p = 1 its diagonal, for p = 2
its 2 x 2 minors, for p >= 3 scaled diagonal dominance: some d > 0 with :math:`S_{ii} d_i > \sum |S_{ij}| d_j` over the
p - 1 largest terms. What that leaves open may be `scaled` for the semidefinite test. This is Step 4, The Schur test, of
docs/exact.md.
"""

import math

import numpy as np

from noap.exact.feature_wise.kernels.dominance import (
    CLOSED,
    FREE_FAILS,
    INCLUDED_FAILS,
    MARGIN,
    fill_row,
)
from noap.runtime.kernels import part

# With p >= 2 the diagonal alone does not decide.
UNDECIDED = 3


@part
def schur(A, g, kap, dlt, alt, idx, n_inc, n_free, threshold, tilt, p, room, S, W, fails, alpha, lean, root):
    """Run the test for the columns y_j = kap_j a_j + dlt_j w, w a unit vector with inner products g_j = a_j'w.

    A free feature may take the column alt_j a_j instead (alt_j < 0: it may not); it does when its diagonal entry of S
    grows. The Gram matrix is tilted: y_i'y_j + tilt (w'y_i)(w'y_j). `idx` lists the included features first. The
    diagonal of S (n_free x n_free), W (n_inc x n_free) and fails (n_free, bool) are filled in. `room` is subtracted
    from the diagonal: an elimination that succeeds then proves positive definiteness despite its rounding.

    Returns (verdict, worst free position, how far from closing). Where the verdict is UNDECIDED, it is for `pairs_hold`
    (p = 2) or `dominance` (p >= 3), and the arrays that they take are filled: alpha, lean, and for p >= 3 root.
    """
    L = np.empty((n_inc, n_inc))
    for a in range(n_inc):
        i = idx[a]
        wi = kap[a] * g[i] + dlt[a]
        for b in range(a + 1):
            j = idx[b]
            wj = kap[b] * g[j] + dlt[b]
            value = -(kap[a] * kap[b] * A[i, j] + kap[a] * g[i] * dlt[b] + dlt[a] * wj + tilt * wi * wj)
            if a == b:
                value += threshold - room
            for c in range(b):
                value -= L[a, c] * L[b, c]
            if a == b:
                if not value > room:  # so written that NaN fails
                    return INCLUDED_FAILS, -1, np.inf
                L[a, a] = math.sqrt(value)
            else:
                L[a, b] = value / L[b, b]
    if p == 0:
        return CLOSED, -1, 0.0
    worst, failing = -1, 0
    lowest = np.inf
    other = np.empty(n_inc)
    for f in range(n_free):
        b = n_inc + f
        value = eliminate(A, g, kap, dlt, idx, n_inc, b, threshold - room, tilt, L, other)
        for c in range(n_inc):
            W[c, f] = other[c]
        if alt[f] >= 0.0 and n_inc > 0:
            kept_kap, kept_dlt = kap[b], dlt[b]
            kap[b], dlt[b] = alt[f], 0.0
            alternative = eliminate(A, g, kap, dlt, idx, n_inc, b, threshold - room, tilt, L, other)
            if alternative > value:
                value = alternative
                for c in range(n_inc):
                    W[c, f] = other[c]
            else:
                kap[b], dlt[b] = kept_kap, kept_dlt
        S[f, f] = value
        fails[f] = not value > room
        if fails[f]:
            failing += 1
        if value < lowest:
            lowest = value
            worst = f
    if p == 1 or (failing > 0 and p >= 3):
        if failing == 0:
            return CLOSED, -1, 0.0
        return FREE_FAILS, worst, 1e3 + failing - lowest / threshold
    for e in range(n_free):
        a = n_inc + e
        alpha[e] = kap[a] * g[idx[a]]
        lean[e] = alpha[e] + dlt[a]
        root[e] = 1.0 / math.sqrt(S[e, e]) if p >= 3 else 1.0
    return UNDECIDED, worst, 0.0


@part
def scaled(A, idx, kap, dlt, alpha, lean, root, tilt, W, n_inc, n_free, S):
    """Fill S with the Schur complement, scaled to unit diagonal, for the semidefinite test; whether it is fit for that.

    It is not where an entry shows by itself that S is not positive definite.
    """
    for f in range(n_free):
        fill_row(A, idx, kap, dlt, alpha, lean, tilt, W, n_inc, n_free, f, S[f])
        for e in range(f):
            S[f, e] *= root[e] * root[f]
            S[e, f] = S[f, e]
            if not abs(S[f, e]) < 1.0:
                return False
        S[f, f] = 1.0
    return True


@part
def eliminate(A, g, kap, dlt, idx, n_inc, b, threshold, tilt, L, column):
    """Return the diagonal entry of the Schur complement for column b; fills `column` with its row of L^-1 M."""
    j = idx[b]
    kg = kap[b] * g[j]
    wj = kg + dlt[b]
    diagonal = threshold - (kap[b] * kap[b] * A[j, j] + kg * dlt[b] + dlt[b] * wj + tilt * wj * wj)
    for a in range(n_inc):
        i = idx[a]
        wi = kap[a] * g[i] + dlt[a]
        value = -(kap[a] * kap[b] * A[i, j] + kap[a] * g[i] * dlt[b] + dlt[a] * wj + tilt * wi * wj)
        for c in range(a):
            value -= L[a, c] * column[c]
        column[a] = value / L[a, a]
        diagonal -= column[a] * column[a]
    return diagonal


@part
def pairs_hold(A, idx, kap, dlt, alpha, lean, tilt, W, n_inc, m, S, fails):
    """Test every 2 x 2 minor (p = 2). Marks the features that take part in a failing single or pair; fills S."""
    worst, worst_ratio = -1, 0.0
    single, count = np.empty(m, dtype=np.bool_), np.empty(m)
    for f in range(m):
        single[f], count[f] = fails[f], 0.0
        diagonal = S[f, f]
        fill_row(A, idx, kap, dlt, alpha, lean, tilt, W, n_inc, m, f, S[f])
        S[f, f] = diagonal
    for f in range(m):
        for e in range(f):
            if single[e] or single[f]:
                bad = True
                ratio = 1e6
            else:
                ratio = (S[e, f] / S[e, e]) * (S[e, f] / S[f, f])
                bad = not ratio < 1.0 - 4.0 * MARGIN  # so written that NaN fails
            if bad:
                fails[e] = True
                fails[f] = True
                count[e] += 1
                count[f] += 1
            if ratio > worst_ratio:
                worst_ratio = ratio
    failing = 0
    most = 0.0
    for f in range(m):
        if fails[f]:
            failing += 1
        score = count[f] + (m if single[f] else 0)
        if score > most:
            most = score
            worst = f
    if failing == 0:
        return CLOSED, -1, 0.0
    return FREE_FAILS, worst, min(worst_ratio, 1e3) + failing
