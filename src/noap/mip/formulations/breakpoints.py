"""Where the chords of g^2 begin and end."""

import numpy as np

from noap.linalg.types import FloatArray
from noap.mip.formulations.boxes import Boxes

__all__ = ["chord_error", "even", "interpolated", "printed", "weights_at"]


def printed(pieces: int, count: int) -> tuple[FloatArray, ...]:
    """Return the paper's points l/N, l = -N..N, for `count` directions."""
    return tuple(np.arange(-pieces, pieces + 1) / pieces for _ in range(count))


def even(boxes: Boxes, pieces: int, count: int) -> tuple[FloatArray, ...]:
    """Return N even pieces on each side of 0 within the ranges, for the first `count` directions.

    A range that symmetry has cut to one side of 0 gets its N pieces all the same.
    """
    points = []
    for low, high in zip(boxes.low[:count], boxes.high[:count], strict=True):
        steps = 2 * pieces if low < 0 < high else pieces
        points.append(np.linspace(low, high, steps + 1) if high > low else np.array([low, low + 1e-9]))
    return tuple(points)


def chord_error(points: FloatArray) -> float:
    """Return max (chord of g^2) - g^2: a quarter of the squared width of the widest piece.

    >>> chord_error(np.array([-1.0, 0.0, 0.5, 1.0]))
    0.25
    """
    return float(np.diff(points).max() ** 2 / 4.0)


def weights_at(points: FloatArray, value: float) -> FloatArray:
    """Return the convex weights of the two breakpoints around `value`.

    >>> weights_at(np.array([-1.0, 0.0, 1.0]), 0.25)
    array([0.  , 0.75, 0.25])
    """
    weights = np.zeros(len(points))
    inside = min(max(value, points[0]), points[-1])
    right = min(max(int(np.searchsorted(points, inside, side="left")), 1), len(points) - 1)
    share = (inside - points[right - 1]) / (points[right] - points[right - 1])
    weights[right - 1], weights[right] = 1.0 - share, share
    return weights


def interpolated(points: FloatArray, value: float) -> float:
    """Return the chord of g^2 at `value`.

    >>> interpolated(np.array([-1.0, 0.0, 1.0]), 0.25)
    0.25
    """
    return float(weights_at(points, value) @ points**2)
