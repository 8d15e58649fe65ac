"""The Schur test with all that follows it, as a node of the search takes them, for the tests to call from Python."""

import numpy as np
from numba import njit

from noap.exact.feature_wise.kernels.dominance import CLOSED, STORED, dominance
from noap.exact.feature_wise.kernels.schur import UNDECIDED, pairs_hold, scaled, schur

# What is left open is scaled in S, for the semidefinite test.
SCALED = -1


@njit
def whole_schur(
    A, g, kap, dlt, alt, idx, n_inc, n_free, threshold, tilt, p, room, S, W, fails, warm, glance, strong
):  # fmt: skip
    """Return (verdict, worst free position, how far from closing)."""
    alpha, lean, root = np.empty(n_free), np.empty(n_free), np.empty(n_free)
    verdict, worst, measure = schur(
        A, g, kap, dlt, alt, idx, n_inc, n_free, threshold, tilt, p, room, S, W, fails, alpha, lean, root
    )
    if verdict == UNDECIDED and p == 2:
        return pairs_hold(A, idx, kap, dlt, alpha, lean, tilt, W, n_inc, n_free, S, fails)
    if verdict != UNDECIDED:
        return verdict, worst, measure
    verdict, worst, measure = dominance(
        A, idx, kap, dlt, alpha, lean, root, tilt, W, n_inc, n_free, p, S, warm, glance, STORED
    )
    if verdict != CLOSED and strong and scaled(A, idx, kap, dlt, alpha, lean, root, tilt, W, n_inc, n_free, S):
        return SCALED, worst, measure
    return verdict, worst, measure
