r"""Write the block that bounds :math:`v^\top S v = \sum_j \lambda_j g_j^2`, :math:`g_j = \langle q_j, v\rangle`.

As printed (the paper's PLU set, equation (4)): :math:`g_j` is a combination of two neighbouring breakpoints, and
:math:`\xi_j`, the same combination of their squares, is the chord of :math:`g_j^2`. Adaptive breakpoints are put where
the last solution made its error.
"""

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.mip.cuts import Cuts
from noap.mip.formulations.boxes import Boxes
from noap.mip.instance import Instance
from noap.mip.model import ModelWriter, Terms

__all__ = ["Spectrum", "add_spectrum", "chord_error", "even", "interpolated", "printed", "refined", "weights_at"]

# Pieces narrower than this are not split: the chord error is then below the solver's tolerance.
_NARROWEST = 1e-4
# Chord errors of this size, in units of the leading eigenvalue, drown in the solver's own tolerance.
_NO_ERROR = 1e-6
# Each round splits the pieces that carry this share of the error; the rest would only slow the solver down.
_SHARE = 0.9


@dataclass(frozen=True, eq=False)
class Spectrum:
    """The energy as a linear form, and the error of its chords.

    Attributes
    ----------
    energy : list of (columns, coefficients)
        At least v'Sv at every feasible point that is a unit direction.
    energy_at : callable
        Its value at the lifted direction v: v'Sv itself with Parseval's row, its chords as printed.
    g : array of int
        Columns of <q_j, v>: of the first r directions, of all of them with Parseval's row.
    points : tuple of arrays
        Breakpoints of the first r directions.
    error : float
        sum_j lambda_j (widest piece)^2/4 over them.
    rest : list of (columns, coefficients)
        gamma, the mass of the directions past r, as a linear form; empty when there are none.
    rest_cost : float
        The most that a unit of gamma adds: lambda_{r+1} - lambda_d, or lambda_{r+1} when v may be shorter than 1.
    """

    energy: Terms
    energy_at: Callable[[FloatArray], float]
    g: IntArray
    points: tuple[FloatArray, ...]
    error: float
    rest: Terms
    rest_cost: float


def add_spectrum(
    writer: ModelWriter,
    instance: Instance,
    v: IntArray,
    boxes: Boxes,
    cuts: Cuts,
    points: tuple[FloatArray, ...],
) -> Spectrum:
    """Add g, xi, eta for the first ``len(points)`` directions, and Parseval's h or the paper's gamma for the rest."""
    d, r = instance.d, len(points)
    lam, Q = instance.eigenvalues, instance.eigenvectors
    shown = d if cuts.parseval else r
    g = writer.block("g", shown, boxes.low[:shown], boxes.high[:shown], lambda v: Q[:, :shown].T @ v)
    for j in range(shown):
        writer.row(f"g[{j}] = <q, v>", [(g[j], 1.0), (v, -Q[:, j])], lower=0.0, upper=0.0)
    xi = np.array([_add_chords(writer, instance, g[j], j, points[j]) for j in range(r)], dtype=np.intp)
    error = float(sum(lam[j] * chord_error(points[j]) for j in range(r)))
    following = float(lam[r]) if r < d else 0.0
    # Without a row that keeps v at unit length, v = 0 with gamma = 1 is feasible and lambda_d is not earned back.
    unit_length = cuts.l1 if instance.kind == "feature" else cuts.norm_pieces
    rest_cost = following - (float(lam[-1]) if unit_length else 0.0)
    if cuts.parseval:
        h = _add_parseval(writer, instance, g, xi, boxes)
        rest: Terms = [(h[r:], 1.0)] if r < d else []
        return Spectrum([(h, lam)], lambda v: float(lam @ (Q.T @ v) ** 2), g, points, error, rest, rest_cost)

    def beyond(v: FloatArray) -> float:
        return max(1.0 - float(np.sum((Q[:, :r].T @ v) ** 2)), 0.0)

    def chords(v: FloatArray) -> float:
        known = sum(float(lam[j]) * interpolated(points[j], float(Q[:, j] @ v)) for j in range(r))
        return known + following * beyond(v)

    energy: Terms = [(xi, lam[:r])]
    total: Terms = [(xi, 1.0)]
    rest = []
    if r < d:
        gamma = writer.block("gamma", 1, 0.0, 1.0, beyond)
        writer.square("gamma", g, 1.0, [(gamma, 1.0)], 1.0)
        energy.append((gamma, following))
        total.append((gamma, 1.0))
        rest = [(gamma, 1.0)]
    if cuts.xi_sum:
        # sum g_j^2 (+ gamma) <= 1, and each chord adds at most its error.
        writer.row("sum of xi", total, upper=1.0 + sum(chord_error(part) for part in points))
    return Spectrum(energy, chords, g, points, error, rest, rest_cost)


def _add_chords(writer: ModelWriter, instance: Instance, g: int, j: int, points: FloatArray) -> int:
    q = instance.eigenvectors[:, j]
    xi = writer.block(f"xi[{j}]", 1, 0.0, float((points**2).max()), lambda v: interpolated(points, float(q @ v)))
    eta = writer.block(f"eta[{j}]", len(points), 0.0, 1.0, lambda v: weights_at(points, float(q @ v)))
    writer.row(f"weights[{j}]", [(eta, 1.0)], lower=1.0, upper=1.0)
    writer.row(f"place[{j}]", [(eta, points), (g, -1.0)], lower=0.0, upper=0.0)
    writer.row(f"chord[{j}]", [(eta, points**2), (xi, -1.0)], lower=0.0, upper=0.0)
    if len(points) > 2:
        writer.sos2(f"pieces[{j}]", eta, points)
    return int(xi[0])


def _add_parseval(writer: ModelWriter, instance: Instance, g: IntArray, xi: IntArray, boxes: Boxes) -> IntArray:
    r"""Add h with :math:`g_j^2 \le h_j \le` chord and :math:`\sum_j h_j = 1`.

    An optimum has length 1, so h = g^2 is feasible. Eliminating h gives, for every shift s,
    :math:`v^\top S v \le s + \sum_j (\lambda_j - s)_+ \xi_j - \sum_j (s - \lambda_j)_+ g_j^2`: the noise directions,
    whose eigenvalues differ little, cost almost no chord error, and those past r need no pieces at all.
    """
    low, high = boxes.low, boxes.high
    h = writer.block("h", instance.d, 0.0, np.maximum(low**2, high**2), lambda v: (instance.eigenvectors.T @ v) ** 2)
    for j in range(instance.d):
        writer.square(f"h[{j}] >= g^2", g[j], 1.0, [(h[j], -1.0)], 0.0)
        if j < len(xi):
            writer.row(f"h[{j}] <= xi", [(h[j], 1.0), (xi[j], -1.0)], upper=0.0)
        else:
            chord = low[j] + high[j]
            writer.row(f"h[{j}] <= chord", [(h[j], 1.0), (g[j], -chord)], upper=-low[j] * high[j])
    writer.row("Parseval", [(h, 1.0)], lower=1.0, upper=1.0)
    return h


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


def refined(spectrum: Spectrum, eigenvalues: FloatArray, x: FloatArray) -> tuple[FloatArray, ...] | None:
    r"""Return breakpoints with one more at :math:`g_j` wherever :math:`\lambda_j(\xi_j - g_j^2)` at x is large.

    On both sides of 0 when the range allows: -v is often as good a direction in the other coordinates. The new chords
    lie below the old ones, so a bound of the new model is never worse, and is exact at x. None when no piece is left
    worth splitting.
    """
    points, g = spectrum.points, x[spectrum.g]
    errors = np.array([eigenvalues[j] * (interpolated(part, float(g[j])) - g[j] ** 2) for j, part in enumerate(points)])
    if errors.sum() <= _NO_ERROR:
        return None
    order = np.argsort(-errors, kind="stable")
    carried = np.cumsum(errors[order])
    split = set(order[: int(np.searchsorted(carried, _SHARE * carried[-1])) + 1].tolist())
    finer = tuple(_with(part, float(g[j])) if j in split else part for j, part in enumerate(points))
    return finer if any(len(new) > len(old) for new, old in zip(finer, points, strict=True)) else None


def _with(points: FloatArray, value: float) -> FloatArray:
    wanted = [value, -value] if points[0] < 0 else [value]
    for point in wanted:
        inside = points[0] < point < points[-1]
        if inside and np.abs(points - point).min() > _NARROWEST:
            points = np.sort(np.append(points, point))
    return points
