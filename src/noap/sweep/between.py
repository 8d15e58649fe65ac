r"""What the points of a path prove between them.

:math:`\sqrt{n\,\mathrm{opt}(\rho)}` is convex in rho. So the chord between two proved bounds is a bound for every rho
between them, and the best of all such chords is the lower convex hull of the bounds. From below, every vector found is
feasible at every rho. With costs the optimum itself is convex (`family.py`), and the chords are those of the bounds.
"""

import numpy as np

from noap.linalg.types import FloatArray

__all__ = ["convex_bounds"]

# A chord is a handful of operations on numbers of one sign, each off by an ulp at most: this covers them.
_OUTWARD = 1 + 1e-14
_TINY = 1e-300


def convex_bounds(
    rhos: FloatArray, bounds: FloatArray, zero_from: float, at: FloatArray, *, roots: bool = True
) -> FloatArray:
    r"""Return the bound that convexity gives at every budget asked for.

    Parameters
    ----------
    rhos : array of shape (m,)
        Increasing budgets.
    bounds : array of shape (m,)
        Upper bounds on the optimum there; inf where nothing is proved.
    zero_from : float
        A budget from which on the optimum is 0.
    at : array of shape (r,)
    roots : bool
        Whether the root of the optimum is convex, or only the optimum.

    Returns
    -------
    array of shape (r,)
        inf to the left of the first bound.

    Examples
    --------
    >>> convex_bounds(np.array([0.0, 2.0]), np.array([16.0, 4.0]), 4.0, np.array([1.0, 3.0, 5.0])).round(6)
    array([9., 1., 0.])
    """
    proved = np.isfinite(bounds) & (rhos < zero_from)
    x, y = rhos[proved], np.sqrt(bounds[proved]) if roots else bounds[proved]
    if np.isfinite(zero_from):
        x, y = np.append(x, zero_from), np.append(y, 0.0)
    limits = np.where(at >= zero_from, 0.0, np.inf)
    if x.size == 0:
        return limits
    corners = _lower_hull(x, y)
    x, y = x[corners], y[corners]
    inside = (at >= x[0]) & (at <= x[-1])
    asked = at[inside]
    right = np.clip(np.searchsorted(x, asked), 1, max(len(x) - 1, 1))
    if x.size == 1:
        limits[inside] = np.minimum(limits[inside], y[0] ** 2 if roots else y[0])
        return limits
    left = right - 1
    # Both weights are computed from differences, so nothing cancels where the chord comes close to 0; and before they
    # meet the bounds, so that no product of two small numbers vanishes.
    width = x[right] - x[left]
    chord = ((x[right] - asked) / width) * y[left] + ((asked - x[left]) / width) * y[right]
    squares = (chord * _OUTWARD) ** 2 if roots else chord * _OUTWARD
    # A square that is next to nothing may have been rounded down by more than the factor covers.
    squares = np.where((squares < _TINY) & (chord > 0), np.nextafter(squares, np.inf), squares)
    limits[inside] = np.minimum(limits[inside], squares)
    return limits


def _lower_hull(x: FloatArray, y: FloatArray) -> list[int]:
    """Return the positions of the corners of the lower convex hull, from left to right (Andrew's chain)."""
    corners: list[int] = []
    for i in range(len(x)):
        while len(corners) >= 2:
            a, b = corners[-2], corners[-1]
            if (y[b] - y[a]) * (x[i] - x[a]) < (y[i] - y[a]) * (x[b] - x[a]):
                break
            corners.pop()
        corners.append(i)
    return corners
