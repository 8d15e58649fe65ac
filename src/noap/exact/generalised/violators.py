"""Every support on which a form exceeds a threshold times the metric."""

import math
from itertools import combinations

import numpy as np

from noap.data.pencil import Pencil
from noap.exact.feature_wise.instance import GramInstance, Incumbent
from noap.exact.generalised.naming import Naming
from noap.exact.generalised.own_attack import closed_by_forms
from noap.exact.generalised.plain import entry_error
from noap.heuristics.generalised.ascent import shifted_problem
from noap.linalg.types import BoolArray, FloatArray, IntArray
from noap.proofs.feature_wise import GramProof
from noap.runtime.controls import Controls
from noap.runtime.limits import Limit

__all__ = ["Violators", "few_supports"]

# Up to so many supports all of them are looked at, which is quicker than a search.
_FEW = 300_000
# Supports that are kept at most.
_MOST = 500_000
# What the threshold of a listing stays below tau, for the margins of the checker.
_BELOW = 1.0 - 2e-9


class Violators:
    r"""The supports S of k features on which no :math:`TB_{SS} - M_{SS}` is shown to be positive definite.

    Where there are few supports all are tested. Otherwise they are those that the listing of plain sparse PCA of
    :math:`M - TB + \tau I` names above :math:`\tau`, for the first form M: without a budget no step of it drops a pair
    whose support has a direction worth more, whether that uses all of S or not. The other forms are tested then.

    Attributes
    ----------
    supports : array of int, shape (m, k)
    named : array of int, shape (m', k)
        The same, and what the listing named beside them.
    tree : GramProof or None
        That of the listing, with what it is about: `shift` is tau, and a support that is not named has no direction
        worth more than `bound`.
    limit : Limit or None
        What kept the list from being complete.
    complete : bool
        Whether there are no others.
    nodes : int
    """

    def __init__(self, forms: list[Pencil], T: float, w: FloatArray, controls: Controls) -> None:
        self.nodes = 0
        self.limit: Limit | None = None
        self.tree: GramProof | None = None
        self.shift = self.bound = 0.0
        every = _every_support(forms[0])
        self.complete = every is not None
        supports = self._listed(forms[0], T, w, controls) if every is None else every
        self.open: BoolArray = ~closed_by_forms(forms, supports, T)
        self.supports: IntArray = supports[self.open]
        self.named = self.supports if every is not None else supports
        self.nodes += 0 if every is None else len(every)

    def _listed(self, pencil: Pencil, T: float, w: FloatArray, controls: Controls) -> IntArray:
        problem, tau = shifted_problem(pencil.A, pencil.B, T, pencil.k)
        instance = GramInstance.of(problem)
        incumbent = Incumbent(instance, instance.inside(w / np.linalg.norm(w)))
        self.shift, self.bound = tau, (tau - pencil.k * entry_error(pencil, T, tau)) * _BELOW
        aim = self.bound / instance.unit
        # The matrix of the instance is larger than the form by at least its offset on the diagonal.
        threshold = (aim + instance.offset) * (1.0 - 4e-16)
        listing = Naming(instance, incumbent, threshold)
        try:
            while listing.stack and self.limit is None:
                self.nodes += listing.advance()
                if len(listing.supports) > _MOST:
                    self.limit = Limit.MEMORY
                elif controls.time_limit is not None and controls.seconds > controls.time_limit:
                    self.limit = Limit.TIME
        except KeyboardInterrupt:
            self.limit = Limit.INTERRUPTED
        # A feature whose row of the form is 0 was dropped before the search, and would have to be looked at by hand.
        self.complete = not listing.stack and len(instance.features) == len(pencil.B)
        if self.complete:
            self.tree = listing.record.proof(instance)
        # A smaller support is part of every larger one with it, which is named too.
        full = [instance.features[list(one)] for one in listing.supports if len(one) == pencil.k]
        supports: IntArray = np.sort(np.array(full, dtype=np.intp).reshape(-1, pencil.k), axis=1)
        return supports


def few_supports(pencil: Pencil) -> bool:
    """Return whether there are so few supports that all of them are looked at."""
    return math.comb(len(pencil.B), pencil.k) <= _FEW


def _every_support(pencil: Pencil) -> "IntArray | None":
    """Return all supports of k features, if they are few."""
    if not few_supports(pencil):
        return None
    flat = np.fromiter((j for one in combinations(range(len(pencil.B)), pencil.k) for j in one), dtype=np.intp)
    return flat.reshape(-1, pencil.k)
