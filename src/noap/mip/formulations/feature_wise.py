"""Theorem 2 and Appendix A: every feature may be moved."""

import math
from collections.abc import Callable

import numpy as np

from noap.linalg.types import FloatArray
from noap.mip.cuts import Cuts
from noap.mip.formulations.adversary_part import CUTOFF_SLACK
from noap.mip.formulations.boxes import Boxes
from noap.mip.formulations.direction import Direction, add_magnitudes
from noap.mip.formulations.spectrum import Spectrum
from noap.mip.instance import Instance
from noap.mip.writing import ModelWriter

__all__ = ["add_feature_wise"]


def add_feature_wise(
    writer: ModelWriter, instance: Instance, direction: Direction, spectrum: Spectrum, boxes: Boxes, cuts: Cuts
) -> Callable[[float], float]:
    r"""Add max t subject to :math:`(t + \rho y)^2 \le` energy, :math:`y \ge \|v\|_1`.

    The corrected program imposes y >= 1: a unit vector has l1 norm at least 1. (Imposing it on v would not be
    convex.) The column s stands for t + rho y.
    """
    rho, S = instance.rho, (instance.eigenvectors * instance.eigenvalues) @ instance.eigenvectors.T

    def energy(v: FloatArray) -> float:
        return math.sqrt(max(float(v @ S @ v), 0.0))

    p = add_magnitudes(writer, direction, boxes, cuts)
    top = math.sqrt(instance.d)
    y = writer.block("y", 1, boxes.l1_low, min(boxes.l1_high, top), lambda v: np.abs(v).sum())
    least = math.sqrt(instance.value) * (1.0 - CUTOFF_SLACK) if cuts.cutoff else 0.0
    # |Xv|^2 is at most the leading eigenvalue, 1. As printed only xi <= 1 bounds it, by the trace.
    most = 1.0 + CUTOFF_SLACK if cuts.ranges else math.sqrt(float(instance.eigenvalues.sum()) + 1.0)
    t = writer.block("t", 1, least, most, lambda v: max(energy(v) - rho * np.abs(v).sum(), 0.0))
    s = writer.block("s", 1, least + rho * boxes.l1_low, most, energy)
    writer.row("y >= |v|_1", [(y, 1.0), (p, -1.0)], lower=0.0, upper=0.0 if cuts.l1 else np.inf)
    writer.row("s = t + rho y", [(s, 1.0), (t, -1.0), (y, -rho)], lower=0.0, upper=0.0)
    writer.square("robust energy", s, 1.0, [(columns, -np.asarray(weight)) for columns, weight in spectrum.energy], 0.0)
    writer.maximise([(t, 1.0)])
    return lambda objective: instance.unit * max(objective, 0.0) ** 2
