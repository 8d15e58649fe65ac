"""The three programs: what each adversary adds to direction and spectrum."""

import math
from collections.abc import Callable

import numpy as np
from numpy.typing import ArrayLike

from noap.linalg.types import FloatArray
from noap.linalg.vectors import keep_top_k, norms
from noap.mip.cuts import Cuts
from noap.mip.draft import Draft
from noap.mip.formulations.direction import Direction, add_magnitudes
from noap.mip.formulations.limits import Limits
from noap.mip.formulations.spectrum import Spectrum
from noap.mip.instance import Instance

__all__ = ["LAYERS", "Layer"]

Layer = Callable[[Draft, Instance, Direction, Spectrum, Limits, Cuts], Callable[[float], float]]

# The incumbent satisfies its own cutoff with this relative margin, so tolerances cannot cut it off.
_CUTOFF_SLACK = 1e-6


def add_feature_wise(
    draft: Draft, instance: Instance, direction: Direction, spectrum: Spectrum, limits: Limits, cuts: Cuts
) -> Callable[[float], float]:
    r"""Theorem 2: max t subject to :math:`(t + \rho y)^2 \le` energy, :math:`y \ge \|v\|_1`.

    The corrected program imposes y >= 1: a unit vector has l1 norm at least 1. (Imposing it on v would not be
    convex.) The column s stands for t + rho y.
    """
    rho, S = instance.rho, _covariance(instance)

    def energy(v: FloatArray) -> float:
        return math.sqrt(max(float(v @ S @ v), 0.0))

    p = add_magnitudes(draft, direction, limits, cuts)
    top = math.sqrt(instance.d)
    y = draft.block("y", 1, limits.l1_low, min(limits.l1_high, top), lambda v: np.abs(v).sum())
    least = math.sqrt(instance.value) * (1.0 - _CUTOFF_SLACK) if cuts.cutoff else 0.0
    t = draft.block("t", 1, least, 1.0 + _CUTOFF_SLACK, lambda v: max(energy(v) - rho * np.abs(v).sum(), 0.0))
    s = draft.block("s", 1, least + rho * limits.l1_low, 1.0 + rho * top, energy)
    draft.row("y >= |v|_1", [(y, 1.0), (p, -1.0)], lower=0.0, upper=0.0 if cuts.l1 else np.inf)
    draft.row("s = t + rho y", [(s, 1.0), (t, -1.0), (y, -rho)], lower=0.0, upper=0.0)
    draft.square("robust energy", s, 1.0, _negated(spectrum.energy), 0.0)
    draft.maximise([(t, 1.0)])
    return lambda objective: instance.unit * max(objective, 0.0) ** 2


def add_vanilla(
    draft: Draft, instance: Instance, direction: Direction, spectrum: Spectrum, limits: Limits, cuts: Cuts
) -> Callable[[float], float]:
    """The paper's dual baseline: max energy."""
    draft.maximise(spectrum.energy)
    _add_cutoff(draft, instance, cuts)
    return lambda objective: instance.unit * objective


def add_sample_wise(
    draft: Draft, instance: Instance, direction: Direction, spectrum: Spectrum, limits: Limits, cuts: Cuts
) -> Callable[[float], float]:
    r"""Theorem 1: max energy + (1/n) sum phi_i with :math:`\phi_i \le \phi_\rho(x_i^\top v)`.

    :math:`-\phi_\rho` is Huber's function, :math:`-\phi_\rho(t) = \min_a a^2 + 2\rho\,|t - a|`, so with columns a and
    :math:`b \ge |x_i^\top v - a|` the rows :math:`a_i^2 + 2\rho b_i + \phi_i \le 0` are exact. As printed there is one
    such row per sample; the default adds them up, which leaves the optimum where it is.
    """
    X, rho, n = instance.samples, instance.rho, instance.n
    assert X is not None
    m = len(X)
    reach = norms(keep_top_k(X, instance.k)) * (1.0 + 1e-9) if cuts.ranges else norms(X)
    beyond = np.maximum(reach - rho, 0.0)
    a = draft.block("a", m, -np.minimum(rho, reach), np.minimum(rho, reach), lambda v: np.clip(X @ v, -rho, rho))
    b = draft.block("b", m, 0.0, beyond, lambda v: np.abs(X @ v - np.clip(X @ v, -rho, rho)))
    for i in range(m):
        used = np.flatnonzero(X[i])
        score: list[tuple[ArrayLike, ArrayLike]] = [(direction.v[used], X[i, used])]
        draft.row(f"b[{i}] >= score", [(b[i], 1.0), (a[i], 1.0), (direction.v[used], -X[i, used])], lower=0.0)
        draft.row(f"b[{i}] >= -score", [(b[i], 1.0), (a[i], -1.0), *score], lower=0.0)

    def phi(v: FloatArray) -> FloatArray:
        clipped = np.clip(X @ v, -rho, rho)
        total: FloatArray = -(clipped**2) - 2.0 * rho * np.abs(X @ v - clipped)
        return total

    if not cuts.parseval:
        low = -(np.minimum(rho, reach) ** 2) - 2.0 * rho * beyond
        loss = draft.block("phi", m, low, 0.0, phi)
        for i in range(m):
            draft.square(f"phi[{i}]", a[i], 1.0, [(b[i], 2.0 * rho), (loss[i], 1.0)], 0.0)
        draft.maximise([*spectrum.energy, (loss, 1.0 / n)])
    else:
        most = float(np.sum(np.minimum(rho, reach) ** 2)) / n
        inner = draft.block("inner", 1, 0.0, most, lambda v: float(np.sum(np.clip(X @ v, -rho, rho) ** 2)) / n)
        draft.square("clipped energy", a, 1.0 / n, [(inner, -1.0)], 0.0)
        draft.maximise([*spectrum.energy, (inner, -1.0), (b, -2.0 * rho / n)])
    _add_cutoff(draft, instance, cuts)
    return lambda objective: instance.unit * objective


def _add_cutoff(draft: Draft, instance: Instance, cuts: Cuts) -> None:
    if cuts.cutoff:
        draft.row("cutoff", draft.objective, lower=instance.value * (1.0 - _CUTOFF_SLACK))


def _negated(terms: list[tuple[ArrayLike, ArrayLike]]) -> list[tuple[ArrayLike, ArrayLike]]:
    return [(columns, -np.asarray(coefficients, dtype=np.float64)) for columns, coefficients in terms]


def _covariance(instance: Instance) -> FloatArray:
    Q: FloatArray = instance.eigenvectors
    return (Q * instance.eigenvalues) @ Q.T


LAYERS: dict[str, Layer] = {"none": add_vanilla, "feature": add_feature_wise, "sample": add_sample_wise}
