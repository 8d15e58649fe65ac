r"""Write the block :math:`v \in \overline{\mathcal V}_k`: at most k non-zero entries, length at most 1."""

from dataclasses import dataclass

import numpy as np

from noap.linalg.types import FloatArray, IntArray
from noap.mip.cuts import Cuts
from noap.mip.formulations.boxes import Boxes
from noap.mip.formulations.spectrum import weights_at
from noap.mip.instance import Instance
from noap.mip.model import ModelWriter, Terms

__all__ = ["Direction", "add_direction", "add_magnitudes", "add_norm_pieces"]


@dataclass(frozen=True, eq=False)
class Direction:
    """Positions of the columns of v, of its switches z and, with the perspective cut, of its squares w."""

    v: IntArray
    z: IntArray
    w: IntArray | None

    def paid(self, costs: FloatArray | None) -> Terms:
        """Return the terms of the objective that take off what the features switched on cost."""
        return [] if costs is None else [(self.z, -costs)]


def add_direction(writer: ModelWriter, instance: Instance, boxes: Boxes, cuts: Cuts) -> Direction:
    r"""Add :math:`-U z \le v \le U z`, :math:`\sum z \le k`, :math:`\|v\|_2 \le 1`; U = 1 as printed.

    With the perspective cut :math:`\|v\|_2 \le 1` becomes :math:`v_i^2 \le w_i z_i`, :math:`\sum_i w_i = 1`,
    :math:`w_i \le U_i^2 z_i`: an optimum has length 1, so w = v^2 is feasible, and the cone is the convex hull
    of "v_i = 0" and the square.
    """
    d, cap = instance.d, boxes.cap
    v = writer.block("v", d, -cap, cap, lambda v: v)
    z = writer.block("z", d, 0.0, 1.0, lambda v: v != 0, integer=True)
    for i in range(d):
        writer.row(f"v[{i}] <= U z[{i}]", [(v[i], 1.0), (z[i], -cap[i])], upper=0.0)
        writer.row(f"v[{i}] >= -U z[{i}]", [(v[i], 1.0), (z[i], cap[i])], lower=0.0)
    writer.row("sparsity", [(z, 1.0)], upper=instance.k)
    if not cuts.perspective:
        writer.square("length", v, 1.0, [], 1.0)
        return Direction(v, z, None)
    w = writer.block("w", d, 0.0, cap**2, lambda v: v**2)
    for i in range(d):
        writer.cone(f"perspective[{i}]", v[i], w[i], z[i])
        writer.row(f"w[{i}] <= U^2 z[{i}]", [(w[i], 1.0), (z[i], -(cap[i] ** 2))], upper=0.0)
    writer.row("unit length", [(w, 1.0)], lower=1.0, upper=1.0)
    return Direction(v, z, w)


def add_magnitudes(writer: ModelWriter, direction: Direction, boxes: Boxes, cuts: Cuts) -> IntArray:
    r"""Add :math:`p_i \ge |v_i|`; with the perspective cut also :math:`w_i \le U_i p_i \le U_i^2 z_i`.

    :math:`v_i^2 \le U_i |v_i|` on the box, so p = |v| is feasible: the l1 norm has to pay for the length.
    """
    d, cap = len(direction.v), boxes.cap
    p = writer.block("p", d, 0.0, cap, np.abs)
    for i in range(d):
        writer.row(f"p[{i}] >= v[{i}]", [(p[i], 1.0), (direction.v[i], -1.0)], lower=0.0)
        writer.row(f"p[{i}] >= -v[{i}]", [(p[i], 1.0), (direction.v[i], 1.0)], lower=0.0)
        if direction.w is not None:
            writer.row(f"w[{i}] <= U p[{i}]", [(direction.w[i], 1.0), (p[i], -cap[i])], upper=0.0)
            writer.row(f"p[{i}] <= U z[{i}]", [(p[i], 1.0), (direction.z[i], -cap[i])], upper=0.0)
    return p


def add_norm_pieces(writer: ModelWriter, direction: Direction, boxes: Boxes, pieces: int) -> float:
    r"""Add :math:`\sum_i \mathrm{plu}(v_i) \ge 1`, chords of :math:`v_i^2` on 2N even pieces of [-U_i, U_i].

    Returns what a single chord may add, the largest :math:`U_i^2/(4N^2)`: with 0 among the breakpoints the k
    non-zero entries are the only ones that count.
    """
    everything: list[tuple[IntArray, FloatArray]] = []
    for i, cap in enumerate(boxes.cap):
        points = np.linspace(-cap, cap, 2 * pieces + 1)
        points[pieces] = 0.0
        eta = writer.block(
            f"norm_eta[{i}]",
            len(points),
            0.0,
            1.0,
            lambda v, i=i, points=points: weights_at(points, v[i]),  # type: ignore[misc]
        )
        writer.row(f"norm weights[{i}]", [(eta, 1.0)], lower=1.0, upper=1.0)
        writer.row(f"norm place[{i}]", [(eta, points), (direction.v[i], -1.0)], lower=0.0, upper=0.0)
        writer.sos2(f"norm pieces[{i}]", eta, points)
        if direction.w is not None:
            writer.row(f"w[{i}] <= plu", [(direction.w[i], 1.0), (eta, -(points**2))], upper=0.0)
        everything.append((eta, points**2))
    writer.row("norm at least 1", list(everything), lower=1.0)
    return float((boxes.cap**2).max()) / (4.0 * pieces**2)
