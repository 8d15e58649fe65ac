r"""A core of the features for the relaxation, where they are many: outside it entries are cut by thresholds.

The best W has few features, also where there are thousands. So ADMM works on a core of some hundred. All other
features share a load :math:`\lambda` and a lift q, in units of their weights: an entry that is not of two features of
the core is soft-thresholded at :math:`\mu w_i w_j + (\lambda_i w_j + \lambda_j w_i)/2`, which leaves few of them.
They pay a little less for an index than those of the core. So a node that includes one has a smaller bound than the
root, and most of them are left out before the root is closed. Where the largest eigenvalue of the whole is above that
of the core, the features of its vectors join the core.
"""

import math
from dataclasses import dataclass, replace

import numpy as np
from scipy.sparse import csr_array

from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.search.multipliers import Multipliers, Proposal
from noap.search.spectrum import leading
from noap.settings import RelaxationSettings

__all__ = ["Completed", "Core"]


@dataclass(frozen=True, eq=False)
class Completed:
    """A proposal for all features.

    Attributes
    ----------
    core : bool array of shape (m,)
    proposal : Proposal
        Its matrix is that of the core; loads and lifts are those of all features.
    own, c : float
        About the largest eigenvalue of the core, and of the whole.
    spare : float
        By how much an index costs less outside the core.
    values, vectors : arrays
        Leading eigenvectors of the whole.
    """

    core: BoolArray
    proposal: Proposal
    own: float
    c: float
    spare: float
    values: FloatArray
    vectors: FloatArray


class Core:
    """The state of the relaxation of A on a core.

    Parameters
    ----------
    A : array of shape (m, m)
    weights : array of shape (m,)
    settings : RelaxationSettings
    slope : float
        Of the soft threshold whose leading eigenvectors say where to begin.

    Attributes
    ----------
    features : array of int
        The core, ascending.
    state : Multipliers
        On it.
    """

    def __init__(self, A: FloatArray, weights: FloatArray, settings: RelaxationSettings, slope: float) -> None:
        self.A, self.weights, self.settings = A, weights, settings
        self._single = A.astype(np.float32)
        values, vectors = leading(csr_array(self._cut(slope, np.zeros(len(A)))), settings.core_vectors)
        carried = (vectors**2) @ np.maximum(values - 0.9 * values.min(), 0.0) + 1e-9 * A.diagonal() / A.diagonal().max()
        self.features: IntArray = np.sort(np.argsort(-carried, kind="stable")[: settings.core_first])
        self.state = Multipliers.of(self._own(), weights[self.features], settings=settings)

    def completed(self, found: Proposal, own: float) -> Completed:
        """Return a proposal of the core, whose largest eigenvalue is known, with loads and lifts for all features."""
        F, w, settings = self.features, self.weights, self.settings
        core: BoolArray = np.zeros(len(w), dtype=np.bool_)
        core[F] = True
        price, load, lift = settings.outer_price * _price(found), 0.0, 0.0
        if price > 0:  # the diagonal of the outer features reaches a part of the eigenvalue; below -mu nothing is cut
            high = settings.outer_part * own - self.A.diagonal()[~core]
            room = float(np.min(high / w[~core] ** 2, initial=own)) + found.mu
            load = max(2.0 * price * (1.0 + math.sqrt(max(1.0 + room / price, 0.0))), -found.mu)
            lift = load * load / (4.0 * price)
        loads, lifts = load * w, lift * w * w
        loads[F], lifts[F] = found.loads, found.lifts
        B = self._cut(found.mu, loads)
        B[np.ix_(F, F)] = found.B
        B[~core, ~core] = self.A.diagonal()[~core] + (lifts - loads * w - found.mu * w * w)[~core]
        values, vectors = leading(csr_array(B), settings.core_vectors)
        proposal = found._replace(loads=loads, lifts=lifts)
        return Completed(core, proposal, own, max(own, float(values[-1])), _price(found) - price, values, vectors)

    def grow(self, whole: Completed) -> bool:
        """Let the features that carry most in the leading vectors of the whole join the core; whether any did."""
        settings, before = self.settings, self.features
        carried = (whole.vectors**2) @ np.maximum(whole.values - 0.98 * whole.own, 1e-9 * whole.own)
        carried[before] = 0.0
        count = max(min(settings.core_more, settings.core_most - len(before)), 0)
        more = np.argsort(-carried, kind="stable")[:count]
        more = more[carried[more] > 0]
        if not len(more):
            return False
        self.features = np.union1d(before, more)
        old, F = self.state, self.features
        A, w = self._own(), self.weights[F]
        loads, lifts, mu = whole.proposal.loads[F], whole.proposal.lifts[F], whole.proposal.mu
        half = 0.5 * np.outer(loads, w)
        box = np.maximum(mu * np.outer(w, w) + half + half.T, 0.0)
        U, Z = np.clip(A, -box, box), np.zeros_like(A)
        np.fill_diagonal(U, loads * w + mu * w * w - lifts)
        U /= old.penalty
        ratios = np.divide(2.0 * lifts, loads, out=w.copy(), where=loads > 0)
        place = np.searchsorted(F, before)
        U[np.ix_(place, place)], Z[np.ix_(place, place)], ratios[place] = old.U, old.Z, old.ratios
        self.state = replace(old, A=A, Z=Z, U=U, W=Z.copy(), norm=w, ratios=ratios)
        return True

    def _own(self) -> FloatArray:
        own: FloatArray = self.A[np.ix_(self.features, self.features)]
        return own

    def _cut(self, mu: float, loads: FloatArray) -> FloatArray:
        """Return A after the soft thresholds, in single precision."""
        w, half = self.weights.astype(np.float32), 0.5 * loads.astype(np.float32)
        if (w == 1.0).all():
            box = (half + np.float32(mu))[:, None] + half
        else:
            box = np.outer(half + np.float32(mu) * w, w)
            box += np.outer(w, half)
        np.maximum(box, 0.0, out=box)
        cut: FloatArray = self._single - np.clip(self._single, -box, box)
        return cut


def _price(found: Proposal) -> float:
    """Return the largest price of an index."""
    return float(np.max(found.loads**2 / np.maximum(4.0 * found.lifts, 1e-300), initial=0.0))
