"""Many supports at once, each against an attack of its own: which of them it closes."""

import numpy as np

from noap.data.pencil import Pencil
from noap.exact.generalised.definite import definite
from noap.linalg.outward import UNIT, gamma
from noap.linalg.types import BoolArray, FloatArray, IntArray

__all__ = ["closed_by_forms", "closing_shares"]

# Shares of the answer to the best direction on a support.
_SHARES = (1.0, 0.95, 0.85, 0.65, 0.3)
# Supports that are looked at together: some tens of megabytes.
_AT_ONCE = 20_000
_INSIDE = 1.0 - 1e-11


def closed_by_forms(pencils: "list[Pencil]", supports: IntArray, T: float) -> BoolArray:
    """Return on which supports T times the metric exceeds one of the forms, each an attack on all features."""
    closed = np.zeros(len(supports), dtype=bool)
    for first in range(0, len(supports), _AT_ONCE):
        part = supports[first : first + _AT_ONCE]
        rows, columns = part[:, :, None], part[:, None, :]
        metric = T * pencils[0].B[rows, columns]
        open_ones = np.arange(len(part))
        for one in pencils:
            room = _room(part.shape[1], one.error, float(np.abs(one.A).max()), T * float(np.abs(one.B).max()))
            # Twice the room: the checker's own arithmetic has to find the same.
            shown = definite(metric[open_ones] - one.A[rows[open_ones], columns[open_ones]], 2.0 * room)
            closed[first + open_ones[shown]] = True
            open_ones = open_ones[~shown]
    return closed


def closing_shares(pencil: Pencil, supports: IntArray, weights: FloatArray, T: float) -> FloatArray:
    """Return for each support the share of an attack on the direction given that closes it at T; 0 if none does."""
    closed: FloatArray = np.zeros(len(supports))
    if len(supports) == 0:
        return closed
    rows, columns = supports[:, :, None], supports[:, None, :]
    A, B, rho = pencil.A[rows, columns], pencil.B[rows, columns], pencil.rho[supports]
    m, top = supports.shape[1], float(np.abs(pencil.A).max())
    w = weights / np.abs(weights).max(axis=1, keepdims=True)
    length = np.abs(w).sum(axis=1)
    pulled = np.einsum("mij,mj->mi", A, w)
    energy = np.einsum("mi,mi->m", pulled, w)
    off = (pencil.error + gamma(2 * m + 8) * top) * length
    good = energy > 4.0 * off * length
    norm = np.sqrt(np.where(good, energy, 1.0))
    s = pulled / norm[:, None]
    g = 1.01 * (2.0 * off / norm + off * length * np.abs(s).max(axis=1) / norm**2 + 8.0 * UNIT * np.sqrt(top))
    own = np.einsum("mii->mi", A)
    budget = np.minimum(rho * _INSIDE, 2.0 * np.sqrt(np.maximum(own, 0.0)) + np.sqrt(top))
    largest = 2.0 * np.abs(s).max(axis=1) + budget.max(axis=1)
    error = pencil.error + 2.0 * g * (largest + g) + 16.0 * UNIT * (top + largest**2)
    across = np.maximum(own - s * s, 0.0) + error[:, None]
    for share in _SHARES:
        c = share * budget * np.sign(w)
        rest = np.sqrt(np.maximum(budget**2 - c**2 * (1.0 + 1e-15), 0.0)) * (1.0 - 1e-12)
        alpha = 1.0 - np.minimum(rest / np.sqrt(across), 1.0)
        left = s - c
        M = alpha[:, :, None] * alpha[:, None, :] * (A - s[:, :, None] * s[:, None, :])
        M += left[:, :, None] * left[:, None, :]
        room = _room(m, 1.05 * error, top + largest**2, T * float(np.abs(pencil.B).max()))
        # Twice the room: the checker's own arithmetic has to find the same.
        closed[(closed == 0.0) & good & definite(T * B - M, 2.0 * room)] = share
    return closed


def _room(m: int, error: "float | FloatArray", form: "float | FloatArray", metric: float) -> "float | FloatArray":
    """Return what the errors of the entries are at most in norm."""
    return 1.01 * m * (error + 4.0 * UNIT * (form + metric))
