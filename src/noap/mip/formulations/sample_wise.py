"""Theorem 1, equation (5), and Proposition 3, equation (6): every sample may be moved."""

from collections.abc import Callable

import numpy as np

from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, norms
from noap.mip.cuts import Cuts
from noap.mip.formulations.boxes import Boxes
from noap.mip.formulations.direction import Direction
from noap.mip.formulations.spectrum import Spectrum
from noap.mip.instance import Instance
from noap.mip.model import ModelWriter, Terms

__all__ = ["add_sample_wise"]


def add_sample_wise(
    writer: ModelWriter, instance: Instance, direction: Direction, spectrum: Spectrum, boxes: Boxes, cuts: Cuts
) -> Callable[[float], float]:
    r"""Add max energy + (1/n) sum phi_i with :math:`\phi_i \le \phi_\rho(x_i^\top v)`.

    :math:`-\phi_\rho` is Huber's function, :math:`-\phi_\rho(t) = \min_a a^2 + 2\rho\,|t - a|`, so with columns a and
    :math:`b \ge |x_i^\top v - a|` the rows :math:`a_i^2 + 2\rho b_i + \phi_i \le 0` are exact. As printed there is one
    such row per sample; the default adds them up, which leaves the optimum where it is.
    """
    X, n = instance.samples, instance.n
    assert X is not None
    m = len(X)
    rho: FloatArray = np.broadcast_to(np.asarray(instance.rho, dtype=np.float64), (m,))
    reach = norms(keep_top_k(X, instance.k)) * (1.0 + 1e-9) if cuts.ranges else norms(X)
    beyond = np.maximum(reach - rho, 0.0)
    a = writer.block("a", m, -np.minimum(rho, reach), np.minimum(rho, reach), lambda v: np.clip(X @ v, -rho, rho))
    b = writer.block("b", m, 0.0, beyond, lambda v: np.abs(X @ v - np.clip(X @ v, -rho, rho)))
    for i in range(m):
        used = np.flatnonzero(X[i])
        score: Terms = [(direction.v[used], X[i, used])]
        writer.row(f"b[{i}] >= score", [(b[i], 1.0), (a[i], 1.0), (direction.v[used], -X[i, used])], lower=0.0)
        writer.row(f"b[{i}] >= -score", [(b[i], 1.0), (a[i], -1.0), *score], lower=0.0)

    def phi(v: FloatArray) -> FloatArray:
        clipped = np.clip(X @ v, -rho, rho)
        total: FloatArray = -(clipped**2) - 2.0 * rho * np.abs(X @ v - clipped)
        return total

    if not cuts.parseval:
        low = -(np.minimum(rho, reach) ** 2) - 2.0 * rho * beyond
        loss = writer.block("phi", m, low, 0.0, phi)
        for i in range(m):
            writer.square(f"phi[{i}]", a[i], 1.0, [(b[i], 2.0 * rho[i]), (loss[i], 1.0)], 0.0)
        writer.maximise([*spectrum.energy, (loss, 1.0 / n)])
    else:
        most = float(np.sum(np.minimum(rho, reach) ** 2)) / n
        inner = writer.block("inner", 1, 0.0, most, lambda v: float(np.sum(np.clip(X @ v, -rho, rho) ** 2)) / n)
        writer.square("clipped energy", a, 1.0 / n, [(inner, -1.0)], 0.0)
        writer.maximise([*spectrum.energy, (inner, -1.0), (b, -2.0 * rho / n)])
        if cuts.clipping:
            # Ties the loss to h, which sums to 1, where the rows above tie it to v, which the relaxation may shorten.
            share = [(columns, -boxes.clipped * np.asarray(weights)) for columns, weights in spectrum.energy]
            writer.row("clipping", [(inner, 1.0), (b, 2.0 * rho / n), *share], lower=0.0)
    return lambda objective: instance.unit * objective
