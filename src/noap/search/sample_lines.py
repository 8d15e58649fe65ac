r"""Bounds in the l1 norm of u for one support S: the relaxation with samples in the place of features.

:math:`\sqrt{n \cdot \mathrm{value}} = \max_u \|X_S^\top u\| - \sum \rho_i |u_i|` over unit u is the feature-wise
problem of the matrix :math:`K = X_S X_S^\top` with all of its "features" demanded. Its lines, v'Kv below
:math:`c + \mu_1 s + \mu_w t`, become lines about samples: R = B - K.
"""

from collections.abc import Callable
from dataclasses import replace

import numpy as np

from noap.kernel.arithmetic import gamma
from noap.kernel.samples import SampleData
from noap.kernel.witness import BOX, THRESHOLD, Line, SampleEnvelope
from noap.linalg.types import FloatArray, IntArray
from noap.search.lines import decoded
from noap.search.relaxed import Relaxation
from noap.settings import Settings

__all__ = ["envelope_of"]

_NONE: IntArray = np.empty(0, np.intp)
_STEPS = 32767


def envelope_of(
    data: SampleData, support: IntArray, rows: IntArray, T: float, settings: Settings, check: Callable[[], None]
) -> tuple[SampleEnvelope, float]:
    """Return lines about the samples at these positions, and what they prove of a support: T if they can.

    Parameters
    ----------
    support : array of int
        It is all of it: costs are paid.
    T : float
        In the units of the data.
    """

    def expired() -> bool:
        check()
        return False

    X, rho = data.X[np.ix_(rows, support)], data.rho[rows]
    K: FloatArray = X @ X.T
    paid = float(data.costs[support].sum())
    relaxation = Relaxation(K, rho, None, data.rows[rows], settings.relaxation, largest=float(data.rho.max()))
    node = relaxation.node(np.arange(len(rows)), _NONE, 0)
    target = (T + paid) * data.n
    for _ in range(settings.last_rounds):
        if relaxation.improve(node, target * (1 - 1e-9), thorough=True, alone=True, expired=expired):
            break
    lines = tuple(_about_samples(one.witness, K, relaxation.weights, len(support)) for one in node.lines)
    bound = max(node.bound, target) / data.n - paid
    return SampleEnvelope(lines, (None,) * len(lines)), bound


def _about_samples(line: Line, K: FloatArray, weights: FloatArray, k: int) -> Line:
    """Return the line whose matrix is R = B - K, with room in c for the kernel's elimination."""
    m = len(K)
    B = decoded(line, K, weights)
    if line.form == THRESHOLD:
        box = line.plain + line.weighted * np.outer(weights, weights)
        upper = np.triu_indices(m, 1)
        sizes = box[upper]
        steps = np.divide(-K[upper], sizes, out=np.zeros(len(sizes)), where=sizes > 0)
        entries = np.rint(np.clip(steps, -1.0, 1.0) * _STEPS).astype(np.int16)
        line = replace(line, form=BOX, entries=entries)
        B = decoded(line, K, weights)
    n = m + k
    room = n * (1e-15 + 16.0 * gamma(2 * n + 20))
    top = float(np.linalg.eigvalsh(B)[-1])
    size = max(abs(top), float(np.abs(B - K).max())) + float(K.trace())
    return replace(line, c=max(top, 1e-12 * size) + 2.0 * room * size + 4e-16 * m * size)
