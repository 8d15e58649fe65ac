"""Adaptive breakpoints: put them where the last solution made its error, and solve again."""

import numpy as np

from noap.linalg.types import FloatArray
from noap.mip.formulations.base import Formulation
from noap.mip.formulations.breakpoints import interpolated

__all__ = ["refined_points"]

# Pieces narrower than this are not split: the chord error is then below the solver's tolerance.
_NARROWEST = 1e-4
# Chord errors of this size, in units of the leading eigenvalue, drown in the solver's own tolerance.
_NO_ERROR = 1e-6
# Each round splits the pieces that carry this share of the error; the rest would only slow the solver down.
_SHARE = 0.9


def refined_points(formulation: Formulation, x: FloatArray) -> tuple[FloatArray, ...] | None:
    r"""Return breakpoints with one more at :math:`g_j` wherever :math:`\lambda_j(\xi_j - g_j^2)` at x is large.

    On both sides of 0 when the range allows: -v is often as good a direction in the other coordinates. The new chords
    lie below the old ones, so a bound of the new model is never worse, and is exact at x. None when no piece is left
    worth splitting.
    """
    points = formulation.spectrum.points
    g = x[formulation.spectrum.g[: len(points)]]
    lam = formulation.instance.eigenvalues[: len(points)]
    errors = np.array([lam[j] * (interpolated(points[j], float(g[j])) - g[j] ** 2) for j in range(len(points))])
    if errors.sum() <= _NO_ERROR:
        return None
    order = np.argsort(-errors, kind="stable")
    carried = np.cumsum(errors[order])
    chosen = order[: int(np.searchsorted(carried, _SHARE * carried[-1])) + 1]
    refined = list(points)
    for j in chosen:
        refined[j] = _with(points[j], float(g[j]))
    changed = any(len(new) > len(old) for new, old in zip(refined, points, strict=True))
    return tuple(refined) if changed else None


def _with(points: FloatArray, value: float) -> FloatArray:
    wanted = [value, -value] if points[0] < 0 else [value]
    for point in wanted:
        inside = points[0] < point < points[-1]
        if inside and np.abs(points - point).min() > _NARROWEST:
            points = np.sort(np.append(points, point))
    return points
