"""Theorem 2, equation (8), and Proposition 6, equation (11): every feature may be moved."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from noap.linalg.types import FloatArray
from noap.mip.cuts import Cuts
from noap.mip.formulations.boxes import CUTOFF_SLACK, Boxes
from noap.mip.formulations.direction import Direction, add_magnitudes
from noap.mip.formulations.spectrum import Spectrum, weights_at
from noap.mip.instance import Instance
from noap.mip.model import ModelWriter

__all__ = ["add_feature_wise", "chord_of_value"]

# Of the chord of t^2, which stands for the value where features have costs.
_PIECES = 16


def add_feature_wise(
    writer: ModelWriter, instance: Instance, direction: Direction, spectrum: Spectrum, boxes: Boxes, cuts: Cuts
) -> Callable[[float], float]:
    r"""Add max t subject to :math:`(t + \rho y)^2 \le` energy, :math:`y \ge \|v\|_1`.

    The corrected program imposes y >= 1: a unit vector has l1 norm at least 1. (Imposing it on v would not be
    convex.) The column s stands for t + rho y; with a budget for every feature for :math:`t + \sum_j \rho_j p_j`,
    :math:`p_j \ge |v_j|`. Costs are taken off the square of t, which is convex: its chord on 16 pieces stands for it,
    and the objective is that chord less the costs of the features that are switched on.
    """
    rho = instance.rho

    def energy(v: FloatArray) -> float:
        return math.sqrt(max(spectrum.energy_at(v), 0.0))

    p = add_magnitudes(writer, direction, boxes, cuts)
    top = math.sqrt(instance.d)
    y = writer.block("y", 1, boxes.l1_low, min(boxes.l1_high, top), lambda v: np.abs(v).sum())
    least, most = _range(instance, cuts)

    def left(v: FloatArray) -> float:
        return max(energy(v) - float(np.sum(rho * np.abs(v))), 0.0)

    t = writer.block("t", 1, least, most, left)
    s = writer.block("s", 1, least + instance.least_rho * boxes.l1_low, most, energy)
    writer.row("y >= |v|_1", [(y, 1.0), (p, -1.0)], lower=0.0, upper=0.0 if cuts.l1 else np.inf)
    spent: tuple[ArrayLike, ArrayLike] = (p, -rho) if isinstance(rho, np.ndarray) else (y, -rho)
    writer.row("s = t + rho y", [(s, 1.0), (t, -1.0), spent], lower=0.0, upper=0.0)
    writer.square("robust energy", s, 1.0, [(columns, -np.asarray(weight)) for columns, weight in spectrum.energy], 0.0)
    if instance.costs is None:
        writer.maximise([(t, 1.0)])
        return lambda objective: instance.unit * max(objective, 0.0) ** 2
    points = np.linspace(least, most, _PIECES + 1)
    eta = writer.block("value_eta", len(points), 0.0, 1.0, lambda v: weights_at(points, min(max(left(v), least), most)))
    writer.row("value weights", [(eta, 1.0)], lower=1.0, upper=1.0)
    writer.row("value place", [(eta, points), (t, -1.0)], lower=0.0, upper=0.0)
    writer.sos2("value pieces", eta, points)
    writer.maximise([(eta, points**2), *direction.paid(instance.costs)])
    return lambda objective: instance.unit * objective


def chord_of_value(instance: Instance, cuts: Cuts) -> float:
    """Return what the chord of t^2 may add, in model units; 0 where there are no costs."""
    if instance.costs is None or instance.kind != "feature":
        return 0.0
    least, most = _range(instance, cuts)
    return ((most - least) / _PIECES) ** 2 / 4


def _range(instance: Instance, cuts: Cuts) -> tuple[float, float]:
    """Return what t lies between, for a direction at least as good as the incumbent."""
    least = math.sqrt(instance.value) * (1.0 - CUTOFF_SLACK) if cuts.cutoff else 0.0
    # |Xv|^2 is at most the leading eigenvalue, 1. As printed only xi <= 1 bounds it, by the trace.
    most = 1.0 + CUTOFF_SLACK if cuts.ranges else math.sqrt(float(instance.eigenvalues.sum()) + 1.0)
    return least, most
